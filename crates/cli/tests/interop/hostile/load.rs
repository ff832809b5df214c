//! Many slow, incomplete, huge and repeated requests to every listener of a server, while a client at another address
//! measures its waiting time and `/proc` shows the server's resources.
//!
//! The default run has a few peers for every second attack. `SVEN_HOSTILE=9000` sets the number, runs all attacks and prints
//! the table of `docs/LIMITS.md`, `SVEN_HOSTILE_ONLY=NAME` selects attacks by a part of their name. An attack needs a descriptor
//! for each peer; 20,000 are permitted here.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use socket2::{Domain, Socket, Type};
use testkit::server::free_port;
use testkit::server::transport::certificate;
use testkit::{Tool, sample, scratch};

use super::attacks::{ATTACKS, Attack, AttackedListener, PeerBehavior};

/// The address of the attackers; [`CLIENT`] is that of the measuring client.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// The time limit of the client in any attack. An idle machine responds within milliseconds, but other tests run as
/// well.
const PATIENCE: Duration = Duration::from_secs(20);

/// The time after which a client at the attackers' address counts as not served.
const PATIENCE_AMONG_THEM: Duration = Duration::from_secs(5);

/// The number of peers of an attack with long requests.
const LONG_PEERS: usize = 60;

/// A server of all protocols.
pub struct AttackTarget {
    child: Child,
    pub svn: SocketAddr,
    pub http: SocketAddr,
    https: SocketAddr,
    metrics: SocketAddr,
    /// The folder of the server, removed with it.
    place: Option<tempfile::TempDir>,
}

impl AttackTarget {
    /// Starts a server of the shared repository `r` and of a new repository `w`, which everyone may change.
    fn start(shared: &Path) -> AttackTarget {
        let place = scratch();
        let root = place.path().join("root");
        std::fs::create_dir(&root).expect("because the folder is ours");
        std::os::unix::fs::symlink(shared.join("r"), root.join("r")).expect("because the folder is ours");
        let writable = root.join("w");
        testkit::create_repository(&writable);
        std::fs::write(
            writable.join("conf/svnserve.conf"),
            "[general]\nanon-access = write\n",
        )
        .expect("because the folder is ours");
        // The password is `s3cret`, hashed as `htpasswd -B -C 10` does.
        std::fs::write(
            place.path().join("users"),
            "alice:$2y$10$DphDmktc.eXEcvdLO/WiguQhbfE3caQyqhanm25fB/EHZoAdLXCw.\n",
        )
        .expect("because the folder is ours");
        for _ in 0..5 {
            let addresses = [0; 4].map(|_| SocketAddr::from((ATTACKER, free_port())));
            let child = spawn_server(place.path(), &root, addresses);
            let [svn, http, https, metrics] = addresses;
            let mut target = AttackTarget {
                child,
                svn,
                http,
                https,
                metrics,
                place: None,
            };
            if target.wait_until_up(addresses) {
                target.place = Some(place);
                return target;
            }
        }
        panic!("the server does not come up");
    }

    /// Returns false if the server has ended, because another process has taken one of its ports.
    fn wait_until_up(&mut self, addresses: [SocketAddr; 4]) -> bool {
        let end = Instant::now() + Duration::from_secs(30);
        while addresses.iter().any(|at| TcpStream::connect(at).is_err()) {
            if self.has_ended() {
                return false;
            }
            assert!(Instant::now() < end, "the server does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        !self.has_ended()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("because it is our child").is_some()
    }

    fn address(&self, entry: AttackedListener) -> SocketAddr {
        match entry {
            AttackedListener::Svn => self.svn,
            AttackedListener::Http => self.http,
            AttackedListener::Tls => self.https,
            AttackedListener::Metrics => self.metrics,
        }
    }

    /// Returns the memory of the server in bytes.
    fn memory(&self) -> usize {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap_or_default();
        let pages = text
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.parse::<usize>().ok());
        pages.expect("because it lives") * 4096
    }

    fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).map_or(0, Iterator::count)
    }
}

impl Drop for AttackTarget {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Starts the program with a configuration in `place` that serves the repositories in `root`.
fn spawn_server(place: &Path, root: &Path, [svn, http, https, metrics]: [SocketAddr; 4]) -> Child {
    let pair = certificate();
    let parent = root.display();
    let conf = format!(
        "[listen]\nsvn = '{svn}'\nhttp = '{http}'\nhttps = '{https}'\n[metrics]\nlisten = '{metrics}'\n\
         [serve]\nroot = '{parent}'\n[tls]\ncertificate = '{}'\nkey = '{}'\n[log]\nerror = '{}'\n\
         [[location]]\npath = '/'\nparent = '{parent}'\n\
         [[location]]\npath = '/closed'\nparent = '{parent}'\nanonymous = false\n\
         [location.auth]\nhtpasswd-file = '{}'\n",
        pair.certificate.display(),
        pair.key.display(),
        place.join("error.log").display(),
        place.join("users").display(),
    );
    let file = place.join("sven.toml");
    std::fs::write(&file, conf).expect("because the folder is ours");
    Command::new(testkit::tool::sven_binary())
        .args(["serve", "--config"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("because it was built")
}

/// Connects from `source`.
fn connect(source: Ipv4Addr, to: SocketAddr, window: Option<usize>) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(IpAddr::V4(source), 0).into())?;
    if let Some(bytes) = window {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.connect_timeout(&to.into(), PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(Duration::from_secs(3)))?;
    Ok(socket.into())
}

/// Sends a request on a new connection. Returns the time until `wanted` arrives.
fn measure_request(from: Ipv4Addr, to: SocketAddr, bytes: &[u8], wanted: &str) -> std::io::Result<Duration> {
    let begun = Instant::now();
    let mut socket = connect(from, to, None)?;
    if from == ATTACKER {
        socket.set_read_timeout(Some(PATIENCE_AMONG_THEM))?;
    }
    socket.write_all(bytes)?;
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    while memmem::find(&received, wanted.as_bytes()).is_none() {
        match socket.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            len => received.extend_from_slice(&piece[..len]),
        }
    }
    Ok(begun.elapsed())
}

/// Returns the waiting times of a regular client: the median and the maximum of some requests over svn:// and
/// http://. A request that is not served counts as infinite.
fn latency(target: &AttackTarget, from: Ipv4Addr) -> [[Duration; 2]; 2] {
    let body = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>1</S:start-revision>\
                <S:end-revision>1</S:end-revision><S:path></S:path></S:log-report>";
    let http = format!(
        "REPORT /r/!svn/bc/1 HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let url = format!("svn://127.0.0.1:{}/r", target.svn.port());
    let svn = format!(
        "( 2 ( edit-pipeline ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) ( check-path ( 0: ( 1 ) ) ) ",
        url.len()
    );
    let one = |to, bytes: &str, wanted| {
        let mut all: Vec<Duration> = (0..samples())
            .map(|_| measure_request(from, to, bytes.as_bytes(), wanted).unwrap_or(Duration::MAX))
            .collect();
        all.sort();
        [all[all.len() / 2], all[all.len() - 1]]
    };
    [
        one(target.svn, &svn, "( success ( dir ) )"),
        one(target.http, &http, "</S:log-report>"),
    ]
}

fn is_long_run() -> bool {
    std::env::var_os("SVEN_HOSTILE").is_some()
}

fn samples() -> usize {
    if is_long_run() { 20 } else { 4 }
}

/// The cost of an attack.
struct AttackCost {
    held: usize,
    refused: usize,
    before: usize,
    peak: usize,
    threads: usize,
    /// The median and the maximum waiting time, over svn:// and http://.
    latency: [[Duration; 2]; 2],
    /// The same for a client at the attackers' address.
    among_them: Option<[[Duration; 2]; 2]>,
}

fn run(attack: &Attack, count: usize, repositories: &Path) -> AttackCost {
    let target = AttackTarget::start(repositories);
    latency(&target, CLIENT);
    let before = target.memory();
    let bytes: Vec<Vec<u8>> = (0..attack.kinds)
        .map(|kind| (attack.bytes)(&target, kind))
        .collect();
    let long = bytes.iter().any(|text| text.len() > 100_000) || attack.is_costly;
    let count = if long { count.min(LONG_PEERS) } else { count };
    let (over, refused, peak) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(before),
    );
    let hold = |first: usize| {
        let mut held = Vec::new();
        for number in (first..count).step_by(8) {
            let window = (attack.way == PeerBehavior::Unread).then_some(4096);
            let opened = connect(ATTACKER, target.address(attack.entry), window).and_then(|mut socket| {
                socket.write_all(&bytes[number % bytes.len()])?;
                Ok(socket)
            });
            match opened {
                Ok(socket) => held.push(socket),
                Err(_) => _ = refused.fetch_add(1, Ordering::Relaxed),
            }
        }
        held
    };
    let repeat = |first: usize| {
        let mut number = first;
        while !over.load(Ordering::Relaxed) {
            number += 8;
            if let Ok(mut socket) = connect(ATTACKER, target.address(attack.entry), None) {
                _ = socket.write_all(&bytes[number % bytes.len()]);
                _ = socket.set_read_timeout(Some(Duration::from_millis(500)));
                _ = socket.read(&mut [0; 4096]);
            }
        }
        Vec::new()
    };
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(target.memory(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let work = |first| {
            move || {
                if attack.way == PeerBehavior::Repeat {
                    repeat(first)
                } else {
                    hold(first)
                }
            }
        };
        let peers: Vec<_> = (0..8).map(|first| scope.spawn(work(first))).collect();
        let mut held: Vec<TcpStream> = Vec::new();
        if attack.way == PeerBehavior::Repeat {
            std::thread::sleep(Duration::from_millis(if is_long_run() { 1000 } else { 200 }));
            let among_them = is_long_run().then(|| latency(&target, ATTACKER));
            let latency = latency(&target, CLIENT);
            over.store(true, Ordering::Relaxed);
            peers
                .into_iter()
                .for_each(|peer| held.extend(peer.join().expect("no panic")));
            watch.join().expect("no panic");
            return AttackCost {
                held: 8,
                refused: 0,
                before,
                peak: peak.load(Ordering::Relaxed),
                threads: target.threads(),
                latency,
                among_them,
            };
        }
        peers
            .into_iter()
            .for_each(|peer| held.extend(peer.join().expect("no panic")));
        // Waits of more than a second are left to another thread.
        std::thread::sleep(Duration::from_millis(if is_long_run() { 1500 } else { 100 }));
        let threads = target.threads();
        let among_them = is_long_run().then(|| latency(&target, ATTACKER));
        let latency = latency(&target, CLIENT);
        over.store(true, Ordering::Relaxed);
        watch.join().expect("no panic");
        AttackCost {
            held: held.len(),
            refused: refused.load(Ordering::Relaxed),
            before,
            peak: peak.load(Ordering::Relaxed),
            threads,
            latency,
            among_them,
        }
    })
}

#[test]
fn hostile_peers_do_not_delay_other_clients() {
    let count = std::env::var("SVEN_HOSTILE")
        .ok()
        .and_then(|word| word.parse().ok());
    let only = std::env::var("SVEN_HOSTILE_ONLY").unwrap_or_default();
    let repositories = repositories();
    let mut table = String::from(
        "| attack | peers | cut off | memory before, peak (MiB) | threads | svn:// p50, max (ms) | http:// p50, max (ms) \
         | same address: svn:// | http:// |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let step = if count.is_none() && only.is_empty() { 2 } else { 1 };
    for attack in sample(step, ATTACKS.iter().filter(|attack| attack.name.contains(&only))) {
        let cost = run(attack, count.unwrap_or(16), &repositories);
        let mib = |bytes: usize| bytes >> 20;
        let millis = |waited: Duration| match waited {
            Duration::MAX => "-".to_owned(),
            waited => waited.as_millis().to_string(),
        };
        let words = |pair: [[Duration; 2]; 2]| {
            pair.map(|[middle, longest]| format!("{}, {}", millis(middle), millis(longest)))
        };
        let [svn, http] = words(cost.latency);
        let [same_svn, same_http] = cost.among_them.map_or_else(Default::default, words);
        let line = format!(
            "| {} | {} | {} | {}, {} | {} | {svn} | {http} | {same_svn} | {same_http} |",
            attack.name,
            cost.held,
            cost.refused,
            mib(cost.before),
            mib(cost.peak),
            cost.threads
        );
        if count.is_some() {
            println!("{line}");
        }
        _ = writeln!(table, "{line}");
        let is_served = cost.latency.iter().all(|[_, longest]| *longest < PATIENCE);
        assert!(is_served, "another client was not served:\n{table}");
        let most = (160 << 20)
            + cost.held
                * (if attack.way == PeerBehavior::Unread {
                    2 << 20
                } else {
                    96 << 10
                })
            + attack.more_memory;
        assert!(cost.peak - cost.before <= most, "too much memory:\n{table}");
    }
}

/// Returns a directory with the repository `r`: `big` is incompressible, two revisions of `lines` have little in
/// common, `ends` consists of line ends. Writes need a password.
fn repositories() -> std::path::PathBuf {
    let folder = testkit::tool::folder("interop-hostile");
    let path = folder.join("r");
    if path.exists() {
        return folder;
    }
    let tmp = tempfile::TempDir::new_in(&folder).expect("because target/ can be written");
    let at = |name: &str| tmp.path().join(name);
    let lines = |seed: u32| {
        let mut state = seed;
        let mut text = String::new();
        for _ in 0..250_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(if state >> 31 == 0 { "a\n" } else { "b\n" });
        }
        text
    };
    std::fs::write(at("lines"), lines(1)).expect("because it is ours");
    std::fs::write(at("later"), lines(7)).expect("because it is ours");
    std::fs::write(at("ends"), "\n".repeat(8 << 20)).expect("because it is ours");
    let mut bytes = vec![0; 12 << 20];
    rand::Rng::fill(
        &mut <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(1),
        &mut bytes[..],
    );
    std::fs::write(at("big"), bytes).expect("because it is ours");
    testkit::create_repository(&at("r"));
    let url = format!("file://{}/", at("r").display());
    let put = |pairs: &[(&str, &str)]| {
        let mut tool = Tool::new("svnmucc").args(["-m", "x", "-U", &url]);
        for (file, name) in pairs {
            tool = tool.arg("put").arg(at(file)).arg(name);
        }
        tool.ok();
    };
    put(&[("lines", "lines"), ("ends", "ends"), ("big", "big")]);
    put(&[("later", "lines")]);
    let conf = at("r").join("conf");
    std::fs::write(
        conf.join("svnserve.conf"),
        "[general]\nanon-access = read\npassword-db = passwd\n",
    )
    .expect("because it is ours");
    std::fs::write(conf.join("passwd"), "[users]\nalice = s3cret\n").expect("because it is ours");
    // Another process may have done the same meanwhile.
    _ = std::fs::rename(at("r"), &path);
    folder
}

/// Returns the processor time of the server in seconds.
fn processor_time(target: &AttackTarget) -> f64 {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", target.child.id())).expect("because it lives");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks: f64 = [11, 12]
        .iter()
        .map(|at| fields[*at].parse::<f64>().expect("a number"))
        .sum();
    ticks / 100.0
}

/// The server stops making a page when the browser has disconnected.
///
/// Processor time is counted, not the time of a clock: other tests use the processors, too.
#[test]
fn work_for_disconnected_browsers_stops() {
    const REQUESTS: usize = 2;
    /// Processor time for these requests for a page. Without cancellation they need ten seconds or more; what is
    /// done in one pass over a text ends at the end of that text (8 MiB: about a second without optimisation).
    const MOST: f64 = 6.0;
    const PERIOD: Duration = Duration::from_millis(200);
    let target = AttackTarget::start(&repositories());
    let get = |page: &str| format!("GET {page} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n");
    // Those that need the most processor time are at even positions.
    let pages = [
        "/r/?view=revision&p=2",
        "/r/lines?view=file",
        "/r/lines?view=blame",
        "/r/?view=log",
        "/r/ends?view=file",
        "/r/lines?view=log",
        "/r/",
    ];
    for page in sample(2, pages) {
        let begin = processor_time(&target);
        for _ in 0..REQUESTS {
            let mut socket = connect(ATTACKER, target.http, None).expect("because it listens");
            socket
                .write_all(get(page).as_bytes())
                .expect("because it is read");
            // Some responses have begun by then.
            std::thread::sleep(Duration::from_millis(50));
        }
        // Four periods without work are its end.
        let mut idle = 0;
        while idle < 4 {
            let before = processor_time(&target);
            std::thread::sleep(PERIOD);
            let now = processor_time(&target);
            assert!(
                now - begin < MOST,
                "{page}: {} s of a processor, and no end",
                now - begin
            );
            idle = if now - before < 0.015 { idle + 1 } else { 0 };
        }
    }
}
