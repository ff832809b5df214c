//! The output of a tool: standard output, standard error and the exit code.
//!
//! Standard output is buffered and flushed at the end and in [`Out::flush`]. A full disk is an error. A closed pipe
//! ends the tool without a message, unless its output is optional ([`Out::set_output_optional`], [`Out::set_output_ignorable`]) or XML
//! ([`Out::set_xml`]). Errors print link by link as the incumbent prints them.

use std::io::{self, BufWriter, Stdout, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use base::{Code, Error, Result};
use parking_lot::Mutex;

use base::charset::Charset;

/// The two output streams of a tool and the program name in its messages.
pub struct Out {
    program: String,
    charset: Charset,
    stdout: Arc<Mutex<BufWriter<Stdout>>>,
    /// The text of an error of the first bytes in the buffer.
    buffered: &'static str,
    is_quiet: bool,
    /// The output is XML.
    is_xml: bool,
    /// What a failing write to standard output means.
    needs: OutputNeed,
    /// The first failed write of optional output.
    lost_output: Option<Error>,
    /// The thread of [`Out::flush_soon`].
    flusher: Option<Flusher>,
}

/// What a failing write to standard output means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputNeed {
    /// It ends the tool.
    Needed,
    /// The tool goes on, and reports the failure at its end.
    Optional,
    /// Nothing.
    Ignorable,
}

/// Another handle of the same streams, for prompts and notices in the middle of a request.
#[derive(Clone)]
pub struct SharedOut {
    charset: Charset,
    stdout: Arc<Mutex<BufWriter<Stdout>>>,
}

impl SharedOut {
    /// Returns the character set of the terminal.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Prints text and a line feed on standard output, after all that was printed before.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn line(&self, text: &str) -> Result<()> {
        let line = format!("{text}\n");
        self.stdout
            .lock()
            .write_all(&self.charset.show(&line))
            .map_err(|e| write_failed(&e, "Write error"))
    }

    /// Flushes standard output, so that a prompt comes after it. A failure is reported by the next call of [`Out`].
    pub fn flush(&self) {
        _ = self.stdout.lock().flush();
    }
}

impl Out {
    /// Returns the streams of the tool that was called as `program`.
    pub fn new(program: impl Into<String>) -> Self {
        Out {
            program: program.into(),
            charset: Charset::of_process(),
            stdout: Arc::new(Mutex::new(BufWriter::with_capacity(64 << 10, io::stdout()))),
            buffered: PRINTING,
            is_quiet: false,
            is_xml: false,
            needs: OutputNeed::Needed,
            lost_output: None,
            flusher: None,
        }
    }

    /// Notes that the user wants no notices.
    pub fn set_quiet(&mut self) {
        self.is_quiet = true;
    }

    /// Notes that the output is XML. Then the incumbent names a closed pipe as it names other errors.
    pub fn set_xml(&mut self) {
        self.is_xml = true;
    }

    /// Notes that the tool does its work even if standard output is closed or full: a failing write is reported, if it is not a
    /// closed pipe, and has no effect on the exit code. So do the incumbent's commands that only print what they are doing.
    pub fn set_output_optional(&mut self) {
        self.needs = OutputNeed::Optional;
    }

    /// Notes that standard output only tells what the tool is doing, and that failing writes have no effect at all: as with the incumbent's
    /// commands for repositories, a backup is complete even if what reads its output has ended.
    pub fn set_output_ignorable(&mut self) {
        self.needs = OutputNeed::Ignorable;
    }

    /// True if the user wants no notices.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Returns the name by which the tool was called.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the character set of the terminal.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Returns another handle of the streams.
    pub fn share(&self) -> SharedOut {
        SharedOut {
            charset: self.charset,
            stdout: Arc::clone(&self.stdout),
        }
    }

    /// Prints text on standard output.
    ///
    /// # Errors
    /// `IO_PIPE_WRITE_ERROR` if the pipe is closed, else `errno`.
    pub fn print(&mut self, text: &str) -> Result<()> {
        let shown = self.charset.show(text);
        self.write(&shown, PRINTING)
    }

    /// Prints lines of text on standard output, each converted on its own: a character that the character set lacks has an effect on one.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn print_lines(&mut self, lines: &str) -> Result<()> {
        match self.charset.encode(lines) {
            Some(shown) => self.write(&shown, PRINTING),
            None => lines.split_inclusive('\n').try_for_each(|line| self.print(line)),
        }
    }

    /// Prints a part of an XML document, which is UTF-8 whatever the character set of the terminal is.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn xml(&mut self, text: &str) -> Result<()> {
        self.write(text.as_bytes(), PRINTING)
    }

    /// Prints bytes that may not be text on standard output, in the terminal's character set.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn print_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.print(&Charset::show_bytes(bytes))
    }

    /// Prints text and a line feed on standard output.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.print(text)?;
        self.print("\n")
    }

    /// Prints a line about the progress of work that continues if that fails. The next flush fails then, too.
    pub fn progress_line(&mut self, text: &str) {
        _ = self.line(text);
    }

    /// Prints text about work that goes on if that fails, at once. Without [`Out::set_output_ignorable`], the end of the tool reports it.
    pub fn notice(&mut self, text: &str) {
        _ = self.print(text).and_then(|()| self.flush());
    }

    /// As [`Out::notice`], with a line feed.
    pub fn notice_line(&mut self, line: &str) {
        self.notice(&format!("{line}\n"));
    }

    /// Writes bytes to standard output without conversion.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        let what = if self.is_xml { PRINTING } else { STREAMING };
        self.write(bytes, what)
    }

    /// Flushes standard output.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.stdout.lock().flush();
        self.check(flushed, self.buffered)
    }

    /// Writes to the buffer. `what` is the text of an error.
    fn write(&mut self, bytes: &[u8], what: &'static str) -> Result<()> {
        let mut stdout = self.stdout.lock();
        if stdout.buffer().is_empty() {
            self.buffered = what;
        }
        let written = stdout.write_all(bytes);
        drop(stdout);
        self.check(written, self.buffered)
    }

    /// Flushes standard output within [`FLUSH_INTERVAL`], so that what is printed piece by piece takes no system call for each piece.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn flush_soon(&mut self) -> Result<()> {
        let stdout = &self.stdout;
        let flusher = self
            .flusher
            .get_or_insert_with(|| Flusher::start(Arc::clone(stdout)));
        match flusher.request() {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// Returns the error of a failed write to standard output, or notes it if the output is optional.
    fn check(&mut self, written: io::Result<()>, what: &str) -> Result<()> {
        match (written.map_err(|e| write_failed(&e, what)), self.needs) {
            (Err(error), OutputNeed::Optional) => {
                self.lost_output.get_or_insert(error);
                Ok(())
            }
            (Err(_), OutputNeed::Ignorable) => Ok(()),
            (outcome, _) => outcome,
        }
    }

    /// Flushes standard output, then prints text on standard error. A closed standard error is ignored.
    pub fn print_stderr(&mut self, text: &str) {
        self.raw_stderr(&self.charset.show(text));
    }

    /// As [`Out::print_stderr`], without conversion.
    pub fn raw_stderr(&self, bytes: &[u8]) {
        let _ = self.stdout.lock().flush();
        let _ = io::stderr().write_all(bytes);
    }

    /// Prints the chain of an error, outermost link first. A link with the number and text of an earlier one is
    /// omitted.
    pub fn print_error(&mut self, error: &Error) {
        let mut shown = Vec::new();
        for line in chain_lines(error) {
            shown.extend_from_slice(&self.charset.show(&format!("{}: {line}\n", self.program)));
        }
        self.raw_stderr(&shown);
    }

    /// Prints the outermost link of an error as a warning.
    pub fn print_warning(&mut self, error: &Error) {
        let text = format!(
            "{}: warning: W{:06}: {}\n",
            self.program,
            error.code().0,
            error.message()
        );
        self.print_stderr(&text);
    }

    /// As [`Out::print_warning`], if standard output can be written. Else it is the error of the command.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn warning(&mut self, error: &Error) -> Result<()> {
        self.flush()?;
        self.print_warning(error);
        Ok(())
    }

    /// Flushes standard output, prints the error if there is one, and returns the exit code.
    pub fn finish(mut self, outcome: Result<ExitCode>) -> ExitCode {
        let outcome = outcome.and_then(|code| self.flush().map(|()| code));
        let lost = self.lost_output.take();
        let (code, error) = match outcome {
            Ok(code) => (code, lost),
            Err(error) => (ExitCode::FAILURE, Some(error)),
        };
        match error {
            Some(error) if is_closed_pipe(&error) => {
                // Dropping the writer would write the rest of the buffer to the closed pipe again.
                let rest = std::mem::replace(&mut *self.stdout.lock(), BufWriter::new(io::stdout()));
                let (_, _) = rest.into_parts();
                if self.is_xml {
                    let closed = io::Error::from_raw_os_error(EPIPE.0);
                    self.print_error(&Error::os(&closed, "Write error"));
                }
            }
            Some(error) => self.print_error(&error),
            None => {}
        }
        code
    }
}

/// True for the error of a pipe that nothing reads: a tool ends by it without a message.
pub fn is_closed_pipe(error: &Error) -> bool {
    error.has(Code::IO_PIPE_WRITE_ERROR) || error.has(EPIPE)
}

/// A thread that flushes standard output some time after it was asked to.
struct Flusher {
    requests: SyncSender<()>,
    has_failed: Arc<AtomicBool>,
}

impl Flusher {
    /// Starts the thread. It ends with the process.
    fn start(stdout: Arc<Mutex<BufWriter<Stdout>>>) -> Flusher {
        let (requests, received) = sync_channel(1);
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let flush = move || {
            for () in received {
                if stdout.lock().flush().is_err() {
                    failed.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(FLUSH_INTERVAL);
            }
        };
        // Without a thread the requests fail, and the caller flushes.
        _ = thread::Builder::new().name("flush".to_owned()).spawn(flush);
        Flusher { requests, has_failed }
    }

    /// Asks for a flush. Returns false if the thread cannot: after a failure, or if there is none.
    fn request(&self) -> bool {
        !self.has_failed.load(Ordering::Relaxed)
            && !matches!(self.requests.try_send(()), Err(TrySendError::Disconnected(())))
    }
}

/// Returns `E160013: message` for each link, without repeated ones.
pub fn chain_lines(error: &Error) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for link in error.links() {
        let line = format!("{}: {}", link.code(), link.text());
        let bare_again = link.message().is_none()
            && lines
                .iter()
                .any(|seen| seen.starts_with(&format!("{}:", link.code())) && *seen == line);
        if !bare_again && lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the error for a failed write to standard output.
pub fn write_failed(error: &io::Error, what: &str) -> Error {
    let ours = Error::os(error, what);
    match error.kind() {
        io::ErrorKind::BrokenPipe => ours.wrap_bare(Code::IO_PIPE_WRITE_ERROR),
        _ => ours,
    }
}

/// The text of an error of printed text.
const PRINTING: &str = "Write error";

/// The text of an error of bytes that are not converted.
const STREAMING: &str = "Can't write to stream";

/// How long printed text stays in the buffer at most.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// The `errno` of a closed pipe. Streams that are not written through [`Out`] fail with it.
const EPIPE: Code = Code(32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_links_print_once() {
        let error = Error::bare(Code::FS_CORRUPT)
            .wrap_bare(Code::FS_CORRUPT)
            .wrap(Code::FS_GENERAL, "x");
        assert_eq!(
            chain_lines(&error),
            ["E160000: x", "E160004: Filesystem is corrupt"]
        );
    }
}
