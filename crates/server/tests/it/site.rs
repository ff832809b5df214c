//! A server in this process, and a client that sends exactly the given bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use server::config::{AccessRules, HttpOptions, Location, Source, TlsOptions};
use server::{Listener, MemoryBudget, Options, Server, Service, Stop, Threads};
use tempfile::TempDir;
use testkit::Tool;
use testkit::probe::read_some;

/// The size of `/repo/big`, which does not compress.
pub const BIG: usize = 24 << 20;

/// The settings of a test server.
pub struct SitePlan {
    pub options: HttpOptions,
    pub access: Option<AccessRules>,
    pub tls: Option<TlsOptions>,
    pub realm: Option<String>,
    pub autoversioning: bool,
    pub threads: Threads,
}

/// A running server, stopped on drop.
pub struct TestSite {
    pub plain: SocketAddr,
    pub secure: SocketAddr,
    pub status: SocketAddr,
    pub service: Arc<Service>,
    pub folder: TempDir,
    stop: Stop,
    running: Option<JoinHandle<()>>,
}

impl TestSite {
    /// Serves a folder with the repositories `repo` (`trunk/a.txt`, `trunk/private/b.txt`) and, if `plan` requests
    /// it, `big`. `plan`
    /// gets the folder and changes the settings.
    pub fn new(plan: impl FnOnce(&mut SitePlan, &Path)) -> TestSite {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("repos");
        std::fs::create_dir(&root).expect("a new folder");
        std::fs::write(folder.path().join("secret"), "the secret\n").expect("written");
        make(&root.join("repo"), folder.path());
        let mut made = SitePlan {
            options: HttpOptions::default(),
            access: None,
            tls: None,
            realm: None,
            autoversioning: false,
            threads: Threads::default(),
        };
        plan(&mut made, folder.path());
        let mut location = Location::new("", Source::Parent(root.clone()));
        location.access = made.access;
        location.realm = made.realm;
        location.autoversioning = made.autoversioning;
        made.options.locations.push(location.into());
        let options = Options {
            root,
            ..Options::default()
        };
        let service = Service::new(options, MemoryBudget::new(32 << 20, true), None);
        service.set_http(made.options);
        let here = || Listener::bind(Some("127.0.0.1"), 0, false).expect("a free port");
        let address = |listener: &Listener| listener.address().expect("it is bound");
        let (plain, secure, status) = (here(), here(), here());
        let (at_plain, at_secure, at_status) = (address(&plain), address(&secure), address(&status));
        let mut server = Server::new(service.clone(), vec![], made.threads)
            .with_http(vec![plain])
            .with_status(vec![status]);
        if let Some(tls) = made.tls {
            service.set_tls(tls).expect("usable certificates");
            server = server.with_https(vec![secure]);
        }
        let stop = Stop::new().expect("two sockets");
        let stopped = stop.clone();
        let running = std::thread::spawn(move || server.run(&stopped).expect("it runs"));
        TestSite {
            plain: at_plain,
            secure: at_secure,
            status: at_status,
            service,
            folder,
            stop,
            running: Some(running),
        }
    }

    pub fn plain() -> TestSite {
        TestSite::new(|_, _| ())
    }

    /// The path of a file in the site's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn connect(&self) -> RawClient {
        RawClient::to(self.plain)
    }

    /// Sends `bytes` over a new connection; returns the received bytes until the server closes it, or sends no more.
    pub fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.connect();
        client.send(bytes);
        client.rest()
    }

    /// Sends one request without a body; returns the status and the bytes of the response.
    pub fn ask(&self, method: &str, target: &str, headers: &str) -> (u16, String) {
        let text = self.exchange(request(
            method,
            target,
            &format!("Connection: close\r\n{headers}"),
        ));
        (status_of(&text), text)
    }

    /// Tells the server to stop, and waits until it has.
    pub fn stop(&mut self) {
        self.stop.stop();
        if let Some(running) = self.running.take() {
            running.join().expect("it ends without a panic");
        }
    }

    pub fn ask_to_stop(&self) {
        self.stop.stop();
    }
}

impl Drop for TestSite {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(running) = self.running.take() {
            _ = running.join();
        }
    }
}

/// A request without body.
pub fn request(method: &str, target: &str, headers: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: test\r\n{headers}\r\n")
}

/// The status of the first response in `text`; 0 if there is none.
pub fn status_of(text: &str) -> u16 {
    let word = text.split(' ').nth(1).unwrap_or_default();
    word.parse().unwrap_or(0)
}

/// A connection to the server.
pub struct RawClient {
    pub socket: TcpStream,
}

impl RawClient {
    pub fn to(address: SocketAddr) -> RawClient {
        let socket = TcpStream::connect(address).expect("the server listens");
        let patience = Some(Duration::from_secs(60));
        socket.set_read_timeout(patience).expect("a socket");
        RawClient { socket }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may close the connection before everything is sent.
        _ = self.socket.write_all(bytes.as_ref());
    }

    /// Returns the received bytes until the server closes the connection, or has sent something and then nothing for
    /// a second.
    pub fn rest(&mut self) -> String {
        let mut all = Vec::new();
        let mut piece = [0; 65536];
        while let Ok(len @ 1..) = read_some(&mut self.socket, &mut piece) {
            all.extend_from_slice(&piece[..len]);
            let short = Some(Duration::from_secs(1));
            self.socket.set_read_timeout(short).expect("a socket");
        }
        String::from_utf8_lossy(&all).into_owned()
    }

    /// The head of one response, without its body.
    pub fn response_head(&mut self) -> String {
        let response = self.rest();
        response.split("\r\n\r\n").next().unwrap_or_default().to_owned()
    }

    /// Reads head and body of one response with a length.
    pub fn answer(&mut self) -> (String, Vec<u8>) {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match read_some(&mut self.socket, &mut byte) {
                Ok(1) => head.push(byte[0]),
                other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&head)),
            }
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.socket
            .read_exact(&mut body)
            .expect("the body has the announced length");
        (head, body)
    }

    /// Returns whether the server closes the connection within `patience` without sending more.
    pub fn is_closed_within(&mut self, patience: Duration) -> bool {
        self.socket.set_read_timeout(Some(patience)).expect("a socket");
        match read_some(&mut self.socket, &mut [0; 16]) {
            Ok(len) => len == 0,
            Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn make(at: &Path, scratch: &Path) {
    Tool::new("svnadmin").arg("create").arg(at).ok();
    let tree = scratch.join("tree");
    std::fs::create_dir_all(tree.join("trunk/private")).expect("a new folder");
    std::fs::write(tree.join("trunk/a.txt"), "This is a.\n").expect("written");
    std::fs::write(tree.join("trunk/private/b.txt"), "This is b.\n").expect("written");
    import(&tree, at);
}

/// Makes the repository `big` with one large file.
pub fn make_big(site: &TestSite) {
    let at = site.path("repos/big");
    Tool::new("svnadmin").arg("create").arg(&at).ok();
    let tree = site.path("bigtree");
    std::fs::create_dir_all(&tree).expect("a new folder");
    std::fs::write(tree.join("big"), testkit::history::noise(7, BIG)).expect("written");
    import(&tree, &at);
}

fn import(tree: &Path, into: &Path) {
    Tool::new("svn")
        .args(["import", "-q", "-m", "made for a test"])
        .arg(tree)
        .arg(format!("file://{}", into.display()))
        .ok();
}
