//! A delta window with decoded instructions: it makes at most [`WINDOW_SIZE`] bytes of a target from a view of a
//! source, the target's own beginning, and new data.
//!
//! A window may come from any peer, so it is not trusted: [`Window::apply`] checks each instruction as it runs,
//! [`Window::validate`] checks all of them without running any.

use crate::svndiff_error::SvndiffError;

/// Largest target (and source) view of a window, in bytes.
pub const WINDOW_SIZE: usize = 102_400;

/// One instruction of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Copies `len` bytes from `offset` of the source view.
    Source {
        /// Offset in the source view, bytes.
        offset: u32,
        /// Bytes, never 0.
        len: u32,
    },
    /// Copies `len` bytes from `offset` of this window's own target, byte by byte: it may overlap its own output.
    Target {
        /// Offset in the target view, below the current position.
        offset: u32,
        /// Bytes, never 0.
        len: u32,
    },
    /// Takes the next `len` bytes of the new data.
    New {
        /// Bytes, never 0.
        len: u32,
    },
}

impl Op {
    /// Bytes of target that the instruction makes.
    #[expect(clippy::len_without_is_empty, reason = "no instruction is empty")]
    pub fn len(self) -> u32 {
        match self {
            Op::Source { len, .. } | Op::Target { len, .. } | Op::New { len } => len,
        }
    }
}

/// A window: it makes the next block of the target from a view of the source and new data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where the source view starts, bytes from the start of the source.
    pub source_offset: u64,
    /// Length of the source view, bytes.
    pub source_len: u32,
    /// Length of the target made, bytes.
    pub target_len: u32,
    /// The instructions, in order.
    pub ops: Vec<Op>,
    /// The bytes of `New` instructions, in order.
    pub new_data: Vec<u8>,
}

impl Window {
    /// Makes the window that inserts `text`, which has at most [`WINDOW_SIZE`] bytes.
    pub fn insertion(text: &[u8]) -> Self {
        debug_assert!(text.len() <= WINDOW_SIZE);
        let len = text.len() as u32;
        Window {
            target_len: len,
            ops: (len > 0).then_some(Op::New { len }).into_iter().collect(),
            new_data: text.to_vec(),
            ..Window::default()
        }
    }

    /// True if the target depends on the source.
    pub fn has_source_ops(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Source { .. }))
    }

    /// Checks everything that [`Window::apply`] checks, given a source view of [`Window::source_len`] bytes.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of an instruction or a length.
    pub fn validate(&self) -> Result<(), SvndiffError> {
        if self.source_len as usize > WINDOW_SIZE || self.target_len as usize > WINDOW_SIZE {
            return Err(SvndiffError::TooLong);
        }
        let mut made = 0u32;
        let mut taken = 0usize;
        for (at, op) in self.ops.iter().enumerate() {
            let at = at as u32;
            let len = op.len();
            if len == 0 {
                return Err(SvndiffError::ZeroLength(at));
            }
            if len > self.target_len - made {
                return Err(SvndiffError::TargetOverflow(at));
            }
            match *op {
                Op::Source { offset, .. } if offset > self.source_len || len > self.source_len - offset => {
                    return Err(SvndiffError::SourceOverflow(at));
                }
                Op::Target { offset, .. } if offset >= made => return Err(SvndiffError::TargetAhead(at)),
                Op::New { .. } if len as usize > self.new_data.len() - taken => {
                    return Err(SvndiffError::NewDataMissing(at));
                }
                Op::New { .. } => taken += len as usize,
                Op::Source { .. } | Op::Target { .. } => {}
            }
            made += len;
        }
        if made != self.target_len {
            return Err(SvndiffError::TargetShort);
        }
        if taken != self.new_data.len() {
            return Err(SvndiffError::NewDataLeft);
        }
        Ok(())
    }

    /// Appends an instruction, or extends the last one if that has the same effect.
    pub(crate) fn push_op(&mut self, op: Op) {
        match (self.ops.last_mut(), op) {
            (Some(Op::New { len }), Op::New { len: more }) => *len += more,
            (
                Some(Op::Source { offset, len }),
                Op::Source {
                    offset: next,
                    len: more,
                },
            ) if *offset + *len == next => {
                *len += more;
            }
            (
                Some(Op::Target { offset, len }),
                Op::Target {
                    offset: next,
                    len: more,
                },
            ) if *offset + *len == next => {
                *len += more;
            }
            _ => self.ops.push(op),
        }
    }
}
