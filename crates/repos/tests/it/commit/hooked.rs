//! Hooks, locks and revision properties: the input of hooks, and the effect of their output and exit code.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base::{Code, FsPath, Lock, Revnum};
use delta::editor::{Editor, TextChunk};
use delta::window::Window;
use repos::access::Everything;
use repos::change_revprop::RevpropChange;
use repos::commit;
use repos::config::HooksEnv;
use repos::hooks::Hooks;
use repos::user_locks::{LockRequest, LockTarget};
use testkit::tool::{Side, Tool};

use super::drive::*;
use super::pair::{CommitPair, Links, clock, links, mask, now, open};
use crate::peer::{PeerItem, SvnPeer};

/// A hook that writes its arguments and input to a file. Those that get no input do not read any: at the end of a
/// tunnel the real server lets them read its own.
const TELLTALE: &str = r#"{ echo "HOOK ${0##*/}"; for a in "$@"; do echo "[$a]"; done
env | grep -v -e PWD -e SHLVL -e '^_=' | sort
case "$0" in *start-commit|*post-commit|*pre-lock|*pre-unlock) ;; *) cat; echo "<";; esac; } >> OUT 2>&1"#;

const ALL: [&str; 9] = [
    "start-commit",
    "pre-commit",
    "post-commit",
    "pre-revprop-change",
    "post-revprop-change",
    "pre-lock",
    "post-lock",
    "pre-unlock",
    "post-unlock",
];

fn hooks(pair: &CommitPair) -> Hooks {
    Hooks::of(&pair.repo, pair.env.clone())
}

fn fs_path(path: &str) -> FsPath {
    FsPath::parse(path).expect("canonical")
}

#[test]
fn commit_hooks_get_the_incumbents_arguments() {
    let mut pair = CommitPair::new();
    let env = "[default]\nA = b c\n[pre-commit]\nB = ü%(C)s\nC = d\n[post-commit]\n";
    for side in Side::BOTH {
        std::fs::write(pair.path(side).join("conf/hooks-env"), env).expect("writable");
    }
    pair.env = Arc::new(HooksEnv::read(&pair.path(Side::Ours).join("conf/hooks-env")).expect("readable"));
    for name in ALL {
        pair.hook(name, TELLTALE);
    }
    let plain = [root(), add_file("n"), close_file("n"), done()];
    for user in [None, Some("alice")] {
        pair.user = user;
        let steps = [root(), add_file(user.unwrap_or("anon")), done()];
        assert_eq!(pair.same("plain", &steps), Ok(true));
        let [theirs, ours] = pair.written();
        assert_eq!(theirs, ours);
        assert_eq!(ours.matches("HOOK").count(), 3);
    }
    // A lock on a path with special characters, which the commit releases.
    let odd = "A/a ü#%|x";
    let steps = [
        root(),
        open_dir("A", None),
        add_file(odd),
        close_file(odd),
        done(),
    ];
    assert_eq!(pair.same("odd", &steps), Ok(true));
    pair.svnadmin(&[
        "lock",
        &format!("/{odd}"),
        "alice",
        "/dev/null",
        "opaquelocktoken:t",
    ]);
    pair.written();
    pair.tokens = vec![(odd.to_owned(), "opaquelocktoken:t".to_owned())];
    assert_eq!(pair.same("with a token", &plain), Ok(true));
    let [theirs, ours] = pair.written();
    assert_eq!(theirs, ours);
    assert!(
        ours.contains("\nLOCK-TOKENS:\nA/a%20ü#%%7Cx|opaquelocktoken:t\n\n<"),
        "{ours}"
    );
    assert!(ours.contains("HOOK post-unlock"), "{ours}");
    // A token of a lock that no longer exists does not fail the commit, and hooks are given it all the same.
    pair.keep_locks = true;
    let steps = [root(), add_file("m"), close_file("m"), done()];
    assert_eq!(pair.same("with an old token", &steps), Ok(true));
    let [theirs, ours] = pair.written();
    assert_eq!(theirs, ours);
    assert_eq!(ours.matches("HOOK").count(), 3);
    pair.check();
}

/// Creates a file of any kind in place of a hook, on both sides.
fn install(pair: &CommitPair, name: &str, bytes: &[u8], mode: u32) {
    for side in Side::BOTH {
        let path = pair.path(side).join("hooks").join(name);
        drop(std::fs::remove_file(&path));
        std::fs::write(&path, bytes).expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("writable");
    }
}

#[test]
fn commit_hooks_failures_are_reported() {
    let pair = CommitPair::new();
    let mut count = 0;
    let mut different = String::new();
    let mut try_it = |what: &str| {
        count += 1;
        let steps = [root(), add_dir(&format!("d{count}")), done()];
        if let Err(difference) = pair.same(what, &steps) {
            different.push_str(&difference);
        }
    };
    for hook in ["start-commit", "pre-commit", "post-commit"] {
        for script in [
            "echo fine >&2",
            "echo out; exit 1",
            "printf 'no newline' >&2; exit 1",
            r"printf 'a\n\nb\r\nc\n\n' >&2; exit 7",
            r"printf 'ü\001\n' >&2; exit 255",
            r"printf 'bad \377\n' >&2; exit 1",
            r"printf 'nul \000 after\n' >&2; exit 1",
            r"printf '\000' >&2; exit 1",
            "kill -9 $$",
            "echo x >&2; kill -15 $$",
            "(sleep 0.2; echo late >&2) & echo early >&2; exit 1",
            "head -c 300000 /dev/zero | tr '\\0' a >&2; exit 1",
            "exec 2>&-; exit 3",
        ] {
            pair.hook(hook, script);
            try_it(&format!("{hook}: {script}"));
        }
        install(&pair, hook, b"echo no interpreter >&2; exit 3\n", 0o755);
        try_it(&format!("{hook} without #!"));
        install(&pair, hook, b"#!/nonexistent\n", 0o755);
        try_it(&format!("{hook}: no such interpreter"));
        install(&pair, hook, b"#!/bin/sh\nexit 1\n", 0o644);
        try_it(&format!("{hook}: not executable"));
        install(&pair, hook, b"", 0o755);
        try_it(&format!("{hook}: empty"));
        for target in ["nowhere", hook, "/tmp", "real"] {
            for side in Side::BOTH {
                let path = pair.path(side).join("hooks").join(hook);
                drop(std::fs::remove_file(&path));
                std::os::unix::fs::symlink(target, path).expect("writable");
            }
            install(&pair, "real", b"#!/bin/sh\necho via link >&2; exit 1\n", 0o755);
            try_it(&format!("{hook}: link to {target}"));
        }
        pair.remove_hook(hook);
        for side in Side::BOTH {
            std::fs::create_dir(pair.path(side).join("hooks").join(hook)).expect("writable");
        }
        try_it(&format!("{hook}: a directory"));
        for side in Side::BOTH {
            std::fs::remove_dir(pair.path(side).join("hooks").join(hook)).expect("writable");
        }
    }
    assert!(different.is_empty(), "{different}");
    pair.check();
}

/// The changes that hooks may see are on disk in the transaction; temporary properties do not end up in the revision.
#[test]
fn hooks_see_the_transaction_on_disk() {
    let mut pair = CommitPair::new();
    pair.revprops.push(("svn:txn-x".into(), b"seen".to_vec()));
    let look = "svnlook changed -t $TXN \"$1\"; svnlook proplist --revprop -t $TXN \"$1\" | sort; svnlook cat -t $TXN \"$1\" A/f; \
                svnlook propget -t $TXN \"$1\" p A";
    pair.hook(
        "start-commit",
        &format!("TXN=$4; {{ {look}; }} >> OUT 2>&1; exit 0"),
    );
    pair.hook(
        "pre-commit",
        &format!("TXN=$2; {{ {look}; }} >> OUT 2>&1; exit 0"),
    );
    let steps = [
        root(),
        open_dir("A", 4),
        dir_prop("A", "p", "new"),
        open_file("A/f", 3),
        text_on("A/f", "two\n", "three\n"),
        close_as("A/f", "three\n"),
        add_dir("A/t"),
        copy_file("A/t/c", "/iota", 2),
        delete("iota", 2),
        done(),
    ];
    assert_eq!(pair.same("looked at", &steps), Ok(true));
    let [theirs, ours] = pair.written();
    assert_eq!(theirs, ours);
    assert!(ours.contains("three\n") && ours.contains("svn:txn-x"), "{ours}");
    // The refused transaction is deleted.
    pair.hook("pre-commit", "exit 1");
    let steps = [root(), add_dir("refused"), done()];
    assert_eq!(pair.same("refused", &steps), Ok(false));
    pair.check();
}

/// The revision exists even if every step after the commit fails.
#[test]
fn failures_after_a_commit_are_reported() {
    let pair = CommitPair::new();
    for side in Side::BOTH {
        let path = pair.path(side).join("db/rep-cache.db");
        drop(std::fs::remove_file(&path));
        std::fs::create_dir(&path).expect("writable");
    }
    let add = |name: &str| {
        [
            root(),
            add_file(name),
            text(name, name),
            close_as(name, name),
            done(),
        ]
    };
    assert_eq!(pair.same("no rep-cache", &add("n")), Ok(true));
    pair.hook("post-commit", "echo oops >&2; exit 1");
    assert_eq!(pair.same("nor a hook", &add("m")), Ok(true));
    let info = pair.ours(&add("o")).expect("because there is a revision");
    let message = info.post_commit_error.expect("because it went wrong");
    assert!(
        message.starts_with("post commit FS processing had error:\n") && message.ends_with("oops\n"),
        "{message}"
    );
}

/// A hook that does not read its input, or writes more than a pipe holds, does not block the commit.
#[test]
fn pipes_do_not_block() {
    let mut pair = CommitPair::new();
    pair.tokens = (0..20_000)
        .map(|n| (format!("some/long/path/{n}"), format!("opaquelocktoken:{n}")))
        .collect();
    pair.keep_locks = true;
    pair.hook(
        "pre-commit",
        "head -c 5000000 /dev/zero | tr '\\0' a >&2; exec 0<&-; exit 0",
    );
    let info = pair
        .ours(&[root(), add_dir("d"), done()])
        .expect("because the hook allows it");
    assert_eq!(info.rev, Revnum(5));
    pair.hook("pre-commit", "head -c 5000000 /dev/zero | tr '\\0' a >&2; exit 1");
    let refused = pair
        .ours(&[root(), add_dir("e"), done()])
        .expect_err("because it refuses");
    assert!(refused[0].1.len() <= (1 << 20) + 100, "{}", refused[0].1.len());
}

#[test]
fn locks_refuse_commits() {
    let mut pair = CommitPair::new();
    pair.svnadmin(&["lock", "/A/s/g", "alice", "/dev/null", "opaquelocktoken:g"]);
    pair.svnadmin(&["lock", "/iota", "bob", "/dev/null", "opaquelocktoken:i"]);
    let mut different = String::new();
    let drives = |n: u32| {
        let name = format!("n{n}");
        vec![
            vec![
                root(),
                open_file("A/s/g", None),
                file_prop("A/s/g", "x", &name),
                done(),
            ],
            vec![
                root(),
                open_file("A/s/g", None),
                text("A/s/g", &name),
                close_file("A/s/g"),
                done(),
            ],
            vec![root(), open_file("iota", None), text("iota", &name), done()],
            vec![root(), delete("A", None), done()],
            vec![root(), delete("A/s", None), done()],
            vec![
                root(),
                open_dir("A", None),
                add_file(&format!("A/{name}")),
                done(),
            ],
            vec![root(), open_dir("A/s", None), dir_prop("A/s", "x", &name), done()],
            vec![
                root(),
                delete("iota", None),
                copy_file("iota", "/A/s/g", 4),
                done(),
            ],
        ]
    };
    let mut n = 0;
    for user in [None, Some("alice"), Some("bob")] {
        for token in [None, Some("opaquelocktoken:g"), Some("opaquelocktoken:i")] {
            pair.user = user;
            pair.keep_locks = true;
            pair.tokens = token
                .iter()
                .map(|token| ("A/s/g".to_owned(), (*token).to_owned()))
                .collect();
            n += 1;
            for steps in drives(n) {
                if user.is_none() && token.is_some() {
                    continue;
                }
                if let Err(difference) = pair.same(&format!("{user:?} {token:?} {steps:?}"), &steps) {
                    different.push_str(&difference);
                }
            }
        }
    }
    assert!(different.is_empty(), "{different}");
    pair.check();
}

/// Locks or unlocks one path through the real server and through our code.
struct LockComparison<'a> {
    pair: &'a CommitPair,
    peer: SvnPeer,
    user: &'a str,
}

impl<'a> LockComparison<'a> {
    fn new(pair: &'a CommitPair, user: &'a str) -> Self {
        let theirs = pair.path(Side::Theirs);
        let folder = theirs.parent().expect("because it has one");
        LockComparison {
            pair,
            peer: SvnPeer::tunnel(folder, URL, Some(user)),
            user,
        }
    }

    fn lock(&mut self, path: &str, comment: Option<&[u8]>, rev: Option<u64>, steal: bool) -> [String; 2] {
        let optional = |value: Option<Vec<u8>>| match value {
            Some(value) => [b"( ", &value[..], b" )"].concat(),
            None => b"( )".to_vec(),
        };
        let request = [
            b"( lock ( ".as_slice(),
            &string(path),
            b" ",
            &optional(comment.map(string)),
            format!(" {steal} ").as_bytes(),
            &optional(rev.map(|rev| rev.to_string().into_bytes())),
            b" ) ) ",
        ]
        .concat();
        let theirs = self.peer.ask(&request).map(|item| described(&item));
        let target = LockTarget {
            path: FsPath::canonicalize(path).expect("canonical"),
            token: None,
            rev: rev.map(Revnum),
        };
        let comment = comment.map(|comment| String::from_utf8_lossy(comment).into_owned());
        let request = LockRequest {
            user: Some(self.user),
            comment: comment.as_deref(),
            is_dav_comment: false,
            expires: None,
            steal,
        };
        let hooks = hooks(self.pair);
        let ours = self.pair.repo.lock_many(&[target], &request, Some(&hooks), now());
        let ours = ours.and_then(|mut outcome| {
            let (_, lock) = outcome.each.remove(0);
            match outcome.post_hook_error {
                Some(e) => Err(e),
                None => lock.map(|lock| shown(&lock)),
            }
        });
        [
            format!("{theirs:?}"),
            format!("{:?}", ours.map_err(|e| links(&e))),
        ]
    }

    fn unlock(&mut self, path: &str, token: Option<&str>, break_lock: bool) -> [String; 2] {
        let optional = token.map_or(b"( )".to_vec(), |token| {
            [b"( ", &string(token)[..], b" )"].concat()
        });
        let request = [
            b"( unlock ( ".as_slice(),
            &string(path),
            b" ",
            &optional,
            format!(" {break_lock} ) ) ").as_bytes(),
        ]
        .concat();
        let theirs = self.peer.ask(&request).map(drop);
        let target = (
            FsPath::canonicalize(path).expect("canonical"),
            token.map(str::to_owned),
        );
        let hooks = hooks(self.pair);
        let ours = self
            .pair
            .repo
            .unlock_many(&[target], Some(self.user), break_lock, Some(&hooks));
        let ours = ours.and_then(|mut outcome| {
            let (_, done) = outcome.each.remove(0);
            match outcome.post_hook_error {
                Some(e) => Err(e),
                None => done,
            }
        });
        [
            format!("{theirs:?}"),
            format!("{:?}", ours.map_err(|e| links(&e))),
        ]
    }
}

/// A lock without its random parts: a generated token, and the date.
fn shown(lock: &Lock) -> String {
    let token = if lock.token.len() == 52 {
        "UUID"
    } else {
        &lock.token
    };
    format!("{} {token} {} {:?}", lock.path, lock.owner, lock.comment)
}

fn described(item: &PeerItem) -> String {
    let text = |item: &PeerItem| match item {
        PeerItem::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("no text: {other:?}"),
    };
    let PeerItem::List(parts) = item else {
        panic!("no answer: {item:?}")
    };
    let Some(PeerItem::List(outer)) = parts.get(1) else {
        panic!("no answer: {item:?}")
    };
    let Some(PeerItem::List(lock)) = outer.first() else {
        panic!("no lock: {item:?}")
    };
    let comment = match &lock[3] {
        PeerItem::List(inner) => inner.first().map(text),
        other => panic!("no comment: {other:?}"),
    };
    let token = text(&lock[1]);
    let token = if token.len() == 52 {
        "UUID".to_owned()
    } else {
        token
    };
    format!("{} {token} {} {comment:?}", text(&lock[0]), text(&lock[2]))
}

#[test]
fn locking() {
    let pair = CommitPair::new();
    let mut alice = LockComparison::new(&pair, "alice");
    let mut bob = LockComparison::new(&pair, "bob");
    let mut different = String::new();
    let mut same = |what: &str, [theirs, ours]: [String; 2]| {
        let [theirs, ours] = [mask(&theirs), mask(&ours)];
        if theirs != ours {
            different.push_str(&format!("{what}:\n  theirs {theirs}\n  ours   {ours}\n"));
        }
    };
    same("lock", alice.lock("iota", Some(b"c"), None, false));
    same("again", alice.lock("iota", Some(b"c"), None, false));
    same("another's", bob.lock("iota", Some(b"c"), None, false));
    same("steal", bob.lock("iota", None, None, true));
    same("not mine", alice.unlock("iota", Some("opaquelocktoken:x"), false));
    same("no token", bob.unlock("iota", None, false));
    same("not locked", bob.unlock("A/f", Some("x"), false));
    same("not there", bob.unlock("nope", Some("x"), true));
    same("break", alice.unlock("iota", None, true));
    same("directory", alice.lock("A", None, None, false));
    same("root", alice.lock("", None, None, false));
    same("missing", alice.lock("nope", None, None, false));
    same("missing, with revision", alice.lock("nope", None, Some(1), false));
    same("below a file", alice.lock("iota/x", None, None, false));
    same("stale", alice.lock("A/f", None, Some(1), false));
    same("future", alice.lock("A/f", None, Some(99), false));
    same("up to date", alice.lock("A/f", None, Some(3), false));
    same("break it", alice.unlock("A/f", None, true));
    for comment in [
        &b"x\x01y"[..],
        b"a\tb\r\nc",
        b"\x7f",
        b"",
        b"x\0y",
        "ü\n".as_bytes(),
    ] {
        same(
            &format!("{comment:?}"),
            alice.lock("iota", Some(comment), None, true),
        );
    }
    for name in ["pre-lock", "post-lock", "pre-unlock", "post-unlock"] {
        pair.hook(name, TELLTALE);
    }
    same("hooked", alice.lock("A/s/g", Some(b"two\nlines"), None, false));
    same("hooked, steal", bob.lock("A/s/g", None, None, true));
    same("hooked, missing", bob.lock("nope", None, None, true));
    same("hooked, wrong", bob.unlock("A/s/g", Some("x"), false));
    same("hooked, break", alice.unlock("A/s/g", None, true));
    let [theirs, ours] = pair.written();
    assert_eq!(theirs, ours);
    for printed in [
        "opaquelocktoken:abc",
        "abc",
        "opaquelocktoken:abc\\n",
        "opaquelocktoken:a b<&>",
        "opaquelocktoken:ä",
        "opaquelocktoken:",
        "\\n",
        "opaquelocktoken:a\\000b",
    ] {
        pair.hook("pre-lock", &format!("printf '{printed}'"));
        same(printed, alice.lock("A/f", None, None, true));
    }
    for name in ["pre-lock", "post-lock", "pre-unlock", "post-unlock"] {
        pair.hook(name, "echo no >&2; exit 1");
        same(name, alice.lock("A/f", None, None, true));
        same(name, alice.unlock("A/f", None, true));
        pair.remove_hook(name);
    }
    assert!(different.is_empty(), "{different}");
}

#[test]
fn many_locks_at_once() {
    let pair = CommitPair::new();
    pair.hook("pre-lock", "case \"$2\" in */f) echo refuse >&2; exit 1;; esac");
    pair.hook("post-lock", "cat >> OUT; exit 1");
    pair.hook("post-unlock", "cat >> OUT");
    let target = |path: &str| LockTarget {
        path: fs_path(path),
        token: None,
        rev: None,
    };
    let targets = ["/iota", "/A/f", "/nope", "/A/s/g", "/iota"].map(target);
    let mut request = LockRequest {
        user: Some("alice"),
        comment: None,
        is_dav_comment: false,
        expires: None,
        steal: false,
    };
    let hooks = hooks(&pair);
    let outcome = pair.repo.lock_many(&targets, &request, Some(&hooks), now());
    let outcome = outcome.expect("because the paths fail alone");
    let codes: Vec<_> = outcome
        .each
        .iter()
        .map(|(path, lock)| (path.as_str(), lock.as_ref().err().map(|e| e.code())))
        .collect();
    assert_eq!(
        codes,
        [
            ("/iota", None),
            ("/A/f", Some(Code::REPOS_HOOK_FAILURE)),
            ("/nope", Some(Code::FS_NOT_FOUND)),
            ("/A/s/g", None),
            ("/iota", None)
        ]
    );
    let complaint = outcome.post_hook_error.expect("because it complains");
    assert_eq!(complaint.code(), Code::REPOS_POST_LOCK_HOOK_FAILED);
    assert_eq!(pair.written()[1], "/A/s/g\n/iota\n");
    let targets: Vec<_> = outcome
        .each
        .iter()
        .map(|(path, lock)| (path.clone(), lock.as_ref().ok().map(|lock| lock.token.clone())))
        .collect();
    let outcome = pair
        .repo
        .unlock_many(&targets, Some("alice"), false, Some(&hooks))
        .expect("because the paths fail alone");
    assert_eq!(
        outcome.each.iter().filter(|(_, done)| done.is_ok()).count(),
        3,
        "{outcome:?}"
    );
    assert_eq!(pair.written()[1], "/A/s/g\n/iota\n");
    request.user = None;
    let refused = pair.repo.lock_many(&[], &request, None, now());
    assert_eq!(
        refused.expect_err("because nobody locks").code(),
        Code::FS_NO_USER
    );
}

#[test]
fn revision_properties_change() {
    let pair = CommitPair::new();
    let theirs = pair.path(Side::Theirs);
    let mut peer = SvnPeer::tunnel(theirs.parent().expect("because it has one"), URL, Some("alice"));
    let mut different = String::new();
    let mut same =
        |rev: u64, name: &str, value: Option<&[u8]>, expected: Option<Option<&[u8]>>, pair: &CommitPair| {
            let optional =
                |value: Option<&[u8]>| value.map_or(Vec::new(), |value| [&string(value)[..], b" "].concat());
            let guard = match expected {
                None => b"true ".to_vec(),
                Some(old) => [b"false ".as_slice(), &optional(old)].concat(),
            };
            let request = [
                format!("( change-rev-prop2 ( {rev} ").as_bytes(),
                &string(name),
                b" ( ",
                &optional(value),
                b") ( ",
                &guard,
                b") ) ) ",
            ]
            .concat();
            let theirs: Result<(), Links> = peer.ask(&request).map(drop);
            let change = RevpropChange {
                rev: Revnum(rev),
                name,
                expected,
                value,
                user: Some("alice"),
            };
            let hooks = hooks(pair);
            let ours = pair
                .repo
                .change_revprop(&change, Some(&hooks), Some(&hooks), &Everything)
                .map_err(|e| links(&e));
            if theirs != ours {
                different.push_str(&format!(
                    "r{rev} {name} {value:?}:\n  theirs {theirs:?}\n  ours   {ours:?}\n"
                ));
            }
        };
    same(1, "a", Some(b"b"), None, &pair);
    same(1, "svn:wc:a", Some(b"b"), None, &pair);
    same(99, "a", Some(b"b"), None, &pair);
    pair.hook("pre-revprop-change", TELLTALE);
    pair.hook("post-revprop-change", TELLTALE);
    for (name, value) in [
        ("svn:log", Some(&b"x\r\ny"[..])),
        ("svn:log", Some(b"\xff")),
        ("svn:log", Some(b"x\0y")),
        ("svn:date", Some(b"bogus")),
        ("svn:date", Some(b"2020-01-01T00:00:00.000000Z")),
        ("svn:date", None),
        ("svn:wc:x", None),
        ("svn:mergeinfo", Some(b"/a")),
        ("a b", Some(b"x")),
        ("", Some(b"")),
        ("ü\ny", Some(b"\r\n")),
        ("x", Some(b"1")),
        ("x", Some(b"2")),
        ("x", Some(b"2")),
        ("x", None),
        ("x", None),
        ("svn:author", None),
    ] {
        same(1, name, value, None, &pair);
    }
    same(99, "x", Some(b"5"), None, &pair);
    same(1, "x", Some(b"5"), Some(Some(b"9")), &pair);
    same(1, "x", Some(b"5"), Some(None), &pair);
    same(1, "x", Some(b"6"), Some(None), &pair);
    same(1, "x", Some(b"6"), Some(Some(b"5")), &pair);
    same(1, "x", None, Some(Some(b"5")), &pair);
    same(1, "x", None, Some(Some(b"6")), &pair);
    let [theirs, ours] = pair.written();
    assert_eq!(theirs, ours);
    pair.hook("post-revprop-change", "echo oops >&2; exit 1");
    same(1, "x", Some(b"7"), None, &pair);
    pair.hook("pre-revprop-change", "echo oops >&2; exit 1");
    same(1, "x", Some(b"8"), None, &pair);
    assert!(different.is_empty(), "{different}");
    pair.check();
}

/// The real server refuses interleaved texts; we write them to temporary files.
#[test]
fn texts_may_be_interleaved() {
    let pair = CommitPair::new();
    let mut editor = commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
    let root = editor.open_root(None).expect("allowed");
    let names = ["one", "two", "three", "four"];
    let files = names.map(|name| editor.add_file(&rel(name), root, None).expect("allowed"));
    let old = editor
        .open_file(&rel("iota"), root, Some(Revnum(2)))
        .expect("allowed");
    let piece = |n: usize, at: usize| vec![b'a' + (n * 7 + at) as u8 % 26; 50_000 + n];
    for file in files.iter().chain([&old]) {
        editor.apply_textdelta(*file, None).expect("allowed");
    }
    for at in 0..3 {
        for (n, file) in files.iter().enumerate() {
            let window = Window::insertion(&piece(n, at));
            editor
                .text_chunk(*file, TextChunk::Decoded(&window))
                .expect("allowed");
            if at == 1 {
                editor
                    .add_directory(&rel(&format!("dir{n}")), root, None)
                    .expect("allowed");
            }
        }
    }
    let window = Window::insertion(b"changed\n");
    editor
        .text_chunk(old, TextChunk::Decoded(&window))
        .expect("allowed");
    editor.text_end(old).expect("allowed");
    editor
        .close_file(old, Some(&base::checksum::Md5::of(b"changed\n")))
        .expect("allowed");
    for n in [2, 0, 3, 1] {
        let whole: Vec<u8> = (0..3).flat_map(|at| piece(n, at)).collect();
        editor.text_end(files[n]).expect("allowed");
        editor
            .close_file(files[n], Some(&base::checksum::Md5::of(&whole)))
            .expect("allowed");
    }
    editor.close_edit().expect("allowed");
    let info = editor.outcome().expect("because it is closed");
    let fs_root = pair.repo.fs().root(info.rev).expect("because it is there");
    for (n, name) in names.iter().enumerate() {
        let whole: Vec<u8> = (0..3).flat_map(|at| piece(n, at)).collect();
        let node = fs_root.node(&fs_path(&format!("/{name}"))).expect("added");
        assert_eq!(node.md5().expect("a file"), base::checksum::Md5::of(&whole));
    }
    let node = fs_root.node(&fs_path("/iota")).expect("there");
    assert_eq!(node.md5().expect("a file"), base::checksum::Md5::of(b"changed\n"));
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(pair.path(Side::Ours))
        .ok();
}

/// A wrong digest of a text in a temporary file is found when that text is written to the transaction.
#[test]
fn waiting_texts_are_checked() {
    let pair = CommitPair::new();
    let mut editor = commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
    let root = editor.open_root(None).expect("allowed");
    let one = editor.add_file(&rel("one"), root, None).expect("allowed");
    let two = editor.add_file(&rel("two"), root, None).expect("allowed");
    editor.apply_textdelta(one, None).expect("allowed");
    editor.apply_textdelta(two, None).expect("allowed");
    editor.text_end(two).expect("allowed");
    editor
        .close_file(two, Some(&base::checksum::Md5::of(b"x")))
        .expect("because nobody can know yet");
    let refused = editor.text_end(one).expect_err("because it is found now");
    assert_eq!(refused.code(), Code::CHECKSUM_MISMATCH);
    // After a failure every further call fails.
    assert!(editor.close_edit().is_err());
    assert!(editor.outcome().is_err());
    pair.check();
}

#[test]
fn incomplete_commits_leave_nothing() {
    let pair = CommitPair::new();
    let mut editor = commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
    let root = editor.open_root(None).expect("allowed");
    let file = editor.add_file(&rel("n"), root, None).expect("allowed");
    editor.apply_textdelta(file, None).expect("allowed");
    drop(editor);
    pair.check();
    let mut editor = commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
    editor.open_root(None).expect("allowed");
    editor.abort_edit().expect("because it is open");
    editor.abort_edit().expect("because it is over");
    assert!(editor.close_edit().is_err());
    drop(editor);
    pair.check();
}

/// Two commits race: the later one is merged, or fails with the path of the conflict.
#[test]
fn concurrent_commits_merge_or_conflict() {
    let pair = CommitPair::new();
    let begin = || {
        let mut editor =
            commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
        let root = editor.open_root(None).expect("allowed");
        (editor, root)
    };
    let ((mut first, in_first), (mut second, in_second), (mut third, in_third)) = (begin(), begin(), begin());
    for (editor, root, name) in [
        (&mut first, in_first, "x"),
        (&mut second, in_second, "y"),
        (&mut third, in_third, "x"),
    ] {
        editor.add_directory(&rel(name), root, None).expect("allowed");
    }
    first.close_edit().expect("because it is the first");
    second.close_edit().expect("because it merges");
    let refused = third
        .close_edit()
        .expect_err("because the first has added that too");
    assert_eq!(
        links(&refused),
        [(160024, "Conflict at '/x'".to_owned())],
        "{refused:?}"
    );
    assert_eq!(second.outcome().expect("done").rev, Revnum(6));
    drop((first, third));
    let ours = open(&pair.path(Side::Ours));
    assert_eq!(ours.youngest().expect("readable"), Revnum(6));
    let left = std::fs::read_dir(pair.path(Side::Ours).join("db/transactions")).expect("readable");
    assert_eq!(left.count(), 0);
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(pair.path(Side::Ours))
        .ok();
}

/// Each text that waits for another has a temporary file: their number is limited, so that a client cannot use up the
/// file descriptors of the process.
#[test]
fn only_some_texts_may_be_interleaved() {
    let pair = CommitPair::new();
    let mut editor = commit::start(&pair.repo, pair.options(), clock()).expect("because it only prepares");
    let root = editor.open_root(None).expect("allowed");
    let refused = (0..1000).find_map(|n| {
        let file = editor
            .add_file(&rel(&format!("f{n}")), root, None)
            .expect("allowed");
        editor.apply_textdelta(file, None).err().map(|error| (n, error))
    });
    let (n, error) = refused.expect("because there is a limit");
    assert_eq!((n, error.code()), (65, Code::FS_REP_BEING_WRITTEN));
}
