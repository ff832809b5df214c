//! Buffers for encoding windows, reused from one text to the next.

use delta::svndiff::Codec;
use delta::window::Window;
use delta::xdelta::Matcher;
use parking_lot::Mutex;

/// The buffers of one encoder.
#[derive(Default)]
pub(crate) struct EncoderBuffers {
    pub(crate) matcher: Matcher,
    pub(crate) codec: Codec,
    pub(crate) window: Window,
    pub(crate) out: Vec<u8>,
}

/// Buffers that no encoder uses. An idle connection holds none.
#[derive(Default)]
pub(crate) struct SpareBuffers(Mutex<Vec<EncoderBuffers>>);

/// Most spare buffers.
const MAX_SPARE: usize = 16;

impl SpareBuffers {
    /// Takes spare buffers, or makes new ones.
    pub(crate) fn take(&self) -> EncoderBuffers {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Gives buffers back.
    pub(crate) fn give_back(&self, buffers: EncoderBuffers) {
        let mut spare = self.0.lock();
        if spare.len() < MAX_SPARE {
            spare.push(buffers);
        }
    }
}
