//! The text of a file, written while it comes in.
//!
//! Bytes are collected to windows. Of each window the digests are taken here; matching it against the base, compressing and
//! writing it is a second thread's work once a text is long ([`DeltaOutput::Beside`]): the two halves take about equally long.
//! Between them are a few windows and no more, so whoever is slower holds the other up, and memory does not grow
//! with the text.
//!
//! A window that a client has encoded just as we would is stored as it came; only its digests are taken here.

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
use crate::format::rep_line::{Rep, RepPlace, Uniquifier};
use crate::tree::Fs;
use crate::tree::rep::with_codec;
use crate::txn::proto_rev::{ProtoRev, ProtoWriter};

/// A text on its way into a proto-revision file, whose lock it holds. Dropping it takes the text back.
pub(crate) struct RepWriter {
    output: DeltaOutput,
    /// The window that is being filled; after the end, the text if it is that short.
    window: Vec<u8>,
    /// How the window is stored, if it came so; else empty.
    encoded: Vec<u8>,
    /// Windows may be stored as they come.
    accepts_encoded: bool,
    windows: u64,
    /// Without SHA-1 in formats that do not record it.
    digests: TextDigests,
    expanded: u64,
    /// The digests of the whole text, after its end.
    final_digests: Option<(Md5, Option<Sha1>)>,
}

/// Who makes the delta.
enum DeltaOutput {
    /// This thread.
    Inline(Box<DeltaWriter>),
    /// Another one.
    Threaded(Box<WriterThread>),
    /// Nobody any more: it failed.
    Failed,
}

/// A thread that writes a delta.
struct WriterThread {
    full: Option<Sender<QueuedWindow>>,
    empty: Receiver<Vec<u8>>,
    handle: Option<JoinHandle<Result<Box<DeltaWriter>>>>,
}

/// Writes windows as a delta into the proto-revision file.
struct DeltaWriter {
    proto: ProtoWriter,
    encoder: Encoder,
    offset: u64,
    /// Bytes of the body.
    length: u64,
}

/// A window on its way to the file.
enum QueuedWindow {
    /// The text.
    Text(Vec<u8>),
    /// As it is stored.
    Encoded(Vec<u8>),
}

/// Texts with more windows than this get a second thread.
const MAX_INLINE_WINDOWS: u64 = 8;

/// Windows between two threads.
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

    /// The next bytes of the text, any number.
    ///
    /// # Errors
    /// Those of reading the base; the system's. After an error nothing more is taken.
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

    /// The next bytes of the text, which `window` made.
    ///
    /// # Errors
    /// As [`RepWriter::write`].
    pub(crate) fn write_encoded(&mut self, window: &EncodedWindow<'_>, made: &[u8]) -> Result<()> {
        if self.window.len() == WINDOW_SIZE {
            self.finish_window()?;
        }
        let is_new = self.accepts_encoded && self.window.is_empty();
        self.write(made)?;
        // Whatever is written behind it fills the window up, and then it is not what came.
        if is_new && self.window.len() == made.len() {
            with_codec(|codec| window.write_packed_insertion(codec, &mut self.encoded));
        }
        Ok(())
    }

    /// Ends the text; returns its digest. It is not stored yet: the caller may compare and drop it.
    ///
    /// # Errors
    /// As [`RepWriter::write`].
    pub(crate) fn end(&mut self) -> Result<Md5> {
        if let Some((md5, _)) = self.final_digests {
            return Ok(md5);
        }
        // A short text stays at hand, for comparisons.
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

    /// After [`RepWriter::end`]: stores the text, or finds it stored already, and gives the lock back. The rep is either of
    /// this transaction (`RepPlace::Txn`) or of a revision. `uniquifier` in formats that have one (4 and later).
    ///
    /// # Errors
    /// `FS_CORRUPT` for what sharing meets, `FS_AMBIGUOUS_CHECKSUM_REP`; the system's.
    pub(crate) fn store(mut self, uniquifier: Option<Uniquifier>, sharing: &mut RepSharing) -> Result<Rep> {
        self.end()?;
        let (Some((md5, sha1)), DeltaOutput::Inline(mut writer)) = (self.final_digests, self.output) else {
            return Err(failed_before());
        };
        let mut rep = Rep {
            place: RepPlace::Txn(0),
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
        rep.place = RepPlace::Txn(item);
        sharing.add_text(rep);
        Ok(rep)
    }

    fn digest(&mut self) {
        self.digests.update(&self.window);
        self.expanded += self.window.len() as u64;
    }

    /// Hands the window on.
    fn finish_window(&mut self) -> Result<()> {
        if self.windows == MAX_INLINE_WINDOWS
            && let DeltaOutput::Inline(writer) = std::mem::replace(&mut self.output, DeltaOutput::Failed)
        {
            self.output = WriterThread::start(writer);
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
                    // It ended before its time: it says why.
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
    /// Lets another thread go on; this one, if there cannot be another.
    fn start(writer: Box<DeltaWriter>) -> DeltaOutput {
        let (full, windows) = bounded::<QueuedWindow>(QUEUE_LEN);
        let (used, empty) = bounded(QUEUE_LEN + 1);
        // The thread gets the writer when it is there: one that cannot be started would take it along.
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

    /// Waits for the end of the thread.
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
        // The lock is given back when this returns.
        drop(self.join());
    }
}

fn failed_before() -> Error {
    Error::new(Code::FS_GENERAL, "Writing the text has failed before")
}
