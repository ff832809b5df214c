//! The first-parent history of a clone, commit by commit, from one `git log`.
//!
//! `git log --raw` and `git fast-export` take the same time. `git log` is simpler to convert: paths of sources are
//! those of the parent's tree, and contents have names, so that they can be read when they are needed.

use std::io::{BufRead, BufReader, Error, Result};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::names::svn_path;

/// The bytes between two commits: the name, the author, the time and the message.
const FORMAT: &str = "--format=tformat:commit %H%x00%an%x00%ct%x00%B%x00";

/// A commit and its differences from the first parent.
#[derive(Debug)]
pub struct Commit {
    /// The name.
    pub name: String,
    /// The name of the author.
    pub author: String,
    /// The time of the commit, in seconds since the epoch.
    pub time: i64,
    /// The message.
    pub message: String,
    /// The paths of removed files.
    pub removed: Vec<String>,
    /// The new and changed files.
    pub written: Vec<FileChange>,
}

/// A new or changed file.
#[derive(Debug)]
pub struct FileChange {
    /// The path.
    pub path: String,
    /// What it was before.
    pub origin: Origin,
    /// What it is now.
    pub now: Entry,
}

/// What a file was in the parent's tree.
#[derive(Debug)]
pub enum Origin {
    /// It was not there.
    New,
    /// It had the same path.
    Changed(Entry),
    /// It is a copy of another file, which may be removed.
    Copied {
        /// The path of the other file.
        from: String,
        /// The other file.
        entry: Entry,
    },
}

/// The mode and the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The mode.
    pub mode: FileMode,
    /// The name of the blob.
    pub blob: String,
}

/// The modes of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// A regular file.
    Plain,
    /// An executable file.
    Executable,
    /// A symbolic link.
    Link,
}

/// A running `git log`; iterates over the commits, the oldest first.
pub struct CommitLog {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The first field of the next commit.
    next: Option<Vec<u8>>,
}

impl CommitLog {
    /// Starts the process with a `git` that names the repository.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn start(mut git: Command, head: &str) -> Result<CommitLog> {
        let mut child = git
            .args(["log", "--first-parent", "--reverse", "--raw", "-z", "--no-abbrev"])
            .args(["-M50%", "-C50%", "-l1000", "--diff-merges=first-parent"])
            .args(["--no-notes", "--no-color", "--no-show-signature", "--no-mailmap"])
            .args(["--encoding=UTF-8", "--ignore-submodules=none", FORMAT, head, "--"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| Error::other("git log has no pipe"))?;
        let mut log = CommitLog {
            child,
            output: BufReader::with_capacity(1 << 18, output),
            next: None,
        };
        log.next = log.field()?;
        Ok(log)
    }

    /// Returns the bytes up to the next NUL; `None` at the end.
    fn field(&mut self) -> Result<Option<Vec<u8>>> {
        let mut field = Vec::new();
        self.output.read_until(0, &mut field)?;
        match field.pop() {
            Some(0) => Ok(Some(field)),
            Some(_) => Err(bad("ends early", &field)),
            None => Ok(None),
        }
    }

    fn needed_field(&mut self) -> Result<Vec<u8>> {
        self.field()?.ok_or_else(|| bad("ends early", b""))
    }

    fn commit(&mut self, first: &[u8]) -> Result<Commit> {
        let name = first
            .strip_prefix(b"commit ")
            .ok_or_else(|| bad("not a commit", first))?;
        let mut commit = Commit {
            name: String::from_utf8_lossy(name).into_owned(),
            author: text(&self.needed_field()?),
            time: 0,
            message: String::new(),
            removed: Vec::new(),
            written: Vec::new(),
        };
        let time = self.needed_field()?;
        let digits = std::str::from_utf8(&time).ok();
        commit.time = digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| bad("not a time", &time))?;
        commit.message = text(&self.needed_field()?);
        loop {
            let Some(field) = self.field()? else {
                return Ok(commit);
            };
            // An empty field ends the message, and a line feed precedes the first difference.
            let head = field.strip_prefix(b"\n").unwrap_or(&field);
            match head.first() {
                None => {}
                Some(b':') => self.change(&head[1..], &mut commit)?,
                Some(_) => {
                    self.next = Some(field);
                    return Ok(commit);
                }
            }
        }
    }

    /// Reads one difference. Submodules are treated as if they were not there.
    fn change(&mut self, head: &[u8], commit: &mut Commit) -> Result<()> {
        let words: Vec<&str> = std::str::from_utf8(head).unwrap_or("").split(' ').collect();
        let &[old_mode, mode, old_blob, blob, status] = &words[..] else {
            return Err(bad("not a difference", head));
        };
        let (old, now) = (entry(old_mode, old_blob), entry(mode, blob));
        let path = svn_path(&self.needed_field()?);
        let (from, path) = match status.as_bytes().first() {
            Some(b'R' | b'C') => (Some(path), svn_path(&self.needed_field()?)),
            _ => (None, path),
        };
        let is_gone = old.is_some() && (status.starts_with(['D', 'R']) || (from.is_none() && now.is_none()));
        if is_gone {
            commit.removed.push(from.as_ref().unwrap_or(&path).clone());
        }
        if let Some(now) = now {
            let origin = match (old, from) {
                (None, _) => Origin::New,
                (Some(entry), Some(from)) => Origin::Copied { from, entry },
                (Some(entry), None) => Origin::Changed(entry),
            };
            commit.written.push(FileChange { path, origin, now });
        }
        Ok(())
    }
}

impl Iterator for CommitLog {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        match self.next.take() {
            Some(first) => Some(self.commit(&first)),
            None => match self.child.wait() {
                Ok(status) if status.success() => None,
                Ok(status) => Some(Err(Error::other(format!("git log: {status}")))),
                Err(error) => Some(Err(error)),
            },
        }
    }
}

impl Drop for CommitLog {
    fn drop(&mut self) {
        // The process may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Returns the file of a mode and a name; `None` if there is none, or a submodule.
fn entry(mode: &str, blob: &str) -> Option<Entry> {
    let mode = match mode {
        "120000" => FileMode::Link,
        "100755" => FileMode::Executable,
        mode if mode.starts_with("100") => FileMode::Plain,
        _ => return None,
    };
    Some(Entry {
        mode,
        blob: blob.to_owned(),
    })
}

/// Returns UTF-8 with line feeds only, as Subversion demands of its revision properties.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

fn bad(what: &str, field: &[u8]) -> Error {
    Error::other(format!(
        "the output of git log: {what}: {}",
        String::from_utf8_lossy(field)
    ))
}
