//! Questions to the user: at the terminal of the process if there is one, else over standard input and standard error.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read, Write};

use base::{Code, Error, Result};

use crate::client_context::AccessOptions;

/// Returns whether the user may be asked: standard input is a terminal, unless an option says otherwise.
pub fn is_interactive(access: &AccessOptions) -> bool {
    access.force_interactive || (!access.non_interactive && io::stdin().is_terminal())
}

/// The two directions of a terminal, or what takes its place.
pub struct Prompt {
    terminal: Option<File>,
}

impl Prompt {
    /// Opens the terminal.
    ///
    /// # Errors
    /// None at present: without a terminal, the standard streams are used.
    pub fn open() -> Result<Prompt> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok();
        Ok(Prompt { terminal })
    }

    /// Asks a question and returns the answer, a line.
    ///
    /// # Errors
    /// `APR_EOF` at the end of the input; `errno`.
    pub fn ask(&mut self, question: &str) -> Result<String> {
        let read = match &mut self.terminal {
            Some(terminal) => {
                terminal
                    .write_all(question.as_bytes())
                    .map_err(|e| Error::os(&e, "Can't write to terminal"))?;
                line_of(terminal)
            }
            None => {
                // A closed standard error hides the question only.
                _ = io::stderr().write_all(question.as_bytes());
                line_of(&mut io::stdin())
            }
        };
        match read {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(Error::new(APR_EOF, "End of file while reading from terminal")),
            Err(error) => Err(Error::os(&error, "Can't read from terminal")),
        }
    }
}

/// Reads a line, byte by byte: what follows belongs to others. `None` at the end of the input.
fn line_of(input: &mut impl Read) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) if line.len() < LONGEST => line.push(byte[0]),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// The number of the end of a file.
const APR_EOF: Code = Code(70014);
/// The longest answer, in bytes. The rest of a longer one is ignored.
const LONGEST: usize = 4096;
