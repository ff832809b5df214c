//! Sends the content of one node to the editor: entry properties, own properties, text.

use std::collections::HashMap;
use std::rc::Rc;

use base::{PropList, Result, Revnum, props};
use delta::editor::{DirToken, Editor, FileToken, TextChunk};
use fsfs::{Fs, Node};

use super::SentRevisions;
use super::prefetch::PrefetchedEntry;

/// An open node of the edit, by its token.
#[derive(Clone, Copy)]
pub(super) enum OpenNode {
    Dir(DirToken),
    File(FileToken),
}

impl OpenNode {
    fn change(self, editor: &mut dyn Editor, name: &str, value: Option<&[u8]>) -> Result<()> {
        match self {
            OpenNode::Dir(dir) => editor.change_dir_prop(dir, name, value),
            OpenNode::File(file) => editor.change_file_prop(file, name, value),
        }
    }
}

/// Sends properties and texts to the editor. Holds the properties of revisions that were read.
pub(super) struct NodeSender<'a> {
    fs: &'a Fs,
    uuid: String,
    committed: HashMap<Revnum, Rc<CommittedProps>>,
    /// The revisions whose properties were sent. `None` if they are not collected, or if there were too many.
    sent_revisions: Option<SentRevisions>,
}

/// The entry properties that all nodes of one revision share.
struct CommittedProps {
    rev: String,
    date: Option<Vec<u8>>,
    author: Option<Vec<u8>>,
}

impl<'a> NodeSender<'a> {
    /// With `collect`, records the revisions whose properties are sent.
    pub fn new(fs: &'a Fs, collect: bool) -> Self {
        NodeSender {
            fs,
            uuid: fs.uuid(),
            committed: HashMap::new(),
            sent_revisions: collect.then(SentRevisions::default),
        }
    }

    /// Returns the revisions whose properties were sent, if they were collected.
    pub fn into_sent_revisions(self) -> Option<SentRevisions> {
        self.sent_revisions
    }

    /// Sends the entry properties of `target`, the loss of the client's lock (`lock_is_gone`), and the differences of
    /// its properties from `source`'s.
    pub fn props(
        &mut self,
        editor: &mut dyn Editor,
        handle: OpenNode,
        source: Option<&Node>,
        target: &Node,
        lock_is_gone: bool,
        ready: Option<&PrefetchedEntry>,
    ) -> Result<()> {
        if let (Some(rev), Some(revprops)) = (target.created_rev(), ready.and_then(|r| r.revprops.as_ref())) {
            self.remember(rev, revprops);
        }
        self.entry_props(editor, handle, source.is_some(), target)?;
        if lock_is_gone {
            handle.change(editor, props::ENTRY_LOCK_TOKEN, None)?;
        }
        match source {
            None if target.has_props() => {
                let props = match ready {
                    Some(ready) => ready.props.clone(),
                    None => target.props()?,
                };
                for (name, value) in props.iter() {
                    handle.change(editor, name, Some(value))?;
                }
            }
            Some(source) if source.props_differ(target, false)? => {
                let (old, new) = (source.props()?, target.props()?);
                for (name, value) in new.iter().filter(|(name, value)| old.get(*name) != Some(value)) {
                    handle.change(editor, name, Some(value))?;
                }
                for name in old.keys().filter(|name| !new.contains_key(*name)) {
                    handle.change(editor, name, None)?;
                }
            }
            None | Some(_) => {}
        }
        Ok(())
    }

    /// Sends the text of `target` if it differs from `source`'s or if there is no source.
    pub fn text(
        &self,
        editor: &mut dyn Editor,
        file: FileToken,
        source: Option<&Node>,
        target: &Node,
        deltas: bool,
        ready: Option<&PrefetchedEntry>,
    ) -> Result<()> {
        let base = match source {
            None => None,
            Some(source) if source.text_differs(target, true)? => Some(source.md5()?),
            Some(_) => return Ok(()),
        };
        editor.apply_textdelta(file, base.as_ref())?;
        if let Some(windows) = ready
            .and_then(|ready| ready.text.as_ref())
            .filter(|_| deltas && source.is_none())
        {
            for window in windows {
                editor.text_chunk(file, TextChunk::Encoded(&window.window()?))?;
            }
        } else if let (true, None, Some(form)) = (deltas, source, editor.window_form()) {
            let mut text = self.fs.encoded_text(target, form)?;
            while let Some(window) = text.next_window()? {
                editor.text_chunk(file, TextChunk::Encoded(&window.window()?))?;
            }
        } else if deltas {
            // The receiver gets both digests and checks them: see docs/decisions/encoded-windows.md.
            let windows = self
                .fs
                .text_delta(source, target, editor.accepts_encoded())?
                .unchecked();
            windows.drive(&mut |chunk| editor.text_chunk(file, chunk))?;
        }
        editor.text_end(file)
    }

    fn entry_props(
        &mut self,
        editor: &mut dyn Editor,
        handle: OpenNode,
        existed: bool,
        target: &Node,
    ) -> Result<()> {
        let Some(rev) = target.created_rev() else {
            return Ok(());
        };
        let committed = self.committed(rev)?;
        handle.change(editor, props::ENTRY_COMMITTED_REV, Some(committed.rev.as_bytes()))?;
        for (name, value) in [
            (props::ENTRY_COMMITTED_DATE, &committed.date),
            (props::ENTRY_LAST_AUTHOR, &committed.author),
        ] {
            if existed || value.is_some() {
                handle.change(editor, name, value.as_deref())?;
            }
        }
        handle.change(editor, props::ENTRY_UUID, Some(self.uuid.as_bytes()))
    }

    fn committed(&mut self, rev: Revnum) -> Result<Rc<CommittedProps>> {
        if let Some(known) = self.committed.get(&rev) {
            return Ok(known.clone());
        }
        let revprops = self.fs.revprops(rev)?;
        Ok(self.remember(rev, &revprops))
    }

    fn remember(&mut self, rev: Revnum, revprops: &PropList) -> Rc<CommittedProps> {
        let committed = Rc::new(CommittedProps {
            rev: rev.to_string(),
            date: revprops.get(props::DATE).map(<[u8]>::to_vec),
            author: revprops.get(props::AUTHOR).map(<[u8]>::to_vec),
        });
        if let Some(sent_revisions) = &mut self.sent_revisions {
            match sent_revisions.len() < MOST_COLLECTED {
                true => sent_revisions.add(rev, revprops),
                false => self.sent_revisions = None,
            }
        }
        if self.committed.len() >= MOST_REVISIONS_HELD {
            self.committed.clear();
        }
        self.committed.insert(rev, committed.clone());
        committed
    }
}

/// Revisions whose properties are held; beyond that the map is emptied.
const MOST_REVISIONS_HELD: usize = 4096;

/// Maximum number of revisions that are collected.
const MOST_COLLECTED: usize = 1 << 16;
