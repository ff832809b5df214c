//! Receives the revisions of the file.

use base::{Code, Error, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::Codec;
use ra::{FileRev, FileRevSink};

use super::attribution::Attribution;
use super::{Blame, BlameOptions, BlameRevision};

/// Builds the lists of revisions.
pub struct BlameSink {
    options: BlameOptions,
    start: Revnum,
    is_reverse: bool,
    revisions: Vec<BlameRevision>,
    /// The text of the revision before, and what has arrived of the next one.
    text: Vec<u8>,
    next: Vec<u8>,
    own: Attribution,
    /// With merged revisions: the attribution to all revisions, and the text of the last revision of the file itself, if it is not the
    /// one before.
    merged: Option<Attribution>,
    own_text: Option<Vec<u8>>,
    /// The revision whose text arrives.
    current: Option<FileRev>,
    /// Youngest first: the index of the revision of the text before.
    younger: Option<u32>,
    codec: Codec,
}

impl BlameSink {
    /// Returns the receiver for a range of revisions.
    pub fn new(start: Revnum, end: Revnum, options: &BlameOptions) -> BlameSink {
        BlameSink {
            options: *options,
            start,
            is_reverse: start > end,
            revisions: Vec::new(),
            text: Vec::new(),
            next: Vec::new(),
            own: Attribution::new(options.diff),
            merged: options.include_merged.then(|| Attribution::new(options.diff)),
            own_text: None,
            current: None,
            younger: None,
            codec: Codec::new(),
        }
    }

    /// Returns the result.
    pub fn finish(self, start: Revnum, end: Revnum) -> Blame {
        Blame {
            start,
            end,
            text: self.text,
            revisions: self.revisions,
            own: self.own.finish(),
            merged: self.merged.map(Attribution::finish),
        }
    }

    /// Returns the index of a revision in the list.
    fn add(&mut self, rev: FileRev) -> u32 {
        let FileRev {
            path,
            rev,
            mut revprops,
            ..
        } = rev;
        self.revisions.push(BlameRevision {
            rev,
            path,
            author: revprops.remove(props::AUTHOR),
            date: revprops.remove(props::DATE),
        });
        u32::try_from(self.revisions.len() - 1).unwrap_or(u32::MAX)
    }

    /// Follows the step to the text that has arrived.
    fn step(&mut self, rev: FileRev) {
        let is_merged = rev.merged;
        let counts = is_merged || rev.rev >= self.start;
        let index = self.add(rev);
        let index = match self.is_reverse {
            // A line that is not in the younger text was changed there.
            true => self.younger.replace(index),
            false => counts.then_some(index),
        };
        let (old, new) = (&self.text, &self.next);
        if let Some(merged) = &mut self.merged {
            merged.advance(old, new, index);
        }
        if !is_merged {
            let own_text = self.own_text.take();
            self.own.advance(own_text.as_ref().unwrap_or(old), new, index);
        } else if self.own_text.is_none() {
            self.own_text = Some(std::mem::take(&mut self.text));
        }
        std::mem::swap(&mut self.text, &mut self.next);
    }
}

impl FileRevSink for BlameSink {
    fn revision(&mut self, rev: &FileRev) -> Result<()> {
        let is_first = self.revisions.is_empty() && self.current.is_none();
        if self.is_reverse && is_first && !self.options.force {
            let is_binary = rev.prop_changes.iter().any(|(name, value)| {
                let value = value.as_ref().filter(|_| name == props::MIME_TYPE);
                value.is_some_and(|value| props::mime_type_is_binary(value))
            });
            if is_binary {
                return Err(super::is_binary());
            }
        }
        self.next.clear();
        self.current = Some(rev.clone());
        Ok(())
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        let (offset, len) = match chunk {
            TextChunk::Decoded(window) => (window.source_offset, window.source_len),
            TextChunk::Encoded(window) => (window.source_offset, window.source_len),
        };
        let view = view(&self.text, offset, len).ok_or_else(|| {
            let message = "A delta reads beyond the end of its source";
            Error::new(Code::SVNDIFF_CORRUPT_WINDOW, message)
        })?;
        match chunk {
            TextChunk::Decoded(window) => window.apply(view, &mut self.next)?,
            TextChunk::Encoded(window) => window.apply(view, &mut self.next, &mut self.codec)?,
        }
        Ok(())
    }

    fn text_end(&mut self) -> Result<()> {
        if let Some(rev) = self.current.take() {
            self.step(rev);
        }
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }
}

fn view(text: &[u8], offset: u64, len: u32) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let len = usize::try_from(len).ok()?;
    text.get(start..start.checked_add(len)?)
}
