//! Two copies of one repository: the real server commits to one, our editor to the other.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Date, Error, FsPath, Props, Result};
use repos::authz::{Authz, Required, UserRights};
use repos::commit::{self, Clock, CommitAccess, CommitInfo, CommitOptions};
use repos::config::HooksEnv;
use repos::hooks::Hooks;
use repos::{Cache, Repository};
use testkit::repo::Repo;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::tool::{Side, Tool};

use super::drive::{EditStep, URL, drive_editor, string, wire};
use crate::peer::{PeerItem, SvnPeer};

/// The numbers and messages of an error chain, outermost first.
pub type Links = Vec<(u64, String)>;

pub struct CommitPair {
    scratch: tempfile::TempDir,
    pub repo: Repository,
    pub user: Option<&'static str>,
    pub revprops: Vec<(String, Vec<u8>)>,
    /// Path relative to the root, and token.
    pub tokens: Vec<(String, String)>,
    pub keep_locks: bool,
    pub authz: Option<String>,
    /// Environment variables of the hooks.
    pub env: Arc<HooksEnv>,
}

impl CommitPair {
    pub fn new() -> CommitPair {
        CommitPair::compatible("1.14")
    }

    /// A pair in the format of an older release.
    pub fn compatible(version: &str) -> CommitPair {
        let scratch = testkit::tool::scratch();
        let theirs = scratch.path().join("theirs/repo");
        let ours = scratch.path().join("ours/repo");
        std::fs::create_dir(scratch.path().join("theirs")).expect("writable");
        std::fs::create_dir(scratch.path().join("ours")).expect("writable");
        Tool::new("svnadmin")
            .args(["create", "--compatible-version", version])
            .arg(&theirs)
            .ok();
        Repo::at(&theirs).load(history().bytes());
        std::fs::write(
            theirs.join("conf/svnserve.conf"),
            "[general]\nanon-access = write\nauth-access = write\nauthz-db = authz\n",
        )
        .expect("writable");
        std::fs::write(theirs.join("conf/authz"), "[/]\n* = rw\n").expect("writable");
        Tool::new("cp").arg("-a").arg(&theirs).arg(&ours).ok();
        let repo = open(&ours);
        CommitPair {
            scratch,
            repo,
            user: Some("alice"),
            revprops: vec![("svn:log".into(), b"m".to_vec())],
            tokens: Vec::new(),
            keep_locks: false,
            authz: None,
            env: Arc::default(),
        }
    }

    pub fn path(&self, side: Side) -> PathBuf {
        self.scratch.path().join(match side {
            Side::Theirs => "theirs/repo",
            Side::Ours => "ours/repo",
        })
    }

    /// Installs a hook in both repositories. `OUT` in the script stands for a file that each side has for itself.
    pub fn hook(&self, name: &str, script: &str) {
        for side in Side::BOTH {
            let path = self.path(side).join("hooks").join(name);
            let out = self.out(side).display().to_string();
            let text = script
                .replace("OUT", &out)
                .replace("REPO", &self.path(side).display().to_string());
            std::fs::write(&path, format!("#!/bin/sh\nexport PATH=/usr/bin:/bin\n{text}\n"))
                .expect("writable");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("writable");
        }
    }

    pub fn remove_hook(&self, name: &str) {
        for side in Side::BOTH {
            std::fs::remove_file(self.path(side).join("hooks").join(name)).expect("installed");
        }
    }

    /// The output file of one side's hooks.
    pub fn out(&self, side: Side) -> PathBuf {
        self.path(side).with_file_name("out")
    }

    /// Returns and removes the output of both sides' hooks, normalized.
    pub fn written(&self) -> [String; 2] {
        Side::BOTH.map(|side| {
            let text = std::fs::read(self.out(side)).unwrap_or_default();
            drop(std::fs::remove_file(self.out(side)));
            let text = String::from_utf8_lossy(&text).into_owned();
            mask(&text.replace(&self.path(side).display().to_string(), "REPO"))
        })
    }

    /// Runs `svnadmin` on both repositories; the path is inserted after the first argument.
    pub fn svnadmin(&self, args: &[&str]) {
        for side in Side::BOTH {
            let (first, rest) = args.split_first().expect("because there is a command");
            Tool::new("svnadmin")
                .arg(first)
                .arg(self.path(side))
                .args(rest)
                .ok();
        }
    }

    pub fn rights(&self) -> Arc<dyn CommitAccess> {
        match &self.authz {
            None => Arc::new(commit::FullAccess),
            Some(text) => {
                let authz = Authz::parse(text.as_bytes(), None).expect("well-formed");
                Arc::new(RestrictedPaths(authz.rights(Some("repo"), self.user)))
            }
        }
    }

    pub fn options(&self) -> CommitOptions {
        let path = |path: &str| FsPath::canonicalize(path).expect("canonical");
        CommitOptions {
            base_url: URL.to_owned(),
            base_path: FsPath::root(),
            revprops: self.revprops.iter().cloned().collect::<Props>(),
            author: self.user.map(str::to_owned),
            lock_tokens: self
                .tokens
                .iter()
                .map(|(at, token)| (path(at), token.clone()))
                .collect(),
            keep_locks: self.keep_locks,
            capabilities: vec!["mergeinfo".to_owned()],
            authz: self.rights(),
            hooks: Hooks::of(&self.repo, self.env.clone()),
        }
    }

    /// The result of a drive in the real server.
    pub fn theirs(&self, steps: &[EditStep]) -> std::result::Result<CommitInfo, Links> {
        let root = self.path(Side::Theirs);
        if let Some(text) = &self.authz {
            std::fs::write(root.join("conf/authz"), text).expect("writable");
        }
        let folder = root.parent().expect("because it has one");
        let mut peer = SvnPeer::tunnel(folder, URL, self.user);
        let pairs = |pairs: &[(String, Vec<u8>)]| -> Vec<u8> {
            let list = pairs.iter().map(|(name, value)| {
                [
                    b"( ".as_slice(),
                    &string(name),
                    b" ",
                    &string(value),
                    b" ) ".as_slice(),
                ]
                .concat()
            });
            list.collect::<Vec<_>>().concat()
        };
        let tokens: Vec<_> = self
            .tokens
            .iter()
            .map(|(path, token)| {
                (
                    path.trim_start_matches('/').to_owned(),
                    token.clone().into_bytes(),
                )
            })
            .collect();
        let request = [
            b"( commit ( 1:m ( ",
            &pairs(&tokens)[..],
            format!(") {} ( ", self.keep_locks).as_bytes(),
            &pairs(&self.revprops),
            b") ) ) ",
        ]
        .concat();
        let info = peer.commit(&request, &wire(steps));
        info.map(|info| commit_info(&info)).map_err(|e| masked(&e))
    }

    /// The result of a drive in our editor.
    pub fn ours(&self, steps: &[EditStep]) -> std::result::Result<CommitInfo, Links> {
        let mut editor =
            commit::start(&self.repo, self.options(), clock()).map_err(|e| masked(&links(&e)))?;
        drive_editor(steps, &mut editor).map_err(|e| masked(&links(&e)))?;
        editor.outcome().map_err(|e| masked(&links(&e)))
    }

    /// Gives both sides the drive and compares the results; true if both committed.
    pub fn same(&self, what: &str, steps: &[EditStep]) -> std::result::Result<bool, String> {
        let (theirs, ours) = (self.theirs(steps), self.ours(steps));
        let bare = |info: &CommitInfo| {
            let complaint = info.post_commit_error.as_deref().map(mask);
            (info.rev, info.author.clone(), complaint)
        };
        match (&theirs, &ours) {
            (Ok(theirs), Ok(ours)) if bare(theirs) == bare(ours) && ours.date.is_some() => Ok(true),
            (Err(theirs), Err(ours)) if theirs == ours => Ok(false),
            _ => Err(format!("{what}:\n  theirs {theirs:?}\n  ours   {ours:?}\n")),
        }
    }

    /// Checks that both repositories pass `svnadmin verify` and have the same history.
    pub fn check(&self) {
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(self.path(Side::Ours))
            .ok();
        let [theirs, ours] = Side::BOTH.map(|side| {
            let out = Tool::new("svnadmin")
                .args(["dump", "-q"])
                .arg(self.path(side))
                .ok();
            testkit::normalize::mask_dates(&String::from_utf8_lossy(&out.stdout))
        });
        if theirs != ours {
            let at = theirs
                .lines()
                .zip(ours.lines())
                .position(|(a, b)| a != b)
                .unwrap_or_default();
            let around = |text: &str| {
                let from = at.saturating_sub(12);
                text.lines().skip(from).take(24).collect::<Vec<_>>().join("\n")
            };
            panic!(
                "dumps differ at line {at}\n--- theirs\n{}\n--- ours\n{}",
                around(&theirs),
                around(&ours)
            );
        }
        let left = std::fs::read_dir(self.path(Side::Ours).join("db/transactions")).expect("readable");
        assert_eq!(left.count(), 0, "transactions are left");
    }
}

struct RestrictedPaths(Arc<UserRights>);

impl CommitAccess for RestrictedPaths {
    fn may_read(&self, path: &FsPath, recursive: bool) -> Result<bool> {
        Ok(self.0.allows(path, Required::Read, recursive))
    }

    fn may_write(&self, path: &FsPath, recursive: bool) -> Result<bool> {
        Ok(self.0.allows(path, Required::Write, recursive))
    }
}

pub fn open(path: &std::path::Path) -> Repository {
    Repository::open(path, &Cache::new(16 << 20)).expect("because it is a repository")
}

pub fn clock() -> Clock {
    Arc::new(now)
}

pub fn now() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Date(i64::try_from(since.as_micros()).expect("before 292277"))
}

pub fn links(e: &Error) -> Links {
    e.links()
        .map(|link| (u64::try_from(link.code().0).unwrap_or_default(), link.text()))
        .collect()
}

/// The error chain with names of transactions and folders normalized.
fn masked(links: &Links) -> Links {
    links.iter().map(|(code, text)| (*code, mask(text))).collect()
}

/// Replaces names of transactions, whose numbers differ between the two sides.
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let is_txn = |word: &str| {
        word.split_once('-').is_some_and(|(rev, number)| {
            !rev.is_empty()
                && !number.is_empty()
                && rev.bytes().all(|b| b.is_ascii_digit())
                && number
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
        })
    };
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || c == '-' {
            word.push(c);
            continue;
        }
        out.push_str(if is_txn(&word) { "TXN" } else { &word });
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out.replace("/theirs/", "/SIDE/").replace("/ours/", "/SIDE/")
}

fn commit_info(item: &PeerItem) -> CommitInfo {
    let PeerItem::List(parts) = item else {
        panic!("no commit-info: {item:?}");
    };
    let text = |at: usize| match parts.get(at) {
        Some(PeerItem::List(inner)) => match inner.first() {
            Some(PeerItem::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        },
        _ => None,
    };
    let Some(PeerItem::Number(rev)) = parts.first() else {
        panic!("no commit-info: {item:?}");
    };
    CommitInfo {
        rev: base::Revnum(*rev),
        date: text(1),
        author: text(2),
        post_commit_error: text(3),
        unlock_errors: Vec::new(),
    }
}

/// Four revisions: `A/f`, `A/s/g`, `iota`, then a change of `A/f` and properties.
fn history() -> DumpStream {
    let mut stream = DumpStream::new("8a5f1f3c-6d3a-4f8e-9d5e-0c9b3d7b2a11");
    stream.rev("one").mkdirs(["A", "A/s"]);
    stream.file("A/f", "hello\n").file("A/s/g", "gg\n");
    stream.rev("two").file("iota", "iota\n");
    stream.rev("three").edit("A/f", "two\n");
    stream
        .rev("four")
        .change(RecordKind::File, "A/s/g", Content::props(&[("p", b"v")]));
    stream
}
