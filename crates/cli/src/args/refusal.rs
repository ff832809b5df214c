//! What is wrong with an argument list, in the incumbent's words.
//!
//! The one place where complaints about options are worded. Subversion words some of them as plain lines and some
//! as errors with a number; scripts match both.

use std::fmt;

use base::{Code, Error};

/// Why an argument list was not accepted. Prints as the lines that go to standard error, without the
/// program's name where the incumbent leaves it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A long option that no subcommand has (with its dashes and its argument, as typed).
    InvalidOption(String),
    /// A short option that no subcommand has.
    InvalidCharacter(char),
    /// An option came last although it needs an argument.
    MissingArgument(String),
    /// A long option got an argument although it takes none.
    ErroneousArgument(String),
    /// `-r` came twice where once is meant.
    RevisionTwice,
    /// No words at all, or options that make no sense alone.
    Nothing,
    /// Options, but no subcommand.
    NoSubcommand,
    /// The first operand is no subcommand.
    UnknownSubcommand(String),
    /// The subcommand does not take this option (as the help shows it).
    NotAccepted {
        /// The subcommand's full name.
        subcommand: String,
        /// Like `-r [--revision] ARG`.
        option: String,
    },
    /// Plain text before the hint, as `svnlook` words a missing repository.
    Plain(String),
    /// An error with a number.
    Failed(Error),
}

impl Refusal {
    /// The lines for standard error, each with its line feed. `program` is the name by which the tool was called, `label` the
    /// word for a missing subcommand (the tools differ in its first letter).
    pub fn lines(&self, program: &str, label: &str) -> Option<String> {
        let hint = format!("Type '{program} help' for usage.\n");
        Some(match self {
            Refusal::InvalidOption(_)
            | Refusal::InvalidCharacter(_)
            | Refusal::MissingArgument(_)
            | Refusal::ErroneousArgument(_) => format!("{program}: {self}\n{hint}"),
            Refusal::Nothing => hint,
            Refusal::NoSubcommand => format!("{label}\n{hint}"),
            Refusal::UnknownSubcommand(_) | Refusal::Plain(_) => format!("{self}\n{hint}"),
            Refusal::NotAccepted { subcommand, .. } => {
                format!("{self}\nType '{program} help {subcommand}' for usage.\n")
            }
            Refusal::RevisionTwice | Refusal::Failed(_) => return None,
        })
    }

    /// The error, for refusals that have a number.
    pub fn error(self) -> Option<Error> {
        match self {
            Refusal::Failed(error) => Some(error),
            Refusal::RevisionTwice => Some(Error::new(
                Code::CL_ARG_PARSING_ERROR,
                "Multiple revision arguments encountered; try '-r N:M' instead of '-r N -r M'",
            )),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::InvalidOption(word) => write!(f, "invalid option: {word}"),
            Refusal::InvalidCharacter(letter) => write!(f, "invalid option character: {letter}"),
            Refusal::MissingArgument(option) => write!(f, "missing argument: {option}"),
            Refusal::ErroneousArgument(word) => write!(f, "erroneous argument: {word}"),
            Refusal::UnknownSubcommand(word) => write!(f, "Unknown subcommand: '{word}'"),
            Refusal::NotAccepted { subcommand, option } => {
                write!(f, "Subcommand '{subcommand}' doesn't accept option '{option}'")
            }
            Refusal::Plain(text) => f.write_str(text),
            Refusal::Failed(error) => error.fmt(f),
            Refusal::Nothing | Refusal::NoSubcommand => f.write_str("subcommand argument required"),
            Refusal::RevisionTwice => f.write_str("revision given twice"),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}
