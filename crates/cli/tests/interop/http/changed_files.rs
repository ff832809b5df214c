//! Authz and password files that change while a client's connection stays open: the next request uses the new
//! content.
//!
//! Apache keeps an authz file for a whole connection, so only Sven is tested.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, scratch};

/// Sven checks the files again after 5 ms.
const FRESH: Duration = Duration::from_millis(6);

/// Two texts of equal length.
const RULES: [&str; 2] = ["[/]\nalice = r\n", "[/]\nalicf = r\n"];
const USERS: [&str; 2] = [
    "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n",
    "alice:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n",
];

/// Returns the status of a request over a persistent connection.
fn status(stream: &mut TcpStream) -> u16 {
    let request = "HEAD /repo/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWxpY2U6c2VjcmV0\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("because it is open");
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.ends_with(b"\r\n\r\n") {
        let len = read_some(stream, &mut piece).expect("because it is open");
        assert_ne!(len, 0, "{}", String::from_utf8_lossy(&head));
        head.extend_from_slice(&piece[..len]);
    }
    let head = String::from_utf8_lossy(&head);
    let number = head.split(' ').nth(1).and_then(|number| number.parse().ok());
    number.expect("because it is an answer")
}

/// Changes a file without changing its size and modification time. With `replace` it becomes another file.
fn change(path: &Path, text: &str, replace: bool) {
    let before = fs::metadata(path).expect("because it is there");
    let target = if replace {
        path.with_extension("new")
    } else {
        path.to_owned()
    };
    fs::write(&target, text).expect("because the folder is ours");
    let file = fs::File::options()
        .write(true)
        .open(&target)
        .expect("because it is ours");
    let modified = before.modified().expect("because the system knows it");
    file.set_modified(modified).expect("because it is ours");
    fs::rename(&target, path).expect("because the folder is ours");
    let after = fs::metadata(path).expect("because it is there");
    assert_eq!(
        (before.size(), before.mtime_nsec()),
        (after.size(), after.mtime_nsec())
    );
}

#[test]
fn changed_rules_and_passwords_apply_at_once() {
    let root = scratch();
    let conf = scratch();
    testkit::create_repository(&root.path().join("repo"));
    let [rules, users] = ["rules", "users"].map(|name| conf.path().join(name));
    fs::write(&rules, RULES[0]).expect("because the folder is ours");
    fs::write(&users, USERS[0]).expect("because the folder is ours");
    let ours = format!(
        "anonymous = false\nauthz = '{}'\n[location.auth]\nhtpasswd-file = '{}'\n",
        rules.display(),
        users.display()
    );
    let site = HttpSite {
        ours: &ours,
        ..HttpSite::plain(root.path())
    };
    let server = TestServer::http_site(Side::Ours, &site);
    let mut stream = TcpStream::connect(server.addr()).expect("because it listens");
    assert_eq!(status(&mut stream), 200);
    for (path, texts, refused) in [(&rules, RULES, 403), (&users, USERS, 401)] {
        for round in 0..20 {
            for (text, wanted) in [(texts[1], refused), (texts[0], 200)] {
                change(path, text, round % 2 == 0);
                sleep(FRESH);
                assert_eq!(status(&mut stream), wanted, "{} in round {round}", path.display());
            }
        }
    }
}
