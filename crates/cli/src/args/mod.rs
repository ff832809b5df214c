//! From argument lists to options, the same way for every tool.
//!
//! A [`Tool`] says in data what its subcommands are (one clap definition each, which also feeds the help); [`parse`] turns an
//! argument list into a [`Request`]. The order of the questions is the incumbent's, because the first
//! complaint is the one that is seen: bad words, bad values, no subcommand, no repository, an option that this subcommand
//! does not take.
//!
//! [`getopt`] sorts the words, [`refusal`] words the complaints, [`help`] lays out the help, [`revision`] reads `-r`.

pub mod date;
mod getopt;
pub mod help;
pub mod operand;
pub mod option;
mod refusal;
pub mod revision;

use std::error::Error as _;
use std::ffi::{OsStr, OsString};

use base::{Code, Error};
use clap::{Arg, ArgAction, ArgMatches, Command};

pub use refusal::Refusal;

/// What the front of a tool is made of.
pub struct Tool {
    /// The incumbent's name of it.
    pub name: &'static str,
    /// The definition: subcommands, options, help texts.
    pub command: fn() -> Command,
    /// Options that may be given once only, by their clap id.
    pub once: &'static [&'static str],
    /// The words for options without a subcommand.
    pub no_subcommand: &'static str,
    /// Judges the first operand after the subcommand, before the options are judged.
    pub repository: fn(subcommand: &str, given: Given<'_>, first: Option<&OsStr>) -> Result<(), Refusal>,
    /// Judges options that exclude each other whatever the subcommand; asks by clap id.
    pub conflicts: fn(given: Given<'_>) -> Result<(), Error>,
}

/// Tells whether an option was given, by its clap id.
pub type Given<'a> = &'a dyn Fn(&str) -> bool;

/// What a user asked for.
pub enum Request {
    /// Help on these topics, or in general.
    Help(Vec<String>),
    /// The version; the number alone if `quiet`.
    Version {
        /// `-q` was given.
        quiet: bool,
    },
    /// A subcommand with its options.
    Run(ArgMatches),
}

/// Reads the words after the tool's name.
///
/// # Errors
/// The first complaint.
pub fn parse(tool: &Tool, argv: impl IntoIterator<Item = OsString>) -> Result<Request, Refusal> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    if argv.is_empty() {
        return Err(Refusal::Nothing);
    }
    let command = finished((tool.command)());
    let table = union(command.get_subcommands());
    let mut words = getopt::split(&table, tool.once, argv);
    judge_values(&table, &words)?;
    if let Some(refusal) = words.stopped.take() {
        return Err(refusal);
    }
    let given = |id: &str| words.options.iter().any(|g| table[g.option].get_id() == id);
    (tool.conflicts)(&given)?;
    let help = given(HELP);
    let name = if help {
        "help".to_owned()
    } else if let Some(first) = words.operands.pop_front() {
        first.to_string_lossy().into_owned()
    } else if given(VERSION) {
        return match words
            .options
            .iter()
            .all(|g| [VERSION, QUIET].contains(&table[g.option].get_id().as_str()))
        {
            true => Ok(Request::Version { quiet: given(QUIET) }),
            false => Err(Refusal::Nothing),
        };
    } else {
        return Err(Refusal::NoSubcommand);
    };
    let Some(subcommand) = help::find(&command, &name) else {
        return Err(Refusal::UnknownSubcommand(name));
    };
    let canonical = subcommand.get_name();
    if canonical != "help" {
        (tool.repository)(canonical, &given, words.operands.front().map(OsString::as_os_str))?;
    }
    for option in words.options.iter().map(|g| &table[g.option]) {
        let id = option.get_id().as_str();
        if id != HELP && !subcommand.get_arguments().any(|arg| arg.get_id() == id) {
            return Err(Refusal::NotAccepted {
                subcommand: canonical.to_owned(),
                option: help::option_name(option),
            });
        }
    }
    if canonical == "help" {
        let topics = words
            .operands
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        return Ok(Request::Help(topics.collect()));
    }
    let mut line = vec![OsString::from(tool.name), OsString::from(canonical)];
    line.extend(rebuilt(&table, &words));
    line.push("--".into());
    line.extend(words.operands.iter().cloned());
    command
        .try_get_matches_from(line)
        .map(Request::Run)
        .map_err(refused)
}

/// Reads the words after the name of a tool without subcommands, whose options `command` defines. Help and version are ordinary
/// options there.
///
/// # Errors
/// The first complaint.
pub fn parse_flat(command: Command, argv: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, Refusal> {
    let command = finished(command);
    let table: Vec<Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_positional())
        .cloned()
        .collect();
    let mut words = getopt::split(&table, &[], argv);
    judge_values(&table, &words)?;
    if let Some(refusal) = words.stopped.take() {
        return Err(refusal);
    }
    let mut line = vec![OsString::from(command.get_name())];
    line.extend(rebuilt(&table, &words));
    line.push("--".into());
    line.extend(words.operands.iter().cloned());
    command.try_get_matches_from(line).map_err(refused)
}

/// The settings that every definition shares: the incumbent has no `-V`, and the last of several values counts.
fn finished(command: Command) -> Command {
    let mut command = command
        .args_override_self(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true);
    command.build();
    command
}

/// All the options of a tool, each once: what it knows before it looks at the subcommand.
fn union<'a>(subcommands: impl Iterator<Item = &'a Command>) -> Vec<Arg> {
    let flag = |id: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue);
    let mut table = vec![
        flag(HELP).short('h').short_alias('?'),
        flag(VERSION),
        flag(QUIET).short('q'),
    ];
    for arg in subcommands.flat_map(Command::get_arguments) {
        if !arg.is_positional() && !table.iter().any(|seen| seen.get_id() == arg.get_id()) {
            table.push(arg.clone());
        }
    }
    table
}

/// Lets clap read all the values given so far, in order, whatever the subcommand.
fn judge_values(table: &[Arg], words: &getopt::Words) -> Result<(), Refusal> {
    let command = finished(Command::new("values").args(table.iter().cloned()));
    let mut line = vec![OsString::from("values")];
    line.extend(rebuilt(table, words));
    command.try_get_matches_from(line).map(drop).map_err(refused)
}

/// The options as clap reads them without doubt: one word each.
fn rebuilt(table: &[Arg], words: &getopt::Words) -> Vec<OsString> {
    words
        .options
        .iter()
        .map(|given| {
            let arg = &table[given.option];
            let mut word = OsString::new();
            match (arg.get_long(), arg.get_short()) {
                (Some(long), _) => {
                    word.push("--");
                    word.push(long);
                }
                (None, Some(letter)) => word.push(format!("-{letter}")),
                (None, None) => {}
            }
            if let Some(value) = &given.value {
                word.push("=");
                word.push(value);
            }
            word
        })
        .collect()
}

/// The one place where clap's errors become ours. Only bad values get this far; they carry our own error.
fn refused(error: clap::Error) -> Refusal {
    if let Some(ours) = error.source().and_then(|source| source.downcast_ref::<Error>()) {
        return Refusal::Failed(ours.clone());
    }
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        return Refusal::Failed(Error::new(
            Code(22),
            "Can't convert string from native encoding to 'UTF-8'",
        ));
    }
    Refusal::Failed(Error::new(Code::CL_ARG_PARSING_ERROR, error.to_string()))
}

/// What clap says when a definition and the words do not fit after all: a mistake of ours, not of the user.
pub fn unreadable(error: clap::Error) -> Error {
    Error::new(Code::CL_ARG_PARSING_ERROR, error.to_string())
}

const HELP: &str = "help";
const VERSION: &str = "version";
const QUIET: &str = "quiet";
