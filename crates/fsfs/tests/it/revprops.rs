//! Revision properties: packed, unpacked, and changed by other processes while the repository is open.

use std::collections::BTreeMap;

use base::hashdump::{Reader, Terminator};
use base::{Code, Props, Revnum};
use fsfs::{Cache, Fs};
use testkit::repo::{Repo, Spec, When, build, matrix};
use testkit::{Tool, history};

/// The properties of all revisions as the real tool prints them.
fn theirs(repo: &Repo) -> BTreeMap<u64, Props> {
    let dump = Tool::new("svnadmin")
        .args(["dump-revprops", "-q"])
        .arg(repo.path())
        .ok()
        .stdout;
    let mut all = BTreeMap::new();
    let mut rest = &dump[..];
    let header = |record: &str, name: &str| -> Option<u64> {
        let value = record.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse().ok()
    };
    while let Some(end) = rest.windows(2).position(|w| w == b"\n\n") {
        let record = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 2..];
        if let Some(rev) = header(&record, "Revision-number:") {
            let mut props = Props::new();
            let mut reader = Reader::new(rest, Terminator::PropsEnd, false);
            while let Some(entry) = reader.next_entry().expect("a good dump") {
                let name = String::from_utf8(entry.key.to_vec()).expect("UTF-8");
                props.insert(name, entry.value.unwrap_or_default().to_vec());
            }
            rest = &rest[reader.consumed() + 1..];
            all.insert(rev, props);
        }
    }
    all
}

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens")
}

fn check(repo: &Repo, fs: &Fs, name: &str) {
    let theirs = theirs(repo);
    assert_eq!(theirs.len() as u64, repo.youngest() + 1, "{name}");
    for (rev, props) in theirs {
        let ours = fs
            .revprops(Revnum(rev))
            .unwrap_or_else(|e| panic!("{name} r{rev}: {e}"));
        assert_eq!(ours.to_props(), props, "{name} r{rev}");
    }
}

#[test]
fn revision_properties_of_every_kind_of_repository() {
    for spec in matrix() {
        let repo = build(&spec);
        let fs = open(&repo);
        // The second pass reads from the cache.
        check(&repo, &fs, &spec.name);
        check(&repo, &fs, &spec.name);
    }
}

#[test]
fn changes_by_other_processes_are_visible_at_once() {
    for spec in [
        Spec::small("1.3"),
        Spec::small("1.14").shard(4),
        Spec::small("1.14")
            .shard(4)
            .pack(When::After)
            .packed_revprops(1, true),
        Spec::small("1.8").shard(12).pack(When::After),
    ] {
        let repo = build(&spec).copy();
        let fs = open(&repo);
        check(&repo, &fs, &spec.name);
        let long = history::lines(5, 60);
        for (turn, rev) in [1, 0, 5, 11, 5, 6, 1].into_iter().enumerate() {
            // Long values make the incumbent move lists to other pack files.
            let value = format!("{turn} {}", &long[..turn * 300]);
            repo.set_revprop(rev, "svn:log", value.as_bytes());
            let ours = fs.revprops(Revnum(rev)).expect("reads");
            assert_eq!(ours.get("svn:log"), Some(value.as_bytes()), "{}", spec.name);
        }
        check(&repo, &fs, &spec.name);
    }
}

#[test]
fn a_shard_that_is_packed_meanwhile_is_found() {
    let spec = Spec::small("1.14").shard(4);
    let repo = build(&spec).copy();
    let fs = open(&repo);
    fs.revprops(Revnum(2)).expect("reads");
    Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
    check(&repo, &fs, "packed meanwhile");
}

#[test]
fn missing_and_damaged_properties_have_the_incumbents_error_number() {
    let spec = Spec::small("1.14").shard(4).pack(When::Halfway);
    let damaged = |rev: u64, file: &str, content: Option<&[u8]>| {
        let repo = build(&spec).copy();
        let path = repo.db().join("revprops").join(file);
        std::fs::remove_file(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if let Some(content) = content {
            std::fs::write(&path, content).expect("because the copy is ours");
        }
        let ours = open(&repo).revprops(Revnum(rev)).expect_err(file);
        let theirs = Tool::new("svnlook")
            .args(["proplist", "--revprop", "-r", &rev.to_string()])
            .arg(repo.path())
            .run();
        let numbers: Vec<i32> = ours.links().map(|link| link.code().0).collect();
        assert_eq!(numbers, theirs.error_codes(), "{file}: {ours}\n{theirs:?}");
        ours
    };
    damaged(9, "2/9", None);
    damaged(9, "2/9", Some(b"garbage"));
    damaged(9, "2/9", Some(b""));
    damaged(0, "0/0", None);
    damaged(2, "0.pack/manifest", None);
    damaged(2, "0.pack/manifest", Some(b""));
    damaged(2, "0.pack/manifest", Some(b"1.0\n1.0\n1.0\n1.0\n"));
    damaged(2, "0.pack/manifest", Some(b"1.0\n1.0\n1.0"));
    damaged(2, "0.pack/manifest", Some(b"9.0\n9.0\n9.0\n"));
    damaged(2, "0.pack/1.0", None);
    damaged(2, "0.pack/1.0", Some(b""));
    damaged(2, "0.pack/1.0", Some(b"\x0axxxxxx"));
    damaged(2, "0.pack/1.0", Some(b"\x082\n1\n2\n\nX\n"));
    damaged(2, "0.pack/1.0", Some(b"\x0a3\n1\n4\nEND\n"));
    damaged(2, "0.pack/1.0", Some(b"\x0b5\n1\n4\n\nEND\n"));
    let e = damaged(2, "0.pack/1.0", Some(b"\x0b1\n1\n4\n\nEND\n"));
    assert_eq!(e.code(), Code::FS_NO_SUCH_REVISION);
}
