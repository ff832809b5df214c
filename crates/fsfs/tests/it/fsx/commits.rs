//! Commits that avoid the faults of 1.14: its tools read all that is in them. Other tests of commits to FSX are among those of FSFS,
//! in `commits`.

use base::{Date, FsPath, Revnum};
use fsfs::{Fs, TxnOptions};
use testkit::{Tool, sample};

use super::pack;
use super::repository::{FsxRepository, Settings, verify};

fn now() -> Date {
    Date(1_700_000_000_123_456)
}

/// Adds files with these names and one text.
fn add_files(fs: &Fs, names: &[String], text: &[u8]) -> Revnum {
    let mut txn = fs
        .begin_txn(fs.youngest().unwrap(), TxnOptions::default(), now())
        .unwrap();
    for name in names {
        let path = FsPath::root().join_str(name);
        txn.make_file(&path).unwrap();
        let mut writer = txn.apply_text(&path, None).unwrap();
        writer.write(text).unwrap();
        writer.finish(&mut txn).unwrap();
    }
    let committed = txn.commit(&now).unwrap();
    assert!(committed.post_commit_error.is_none(), "{committed:?}");
    committed.rev
}

/// Checks that the incumbent's tools find these changed paths and no damage.
fn check(repository: &FsxRepository, rev: Revnum, names: &[String]) {
    let mut expected: Vec<String> = names.iter().map(|name| format!("A   {name}")).collect();
    expected.sort();
    let fs = repository.open();
    let changed = fs.root(rev).unwrap().changed_paths().unwrap();
    assert_eq!(changed.len(), names.len());
    verify(&fs).unwrap();
    let listed = repository.svnlook("changed", &["-r", &rev.to_string()]);
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, expected);
    let log = Tool::new("svn")
        .args(["log", "-qv", "-r", &rev.to_string(), &repository.repo().url()])
        .ok()
        .out();
    assert_eq!(
        log.lines().filter(|line| line.starts_with("   A /")).count(),
        names.len()
    );
    let dump = Tool::new("svnadmin").args(["dump", "-q", "--incremental", "-r", &rev.to_string()]);
    let dump = dump.arg(repository.path()).ok().out();
    assert_eq!(
        dump.lines()
            .filter(|line| line.starts_with("Node-path: "))
            .count(),
        names.len()
    );
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(repository.path())
        .under("timeout", &["-s", "KILL", "60"])
        .ok();
}

/// 1.14 reads a changed-path list twice if it crosses a boundary of the blocks in which it reads the file.
#[test]
fn changed_path_lists_are_read_once() {
    // (bytes before the list, roughly; changed paths; who packs): a short list near the first boundary, on each side of it; lists that
    // nearly fill a block; lists of several blocks.
    let cases = [
        (65_000, 3, true),
        (65_300, 3, false),
        (3_000, 650, false),
        (60_000, 300, true),
        (0, 800, false),
        (50_000, 3000, true),
    ];
    for (before, count, is_packed_by_us) in sample(2, cases) {
        let repository = FsxRepository::create(&Settings::shard(2));
        let fs = repository.open();
        let names: Vec<String> = (0..count)
            .map(|at| format!("a name that makes the list of changed paths long, number {at:05} of all"))
            .collect();
        let rev = add_files(&fs, &names, &testkit::history::noise(7, before));
        check(&repository, rev, &names);
        // A list that is longer than a block is in a container. 1.14 ends abnormally when it packs such a revision.
        let is_in_container = count >= 800;
        if !is_packed_by_us && is_in_container {
            let packed = Tool::new("svnadmin").args(["pack", "-q"]).arg(repository.path());
            assert_ne!(packed.run().code, 0, "1.14 has this fault no longer");
            check(&repository, rev, &names);
        }
        match is_packed_by_us || is_in_container {
            true => drop(pack::pack(repository.path())),
            false => repository.pack(),
        }
        assert!(!repository.db().join("revs/0").exists());
        check(&repository, rev, &names);
    }
    // With other block sizes, too.
    let conf = "[io]\nblock-size = 4\nl2p-page-size = 16\np2l-page-size = 2\n";
    let repository = FsxRepository::create(&Settings { shard: 4, conf });
    let fs = repository.open();
    for count in sample(2, [10, 30, 50, 70, 200]) {
        let names: Vec<String> = (0..count).map(|at| format!("{count}-{at:060}")).collect();
        let rev = add_files(&fs, &names, b"text");
        check(&repository, rev, &names);
    }
}

/// 1.14 cannot store names with the byte 0xCA, but it reads them.
#[test]
fn names_that_the_incumbent_cannot_store() {
    let repository = FsxRepository::create(&Settings::shard(3));
    let fs = repository.open();
    let names = ["ʀ", "é", "Ê", "a b", "日本"].map(str::to_owned);
    let rev = add_files(&fs, &names, b"text\n");
    check(&repository, rev, &names);
    let text = Tool::new("svnlook")
        .arg("cat")
        .arg(repository.path())
        .arg("ʀ")
        .ok();
    assert_eq!(text.stdout, b"text\n");
    let controls = ["tab\t", "escape\x1b[", "one\x01"].map(str::to_owned);
    let rev = add_files(&fs, &controls, b"text\n");
    let root = fs.root(rev).unwrap();
    for name in controls {
        assert!(root.try_node(&FsPath::root().join_str(&name)).unwrap().is_some());
        let found = repository
            .open()
            .root(rev)
            .unwrap()
            .try_node(&FsPath::root().join_str(&name));
        assert!(found.unwrap().is_some(), "{name:?}");
    }
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(repository.path())
        .ok();
    pack::pack(repository.path());
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(repository.path())
        .ok();
}

/// The numbers of transactions start at 1 again after `recover`; those that exist are passed over.
#[test]
fn numbers_of_existing_transactions_are_not_given_out() {
    let repository = FsxRepository::create(&Settings::shard(4));
    let fs = repository.open();
    let begin = || fs.begin_txn(Revnum(0), TxnOptions::default(), now()).unwrap();
    let first = begin();
    assert_eq!(first.name(), "1");
    std::fs::write(repository.db().join("txn-current"), "0\n").unwrap();
    let second = begin();
    assert_eq!(second.name(), "2");
    repository.repo().open_txn();
    assert_eq!(fs.list_txns().unwrap(), ["1", "2", "3"]);
    let listed = Tool::new("svnadmin")
        .arg("lstxns")
        .arg(repository.path())
        .ok()
        .out();
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, ["1", "2", "3"]);
    first.abort().unwrap();
    second.abort().unwrap();
}
