//! A server that is killed within a commit: no other server makes a revision that lacks steps which the client knows to be done.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use testkit::server::TestServer;
use testkit::{Side, Tool, scratch};

/// Repositories of several layouts with one open commit each, after the server of these commits was killed.
struct Killed {
    root: tempfile::TempDir,
    /// The names of the repositories and of their transactions.
    open: Vec<(&'static str, String)>,
}

/// The steps of each commit: more than those that are written to disk one by one. The first files are known to every server.
const STEPS: usize = 14;

impl Killed {
    fn new() -> Killed {
        let root = scratch();
        let names = ["1.4", "1.8", "1.14"];
        for name in names {
            let repository = root.path().join(name);
            testkit::create_compatible(name, &repository);
            let conf = "[general]\nanon-access = write\n";
            std::fs::write(repository.join("conf/svnserve.conf"), conf).expect("because it was just made");
        }
        let server = TestServer::http(Side::Ours, root.path(), "", &[]);
        let open: Vec<_> = names.map(|name| (name, begin(&server, name))).into();
        let killed = Killed { root, open };
        for step in 0..STEPS {
            killed.steps(&server, step);
        }
        // On a busy machine the server may find the time to write what it has in memory. While it is stopped, it cannot.
        for step in STEPS..STEPS + 20 {
            killed.steps(&server, step);
            signal(&server, "STOP");
            if killed.are_incomplete() {
                break;
            }
            signal(&server, "CONT");
        }
        // The process is killed.
        drop(server);
        killed
    }

    /// Takes a step in each commit.
    fn steps(&self, server: &TestServer, step: usize) {
        for (name, txn) in &self.open {
            let text = match step {
                // Long enough to be in the file of the texts before the request has ended.
                10 => "text ".repeat(60_000),
                _ => "text".to_owned(),
            };
            let (method, path) = match step {
                3 | 11 => ("MKCOL", format!("d{step}")),
                _ => ("PUT", format!("f{step}")),
            };
            let text = if method == "MKCOL" { "" } else { &text };
            let url = format!("{name}/!svn/txr/{txn}/{path}");
            let (status, output_text) = send(server, method, &url, "text/plain", text);
            assert_eq!(status, 201, "{method} {url}: {output_text}");
        }
    }

    fn are_incomplete(&self) -> bool {
        let all = self.open.iter().map(|(name, txn)| self.lock_file(name, txn));
        all.into_iter().all(|path| path.is_symlink())
    }

    fn lock_file(&self, name: &str, txn: &str) -> PathBuf {
        let db = self.root.path().join(name).join("db");
        let of_old_formats = db.join(format!("transactions/{txn}.txn/rev-lock"));
        match of_old_formats.symlink_metadata() {
            Ok(_) => of_old_formats,
            Err(_) => db.join(format!("txn-protorevs/{txn}.rev-lock")),
        }
    }
}

fn signal(server: &TestServer, name: &str) {
    let pid = server.pid().to_string();
    Tool::new("kill").args(["-s", name, &pid]).ok();
}

/// Begins a commit; returns the name of its transaction.
fn begin(server: &TestServer, name: &str) -> String {
    let skel = "(create-txn-with-props (svn:log 1 x))";
    let path = format!("{name}/!svn/me");
    let (status, output_text) = send(server, "POST", &path, "application/vnd.svn-skel", skel);
    assert_eq!(status, 201, "{output_text}");
    let txn = output_text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("svn-txn-name")
            .then(|| value.trim().to_owned())
    });
    txn.expect("because it names the transaction")
}

/// Sends a request; returns the status and the whole response.
fn send(server: &TestServer, method: &str, path: &str, content_type: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.addr()).expect("because it listens");
    let length = body.len();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: SVN/1.14.2\r\n\
         Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("because it reads");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .expect("because it answers in text");
    let status = response.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("because every answer has a status"), response)
}

fn commit(server: &TestServer, name: &str, txn: &str) -> (u16, String) {
    let body = format!(
        "<D:merge xmlns:D=\"DAV:\"><D:source><D:href>/{name}/!svn/txn/{txn}</D:href></D:source></D:merge>"
    );
    send(server, "MERGE", name, "text/xml", &body)
}

fn youngest(repository: &Path) -> String {
    Tool::new("svnlook").arg("youngest").arg(repository).ok().out()
}

#[test]
fn no_server_commits_what_a_killed_server_has_not_written() {
    let killed = Killed::new();
    for side in Side::BOTH {
        let server = TestServer::http(side, killed.root.path(), "", &[]);
        for (name, txn) in &killed.open {
            let more = format!("{name}/!svn/txr/{txn}");
            let (status, output_text) = send(&server, "PUT", &format!("{more}/more"), "text/plain", "text");
            assert!(status >= 400, "{side:?} {name} {output_text}");
            // Subversion takes steps without a text.
            let path = format!("{more}/{side:?}");
            _ = send(&server, "MKCOL", &path, "text/xml", "");
            // Subversion removes a transaction that it cannot commit. The next server needs a copy.
            let (here, copy) = (killed.root.path().join(name), killed.root.path().join("copy"));
            Tool::new("cp").arg("-a").args([&here, &copy]).ok();
            let (status, output_text) = commit(&server, name, txn);
            assert!(status >= 400, "{side:?} {name} {output_text}");
            assert_eq!(youngest(&here), "0\n", "{side:?} {name}");
            std::fs::remove_dir_all(&here).expect("because it is there");
            std::fs::rename(&copy, &here).expect("because the name is free");
        }
    }
}

#[test]
fn what_a_killed_server_leaves_is_listed_and_removed() {
    let killed = Killed::new();
    for side in Side::BOTH {
        for (name, txn) in &killed.open {
            let (here, copy) = (killed.root.path().join(name), killed.root.path().join("copy"));
            Tool::new("cp").arg("-a").args([&here, &copy]).ok();
            let run = |tool: &str, args: &[&str]| {
                let tool = side.tool(tool).args(args.split_at(1).0).arg(&copy);
                tool.args(args.split_at(1).1).ok().out()
            };
            assert_eq!(
                run("svnadmin", &["lstxns"]),
                format!("{txn}\n"),
                "{side:?} {name}"
            );
            assert_eq!(
                run("svnlook", &["cat", "-t", txn, "/f2"]),
                "text",
                "{side:?} {name}"
            );
            assert_eq!(run("svnlook", &["log", "-t", txn]), "x\n", "{side:?} {name}");
            assert!(
                run("svnlook", &["changed", "-t", txn]).contains("A   d3/"),
                "{side:?} {name}"
            );
            assert!(
                run("svnlook", &["tree", "-t", txn]).contains(" f4"),
                "{side:?} {name}"
            );
            run("svnadmin", &["rmtxns", txn]);
            assert_eq!(run("svnadmin", &["lstxns"]), "", "{side:?} {name}");
            let lock = copy.join(format!("db/txn-protorevs/{txn}.rev-lock"));
            assert!(lock.symlink_metadata().is_err(), "{side:?} {name}");
            std::fs::remove_dir_all(&copy).expect("because it is there");
        }
    }
}
