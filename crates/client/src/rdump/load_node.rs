//! Node records as calls of a commit's editor.
//!
//! Records come in any order. The directories on the path of a node are open while its record is applied; those that the next
//! one does not need are closed.

use std::io::BufRead;

use base::dumpfile::{NodeAction, NodeHeaders};
use base::{Code, Error, NodeKind, Props, RelPath, Result, Revnum, Url};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::Decoder;
use delta::window::{WINDOW_SIZE, Window};

use super::load::Loader;
use super::load_props;

/// The edit of one revision.
pub struct NodeLoader<'a> {
    editor: &'a mut dyn Editor,
    root: &'a Url,
    /// The revision on which the commit is based.
    base: Revnum,
    /// The open directories, from the root of the edit downwards.
    open: Vec<(RelPath, DirToken)>,
    /// Copies that this revision made: where, and from where; paths in the repository.
    copies: Vec<(RelPath, RelPath, Revnum)>,
}

/// The node whose record is applied.
enum Node {
    File(FileToken),
    Dir(DirToken),
}

impl<'a> NodeLoader<'a> {
    /// Starts the edit.
    ///
    /// # Errors
    /// Those of the editor, as for all methods.
    pub fn begin(editor: &'a mut dyn Editor, root: &'a Url, base: Revnum) -> Result<NodeLoader<'a>> {
        let token = editor.open_root(Some(base))?;
        Ok(NodeLoader {
            editor,
            root,
            base,
            open: vec![(RelPath::empty(), token)],
            copies: Vec::new(),
        })
    }

    /// Closes all directories.
    ///
    /// # Errors
    /// As above.
    pub fn finish(mut self) -> Result<()> {
        while let Some((_, token)) = self.open.pop() {
            self.editor.close_directory(token)?;
        }
        Ok(())
    }

    /// Applies a record.
    ///
    /// # Errors
    /// As above; those of the stream.
    pub fn node<R: BufRead>(&mut self, node: &NodeHeaders<'_>, loader: &mut Loader<'_, R>) -> Result<()> {
        check(node)?;
        let path = RelPath::canonicalize(node.path.trim_start_matches('/'))?;
        let Some(action) = node.action else {
            return Err(unrecognized(&path));
        };
        let parent = self.open_parent(&path)?;
        if matches!(action, NodeAction::Delete | NodeAction::Replace) {
            self.editor.delete_entry(&path, Some(self.base), parent)?;
        }
        if action == NodeAction::Delete {
            return loader.reader.skip_content();
        }
        let opened = match action {
            NodeAction::Change => self.open_node(&path, node.kind, parent)?,
            _ => self.add_node(node, &path, parent, loader)?,
        };
        if let Some(opened) = opened {
            self.props(node, &path, &opened, loader)?;
            self.content(node, &opened, loader)?;
            match opened {
                Node::File(file) => self.editor.close_file(file, node.content_md5.as_ref())?,
                Node::Dir(_) if path.is_empty() => {}
                Node::Dir(dir) => self.open.push((path, dir)),
            }
        } else if action != NodeAction::Change
            || loader.reader.has_props()
            || loader.reader.text_left()?.is_some()
        {
            let message = format!("Malformed dumpstream: the node '{path}' has no kind, or an unknown one");
            return Err(Error::new(Code::STREAM_MALFORMED_DATA, message));
        }
        loader.reader.skip_content()
    }

    /// Opens the directory in which `path` is, and closes those that do not contain it. For the root it is the root.
    fn open_parent(&mut self, path: &RelPath) -> Result<DirToken> {
        let parent = path.parent().unwrap_or_default();
        while let Some((dir, token)) = self.open.last()
            && self.open.len() > 1
            && parent.relative_to(dir).is_none()
        {
            self.editor.close_directory(*token)?;
            self.open.pop();
        }
        let (mut current, mut token) = self.open.last().cloned().ok_or_else(no_root)?;
        let below = parent.relative_to(&current).unwrap_or_default();
        for name in below.components() {
            current = current.join_str(name);
            token = self.editor.open_directory(&current, token, Some(self.base))?;
            self.open.push((current.clone(), token));
        }
        Ok(token)
    }

    fn open_node(
        &mut self,
        path: &RelPath,
        kind: Option<NodeKind>,
        parent: DirToken,
    ) -> Result<Option<Node>> {
        Ok(match kind {
            Some(NodeKind::File) => Some(Node::File(self.editor.open_file(
                path,
                parent,
                Some(self.base),
            )?)),
            // The root is open already.
            _ if path.is_empty() => Some(Node::Dir(parent)),
            Some(NodeKind::Dir) => Some(Node::Dir(self.editor.open_directory(
                path,
                parent,
                Some(self.base),
            )?)),
            _ => None,
        })
    }

    fn add_node<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        path: &RelPath,
        parent: DirToken,
        loader: &Loader<'_, R>,
    ) -> Result<Option<Node>> {
        let source = match copy_source(node) {
            None => None,
            Some((rev, source)) => {
                let rev = loader.numbers.source(rev).map_err(|moved| {
                    let message =
                        format!("Relative source revision {moved} is not available in current repository");
                    Error::new(Code::FS_NO_SUCH_REVISION, message)
                })?;
                let source = RelPath::canonicalize(source.trim_start_matches('/'))?;
                let source = loader.parent.join(&source);
                self.copies.push((loader.parent.join(path), source.clone(), rev));
                Some((self.root.join(&source), rev))
            }
        };
        let from = source.as_ref().map(|(url, rev)| CopyFrom {
            path: url.as_str(),
            rev: *rev,
        });
        Ok(match node.kind {
            Some(NodeKind::File) => Some(Node::File(self.editor.add_file(path, parent, from)?)),
            Some(NodeKind::Dir) => Some(Node::Dir(self.editor.add_directory(path, parent, from)?)),
            _ => None,
        })
    }

    fn props<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        path: &RelPath,
        opened: &Node,
        loader: &mut Loader<'_, R>,
    ) -> Result<()> {
        if !loader.reader.has_props() {
            return Ok(());
        }
        // A whole list: properties that it does not name are deleted.
        let mut others = match node.prop_delta {
            true => Props::new(),
            false => self.existing_props(node, path, opened, loader)?,
        };
        while let Some((name, value)) = loader.reader.next_prop()? {
            others.remove(&name);
            let value = match value {
                Some(value) => Some(load_props::of_stream(
                    &name,
                    value,
                    &loader.parent,
                    &loader.numbers,
                )?),
                None => None,
            };
            self.change_prop(opened, &name, value.as_deref())?;
        }
        others
            .keys()
            .try_for_each(|name| self.change_prop(opened, name, None))
    }

    fn change_prop(&mut self, opened: &Node, name: &str, value: Option<&[u8]>) -> Result<()> {
        match opened {
            Node::File(file) => self.editor.change_file_prop(*file, name, value),
            Node::Dir(dir) => self.editor.change_dir_prop(*dir, name, value),
        }
    }

    /// Returns the properties that the node has before the record.
    fn existing_props<R: BufRead>(
        &self,
        node: &NodeHeaders<'_>,
        path: &RelPath,
        opened: &Node,
        loader: &mut Loader<'_, R>,
    ) -> Result<Props> {
        if node.action != Some(NodeAction::Change) && copy_source(node).is_none() {
            return Ok(Props::new());
        }
        let path = loader.parent.join(path);
        // The last copy at or above the node: it may be one within another.
        let copy = self
            .copies
            .iter()
            .rev()
            .find_map(|(to, from, rev)| Some((from.join(&path.relative_to(to)?), *rev)));
        let (path, rev) = copy.unwrap_or((path, self.base));
        loader.existing_props(&path, rev, matches!(opened, Node::Dir(_)))
    }

    fn content<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        opened: &Node,
        loader: &mut Loader<'_, R>,
    ) -> Result<()> {
        let Node::File(file) = *opened else {
            return Ok(());
        };
        if loader.reader.text_left()?.is_none() {
            return Ok(());
        }
        let mut buffer = vec![0; WINDOW_SIZE];
        if node.text_delta && !loader.reader.is_plain_text() {
            self.editor.apply_textdelta(file, node.delta_base_md5.as_ref())?;
            let mut decoder = Decoder::new();
            loop {
                let length = loader.reader.read_text(&mut buffer)?;
                if length == 0 {
                    break;
                }
                decoder.push(&buffer[..length], |window| {
                    if self.editor.accepts_encoded().contains(window.version) {
                        return self.editor.text_chunk(file, TextChunk::Encoded(window));
                    }
                    let decoded = window.decode(&mut delta::svndiff::Codec::new())?;
                    self.editor.text_chunk(file, TextChunk::Decoded(&decoded))
                })?;
            }
            decoder.finish()?;
        } else {
            self.editor.apply_textdelta(file, None)?;
            loop {
                let length = fill(&mut buffer, |piece| loader.reader.read_text(piece))?;
                if length == 0 {
                    break;
                }
                let window = Window::insertion(&buffer[..length]);
                self.editor.text_chunk(file, TextChunk::Decoded(&window))?;
            }
        }
        self.editor.text_end(file)
    }
}

/// Fills a buffer as far as there is text.
fn fill(buffer: &mut [u8], mut read: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(&mut buffer[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}

/// Returns the source of a copy. A path without a revision is none: the node is added without history, as in Subversion.
fn copy_source<'a>(node: &'a NodeHeaders<'_>) -> Option<(i64, &'a str)> {
    let (rev, path) = node.copyfrom.as_ref()?;
    (*rev >= 0).then_some((*rev, path.as_ref()))
}

fn check(node: &NodeHeaders<'_>) -> Result<()> {
    if node.has_bad_md5 {
        return Err(Error::new(
            Code::BAD_CHECKSUM_PARSE,
            "Invalid character in hex checksum",
        ));
    }
    if node.is_path_bad {
        return Err(Error::new(
            Code::FS_PATH_SYNTAX,
            format!("Path '{}' is not in UTF-8", node.path),
        ));
    }
    Ok(())
}

fn unrecognized(path: &RelPath) -> Error {
    Error::new(
        Code::STREAM_UNRECOGNIZED_DATA,
        format!("Unrecognized node-action on node '{path}'"),
    )
}

fn no_root() -> Error {
    Error::new(Code::ASSERTION_FAIL, "The root of the edit is not open")
}
