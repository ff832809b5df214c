//! A copy of a response's body that is made while it is sent, so that it can be cached. Its length is bounded, and so is that of all
//! copies together.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Longer bodies are not recorded, bytes.
const MAX_ONE: usize = 32 << 20;
/// The limit on all recordings together, bytes: clients that read slowly must not fill the memory.
const MAX_ALL: usize = 64 << 20;

/// The pieces of a body that have been sent. Clones of handles, not of bytes.
#[derive(Default)]
pub(super) struct BodyRecording {
    pieces: Vec<Bytes>,
    bytes: usize,
}

/// Bytes of all recordings.
static RECORDED: AtomicUsize = AtomicUsize::new(0);

impl BodyRecording {
    /// Adds a piece; returns false if the recording has become too long.
    pub(super) fn add(&mut self, piece: &Bytes) -> bool {
        self.bytes += piece.len();
        let all = RECORDED.fetch_add(piece.len(), Ordering::Relaxed) + piece.len();
        if self.bytes > MAX_ONE || all > MAX_ALL {
            return false;
        }
        self.pieces.push(piece.clone());
        true
    }

    /// Takes the pieces, in their order.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.pieces)
    }
}

impl Drop for BodyRecording {
    fn drop(&mut self) {
        RECORDED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_bounded() {
        let half = Bytes::from(vec![0; MAX_ONE / 2]);
        let mut first = BodyRecording::default();
        assert!(first.add(&half) && first.add(&half));
        assert!(!first.add(&Bytes::from_static(b"x")));
        let mut second = BodyRecording::default();
        assert!(second.add(&half));
        assert!(!second.add(&half));
        drop((first, second));
        assert_eq!(RECORDED.load(Ordering::Relaxed), 0);
    }
}
