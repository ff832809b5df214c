//! Clients that take their time, or say nothing at all.

use std::io::Read as _;
use std::time::{Duration, Instant};

use testkit::probe::hear;

use super::site::{BIG, Client, Site, make_big, request, status_of};

fn patient() -> Site {
    let site = Site::new(|plan, _| {
        plan.options.limits.threads = 2;
        plan.options.limits.stall = Duration::from_secs(2);
    });
    make_big(&site);
    site
}

#[test]
fn slow_readers_disturb_nobody_and_are_not_cut_off() {
    let mut site = patient();
    let before = memory();
    let mut readers: Vec<Client> = (0..12).map(|_| site.connect()).collect();
    for reader in &mut readers {
        // A small window: the server notices at once that nobody reads.
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
    // What they do not take is not made.
    let held = memory().saturating_sub(before);
    assert!(
        held < 12 * BIG as u64 / 2,
        "{held} bytes for those who do not read"
    );
    // One of them reads on, a little at a time, for longer than the others may stall.
    let mut steady = readers.pop().expect("there are twelve");
    let mut piece = [0; 2048];
    let mut seen = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        let len = hear(&mut steady.socket, &mut piece).expect("the server goes on");
        assert!(len > 0, "cut off after {seen} bytes");
        seen += len;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(seen < BIG);
    // Those that took nothing were given up.
    drop((steady, others));
    let begun = Instant::now();
    loop {
        let mut watcher = Client::to(site.status);
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
fn a_body_that_does_not_come_is_not_awaited_for_ever() {
    let site = Site::new(|plan, _| plan.options.limits.stall = Duration::from_millis(700));
    let mut client = site.connect();
    client.send(request("OPTIONS", "/repo", "Content-Length: 100\r\n"));
    client.send("<?xml");
    assert_eq!(status_of(&client.answer().0), 408);
    assert!(client.is_closed_within(Duration::from_secs(20)));
}

#[test]
fn requests_that_run_are_finished_before_the_server_ends() {
    let mut site = Site::plain();
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
    while let Ok(len @ 1..) = hear(&mut client.socket, &mut large) {
        seen += len;
    }
    assert!(seen > BIG, "{seen} bytes of {BIG}");
    site.stop();
}

#[test]
fn a_thousand_idle_connections_cost_little() {
    assert!(idle_connections(1000) < 64 << 20);
}

/// Memory that so many connections take which have asked for something once.
fn idle_connections(count: usize) -> u64 {
    let site = Site::plain();
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

/// Bytes of memory that this process holds.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
