//! Questions to the user, on the terminal.
//!
//! Questions are asked on the controlling terminal, whatever the standard streams are. Without one, a question is printed on standard
//! error and the answer read from standard input, which may be a terminal too.
//!
//! The terminal passes each key at once and without an echo; the echo is made here: the characters, or an asterisk for each byte of
//! a secret. Control-C and control-\ end the question with `CANCELLED`, control-D with the end of the input; control-Z does nothing.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};

use base::{Cancel, Code, Error, Result};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::out::SharedOut;

/// The number of APR's error for the end of a file.
const END_OF_FILE: Code = Code(70_014);
/// The longest answer, in bytes.
const MOST_ANSWER: usize = 64 << 10;
/// Keys, as the terminal passes them.
const CONTROL_C: u8 = 3;
const CONTROL_D: u8 = 4;
const CONTROL_Z: u8 = 26;
const CONTROL_BACKSLASH: u8 = 28;
/// The time after which a wait for a key looks at the cancellation flag.
const SLICE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Asks questions, one at a time.
pub struct Prompter {
    is_interactive: bool,
    out: SharedOut,
    cancel: Cancel,
    /// Held while a question is asked.
    turn: Mutex<()>,
}

/// Whether the answer is shown while it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// It is shown.
    Shown,
    /// Asterisks are shown.
    Hidden,
}

impl Prompter {
    /// Returns a prompter that asks only if the user can be asked.
    pub fn new(is_interactive: bool, out: SharedOut, cancel: Cancel) -> Prompter {
        Prompter {
            is_interactive,
            out,
            cancel,
            turn: Mutex::default(),
        }
    }

    /// True if the user can be asked.
    pub fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// The flag that ends questions.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Prints a text and returns the line that the user types.
    ///
    /// # Errors
    /// 70014 at the end of the input, `CANCELLED` for control-C, control-\ and a signal, `errno` 22 for an answer that is not in the character set.
    pub fn ask(&self, text: &str, echo: Echo) -> Result<String> {
        let _turn = self.turn.lock();
        self.out.flush();
        let shown = self.out.charset().show(text);
        let answer = match Terminal::open() {
            Some(mut terminal) => terminal.ask(&shown, echo, &self.cancel)?,
            None => self.ask_on_streams(&shown)?,
        };
        self.out.charset().read(&answer).map(Cow::into_owned)
    }

    /// Asks until the answer is yes or no.
    ///
    /// # Errors
    /// As [`Prompter::ask`].
    pub fn ask_yes_or_no(&self, text: &str) -> Result<bool> {
        let mut text = text;
        loop {
            let answer = self.ask(text, Echo::Shown)?.to_ascii_lowercase();
            match answer.as_str() {
                "yes" | "y" => return Ok(true),
                "no" | "n" => return Ok(false),
                _ => text = "Please type 'yes' or 'no': ",
            }
        }
    }

    fn ask_on_streams(&self, text: &[u8]) -> Result<Vec<u8>> {
        _ = io::stderr().write_all(text);
        let stdin = io::stdin();
        let mut answer = Vec::new();
        loop {
            match next_byte(stdin.as_fd(), &self.cancel)? {
                None => return Err(end_of_file()),
                Some(b'\n') => return Ok(answer),
                Some(byte) if answer.len() < MOST_ANSWER => answer.push(byte),
                Some(_) => {}
            }
        }
    }
}

/// A terminal while a question is asked. When it is dropped it has its old modes again.
struct Terminal {
    file: File,
    /// Questions and echoes go to standard error: the terminal is not the controlling one.
    is_stdin: bool,
    old: Option<Termios>,
}

impl Terminal {
    fn open() -> Option<Terminal> {
        let controlling = OpenOptions::new().read(true).write(true).open("/dev/tty").ok();
        let is_stdin = controlling.is_none();
        let file = match controlling {
            Some(file) => file,
            None if io::stdin().is_terminal() => File::from(io::stdin().as_fd().try_clone_to_owned().ok()?),
            None => return None,
        };
        let old = tcgetattr(&file).ok();
        if let Some(old) = &old {
            let mut modes = old.clone();
            modes
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            _ = tcsetattr(&file, OptionalActions::Flush, &modes);
        }
        Some(Terminal { file, is_stdin, old })
    }

    fn ask(&mut self, text: &[u8], echo: Echo, cancel: &Cancel) -> Result<Vec<u8>> {
        self.show(text);
        let mut answer = Vec::new();
        loop {
            let byte = next_byte(self.file.as_fd(), cancel)?;
            match byte {
                None => return Err(end_of_file()),
                Some(key @ (CONTROL_C | CONTROL_BACKSLASH)) => {
                    self.show(&[b'^', key + b'@']);
                    return Err(Error::bare(Code::CANCELLED));
                }
                Some(CONTROL_Z) => {}
                Some(CONTROL_D) => {
                    self.show(b"^D");
                    return Err(end_of_file());
                }
                Some(0 | b'\r' | b'\n') => break,
                Some(8 | 127) => {
                    if answer.pop().is_some() {
                        self.show(b"\x08 \x08");
                    }
                }
                Some(byte) if byte < 32 || answer.len() >= MOST_ANSWER => self.show(b"\x07"),
                Some(byte) => {
                    answer.push(byte);
                    self.show(if echo == Echo::Hidden {
                        b"*"
                    } else {
                        std::slice::from_ref(&answer[answer.len() - 1])
                    });
                }
            }
        }
        self.show(if echo == Echo::Hidden { b"\n\n" } else { b"\n" });
        Ok(answer)
    }

    /// Writes to the terminal. A terminal that is gone ends the next read.
    fn show(&mut self, bytes: &[u8]) {
        _ = match self.is_stdin {
            true => io::stderr().write_all(bytes),
            false => self.file.write_all(bytes),
        };
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(old) = &self.old {
            _ = tcsetattr(&self.file, OptionalActions::Flush, old);
        }
    }
}

/// Waits for a byte; `None` at the end.
pub(super) fn next_byte(from: BorrowedFd<'_>, cancel: &Cancel) -> Result<Option<u8>> {
    let failed = |error: rustix::io::Errno| Error::os(&error.into(), "Can't read from the terminal");
    loop {
        cancel.check()?;
        let mut fds = [PollFd::from_borrowed_fd(from, PollFlags::IN)];
        match poll(&mut fds, Some(&SLICE)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(failed(error)),
        }
        let mut byte = [0];
        match rustix::io::read(from, &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn end_of_file() -> Error {
    Error::new(END_OF_FILE, "End of file while reading from terminal")
}
