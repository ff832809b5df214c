//! The editor of a difference: receives what turns the old end into the new one, and passes each node with both sides.

use std::collections::{BTreeMap, HashMap};

use base::checksum::{Md5, Md5Stream};
use base::{Code, Error, NodeKind, Props, RelPath, Result, Revnum, props};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::Codec;
use ra::{PathState, ReportKind, ReportRequest};

use super::TreeOptions;
use super::deleted;
use super::ends::{End, Ends};
use super::old_side::{OldSide, read_file};
use super::text::{Text, TextWriter};
use super::tree::{Action, BelowTarget, DirectoryChange, FileChange, FileSide, Needs, TreeSink};

/// Compares the ends and passes what differs to `sink`.
pub(super) fn compare(mut ends: Ends, tree: &TreeOptions<'_>, sink: &mut dyn TreeSink) -> Result<()> {
    let outcome = match (ends.old.kind, ends.new.kind) {
        (NodeKind::None, kind) => one_side(&ends.new.clone(), kind, false, &mut ends, tree, sink),
        (kind, NodeKind::None) => one_side(&ends.old.clone(), kind, true, &mut ends, tree, sink),
        _ => both_sides(&mut ends, tree, sink),
    };
    tree.sessions.put(ends.session);
    outcome
}

/// Compares two nodes by an edit from one to the other.
fn both_sides(ends: &mut Ends, tree: &TreeOptions<'_>, sink: &mut dyn TreeSink) -> Result<()> {
    let url = &ends.old.url;
    let (root, target) = match url.parent() {
        Some(parent) if ends.has_target() => (parent, url.basename()),
        _ => (url.clone(), String::new()),
    };
    let kind = ReportKind::Diff {
        url: &ends.new.url,
        ignore_ancestry: !tree.notice_ancestry,
        text_deltas: sink.needs(Action::Modified).text,
    };
    let request = ReportRequest {
        kind,
        rev: Some(ends.new.rev),
        target: &target,
        depth: tree.depth,
    };
    if *ends.session.url() != root {
        ends.session.reparent(&root)?;
    }
    let rev = ends.old.rev;
    let mut below = BelowTarget(sink);
    let sink: &mut dyn TreeSink = match ends.has_target() && !ends.names_node() {
        true => &mut below,
        false => below.0,
    };
    let mut editor = DiffEditor::new(tree, OldSide::new(tree, root, rev), sink, false);
    ends.session.report(
        &request,
        &mut |state| state.set_path(&RelPath::empty(), &PathState::complete(rev)),
        &mut editor,
    )
}

/// Passes a node that is at one end only: a file as it is, a directory by an edit that adds it.
fn one_side(
    end: &End,
    kind: NodeKind,
    reversed: bool,
    ends: &mut Ends,
    tree: &TreeOptions<'_>,
    sink: &mut dyn TreeSink,
) -> Result<()> {
    if *ends.session.url() != end.url {
        ends.session.reparent(&end.url)?;
    }
    let action = if reversed { Action::Deleted } else { Action::Added };
    if kind == NodeKind::File {
        // The incumbent's client names the file as it would be named at the other end.
        let missing = if reversed { &ends.new } else { &ends.old };
        let path = RelPath::canonicalize(&missing.url.basename())?;
        let needs = sink.needs(action);
        let mut sides = [FileSide::default(), FileSide::default()];
        let side = usize::from(!reversed);
        sides[side] = read_file(&mut *ends.session, &RelPath::empty(), end.rev, needs, tree.cancel)?;
        return sink.file(&FileChange {
            path: &path,
            action,
            old: &sides[0],
            new: &sides[1],
            text: true,
            props: true,
        });
    }
    let request = ReportRequest {
        kind: ReportKind::Diff {
            url: &end.url,
            ignore_ancestry: !tree.notice_ancestry,
            text_deltas: sink.needs(action).text,
        },
        rev: Some(end.rev),
        target: "",
        depth: tree.depth,
    };
    let old = OldSide::new(tree, end.url.clone(), end.rev);
    let mut editor = DiffEditor::new(tree, old, sink, reversed);
    editor.adds_root = true;
    ends.session.report(
        &request,
        &mut |state| state.set_path(&RelPath::empty(), &PathState::empty(end.rev)),
        &mut editor,
    )
}

/// Passes the nodes of an edit to a sink.
struct DiffEditor<'a> {
    tree: &'a TreeOptions<'a>,
    old: OldSide<'a>,
    sink: &'a mut dyn TreeSink,
    /// The edit leads from the new end to the old one.
    reversed: bool,
    /// The root of the edit is an addition too.
    adds_root: bool,
    directories: HashMap<u32, OpenDirectory>,
    files: HashMap<u32, OpenFile>,
    next: u32,
    codec: Codec,
    piece: Vec<u8>,
}

/// The changes of properties that an edit has sent.
type PropChanges = BTreeMap<String, Option<Vec<u8>>>;

struct OpenDirectory {
    path: RelPath,
    is_added: bool,
    changes: PropChanges,
}

struct OpenFile {
    path: RelPath,
    is_added: bool,
    needs: Needs,
    /// The old side, once it was read.
    old: Option<FileSide>,
    changes: PropChanges,
    /// The new text while it arrives, if it is needed.
    text: Option<TextWriter>,
    has_text: bool,
}

impl<'a> DiffEditor<'a> {
    fn new(
        tree: &'a TreeOptions<'a>,
        old: OldSide<'a>,
        sink: &'a mut dyn TreeSink,
        reversed: bool,
    ) -> DiffEditor<'a> {
        DiffEditor {
            tree,
            old,
            sink,
            reversed,
            adds_root: false,
            directories: HashMap::new(),
            files: HashMap::new(),
            next: 0,
            codec: Codec::new(),
            piece: Vec::new(),
        }
    }

    fn action(&self, action: Action) -> Action {
        match self.reversed {
            true => action.reversed(),
            false => action,
        }
    }

    fn directory(&mut self, path: RelPath, is_added: bool) -> DirToken {
        self.next = self.next.wrapping_add(1);
        let directory = OpenDirectory {
            path,
            is_added,
            changes: PropChanges::new(),
        };
        self.directories.insert(self.next, directory);
        DirToken(self.next)
    }

    fn open(&mut self, path: &RelPath, parent: DirToken, is_added: bool) -> Result<FileToken> {
        self.check_parent(path, parent)?;
        self.next = self.next.wrapping_add(1);
        let action = self.action(if is_added { Action::Added } else { Action::Modified });
        let file = OpenFile {
            path: path.clone(),
            is_added,
            needs: self.sink.needs(action),
            old: is_added.then(FileSide::default),
            changes: PropChanges::new(),
            text: None,
            has_text: false,
        };
        self.files.insert(self.next, file);
        Ok(FileToken(self.next))
    }

    /// Checks that an entry is one of the open directory `parent`.
    fn check_parent(&self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.tree.cancel.check()?;
        let directory = self.directories.get(&parent.0).ok_or_else(misuse)?;
        match path.parent().as_ref() == Some(&directory.path) {
            true => Ok(()),
            false => Err(misuse()),
        }
    }

    fn pass_file(&mut self, mut file: OpenFile, text: Text) -> Result<()> {
        let needs = file.needs;
        let old = match file.old.take() {
            Some(old) => old,
            None if file.changes.is_empty() && !file.has_text => return Ok(()),
            None if file.changes.is_empty() => FileSide::default(),
            None => self.old.file(&file.path, Needs { text: false, ..needs })?,
        };
        let mut new = FileSide {
            props: match needs.props {
                true => changed(&old.props, &file.changes),
                false => Props::new(),
            },
            text,
        };
        let mut old = old;
        if self.reversed {
            std::mem::swap(&mut old, &mut new);
        }
        let action = if file.is_added {
            Action::Added
        } else {
            Action::Modified
        };
        self.sink.file(&FileChange {
            path: &file.path,
            action: self.action(action),
            old: &old,
            new: &new,
            text: file.has_text || file.is_added,
            props: !file.changes.is_empty(),
        })
    }

    fn pass_directory(&mut self, directory: &OpenDirectory) -> Result<()> {
        let action = match directory.is_added {
            true => Action::Added,
            false if directory.changes.is_empty() => return Ok(()),
            false => Action::Modified,
        };
        let action = self.action(action);
        let (mut old, mut new) = (Props::new(), Props::new());
        if self.sink.needs(action).props {
            if !directory.is_added {
                old = self.old.props(&directory.path)?;
            }
            new = changed(&old, &directory.changes);
        }
        if self.reversed {
            std::mem::swap(&mut old, &mut new);
        }
        self.sink.directory(&DirectoryChange {
            path: &directory.path,
            action,
            old: &old,
            new: &new,
            props: !directory.changes.is_empty(),
        })
    }
}

impl Editor for DiffEditor<'_> {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        Ok(self.directory(RelPath::empty(), self.adds_root))
    }

    fn delete_entry(&mut self, path: &RelPath, _: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.check_parent(path, parent)?;
        deleted::pass(path, &mut self.old, self.sink)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        _: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.check_parent(path, parent)?;
        Ok(self.directory(path.clone(), true))
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        self.check_parent(path, parent)?;
        Ok(self.directory(path.clone(), false))
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        if props::is_regular(name) {
            let directory = self.directories.get_mut(&dir.0).ok_or_else(misuse)?;
            let value = value.map(<[u8]>::to_vec);
            directory.changes.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        let directory = self.directories.remove(&dir.0).ok_or_else(misuse)?;
        self.pass_directory(&directory)
    }

    fn add_file(&mut self, path: &RelPath, parent: DirToken, _: Option<CopyFrom<'_>>) -> Result<FileToken> {
        self.open(path, parent, true)
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        self.open(path, parent, false)
    }

    fn apply_textdelta(&mut self, token: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        let file = self.files.get_mut(&token.0).ok_or_else(misuse)?;
        file.has_text = true;
        if !file.needs.text {
            return Ok(());
        }
        if file.old.is_none() {
            file.old = Some(self.old.file(&file.path, file.needs)?);
        }
        file.text = Some(TextWriter::default());
        let (Some(old), Some(expected)) = (&file.old, base_md5) else {
            return Ok(());
        };
        let mut digest = Md5Stream::new();
        old.text.each_part(&mut |part| {
            digest.update(part);
            Ok(())
        })?;
        check_digest(&file.path, expected, &digest.finish())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, token: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let file = self.files.get_mut(&token.0).ok_or_else(misuse)?;
        let (Some(old), Some(text)) = (&file.old, &mut file.text) else {
            return Ok(());
        };
        self.piece.clear();
        let (offset, len) = match chunk {
            TextChunk::Decoded(window) => (window.source_offset, window.source_len),
            TextChunk::Encoded(window) => (window.source_offset, window.source_len),
        };
        let source = old.text.part(offset, len as usize)?;
        match chunk {
            TextChunk::Decoded(window) => window.apply(&source, &mut self.piece)?,
            TextChunk::Encoded(window) => window.apply(&source, &mut self.piece, &mut self.codec)?,
        }
        text.push(&self.piece)
    }

    fn change_file_prop(&mut self, token: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        if props::is_regular(name) {
            let file = self.files.get_mut(&token.0).ok_or_else(misuse)?;
            file.changes.insert(name.to_owned(), value.map(<[u8]>::to_vec));
        }
        Ok(())
    }

    fn close_file(&mut self, token: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let mut file = self.files.remove(&token.0).ok_or_else(misuse)?;
        let text = match file.text.take() {
            Some(writer) => {
                let (text, actual) = writer.finish();
                let expected = text_md5.unwrap_or(&actual);
                check_digest(&file.path, expected, &actual)?;
                text
            }
            None => Text::default(),
        };
        self.pass_file(file, text)
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Returns `props` with changes.
fn changed(props: &Props, changes: &PropChanges) -> Props {
    let mut new = props.clone();
    for (name, value) in changes {
        match value {
            Some(value) => new.insert(name.clone(), value.clone()),
            None => new.remove(name),
        };
    }
    new
}

fn check_digest(path: &RelPath, expected: &Md5, actual: &Md5) -> Result<()> {
    if expected.matches(actual) {
        return Ok(());
    }
    let message =
        format!("Checksum mismatch for '{path}':\n   expected:  {expected}\n     actual:  {actual}\n");
    Err(Error::new(Code::CHECKSUM_MISMATCH, message))
}

/// The error for a server that makes calls in an impossible order.
fn misuse() -> Error {
    let message = "The server sent a difference that is not one of the tree";
    Error::new(Code::RA_SVN_MALFORMED_DATA, message)
}
