//! Reads the stream ahead, on a thread of its own.
//!
//! The loader does not wait for the disk, and it can flush when the stream stalls. This is not an ordered queue of
//! [`base::ordered`]: the stream has one reader, the order is that of the input, and the consumer must act while it
//! waits.

use std::io::{self, BufRead, Read};
use std::thread;
use std::time::Duration;

use base::{Cancel, Error, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

/// The stream, in blocks that another thread reads.
pub(super) struct ReadAheadInput<'a> {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
    cancel: Cancel,
    stalled: Box<dyn FnMut() -> Result<()> + 'a>,
}

/// Starts to read. While no data comes for some time, `stalled` is called and `cancel` is checked; the error of
/// either ends the reading and is wrapped in the reader's error.
///
/// # Errors
/// `errno` if the thread cannot be started.
pub(super) fn read_ahead<'a>(
    input: impl Read + Send + 'static,
    cancel: &Cancel,
    stalled: impl FnMut() -> Result<()> + 'a,
) -> Result<ReadAheadInput<'a>> {
    let (sender, blocks) = bounded(MOST_BLOCKS);
    thread::Builder::new()
        .name("load: read".into())
        .spawn(move || pass_on(input, &sender))
        .map_err(|e| Error::os(&e, "Can't start a thread"))?;
    Ok(ReadAheadInput {
        blocks,
        block: Vec::new(),
        at: 0,
        cancel: cancel.clone(),
        stalled: Box::new(stalled),
    })
}

/// Reads until the end, a failure, or until the receiver is dropped.
fn pass_on(mut input: impl Read, blocks: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK];
        let read = match input.read(&mut block) {
            Ok(0) => return,
            Ok(length) => {
                block.truncate(length);
                Ok(block)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let failed = read.is_err();
        if blocks.send(read).is_err() || failed {
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
        while self.at == self.block.len() {
            match self.blocks.recv_timeout(STALL_INTERVAL) {
                Ok(block) => {
                    self.block = block?;
                    self.at = 0;
                }
                // The reading thread has ended: so has the stream.
                Err(RecvTimeoutError::Disconnected) => return Ok(&[]),
                Err(RecvTimeoutError::Timeout) => {
                    self.cancel.check().map_err(io::Error::other)?;
                    (self.stalled)().map_err(io::Error::other)?;
                }
            }
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at = (self.at + length).min(self.block.len());
    }
}

/// Bytes of one read.
const BLOCK: usize = 256 << 10;

/// Blocks that are read ahead.
const MOST_BLOCKS: usize = 16;

/// How long to wait for data before `stalled` is called.
const STALL_INTERVAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use base::Code;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_there() {
        let text: Vec<u8> = (0..3 * BLOCK + 17).map(|at| at as u8).collect();
        let never = || panic!("nothing is slow");
        let mut blocks = read_ahead(io::Cursor::new(text.clone()), &Cancel::new(), never).expect("works");
        let mut all = Vec::new();
        blocks.read_to_end(&mut all).expect("works");
        assert!(all == text);
    }

    /// Gives one block, then nothing until the test ends it.
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
        let mut blocks = read_ahead(Stalled(ended, false), &Cancel::new(), stalled).expect("works");
        assert_eq!(blocks.fill_buf().expect("works"), b"x");
        assert_eq!(calls.get(), 0);
        blocks.consume(1);
        assert_eq!(blocks.fill_buf().expect("works"), b"");
        assert!(calls.get() >= 1);
    }

    #[test]
    fn waiting_can_be_cancelled_and_can_fail() {
        let cancel = Cancel::new();
        for cancelled in [true, false] {
            let (_end, ended) = std::sync::mpsc::channel();
            let failing = || Err(Error::bare(Code::FS_CORRUPT));
            let mut blocks = read_ahead(Stalled(ended, true), &cancel, failing).expect("works");
            if cancelled {
                cancel.cancel();
            }
            blocks.fill_buf().expect_err("nothing comes");
        }
    }
}
