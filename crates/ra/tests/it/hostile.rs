//! Servers that end early, send malformed or endless messages, or texts with a wrong digest.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use base::{Code, Error, RelPath, Result, Url};
use ra::{FileRequest, Limits, OpenOptions};

const GREETING: &str = "( success ( 2 2 ( ) ( edit-pipeline svndiff1 ) ) ) ";
const NO_AUTH: &str = "( success ( ( ) 0: ) ) ";

/// Opens a session with a server that sends `bytes`, then ends its side. Reads the file `f` if that succeeds.
fn read_from(bytes: &str, limits: Limits, ends: bool) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let bytes = bytes.replace(
        "ROOT",
        &format!("{}:svn://127.0.0.1:{port}", 16 + port.to_string().len()),
    );
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a client");
        // The client may have gone already.
        _ = peer.write_all(bytes.as_bytes());
        if ends {
            _ = peer.shutdown(Shutdown::Write);
        }
        _ = peer.read_to_end(&mut Vec::new());
    });
    let options = OpenOptions {
        limits,
        ..OpenOptions::default()
    };
    let url = Url::canonicalize(&format!("svn://127.0.0.1:{port}/r")).expect("a URL");
    let result = ra::open(&url, &options).and_then(|mut session| {
        let path = RelPath::canonicalize("f").expect("a path");
        let request = FileRequest {
            path: &path,
            rev: None,
            props: false,
            text: true,
        };
        session.file(&request, &mut |_, _| Ok(())).map(drop)
    });
    server.join().expect("it ends");
    result
}

fn cause(result: Result<()>) -> Code {
    let error: Error = result.expect_err("a hostile server");
    error.root_cause().code()
}

#[test]
fn each_fault_of_a_server_has_its_number() {
    let opened = format!("{GREETING}{NO_AUTH}( success ( 1:u ROOT ( ) ) ) ");
    let md5 = "32:b1946ac92492d2347c6235b4d2611184";
    let file = format!("{opened}{NO_AUTH}( success ( ( {md5} ) 1 ( ) ) ) ");
    let deep = "( ".repeat(1000);
    for (bytes, code) in [
        (String::new(), Code::RA_SVN_CONNECTION_CLOSED),
        ("( success ( 2 2".to_owned(), Code::RA_SVN_CONNECTION_CLOSED),
        ("garbage!".to_owned(), Code::RA_SVN_MALFORMED_DATA),
        (deep, Code::RA_SVN_MALFORMED_DATA),
        (
            "( success ( 1 1 ( ) ( edit-pipeline ) ) ) ".to_owned(),
            Code::RA_SVN_BAD_VERSION,
        ),
        (
            "( success ( 2 2 ( ) ( svndiff1 ) ) ) ".to_owned(),
            Code::RA_SVN_BAD_VERSION,
        ),
        (
            format!("{GREETING}( success ( ( FOO ) 1:x ) ) "),
            Code::RA_SVN_NO_MECHANISMS,
        ),
        (
            format!("{GREETING}{NO_AUTH}( success ( 1:u 15:svn://elsewhere ( ) ) ) "),
            Code::RA_SVN_MALFORMED_DATA,
        ),
        (format!("{file}6:hello"), Code::RA_SVN_CONNECTION_CLOSED),
        (
            format!("{file}99999999999999:hello"),
            Code::RA_SVN_CONNECTION_CLOSED,
        ),
        (
            format!("{file}6:other\n 0: ( success ( ) ) "),
            Code::CHECKSUM_MISMATCH,
        ),
    ] {
        assert_eq!(cause(read_from(&bytes, Limits::default(), true)), code, "{bytes}");
    }
    let good = format!("{file}6:hello\n 0: ( success ( ) ) ");
    read_from(&good, Limits::default(), true).expect("the text has this digest");
}

#[test]
fn messages_and_waits_have_limits() {
    let limits = Limits {
        message: 1 << 20,
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    let endless = format!("( success ( {}", "1 ".repeat(2 << 20));
    assert_eq!(
        cause(read_from(&endless, limits, true)),
        Code::RA_SVN_RESPONSE_SIZE
    );
    assert_eq!(cause(read_from(GREETING, limits, false)), Code::RA_SVN_IO_ERROR);
}
