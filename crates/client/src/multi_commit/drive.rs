//! Drives the edit of a commit with several actions.

use base::checksum::Md5;
use base::{Code, Error, NodeKind, Props, RelPath, Result, Revnum, Url};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::window::{WINDOW_SIZE, Window};
use ra::{CommitInfo, CommitRequest};

use super::{MultiCommit, NodeChange, TextOfPut};
use crate::tree_order::TreeOrder;
use crate::url_commit::path_driver::drive_paths;

/// What the edit does at one path.
enum Step {
    Delete,
    Node(NodeChange),
}

/// Commits all actions of `this`.
///
/// # Errors
/// `FS_NOT_DIRECTORY` if the anchor is not a directory; those of the session.
pub fn commit(mut this: MultiCommit, revprops: Props) -> Result<CommitInfo> {
    let mut changes: Vec<(Vec<usize>, RelPath, Step)> = Vec::new();
    for (TreeOrder(path), change) in std::mem::take(&mut this.changes) {
        if let Some(place) = change.deleted {
            let key = this.order.key_of_deletion(&path, place);
            changes.push((key, path.clone(), Step::Delete));
        }
        if let Some(node) = change.node {
            changes.push((this.order.key(&path), path, Step::Node(node)));
        }
    }
    changes.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let MultiCommit {
        mut session, base, ..
    } = this;
    let mut anchor = session.url().clone();
    let kind = session.check_path(&RelPath::empty(), Some(base))?;
    let is_one_file = kind == NodeKind::File && changes.len() == 1 && changes[0].1.is_empty();
    if kind != NodeKind::Dir && !is_one_file {
        let message = format!("Can't commit to '{anchor}' because it is not a directory");
        return Err(Error::new(Code::FS_NOT_DIRECTORY, message));
    }
    let mut prefix = RelPath::empty();
    if is_one_file {
        prefix = prefix.join_str(&anchor.basename());
        anchor = anchor.parent().unwrap_or(anchor);
        session.reparent(&anchor)?;
    }
    let mut changes: Vec<_> = changes
        .into_iter()
        .map(|(_, path, change)| (prefix.join(&path), change))
        .collect();
    let paths: Vec<RelPath> = changes.iter().map(|(path, _)| path.clone()).collect();
    let request = CommitRequest {
        revprops,
        ..CommitRequest::default()
    };
    session.commit(&request, &mut |editor| {
        let mut next = changes.iter_mut();
        drive_paths(editor, Some(base), &paths, &mut |editor, parent, path| {
            let (_, step) = next.next().expect("because each path has a step");
            match (step, parent) {
                (Step::Delete, Some(parent)) => {
                    editor.delete_entry(path, Some(base), parent)?;
                    Ok(None)
                }
                (Step::Delete, None) => Ok(None),
                (Step::Node(node), parent) => node.drive(editor, parent, path, base, &anchor),
            }
        })
    })
}

impl NodeChange {
    /// Adds or opens the node and changes it. Returns it if it is a directory, which is open then.
    fn drive(
        &mut self,
        editor: &mut dyn Editor,
        parent: Option<DirToken>,
        path: &RelPath,
        base: Revnum,
        anchor: &Url,
    ) -> Result<Option<DirToken>> {
        let source = self.added.as_ref().and_then(|from| from.as_ref());
        let source = source.map(|(from, rev)| (anchor.join(from), *rev));
        let from = source.as_ref().map(|(url, rev)| CopyFrom {
            path: url.as_str(),
            rev: *rev,
        });
        let is_added = self.added.is_some();
        let Some(parent) = parent else {
            let root = editor.open_root(Some(base))?;
            self.dir_props(editor, root)?;
            return Ok(Some(root));
        };
        if self.kind == NodeKind::Dir {
            let dir = match is_added {
                true => editor.add_directory(path, parent, from)?,
                false => editor.open_directory(path, parent, Some(base))?,
            };
            self.dir_props(editor, dir)?;
            return Ok(Some(dir));
        }
        let file = match is_added {
            true => editor.add_file(path, parent, from)?,
            false => editor.open_file(path, parent, Some(base))?,
        };
        for (name, value) in &self.props {
            editor.change_file_prop(file, name, value.as_deref())?;
        }
        let md5 = match self.text.take() {
            Some(text) => Some(send_text(editor, file, text)?),
            None => None,
        };
        editor.close_file(file, md5.as_ref())?;
        Ok(None)
    }

    fn dir_props(&self, editor: &mut dyn Editor, dir: DirToken) -> Result<()> {
        self.props
            .iter()
            .try_for_each(|(name, value)| editor.change_dir_prop(dir, name, value.as_deref()))
    }
}

/// Sends a whole text and returns its digest.
fn send_text(editor: &mut dyn Editor, file: FileToken, mut text: TextOfPut) -> Result<Md5> {
    editor.apply_textdelta(file, None)?;
    let mut digest = base::checksum::Md5Stream::new();
    let mut piece = vec![0; WINDOW_SIZE];
    loop {
        let mut length = 0;
        while length < piece.len() {
            match text.reader.read(&mut piece[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("Can't read file", &text.path, &error)),
            }
        }
        if length == 0 {
            break;
        }
        digest.update(&piece[..length]);
        let window = Window::insertion(&piece[..length]);
        editor.text_chunk(file, TextChunk::Decoded(&window))?;
    }
    editor.text_end(file)?;
    Ok(digest.finish())
}
