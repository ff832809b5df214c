//! A delta window with decoded instructions.
//!
//! (The delta helper completes this: apply, compose, checks.)

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

/// A window: how to make the next piece of the target from a view of the source and new data.
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
    /// What `New` instructions consume, in order.
    pub new_data: Vec<u8>,
}
