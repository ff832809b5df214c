//! Reading the stream ahead, on a thread of its own: whoever applies records need not wait for the disk, and learns when the
//! stream makes it wait for longer.

use std::io::{self, BufRead, Read};
use std::thread;
use std::time::Duration;

use base::{Cancel, Error, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

/// The stream, in pieces that another thread reads.
pub(super) struct ReadAheadInput<'a> {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    cancel: Cancel,
    stalled: Box<dyn FnMut() -> Result<()> + 'a>,
}

/// Starts to read. Whenever nothing comes for a while, `stalled` is called, and `cancel` is looked at: either can end the
/// reading, with an error that holds theirs.
///
/// # Errors
/// `errno` if there can be no other thread.
pub(super) fn read_ahead<'a>(
    input: impl Read + Send + 'static,
    cancel: &Cancel,
    stalled: impl FnMut() -> Result<()> + 'a,
) -> Result<ReadAheadInput<'a>> {
    let (sender, pieces) = bounded(PIECES);
    thread::Builder::new()
        .name("load: read".into())
        .spawn(move || pass_on(input, &sender))
        .map_err(|e| Error::os(&e, "Can't start a thread"))?;
    Ok(ReadAheadInput {
        pieces,
        piece: Vec::new(),
        at: 0,
        cancel: cancel.clone(),
        stalled: Box::new(stalled),
    })
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

impl Read for ReadAheadInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for ReadAheadInput<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.len() {
            match self.pieces.recv_timeout(SOON) {
                Ok(piece) => {
                    self.piece = piece?;
                    self.at = 0;
                }
                // The other thread has ended: so has the stream.
                Err(RecvTimeoutError::Disconnected) => return Ok(&[]),
                Err(RecvTimeoutError::Timeout) => {
                    self.cancel.check().map_err(io::Error::other)?;
                    (self.stalled)().map_err(io::Error::other)?;
                }
            }
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at = (self.at + length).min(self.piece.len());
    }
}

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// Pieces that are read ahead.
const PIECES: usize = 16;

/// How long the next bytes may take until something is done about it.
const SOON: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use base::Code;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_there() {
        let text: Vec<u8> = (0..3 * PIECE + 17).map(|at| at as u8).collect();
        let never = || panic!("nothing is slow");
        let mut pieces = read_ahead(io::Cursor::new(text.clone()), &Cancel::new(), never).expect("works");
        let mut all = Vec::new();
        pieces.read_to_end(&mut all).expect("works");
        assert!(all == text);
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
        let end = Cell::new(Some(end));
        let calls = Cell::new(0);
        let stalled = || {
            calls.set(calls.get() + 1);
            drop(end.take().filter(|_| calls.get() == 2));
            Ok(())
        };
        let mut pieces = read_ahead(Stalled(ended, false), &Cancel::new(), stalled).expect("works");
        assert_eq!(pieces.fill_buf().expect("works"), b"x");
        assert_eq!(calls.get(), 0);
        pieces.consume(1);
        assert_eq!(pieces.fill_buf().expect("works"), b"");
        assert!(calls.get() >= 1);
    }

    #[test]
    fn waiting_can_be_cancelled_and_can_fail() {
        let cancel = Cancel::new();
        for cancelled in [true, false] {
            let (_end, ended) = std::sync::mpsc::channel();
            let failing = || Err(Error::bare(Code::FS_CORRUPT));
            let mut pieces = read_ahead(Stalled(ended, true), &cancel, failing).expect("works");
            if cancelled {
                cancel.cancel();
            }
            pieces.fill_buf().expect_err("nothing comes");
        }
    }
}
