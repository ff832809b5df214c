//! Servers that are stopped, restarted, or whose log is rotated.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use testkit::probe::read_some;
use testkit::server::{TestServer, free_port};
use testkit::{Side, Tool, scratch};

use crate::hostile::big;

const SIGTERM: i32 = 15;

/// A TCP proxy that forwards `before` bytes of the server, then pauses until it is released.
struct PausingProxy {
    port: u16,
    reached: mpsc::Receiver<()>,
    go_on: Arc<AtomicBool>,
}

impl PausingProxy {
    fn client_and(server: SocketAddr, before: usize) -> PausingProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
        let port = listener.local_addr().expect("because it is bound").port();
        let (at, reached) = mpsc::channel();
        let go_on = Arc::new(AtomicBool::new(false));
        let may = go_on.clone();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("because it listens");
            let mut server = TcpStream::connect(server).expect("because it listens");
            let (mut from, mut to) = (
                client.try_clone().expect("because it is a socket"),
                server.try_clone().expect("because it is a socket"),
            );
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let mut piece = [0; 16384];
            let mut passed = 0;
            while let Ok(len) = read_some(&mut server, &mut piece) {
                if len == 0 || client.write_all(&piece[..len]).is_err() {
                    break;
                }
                passed += len;
                if passed > before {
                    _ = at.send(());
                    while !may.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            }
            // Closes both directions, so that the client notices.
            _ = client.shutdown(std::net::Shutdown::Both);
        });
        PausingProxy { port, reached, go_on }
    }
}

#[test]
fn a_server_that_is_stopped_within_a_checkout() {
    // Both at the same time, because a server waits for its sessions when it stops.
    std::thread::scope(|scope| {
        for side in Side::BOTH {
            scope.spawn(move || stop_within_a_checkout(side));
        }
    });
}

fn stop_within_a_checkout(side: Side) {
    let dir = scratch();
    let pid = dir.path().join("pid").display().to_string();
    let args = ["-T", "--pid-file", &pid];
    let server = TestServer::svnserve(side, &big(), &args[usize::from(side == Side::Ours)..]);
    let between = PausingProxy::client_and(server.addr(), 1 << 20);
    let mut client = Tool::new("svn")
        .args(["checkout", "--non-interactive"])
        .arg(format!("svn://127.0.0.1:{}/r", between.port))
        .arg(dir.path().join("wc"))
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("because svn is installed");
    between
        .reached
        .recv_timeout(Duration::from_secs(30))
        .expect("because it checks out");
    let port = server.port().to_string();
    let ended = server.terminate().expect("because it stops in time");
    assert_eq!(ended.signal(), Some(SIGTERM), "{side:?}: {ended}");
    assert!(
        Path::new(&pid).exists(),
        "{side:?} leaves the file that names it behind"
    );
    // Another server can start at once.
    let next = side
        .tool("svnserve")
        .args(["-d", "--listen-host", "127.0.0.1", "--listen-port", &port])
        .arg("-r")
        .arg(big())
        .args(["--pid-file", &pid])
        .run();
    assert_eq!(next.code, 0, "{next:?}");
    works_soon(&format!("svn://127.0.0.1:{port}/r"));
    between.go_on.store(true, Ordering::SeqCst);
    let mut output_text = String::new();
    let mut stderr = client.stderr.take().expect("because it was piped");
    stderr
        .read_to_string(&mut output_text)
        .expect("because it is text");
    let code = client.wait().expect("because it is our child").code();
    assert_eq!(code, Some(1), "{side:?}: {output_text}");
    assert!(
        output_text.contains("E210002") || output_text.contains("E000104"),
        "{side:?}: {output_text}"
    );
    stop(&std::fs::read_to_string(&pid).expect("because it was written"));
}

/// Waits until a server accepts connections: Subversion's detaches before it listens.
fn works_soon(url: &str) {
    wait_for(|| {
        Tool::new("svn")
            .args(["info", "--non-interactive", url])
            .run()
            .code
            == 0
    });
}

fn is_there(pid: &str) -> bool {
    Tool::new("kill").args(["-0", pid.trim()]).run().code == 0
}

fn stop(pid: &str) {
    Tool::new("kill").args(["-TERM", pid.trim()]).ok();
    wait_for(|| !is_there(pid));
}

fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not happen");
}

#[test]
fn the_pid_file_of_a_daemon_exists_when_its_parent_ends() {
    let dir = scratch();
    let port = free_port().to_string();
    let start = |pid: &Path| {
        Side::Ours
            .tool("svnserve")
            .args(["-d", "--listen-host", "127.0.0.1", "--listen-port", &port, "-r"])
            .arg(big())
            .arg("--pid-file")
            .arg(pid)
            .run()
    };
    let refused = start(&dir.path().join("no/pid"));
    assert_eq!(refused.code, 1);
    assert!(
        refused.err().contains("svnserve: E000002: Can't open file '") && refused.err().contains("/no/pid'"),
        "{refused:?}"
    );
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().expect("because it is one");
    assert!(
        TcpStream::connect(address).is_err(),
        "a server that nobody can find"
    );
    let pid = dir.path().join("pid");
    std::fs::write(&pid, "an old one that is longer").expect("because it is ours");
    assert_eq!(start(&pid).code, 0);
    let number = std::fs::read_to_string(&pid).expect("because it was written");
    assert!(is_there(&number), "{number}");
    // The child needs no waiting.
    TcpStream::connect(address).expect("because it listens");
    stop(&number);
    assert_eq!(std::fs::read_to_string(&pid).ok(), Some(number));
}

#[test]
fn a_rotated_log_loses_no_lines() {
    const ROUNDS: usize = 5;
    let dir = scratch();
    let log = dir.path().join("log");
    let server = TestServer::svnserve(Side::Ours, &big(), &["--log-file", &log.display().to_string()]);
    let mut client = TcpStream::connect(server.addr()).expect("because it listens");
    let url = server.url("r");
    let hello = format!(
        "( 2 ( edit-pipeline depth ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) ",
        url.len()
    );
    client
        .write_all(hello.as_bytes())
        .expect("because it is connected");
    let hang_up = || {
        Tool::new("kill").args(["-HUP", &server.pid().to_string()]).ok();
    };
    let mut send_request = |times: usize| {
        let mut piece = [0; 4096];
        for _ in 0..times {
            client
                .write_all(b"( get-latest-rev ( ) ) ")
                .expect("because it is connected");
            let mut received = Vec::new();
            while !received.ends_with(b"( success ( 1 ) ) ") {
                let len = read_some(&mut client, &mut piece).expect("because the server answers");
                assert!(len > 0, "it hung up");
                received.extend_from_slice(&piece[..len]);
            }
        }
    };
    let rotated = AtomicBool::new(false);
    let count = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut count = 0;
            while !rotated.load(Ordering::SeqCst) {
                send_request(20);
                count += 20;
            }
            count
        });
        for round in 0..ROUNDS {
            std::fs::rename(&log, dir.path().join(format!("log.{round}"))).expect("because it logs");
            hang_up();
            wait_for(|| log.exists());
        }
        rotated.store(true, Ordering::SeqCst);
        asking.join().expect("because nobody was disturbed")
    });
    // If no new log can be made, the old one is used, with the error.
    let old = dir.path().join("log.last");
    std::fs::rename(&log, &old).expect("because it logs");
    std::fs::create_dir(&log).expect("because it is ours");
    hang_up();
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    wait_for(|| text(&old).contains("Can't open file"));
    send_request(1);
    let mut requested = 0;
    for entry in std::fs::read_dir(dir.path())
        .expect("because it is ours")
        .flatten()
    {
        requested += text(&entry.path()).matches(" get-latest-rev\n").count();
    }
    assert_eq!(requested, count + 1);
    assert!(text(&old).contains(" get-latest-rev\n"));
}

#[test]
fn an_idle_server_keeps_no_file_open() {
    let root = scratch();
    let repository = root.path().join("r");
    testkit::create_repository(&repository);
    let conf = "[general]\nanon-access = write\n";
    std::fs::write(repository.join("conf/svnserve.conf"), conf).expect("because it is ours");
    let format = repository.join("db/format");
    let text = std::fs::read_to_string(&format).expect("because it was made");
    std::fs::remove_file(&format).expect("because it is ours");
    std::fs::write(&format, text.replace("1000", "4")).expect("because it is ours");
    let file = root.path().join("file");
    for number in 0..6_u64 {
        // Longer than what is kept in memory whole.
        let noise: Vec<u8> = (0..60_000_u64)
            .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ number) >> 40) as u8)
            .collect();
        std::fs::write(&file, noise).expect("because the folder is ours");
        let url = format!("file://{}/f{number}", repository.display());
        Tool::new("svn")
            .args(["import", "-q", "-m", "m"])
            .arg(&file)
            .arg(&url)
            .ok();
    }
    let server = TestServer::svnserve(Side::Ours, root.path(), &[]);
    let url = format!("svn://127.0.0.1:{}/r", server.port());
    Tool::new("svn")
        .args(["export", "-q", &url, "x"])
        .dir(root.path())
        .ok();
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "m", &format!("{url}/d")])
        .ok();
    let open = || {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("because it lives");
        let links = fds.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links
            .filter(|path| path.starts_with(&repository))
            .collect::<Vec<_>>()
    };
    assert!(!open().is_empty(), "files in use stay open");
    let begun = Instant::now();
    while !open().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", open());
        std::thread::sleep(Duration::from_millis(200));
    }
    // The files that it needs are opened again.
    Tool::new("svn").args(["cat", &format!("{url}/f1")]).ok();
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "m", &format!("{url}/e")])
        .ok();
}
