//! Clients that send many requests at once and do not read the responses, which the server has in its response cache.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use memchr::memmem;
use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, Tool, scratch};

use super::raw_http::{HttpConnection, send_request};

/// Requests of one client: more bytes of responses than sockets buffer.
const REQUESTS: usize = 300;

/// More clients than the server has threads for connections.
const CLIENTS: usize = 6;

const TEXT_BYTES: usize = 120_000;

/// Returns the processor time that a process has used, in hundredths of a second.
fn processor_time(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("because it lives");
    let (_, rest) = stat.rsplit_once(')').expect("because the name is in parentheses");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let time = |at: usize| words[at].parse::<u64>().expect("because it is a number");
    time(11) + time(12)
}

fn requests() -> String {
    "GET /r/text HTTP/1.1\r\nHost: x\r\n\r\n".repeat(REQUESTS)
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.addr()).expect("because it listens");
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).expect("because it is a socket");
    stream
}

/// Returns the number of responses and the bytes of their texts.
fn read_responses(mut stream: &TcpStream, wanted: usize) -> (usize, usize) {
    let (mut heads, mut letters) = (0, 0);
    let (mut piece, mut kept) = (vec![0; 1 << 16], Vec::new());
    while heads < REQUESTS || letters < wanted {
        let len = read_some(&mut stream, &mut piece).expect("because the server goes on");
        assert!(len > 0, "the connection ends after {heads} responses");
        letters += memchr::memchr_iter(b'~', &piece[..len]).count();
        kept.extend_from_slice(&piece[..len]);
        let status = b"HTTP/1.1 200 OK";
        heads += memmem::find_iter(&kept, status).count();
        // The end may be the beginning of a status line.
        let from = kept.len().saturating_sub(status.len() - 1);
        kept.drain(..from);
    }
    (heads, letters)
}

#[test]
fn responses_that_are_not_read_stop_no_other_client() {
    let root = scratch();
    let repository = root.path().join("r");
    testkit::create_repository(&repository);
    let text = root.path().join("text");
    fs::write(&text, vec![b'~'; TEXT_BYTES]).expect("because the folder is ours");
    let url = format!("file://{}/text", repository.display());
    Tool::new("svn")
        .args(["import", "-q", "-m", "m"])
        .arg(&text)
        .arg(&url)
        .ok();
    let server = TestServer::http_site(Side::Ours, &HttpSite::plain(root.path()));
    // The first response is stored.
    for _ in 0..2 {
        let response = send_request(server.port(), "GET", "/r/text", &[], "");
        assert_eq!(response.status, 200);
    }
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(&server)).collect();
    for mut client in &clients {
        let sent = client.write_all(requests().as_bytes());
        sent.expect("because the server reads requests, or the socket holds them");
    }
    sleep(Duration::from_millis(300));
    let before = processor_time(server.pid());
    for _ in 0..10 {
        let response = send_request(server.port(), "GET", "/r/text", &[], "");
        assert_eq!(response.status, 200);
        sleep(Duration::from_millis(100));
    }
    let used = processor_time(server.pid()) - before;
    assert!(used < 50, "{used} hundredths of a second for 10 requests");
    for client in &clients {
        assert_eq!(
            read_responses(client, REQUESTS * TEXT_BYTES),
            (REQUESTS, REQUESTS * TEXT_BYTES)
        );
    }
}

/// Bytes that no socket buffers.
const LONG: usize = 20_000_000;

#[test]
fn a_refused_text_is_read_to_its_end() {
    let root = scratch();
    testkit::create_repository(&root.path().join("r"));
    let server = TestServer::http_site(Side::Ours, &HttpSite::plain(root.path()));
    let target = "/r/!svn/txr/0-none/x";
    // A client that sends all before it reads, on one connection.
    let mut client = HttpConnection::new(server.port());
    let text = "~".repeat(LONG);
    for _ in 0..3 {
        let refused = client.send_request("PUT", target, &[], &text);
        assert!((400..500).contains(&refused.status), "{}", refused.status);
        assert!(client.is_open());
    }
    // A slow one has the response before it has sent the rest, and the connection afterwards.
    let mut slow = connect(&server);
    let head = format!("PUT {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {LONG}\r\n\r\n");
    let (first, rest) = text.split_at(LONG / 2);
    slow.write_all(head.as_bytes()).expect("because the server reads");
    slow.write_all(first.as_bytes())
        .expect("because the server reads");
    let mut piece = [0; 1 << 16];
    let read = read_some(&mut &slow, &mut piece).expect("a response");
    assert!(piece[..read].starts_with(b"HTTP/1.1 4"));
    let next = format!("{rest}GET /r/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    slow.write_all(next.as_bytes()).expect("because the server reads");
    let mut answers = piece[..read].to_vec();
    slow.read_to_end(&mut answers)
        .expect("because the server ends it");
    assert!(String::from_utf8_lossy(&answers).contains("HTTP/1.1 200 OK"));
}
