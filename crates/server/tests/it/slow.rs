//! Slow and silent clients.

use std::io::Read as _;
use std::time::{Duration, Instant};

use testkit::probe::read_some;

use super::site::{BIG, RawClient, TestSite, make_big, request, status_of};

fn site_with_long_limits() -> TestSite {
    let site = TestSite::new(|plan, _| {
        plan.threads.max = 2;
        plan.options.limits.stall = Duration::from_secs(2);
    });
    make_big(&site);
    site
}

#[test]
fn slow_readers_are_served_and_do_not_delay_others() {
    let mut site = site_with_long_limits();
    let before = memory();
    let mut readers: Vec<RawClient> = (0..12).map(|_| site.connect()).collect();
    for reader in &mut readers {
        // With a small receive buffer the server notices at once that the client does not read.
        socket2::SockRef::from(&reader.socket)
            .set_recv_buffer_size(4096)
            .expect("a socket");
        reader.send(request("GET", "/big/big", ""));
    }
    let mut others = site.connect();
    for _ in 0..20 {
        let begun = Instant::now();
        others.send(request("OPTIONS", "/repo", ""));
        assert_eq!(status_of(&others.answer().0), 200);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    // Responses are not computed ahead of what the clients read.
    let held = memory().saturating_sub(before);
    assert!(
        held < 12 * BIG as u64 / 2,
        "{held} bytes for those who do not read"
    );
    // One of them continues to read slowly, for longer than the others may stall.
    let mut steady = readers.pop().expect("there are twelve");
    let mut piece = [0; 2048];
    let mut seen = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        let len = read_some(&mut steady.socket, &mut piece).expect("the server goes on");
        assert!(len > 0, "cut off after {seen} bytes");
        seen += len;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(seen < BIG);
    // The connections of those that read nothing were closed.
    drop((steady, others));
    let begun = Instant::now();
    loop {
        let mut watcher = RawClient::to(site.status);
        watcher.send(request("GET", "/-/metrics", "Connection: close\r\n"));
        if watcher.rest().contains("sven_connections{protocol=\"http\"} 1\n") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "they are waited for");
        std::thread::sleep(Duration::from_millis(200));
    }
    site.stop();
}

#[test]
fn a_body_that_does_not_arrive_times_out() {
    let site = TestSite::new(|plan, _| plan.options.limits.stall = Duration::from_millis(700));
    let mut client = site.connect();
    client.send(request("OPTIONS", "/repo", "Content-Length: 100\r\n"));
    client.send("<?xml");
    assert_eq!(status_of(&client.answer().0), 408);
    assert!(client.is_closed_within(Duration::from_secs(20)));
}

/// Returns the server's metrics of threads and connections.
fn metric(site: &TestSite, name: &str) -> u64 {
    let mut watcher = RawClient::to(site.status);
    watcher.send(request("GET", "/-/metrics", "Connection: close\r\n"));
    let text = watcher.rest();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn requests_without_their_bodies_take_no_threads() {
    let site = TestSite::new(|plan, _| plan.threads.max = 2);
    let methods = [
        "REPORT",
        "PROPFIND",
        "PROPPATCH",
        "MERGE",
        "LOCK",
        "POST",
        "OPTIONS",
        "MKACTIVITY",
        "CHECKOUT",
    ];
    let mut half: Vec<RawClient> = Vec::new();
    for number in 0..90 {
        let mut client = site.connect();
        let how = match number % 3 {
            0 => "Content-Length: 1000\r\n",
            1 => "Transfer-Encoding: chunked\r\n",
            _ => "Expect: 100-continue\r\nContent-Length: 1000\r\n",
        };
        client.send(request(methods[number % methods.len()], "/repo/trunk", how));
        if number % 3 == 1 {
            client.send("2\r\n<x\r\n");
        }
        half.push(client);
    }
    // Longer than a thread waits for a client before another thread takes its place.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(metric(&site, "sven_http_threads{state=\"all\"}") <= 2);
    assert_eq!(metric(&site, "sven_http_threads{state=\"waiting\"}"), 0);
    assert_eq!(site.ask("OPTIONS", "/repo", "").0, 200);
    // A body that arrives late is read.
    let mut late = half.swap_remove(0);
    late.send(vec![b' '; 1000]);
    assert_eq!(status_of(&late.answer().0), 400);
}

#[test]
fn bodies_have_a_time_and_a_rate() {
    let site = TestSite::new(|plan, _| {
        plan.options.limits.body_timeout = Duration::from_millis(600);
        plan.options.limits.body_rate = 1000;
    });
    // A byte now and then is too slow, whether a worker thread reads it or the connection does before.
    for (method, target) in [("OPTIONS", "/repo"), ("REPORT", "/repo/!svn/me")] {
        let mut client = site.connect();
        client.send(request(method, target, "Content-Length: 4000\r\n"));
        let begun = Instant::now();
        while !client.is_closed_within(Duration::from_millis(50)) {
            client.send("<");
            assert!(begun.elapsed() < Duration::from_secs(30), "{method} is awaited");
        }
    }
    // Two thousand bytes at the minimum rate extend the limit by two seconds.
    let mut client = site.connect();
    client.send(request("OPTIONS", "/repo", "Content-Length: 2100\r\n"));
    client.send(vec![b' '; 2000]);
    std::thread::sleep(Duration::from_millis(1000));
    client.send(vec![b' '; 100]);
    assert_ne!(status_of(&client.answer().0), 408);
}

#[test]
fn an_address_has_a_share_of_the_connections() {
    let site = TestSite::new(|plan, _| plan.options.limits.connections_per_address = 5);
    let mut held: Vec<RawClient> = (0..5).map(|_| site.connect()).collect();
    for client in &mut held {
        client.send(request("OPTIONS", "/repo", ""));
        assert_eq!(status_of(&client.answer().0), 200);
    }
    assert!(site.connect().is_closed_within(Duration::from_secs(20)));
    // Another address is served, and so is this one when it has fewer connections.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    let source = std::net::SocketAddr::from(([127, 0, 0, 7], 0));
    socket
        .bind(&source.into())
        .expect("the loopback has many addresses");
    socket.connect(&site.plain.into()).expect("the server listens");
    let mut other = RawClient {
        socket: socket.into(),
    };
    other.send(request("OPTIONS", "/repo", ""));
    assert_eq!(status_of(&other.answer().0), 200);
    held.pop();
    let begun = Instant::now();
    while site.ask("OPTIONS", "/repo", "").0 != 200 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the place is never free"
        );
    }
}

#[test]
fn a_slow_reader_does_not_make_the_next_connection_slow() {
    let site = TestSite::plain();
    make_big(&site);
    let client = "User-Agent: SVN/1.14.2\r\nAccept-Encoding: gzip\r\nDepth: 1\r\n";
    let is_compressed = |client: &mut RawClient, head: &str| {
        client.send(request("PROPFIND", "/repo/trunk/", head));
        client
            .response_head()
            .to_lowercase()
            .contains("content-encoding: gzip")
    };
    let mut slow = site.connect();
    socket2::SockRef::from(&slow.socket)
        .set_recv_buffer_size(4096)
        .expect("a socket");
    slow.send(request("GET", "/big/big", ""));
    let mut piece = vec![0; 64 << 10];
    let mut left = BIG;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        left -= read_some(&mut slow.socket, &mut piece[..4096])
            .expect("it goes on")
            .min(left);
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(slow);
    for _ in 0..5 {
        assert!(!is_compressed(&mut site.connect(), client));
    }
}

#[test]
fn running_requests_finish_before_the_server_stops() {
    let mut site = TestSite::plain();
    make_big(&site);
    let mut client = site.connect();
    client.send(request("GET", "/big/big", ""));
    let mut first = [0; 1000];
    client.socket.read_exact(&mut first).expect("it begins");
    let mut idle = site.connect();
    idle.send(request("OPTIONS", "/repo", ""));
    assert_eq!(status_of(&idle.answer().0), 200);
    site.ask_to_stop();
    assert!(
        idle.is_closed_within(Duration::from_secs(10)),
        "idle connections end at once"
    );
    let mut seen = first.len();
    let mut large = vec![0; 1 << 20];
    while let Ok(len @ 1..) = read_some(&mut client.socket, &mut large) {
        seen += len;
    }
    assert!(seen > BIG, "{seen} bytes of {BIG}");
    site.stop();
}

#[test]
fn a_thousand_idle_connections_need_little_memory() {
    assert!(idle_connections(1000) < 64 << 20);
}

/// Bytes of memory that `count` connections take which have sent one request each.
fn idle_connections(count: usize) -> u64 {
    let site = TestSite::plain();
    let before = resident();
    let mut all = Vec::new();
    for _ in 0..count {
        let mut client = site.connect();
        client.send(request("OPTIONS", "/repo", ""));
        all.push(client);
    }
    for client in &mut all {
        assert_eq!(status_of(&client.answer().0), 200);
    }
    let took = resident().saturating_sub(before);
    // And they are still served.
    for client in all.iter_mut().step_by(100) {
        client.send(request("OPTIONS", "/repo", ""));
        assert_eq!(status_of(&client.answer().0), 200);
    }
    took
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text.split(' ').nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

/// Bytes of memory that this process uses.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
