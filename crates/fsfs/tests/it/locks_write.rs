//! Creating and removing users' locks, compared with the incumbent.

use std::collections::BTreeMap;

use base::hashdump::{Reader, Terminator};
use base::{Code, Date, Error, FsPath, Lock, Result, Revnum};
use fsfs::{Cache, Fs, LockRequest, LockTarget};
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build};

use crate::files::files;

fn path(text: &str) -> FsPath {
    FsPath::parse(text).unwrap()
}

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

fn request(owner: &str) -> LockRequest<'_> {
    LockRequest {
        owner,
        comment: Some("why"),
        is_dav_comment: false,
        expires: None,
        steal: false,
        now: Date::parse(b"2026-11-22T01:02:03.000004Z").unwrap(),
    }
}

fn lock_with(fs: &Fs, at: &str, token: Option<&str>, request: &LockRequest<'_>) -> Result<Lock> {
    let target = LockTarget {
        path: path(at),
        token: token.map(str::to_owned),
        rev: None,
    };
    fs.lock_paths(&[target], request).unwrap().remove(0).1
}

fn unlock(fs: &Fs, at: &str, token: Option<&str>, user: Option<&str>, break_lock: bool) -> Result<()> {
    let target = (path(at), token.map(str::to_owned));
    fs.unlock_paths(&[target], user, break_lock).unwrap().remove(0).1
}

/// The contents of the folder `locks`, with unordered lines sorted and without tokens and dates.
fn contents(repo: &Repo) -> BTreeMap<String, (u32, Vec<(String, String)>)> {
    let files = files(&repo.db().join("locks"));
    let read = |bytes: Vec<u8>| {
        let mut entries = Vec::new();
        let mut reader = Reader::new(&bytes, Terminator::End, false);
        while let Some(entry) = reader.next_entry().unwrap() {
            let key = String::from_utf8(entry.key.to_vec()).unwrap();
            let value = String::from_utf8(entry.value.unwrap().to_vec()).unwrap();
            let mut lines: Vec<_> = value.lines().collect();
            if key == "children" {
                lines.sort();
            }
            let value = if key == "creation_date" {
                String::new()
            } else {
                lines.join("\n")
            };
            entries.push((key, value));
        }
        entries
    };
    let is_dir = |name: &str| name.ends_with('/');
    files
        .into_iter()
        .map(|(name, (mode, bytes))| {
            (
                name.clone(),
                (mode, if is_dir(&name) { Vec::new() } else { read(bytes) }),
            )
        })
        .collect()
}

const TOKENS: [&str; 4] = [
    "opaquelocktoken:00000000-1111-4222-8333-000000000001",
    "opaquelocktoken:00000000-1111-4222-8333-000000000002",
    "opaquelocktoken:00000000-1111-4222-8333-000000000003",
    "opaquelocktoken:00000000-1111-4222-8333-000000000004",
];

#[test]
fn the_same_locks_make_the_same_files() {
    for spec in [Spec::small("1.3"), Spec::small("1.14").shard(4).pack(When::After)] {
        let (ours, theirs) = (build(&spec).copy(), build(&spec).copy());
        let fs = open(&ours);
        for (at, token) in ["/A/D/gamma", "/A/mu", "/iota", "/A/D/G/pi"].iter().zip(TOKENS) {
            lock_with(&fs, at, Some(token), &request("alice")).unwrap();
            theirs.lock(at, "alice", "why", token);
            assert_eq!(contents(&ours), contents(&theirs), "{} {at}", spec.name);
        }
        let listed = Tool::new("svnadmin").arg("lslocks").arg(ours.path()).ok().out();
        assert_eq!(listed.matches("Owner: alice").count(), 4, "{listed}");
        for (at, token) in ["/A/mu", "/A/D/G/pi"].iter().zip([TOKENS[1], TOKENS[3]]) {
            unlock(&fs, at, Some(token), Some("alice"), false).unwrap();
            Tool::new("svnadmin")
                .arg("unlock")
                .arg(theirs.path())
                .args([at, "alice", token])
                .ok();
            assert_eq!(contents(&ours), contents(&theirs), "{} {at}", spec.name);
        }
        // Each side removes the locks that the other one has made.
        Tool::new("svnadmin")
            .arg("rmlocks")
            .arg(ours.path())
            .args(["/A/D/gamma", "/iota"])
            .ok();
        for at in ["/A/D/gamma", "/iota"] {
            unlock(&open(&theirs), at, None, None, true).unwrap();
        }
        assert_eq!(contents(&ours), contents(&theirs), "{}", spec.name);
    }
}

#[test]
fn refused_locks_have_the_incumbents_errors() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let svnadmin = |command: &str, args: &[&str]| {
        let out = Tool::new("svnadmin")
            .arg(command)
            .arg(repo.path())
            .args(args)
            .run();
        out.err().trim_end().to_owned()
    };
    let same = |error: Error, theirs: String| {
        assert_eq!(format!("svnadmin: {error}"), theirs);
    };
    let comment = tempfile::NamedTempFile::new().unwrap();
    let comment = comment.path().to_str().unwrap();
    lock_with(&fs, "/iota", Some(TOKENS[0]), &request("alice")).unwrap();
    for at in ["/iota", "/A", "/nosuch", "/nosuch/below"] {
        let error = lock_with(&fs, at, None, &request("bob")).unwrap_err();
        same(error, svnadmin("lock", &[at, "bob", comment]));
    }
    for (at, user, token) in [
        ("/iota", "alice", "opaquelocktoken:x"),
        ("/A/mu", "alice", TOKENS[0]),
        ("/iota", "bob", TOKENS[0]),
    ] {
        let error = unlock(&fs, at, Some(token), Some(user), false).unwrap_err();
        same(error, svnadmin("unlock", &[at, user, token]));
    }
    let broken = unlock(&fs, "/A/mu", None, None, true).unwrap_err();
    assert_eq!(broken.code(), Code::FS_NO_SUCH_LOCK);
    let anonymous = unlock(&fs, "/iota", Some(TOKENS[0]), None, false).unwrap_err();
    assert_eq!(anonymous.code(), Code::FS_NO_USER);
}

#[test]
fn an_out_of_date_file_is_not_locked() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let created = fs
        .root(Revnum(11))
        .unwrap()
        .node(&path("/A/mu"))
        .unwrap()
        .created_rev()
        .unwrap();
    let lock = |rev: u64| {
        let target = LockTarget {
            path: path("/A/mu"),
            token: None,
            rev: Some(Revnum(rev)),
        };
        fs.lock_paths(&[target], &request("alice")).unwrap().remove(0).1
    };
    let late = lock(created.0 - 1).unwrap_err();
    assert_eq!(
        (late.code(), &*late.message()),
        (
            Code::FS_OUT_OF_DATE,
            "Lock failed: newer version of '/A/mu' exists"
        )
    );
    assert_eq!(lock(12).unwrap_err().code(), Code::FS_NO_SUCH_REVISION);
    let target = LockTarget {
        path: path("/nosuch"),
        token: None,
        rev: Some(Revnum(11)),
    };
    let gone = fs
        .lock_paths(&[target], &request("alice"))
        .unwrap()
        .remove(0)
        .1
        .unwrap_err();
    assert_eq!(gone.code(), Code::FS_OUT_OF_DATE);
    lock(created.0).unwrap();
}

#[test]
fn each_of_many_locks_succeeds_or_fails_separately() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let target = |at: &str| LockTarget {
        path: path(at),
        token: None,
        rev: None,
    };
    let targets = ["/iota", "/A", "/A/mu", "/nosuch", "/iota"].map(target);
    let results = fs.lock_paths(&targets, &request("alice")).unwrap();
    let good: Vec<bool> = results.iter().map(|(_, result)| result.is_ok()).collect();
    assert_eq!(good, [true, false, true, false, true]);
    assert_eq!(results[0], results[4]);
    let stolen = LockRequest {
        steal: true,
        comment: None,
        ..request("bob")
    };
    let stolen = lock_with(&fs, "/iota", None, &stolen).unwrap();
    assert_ne!(stolen.token, results[0].1.as_ref().unwrap().token);
    assert_eq!(fs.lock(&path("/iota")).unwrap(), Some(stolen));
    let paths = ["/iota", "/nosuch", "/A/mu", "/iota"].map(|at| (path(at), None));
    let results = fs.unlock_paths(&paths, None, true).unwrap();
    let good: Vec<bool> = results.iter().map(|(_, result)| result.is_ok()).collect();
    assert_eq!(good, [true, false, true, true]);
    assert!(fs.locks(&path("/"), base::Depth::Infinity).unwrap().is_empty());
}

#[test]
fn an_expired_lock_can_be_replaced() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let past = Date::parse(b"2001-01-01T00:00:00.000000Z").unwrap();
    let expired = LockRequest {
        expires: Some(past),
        ..request("alice")
    };
    lock_with(&fs, "/iota", None, &expired).unwrap();
    lock_with(&fs, "/A/mu", None, &expired).unwrap();
    assert!(fs.lock(&path("/iota")).unwrap().is_none());
    let lock = lock_with(&fs, "/iota", None, &request("bob")).unwrap();
    assert_eq!(fs.lock(&path("/iota")).unwrap(), Some(lock));
    let digests = files(&repo.db().join("locks")).len();
    assert_eq!(
        unlock(&fs, "/A/mu", None, None, true).unwrap_err().code(),
        Code::FS_NO_SUCH_LOCK
    );
    assert!(files(&repo.db().join("locks")).len() < digests);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

#[test]
fn lock_directories_inherit_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = build(&Spec::small("1.14")).copy();
    let locks = repo.db().join("locks");
    std::fs::create_dir_all(&locks).unwrap();
    std::fs::set_permissions(&locks, std::fs::Permissions::from_mode(0o2770)).unwrap();
    lock_with(&open(&repo), "/iota", None, &request("alice")).unwrap();
    let mut made = 0;
    for entry in std::fs::read_dir(&locks).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o2770, "{}", entry.path().display());
            made += 1;
        }
    }
    assert_ne!(made, 0);
}
