//! Clients that disconnect within a response: this is no server error and is not logged as one.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use testkit::Side;
use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;

use super::raw_http::send_request;
use crate::hostile::big;

const EVERYTHING: &str = "<S:update-report xmlns:S='svn:' send-all='true'><S:src-path>http://x/r</S:src-path><S:target-revision>1</S:target-revision>\
                          <S:entry rev='1' start-empty='true'></S:entry></S:update-report>";

/// Sends a request, reads a part of the response and disconnects; with `hard` by a reset.
fn disconnect_within_response(
    server: &TestServer,
    method: &str,
    path: &str,
    body: &str,
    some: usize,
    hard: bool,
) {
    let mut stream = TcpStream::connect(server.addr()).expect("because it listens");
    let socket = socket2::SockRef::from(&stream);
    socket.set_recv_buffer_size(4096).expect("because it is a socket");
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
    stream
        .write_all(request.as_bytes())
        .expect("because the server reads");
    let mut piece = vec![0; some];
    let mut seen = 0;
    while seen < some {
        seen += read_some(&mut stream, &mut piece[seen..]).expect("because the server answers");
    }
    if hard {
        let socket = socket2::SockRef::from(&stream);
        let at_once = Some(Duration::ZERO);
        socket.set_linger(at_once).expect("because it is a socket");
    }
}

/// Returns request and status of the lines of the access log.
fn logged_requests(server: &TestServer, count: usize) -> Vec<String> {
    for _ in 0..1500 {
        let log = fs::read_to_string(server.access_log()).unwrap_or_default();
        if log.lines().count() >= count {
            let word = |line: &str| {
                let (_, rest) = line.split_once('"')?;
                let (request, rest) = rest.split_once("\" ")?;
                Some(format!("{request} {}", rest.split(' ').next()?))
            };
            return log.lines().filter_map(word).collect();
        }
        sleep(Duration::from_millis(20));
    }
    panic!("{:?} has fewer than {count} lines", server.access_log());
}

#[test]
fn disconnects_are_not_logged_as_server_errors() {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let parent = big();
        let site = HttpSite {
            ours: "[metrics]\neverywhere = true\n",
            ..HttpSite::plain(&parent)
        };
        let server = TestServer::http_site(side, &site);
        let mut count = 0;
        for hard in [false, true] {
            for (method, path, body) in [
                ("GET", "/r/big", ""),
                ("REPORT", "/r/!svn/me", EVERYTHING),
                ("REPORT", "/r/!svn/vcc/default", EVERYTHING),
            ] {
                // A request of a client that disconnects before the first byte may not be received.
                for some in [1, 20_000] {
                    disconnect_within_response(&server, method, path, body, some, hard);
                    count += 1;
                    logged_requests(&server, count);
                }
            }
        }
        let mut logged_requests = logged_requests(&server, count);
        if side == Side::Ours {
            let output_text = fs::read_to_string(server.operational_log()).unwrap_or_default();
            assert!(!output_text.contains(" ERR"), "{output_text}");
            let metrics = send_request(server.port(), "GET", "/-/metrics", &[], "");
            let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
            assert!(metrics.contains("sven_operation_seconds_count"), "{metrics}");
            assert!(!metrics.contains("operations_failed_total{"), "{metrics}");
        }
        // Apache logs a server error if it was sending a file, and not for a report.
        logged_requests.retain(|line| side == Side::Ours || line.starts_with("REPORT"));
        logged_requests
    });
    assert!(ours.iter().all(|line| line.ends_with(" 200")), "{ours:#?}");
    let reports: Vec<_> = ours.iter().filter(|line| line.starts_with("REPORT")).collect();
    assert_eq!(theirs.iter().collect::<Vec<_>>(), reports);
}
