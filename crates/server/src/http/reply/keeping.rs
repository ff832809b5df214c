//! What is kept of an answer while it is sent, for whoever asks the same next: within bounds, for each and for all.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Longer answers are not kept, bytes.
const KEPT: usize = 32 << 20;
/// The most of all answers that are being sent and kept, bytes: whoever reads slowly is not to fill the memory with them.
const ALL_KEPT: usize = 64 << 20;

/// An answer that is being kept.
#[derive(Default)]
pub(super) struct Keeping {
    pieces: Vec<Bytes>,
    bytes: usize,
}

/// Bytes of all of them.
static KEEPING: AtomicUsize = AtomicUsize::new(0);

impl Keeping {
    /// Keeps another piece, unless it is too much.
    pub(super) fn add(&mut self, piece: &Bytes) -> bool {
        self.bytes += piece.len();
        let all = KEEPING.fetch_add(piece.len(), Ordering::Relaxed) + piece.len();
        if self.bytes > KEPT || all > ALL_KEPT {
            return false;
        }
        self.pieces.push(piece.clone());
        true
    }

    /// The pieces, in their order.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.pieces)
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        KEEPING.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_within_bounds() {
        let half = Bytes::from(vec![0; KEPT / 2]);
        let mut first = Keeping::default();
        assert!(first.add(&half) && first.add(&half));
        assert!(!first.add(&Bytes::from_static(b"x")));
        let mut second = Keeping::default();
        assert!(second.add(&half));
        assert!(!second.add(&half));
        drop((first, second));
        assert_eq!(KEEPING.load(Ordering::Relaxed), 0);
    }
}
