//! The incremental decoder: documents that arrive in parts, from a peer or in a dump stream.

use base::{Error, Result};

use super::encoded::{EncodedWindow, Parsed};
use super::{HEADER_LEN, SvndiffError, parse_header};

/// Takes a document part by part and passes on each window as soon as it is complete. It holds at most one incomplete
/// window; windows within one part are never copied.
///
/// Only this decoder checks that source views do not slide backwards: stored deltas that are read window by window do
/// not have that rule.
///
/// After an error every further call fails with the same one.
#[derive(Default)]
pub struct Decoder {
    version: Option<u8>,
    /// The beginning of a window (or of the document's header).
    held: Vec<u8>,
    /// The length of `held` at which it is parsed again.
    need: usize,
    /// Start and end of the last source view that was not empty.
    view: (u64, u64),
    failed: Option<Error>,
}

impl Decoder {
    /// Expects the first byte of a document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the document's version, once its header has arrived.
    pub fn version(&self) -> Option<u8> {
        self.version
    }

    /// Takes the next bytes and calls `sink` for each window that they complete, in order.
    ///
    /// # Errors
    /// E185000, E185001, E185002, and whatever `sink` returns.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(&EncodedWindow<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.take(bytes, &mut sink);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
            self.held = Vec::new();
        }
        result
    }

    /// Ends the document.
    ///
    /// # Errors
    /// E185004 inside the header or a window.
    pub fn finish(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None if self.version.is_none() || !self.held.is_empty() => {
                Err(SvndiffError::UnexpectedEnd.into())
            }
            None => Ok(()),
        }
    }

    fn take(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FnMut(&EncodedWindow<'_>) -> Result<()>,
    ) -> Result<()> {
        while !self.held.is_empty() {
            let missing = self.need.saturating_sub(self.held.len()).max(1);
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            self.held.extend_from_slice(piece);
            bytes = rest;
            if self.held.len() < self.need {
                return Ok(());
            }
            // Only one window is held, so it is complete exactly when all of it is.
            let held = std::mem::take(&mut self.held);
            let used = self.consume(&held, sink)?;
            self.held = held;
            self.held.drain(..used);
            if bytes.is_empty() {
                return Ok(());
            }
        }
        let used = self.consume(bytes, sink)?;
        self.held.extend_from_slice(&bytes[used..]);
        Ok(())
    }

    /// Processes the complete windows at the front of `bytes`; returns their length.
    fn consume(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(&EncodedWindow<'_>) -> Result<()>,
    ) -> Result<usize> {
        let mut used = 0;
        let version = match self.version {
            Some(version) => version,
            None => match parse_header(bytes)? {
                Parsed::Complete(version) => {
                    used = HEADER_LEN;
                    *self.version.insert(version)
                }
                Parsed::Incomplete { need } => {
                    self.need = need;
                    return Ok(0);
                }
            },
        };
        while used < bytes.len() {
            match EncodedWindow::parse(version, &bytes[used..])? {
                Parsed::Complete(window) => {
                    self.check_view(&window)?;
                    sink(&window)?;
                    used += window.raw.len();
                }
                Parsed::Incomplete { need } => {
                    self.need = need;
                    break;
                }
            }
        }
        Ok(used)
    }

    fn check_view(&mut self, window: &EncodedWindow<'_>) -> Result<(), SvndiffError> {
        if window.source_len > 0 {
            let start = window.source_offset;
            let end = start + u64::from(window.source_len);
            if start < self.view.0 || end < self.view.1 {
                return Err(SvndiffError::BackwardView);
            }
            self.view = (start, end);
        }
        Ok(())
    }
}
