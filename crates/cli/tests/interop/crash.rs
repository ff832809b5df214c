//! Sven's programs are killed at random moments, or run on a full disk.
//!
//! `CRASH_ROUNDS=200` kills them more often than the default run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::history::Random;
use testkit::server::TestServer;
use testkit::small_disk::SmallDisk;
use testkit::{Output, Repo, Side, Spec, Tool, sample, scratch};

fn rounds(usual: usize) -> usize {
    let requested = std::env::var("CRASH_ROUNDS").ok();
    requested.map_or(usual, |text| text.parse().expect("CRASH_ROUNDS: a number"))
}

/// Makes a repository with write access for everyone and small shards.
fn repository(root: &Path, version: &str) -> std::path::PathBuf {
    let path = root.join("repo");
    testkit::create_compatible(version, &path);
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).expect("because it was just made");
    _ = std::fs::remove_file(&format);
    let text = text.replace("layout sharded 1000", "layout sharded 7");
    std::fs::write(&format, text).expect("because it was just made");
    let conf = "[general]\nanon-access = write\n";
    std::fs::write(path.join("conf/svnserve.conf"), conf).expect("because it was just made");
    path
}

fn kill(pid: u32) {
    Tool::new("kill").args(["-9", &pid.to_string()]).ok();
}

fn svnmucc(url: &str, log: &str) -> Tool {
    Tool::new("svnmucc").args(["--non-interactive", "--no-auth-cache", "-m", log, "-U", url])
}

/// Returns the number of the new revision in the output of `svnmucc`.
fn revision(output: &Output) -> Option<u64> {
    let out = output.out();
    let number = out.strip_prefix('r')?.split(' ').next()?;
    number.parse().ok()
}

/// Verifies the repository with both programs, without any repair.
fn verify(repository: &Path) {
    for side in Side::BOTH {
        side.tool("svnadmin").args(["verify", "-q"]).arg(repository).ok();
    }
}

/// Checks with both programs that every acknowledged revision exists under its number.
fn nothing_lost(repository: &Path, acknowledged: &BTreeMap<u64, String>) {
    verify(repository);
    for side in Side::BOTH {
        let dump = side
            .tool("svnadmin")
            .args(["dump-revprops", "-q"])
            .arg(repository);
        let out = dump.ok().out();
        for (rev, log) in acknowledged {
            let start = out
                .find(&format!("Revision-number: {rev}\n"))
                .unwrap_or_else(|| panic!("r{rev} ({log}) is lost"));
            let rest = &out[start + 1..];
            let props = rest.split("Revision-number: ").next().unwrap_or(rest);
            assert!(
                props.contains(&format!("\n{log}\n")),
                "r{rev} is not {log}: {props}"
            );
        }
    }
}

/// Removes stale transactions with Subversion's tool.
fn remove_transactions(repository: &Path) -> usize {
    let list = || Tool::new("svnadmin").arg("lstxns").arg(repository).ok().out();
    let ours = Side::Ours
        .tool("svnadmin")
        .arg("lstxns")
        .arg(repository)
        .ok()
        .out();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let stale = list();
    assert_eq!(sorted(&stale), sorted(&ours));
    let names: Vec<&str> = stale.lines().collect();
    let mut output_text = String::new();
    if !names.is_empty() {
        let rmtxns = Tool::new("svnadmin").arg("rmtxns").arg(repository).args(&names);
        output_text = rmtxns.ok().err();
    }
    // In formats 1 and 2 a transaction can lack its root, which is not written yet. Subversion cannot open it; Sven
    // removes it.
    for name in list().lines() {
        let is_old = !repository.join("db/txn-protorevs").exists();
        let root = repository.join(format!("db/transactions/{name}.txn/node.0.0"));
        let root = std::fs::read(&root).unwrap_or_default();
        assert!(is_old && root.is_empty(), "{name}: {output_text}");
        let rmtxns = Side::Ours.tool("svnadmin").arg("rmtxns").arg(repository);
        rmtxns.arg(name).ok();
    }
    assert_eq!(list(), "", "{output_text}");
    names.len()
}

#[test]
fn a_killed_server_loses_no_acknowledged_revision() {
    let mut stale = 0;
    for (nth, version) in ["1.14", "1.9", "1.8", "1.4"].into_iter().enumerate() {
        // In the newest format another server always goes on after the first crash.
        let step = if version == "1.14" { 2 } else { 3 };
        let usual = sample(step, 0..3).count();
        stale += killed_under_load(nth as u64 + 1, version, rounds(usual), "svn");
    }
    eprintln!("{stale} stale transactions");
}

#[test]
fn a_killed_http_server_loses_no_acknowledged_revision() {
    let mut stale = 0;
    for (nth, version) in ["1.14", "1.8", "1.4"].into_iter().enumerate() {
        let usual = sample(2, 0..2).count();
        stale += killed_under_load(nth as u64 + 11, version, rounds(usual), "http");
    }
    eprintln!("{stale} stale transactions");
}

fn killed_under_load(seed: u64, version: &str, rounds: usize, scheme: &str) -> usize {
    let mut random = Random::new(seed);
    random.next();
    let root = scratch();
    let repository = repository(root.path(), version);
    let acknowledged = Mutex::new(BTreeMap::new());
    let mut stale = 0;
    for round in 0..rounds {
        let server = match scheme {
            "http" => TestServer::http(Side::Ours, root.path(), "", &[]),
            _ => TestServer::svnserve(Side::Ours, root.path(), &[]),
        };
        let url = format!("{scheme}://127.0.0.1:{}/repo", server.port());
        let over = AtomicBool::new(false);
        let pause = Duration::from_millis(100 + random.below(300) as u64);
        std::thread::scope(|scope| {
            for client in 0..3 {
                let name = format!("r{round}c{client}");
                let (acknowledged, over, url) = (&acknowledged, &over, &url);
                scope.spawn(move || load(url, &name, over, acknowledged));
            }
            // A busy machine is slow, and a first round without any commit would test nothing.
            let begun = Instant::now();
            let nobody = || acknowledged.lock().is_ok_and(|known| known.is_empty());
            while round == 0 && nobody() && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(pause);
            kill(server.pid());
            over.store(true, Ordering::Relaxed);
        });
        drop(server);
        let known = acknowledged.lock().expect("because nobody panicked");
        nothing_lost(&repository, &known);
        stale += remove_transactions(&repository);
        let file_url = format!("file://{}", repository.display());
        // The next commit is by Subversion, then a new server of Sven continues.
        svnmucc(&file_url, "after the crash")
            .args(["mkdir", &format!("after{round}")])
            .ok();
    }
    let known = acknowledged.into_inner().expect("because nobody panicked");
    assert!(!known.is_empty(), "nobody committed anything in format {version}");
    nothing_lost(&repository, &known);
    stale
}

/// Commits until the server is killed.
fn load(url: &str, name: &str, over: &AtomicBool, acknowledged: &Mutex<BTreeMap<u64, String>>) {
    let dir = scratch();
    let file = dir.path().join("file");
    let mut random = Random::new(name.bytes().map(u64::from).sum());
    for nth in 0.. {
        let size = [10, 3000, 200_000][random.below(3)];
        let text: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        std::fs::write(&file, text).expect("because the folder is ours");
        let log = format!("{name} {nth}");
        let output = svnmucc(url, &log)
            .arg("put")
            .arg(&file)
            .arg(format!("{name}-{}", nth % 5))
            .run();
        match revision(&output) {
            Some(rev) if output.code == 0 => {
                let mut known = acknowledged.lock().expect("because nobody panicked");
                assert_eq!(known.insert(rev, log), None, "r{rev} twice");
            }
            _ if over.load(Ordering::Relaxed) => return,
            // The server was killed; the flag will be set soon.
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_killed_load_leaves_complete_revisions() {
    let stream = testkit::random_history::history(7, 60, true).stream.part(0, 60);
    for round in 0..rounds(6) {
        let root = scratch();
        let repository = repository(root.path(), "1.14");
        let input = root.path().join("dump");
        std::fs::write(&input, &stream).expect("because the folder is ours");
        let begun = Instant::now();
        let mut child = Side::Ours
            .tool("svnadmin")
            .args(["load", "-q"])
            .arg(&repository)
            .command()
            .stdin(std::fs::File::open(&input).expect("because it was just written"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("because it is built");
        let pause = Duration::from_millis(15 * (round as u64 + 1));
        std::thread::sleep(pause.saturating_sub(begun.elapsed()));
        _ = child.kill();
        _ = child.wait();
        verify(&repository);
        let youngest = Repo::at(&repository).youngest();
        // The repository has the first revisions of the history; the others can be loaded.
        let rest = format!("{}:60", youngest + 1);
        if youngest < 60 {
            let tool = Side::Ours.tool("svnadmin").args(["load", "-q", "-r", &rest]);
            tool.arg(&repository).stdin(stream.clone()).ok();
        }
        assert_eq!(Repo::at(&repository).youngest(), 60);
        verify(&repository);
        remove_transactions(&repository);
    }
}

#[test]
fn a_killed_pack_can_be_repeated() {
    for round in 0..rounds(6) {
        let repo = testkit::build(&Spec {
            shard: Some(3),
            ..Spec::small("1.14").named("crash-pack")
        })
        .copy();
        let before = Tool::new("svnadmin").args(["dump", "-q"]).arg(repo.path()).ok();
        let mut child = Side::Ours
            .tool("svnadmin")
            .args(["pack", "-q"])
            .arg(repo.path())
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("because it is built");
        std::thread::sleep(Duration::from_millis(4 * (round as u64 + 1)));
        _ = child.kill();
        _ = child.wait();
        verify(repo.path());
        // Subversion and Sven alternate in completing the operation.
        let side = Side::BOTH[round % 2];
        side.tool("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
        verify(repo.path());
        let after = Tool::new("svnadmin").args(["dump", "-q"]).arg(repo.path()).ok();
        assert_eq!(before.stdout, after.stdout);
    }
}

#[test]
fn a_killed_hotcopy_can_be_repeated() {
    let repo = testkit::build(&Spec::new("1.14").shard(4).named("crash-hotcopy"));
    let dump = |path: &Path| Tool::new("svnadmin").args(["dump", "-q"]).arg(path).ok().stdout;
    let before = dump(repo.path());
    let mut opened = 0;
    for round in 0..rounds(6) {
        let root = scratch();
        let half = root.path().join("half");
        let hotcopy = |side: Side, args: &[&str], to: &Path| {
            let tool = side.tool("svnadmin").args(["hotcopy", "-q"]).args(args);
            tool.arg(repo.path()).arg(to)
        };
        let mut child = hotcopy(Side::Ours, &[], &half)
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("because it is built");
        std::thread::sleep(Duration::from_millis(3 * (round as u64 + 1)));
        _ = child.kill();
        _ = child.wait();
        verify(repo.path());
        assert!(dump(repo.path()) == before);
        if !half.exists() {
            continue;
        }
        // Either both can open the copy, with the first revisions of the history, or neither can.
        let opens = Side::BOTH.map(|side| {
            let verify = side.tool("svnadmin").args(["verify", "-q"]).arg(&half).run();
            verify.code == 0
        });
        assert_eq!(opens[0], opens[1], "in round {round}");
        opened += usize::from(opens[0]);
        // Both complete the copy, or fail in the same way.
        for args in [&["--incremental"][..], &[]] {
            let codes = Side::BOTH.map(|side| {
                let copy = root.path().join(format!("{side:?}{}", args.len()));
                Tool::new("cp").arg("-a").arg(&half).arg(&copy).ok();
                let output = hotcopy(side, args, &copy).run();
                if output.code == 0 {
                    verify(&copy);
                    assert!(dump(&copy) == before, "{side:?} {args:?}");
                }
                output.error_codes()
            });
            // Sven completes some for which Subversion fails because a directory exists already.
            let is_completed = codes[0] == [17] && codes[1].is_empty();
            assert!(
                is_completed || codes[0] == codes[1],
                "{args:?} in round {round}: {codes:?}"
            );
        }
    }
    eprintln!("{opened} half copies were repositories");
}

#[test]
fn a_file_larger_than_the_limit_fails_without_loss() {
    let root = scratch();
    let repository = repository(root.path(), "1.14");
    // The limit of the file size simulates a full disk: a write fails within a commit.
    let program = testkit::tool::tool_link("svnserve");
    let port = testkit::server::free_port().to_string();
    let script = format!(
        "trap '' XFSZ; ulimit -f 600; exec {} -d --foreground --listen-host 127.0.0.1 --listen-port {port} -r {}",
        program.display(),
        root.path().display()
    );
    let mut server = Tool::new("sh")
        .args(["-c", &script])
        .command()
        .spawn()
        .expect("because there is a shell");
    let url = format!("svn://127.0.0.1:{port}/repo");
    let begun = Instant::now();
    while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up");
        std::thread::sleep(Duration::from_millis(20));
    }
    too_much(&repository, &url, root.path());
    _ = server.kill();
    _ = server.wait();
    verify(&repository);
}

/// Makes a small commit, one that is too large, and a small one again.
fn too_much(repository: &Path, url: &str, scratch: &Path) {
    let file = scratch.join("file");
    let mut random = Random::new(3);
    let large: Vec<u8> = (0..5_000_000).map(|_| random.next() as u8).collect();
    let mut acknowledged = BTreeMap::new();
    for (nth, bytes) in [&b"small\n"[..], &large, b"small again\n"]
        .into_iter()
        .enumerate()
    {
        std::fs::write(&file, bytes).expect("because this folder has room");
        let log = format!("commit {nth}");
        let output = svnmucc(url, &log)
            .arg("put")
            .arg(&file)
            .arg(format!("file{nth}"))
            .run();
        match revision(&output) {
            Some(rev) => assert_eq!(acknowledged.insert(rev, log), None),
            None => {
                assert_eq!(nth, 1, "{output:?}");
                // The error has the file and the reason.
                let output_text = output.err();
                assert!(
                    output_text.contains("/db/") || output_text.contains("rev"),
                    "{output_text}"
                );
                assert!(
                    output_text.contains("File too large") || output_text.contains("No space left"),
                    "{output_text}"
                );
            }
        }
        nothing_lost(repository, &acknowledged);
    }
    assert_eq!(acknowledged.len(), 2, "the large one was refused");
    remove_transactions(repository);
}

#[test]
fn commits_on_a_full_disk_fail_without_loss() {
    let Some(root) = SmallDisk::mount("3m") else {
        eprintln!("only the limit of a file's size was tried");
        return;
    };
    let repository = repository(root.path(), "1.14");
    let server = TestServer::svnserve(Side::Ours, root.path(), &[]);
    let outside = scratch();
    too_much(&repository, &server.url("repo"), outside.path());
    // A load that does not fit leaves complete revisions; with space the others can be loaded.
    let stream = large_revisions(outside.path());
    let loaded = root.path().join("loaded");
    testkit::create_repository(&loaded);
    let filler = root.path().join("filler");
    std::fs::write(&filler, vec![1; 1_600_000]).expect("because there is room for it");
    let load = |range: &str| {
        let tool = Side::Ours.tool("svnadmin").args(["load", "-q", "-r", range]);
        tool.arg(&loaded).stdin(stream.clone()).run()
    };
    let output = load("0:8");
    assert!(output.err().contains("No space left"), "{output:?}");
    verify(&loaded);
    let youngest = Repo::at(&loaded).youngest();
    assert!(youngest < 8);
    std::fs::remove_file(&filler).expect("because it was just written");
    remove_transactions(&loaded);
    verify(&loaded);
    _ = load(&format!("{}:8", youngest + 1));
    verify(&loaded);
    svnmucc(&server.url("repo"), "room again")
        .args(["mkdir", "room"])
        .ok();
    verify(&repository);
}

/// Returns eight revisions of a quarter of a megabyte each.
fn large_revisions(dir: &Path) -> Vec<u8> {
    let path = dir.join("source");
    testkit::create_repository(&path);
    let url = format!("file://{}", path.display());
    let file = dir.join("text");
    let mut random = Random::new(4);
    for nth in 0..8 {
        let text: Vec<u8> = (0..250_000).map(|_| random.next() as u8).collect();
        std::fs::write(&file, text).expect("because the folder is ours");
        let put = svnmucc(&url, &format!("text {nth}")).arg("put").arg(&file);
        put.arg(format!("file{nth}")).ok();
    }
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(&path).ok();
    dump.stdout
}
