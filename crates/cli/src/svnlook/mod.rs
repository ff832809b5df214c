//! `svnlook`: looks into a repository, at a revision or at a transaction that is not committed yet.
//!
//! Hook scripts live on it, so every byte of its output is the incumbent's. One file a subcommand; [`at`] is what
//! most of them share: the repository, opened, and the tree they look at.

mod at;
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

use crate::args::{self, Given, Refusal, Tool};
use crate::front;
use crate::out::Out;

/// Looks into a Subversion repository and changes nothing.
/// A subcommand that takes '--revision' and '--transaction' looks at the
/// youngest revision if it gets neither.
#[derive(Parser)]
#[command(name = "svnlook")]
pub struct Cli {
    #[command(subcommand)]
    command: LookCommand,
}

#[derive(Subcommand)]
enum LookCommand {
    Author(author::Author),
    Cat(cat::Cat),
    Changed(changed::Changed),
    Date(date::Date),
    Diff(diff::Diff),
    DirsChanged(dirs_changed::DirsChanged),
    Filesize(filesize::FileSize),
    Help(Help),
    History(history::History),
    Info(info::Info),
    Lock(lock::Lock),
    Log(log::Log),
    Propget(propget::PropGet),
    Proplist(proplist::PropList),
    Tree(tree::Tree),
    Uuid(uuid::Uuid),
    Youngest(youngest::Youngest),
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
struct Help {
    topics: Vec<String>,
}

impl LookCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            // Answered before any subcommand runs.
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

const TOOL: Tool = Tool {
    name: "svnlook",
    command: Cli::command,
    once: &[],
    no_subcommand: "Subcommand argument required",
    conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    front::run(&TOOL, out, argv, |matches, out| {
        Cli::from_arg_matches(&matches)
            .map_err(args::unreadable)?
            .command
            .run(out)
    })
}

fn conflicts(given: Given<'_>) -> Result<()> {
    if given("transaction") && given("revision") {
        return Err(Error::new(
            Code::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "The '--transaction' (-t) and '--revision' (-r) arguments cannot co-exist",
        ));
    }
    Ok(())
}

fn repository(_subcommand: &str, _given: Given<'_>, first: Option<&OsStr>) -> Result<(), Refusal> {
    match first {
        Some(_) => Ok(()),
        None => Err(Refusal::Plain("Repository argument required".into())),
    }
}
