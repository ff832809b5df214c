//! A copy of a response's body that is made while it is sent, so that it can be cached. Its length is bounded, and so is that of all
//! copies together.

use std::sync::Arc;

use bytes::Bytes;

use crate::net::{Quota, QuotaShare};

/// Longer bodies are not recorded, bytes.
const MAX_ONE: u64 = 32 << 20;

/// The pieces of a body that have been sent. Clones of handles, not of bytes.
pub(crate) struct BodyRecording {
    pieces: Vec<Bytes>,
    bytes: u64,
    share: QuotaShare,
}

impl BodyRecording {
    /// Begins a recording, which holds a share of what all recordings may hold.
    pub(super) fn new(all: &Arc<Quota>) -> BodyRecording {
        BodyRecording {
            pieces: Vec::new(),
            bytes: 0,
            share: all.of(None),
        }
    }

    /// Adds a piece; returns false if the recording has become too long.
    pub(crate) fn add(&mut self, piece: &Bytes) -> bool {
        self.bytes += piece.len() as u64;
        let fits = self.bytes <= MAX_ONE && self.share.set(self.bytes);
        if fits {
            self.pieces.push(piece.clone());
        }
        fits
    }

    /// Takes the pieces, in their order.
    pub(crate) fn take(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_bounded() {
        let all = Quota::new(2 * MAX_ONE, 2 * MAX_ONE);
        let half = Bytes::from(vec![0; (MAX_ONE / 2) as usize]);
        let mut first = BodyRecording::new(&all);
        assert!(first.add(&half) && first.add(&half));
        assert!(!first.add(&Bytes::from_static(b"x")));
        let (mut second, mut third) = (BodyRecording::new(&all), BodyRecording::new(&all));
        assert!(second.add(&half) && third.add(&half));
        assert!(!second.add(&half));
        drop((first, second, third));
        assert_eq!(all.held(), 0);
    }
}
