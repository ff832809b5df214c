//! Errors of argument lists, with the incumbent's messages.
//!
//! All messages about options are in this module. Subversion prints some of them as plain lines and some as errors
//! with a number. Scripts match both.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use base::charset::Charset;
use base::{Code, Error};

/// The reason why an argument list is refused. It displays as the lines for standard error, without the program's
/// name where the incumbent omits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// A long option that no subcommand has, with its dashes and its argument, as typed.
    InvalidOption(OsString),
    /// A short option that no subcommand has.
    InvalidCharacter(u8),
    /// The last word is an option that needs an argument.
    MissingArgument(OsString),
    /// A long option has an argument and accepts none.
    ErroneousArgument(OsString),
    /// `-r` was given twice.
    RevisionTwice,
    /// No words, or options that mean nothing without a subcommand.
    Nothing,
    /// Options, but no subcommand.
    NoSubcommand,
    /// The first operand is no subcommand.
    UnknownSubcommand(String),
    /// An option that the subcommand does not accept.
    NotAccepted {
        /// The subcommand's full name.
        subcommand: String,
        /// The option as the help shows it: `-r [--revision] ARG`.
        option: String,
    },
    /// Plain text before the hint, as `svnlook` prints for a missing repository.
    Plain(String),
    /// Plain text without a hint.
    Unexplained(String),
    /// An error with a number.
    Failed(Error),
}

impl ArgumentError {
    /// Returns the lines for standard error, each with its line feed. `program` is the name by which the tool was
    /// called, `no_subcommand` its message for a missing subcommand.
    pub fn lines(&self, program: &str, no_subcommand: &str) -> Option<Vec<u8>> {
        let hint = format!("Type '{program} help' for usage.\n");
        let lines = match self {
            ArgumentError::InvalidOption(_)
            | ArgumentError::InvalidCharacter(_)
            | ArgumentError::MissingArgument(_)
            | ArgumentError::ErroneousArgument(_) => return Some(self.message_with_hint(program, &hint)),
            ArgumentError::Nothing => hint,
            ArgumentError::NoSubcommand => format!("{no_subcommand}\n{hint}"),
            ArgumentError::UnknownSubcommand(_) | ArgumentError::Plain(_) => format!("{self}\n{hint}"),
            ArgumentError::Unexplained(text) => format!("{text}\n"),
            ArgumentError::NotAccepted { subcommand, .. } => {
                format!("{self}\nType '{program} help {subcommand}' for usage.\n")
            }
            ArgumentError::RevisionTwice | ArgumentError::Failed(_) => return None,
        };
        Some(Charset::of_process().show(&lines).into_owned())
    }

    /// Returns the lines `program: message` and the hint, in the character set of the locale. Words are shown as they were typed.
    pub fn message_with_hint(&self, program: &str, hint: &str) -> Vec<u8> {
        let charset = Charset::of_process();
        let shown;
        let (what, word) = match self {
            ArgumentError::InvalidOption(word) => ("invalid option: ", word.as_bytes()),
            ArgumentError::InvalidCharacter(letter) => {
                ("invalid option character: ", std::slice::from_ref(letter))
            }
            ArgumentError::MissingArgument(option) => ("missing argument: ", option.as_bytes()),
            ArgumentError::ErroneousArgument(word) => ("erroneous argument: ", word.as_bytes()),
            other => {
                shown = other.to_string();
                ("", &*charset.show(&shown))
            }
        };
        let before = format!("{program}: {what}");
        let after = format!("\n{hint}");
        [&*charset.show(&before), word, &*charset.show(&after)].concat()
    }

    /// Returns the error if this error has an error number.
    pub fn numbered(self) -> Option<Error> {
        match self {
            ArgumentError::Failed(error) => Some(error),
            ArgumentError::RevisionTwice => Some(Error::new(
                Code::CL_ARG_PARSING_ERROR,
                "Multiple revision arguments encountered; try '-r N:M' instead of '-r N -r M'",
            )),
            _ => None,
        }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::InvalidOption(word) => write!(f, "invalid option: {}", word.display()),
            ArgumentError::InvalidCharacter(letter) => {
                write!(f, "invalid option character: {}", letter.escape_ascii())
            }
            ArgumentError::MissingArgument(option) => write!(f, "missing argument: {}", option.display()),
            ArgumentError::ErroneousArgument(word) => write!(f, "erroneous argument: {}", word.display()),
            ArgumentError::UnknownSubcommand(word) => write!(f, "Unknown subcommand: '{word}'"),
            ArgumentError::NotAccepted { subcommand, option } => {
                write!(f, "Subcommand '{subcommand}' doesn't accept option '{option}'")
            }
            ArgumentError::Plain(text) | ArgumentError::Unexplained(text) => f.write_str(text),
            ArgumentError::Failed(error) => error.fmt(f),
            ArgumentError::Nothing | ArgumentError::NoSubcommand => {
                f.write_str("subcommand argument required")
            }
            ArgumentError::RevisionTwice => f.write_str("revision given twice"),
        }
    }
}

impl From<Error> for ArgumentError {
    fn from(error: Error) -> Self {
        ArgumentError::Failed(error)
    }
}
