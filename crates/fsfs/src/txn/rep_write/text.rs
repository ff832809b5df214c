//! Writing the text of a file while it arrives.
//!
//! Bytes are collected into windows. This thread computes the digests; a second thread makes the delta, compresses and writes it
//! once a text is long ([`DeltaOutput::Threaded`]), because the two halves take about equally long. The queue between them holds
//! a few windows, so the slower side limits the faster one, and memory does not grow with the text.
//!
//! A window that a client has encoded as this module would is stored as it came; only its digests are computed.

use std::thread::JoinHandle;

use ::delta::svndiff::EncodedWindow;
use ::delta::window::WINDOW_SIZE;
use base::checksum::{Md5, Sha1, TextDigests};
use base::{Code, Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::encode::Encoder;
use super::share::{NewContent, RepSharing};
use super::small::{END, append_header};
use crate::format::p2l::ItemKind;
use crate::format::rep_line::{Rep, RepLocation, Uniquifier};
use crate::tree::Fs;
use crate::tree::rep::with_codec;
use crate::txn::proto_rev::{ProtoRev, ProtoWriter};

/// Writes a text to the proto-revision file and holds the lock of that file. Dropping it takes the text back.
pub(crate) struct RepWriter {
    fs: Fs,
    output: DeltaOutput,
    /// The current window; after the end, the whole text if it is not longer than that.
    window: Vec<u8>,
    /// The encoded form of the current window as the client sent it; empty if there is none.
    encoded: Vec<u8>,
    /// True if windows of clients may be stored as they came.
    accepts_encoded: bool,
    windows: u64,
    /// Digests so far, without SHA-1 in formats that do not record it.
    digests: TextDigests,
    expanded: u64,
    /// The digests of the whole text, after its end.
    final_digests: Option<(Md5, Option<Sha1>)>,
}

/// Where the delta is made.
enum DeltaOutput {
    /// On this thread.
    Inline(Box<DeltaWriter>),
    /// On a second thread.
    Threaded(Box<WriterThread>),
    /// Nowhere: an error has occurred.
    Failed,
}

/// A second thread that makes and writes a delta.
struct WriterThread {
    full: Option<Sender<QueuedWindow>>,
    empty: Receiver<Vec<u8>>,
    handle: Option<JoinHandle<Result<Box<DeltaWriter>>>>,
}

/// Makes the delta and writes it to the proto-revision file.
struct DeltaWriter {
    proto: ProtoWriter,
    encoder: Encoder,
    offset: u64,
    /// Length of the body so far, bytes.
    length: u64,
}

/// A window in the queue.
enum QueuedWindow {
    /// The bytes of the text.
    Text(Vec<u8>),
    /// The encoded window.
    Encoded(Vec<u8>),
}

/// Texts with more windows than this use a second thread.
const MAX_INLINE_WINDOWS: u64 = 8;

/// Most windows in the queue.
const QUEUE_LEN: usize = 4;

impl RepWriter {
    /// Starts a text as a delta against `base` (see [`super::delta_base`]).
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN`; those of reading the base; the system's.
    pub(crate) fn begin(fs: &Fs, proto: &ProtoRev, base: Option<Rep>) -> Result<RepWriter> {
        let (mut encoder, header) = Encoder::new(fs, base.as_ref())?;
        let accepts_encoded = encoder.makes_lz4_insertions();
        let mut proto = proto.writer()?;
        let offset = proto.start_item();
        append_header(&mut proto, header)?;
        let start = encoder.start();
        proto.append(start)?;
        let length = start.len() as u64;
        Ok(RepWriter {
            fs: fs.clone(),
            output: DeltaOutput::Inline(Box::new(DeltaWriter {
                proto,
                encoder,
                offset,
                length,
            })),
            window: Vec::new(),
            encoded: Vec::new(),
            accepts_encoded,
            windows: 0,
            digests: TextDigests::new(fs.format().has_rep_sharing()),
            expanded: 0,
            final_digests: None,
        })
    }

    /// Appends bytes of the text, any number.
    ///
    /// # Errors
    /// Those of reading the base; the system's. After an error the text cannot be finished.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.window.len() == WINDOW_SIZE {
                self.finish_window()?;
            }
            self.encoded.clear();
            let length = bytes.len().min(WINDOW_SIZE - self.window.len());
            let (now, later) = bytes.split_at(length);
            self.window.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Appends bytes of the text that are the result of `window`, a window of the client.
    ///
    /// # Errors
    /// As [`RepWriter::write`].
    pub(crate) fn write_encoded(&mut self, window: &EncodedWindow<'_>, made: &[u8]) -> Result<()> {
        if self.window.len() == WINDOW_SIZE {
            self.finish_window()?;
        }
        let is_new = self.accepts_encoded && self.window.is_empty();
        self.write(made)?;
        // More bytes would be added to this window: then the client's form is dropped.
        if is_new && self.window.len() == made.len() {
            with_codec(|codec| window.write_packed_insertion(codec, &mut self.encoded));
        }
        Ok(())
    }

    /// Ends the text; returns its MD5. The text is not stored yet: the caller may compare the digest and drop the writer.
    ///
    /// # Errors
    /// As [`RepWriter::write`].
    pub(crate) fn end(&mut self) -> Result<Md5> {
        if let Some((md5, _)) = self.final_digests {
            return Ok(md5);
        }
        // A short text stays in memory, for comparisons.
        let is_only = self.windows == 0;
        if is_only {
            self.digest();
            match &mut self.output {
                DeltaOutput::Inline(_) if self.window.is_empty() => {}
                DeltaOutput::Inline(writer) if self.encoded.is_empty() => {
                    writer.encode_window(&self.window)?
                }
                DeltaOutput::Inline(writer) => writer.append_encoded(&self.encoded)?,
                DeltaOutput::Threaded(_) | DeltaOutput::Failed => return Err(failed_before()),
            }
        } else {
            self.finish_window()?;
            self.window = Vec::new();
        }
        if let DeltaOutput::Threaded(thread) = &mut self.output {
            let writer = thread.join();
            self.output = DeltaOutput::Failed;
            self.output = DeltaOutput::Inline(writer?);
        }
        let final_digests = std::mem::take(&mut self.digests).finish();
        self.final_digests = Some(final_digests);
        Ok(final_digests.0)
    }

    /// After [`RepWriter::end`]: stores the text, unless it is stored already, and gives the lock back. The address in the result
    /// is in this transaction (`RepLocation::Txn`) or in a revision. `uniquifier` is for formats that have one (4 and later).
    ///
    /// # Errors
    /// `FS_CORRUPT` for wrong rep-cache rows, `FS_AMBIGUOUS_CHECKSUM_REP`; the system's.
    pub(crate) fn store(mut self, uniquifier: Option<Uniquifier>, sharing: &mut RepSharing) -> Result<Rep> {
        self.end()?;
        let (Some((md5, sha1)), DeltaOutput::Inline(mut writer)) = (self.final_digests, self.output) else {
            return Err(failed_before());
        };
        let mut rep = Rep {
            location: RepLocation::Txn(0),
            length: writer.length,
            expanded: self.expanded,
            md5,
            sha1,
            uniquifier,
        };
        let is_at_hand = self.window.len() as u64 == self.expanded;
        let new = NewContent {
            rep,
            offset: writer.offset,
            bytes: is_at_hand.then_some(&self.window),
        };
        if let Some(shared) = sharing.find(&new, &mut writer.proto)? {
            writer.proto.drop_item()?;
            writer.proto.keep()?;
            return Ok(shared);
        }
        writer.proto.append(END)?;
        let item = writer.proto.end_item(ItemKind::FileText, None)?;
        writer.proto.keep()?;
        rep.location = RepLocation::Txn(item);
        sharing.add_text(rep);
        Ok(rep)
    }

    fn digest(&mut self) {
        self.digests.update(&self.window);
        self.expanded += self.window.len() as u64;
    }

    /// Passes the full window to the delta writer.
    fn finish_window(&mut self) -> Result<()> {
        if self.windows == MAX_INLINE_WINDOWS
            && let DeltaOutput::Inline(writer) = std::mem::replace(&mut self.output, DeltaOutput::Failed)
        {
            self.output = WriterThread::start(writer);
            // A long text may arrive slowly.
            self.fs.release_rep_cache();
        }
        self.windows += 1;
        self.digest();
        let result = match &mut self.output {
            DeltaOutput::Inline(writer) if self.encoded.is_empty() => writer.encode_window(&self.window),
            DeltaOutput::Inline(writer) => writer.append_encoded(&self.encoded),
            DeltaOutput::Threaded(thread) => {
                let empty = thread.empty.try_recv().unwrap_or_default();
                let queued = match self.encoded.is_empty() {
                    true => QueuedWindow::Text(std::mem::replace(&mut self.window, empty)),
                    false => QueuedWindow::Encoded(std::mem::replace(&mut self.encoded, empty)),
                };
                match thread.send(queued) {
                    Ok(()) => Ok(()),
                    // The thread has ended early: its result is the reason.
                    Err(()) => thread.join().and_then(|_| Err(failed_before())),
                }
            }
            DeltaOutput::Failed => Err(failed_before()),
        };
        self.window.clear();
        self.encoded.clear();
        if result.is_err() {
            self.output = DeltaOutput::Failed;
        }
        result
    }
}

impl DeltaWriter {
    fn encode_window(&mut self, target: &[u8]) -> Result<()> {
        let window = self.encoder.window(target)?;
        self.length += window.len() as u64;
        self.proto.append(window)
    }

    fn append_encoded(&mut self, window: &[u8]) -> Result<()> {
        self.length += window.len() as u64;
        self.proto.append(window)
    }
}

impl WriterThread {
    /// Continues on a second thread; on this one if no thread can be started.
    fn start(writer: Box<DeltaWriter>) -> DeltaOutput {
        let (full, windows) = bounded::<QueuedWindow>(QUEUE_LEN);
        let (used, empty) = bounded(QUEUE_LEN + 1);
        // The writer is sent to the running thread: if it were moved into the closure, a failed start would drop it.
        let (hand_over, handed) = bounded::<Box<DeltaWriter>>(1);
        let run = move || -> Result<Box<DeltaWriter>> {
            let mut writer = handed.recv().map_err(|_| failed_before())?;
            for queued in windows {
                let mut buffer = match queued {
                    QueuedWindow::Text(text) => {
                        writer.encode_window(&text)?;
                        text
                    }
                    QueuedWindow::Encoded(window) => {
                        writer.append_encoded(&window)?;
                        window
                    }
                };
                buffer.clear();
                _ = used.try_send(buffer);
            }
            Ok(writer)
        };
        let Ok(handle) = std::thread::Builder::new().name("deltify".into()).spawn(run) else {
            return DeltaOutput::Inline(writer);
        };
        match hand_over.send(writer) {
            Ok(()) => DeltaOutput::Threaded(Box::new(WriterThread {
                full: Some(full),
                empty,
                handle: Some(handle),
            })),
            Err(unsent) => DeltaOutput::Inline(unsent.0),
        }
    }

    fn send(&self, queued: QueuedWindow) -> Result<(), ()> {
        match &self.full {
            Some(full) => full.send(queued).map_err(drop),
            None => Err(()),
        }
    }

    /// Waits for the end of the thread and returns the writer.
    fn join(&mut self) -> Result<Box<DeltaWriter>> {
        self.full = None;
        match self.handle.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(failed_before()),
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        // Joined, so that the lock is free when the drop returns.
        drop(self.join());
    }
}

fn failed_before() -> Error {
    Error::new(Code::FS_GENERAL, "Writing the text has failed before")
}
