//! Writes an edit as node records.
//!
//! Records are written in the order of Subversion's program: an added directory when the next node begins, a file when it is
//! closed; when a directory is closed, its changed properties and then the entries that were deleted from it. Those are in the order of
//! their names here; Subversion's order is another one in each run.

use std::collections::{BTreeMap, BTreeSet};

use base::checksum::Md5;
use base::dumpfile::NodeAction;
use base::{Code, Error, NodeKind, RelPath, Result, Revnum, props};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::{Codec, write_window};

use super::normalize::normalize;
use super::record::{NodeRecord, Output, PropChanges, TextDelta, write_deletion};

/// The editor.
pub struct DumpEditor<'a> {
    output: Output<'a>,
    /// The path in the repository of the root of the edit, if the edit adds it: the first revision of a stream.
    added_root: Option<RelPath>,
    dirs: BTreeMap<u32, OpenDir>,
    files: BTreeMap<u32, OpenFile>,
    next: u32,
    /// The added directory whose record was not written.
    pending: Option<u32>,
    codec: Codec,
}

struct OpenDir {
    record: NodeRecord,
    props: PropChanges,
    /// Deleted entries.
    deleted: BTreeSet<String>,
}

struct OpenFile {
    record: NodeRecord,
    props: PropChanges,
    text: Option<TextDelta>,
}

impl<'a> DumpEditor<'a> {
    /// Writes the changes of a revision; paths of the edit are those of the repository.
    pub fn new(output: Output<'a>) -> DumpEditor<'a> {
        DumpEditor {
            output,
            added_root: None,
            dirs: BTreeMap::new(),
            files: BTreeMap::new(),
            next: 0,
            pending: None,
            codec: Codec::new(),
        }
    }

    /// Writes a whole tree; paths of the edit are relative to `root`.
    pub fn of_tree(root: &RelPath, output: Output<'a>) -> DumpEditor<'a> {
        DumpEditor {
            added_root: Some(root.clone()),
            ..DumpEditor::new(output)
        }
    }

    fn path(&self, path: &RelPath) -> String {
        match &self.added_root {
            Some(root) => root.join(path).as_str().to_owned(),
            None => path.as_str().to_owned(),
        }
    }

    fn dir(&mut self, token: DirToken) -> Result<&mut OpenDir> {
        self.dirs.get_mut(&token.0).ok_or_else(not_open)
    }

    fn file(&mut self, token: FileToken) -> Result<&mut OpenFile> {
        self.files.get_mut(&token.0).ok_or_else(not_open)
    }

    /// Writes the record of the directory that was added last.
    fn write_pending(&mut self) -> Result<()> {
        let pending = self.pending.take();
        let Some(dir) = pending.and_then(|token| self.dirs.get_mut(&token)) else {
            return Ok(());
        };
        let props = std::mem::take(&mut dir.props);
        dir.record.write(&props, None, None, self.output)
    }

    /// Begins an addition: a node that was deleted before is replaced.
    fn add(
        &mut self,
        path: &RelPath,
        kind: NodeKind,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<NodeRecord> {
        self.write_pending()?;
        let path = self.path(path);
        let was_deleted = self.dir(parent)?.deleted.remove(&path);
        let copyfrom = copyfrom.map(|from| (from.rev, from.path.trim_start_matches('/').to_owned()));
        let action = match (was_deleted, &copyfrom) {
            (true, None) => NodeAction::Replace,
            (true, Some(_)) => {
                write_deletion(&path, true, self.output)?;
                NodeAction::Add
            }
            (false, _) => NodeAction::Add,
        };
        Ok(NodeRecord {
            path,
            kind,
            action,
            copyfrom,
        })
    }

    fn open(&mut self, path: &RelPath, kind: NodeKind) -> Result<NodeRecord> {
        self.write_pending()?;
        Ok(NodeRecord {
            path: self.path(path),
            kind,
            action: NodeAction::Change,
            copyfrom: None,
        })
    }

    fn new_dir(&mut self, record: NodeRecord) -> DirToken {
        let token = self.next;
        self.next += 1;
        if record.action != NodeAction::Change {
            self.pending = Some(token);
        }
        let dir = OpenDir {
            record,
            props: PropChanges::new(),
            deleted: BTreeSet::new(),
        };
        self.dirs.insert(token, dir);
        DirToken(token)
    }

    fn new_file(&mut self, record: NodeRecord) -> FileToken {
        let token = self.next;
        self.next += 1;
        let file = OpenFile {
            record,
            props: PropChanges::new(),
            text: None,
        };
        self.files.insert(token, file);
        FileToken(token)
    }
}

impl Editor for DumpEditor<'_> {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _base: Option<Revnum>) -> Result<DirToken> {
        let is_added = self.added_root.as_ref().is_some_and(|root| !root.is_empty());
        if let Some(root) = &self.added_root {
            write_parents(root, self.output)?;
        }
        let mut record = self.open(&RelPath::empty(), NodeKind::Dir)?;
        if is_added {
            record.action = NodeAction::Add;
        }
        Ok(self.new_dir(record))
    }

    fn delete_entry(&mut self, path: &RelPath, _rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.write_pending()?;
        let path = self.path(path);
        self.dir(parent)?.deleted.insert(path);
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let record = self.add(path, NodeKind::Dir, parent, copyfrom)?;
        Ok(self.new_dir(record))
    }

    fn open_directory(&mut self, path: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        let record = self.open(path, NodeKind::Dir)?;
        Ok(self.new_dir(record))
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        change(&mut self.dir(dir)?.props, name, value);
        Ok(())
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.write_pending()?;
        let closed = self.dirs.remove(&dir.0).ok_or_else(not_open)?;
        if !closed.props.is_empty() {
            let record = NodeRecord {
                action: NodeAction::Change,
                copyfrom: None,
                ..closed.record
            };
            record.write(&closed.props, None, None, self.output)?;
        }
        for path in &closed.deleted {
            write_deletion(path, false, self.output)?;
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let record = self.add(path, NodeKind::File, parent, copyfrom)?;
        Ok(self.new_file(record))
    }

    fn open_file(&mut self, path: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        let record = self.open(path, NodeKind::File)?;
        Ok(self.new_file(record))
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        self.file(file)?.text = Some(TextDelta::new(base_md5.copied())?);
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let mut window = Vec::new();
        match chunk {
            TextChunk::Encoded(encoded) => encoded.write_as(0, 0, &mut self.codec, &mut window)?,
            TextChunk::Decoded(decoded) => write_window(decoded, 0, 0, &mut self.codec, &mut window),
        }
        match &mut self.file(file)?.text {
            Some(text) => text.append(&window),
            None => Err(not_open()),
        }
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        change(&mut self.file(file)?.props, name, value);
        Ok(())
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let mut closed = self.files.remove(&file.0).ok_or_else(not_open)?;
        closed.record.write(
            &closed.props,
            closed.text.as_mut(),
            text_md5.copied(),
            self.output,
        )
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Records the change of a property that a repository stores.
fn change(changes: &mut PropChanges, name: &str, value: Option<&[u8]>) {
    if props::is_regular(name) {
        let value = value.map(|value| normalize(name, value).into_owned());
        changes.insert(name.to_owned(), value);
    }
}

/// Writes additions of the directories above the root of a tree, without their properties.
fn write_parents(root: &RelPath, output: Output<'_>) -> Result<()> {
    let mut above = Vec::new();
    let mut next = root.parent();
    while let Some(parent) = next.filter(|parent| !parent.is_empty()) {
        next = parent.parent();
        above.push(parent);
    }
    above.into_iter().rev().try_for_each(|dir| {
        let record = NodeRecord {
            path: dir.as_str().to_owned(),
            kind: NodeKind::Dir,
            action: NodeAction::Add,
            copyfrom: None,
        };
        record.write(&PropChanges::new(), None, None, output)
    })
}

fn not_open() -> Error {
    Error::new(Code::ASSERTION_FAIL, "The edit uses a node that is not open")
}
