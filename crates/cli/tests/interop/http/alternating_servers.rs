//! One commit whose requests go to Apache and to Sven in turns, on one repository.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use testkit::server::TestServer;
use testkit::{Side, Tool, scratch};

/// Both servers of one repository.
struct Turns {
    servers: [TestServer; 2],
    root: tempfile::TempDir,
}

/// The status, and the head and body of a response.
struct RawResponse(u16, String);

impl Turns {
    fn new() -> Turns {
        let root = scratch();
        let repository = root.path().join("repo");
        testkit::create_repository(&repository);
        let conf = "[general]\nanon-access = write\n";
        std::fs::write(repository.join("conf/svnserve.conf"), conf).expect("because it was just made");
        Turns {
            servers: Side::BOTH.map(|side| TestServer::http(side, root.path(), "", &[])),
            root,
        }
    }

    fn send_request(
        &self,
        server: usize,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> RawResponse {
        let mut stream = TcpStream::connect(self.servers[server].addr()).expect("because it listens");
        let length = body.len();
        let request = format!(
            "{method} /repo/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: SVN/1.14.2\r\n\
             Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("because it reads");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("because it answers in text");
        let status = response.split(' ').nth(1).and_then(|status| status.parse().ok());
        RawResponse(status.expect("because every answer has a status"), response)
    }

    /// Commits `files` files into a new directory; request `n` goes to `server(n)`. Returns the response to `MERGE`,
    /// and the number of files in the directory.
    fn commit(
        &self,
        folder: &str,
        files: usize,
        pause: Duration,
        server: impl Fn(usize) -> usize,
    ) -> (u16, usize) {
        let RawResponse(status, output_text) = self.send_request(
            server(0),
            "POST",
            "!svn/me",
            "application/vnd.svn-skel",
            "(create-txn-with-props (svn:log 1 x))",
        );
        assert_eq!(status, 201, "{output_text}");
        let name = output_text.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("svn-txn-name")
                .then(|| value.trim().to_owned())
        });
        let txn = name.expect("because it names the transaction");
        let RawResponse(status, output_text) = self.send_request(
            server(1),
            "MKCOL",
            &format!("!svn/txr/{txn}/{folder}"),
            "text/xml",
            "",
        );
        assert_eq!(status, 201, "{output_text}");
        let mut taken = 0;
        for nth in 0..files {
            std::thread::sleep(pause);
            let path = format!("!svn/txr/{txn}/{folder}/f{nth}");
            let RawResponse(status, output_text) =
                self.send_request(server(nth + 2), "PUT", &path, "text/plain", "text");
            match status {
                201 => taken += 1,
                // The test continues after a refused request, unlike a client.
                _ => assert!(status >= 400, "{output_text}"),
            }
        }
        std::thread::sleep(pause);
        let body = format!(
            "<D:merge xmlns:D=\"DAV:\"><D:source><D:href>/repo/!svn/txn/{txn}</D:href></D:source></D:merge>"
        );
        let RawResponse(status, _) = self.send_request(server(files + 2), "MERGE", "", "text/xml", &body);
        let list = Tool::new("svn")
            .arg("ls")
            .arg(format!("file://{}/repo/{folder}", self.root.path().display()))
            .run();
        let found = list.out().lines().count();
        assert!(
            status != 200 || found == taken,
            "{found} of {taken} that were taken"
        );
        (status, found)
    }
}

#[test]
fn requests_of_one_commit_may_alternate() {
    let turns = Turns::new();
    let none = Duration::ZERO;
    assert_eq!(turns.commit("a", 20, none, |n| n % 2), (200, 20));
    assert_eq!(turns.commit("b", 20, none, |n| (n + 1) % 2), (200, 20));
    assert_eq!(turns.commit("c", 20, none, |n| usize::from(n > 4)), (200, 20));
    assert_eq!(turns.commit("d", 20, none, |n| usize::from(n < 4)), (200, 20));
    let pause = Duration::from_millis(150);
    assert_eq!(turns.commit("e", 16, pause, |n| usize::from(n < 14)), (200, 16));
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(turns.root.path().join("repo"))
        .ok();
}

#[test]
fn changes_known_to_one_server_are_never_lost() {
    let turns = Turns::new();
    let (status, files) = turns.commit("a", 40, Duration::ZERO, |n| usize::from(n < 30));
    assert!(status == 200 || (status >= 400 && files == 0), "{status} {files}");
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(turns.root.path().join("repo"))
        .ok();
}
