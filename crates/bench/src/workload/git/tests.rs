//! Converts a small history with every kind of change, and compares each revision with Git's tree of the commit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::names::svn_path;
use super::{Extent, GitClone, Summary};
use crate::workload::{load_file, run};

/// A file of a tree: its mode in Git, and its content or the target of the link.
type File = (&'static str, Vec<u8>);

/// The files of a tree by path.
type Tree = BTreeMap<String, File>;

/// A clone with a working tree that the test edits.
struct TestClone {
    path: PathBuf,
    commits: u32,
}

impl TestClone {
    fn new(scratch: &Path) -> TestClone {
        let path = scratch.join("project");
        fs::create_dir(&path).expect("the folder is made");
        let clone = TestClone { path, commits: 0 };
        clone.git(&["init", "-q", "-b", "main"]);
        clone
    }

    fn command(&self) -> Command {
        let mut git = super::git(&self.path);
        let when = format!("{} +0000", 1_300_000_000 + 60 * self.commits);
        git.env("GIT_CONFIG_GLOBAL", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Zoë")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "zoe@example.org")))
            .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, when.clone())));
        git
    }

    fn git(&self, words: &[&str]) -> Vec<u8> {
        run(self.command().args(words)).expect("git succeeds")
    }

    fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(path.as_ref())
    }

    fn write(&self, path: impl AsRef<OsStr>, content: &[u8]) {
        let path = self.at(path);
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).expect("the folder is made");
        fs::write(path, content).expect("the file is written");
    }

    fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.at(path)).expect("the link is made");
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).expect("the mode is set");
    }

    /// Commits everything, with a message of any bytes.
    fn commit(&mut self, message: &[u8]) {
        self.commits += 1;
        self.git(&["add", "-A"]);
        let file = self.path.with_file_name("message");
        fs::write(&file, message).expect("the message is written");
        let mut commit = self.command();
        // With another encoding Git keeps the bytes as they are.
        if std::str::from_utf8(message).is_err() {
            commit.args(["-c", "i18n.commitEncoding=unknown"]);
        }
        commit.args([
            "commit",
            "-q",
            "--allow-empty",
            "--allow-empty-message",
            "--cleanup=verbatim",
        ]);
        run(commit.arg("-F").arg(file)).expect("git commits");
    }

    /// Returns the tree of a commit as Subversion should have it.
    fn tree(&self, commit: &str) -> Tree {
        let list = self.git(&["ls-tree", "-r", "-z", "--full-tree", commit]);
        let entries = list.split(|b| *b == 0).filter(|entry| !entry.is_empty());
        let files = entries.filter_map(|entry| {
            let tab = entry
                .iter()
                .position(|b| *b == b'\t')
                .expect("a tab precedes the path");
            let head = std::str::from_utf8(&entry[..tab]).expect("the head is ASCII");
            let mode = ["100644", "100755", "120000"]
                .into_iter()
                .find(|mode| head.starts_with(mode))?;
            let content = self.git(&["cat-file", "blob", &head[12..]]);
            Some((svn_path(&entry[tab + 1..]), (mode, content)))
        });
        files.collect()
    }
}

/// A text that Git recognizes after a change of its last line.
fn text(name: &str, last: &str) -> Vec<u8> {
    let mut text: String = (0..40).map(|line| format!("line {line} of {name}\n")).collect();
    text.push_str(last);
    text.into_bytes()
}

/// Makes the history: each step is a commit.
fn history(clone: &mut TestClone) {
    clone.write("README", b"one\n");
    clone.write("src/a.c", &text("a", "1"));
    clone.write("src/b.c", &text("b", "1"));
    clone.write("src/deep/er/c.c", &text("c", "1"));
    clone.write("empty", b"");
    clone.commit("first\n".as_bytes());
    clone.write("README", b"one\ntwo\n");
    clone.write("picture", &[0, 255, 10, 13, 0, 7]);
    clone.commit(b"not UTF-8: \xe4\xf6\xfc\r\nand two lines\rand three\n");
    // Renames: unchanged, changed, and changed in mode; a copy of a file that changes.
    clone.git(&["mv", "src/a.c", "src/renamed.c"]);
    clone.git(&["mv", "src/deep/er/c.c", "moved.c"]);
    clone.write("moved.c", &text("c", "2"));
    clone.write("src/copy.c", &text("b", "copy"));
    clone.write("src/b.c", &text("b", "2"));
    clone.commit(b"");
    clone.mode("src/renamed.c", 0o755);
    clone.link("link", "src/b.c");
    clone.write("sp ace/q\"uote\\'s/Gr\u{fc}\u{df}e/a%0Ab", b"x");
    clone.write(OsStr::from_bytes(b"sp ace/line\nfeed\t%"), b"y");
    clone.write(OsStr::from_bytes(b"sp ace/\xff\xfe.c"), b"z");
    clone.commit(b"modes and names\n");
    // A file becomes a directory, a link, and a program a plain file; a directory becomes a file.
    fs::remove_file(clone.at("README")).expect("it is there");
    clone.write("README/part/1", b"one\n");
    fs::remove_file(clone.at("link")).expect("it is there");
    clone.write("link", b"src/b.c");
    fs::remove_file(clone.at("picture")).expect("it is there");
    clone.link("picture", "nowhere/\u{e4}");
    clone.mode("src/renamed.c", 0o644);
    fs::remove_dir_all(clone.at("sp ace")).expect("it is there");
    clone.write("sp ace", b"now a file\n");
    clone.commit(b"kinds\n");
    fs::remove_dir_all(clone.at("README")).expect("it is there");
    clone.git(&["mv", "src/b.c", "README"]);
    clone.commit(b"a directory becomes a renamed file\n");
    directories(clone);
    merge(clone);
    clone.git(&["rm", "-q", "-r", "."]);
    clone.commit(b"nothing is left\n");
    clone.write("again/file", b"back\n");
    clone.commit(b"something is there\n");
}

/// Moves directories: as a whole, with changes, with nested ones, and into each other.
fn directories(clone: &mut TestClone) {
    for (folder, names) in [("lib", "abc"), ("lib/inner", "de"), ("other", "fg")] {
        for name in names.chars() {
            clone.write(
                format!("{folder}/{name}.c"),
                &text(&format!("{folder}{name}"), "1"),
            );
        }
    }
    clone.commit(b"directories\n");
    clone.git(&["mv", "lib", "library"]);
    clone.write("library/inner/d.c", &text("lib/innerd", "2"));
    clone.mode("library/a.c", 0o755);
    clone.commit(b"a whole directory moves\n");
    fs::create_dir(clone.at("new")).expect("it is made");
    clone.git(&["mv", "library", "new/library"]);
    clone.commit(b"a directory moves below a new one\n");
    clone.git(&["mv", "new/library/inner", "new/inner"]);
    clone.write("new/inner/added", b"more\n");
    clone.commit(b"a directory moves and gets another file\n");
    clone.git(&["mv", "new/library/a.c", "a.c"]);
    clone.git(&["mv", "new/library", "whole"]);
    clone.git(&["mv", "a.c", "whole/z.c"]);
    clone.commit(b"a file changes its name in a moved directory\n");
    // Directories exchange their names.
    clone.git(&["mv", "whole", "temporary"]);
    clone.git(&["mv", "other", "whole"]);
    clone.git(&["mv", "temporary", "other"]);
    clone.commit(b"exchanged\n");
    clone.git(&["mv", "other", "complete"]);
    clone.git(&["rm", "-q", "-f", "complete/b.c"]);
    clone.commit(b"a directory moves and loses a file\n");
}

/// Merges a branch, commits without a change, and adds and replaces a submodule.
fn merge(clone: &mut TestClone) {
    clone.git(&["checkout", "-q", "-b", "side"]);
    clone.write("side/1", b"1\n");
    clone.commit(b"on the side\n");
    clone.write("side/2", b"2\n");
    clone.commit(b"on the side again\n");
    clone.git(&["checkout", "-q", "main"]);
    clone.write("main-only", b"main\n");
    clone.commit(b"on main\n");
    clone.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    clone.commit(b"no change\n");
    let head = String::from_utf8(clone.git(&["rev-parse", "HEAD"])).expect("a name is ASCII");
    let submodule = format!("160000,{},vendor/sub", head.trim());
    clone.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    clone.git(&["commit", "-q", "-m", "a submodule"]);
    clone.git(&["update-index", "--force-remove", "vendor/sub"]);
    clone.write("vendor/sub", b"a file\n");
    clone.commit(b"a file instead of the submodule\n");
    clone.git(&["rm", "-q", "vendor/sub"]);
    clone.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    clone.git(&["commit", "-q", "-m", "the submodule instead of the file"]);
    clone.git(&["update-index", "--force-remove", "vendor/sub"]);
}

/// Returns the files below a directory, and fails for an empty directory below it.
fn exported(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries: Vec<_> = fs::read_dir(&folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("the folder is read"))
            .collect();
        assert!(folder == root || !entries.is_empty(), "{folder:?} is empty");
        for entry in entries {
            let path = entry.path();
            let meta = fs::symlink_metadata(&path).expect("the entry is there");
            if meta.is_dir() {
                folders.push(path);
                continue;
            }
            let file = match meta.is_symlink() {
                true => {
                    let target = fs::read_link(&path).expect("the link is read");
                    ("120000", target.into_os_string().into_vec())
                }
                false => {
                    let mode = if meta.permissions().mode() & 0o100 == 0 {
                        "100644"
                    } else {
                        "100755"
                    };
                    (mode, fs::read(&path).expect("the file is read"))
                }
            };
            let name = path.strip_prefix(root).expect("it is below the root");
            tree.insert(name.to_str().expect("names are UTF-8").to_owned(), file);
        }
    }
    tree
}

fn convert(clone: &TestClone, extent: Extent) -> (Vec<u8>, Summary) {
    let clone = GitClone::open(&clone.path.display().to_string()).expect("the clone is there");
    let mut dump = Vec::new();
    let summary = clone.convert(&mut dump, extent).expect("it is converted");
    (dump, summary)
}

fn svn(program: &str, words: &[&str], target: String) -> String {
    let mut command = Command::new(program);
    // The names of the test are not ASCII.
    command.env("LC_ALL", "C.UTF-8").args(words).arg(target);
    String::from_utf8(run(&mut command).expect("the tool succeeds")).expect("the output is UTF-8")
}

#[test]
fn each_revision_is_the_tree_of_its_commit() {
    let scratch = tempfile::tempdir().expect("a folder is made");
    let mut clone = TestClone::new(scratch.path());
    history(&mut clone);
    let extent = Extent {
        revisions: None,
        tag_every: 7,
    };
    let (dump, summary) = convert(&clone, extent);
    assert_eq!(
        convert(&clone, extent),
        (dump.clone(), summary.clone()),
        "not deterministic"
    );
    let (file, repository) = (scratch.path().join("dump"), scratch.path().join("repository"));
    fs::write(&file, &dump).expect("the dump is written");
    super::create(&repository, 10).expect("svnadmin creates it");
    load_file(&repository, &file).expect("svnadmin loads it");
    assert!(repository.join("db/revs/1").is_dir(), "shards have 10 revisions");
    svn("svnadmin", &["verify", "-q"], repository.display().to_string());
    let names = clone.git(&["rev-list", "--first-parent", "--reverse", "HEAD"]);
    let names = String::from_utf8(names).expect("names are ASCII");
    let mut names = names.lines();
    let url = format!("file://{}", repository.display());
    let mut tags = 0;
    for number in 2..=summary.revisions {
        let revision = number.to_string();
        let props = ["proplist", "-v", "--revprop", "-r", &revision];
        let out = scratch.path().join(&revision);
        if (number - 1).is_multiple_of(7) {
            tags += 1;
            let tag = format!("{url}/tags/r{}@{number}", number - 1);
            let trunk = format!("{url}/trunk@{number}");
            assert_eq!(
                svn("svn", &["list", "-R"], tag),
                svn("svn", &["list", "-R"], trunk)
            );
            continue;
        }
        let name = names.next().expect("each revision has a commit");
        assert!(
            svn("svn", &props, url.clone()).contains(name),
            "r{number} is not {name}"
        );
        let mut export = Command::new("svn");
        export
            .env("LC_ALL", "C.UTF-8")
            .args(["export", "-q", &format!("{url}/trunk@{number}")]);
        run(export.arg(&out)).expect("svn exports it");
        assert_eq!(exported(&out), clone.tree(name), "r{number}");
    }
    assert_eq!((names.next(), tags), (None, summary.revisions / 7));
    revision_properties(&url);
    copies(&url);
}

fn revision_properties(url: &str) {
    let log = |revision| {
        svn(
            "svn",
            &["propget", "--revprop", "-r", revision, "svn:log"],
            url.to_owned(),
        )
    };
    assert_eq!(
        log("3"),
        "not UTF-8: \u{fffd}\u{fffd}\u{fffd}\nand two lines\nand three\n\n"
    );
    let get = |name| svn("svn", &["propget", "--revprop", "-r", "2", name], url.to_owned());
    assert_eq!(get("svn:author"), "Zoë\n");
    assert_eq!(get("svn:date"), "2011-03-13T07:07:40.000000Z\n");
}

/// Renames and copies have history; a directory that moves as a whole is one copy.
fn copies(url: &str) {
    let log = svn("svn", &["log", "-v", "-q"], url.to_owned());
    for line in [
        "A /trunk/src/renamed.c (from /trunk/src/a.c:3)",
        "A /trunk/moved.c (from /trunk/src/deep/er/c.c:3)",
        "A /trunk/src/copy.c (from /trunk/src/b.c:3)",
        "D /trunk/src/deep\n",
        "R /trunk/README (from /trunk/src/b.c:6)",
        "A /trunk/library (from /trunk/lib:9)",
        "M /trunk/library/inner/d.c",
        "M /trunk/library/a.c",
        "A /trunk/new/library (from /trunk/library:10)",
        "A /trunk/new/inner/d.c (from /trunk/new/library/inner/d.c:11)",
        "A /trunk/whole/z.c (from /trunk/new/library/a.c:12)",
        "A /tags/r7 (from /trunk:7)",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
}

#[test]
fn a_limited_history_has_that_many_revisions() {
    let scratch = tempfile::tempdir().expect("a folder is made");
    let mut clone = TestClone::new(scratch.path());
    history(&mut clone);
    let limited = |revisions| {
        let extent = Extent {
            revisions: Some(revisions),
            tag_every: 3,
        };
        convert(&clone, extent)
    };
    let (dump, summary) = limited(6);
    assert_eq!(summary.revisions, 6);
    assert_eq!(summary.tag.as_deref(), Some("tags/r3"));
    assert_eq!(summary.busy_directory.as_deref(), Some("trunk/src"));
    assert_eq!(Summary::from_json(summary.to_json().as_bytes()), Some(summary));
    assert!(limited(9).0.starts_with(&dump));
}

#[test]
fn a_shallow_clone_is_an_error() {
    let scratch = tempfile::tempdir().expect("a folder is made");
    let mut clone = TestClone::new(scratch.path());
    clone.commit(b"one");
    clone.commit(b"two");
    let shallow = scratch.path().join("shallow");
    let source = format!("file://{}", clone.path.display());
    let mut git = Command::new("git");
    run(git.args(["clone", "-q", "--depth", "1", &source]).arg(&shallow)).expect("git clones");
    let error = GitClone::open(&shallow.display().to_string()).map(|clone| clone.name);
    assert!(error.is_err_and(|message| message.contains("shallow")));
    let named = GitClone::open(&format!("x={}", clone.path.display())).expect("the clone is there");
    assert_eq!(named.name, "x");
}
