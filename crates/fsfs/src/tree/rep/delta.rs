//! [`DeltaStream`]: the delta between two contents, as a stream of windows.
//!
//! Stored contents are deltas already. If the delta base of the target is exactly the source (an absent source is the
//! empty text), the stored windows are passed on as they are: without decompressing, matching or hashing. Otherwise
//! both contents are rebuilt and compared.

use std::cell::RefCell;

use base::Result;
use delta::editor::{EncodedVersions, TextChunk};
use delta::window::Window;
use delta::xdelta::Matcher;

use super::chain::RepAddress;
use super::open_rep::OpenRep;
use super::text::TextReader;
use super::with_codec;
use crate::format::id::TxnId;
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::Rep;
use crate::tree::Fs;

/// A text delta that is not read yet.
pub struct DeltaStream {
    windows: DeltaWindows,
    /// The filesystem, whose cache has the counters.
    fs: Fs,
}

/// Where the windows come from.
enum DeltaWindows {
    /// The windows of the stored delta.
    Stored(Box<OpenRep>, EncodedVersions),
    /// New windows from both contents.
    Rebuilt {
        source: Box<TextReader>,
        target: Box<TextReader>,
    },
}

/// A rep line, and the transaction if its node belongs to one.
pub(crate) type RepOf<'a> = (Option<&'a Rep>, Option<TxnId>);

impl DeltaStream {
    /// The delta from `source` (`None` is the empty text) to `target`.
    pub(crate) fn new(
        fs: &Fs,
        source: Option<RepOf<'_>>,
        target: RepOf<'_>,
        accepts: EncodedVersions,
    ) -> Result<Self> {
        if let (Some(rep), txn) = target {
            let level = OpenRep::open(fs, RepAddress::of(rep, txn)?, rep.length)?;
            let matches = match (level.header, source) {
                (RepHeader::SelfDelta, None) => true,
                (RepHeader::Delta { rev, item, .. }, Some((Some(base), txn))) => {
                    RepAddress::of(base, txn)? == RepAddress::Rev(rev, item)
                }
                _ => false,
            };
            if matches {
                return Ok(DeltaStream {
                    windows: DeltaWindows::Stored(Box::new(level), accepts),
                    fs: fs.clone(),
                });
            }
        }
        let reader = |(rep, txn): RepOf<'_>| TextReader::new(fs, rep, txn).map(Box::new);
        let (source, target) = (reader(source.unwrap_or((None, None)))?, reader(target)?);
        Ok(DeltaStream {
            windows: DeltaWindows::Rebuilt { source, target },
            fs: fs.clone(),
        })
    }

    /// Leaves the check of rebuilt contents against their MD5 to the receiver. For clients that get the digests of
    /// both texts with the delta and check them, as they must for stored windows anyway.
    pub fn unchecked(self) -> Self {
        let windows = match self.windows {
            DeltaWindows::Rebuilt { source, target } => DeltaWindows::Rebuilt {
                source: Box::new(source.unchecked()),
                target: Box::new(target.unchecked()),
            },
            stored @ DeltaWindows::Stored(..) => stored,
        };
        DeltaStream { windows, ..self }
    }

    /// Calls `sink` for each window in order. Checks the MD5 of rebuilt contents, unless [`DeltaStream::unchecked`]
    /// was called.
    ///
    /// # Errors
    /// `FS_CORRUPT`, svndiff's, the system's, and those of `sink`.
    pub fn drive(self, sink: &mut dyn FnMut(TextChunk<'_>) -> Result<()>) -> Result<()> {
        let counters = &self.fs.cache().counters;
        match self.windows {
            DeltaWindows::Stored(mut level, accepts) => {
                let mut decoded = Window::default();
                let mut at = 0;
                while !level.ends_before(at)? {
                    let window = level.window(at)?;
                    if accepts.contains(window.version) {
                        counters.stored_windows.add();
                        sink(TextChunk::Encoded(&window))?;
                    } else {
                        counters.made_windows.add();
                        with_codec(|codec| window.decode_into(codec, &mut decoded))?;
                        sink(TextChunk::Decoded(&decoded))?;
                    }
                    at += 1;
                }
                Ok(())
            }
            DeltaWindows::Rebuilt {
                mut source,
                mut target,
            } => {
                let mut window = Window::default();
                let mut source_offset = 0;
                loop {
                    let to = target.next_piece()?;
                    if to.bytes().is_empty() {
                        return Ok(());
                    }
                    let from = source.next_piece()?;
                    with_matcher(|matcher| {
                        matcher.window_into(source_offset, from.bytes(), to.bytes(), &mut window);
                    });
                    counters.made_windows.add();
                    sink(TextChunk::Decoded(&window))?;
                    source_offset += from.bytes().len() as u64;
                }
            }
        }
    }
}

/// Runs `f` with the matcher of this thread.
fn with_matcher<T>(f: impl FnOnce(&mut Matcher) -> T) -> T {
    thread_local! {
        static MATCHER: RefCell<Matcher> = RefCell::new(Matcher::new());
    }
    MATCHER.with(|matcher| f(&mut matcher.borrow_mut()))
}
