//! An HTTP server that sends prepared responses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Returns the response to a request, by its first line and its headers. An empty one closes the connection.
pub type Respond = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server on a port of its own. Its threads end with the process.
pub struct FakeServer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub fn start(respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> FakeServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let respond: Arc<Respond> = Arc::new(respond);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for peer in listener.incoming().flatten() {
                let (respond, seen) = (respond.clone(), seen.clone());
                std::thread::spawn(move || serve(&peer, &*respond, &seen));
            }
        });
        FakeServer { port, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the heads of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no thread panics").clone()
    }
}

fn serve(peer: &TcpStream, respond: &Respond, seen: &Mutex<Vec<String>>) {
    let mut input = BufReader::new(peer);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match input.read_line(&mut head) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        let mut body = Vec::new();
        if input
            .by_ref()
            .take(length.unwrap_or(0))
            .read_to_end(&mut body)
            .is_err()
        {
            return;
        }
        let response = respond(&head);
        seen.lock().expect("no thread panics").push(head);
        let mut output = peer;
        if response.is_empty() || output.write_all(&response).is_err() {
            return;
        }
    }
}

/// Returns a response with its length.
pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns a response of XML.
pub fn xml(status: &str, body: &str) -> Vec<u8> {
    response(status, "Content-Type: text/xml\r\n", body.as_bytes())
}

/// Returns the response to `OPTIONS` of a server with a repository at `/r`.
pub fn options() -> Vec<u8> {
    let headers = "DAV: 1,2\r\nDAV: http://subversion.tigris.org/xmlns/dav/svn/inline-props\r\n\
        DAV: http://subversion.tigris.org/xmlns/dav/svn/list\r\nSVN-Youngest-Rev: 5\r\nSVN-Repository-UUID: u\r\n\
        SVN-Repository-Root: /r\r\nSVN-Me-Resource: /r/!svn/me\r\nSVN-Rev-Root-Stub: /r/!svn/rvr\r\n\
        SVN-Rev-Stub: /r/!svn/rev\r\nSVN-Txn-Root-Stub: /r/!svn/txr\r\nSVN-Txn-Stub: /r/!svn/txn\r\n";
    response("200 OK", headers, b"")
}
