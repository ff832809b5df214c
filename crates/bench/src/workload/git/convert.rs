//! Converts the first-parent history of a clone to a dump stream.
//!
//! Revision 1 makes `trunk`, `tags` and `branches`. Each commit is one revision of `trunk`; the revision property
//! `git-commit` has its name. Renamed and copied files are copies with history. Memory holds the directories, the
//! number of changes of each file, and one commit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Error, Read, Result, Write};

use super::blobs::BlobReader;
use super::directories::{Directories, DirectoryChanges, parent};
use super::log::{Commit, CommitLog, Entry, FileChange, FileMode, Origin};
use super::moves::{below, moved_directories};
use super::summary::Summary;
use crate::workload::stream::{DumpWriter, NodeRecord, Pairs, Text};

/// The number of revisions and tags.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The most revisions.
    pub revisions: Option<u32>,
    /// A tag is made each time after this many revisions; 0 means never.
    pub tag_every: u32,
}

/// Writes the stream and returns what measurements need to know of it.
///
/// # Errors
/// Errors of Git's processes and of the output; a history without a commit.
pub fn convert(out: &mut dyn Write, log: CommitLog, blobs: BlobReader, extent: Extent) -> Result<Summary> {
    let mut converter = Converter {
        stream: DumpWriter::begin(out)?,
        blobs,
        extent,
        number: 0,
        tag: None,
        directories: Directories::default(),
        file_changes: HashMap::new(),
        top_changes: BTreeMap::new(),
    };
    for commit in log {
        if converter.is_full() {
            break;
        }
        converter.commit(&commit?)?;
    }
    match converter.number {
        0 => Err(Error::other("the history has no commit")),
        _ => Ok(converter.summary()),
    }
}

struct Converter<'a> {
    stream: DumpWriter<'a>,
    blobs: BlobReader,
    extent: Extent,
    /// The youngest revision that was written.
    number: u32,
    /// The last tag.
    tag: Option<String>,
    directories: Directories,
    /// The number of commits that changed each existing file.
    file_changes: HashMap<String, u32>,
    /// The number of commits that changed something below each top directory.
    top_changes: BTreeMap<String, u32>,
}

impl Converter<'_> {
    fn is_full(&self) -> bool {
        self.extent.revisions.is_some_and(|most| self.number >= most)
    }

    /// Starts the next revision.
    fn revision(&mut self, props: Pairs<'_>) -> Result<()> {
        self.number += 1;
        self.stream.revision(self.number, props)
    }

    fn commit(&mut self, commit: &Commit) -> Result<()> {
        let date = date(commit.time);
        if self.number == 0 {
            self.stream.revision(0, &[("svn:date", &date)])?;
            self.layout(&date)?;
            if self.is_full() {
                return Ok(());
            }
        }
        self.revision(&[
            ("git-commit", &commit.name),
            ("svn:author", &commit.author),
            ("svn:date", &date),
            ("svn:log", &commit.message),
        ])?;
        let added = commit
            .written
            .iter()
            .filter(|file| !matches!(file.origin, Origin::Changed(_)));
        let changes = self.directories.apply(
            added.map(|file| file.path.as_str()),
            commit.removed.iter().map(String::as_str),
        );
        self.count(commit);
        let moves = moved_directories(commit, &changes);
        self.deletions(commit, &changes)?;
        self.new_directories(&changes, &moves)?;
        for file in &commit.written {
            self.file(file, &moves)?;
        }
        self.tag(&date)
    }

    fn layout(&mut self, date: &str) -> Result<()> {
        self.revision(&[("svn:date", date), ("svn:log", "The layout.")])?;
        ["trunk", "tags", "branches"]
            .into_iter()
            .try_for_each(|dir| self.stream.add_dir(dir))
    }

    /// Deletes files and directories; the deletion of a directory deletes what is below it.
    fn deletions(&mut self, commit: &Commit, changes: &DirectoryChanges) -> Result<()> {
        let gone: BTreeSet<&str> = commit
            .removed
            .iter()
            .chain(&changes.removed)
            .map(String::as_str)
            .filter(|path| parent(path).is_none_or(|dir| !changes.removed.contains(dir)))
            .collect();
        gone.into_iter()
            .try_for_each(|path| self.stream.delete(&format!("trunk/{path}")))
    }

    /// Makes the new directories: copies of moved ones, and empty ones.
    fn new_directories(
        &mut self,
        changes: &DirectoryChanges,
        moves: &BTreeMap<String, String>,
    ) -> Result<()> {
        for dir in &changes.made {
            let path = format!("trunk/{dir}");
            match moves.get(dir) {
                Some(old) => {
                    let source = format!("trunk/{old}");
                    self.stream.copy(&path, "dir", &source, self.number - 1)?;
                }
                None if is_moved(dir, moves) => {}
                None => self.stream.add_dir(&path)?,
            }
        }
        Ok(())
    }

    /// Writes a file. A file in a moved directory is there already.
    fn file(&mut self, file: &FileChange, moves: &BTreeMap<String, String>) -> Result<()> {
        let copy_source;
        let (action, copied_from, before) = match &file.origin {
            Origin::New => ("add", None, None),
            Origin::Changed(entry) => ("change", None, Some(entry)),
            Origin::Copied { entry, .. } if is_moved(&file.path, moves) => ("change", None, Some(entry)),
            Origin::Copied { from, entry } => {
                copy_source = format!("trunk/{from}");
                ("add", Some((copy_source.as_str(), self.number - 1)), Some(entry))
            }
        };
        let has_same_props = before.is_some_and(|entry| entry.mode == file.now.mode);
        if action == "change" && before == Some(&file.now) {
            return Ok(());
        }
        let record = NodeRecord {
            path: &format!("trunk/{}", file.path),
            kind: "file",
            action,
            copied_from,
            props: (!has_same_props).then(|| properties(file.now.mode)),
        };
        if before.is_some_and(|entry| is_same_text(entry, &file.now)) {
            return self.stream.node(&record, None);
        }
        let stream = &mut self.stream;
        self.blobs.read(&file.now.blob, |len, blob| {
            // A link is a file with this text.
            let prefix: &[u8] = match file.now.mode {
                FileMode::Link => b"link ",
                _ => b"",
            };
            let text = Text {
                len: len + prefix.len() as u64,
                bytes: &mut prefix.chain(blob),
            };
            stream.node(&record, Some(text))
        })
    }

    /// Copies `trunk` if it is time for a tag.
    fn tag(&mut self, date: &str) -> Result<()> {
        let is_due = self.extent.tag_every > 0 && self.number.is_multiple_of(self.extent.tag_every);
        if !is_due || self.is_full() {
            return Ok(());
        }
        let (from, path) = (self.number, format!("tags/r{}", self.number));
        self.revision(&[("svn:date", date), ("svn:log", &format!("Tag r{from}."))])?;
        self.stream.copy(&path, "dir", "trunk", from)?;
        self.tag = Some(path);
        Ok(())
    }

    fn count(&mut self, commit: &Commit) {
        let mut counts = Vec::with_capacity(commit.written.len());
        for file in &commit.written {
            let before = match &file.origin {
                Origin::New => 0,
                Origin::Changed(_) => self.file_changes.get(&file.path).copied().unwrap_or(0),
                Origin::Copied { from, .. } => self.file_changes.get(from).copied().unwrap_or(0),
            };
            counts.push((file.path.clone(), before + 1));
        }
        for path in &commit.removed {
            self.file_changes.remove(path);
        }
        let paths = commit.written.iter().map(|file| &file.path);
        let tops: BTreeSet<&str> = paths
            .chain(&commit.removed)
            .filter_map(|path| Some(path.split_once('/')?.0))
            .collect();
        for top in tops {
            *self.top_changes.entry(top.to_owned()).or_default() += 1;
        }
        self.file_changes.extend(counts);
    }

    fn summary(&self) -> Summary {
        // Of equally busy ones the first by name, so that equal histories have equal summaries.
        let file = self
            .file_changes
            .iter()
            .max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0)));
        let tops = self
            .top_changes
            .iter()
            .filter(|(dir, _)| self.directories.contains(dir));
        let top = tops.max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0)));
        Summary {
            revisions: self.number,
            tag: self.tag.clone(),
            busy_file: file.map(|(path, _)| format!("trunk/{path}")),
            busy_directory: top.map(|(path, _)| format!("trunk/{path}")),
        }
    }
}

/// True if the path is below a moved directory.
fn is_moved(path: &str, moves: &BTreeMap<String, String>) -> bool {
    moves.keys().any(|new| below(path, new).is_some())
}

/// True if both files have the same text in Subversion, where a link is a text too.
fn is_same_text(a: &Entry, b: &Entry) -> bool {
    a.blob == b.blob && (a.mode == FileMode::Link) == (b.mode == FileMode::Link)
}

/// Returns the properties that Subversion has for a mode.
fn properties(mode: FileMode) -> Pairs<'static> {
    match mode {
        FileMode::Plain => &[],
        FileMode::Executable => &[("svn:executable", "*")],
        FileMode::Link => &[("svn:special", "*")],
    }
}

/// Returns a date property of seconds since the epoch.
fn date(seconds: i64) -> String {
    let when = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    when.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}
