//! [`EncodedText`]: a content as encoded windows against the empty text, as a checkout sends it.
//!
//! If the stored representation is a delta against the empty text, its windows are used as they are. Otherwise the
//! content is rebuilt and encoded. In both cases the cache holds the windows and not the text: they take half of the
//! memory, and the next checkout need not rebuild, compress, or open a file. Readers of the text expand cached
//! windows (see `chain`).
//!
//! Nothing is checked against the MD5, because the receiver gets the digest and checks.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Code, Error, Result};
use delta::editor::WindowForm;
use delta::svndiff::{self, OwnedWindow};

use super::chain::{DeltaChain, RepAddress, cached_chunk};
use super::with_codec;
use crate::format::id::TxnId;
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::{Rep, RepSize};
use crate::store::cache::Key;
use crate::tree::Fs;

/// The windows of a content, one after the other.
pub struct EncodedText {
    /// `None` for a node without a text, and at the end.
    content: Option<WindowReader>,
}

/// Reads, makes and caches windows.
struct WindowReader {
    fs: Fs,
    address: RepAddress,
    chain: DeltaChain,
    form: WindowForm,
    /// The length of the content in bytes, if the rep line has it.
    expected: Option<u64>,
    /// The length of the content up to the next window, bytes.
    made: u64,
    /// The number of the next window.
    next: u64,
    /// True if the windows go into the cache.
    is_cached: bool,
}

impl EncodedText {
    pub(crate) fn new(fs: &Fs, rep: Option<&Rep>, txn: Option<TxnId>, form: WindowForm) -> Result<Self> {
        let Some(rep) = rep else {
            return Ok(EncodedText { content: None });
        };
        let address = RepAddress::of(rep, txn)?;
        let expected = match rep.size() {
            RepSize::Known(size) => Some(size),
            RepSize::DependsOnHeader => None,
        };
        Ok(EncodedText {
            content: Some(WindowReader {
                fs: fs.clone(),
                address,
                chain: DeltaChain::new(fs, address, rep.length),
                form,
                expected,
                made: 0,
                next: 0,
                is_cached: expected.is_some_and(|size| fs.cache().has_room_for(size)),
            }),
        })
    }

    /// The next window; `None` at the end.
    ///
    /// # Errors
    /// `FS_CORRUPT`, svndiff's; the system's.
    pub fn next_window(&mut self) -> Result<Option<Arc<OwnedWindow>>> {
        let Some(content) = &mut self.content else {
            return Ok(None);
        };
        let window = content.next_window()?;
        if window.is_none() {
            self.content = None;
        }
        Ok(window)
    }
}

impl WindowReader {
    fn next_window(&mut self) -> Result<Option<Arc<OwnedWindow>>> {
        let at = self.next;
        let key = window_key(&self.fs, self.address, at, self.form).filter(|_| self.is_cached);
        let cached = key.as_ref().and_then(|key| self.cached(at, key));
        let window = match (cached, key) {
            (Some(window), _) => {
                self.fs.cache().counters.cached_windows.add();
                window
            }
            // The content is complete. When the last window was loaded, [`WindowReader::load`] checked that none
            // follows.
            (None, _) if at > 0 && self.expected == Some(self.made) => return Ok(None),
            (None, _) if self.chain.ends_before(at)? => return Ok(None),
            (None, Some(key)) => {
                let fs = self.fs.clone();
                fs.cache().get_or_load(fs.read_mode(), key, || self.load(at))?
            }
            (None, None) => self.load(at)?,
        };
        self.next += 1;
        self.made += u64::from(window.window()?.target_len);
        Ok(Some(window))
    }

    /// Window `at` from the cache. A compressed window serves a request for windows without compression, too.
    fn cached(&self, at: u64, key: &Key) -> Option<Arc<OwnedWindow>> {
        let cache = self.fs.cache();
        cache
            .get(key)
            .or_else(|| match self.form == WindowForm::new(2, 0) {
                true => cache.get(&window_key(&self.fs, self.address, at, WindowForm::new(2, 1))?),
                false => None,
            })
    }

    fn load(&mut self, at: u64) -> Result<Arc<OwnedWindow>> {
        let window = self.make(at)?;
        let made = self.made + u64::from(window.window()?.target_len);
        if self.expected == Some(made) && !self.chain.ends_before(at + 1)? {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Representation is longer than recorded",
            ));
        }
        Ok(window)
    }

    fn make(&mut self, at: u64) -> Result<Arc<OwnedWindow>> {
        let version = self.form.version();
        let fs = self.fs.clone();
        let counters = &fs.cache().counters;
        let top = self.chain.top()?;
        if top.header == RepHeader::SelfDelta {
            let stored = top.window(at)?;
            if stored.version <= version {
                counters.stored_windows.add();
                return Ok(Arc::new(OwnedWindow::new(stored.version, stored.raw)));
            }
            counters.made_windows.add();
            return encode(version, |out| {
                Ok(with_codec(|codec| {
                    stored.write_as(version, self.form.level(), codec, out)
                })?)
            });
        }
        counters.made_windows.add();
        let level = self.form.level();
        let write = |text: &[u8], out: &mut Vec<u8>| {
            with_codec(|codec| svndiff::write_insertion(text, version, level, codec, out));
        };
        match cached_chunk(&self.fs, self.address, at) {
            Some(chunk) => encode(version, |out| {
                write(chunk.bytes(), out);
                Ok(())
            }),
            None => {
                let text = self.chain.chunk(at)?;
                encode(version, |out| {
                    write(&text, out);
                    Ok(())
                })
            }
        }
    }
}

/// The key of a window; `None` in a transaction, where contents are not cached.
pub(super) fn window_key(fs: &Fs, address: RepAddress, at: u64, form: WindowForm) -> Option<Key> {
    let form = u64::from(form.version()) << 4 | u64::from(form.level() & 15);
    match address {
        RepAddress::Rev(rev, item) => {
            let part = at << 8 | form;
            Some(Key::part::<Arc<OwnedWindow>>(fs.instance(), rev.0, item, part))
        }
        RepAddress::Txn(..) | RepAddress::Unfinished(..) => None,
    }
}

/// Makes a window in the buffer of this thread, so that the cached copy has exactly its length.
fn encode(version: u8, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<Arc<OwnedWindow>> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with(|buffer| {
        let buffer = &mut *buffer.borrow_mut();
        buffer.clear();
        write(buffer)?;
        Ok(Arc::new(OwnedWindow::new(version, buffer)))
    })
}
