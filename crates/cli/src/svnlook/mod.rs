//! `svnlook`: prints parts of a repository, of a revision or of a transaction.
//!
//! Hook scripts parse its output, so every byte equals the incumbent's. One file for each subcommand. [`lookup`]
//! opens the repository and finds trees and nodes.

mod author;
mod cat;
mod changed;
mod changed_tree;
mod date;
mod diff;
mod dirs_changed;
mod filesize;
mod history;
mod info;
mod lock;
mod log;
mod lookup;
mod propget;
mod proplist;
mod props;
mod tree;
mod uuid;
mod youngest;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::out::Out;
use crate::tool_runner;

/// Looks into a Subversion repository and changes nothing.
/// A subcommand that takes '--revision' and '--transaction' looks at the
/// youngest revision if it gets neither.
#[derive(Parser)]
#[command(name = "svnlook")]
pub struct SvnLookCli {
    #[command(subcommand)]
    command: LookCommand,
}

#[derive(Subcommand)]
enum LookCommand {
    Author(author::AuthorArgs),
    Cat(cat::CatArgs),
    Changed(changed::ChangedArgs),
    Date(date::DateArgs),
    Diff(diff::DiffArgs),
    DirsChanged(dirs_changed::DirsChangedArgs),
    Filesize(filesize::FileSizeArgs),
    Help(HelpArgs),
    History(history::HistoryArgs),
    Info(info::InfoArgs),
    Lock(lock::LockArgs),
    Log(log::LogArgs),
    Propget(propget::PropGetArgs),
    Proplist(proplist::PropListArgs),
    Tree(tree::TreeArgs),
    Uuid(uuid::UuidArgs),
    Youngest(youngest::YoungestArgs),
}

impl LookCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            // `tool_runner` has answered it.
            LookCommand::Help(_) => Ok(()),
            LookCommand::Author(this) => this.run(out),
            LookCommand::Cat(this) => this.run(out),
            LookCommand::Changed(this) => this.run(out),
            LookCommand::Date(this) => this.run(out),
            LookCommand::Diff(this) => this.run(out),
            LookCommand::DirsChanged(this) => this.run(out),
            LookCommand::Filesize(this) => this.run(out),
            LookCommand::History(this) => this.run(out),
            LookCommand::Info(this) => this.run(out),
            LookCommand::Lock(this) => this.run(out),
            LookCommand::Log(this) => this.run(out),
            LookCommand::Propget(this) => this.run(out),
            LookCommand::Proplist(this) => this.run(out),
            LookCommand::Tree(this) => this.run(out),
            LookCommand::Uuid(this) => this.run(out),
            LookCommand::Youngest(this) => this.run(out),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnlook",
    command: SvnLookCli::command,
    may_follow: args::any_order,
    no_subcommand: "Subcommand argument required",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        SvnLookCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
            .run(out)
    })
}

fn conflicts(given: IsGiven<'_>) -> Result<()> {
    if given("transaction") && given("revision") {
        return Err(Error::new(
            Code::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "The '--transaction' (-t) and '--revision' (-r) arguments cannot co-exist",
        ));
    }
    Ok(())
}

fn repository(_subcommand: &str, _given: IsGiven<'_>, first: Option<&OsStr>) -> Result<(), ArgumentError> {
    match first {
        Some(_) => Ok(()),
        None => Err(ArgumentError::Plain("Repository argument required".into())),
    }
}
