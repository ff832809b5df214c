//! Parses the argument lists of all tools.
//!
//! A [`ToolDefinition`] describes its subcommands as data: one clap definition each, which also makes the help. [`parse`] turns
//! an argument list into a [`ToolRequest`]. Checks run in the incumbent's order, because only the first error is
//! reported: wrong words, wrong values, no subcommand, no repository, an option that the subcommand does not accept.
//!
//! [`getopt`] splits the words, [`mod@argument_error`] words the errors, [`help`] formats the help, [`revision`] parses `-r`.

mod argument_error;
pub mod date;
mod getopt;
pub mod help;
pub mod operand;
pub mod option;
pub mod revision;

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error};
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use base::charset::Charset;

pub use argument_error::ArgumentError;
use getopt::GivenOption;
pub use getopt::{MayFollow, OptionsBefore, any_order, one_revision};

/// The description of a tool with subcommands.
pub struct ToolDefinition {
    /// The incumbent's name of the tool.
    pub name: &'static str,
    /// The definition: subcommands, options, help texts.
    pub command: fn() -> Command,
    /// Refuses an option after others, before its value is checked: [`any_order`], for example.
    pub may_follow: MayFollow,
    /// The message for an argument list without a subcommand.
    pub no_subcommand: &'static str,
    /// Checks the first operand after the subcommand. Runs before the check of the subcommand's options.
    pub repository:
        fn(subcommand: &str, given: IsGiven<'_>, first: Option<&OsStr>) -> Result<(), ArgumentError>,
    /// Checks options that exclude each other in every subcommand.
    pub conflicts: fn(given: IsGiven<'_>) -> Result<(), Error>,
}

/// A function that returns true if the option with this clap id was given.
pub type IsGiven<'a> = &'a dyn Fn(&str) -> bool;

/// A parsed argument list.
pub enum ToolRequest {
    /// Help.
    Help {
        /// The topics; empty for general help.
        topics: Vec<String>,
        /// True for all options (`-v`, where the tool has it).
        verbose: bool,
    },
    /// The version.
    Version {
        /// True for the number alone (`-q`).
        quiet: bool,
        /// True for the versions of libraries too (`-v`, where the tool has it).
        verbose: bool,
    },
    /// A subcommand with its options.
    Run(ArgMatches),
}

/// Parses the words after the tool's name.
///
/// # Errors
/// The first error in the incumbent's order of checks.
pub fn parse(
    tool: &ToolDefinition,
    argv: impl IntoIterator<Item = OsString>,
) -> Result<ToolRequest, ArgumentError> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    if argv.is_empty() {
        return Err(ArgumentError::Nothing);
    }
    let command = with_shared_settings((tool.command)());
    let table = all_options(command.get_subcommands());
    let mut words = getopt::split(&table, tool.may_follow, argv);
    check_values(&table, &words)?;
    if let Some(error) = words.stopped.take() {
        return Err(error);
    }
    let given = |id: &str| words.options.iter().any(|g| table[g.option].get_id() == id);
    // An empty list of failures accepts none.
    let accepts_nothing = |g: &GivenOption| g.value.as_ref().is_some_and(|list| list.is_empty());
    let counts =
        |g: &GivenOption| !(table[g.option].get_id().as_str().ends_with(FAILURES) && accepts_nothing(g));
    let is_set = |id: &str| {
        words
            .options
            .iter()
            .any(|g| table[g.option].get_id() == id && counts(g))
    };
    (tool.conflicts)(&is_set)?;
    let help = given(HELP);
    let name = if help {
        "help".to_owned()
    } else if let Some(first) = words.operands.pop_front() {
        Charset::of_process().read(first.as_bytes())?.into_owned()
    } else if given(VERSION) {
        return version_request(&command, &table, &words);
    } else {
        return Err(ArgumentError::NoSubcommand);
    };
    let Some(subcommand) = help::find(&command, &name) else {
        return Err(ArgumentError::UnknownSubcommand(name));
    };
    let canonical = subcommand.get_name();
    if canonical != "help" {
        (tool.repository)(canonical, &given, words.operands.front().map(OsString::as_os_str))?;
    }
    check_accepted(subcommand, words.options.iter().map(|g| &table[g.option]))?;
    if canonical == "help" {
        let topics = words
            .operands
            .iter()
            .map(|word| Charset::show_bytes(word.as_bytes()).into_owned());
        return Ok(ToolRequest::Help {
            topics: topics.collect(),
            verbose: given(VERBOSE),
        });
    }
    let mut line = vec![OsString::from(tool.name), OsString::from(canonical)];
    line.extend(unambiguous_words(&table, &words));
    line.push("--".into());
    line.extend(words.operands.iter().cloned());
    command
        .try_get_matches_from(line)
        .map(ToolRequest::Run)
        .map_err(argument_error)
}

/// Checks that the subcommand accepts all `options`.
fn check_accepted<'a>(
    subcommand: &Command,
    options: impl Iterator<Item = &'a Arg>,
) -> Result<(), ArgumentError> {
    for option in options {
        let id = option.get_id().as_str();
        if id != HELP && !accepts(subcommand, id) {
            return Err(ArgumentError::NotAccepted {
                subcommand: subcommand.get_name().to_owned(),
                option: help::option_name(option),
            });
        }
    }
    Ok(())
}

/// Returns the request for the version. Options that `help` accepts are accepted.
fn version_request(
    command: &Command,
    table: &[Arg],
    words: &getopt::SplitWords,
) -> Result<ToolRequest, ArgumentError> {
    let help = help::find(command, "help");
    let given: Vec<&str> = words
        .options
        .iter()
        .map(|given| table[given.option].get_id().as_str())
        .collect();
    let is_accepted = |id: &str| [VERSION, QUIET].contains(&id) || help.is_some_and(|help| accepts(help, id));
    if !given.iter().all(|id| is_accepted(id)) {
        return Err(ArgumentError::Nothing);
    }
    Ok(ToolRequest::Version {
        quiet: given.contains(&QUIET),
        verbose: given.contains(&VERBOSE),
    })
}

/// True if the subcommand has an option with this clap id.
fn accepts(subcommand: &Command, id: &str) -> bool {
    subcommand.get_arguments().any(|arg| arg.get_id() == id)
}

/// Parses the words after the name of a tool without subcommands; `command` defines its options. Help and version are
/// ordinary options of such a tool.
///
/// # Errors
/// The first error in the incumbent's order of checks.
pub fn parse_flat(
    command: Command,
    argv: impl IntoIterator<Item = OsString>,
) -> Result<ArgMatches, ArgumentError> {
    let command = with_shared_settings(command);
    let table: Vec<Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_positional())
        .cloned()
        .collect();
    let mut words = getopt::split(&table, any_order, argv);
    check_values(&table, &words)?;
    if let Some(error) = words.stopped.take() {
        return Err(error);
    }
    let mut line = vec![OsString::from(command.get_name())];
    line.extend(unambiguous_words(&table, &words));
    line.push("--".into());
    line.extend(words.operands.iter().cloned());
    command.try_get_matches_from(line).map_err(argument_error)
}

/// Applies the settings of all definitions: no `-V`, and the last value of a repeated option counts.
fn with_shared_settings(command: Command) -> Command {
    let mut command = command
        .args_override_self(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true);
    command.build();
    command
}

/// Returns all options of all subcommands, each once.
fn all_options<'a>(subcommands: impl Iterator<Item = &'a Command>) -> Vec<Arg> {
    let flag = |id: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue);
    let mut table = vec![flag(HELP).short('h').short_alias('?'), flag(VERSION)];
    for arg in subcommands.flat_map(Command::get_arguments) {
        if !arg.is_positional() && !table.iter().any(|seen| seen.get_id() == arg.get_id()) {
            table.push(arg.clone());
        }
    }
    // A tool may have the option without its letter.
    if !table.iter().any(|arg| arg.get_id() == QUIET) {
        table.push(flag(QUIET).short('q'));
    }
    table
}

/// Checks the values of all options so far with clap, in their order, for any subcommand.
fn check_values(table: &[Arg], words: &getopt::SplitWords) -> Result<(), ArgumentError> {
    let command = with_shared_settings(Command::new("values").args(table.iter().cloned()));
    let mut line = vec![OsString::from("values")];
    line.extend(unambiguous_words(table, words));
    command
        .try_get_matches_from(line)
        .map(drop)
        .map_err(argument_error)
}

/// Returns the options in the unambiguous form, one word each. Values that are text or parsed are UTF-8.
fn unambiguous_words(table: &[Arg], words: &getopt::SplitWords) -> Vec<OsString> {
    let charset = Charset::of_process();
    let [words_as_typed, paths] =
        [ValueParser::os_string(), ValueParser::path_buf()].map(|parser| parser.type_id());
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
                let parser = arg.get_value_parser().type_id();
                let is_of_bytes = OF_BYTES.contains(&arg.get_id().as_str());
                if is_of_bytes || parser == words_as_typed || parser == paths {
                    word.push(value);
                } else if UNCONVERTED.contains(&arg.get_id().as_str()) {
                    word.push(&*Charset::show_bytes(value.as_bytes()));
                } else {
                    match charset.read_word(value) {
                        Ok(value) => word.push(&*value),
                        Err(_) => word.push(value),
                    }
                }
            }
            word
        })
        .collect()
}

/// Converts an error of clap. Only wrong values cause one, and it contains the error of our value parser.
fn argument_error(error: clap::Error) -> ArgumentError {
    if let Some(ours) = error.source().and_then(|source| source.downcast_ref::<Error>()) {
        return ArgumentError::Failed(ours.clone());
    }
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        return ArgumentError::Failed(Error::new(
            Code(22),
            "Can't convert string from native encoding to 'UTF-8'",
        ));
    }
    ArgumentError::Failed(Error::new(Code::CL_ARG_PARSING_ERROR, error.to_string()))
}

/// Converts the error of clap for matches that do not fit the definition: a fault of this program, not of the user.
pub fn definition_error(error: clap::Error) -> Error {
    Error::new(Code::CL_ARG_PARSING_ERROR, error.to_string())
}

/// Options whose parsers take bytes.
const OF_BYTES: &[&str] = &["with_revprop"];

/// Options that the incumbent does not convert to UTF-8: messages show their bytes.
const UNCONVERTED: &[&str] = &[
    "memory-cache-size",
    "compatible_version",
    "transaction",
    "listen_port",
    "compression",
    "min_threads",
    "max_threads",
    "max_request_size",
    "max_response_size",
];

/// How the ids of options end that name failures of certificates.
const FAILURES: &str = "trust_server_cert_failures";
const HELP: &str = "help";
const VERSION: &str = "version";
const QUIET: &str = "quiet";
const VERBOSE: &str = "verbose";
