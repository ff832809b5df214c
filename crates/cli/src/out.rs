//! Where a tool's words go: standard output, standard error, and the exit code.
//!
//! Standard output is buffered and flushed once at the end (or where someone waits: [`Out::flush`]); a full disk is an error,
//! a reader that went away is not worth a word. Errors print link by link as the incumbent prints them.

use std::io::{self, BufWriter, Stdout, Write};
use std::process::ExitCode;

use base::{Code, Error, Result};

use crate::locale::Charset;

/// The two streams of a tool and the name under which it speaks.
pub struct Out {
    program: String,
    charset: Charset,
    stdout: BufWriter<Stdout>,
}

impl Out {
    /// Streams for the tool that was called `program`.
    pub fn new(program: impl Into<String>) -> Self {
        Out {
            program: program.into(),
            charset: Charset::from_env(),
            stdout: BufWriter::with_capacity(64 << 10, io::stdout()),
        }
    }

    /// The name under which the tool was called.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The character set of the terminal.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Prints text on standard output.
    ///
    /// # Errors
    /// `IO_PIPE_WRITE_ERROR` if the reader went away, else `errno`.
    pub fn print(&mut self, text: &str) -> Result<()> {
        let shown = self.charset.show(text);
        self.stdout
            .write_all(shown.as_bytes())
            .map_err(|e| write_failed(&e, "Write error"))
    }

    /// Prints text and a line feed on standard output.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.print(text)?;
        self.print("\n")
    }

    /// Writes bytes to standard output as they are.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdout
            .write_all(bytes)
            .map_err(|e| write_failed(&e, "Can't write to stream"))
    }

    /// Shows what was printed so far.
    ///
    /// # Errors
    /// See [`Out::print`].
    pub fn flush(&mut self) -> Result<()> {
        self.stdout.flush().map_err(|e| write_failed(&e, "Write error"))
    }

    /// Prints text on standard error, after what standard output got so far. A closed standard error is ignored.
    pub fn complain(&mut self, text: &str) {
        let _ = self.stdout.flush();
        let _ = io::stderr().write_all(self.charset.show(text).as_bytes());
    }

    /// Prints the whole chain of an error, outermost first. A link with the number and text of one before it is left out.
    pub fn error(&mut self, error: &Error) {
        let mut text = String::new();
        for line in chain_lines(error) {
            text.push_str(&format!("{}: {line}\n", self.program));
        }
        self.complain(&text);
    }

    /// Prints the outermost link of an error as a warning.
    pub fn warning(&mut self, error: &Error) {
        let text = format!(
            "{}: warning: W{:06}: {}\n",
            self.program,
            error.code().0,
            error.message()
        );
        self.complain(&text);
    }

    /// Ends the tool: flushes, prints the error if there is one, and says how the process ends.
    pub fn finish(mut self, outcome: Result<ExitCode>) -> ExitCode {
        let outcome = outcome.and_then(|code| self.flush().map(|()| code));
        match outcome {
            Ok(code) => code,
            Err(error) if error.has(Code::IO_PIPE_WRITE_ERROR) || error.has(EPIPE) => {
                // What is left in the buffer has no reader: dropping it as ordinary would write again.
                let (_, _) = self.stdout.into_parts();
                ExitCode::FAILURE
            }
            Err(error) => {
                self.error(&error);
                ExitCode::FAILURE
            }
        }
    }
}

/// `E160013: message` for each link, repeated ones left out.
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

/// The error of a failed write to standard output.
pub fn write_failed(error: &io::Error, what: &str) -> Error {
    let ours = Error::os(error, what);
    match error.kind() {
        io::ErrorKind::BrokenPipe => ours.wrap_bare(Code::IO_PIPE_WRITE_ERROR),
        _ => ours,
    }
}

/// A reader went away, as the system numbers it: streams that are written elsewhere fail with this one.
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
