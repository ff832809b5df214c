//! Raw svn:// sessions: bytes that the stock client never sends, and many connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use memchr::memmem;
use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, Tool, sample};

use crate::pair::ServerPair;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).expect("because it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .expect("because it is a socket");
    stream
}

fn hello(url: &str) -> String {
    format!(
        "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) ",
        url.len()
    )
}

/// Sends the greeting and `input`, closes the sending half, and returns all received bytes. At a `|` waits until the
/// server sends no more.
fn send_and_receive(port: u16, input: &[u8]) -> String {
    let mut stream = connect(port);
    let url = format!("svn://127.0.0.1:{port}/repo");
    // The server may have closed the connection before everything was sent.
    _ = stream.write_all(hello(&url).as_bytes());
    let mut received = Vec::new();
    for (at, part) in input.split(|b| *b == b'|').enumerate() {
        if at > 0 {
            listen(&mut stream, Duration::from_millis(300), &mut received);
        }
        _ = stream.write_all(part);
    }
    _ = stream.shutdown(std::net::Shutdown::Write);
    listen(&mut stream, Duration::from_secs(5), &mut received);
    String::from_utf8_lossy(&received).replace(&format!(":{port}"), ":PORT")
}

/// Reads until the end, or until nothing arrives for `timeout`.
fn listen(stream: &mut TcpStream, patience: Duration, received: &mut Vec<u8>) {
    stream
        .set_read_timeout(Some(patience))
        .expect("because it is a socket");
    let mut piece = [0; 65536];
    while let Ok(len) = read_some(stream, &mut piece) {
        if len == 0 {
            return;
        }
        received.extend_from_slice(&piece[..len]);
    }
}

#[test]
fn odd_requests_get_equal_responses() {
    let pair = ServerPair::of(&Spec::small("1.14").named("small-f8"));
    let inputs = [
        "( nonsense ( ) ) ( get-latest-rev ( ) ) ",
        "( get-file ( 6:A/mu/x ( ) true true ) ) ",
        "( get-file ( 1:A ( ) true true ) ) ",
        "( get-file ( 4:nope ( ) true true ) ) ",
        "( get-file ( 4:A/mu ( 99 ) true true ) ) ",
        "( get-file ( 4:A/mu ( 4 ) false true ) ) ",
        "( get-file ( 4:A/mu ( 18446744073709551615 ) false false true ) ) ",
        "( get-dir ( 4:A/mu ( ) false true ) ) ",
        "( get-dir ( 1:A ( 99 ) false false ) ) ( get-dir ( 4:nope ( ) false false ) ) ( get-dir ( 4:A/mu ( ) false false ) ) ",
        "( check-path ( 5:/A/mu ( ) ) ) ( check-path ( 6://A//B ( 2 ) ) ) ( check-path ( 0: ( 0 ) ) ) ",
        "( check-path ( 4:a/.. ( ) ) ) ( check-path ( 2:\u{e9} ( ) ) ) ",
        "( check-path ( 0: ( 999 ) ) ) ( stat ( 0: ( 999 ) ) ) ( stat ( 4:nope ( ) ) ) ( stat ( 1:A ( 3 ) ) ) ",
        "( get-locks ( 0: ( bogus ) ) ) ( get-locks ( 0: ( files ) ) ) ( get-locks ( 0: ) ) ",
        "( get-lock ( 4:A/mu ) ) ( get-lock ( 4:nope ) ) ",
        "( reparent ( 9:svn://x/y ) ) ",
        "( get-dated-rev ( 3:abc ) ) ( get-dated-rev ( 27:2000-01-01T00:00:00.000000Z ) ) ",
        "( get-iprops ( 4:A/mu ( ) ) ) ( get-iprops ( 4:A/mu ( 8 ) ) ) ( get-iprops ( 4:nope ( 8 ) ) ) ",
        "( rev-proplist ( 99 ) ) ( rev-prop ( 1 6:absent ) ) ( rev-prop ( 1 7:svn:log ) ) ",
        "( list ( 0: ( 99 ) immediates ( kind ) ) ) ( list ( 0: ( ) unknown ( kind ) ) ) ",
        "( list ( 0: ( ) immediates ( size bogus ) ( 1:i* ) ) ) ( list ( 0: ( ) infinity ( ) ( ) ) ) ",
        "( list ( 4:nope ( ) infinity ( ) ) ) ( list ( 0: ( ) files ) ) ",
        "( get-mergeinfo ( ( 3:A/D ) ( ) inherited false ) ) ( get-mergeinfo ( ( 0: ) ( ) bogus true ) ) ",
        "( get-mergeinfo ( ( 4:nope ) ( ) explicit false ) ) ",
        "( get-locations ( 4:A/D2 7 ( 1 2 3 4 5 8 9 ) ) ) ( get-locations ( 4:nope 7 ( 1 ) ) ) ",
        "( get-location-segments ( 4:A/D2 ( 7 ) ( 7 ) ( 0 ) ) ) ( get-location-segments ( 4:A/D2 ( 3 ) ( 7 ) ( 0 ) ) ) ",
        "( get-location-segments ( 4:nope ( ) ( ) ( ) ) ) ( get-location-segments ( 0: ( ) ( ) ( ) ) ) ",
        "( get-deleted-rev ( 9:A/B/E/beta 5 8 ) ) ( get-deleted-rev ( 4:A/mu 5 8 ) ) ( get-deleted-rev ( 4:A/mu 5 99 ) ) ",
        "( get-file-revs ( 4:nope ( 1 ) ( 5 ) ) ) ( get-file-revs ( 4:iota ( 5 ) ( 1 ) true ) ) ",
        "( log ( ( 4:nope ) ( ) ( ) true false ) ) ( log ( ( 0: ) ( 99 ) ( 1 ) true false ) ) ",
        "( log ( ( 0: ) ( 3 ) ( 1 ) true false ) ) ( log ( ( 0: ) ( 3 ) ( 1 ) true false 1 false all-revprops ( ) ) ) ",
        "( log ( ( 0: ) ( 3 ) ( 1 ) false false 99999999999 false revprops ( 8:svn:date ) ) ) ",
        "( log ( ( ) ( 2 ) ( 1 ) false false 0 false revprops ( ) ) ) ",
        "( update ( ( 3 ) 0: true exclude false ) ) ( get-latest-rev ( ) ) |",
        "( update ( ( 99 ) 0: true infinity false ) ) ( set-path ( 0: 3 true ) ) ( finish-report ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( finish-report ( ) ) ( get-latest-rev ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 3 true ) ) ( abort-report ( ) ) ( get-latest-rev ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( foo ( ) ) ( delete-path ( 0: ) ) ( finish-report ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 3 false ( ) unknown ) ) ( finish-report ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 3 false ( ) unknown ) ) ( abort-report ( ) ) ( get-latest-rev ( ) ) |",
        "( update ( ( 3 ) 4:nope true infinity false ) ) ( set-path ( 0: 3 true ) ) ( finish-report ( ) ) |( success ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 3 false ) ) ( link-path ( 1:A 9:svn://x/y 3 false ) ) ( finish-report ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 99 false ) ) ( finish-report ( ) ) |( success ( ) ) ( get-latest-rev ( ) ) |",
        "( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 2 false ) ) ( set-path ( 3:zzz 2 false ) ) ( finish-report ( ) ) |( success ( ) ) |",
        "( switch ( ( 3 ) 0: true 9:svn://x/y infinity ) ) ( get-latest-rev ( ) ) |",
        "( diff ( ( 3 ) 0: true false 9:svn://x/y ) ) ( get-latest-rev ( ) ) |",
        "( replay ( 99 0 true ) ) |( success ( ) ) ( get-latest-rev ( ) ) |",
        "( replay-range ( 98 99 0 true ) ) ( get-latest-rev ( ) ) |",
        "( replay-range ( 5 4 0 true ) ) ( replay ( 3 0 false ) ) |",
        "( replay ( 0 0 true ) ) |",
        // Invalid protocol: the connection ends without a response.
        "( get-latest-rev ( x",
        "((get-latest-rev ( ) ) ) ",
        "( get-latest-rev()) ",
        "(get-latest-rev () ) (check-path (4:iota (3 ) ) ) ",
        "( check-path ( 4:iota ( )) ) ",
        "( get-file ( x ( ) ) ) ",
        "( get-file ( 4:iota ( ) ) ) ",
        "( update ( ( 3 ) 0: true infinity ) ) ",
        "( log ( ( 0: ) ( 3 ) ( 1 ) true false 0 false ) ) ",
        "( log ( ( 0: ) ( 3 ) ( 1 ) true false 0 false bogus ( ) ) ) ",
        "99999999999999999999 ",
        ") ",
        "\t",
    ];
    let inputs: Vec<&str> = sample(2, inputs).collect();
    let responses_of_both =
        |input: &&str| Side::BOTH.map(|side| send_and_receive(pair.port(side), input.as_bytes()));
    for (input, responses) in inputs.iter().zip(at_once(&inputs, responses_of_both)) {
        if comparable(&responses[0]) != comparable(&responses[1]) {
            // A pause of a busy machine can cause a difference.
            let responses = responses_of_both(input);
            assert_eq!(comparable(&responses[0]), comparable(&responses[1]), "{input}");
        }
    }
}

/// Calls `work` for all items, eight at a time: most of the time is waiting for the end of a response.
pub fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let group = |items: &[T]| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| work(item))).collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended
                .map(|result| result.expect("because it says what failed"))
                .collect::<Vec<R>>()
        })
    };
    items.chunks(8).flat_map(group).collect()
}

/// Splits a response into words; properties and directory entries, whose order is undefined, are sorted.
fn comparable(response: &str) -> Vec<&str> {
    let mut words: Vec<&str> = response.split(' ').collect();
    words.sort_unstable();
    words
}

#[test]
fn failed_opens_get_equal_errors() {
    let pair = ServerPair::of(&Spec::small("1.14").named("small-f8"));
    for url in [
        "http://x/repo",
        "svn://x/nope",
        "svn://x/repo/../repo",
        "svn://x/%2e%2e/repo",
        "svn+ssh://x:99/repo/trunk%20x/?",
        "svnfoo://x/repo",
        "SVN+SSH://h/repo/A",
        "Svn://H/repo",
        "svn://x",
        "svn://u@H:99//repo//A/",
        "svn://h:3690/repo%2fA",
        "svn://h/repo/A/./mu",
    ] {
        let responses = Side::BOTH.map(|side| {
            let mut stream = connect(pair.port(side));
            _ = stream.write_all(hello(url).as_bytes());
            _ = stream.shutdown(std::net::Shutdown::Write);
            let mut received = String::new();
            _ = stream.read_to_string(&mut received);
            received
        });
        assert_eq!(responses[0], responses[1], "{url}");
    }
}

#[test]
fn without_compression_only_svndiff_0_is_sent() {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8"));
    let pair = ServerPair::serving(&repo, &["-c", "0"]);
    let input = b"( update ( ( 3 ) 0: true infinity false ) ) ( set-path ( 0: 3 true ) ) ( finish-report ( ) ) |( success ( ) ) ";
    let received = Side::BOTH.map(|side| send_and_receive(pair.port(side), input));
    for received in &received {
        assert!(
            received.contains("SVN\0") && !received.contains("SVN\u{1}") && !received.contains("SVN\u{2}")
        );
        assert!(!received.contains("svndiff"), "{received}");
    }
}

/// Returns the bytes of the response to a checkout of a repository with one text of so many megabytes, read with a
/// pause after each 64 KiB.
fn checked_out(megabytes: usize, pause: Duration, options: &[&str]) -> usize {
    let repo = Repo::create("1.14");
    let folder = tempfile::tempdir().expect("because there is room");
    // The text is a delta against its predecessor, so that no stored window can be sent without change.
    for word in ["old", "new"] {
        for number in 0..megabytes {
            let text = format!("the {word} line of file {number} among many lines\n").repeat((1 << 20) / 42);
            std::fs::write(folder.path().join(number.to_string()), text).expect("because there is room");
        }
        let put = Tool::new("svnmucc");
        let mut put = put.args(["-m", "", "-U"]).arg(repo.url());
        for number in 0..megabytes {
            put = put
                .arg("put")
                .arg(folder.path().join(number.to_string()))
                .arg(number.to_string());
        }
        put.ok();
    }
    let server = TestServer::svnserve(Side::Ours, repo.path(), options);
    let mut stream = connect(server.port());
    let url = format!("svn://127.0.0.1:{}", server.port());
    let input =
        "( update ( ( 2 ) 0: true infinity false ) ) ( set-path ( 0: 2 true ) ) ( finish-report ( ) ) ";
    stream
        .write_all((hello(&url) + input).as_bytes())
        .expect("because it listens");
    let (mut received, mut end) = (0, Vec::new());
    let mut piece = vec![0; 64 << 10];
    while !end.ends_with(b"( close-edit ( ) ) ") {
        let length = read_some(&mut stream, &mut piece).expect("because it answers");
        assert!(length > 0, "it has gone");
        received += length;
        end.extend_from_slice(&piece[..length]);
        end.drain(..end.len().saturating_sub(64));
        std::thread::sleep(pause);
    }
    received
}

/// See docs/decisions/adaptive-compression.md.
#[test]
fn slow_clients_get_compressed_texts_after_the_first_ones() {
    let none = Duration::ZERO;
    assert!(checked_out(1, none, &[]) > 900_000);
    assert!(checked_out(1, none, &["-c", "5"]) < 1 << 18);
    let megabytes = 24;
    let slow = checked_out(megabytes, Duration::from_millis(5), &[]);
    assert!(slow < megabytes << 19, "{slow}");
}

#[test]
fn limits_end_a_session() {
    let repo = testkit::build(&Spec::new("1.14").busy().named("f8"));
    let pair = ServerPair::serving(&repo, &["--max-request-size", "1", "--max-response-size", "1"]);
    let long = format!("( get-file ( 2000000:{}", "x".repeat(2_000_000));
    let large = "( update ( ( ) 0: true infinity false ) ) ( set-path ( 0: 3 true ) ) ( finish-report ( ) ) ";
    for side in Side::BOTH {
        assert!(!send_and_receive(pair.port(side), long.as_bytes()).contains("failure"));
        let received = send_and_receive(pair.port(side), large.as_bytes());
        assert!(
            received.len() < 3 << 20 && !received.contains("close-edit"),
            "{side:?}"
        );
    }
}

#[test]
fn many_connections_need_little_memory() {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8"));
    let root = repo.path().parent().expect("because it is in a folder");
    let mut server = TestServer::svnserve(Side::Ours, root, &["--max-threads", "8"]);
    let name = repo
        .path()
        .file_name()
        .expect("because it has a name")
        .to_string_lossy()
        .into_owned();
    let url = format!("svn://127.0.0.1/{name}");
    let before = resident(server.pid());
    // More connections than threads: idle ones, ones with a partial greeting, ones with invalid bytes.
    let mut idle: Vec<TcpStream> = (0..400).map(|_| connect(server.port())).collect();
    for stream in &mut idle[..200] {
        stream
            .write_all(hello(&url).as_bytes())
            .expect("because it is connected");
        expect(stream, "mergeinfo ) ) ) ");
    }
    for _ in 0..100 {
        let mut stream = connect(server.port());
        _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
    }
    for stream in &mut idle[..200] {
        stream
            .write_all(b"( get-latest-rev ( ) ) ")
            .expect("because it is connected");
        expect(stream, "( success ( 11 ) ) ");
    }
    let grown = resident(server.pid()).saturating_sub(before);
    assert!(grown < 40 << 20, "400 idle connections took {grown} bytes");
    assert!(server.is_alive());
    assert!(server.terminate().is_some());
}

#[test]
fn slow_readers_do_not_delay_other_clients() {
    let repo = testkit::build(&Spec::new("1.14").busy().named("f8"));
    let root = testkit::scratch();
    std::os::unix::fs::symlink(repo.path(), root.path().join("repo")).expect("because the folder is empty");
    let server = TestServer::svnserve(Side::Ours, root.path(), &[]);
    let url = "svn://127.0.0.1/repo".to_owned();
    let send_request = format!(
        "{}( update ( ( ) 0: true infinity false ) ) ( set-path ( 0: 0 true ) ) ( finish-report ( ) ) ",
        hello(&url)
    );
    let mut slow: Vec<TcpStream> = (0..20).map(|_| connect(server.port())).collect();
    for stream in &mut slow {
        stream
            .write_all(send_request.as_bytes())
            .expect("because it is connected");
        expect(stream, "target-rev");
    }
    let begin = std::time::Instant::now();
    for _ in 0..5 {
        let mut stream = connect(server.port());
        stream
            .write_all(send_request.as_bytes())
            .expect("because it is connected");
        expect(&mut stream, "( close-edit ( ) ) ");
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
    for stream in &mut slow {
        expect(stream, "( close-edit ( ) ) ");
    }
}

/// Reads until `text` has arrived.
fn expect(stream: &mut TcpStream, text: &str) {
    let mut received = Vec::new();
    let mut piece = [0; 65536];
    loop {
        let len = read_some(stream, &mut piece).expect("because the server answers");
        assert!(len > 0, "hung up after {}", String::from_utf8_lossy(&received));
        let from = received.len().saturating_sub(text.len());
        received.extend_from_slice(&piece[..len]);
        if memmem::find(&received[from..], text.as_bytes()).is_some() {
            return;
        }
    }
}

/// Returns the resident memory of a process in bytes.
fn resident(pid: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("because it lives");
    let pages: usize = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect("because the system writes numbers");
    pages * 4096
}
