//! Repositories made by Subversion's tools, of every format, layout, compression and packing state. Each is made once
//! and kept below `target/`.
//!
//! All tests share the results of [`build`] and must not change them. A test that changes a repository uses a
//! [`Repo::copy`].

mod chosen;
mod matrix;

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::Mutex;

use crate::history;
use crate::stream::DumpStream;
use crate::tool::{Side, Tool, folder, scratch, svnadmin_version};

pub use chosen::{create_by, create_compatible, create_repository, is_fsx};
pub use matrix::matrix;

/// The description of a repository. Begin with [`Spec::new`] and change some fields.
#[derive(Clone, Debug, Hash)]
pub struct Spec {
    /// The name in messages.
    pub name: String,
    /// The implementation that makes it.
    pub maker: Side,
    /// Value of `--compatible-version`: "1.1" to "1.14".
    pub compatible: &'static str,
    /// Value of `--fs-type`: "fsfs" or "fsx".
    pub fs_type: &'static str,
    /// When `svnadmin upgrade` runs.
    pub upgrade: When,
    /// The number of revisions of a shard; `None` for the default (1000, or linear before 1.5); 0 for linear.
    pub shard: Option<u32>,
    /// `compression` in fsfs.conf; `None` leaves the default.
    pub compression: Option<&'static str>,
    /// When `svnadmin pack` runs.
    pub pack: When,
    /// `revprop-pack-size` in kilobytes and `compress-packed-revprops`.
    pub packed_revprops: Option<(u32, bool)>,
    /// More lines for fsfs.conf or fsx.conf.
    pub conf: String,
    /// The content.
    pub history: DumpStream,
    /// Whether to lock some files (see [`LOCKED`]).
    pub locks: bool,
    /// Whether to leave an open transaction (see [`OPEN_TXN_LOG`]).
    pub open_txn: bool,
    /// Whether to change revision properties after everything else (splits packed ones).
    pub revprop_edits: bool,
}

/// The time of an operation on a repository while it is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// The operation does not run.
    Never,
    /// While it is empty.
    Before,
    /// After half of the revisions.
    Halfway,
    /// After all of them.
    After,
}

/// The files that `locks` locks if they exist: path, owner, comment, token.
pub const LOCKED: [(&str, &str, &str, &str); 5] = [
    (
        "/trunk/big.txt",
        "alice",
        "Editing\nthe big one",
        "opaquelocktoken:00000000-1111-4222-8333-000000000001",
    ),
    (
        "/trunk/many/file-050.txt",
        "bob",
        "",
        "opaquelocktoken:00000000-1111-4222-8333-000000000002",
    ),
    (
        "/trunk/日本語/テスト.txt",
        "c\u{e9}cile",
        "\u{8a66}",
        "opaquelocktoken:00000000-1111-4222-8333-000000000003",
    ),
    (
        "/tags/c3.txt",
        "alice",
        "a tag",
        "opaquelocktoken:00000000-1111-4222-8333-000000000004",
    ),
    (
        "/iota",
        "alice",
        "the small one",
        "opaquelocktoken:00000000-1111-4222-8333-000000000005",
    ),
];

/// The log message of the open transaction of `open_txn`.
pub const OPEN_TXN_LOG: &str = "An open transaction";

/// A repository on disk.
#[derive(Debug)]
pub struct Repo {
    path: PathBuf,
    /// The directory of a copy, removed when it is dropped.
    scratch: Option<tempfile::TempDir>,
}

impl Spec {
    /// Returns a repository with the rich history and the defaults of this version.
    pub fn new(compatible: &'static str) -> Self {
        Spec {
            name: compatible.to_owned(),
            maker: Side::Theirs,
            compatible,
            fs_type: "fsfs",
            upgrade: When::Never,
            shard: None,
            compression: None,
            pack: When::Never,
            packed_revprops: None,
            conf: String::new(),
            history: history::rich(),
            locks: false,
            open_txn: false,
            revprop_edits: false,
        }
    }

    /// Returns a repository with the small history (11 revisions of the Greek tree), otherwise as [`Spec::new`].
    pub fn small(compatible: &'static str) -> Self {
        Spec::new(compatible).with(history::small())
    }

    /// Returns a repository of FSX, otherwise as [`Spec::new`].
    pub fn fsx() -> Self {
        Spec {
            fs_type: "fsx",
            ..Spec::new("1.14")
        }
    }

    /// Sets the history.
    pub fn with(mut self, history: DumpStream) -> Self {
        self.history = history;
        self
    }

    /// Sets the name in messages.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// Sets the number of revisions of a shard (0: linear).
    pub fn shard(mut self, revisions: u32) -> Self {
        self.shard = Some(revisions);
        self
    }

    /// Sets `compression` in fsfs.conf.
    pub fn compression(mut self, value: &'static str) -> Self {
        self.compression = Some(value);
        self
    }

    /// Sets when the repository is packed.
    pub fn pack(mut self, when: When) -> Self {
        self.pack = when;
        self
    }

    /// Sets when the repository is upgraded to the newest format.
    pub fn upgrade(mut self, when: When) -> Self {
        self.upgrade = when;
        self
    }

    /// Sets size in kilobytes and compression of packed revision properties.
    pub fn packed_revprops(mut self, kilobytes: u32, compressed: bool) -> Self {
        self.packed_revprops = Some((kilobytes, compressed));
        self
    }

    /// Adds locks, an open transaction and late changes of revision properties.
    pub fn busy(mut self) -> Self {
        self.locks = true;
        self.open_txn = true;
        self.revprop_edits = true;
        self
    }
}

/// Makes the repository, or returns the one made before, with the back end and the maker that `cargo xtask interop` chose. Do not
/// write to it.
pub fn build(spec: &Spec) -> Repo {
    let spec = &spec.as_chosen();
    let mut hasher = DefaultHasher::new();
    (spec, svnadmin_version(), BUILDER_VERSION).hash(&mut hasher);
    let safe: String = spec
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let path = folder("testkit-repos").join(format!("{safe}-{:016x}", hasher.finish()));
    let made = MADE.lock().entry(path.clone()).or_default().clone();
    made.get_or_init(|| {
        if !path.exists() {
            make_and_keep(spec, &path);
        }
    });
    Repo { path, scratch: None }
}

/// The repositories of this process: of tests that need the same one at the same time, one makes it.
static MADE: LazyLock<Mutex<HashMap<PathBuf, Arc<OnceLock<()>>>>> = LazyLock::new(Mutex::default);

/// Makes the repository among the tests' files, which are in memory where there is room, and keeps a copy: on a disk, each of its
/// commits would wait for it.
fn make_and_keep(spec: &Spec, path: &Path) {
    let scratch = scratch();
    let repo = scratch.path().join("repo");
    make(spec, &repo);
    let keeping = tempfile::Builder::new()
        .prefix("keeping-")
        .tempdir_in(folder("testkit-repos"))
        .expect("because target/ can be written");
    let copy = keeping.path().join("repo");
    Tool::new("cp").arg("-a").arg(&repo).arg(&copy).ok();
    // Another run of the tests may have been first.
    let renamed = fs::rename(&copy, path);
    assert!(renamed.is_ok() || path.exists(), "can't keep {}", path.display());
}

impl Repo {
    /// Wraps an existing repository.
    pub fn at(path: &Path) -> Repo {
        Repo {
            path: path.to_owned(),
            scratch: None,
        }
    }

    /// Makes an empty repository for one test.
    pub fn create(compatible: &str) -> Repo {
        let scratch = scratch();
        let path = scratch.path().join("repo");
        create_compatible(compatible, &path);
        Repo {
            path,
            scratch: Some(scratch),
        }
    }

    /// Returns the repository's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its `db` directory.
    pub fn db(&self) -> PathBuf {
        self.path.join("db")
    }

    /// Returns its `file://` URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Returns a copy that may be changed. It is removed when the value is dropped.
    pub fn copy(&self) -> Repo {
        let scratch = scratch();
        let path = scratch.path().join("repo");
        Tool::new("cp").arg("-a").arg(&self.path).arg(&path).ok();
        Repo {
            path,
            scratch: Some(scratch),
        }
    }

    /// True if the repository belongs to one test and is removed with the value.
    pub fn is_own(&self) -> bool {
        self.scratch.is_some()
    }

    /// Returns the youngest revision, by Subversion's `svnlook`.
    pub fn youngest(&self) -> u64 {
        let out = Tool::new("svnlook").arg("youngest").arg(&self.path).ok().out();
        out.trim().parse().expect("because svnlook prints a number")
    }

    /// Loads a dump stream with Subversion's `svnadmin`.
    pub fn load(&self, stream: Vec<u8>) {
        self.load_by(Side::Theirs, stream);
    }

    fn load_by(&self, maker: Side, stream: Vec<u8>) {
        maker
            .tool("svnadmin")
            .args(["load", "-q", "--no-flush-to-disk"])
            .arg(&self.path)
            .stdin(stream)
            .ok();
    }

    /// Sets a revision property with Subversion's `svnadmin`, without hooks.
    pub fn set_revprop(&self, rev: u64, name: &str, value: &[u8]) {
        let file = tempfile::NamedTempFile::new().expect("because the temporary folder can be written");
        fs::write(file.path(), value).expect("because it was just made");
        Tool::new("svnadmin")
            .args(["setrevprop", "-r", &rev.to_string()])
            .arg(&self.path)
            .arg(name)
            .arg(file.path())
            .ok();
    }

    /// Locks a file with Subversion's `svnadmin`.
    pub fn lock(&self, path: &str, owner: &str, comment: &str, token: &str) {
        let file = tempfile::NamedTempFile::new().expect("because the temporary folder can be written");
        fs::write(file.path(), comment).expect("because it was just made");
        let args = [Path::new(path), Path::new(owner), file.path(), Path::new(token)];
        Tool::new("svnadmin").arg("lock").arg(&self.path).args(args).ok();
    }

    /// Leaves an open transaction: a commit whose pre-commit hook kills the committing program. It adds nodes below
    /// `/open` (a text of several windows, properties, a copy of the youngest root), sets a property on the root, and
    /// edits, copies and deletes files of the rich or the small history.
    pub fn open_txn(&self) {
        let folder = scratch();
        let long = folder.path().join("long");
        let short = folder.path().join("short");
        fs::write(&long, history::lines(80, 5000)).expect("because the folder can be written");
        fs::write(&short, "short\n").expect("because the folder can be written");
        let hook = self.path.join("hooks/pre-commit");
        fs::write(&hook, "#!/bin/sh\nkill -9 $PPID\n").expect("because the repository can be written");
        Tool::new("chmod").arg("+x").arg(&hook).ok();
        let put = |mucc: Tool, file: &Path, to: &str| mucc.arg("put").arg(file).arg(to);
        let mut mucc = Tool::new("svnmucc")
            .args([
                "--non-interactive",
                "--no-auth-cache",
                "-u",
                "alice",
                "-m",
                OPEN_TXN_LOG,
                "-U",
            ])
            .arg(self.url())
            .args(["mkdir", "open"]);
        mucc = put(mucc, &long, "open/new.txt");
        mucc = put(mucc, &short, "open/props.txt");
        mucc = mucc
            .args(["propset", "color", "open", "open/props.txt"])
            .args(["propset", "txn", "on the root", "."])
            .args(["cp", "HEAD", ".", "open/copy"]);
        for [edited, copied, deleted] in OPEN_TXN_FILES {
            if self.has_file(edited) {
                mucc = put(mucc, &short, edited)
                    .args(["cp", "HEAD", copied, "open/copy.txt"])
                    .args(["rm", deleted])
                    .args(["propset", "copied", "and changed", "open/copy.txt"]);
            }
        }
        let out = mucc.run();
        fs::remove_file(&hook).expect("because it was just made");
        assert_eq!(out.code, -1, "the commit was not killed: {out:?}");
    }

    /// True if the youngest revision has this file.
    pub fn has_file(&self, path: &str) -> bool {
        Tool::new("svnlook")
            .arg("filesize")
            .arg(&self.path)
            .arg(path)
            .run()
            .code
            == 0
    }
}

/// The files that the open transaction edits, copies and deletes, in the rich and the small history.
const OPEN_TXN_FILES: [[&str; 3]; 2] = [
    ["trunk/hello.txt", "trunk/big.txt", "trunk/a-b"],
    ["A/D/gamma", "A/mu", "iota"],
];

fn make(spec: &Spec, path: &Path) {
    let by = |maker: Side, args: &[&str]| maker.tool("svnadmin").args(args).arg(path);
    let admin = |args: &[&str]| by(Side::Theirs, args);
    let fs_type = ["--fs-type", spec.fs_type];
    by(spec.maker, &["create", "--compatible-version", spec.compatible])
        .args(fs_type)
        .ok();
    let repo = Repo::at(path);
    configure(spec, &repo);
    let end = spec.history.youngest();
    let half = end / 2;
    let steps = [
        (When::Before, None),
        (When::Halfway, Some((0, half))),
        (When::After, Some((half + 1, end))),
    ];
    for (moment, revisions) in steps {
        if let Some((first, last)) = revisions {
            repo.load_by(spec.maker, spec.history.part(first, last));
        }
        if spec.pack == moment {
            admin(&["pack", "-q"]).ok();
        }
        if spec.upgrade == moment {
            admin(&["upgrade"]).ok();
        }
    }
    if spec.revprop_edits {
        repo.set_revprop(3, "svn:log", b"Changed later");
        repo.set_revprop(6, "svn:log", history::lines(90, 40).as_bytes());
        repo.set_revprop(end, "custom:late", b"late\n");
    }
    if spec.locks {
        for (path, owner, comment, token) in LOCKED {
            if repo.has_file(path) {
                repo.lock(path, owner, comment, token);
            }
        }
    }
    if spec.open_txn {
        repo.open_txn();
    }
}

/// Edits the layout and fsfs.conf of a new repository. The layout can change only while there is one shard.
fn configure(spec: &Spec, repo: &Repo) {
    let db = repo.db();
    if let Some(shard) = spec.shard {
        let format = db.join("format");
        let text = read(&format);
        let from = "layout sharded 1000";
        assert!(text.contains(from), "{} has no shards", spec.compatible);
        let to = match shard {
            0 => "layout linear".to_owned(),
            n => format!("layout sharded {n}"),
        };
        overwrite(&format, text.replace(from, &to));
        if shard == 0 {
            for kind in ["revs", "revprops"] {
                let dir = db.join(kind);
                let moved = fs::rename(dir.join("0/0"), dir.join("r0"))
                    .and_then(|()| fs::remove_dir(dir.join("0")))
                    .and_then(|()| fs::rename(dir.join("r0"), dir.join("0")));
                moved.unwrap_or_else(|e| panic!("can't make {} linear: {e}", dir.display()));
            }
        }
    }
    let mut conf = String::new();
    if let Some(value) = spec.compression {
        conf.push_str(&format!("[deltification]\ncompression = {value}\n"));
    }
    if let Some((kilobytes, compressed)) = spec.packed_revprops {
        conf.push_str(&format!(
            "[packed-revprops]\nrevprop-pack-size = {kilobytes}\ncompress-packed-revprops = {compressed}\n"
        ));
    }
    conf.push_str(&spec.conf);
    if !conf.is_empty() {
        overwrite(&db.join(format!("{}.conf", spec.fs_type)), conf);
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("can't read {}: {e}", path.display()))
}

/// Replaces a file that may be read-only.
fn overwrite(path: &Path, text: String) {
    drop(fs::remove_file(path));
    fs::write(path, text).unwrap_or_else(|e| panic!("can't write {}: {e}", path.display()));
}

/// The version of this module. Increase it when [`make`] changes without a change of [`Spec`], so that kept
/// repositories are made again.
const BUILDER_VERSION: u32 = 2;
