//! Hostile and disconnected peers: the resources that they take, and that the server releases them.
//!
//! The resources of a server are read from `/proc`: threads, open files, memory. The tests do not depend on the
//! machine's speed: time limits are generous, and results are polled.

mod attacks;
mod load;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use rand::{Rng as _, SeedableRng as _};
use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::{Side, Tool, runs_all_cases};

/// The resources of a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessResources {
    threads: usize,
    files: usize,
    memory: usize,
}

impl ProcessResources {
    fn by(server: &TestServer) -> ProcessResources {
        let proc = PathBuf::from(format!("/proc/{}", server.pid()));
        let count = |name: &str| std::fs::read_dir(proc.join(name)).map_or(0, Iterator::count);
        let text = std::fs::read_to_string(proc.join("statm")).expect("because it lives");
        let pages = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        ProcessResources {
            threads: count("task"),
            files: count("fd"),
            memory: pages.map_or(0, |pages: usize| pages * 4096),
        }
    }

    /// Waits until the server has no more resources than these, except for memory that the allocator keeps.
    fn wait_until_released(self, server: &TestServer) {
        let memory = 96 << 20;
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let now = ProcessResources::by(server);
            if now.threads <= self.threads && now.files <= self.files && now.memory <= self.memory + memory {
                return;
            }
            assert!(Instant::now() < end, "{self:?} has become {now:?} for good");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Returns a directory with the repository `r`, which has an incompressible file that is larger than the socket
/// buffers.
pub fn big() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = testkit::tool::folder("interop-big");
        let path = folder.join("r");
        if !path.exists() {
            let tmp = tempfile::TempDir::new_in(&folder).expect("because target/ can be written");
            let (new, text) = (tmp.path().join("r"), tmp.path().join("text"));
            let mut bytes = vec![0; 12 << 20];
            rand_chacha::ChaCha8Rng::seed_from_u64(1).fill(&mut bytes[..]);
            std::fs::write(&text, bytes).expect("because it is ours");
            testkit::create_repository(&new);
            let url = format!("file://{}/big", new.display());
            Tool::new("svn")
                .args(["import", "-q", "-m", "x"])
                .arg(&text)
                .arg(url)
                .ok();
            // Another process may have made it meanwhile.
            _ = std::fs::rename(&new, &path);
        }
        folder
    });
    made.clone()
}

fn serve(args: &[&str]) -> TestServer {
    TestServer::svnserve(Side::Ours, &big(), args)
}

/// Checks that another client is served.
fn check_service(server: &TestServer) {
    let url = server.url("r");
    let output_text = Tool::new("svn").args(["info", "--non-interactive", &url]).ok();
    assert!(output_text.out().contains("Revision: 1"));
}

/// Returns the resources of the idle server after it has served one client.
fn idle_resources(server: &TestServer) -> ProcessResources {
    for _ in 0..3 {
        let mut client = HostileClient::of(server);
        client.ask_for_everything();
        client.read_until("( close-edit ( ) ) ");
    }
    check_service(server);
    // Waits until the additional threads have ended: idle ones end after two seconds.
    let mut least = ProcessResources::by(server);
    for _ in 0..45 {
        std::thread::sleep(Duration::from_millis(50));
        let now = ProcessResources::by(server);
        least = ProcessResources {
            threads: least.threads.min(now.threads),
            files: least.files.min(now.files),
            memory: now.memory,
        };
    }
    least
}

/// A raw client.
struct HostileClient {
    stream: TcpStream,
    port: u16,
}

impl HostileClient {
    fn of(server: &TestServer) -> HostileClient {
        let stream = TcpStream::connect(server.addr()).expect("because it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("because it is a socket");
        HostileClient {
            stream,
            port: server.port(),
        }
    }

    /// Returns a client with a small receive window.
    fn with_small_window(server: &TestServer) -> HostileClient {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.expect("because there are descriptors left");
        socket.set_recv_buffer_size(4096).expect("because it is a socket");
        socket.connect(&server.addr().into()).expect("because it listens");
        HostileClient {
            stream: socket.into(),
            port: server.port(),
        }
    }

    fn send(&mut self, text: impl AsRef<[u8]>) {
        // The server may have closed the connection.
        _ = self.stream.write_all(text.as_ref());
    }

    fn hello(&self) -> String {
        let url = format!("svn://127.0.0.1:{}/r", self.port);
        format!(
            "( 2 ( edit-pipeline svndiff1 absent-entries depth mergeinfo log-revprops ) {}:{url} 4:test ( ) ) ",
            url.len()
        )
    }

    fn log_in(&mut self) {
        let hello = self.hello();
        self.send(hello + "( ANONYMOUS ( 0: ) ) ");
        self.read_until("mergeinfo ) ) ) ");
    }

    fn ask_for_everything(&mut self) {
        self.log_in();
        self.send(
            "( update ( ( ) 0: true infinity false ) ) ( set-path ( 0: 0 true ) ) ( finish-report ( ) ) ",
        );
    }

    fn read_until(&mut self, text: &str) {
        let (found, last) = self.read_for(text);
        let last = last.escape_ascii();
        assert!(found, "the server hung up before '{text}', after '{last}'");
    }

    /// True if `text` arrives, false if the connection ends before.
    fn reads(&mut self, text: &str) -> bool {
        self.read_for(text).0
    }

    /// As [`reads`](Self::reads), with the last bytes that arrived.
    fn read_for(&mut self, text: &str) -> (bool, Vec<u8>) {
        let mut received = Vec::new();
        let mut piece = [0; 65536];
        loop {
            match read_some(&mut self.stream, &mut piece) {
                Ok(0) => return (false, received),
                Err(e) => {
                    assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "{e}");
                    return (false, received);
                }
                Ok(len) => received.extend_from_slice(&piece[..len]),
            }
            if memmem::find(&received, text.as_bytes()).is_some() {
                return (true, received);
            }
            let keep = received.len().min(text.len().max(200));
            received.drain(..received.len() - keep);
        }
    }

    /// Disconnects with a reset.
    fn disconnect(self) {
        let socket = socket2::SockRef::from(&self.stream);
        socket
            .set_linger(Some(Duration::ZERO))
            .expect("because it is a socket");
    }
}

#[test]
fn invalid_bytes_leave_no_resources_in_use() {
    let server = serve(&["--max-threads", "16"]);
    let rest = idle_resources(&server);
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(2);
    let clients = if runs_all_cases() { 2000 } else { 300 };
    for number in 0..clients {
        let mut client = HostileClient::of(&server);
        let hello = client.hello();
        let mut noise = vec![0; random.random_range(1..3000)];
        random.fill(&mut noise[..]);
        let input = match number % 10 {
            0 => noise,
            1 => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
            2 => b"( 2 ( edit-pipeline ) 18446744073709551615:svn".to_vec(),
            3 => b"( 2 ( edit-pipeline ) 16000000:svn".to_vec(),
            4 => b"( ".repeat(20_000),
            5 => [hello.as_bytes(), &noise].concat(),
            6 => [hello.as_bytes(), b"( ANONYMOUS ( 0: ) ) ( get-file ( 15000000:xy"].concat(),
            7 => hello.as_bytes()[..number % hello.len()].to_vec(),
            8 => b"( 2 ( edit-pipeline ) 200000:"
                .iter()
                .copied()
                .chain([b'x'; 200_000])
                .collect(),
            _ => Vec::new(),
        };
        client.send(input);
        if number % 3 == 0 {
            client.disconnect();
        }
    }
    check_service(&server);
    rest.wait_until_released(&server);
    check_service(&server);
}

#[test]
fn half_open_connections_take_no_threads_and_little_memory() {
    let server = serve(&["--max-threads", "4"]);
    let rest = idle_resources(&server);
    let mut clients: Vec<HostileClient> = (0..800).map(|_| HostileClient::of(&server)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let hello = client.hello();
        match number % 4 {
            // No bytes.
            0 => {}
            1 => client.send(&hello[..hello.len() / 2]),
            2 => client.send("( 2 ( edit-pipeline ) 60000:svn://"),
            _ => {
                client.log_in();
                client.send("( get-file ( 15000000:x");
            }
        }
    }
    for _ in 0..3 {
        check_service(&server);
    }
    let now = ProcessResources::by(&server);
    assert!(now.threads <= rest.threads + 8, "{rest:?} has become {now:?}");
    assert!(
        now.memory < rest.memory + (48 << 20),
        "{rest:?} has become {now:?}"
    );
    // Clients that continue are served.
    for client in clients.iter_mut().skip(1).step_by(4).take(50) {
        let hello = client.hello();
        client.send(hello[hello.len() / 2..].to_owned() + "( ANONYMOUS ( 0: ) ) ( get-latest-rev ( ) ) ");
        client.read_until("( success ( 1 ) ) ");
    }
    for (number, client) in clients.into_iter().enumerate() {
        if number % 2 == 0 {
            client.disconnect();
        }
    }
    rest.wait_until_released(&server);
    check_service(&server);
}

#[test]
fn incomplete_requests_time_out() {
    let server = serve(&["--stall-timeout", "1"]);
    let mut quiet: Vec<HostileClient> = (0..5).map(|_| HostileClient::of(&server)).collect();
    for client in &mut quiet {
        client.log_in();
    }
    let mut owing: Vec<HostileClient> = (0..60).map(|_| HostileClient::of(&server)).collect();
    for (number, client) in owing.iter_mut().enumerate() {
        let hello = client.hello();
        match number % 4 {
            0 => {}
            1 => client.send(&hello[..hello.len() / 2]),
            2 => {
                client.log_in();
                client.send("( get-latest-rev ( ");
            }
            _ => {
                client.log_in();
                client.send("( update ( ( ) 0: true infinity false ) ) ");
            }
        }
    }
    for client in &mut owing {
        assert!(!client.reads("what the server never says"));
    }
    // An idle client may be silent for any time.
    for client in &mut quiet {
        client.send("( get-latest-rev ( ) ) ");
        client.read_until("( success ( 1 ) ) ");
    }
}

#[test]
fn clients_that_disconnect_within_a_text_leave_no_resources_in_use() {
    let server = serve(&[]);
    let rest = idle_resources(&server);
    for _ in 0..2 {
        let mut clients: Vec<HostileClient> = (0..40).map(|_| HostileClient::of(&server)).collect();
        for client in &mut clients {
            client.ask_for_everything();
        }
        for client in &mut clients {
            client.read_until("( apply-textdelta ");
        }
        for (number, client) in clients.into_iter().enumerate() {
            // With and without a TCP reset.
            if number % 2 == 0 {
                client.disconnect();
            }
        }
    }
    check_service(&server);
    rest.wait_until_released(&server);
    check_service(&server);
}

#[test]
fn slow_readers_are_served_and_stalled_ones_are_disconnected() {
    const PATIENCE: &str = "4";
    /// Longer than the time limit for a peer that does not read.
    const SLOWLY: Duration = Duration::from_secs(9);
    const BYTES_A_SECOND: f64 = 10_000.0;
    let server = serve(&["--stall-timeout", PATIENCE, "--max-threads", "2"]);
    let rest = idle_resources(&server);
    let mut slow = HostileClient::with_small_window(&server);
    slow.ask_for_everything();
    let mut stalled = Vec::new();
    for _ in 0..6 {
        // One after the other, because the login has a time limit as well.
        let mut client = HostileClient::with_small_window(&server);
        client.ask_for_everything();
        stalled.push(client);
    }
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut byte = [0];
            let mut count = 0.0;
            while begin.elapsed() < SLOWLY {
                while count < begin.elapsed().as_secs_f64() * BYTES_A_SECOND {
                    slow.stream.read_exact(&mut byte).expect("because it still reads");
                    count += 1.0;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // More sessions than threads wait for their peers. Other clients do not wait for them.
        let mut others = 0;
        while !reader.is_finished() {
            let requested = Instant::now();
            check_service(&server);
            assert!(
                requested.elapsed() < Duration::from_secs(8),
                "another client had to wait"
            );
            others += 1;
        }
        assert!(others > 2);
    });
    slow.read_until("( close-edit ( ) ) ");
    slow.send("( success ( ) ) ");
    slow.read_until("( success ( ) ) ");
    drop(slow);
    rest.wait_until_released(&server);
    for client in &mut stalled {
        assert!(
            !client.reads("( close-edit ( ) ) "),
            "it took nothing and was not given up"
        );
    }
    check_service(&server);
}

/// A client that sends many commands at once releases its thread between two of them.
#[test]
fn many_commands_of_one_client_do_not_delay_another() {
    let server = serve(&["--max-threads", "1"]);
    let commands = if runs_all_cases() { 200_000 } else { 40_000 };
    let mut busy = HostileClient::of(&server);
    busy.log_in();
    let mut other = HostileClient::of(&server);
    let mut reader = busy.stream.try_clone().expect("because it is a socket");
    let responses = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| busy.send("( get-latest-rev ( ) ) ".repeat(commands)));
        scope.spawn(|| {
            let response = "( success ( ( ) 0: ) ) ( success ( 1 ) ) ".len();
            let (mut bytes, mut piece) = (0, [0; 65536]);
            while bytes < commands * response {
                let len = read_some(&mut reader, &mut piece).expect("because the server answers");
                assert!(len > 0, "the server hung up");
                bytes += len;
                responses.store(bytes / response, Ordering::Relaxed);
            }
            assert_eq!(bytes, commands * response);
        });
        other.log_in();
        other.send("( get-latest-rev ( ) ) ");
        other.read_until("( success ( 1 ) ) ");
        let before = responses.load(Ordering::Relaxed);
        assert!(before < commands, "the other client has waited for all of them");
        writer.join().expect("no panic");
    });
}

/// The incumbent has no limit of login attempts.
#[test]
fn login_attempts_on_a_connection_are_limited() {
    let folder =
        tempfile::TempDir::new_in(testkit::tool::folder("interop-guesses")).expect("because it is ours");
    let at = |name: &str| folder.path().join(name);
    testkit::create_repository(&at("r"));
    let write = |name: &str, text: &str| std::fs::write(at(name), text).expect("because it is ours");
    write(
        "r/conf/svnserve.conf",
        "[general]\nanon-access = none\npassword-db = passwd\n",
    );
    write("r/conf/passwd", "[users]\nalice = s3cret\n");
    for (side, most) in [(Side::Theirs, None), (Side::Ours, Some(1000))] {
        let server = TestServer::svnserve(side, folder.path(), &[]);
        let mut client = HostileClient::of(&server);
        let hello = client.hello();
        client.send(hello);
        client.read_until("( CRAM-MD5 )");
        let guess = format!("( CRAM-MD5 ( ) ) 38:alice {} ", "0".repeat(32));
        let mut tried = 0;
        while tried < 1100 {
            client.send(&guess);
            if !client.reads("( failure ( 18:Password incorrect ) ) ") {
                break;
            }
            tried += 1;
        }
        assert_eq!(tried, most.map_or(1100, |most| most + 1), "{side:?}");
    }
}
