//! One repository that Subversion and Sven change in turns, and at the same time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::history::Random;
use testkit::server::TestServer;
use testkit::{Side, Tool, sample, scratch};

use super::drive::{CommitOutcome, CommitStyle, commit, svnmucc};
use super::edit::EditGenerator;
use super::{admin, create, examine, hotcopy, paths, seeds, serve, steps};

const MANNER: CommitStyle = CommitStyle {
    texts_late: true,
    named_revisions: true,
};

/// Returns a random side.
fn random_side(random: &mut Random) -> Side {
    Side::BOTH[random.below(2)]
}

#[test]
fn one_repository_is_changed_in_turns() {
    // A sample has the formats that the sample of `twins` leaves out.
    seeds("in turns", sample(2, [2, 1, 3, 4, 5, 7, 6]), in_turns);
}

fn in_turns(seed: u64) {
    let root = scratch();
    let mut maker = EditGenerator::new(seed, "turn");
    let creator = random_side(&mut maker.random);
    let repository = create(creator, root.path(), seed);
    let servers = Side::BOTH.map(|side| serve(side, root.path()));
    let mut acknowledged = BTreeMap::new();
    for _ in 0..steps(20) {
        let server = &servers[maker.random.below(2)];
        let youngest = maker.youngest();
        if maker.one_in(8) {
            administer(&mut maker.random, root.path(), &repository, server, youngest);
            continue;
        }
        let mut edit = maker.edit(youngest);
        let outcome = if maker.one_in(10) {
            if !edit.fit_for_svnmucc() {
                continue;
            }
            svnmucc(&server.url("repo"), &edit)
        } else {
            commit(server, "repo", &edit, MANNER)
        };
        let CommitOutcome::Committed(rev) = outcome else {
            panic!("{}: {outcome:?}\n{edit:?}", edit.log);
        };
        maker.committed(&edit);
        assert_eq!(rev, maker.youngest());
        acknowledged.insert(rev, edit.log.clone());
    }
    let found = paths(&repository, maker.youngest());
    maker.check(&found, &repository.display().to_string());
    nothing_lost(&repository, &acknowledged);
}

#[test]
fn one_repository_is_changed_by_many_clients_at_once() {
    seeds("at once", 1..=2, at_once);
}

fn at_once(seed: u64) {
    let root = scratch();
    let mut random = Random::new(seed);
    random.next();
    let repository = create(random_side(&mut random), root.path(), seed);
    let servers = Side::BOTH.map(|side| serve(side, root.path()));
    let acknowledged = Mutex::new(BTreeMap::new());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let committers: Vec<_> = (0..4_u64)
            .map(|nth| {
                let (servers, acknowledged, repository) = (&servers, &acknowledged, &repository);
                scope.spawn(move || {
                    let top = format!("top {nth}");
                    let side = [Side::Theirs, Side::Ours][nth as usize % 2];
                    commits(
                        seed * 10 + nth,
                        &top,
                        &servers[side as usize % 2],
                        acknowledged,
                        repository,
                    )
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let youngest = svnlook_youngest(&repository);
                let server = &servers[random.below(2)];
                administer(&mut random, root.path(), &repository, server, youngest);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let ended: Vec<_> = committers.into_iter().map(|thread| thread.join()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    let acknowledged = acknowledged.into_inner().expect("because nobody panicked");
    assert_eq!(svnlook_youngest(&repository), acknowledged.len() as u64);
    nothing_lost(&repository, &acknowledged);
}

/// Commits with `svnmucc` below a separate directory, and to one file that all clients change. A commit that is out
/// of date is repeated.
fn commits(
    seed: u64,
    top: &str,
    server: &Arc<TestServer>,
    acknowledged: &Mutex<BTreeMap<u64, String>>,
    repository: &Path,
) {
    let mut random = Random::new(seed);
    random.next();
    let dir = scratch();
    let file = dir.path().join("text");
    let name = top.replace(' ', "-");
    let mut done = 0;
    let mut tries = 0;
    while done < 12 {
        tries += 1;
        assert!(tries < 600, "{top} is starved in {}", repository.display());
        let log = format!("{top}: {done}");
        let size = random.below(if done % 5 == 0 { 150_000 } else { 400 });
        let text: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        std::fs::write(&file, text).expect("because the folder is ours");
        let tool = Tool::new("svnmucc").args(["--non-interactive", "--no-auth-cache", "-m", &log, "-U"]);
        let mut tool = tool.arg(server.url("repo"));
        tool = match done {
            0 => tool.args(["mkdir", &name]),
            n if n % 4 == 3 => tool.args(["cp", "HEAD", &name, &format!("{name}/copy{n}")]),
            n if n % 4 == 2 => tool.arg("put").arg(&file).arg("everybody"),
            n => tool.arg("put").arg(&file).arg(format!("{name}/f{n}")).args([
                "propset",
                "n",
                &n.to_string(),
                &name,
            ]),
        };
        let output = tool.run();
        if output.code == 0 {
            let out = output.out();
            let rev = out.trim_start_matches('r').split(' ').next();
            let rev: u64 = rev.and_then(|r| r.parse().ok()).expect("because it committed");
            let before = acknowledged
                .lock()
                .expect("because nobody panicked")
                .insert(rev, log);
            assert_eq!(before, None, "revision {rev} twice");
            done += 1;
            continue;
        }
        // These are correct refusals: conflict, out of date, exists already.
        let codes = output.error_codes();
        let known = [160_020, 160_024, 160_028, 170_004, 160_013, 155_011];
        assert!(codes.iter().any(|code| known.contains(code)), "{output:?}");
    }
}

fn svnlook_youngest(repository: &Path) -> u64 {
    let out = Tool::new("svnlook").arg("youngest").arg(repository).ok().out();
    out.trim().parse().expect("because svnlook prints a number")
}

/// Packs, changes a revision property, or copies, with a random program.
fn administer(random: &mut Random, root: &Path, repository: &Path, server: &Arc<TestServer>, youngest: u64) {
    let side = random_side(random);
    let rev = random.below(youngest as usize + 1).to_string();
    match random.below(4) {
        // Old formats do not support packing.
        0 => _ = admin(side, &["pack", "-q"], repository),
        1 => {
            let svn = Tool::new("svn").args(["propset", "--revprop", "--non-interactive", "-r", &rev]);
            svn.args(["note", "over the wire"]).arg(server.url("repo")).ok();
        }
        2 => {
            let file = root.join("value");
            std::fs::write(&file, format!("noted at {youngest}\n")).expect("because the folder is ours");
            let tool = side.tool("svnadmin").args(["setrevprop", "-r", &rev]);
            tool.arg(repository).arg("remark").arg(file).ok();
        }
        _ => {
            let copy = root.join("copy");
            if hotcopy(side, &["--incremental"], repository, &copy).code == 0 {
                examine(&copy);
            } else {
                // Before format 4 there is no incremental copy; an incomplete one is removed.
                _ = std::fs::remove_dir_all(&copy);
                hotcopy(side, &[], repository, &copy).expect_ok();
                examine(&copy);
                _ = std::fs::remove_dir_all(&copy);
            }
        }
    }
}

/// Verifies the repository, and checks that every acknowledged revision exists under its number.
fn nothing_lost(repository: &Path, acknowledged: &BTreeMap<u64, String>) {
    examine(repository);
    for side in Side::BOTH {
        let out = side
            .tool("svnadmin")
            .args(["dump-revprops", "-q"])
            .arg(repository)
            .ok();
        let out = out.out();
        let mut revisions = out.split("Revision-number: ").skip(1);
        let mut found = BTreeMap::new();
        for revision in &mut revisions {
            let (number, rest) = revision.split_once('\n').unwrap_or((revision, ""));
            found.insert(number.parse::<u64>().expect("because dumps have numbers"), rest);
        }
        for (rev, log) in acknowledged {
            let props = found.get(rev).unwrap_or_else(|| panic!("revision {rev} is lost"));
            assert!(
                props.contains(&format!("{log}\n")),
                "r{rev} is not {log:?}: {props}"
            );
        }
    }
}
