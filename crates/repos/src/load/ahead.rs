//! Reading the stream ahead, on a thread of its own: whoever applies records need not wait for the disk, and can ask whether
//! more is there without waiting for it.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};

/// The stream, in pieces that another thread reads.
pub(super) struct Pieces {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    state: Arc<State>,
}

/// Tells whether the stream goes on.
pub(super) struct More {
    pieces: Receiver<io::Result<Vec<u8>>>,
    state: Arc<State>,
    /// Somebody has waited in vain, and nothing has come since: no need to wait again.
    is_stalled: bool,
}

/// What both sides know of the stream.
#[derive(Default)]
struct State {
    /// Bytes of the current piece that were not consumed.
    left: AtomicUsize,
    /// Everything was read and is in the channel.
    ended: AtomicBool,
}

/// Starts to read.
///
/// # Errors
/// `errno` if there can be no other thread.
pub(super) fn read(input: impl Read + Send + 'static) -> Result<(Pieces, More)> {
    let (sender, pieces) = bounded(PIECES);
    let state = Arc::new(State::default());
    let theirs = state.clone();
    thread::Builder::new()
        .name("load: read".into())
        .spawn(move || {
            pass_on(input, &sender);
            theirs.ended.store(true, Ordering::Release);
        })
        .map_err(|e| Error::os(&e, "Can't start a thread"))?;
    let more = More {
        pieces: pieces.clone(),
        state: state.clone(),
        is_stalled: false,
    };
    let pieces = Pieces {
        pieces,
        piece: Vec::new(),
        at: 0,
        state,
    };
    Ok((pieces, more))
}

/// Reads until the end, a failure, or until nobody wants more.
fn pass_on(mut input: impl Read, pieces: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; PIECE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                piece.truncate(length);
                Ok(piece)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let failed = read.is_err();
        if pieces.send(read).is_err() || failed {
            return;
        }
    }
}

impl More {
    /// False if little more has come than was asked for, and nothing else does for a while: what is there may end within a record.
    /// At the end of the stream nobody waits.
    pub(super) fn comes_soon(&mut self) -> bool {
        let start = Instant::now();
        while self.state.left.load(Ordering::Relaxed) < PLENTY && self.pieces.is_empty() {
            if self.state.ended.load(Ordering::Acquire) {
                break;
            }
            if self.is_stalled || start.elapsed() >= SOON {
                self.is_stalled = true;
                return false;
            }
            thread::sleep(SOON / 50);
        }
        self.is_stalled = false;
        true
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.piece.len() {
            match self.pieces.recv() {
                Ok(piece) => {
                    self.piece = piece?;
                    self.at = 0;
                    self.state.left.store(self.piece.len(), Ordering::Relaxed);
                }
                // The other thread has ended: so has the stream.
                Err(_) => return Ok(&[]),
            }
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at = (self.at + length).min(self.piece.len());
        self.state
            .left
            .store(self.piece.len() - self.at, Ordering::Relaxed);
    }
}

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// Bytes that hold the next revision, most likely.
const PLENTY: usize = 64 << 10;

/// Pieces that are read ahead.
const PIECES: usize = 16;

/// How long the next bytes may take until a group of revisions does not wait for them.
const SOON: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_there_and_the_end_is_known() {
        let text: Vec<u8> = (0..3 * PIECE + 17).map(|at| at as u8).collect();
        let (mut pieces, mut more) = read(io::Cursor::new(text.clone())).expect("works");
        assert!(more.comes_soon());
        let mut all = Vec::new();
        pieces.read_to_end(&mut all).expect("works");
        assert!(all == text);
        assert!(more.comes_soon());
    }

    /// Gives one piece, then nothing until it is told to end.
    struct Stalled(std::sync::mpsc::Receiver<()>, bool);

    impl Read for Stalled {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if !self.1 {
                self.1 = true;
                buffer[0] = b'x';
                return Ok(1);
            }
            self.0.recv().map_or(Ok(0), |()| Ok(0))
        }
    }

    #[test]
    fn a_stream_that_stalls_is_noticed() {
        let (end, ended) = std::sync::mpsc::channel();
        let (mut pieces, mut more) = read(Stalled(ended, false)).expect("works");
        // What is there may be half of a record.
        assert_eq!(pieces.fill_buf().expect("works"), b"x");
        assert!(!more.comes_soon());
        pieces.consume(1);
        assert!(!more.comes_soon());
        drop(end);
        assert_eq!(pieces.fill_buf().expect("works"), b"");
    }
}
