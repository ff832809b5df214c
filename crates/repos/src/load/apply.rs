//! Applies a node record to the transaction.

use std::io::BufRead;

use base::{Cancel, Code, Error, FsPath, NodeKind, RelPath, Result};
use delta::editor::TextChunk;
use delta::svndiff::Decoder;
use fsfs::Txn;

use crate::dumpfile::{DumpReader, NodeAction, NodeHeaders};
use crate::load::{LoadEvent, Loader, OpenRevision, absolute, prop};

impl Loader<'_> {
    /// Applies a node record of the revision that is being loaded.
    pub(super) fn node<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        reader: &mut DumpReader<R>,
        cancel: &Cancel,
    ) -> Result<()> {
        let path = match node.is_path_bad {
            true => Err(not_utf8(&self.shown_path(&node.path))),
            false => self.path(&node.path),
        };
        let Some(action) = node.action else {
            let shown = path.as_ref().map_or(&*node.path, RelPath::as_str);
            return Err(Error::new(
                Code::STREAM_UNRECOGNIZED_DATA,
                format!("Unrecognized node-action on node '{shown}'"),
            ));
        };
        check_digests(node)?;
        let shown = match path {
            Ok(path) => path,
            Err(error) => return self.bad_path(node, action, error, reader),
        };
        self.flush_if_due()?;
        let path = absolute(&shown);
        self.tell(LoadEvent::Editing(shown.to_string()))?;
        match action {
            NodeAction::Change => {}
            NodeAction::Delete => self.txn()?.delete(&path)?,
            NodeAction::Add => self.add(node, &path)?,
            NodeAction::Replace => {
                self.txn()?.delete(&path)?;
                self.add(node, &path)?;
            }
        }
        if reader.has_props() {
            self.props(node, &path, reader)?;
        }
        if reader.text_left()?.is_some() {
            self.text(node, &path, reader, cancel)?;
        }
        reader.skip_content()?;
        self.tell(LoadEvent::Done)
    }

    /// Handles a node with an impossible path: it does not exist, and `error` is the reason why it cannot be made.
    fn bad_path<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        action: NodeAction,
        error: Error,
        reader: &mut DumpReader<R>,
    ) -> Result<()> {
        let path = self.shown_path(&node.path);
        self.tell(LoadEvent::Editing(path.clone()))?;
        match action {
            NodeAction::Add => Err(error),
            // A change without content is not checked.
            NodeAction::Change if !reader.has_props() && node.text_length.is_none() => {
                reader.skip_content()?;
                self.tell(LoadEvent::Done)
            }
            NodeAction::Change | NodeAction::Delete | NodeAction::Replace => {
                let message = format!(
                    "File not found: transaction '{}', path '/{path}'",
                    self.txn()?.name()
                );
                Err(Error::new(Code::FS_NOT_FOUND, message))
            }
        }
    }

    /// Returns the path in the repository for a path of the stream.
    pub(super) fn shown_path(&self, path: &str) -> String {
        let path = path.trim_matches('/');
        match self.options.parent_dir.is_empty() {
            true => path.to_owned(),
            false => format!("{}/{path}", self.options.parent_dir),
        }
    }

    fn txn(&mut self) -> Result<&mut Txn> {
        match &mut self.open {
            Some(OpenRevision::Loading(revision)) => Ok(&mut revision.txn),
            _ => Err(Error::bare(Code::FS_NO_SUCH_TRANSACTION)),
        }
    }

    fn add(&mut self, node: &NodeHeaders<'_>, path: &FsPath) -> Result<()> {
        let Some((rev, source)) = &node.copyfrom else {
            return match node.kind {
                Some(NodeKind::File) => self.txn()?.make_file(path),
                Some(NodeKind::Dir) => self.txn()?.make_dir(path),
                _ => Ok(()),
            };
        };
        let rev = self.numbers.source(*rev).map_err(|moved| {
            Error::new(
                Code::FS_NO_SUCH_REVISION,
                format!("Relative source revision {moved} is not available in current repository"),
            )
        })?;
        let from = self.group.borrow().commits.fs().root(rev)?;
        let source = match self.path(source) {
            Ok(source) if !node.is_source_bad => source,
            // No node has such a path.
            _ => {
                let path = self.shown_path(source);
                let message = format!("File not found: revision {rev}, path '/{path}'");
                return Err(Error::new(Code::FS_NOT_FOUND, message));
            }
        };
        if let Some(expected) = &node.copy_source_md5 {
            let actual = from.node(&absolute(&source))?.md5()?;
            if !expected.matches(&actual) {
                let base = self.numbers.original();
                return Err(Error::new(
                    Code::CHECKSUM_MISMATCH,
                    format!(
                        "Copy source checksum mismatch on copy from '{source}'@{rev}\nto '{}' in rev based on r{base}:\n   expected:  {expected}\n     actual:  {actual}\n",
                        path.rel_str()
                    ),
                ));
            }
        }
        self.txn()?.copy(&from, &absolute(&source), path)?;
        self.tell(LoadEvent::Copied)
    }

    fn props<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        path: &FsPath,
        reader: &mut DumpReader<R>,
    ) -> Result<()> {
        if !node.prop_delta {
            self.remove_props(path)?;
        }
        while let Some((name, value)) = reader.next_prop()? {
            let value = match value {
                None => None,
                Some(value) => {
                    let events = &mut self.group.borrow_mut().events;
                    let value = prop::translate(&name, value, self.options, &self.numbers, events)?;
                    Some(value)
                }
            };
            self.txn()?.change_prop(path, &name, value.as_deref())?;
        }
        Ok(())
    }

    /// A whole list follows: properties that it does not name are deleted.
    fn remove_props(&mut self, path: &FsPath) -> Result<()> {
        let txn = self.txn()?;
        let old = txn.root()?.node(path)?.props()?;
        old.keys().try_for_each(|name| txn.change_prop(path, name, None))
    }

    fn text<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        path: &FsPath,
        reader: &mut DumpReader<R>,
        cancel: &Cancel,
    ) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(PIECE, 0);
        let outcome = self.text_through(node, path, reader, cancel, &mut buffer);
        self.buffer = buffer;
        outcome
    }

    fn text_through<R: BufRead>(
        &mut self,
        node: &NodeHeaders<'_>,
        path: &FsPath,
        reader: &mut DumpReader<R>,
        cancel: &Cancel,
        buffer: &mut [u8],
    ) -> Result<()> {
        let txn = self.txn()?;
        let md5 = if node.text_delta && !reader.is_plain_text() {
            let mut writer = txn.apply_textdelta(path, node.delta_base_md5.as_ref(), None)?;
            let mut decoder = Decoder::new();
            loop {
                let length = reader.read_text(buffer)?;
                if length == 0 {
                    break;
                }
                cancel.check()?;
                decoder.push(&buffer[..length], |window| {
                    writer.chunk(TextChunk::Encoded(window))
                })?;
            }
            decoder.finish()?;
            writer.finish(txn)?
        } else {
            let mut writer = txn.apply_text(path, None)?;
            loop {
                let length = reader.read_text(buffer)?;
                if length == 0 {
                    break;
                }
                cancel.check()?;
                writer.write(&buffer[..length])?;
            }
            writer.finish(txn)?
        };
        match &node.content_md5 {
            Some(expected) if !expected.matches(&md5) => Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!("Checksum mismatch for '{path}':\n   expected:  {expected}\n     actual:  {md5}\n"),
            )),
            _ => Ok(()),
        }
    }
}

/// Refuses malformed MD5 digests. The incumbent does so in skipped revisions too.
pub(super) fn check_digests(node: &NodeHeaders<'_>) -> Result<()> {
    match node.has_bad_md5 {
        true => {
            let message = "Invalid character in hex checksum";
            Err(Error::new(Code::BAD_CHECKSUM_PARSE, message))
        }
        false => Ok(()),
    }
}

fn not_utf8(path: &str) -> Error {
    Error::new(Code::FS_PATH_SYNTAX, format!("Path '{path}' is not in UTF-8"))
}

/// Bytes of text that are passed on at once.
const PIECE: usize = 64 << 10;
