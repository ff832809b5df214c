//! Runs instructions into a target buffer: the inner loop of decoded and encoded windows.

use crate::svndiff_error::SvndiffError;
use crate::window::{Op, WINDOW_SIZE, Window};

/// Makes one window's target at the end of a buffer. Every instruction is checked before it writes. After an error
/// the buffer holds the bytes made before, and the owner truncates it.
pub(crate) struct Applier<'a> {
    source: &'a [u8],
    new_data: &'a [u8],
    target: &'a mut Vec<u8>,
    start: usize,
    end: usize,
    instruction: u32,
}

impl<'a> Applier<'a> {
    /// `source` is the source view, `target_len` the bytes to append to `target`.
    pub(crate) fn new(
        source: &'a [u8],
        new_data: &'a [u8],
        target: &'a mut Vec<u8>,
        target_len: u32,
    ) -> Result<Self, SvndiffError> {
        let target_len = target_len as usize;
        if target_len > WINDOW_SIZE {
            return Err(SvndiffError::TooLong);
        }
        target.reserve(target_len);
        let start = target.len();
        Ok(Applier {
            source,
            new_data,
            target,
            start,
            end: start + target_len,
            instruction: 0,
        })
    }

    #[inline]
    pub(crate) fn run(&mut self, op: Op) -> Result<(), SvndiffError> {
        let (Op::Source { len, .. } | Op::Target { len, .. } | Op::New { len }) = op;
        let len = len as usize;
        if len == 0 {
            return Err(SvndiffError::ZeroLength(self.instruction));
        }
        if len > self.end - self.target.len() {
            return Err(SvndiffError::TargetOverflow(self.instruction));
        }
        match op {
            Op::Source { offset, .. } => {
                let offset = offset as usize;
                let Some(bytes) = self.source.get(offset..offset + len) else {
                    return Err(SvndiffError::SourceOverflow(self.instruction));
                };
                self.target.extend_from_slice(bytes);
            }
            Op::Target { offset, .. } => {
                let from = self.start + offset as usize;
                if from >= self.target.len() {
                    return Err(SvndiffError::TargetAhead(self.instruction));
                }
                repeat_within(self.target, from, len);
            }
            Op::New { .. } => {
                let Some((bytes, rest)) = self.new_data.split_at_checked(len) else {
                    return Err(SvndiffError::NewDataMissing(self.instruction));
                };
                self.target.extend_from_slice(bytes);
                self.new_data = rest;
            }
        }
        self.instruction += 1;
        Ok(())
    }

    /// Checks that the target is full and the new data is used up.
    pub(crate) fn finish(self) -> Result<(), SvndiffError> {
        if self.target.len() != self.end {
            return Err(SvndiffError::TargetShort);
        }
        if !self.new_data.is_empty() {
            return Err(SvndiffError::NewDataLeft);
        }
        Ok(())
    }
}

/// Appends `len` bytes of `buffer` from `from` on, byte by byte in effect: where the range reaches the end of the
/// buffer it continues with the bytes just appended.
fn repeat_within(buffer: &mut Vec<u8>, from: usize, len: usize) {
    let mut left = len;
    while left > 0 {
        // Each round doubles the bytes to copy; whole periods keep the pattern aligned.
        let piece = left.min(buffer.len() - from);
        buffer.extend_from_within(from..from + piece);
        left -= piece;
    }
}

impl Window {
    /// Appends the target that this window makes from `source_view` to `target`. `source_view` holds the
    /// [`Window::source_len`] bytes of the source from [`Window::source_offset`] on; more are ignored.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of an instruction or a length; `target` is then as long as before.
    pub fn apply(&self, source_view: &[u8], target: &mut Vec<u8>) -> Result<(), SvndiffError> {
        let start = target.len();
        let result = self.apply_from(source_view, target);
        if result.is_err() {
            target.truncate(start);
        }
        result
    }

    fn apply_from(&self, source_view: &[u8], target: &mut Vec<u8>) -> Result<(), SvndiffError> {
        let view = &source_view[..source_view.len().min(self.source_len as usize)];
        let mut applier = Applier::new(view, &self.new_data, target, self.target_len)?;
        for op in &self.ops {
            applier.run(*op)?;
        }
        applier.finish()
    }
}
