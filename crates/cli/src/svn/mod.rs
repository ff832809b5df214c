//! `svn`: the client's commands, for repositories without a working copy.
//!
//! One file for each subcommand. Options and targets are parsed here; the work is in the crate `client`. [`options`] has the options
//! that several subcommands share, [`help`] the layout of help texts, [`working_copy`] the names of the subcommands that are missing.

mod auth;
mod blame;
mod cat;
mod commit_output;
mod copy;
mod delete;
mod diff;
mod entry_xml;
mod export;
mod help;
mod human_size;
mod import;
mod info;
mod list;
mod lock;
pub mod log;
mod mergeinfo;
mod mkdir;
mod move_;
pub mod options;
mod propdel;
mod propedit;
mod propget;
mod proplist;
mod props;
mod propset;
mod revprops;
pub mod target_list;
mod unlock;
mod working_copy;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::working_copy::WorkingCopyArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition, ToolRequest};
use crate::client_context;
use crate::out::Out;
use crate::{tool_runner, version};

/// Subversion's client.
#[derive(Parser)]
#[command(name = "svn")]
pub struct SvnCli {
    #[command(subcommand)]
    command: SvnCommand,
}

#[derive(Subcommand)]
enum SvnCommand {
    Auth(auth::AuthArgs),
    #[command(visible_aliases = ["praise", "annotate", "ann"])]
    Blame(blame::BlameArgs),
    Cat(cat::CatArgs),
    Copy(copy::CopyArgs),
    Delete(delete::DeleteArgs),
    #[command(visible_alias = "di")]
    Diff(diff::DiffArgs),
    Export(export::ExportArgs),
    Help(help::HelpArgs),
    Import(import::ImportArgs),
    Info(info::InfoArgs),
    List(list::ListArgs),
    Lock(lock::LockArgs),
    Log(log::LogArgs),
    Mergeinfo(mergeinfo::MergeinfoArgs),
    Mkdir(mkdir::MkdirArgs),
    Move(move_::MoveArgs),
    Propdel(propdel::PropdelArgs),
    Propedit(propedit::PropeditArgs),
    Propget(propget::PropgetArgs),
    Proplist(proplist::ProplistArgs),
    Propset(propset::PropsetArgs),
    Unlock(unlock::UnlockArgs),
    // The subcommands that need a working copy.
    Add(WorkingCopyArgs),
    #[command(visible_alias = "cl")]
    Changelist(WorkingCopyArgs),
    #[command(visible_alias = "co")]
    Checkout(WorkingCopyArgs),
    Cleanup(WorkingCopyArgs),
    #[command(visible_alias = "ci")]
    Commit(WorkingCopyArgs),
    Merge(WorkingCopyArgs),
    Patch(WorkingCopyArgs),
    Relocate(WorkingCopyArgs),
    Resolve(WorkingCopyArgs),
    Resolved(WorkingCopyArgs),
    Revert(WorkingCopyArgs),
    #[command(visible_aliases = ["stat", "st"])]
    Status(WorkingCopyArgs),
    #[command(visible_alias = "sw")]
    Switch(WorkingCopyArgs),
    #[command(visible_alias = "up")]
    Update(WorkingCopyArgs),
    Upgrade(WorkingCopyArgs),
}

impl SvnCommand {
    fn run(self, out: &mut Out) -> Result<()> {
        match self {
            SvnCommand::Auth(this) => this.run(out),
            SvnCommand::Blame(this) => this.run(out),
            SvnCommand::Cat(this) => this.run(out),
            SvnCommand::Copy(this) => this.run(out),
            SvnCommand::Delete(this) => this.run(out),
            SvnCommand::Diff(this) => this.run(out),
            SvnCommand::Export(this) => this.run(out),
            SvnCommand::Import(this) => this.run(out),
            SvnCommand::Info(this) => this.run(out),
            SvnCommand::List(this) => this.run(out),
            SvnCommand::Lock(this) => this.run(out),
            SvnCommand::Log(this) => this.run(out),
            SvnCommand::Mergeinfo(this) => this.run(out),
            SvnCommand::Mkdir(this) => this.run(out),
            SvnCommand::Move(this) => this.run(out),
            SvnCommand::Propdel(this) => this.run(out),
            SvnCommand::Propedit(this) => this.run(out),
            SvnCommand::Propget(this) => this.run(out),
            SvnCommand::Proplist(this) => this.run(out),
            SvnCommand::Propset(this) => this.run(out),
            SvnCommand::Unlock(this) => this.run(out),
            // `run` has answered help, and `repository` has refused the others.
            _ => Ok(()),
        }
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svn",
    command: SvnCli::command,
    may_follow: options::may_follow,
    no_subcommand: "Subcommand argument required",
    conflicts: client_context::options::conflicts,
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let outcome = match args::parse(&TOOL, argv) {
        Err(error) => {
            tool_runner::print_argument_error(&TOOL, out, error);
            return ExitCode::FAILURE;
        }
        Ok(ToolRequest::Help { topics, verbose }) => {
            help::print(&SvnCli::command(), &topics, verbose, &mut out)
        }
        Ok(ToolRequest::Version { quiet, verbose }) => out.print(&version::of_client("svn", quiet, verbose)),
        Ok(ToolRequest::Run(matches)) => run_subcommand(&matches, &mut out),
    };
    out.finish(outcome.map(|()| ExitCode::SUCCESS))
}

fn run_subcommand(matches: &clap::ArgMatches, out: &mut Out) -> Result<()> {
    if let Some((name, given)) = matches.subcommand() {
        options::check_exclusive(name, given)?;
        if matches!(given.try_get_one::<bool>("quiet"), Ok(Some(true))) {
            out.set_quiet();
        }
        if matches!(given.try_get_one::<bool>("xml"), Ok(Some(true))) {
            out.set_xml();
        }
    }
    client_context::check_early(matches, out)?;
    let parsed = SvnCli::from_arg_matches(matches).map_err(args::definition_error)?;
    let outcome = parsed.command.run(out);
    outcome.map_err(|error| match matches.subcommand_name() {
        Some(name) => with_hint(out, name, error),
        None => error,
    })
}

/// Adds the hint `Try 'svn help X' for more information` to an error that says that the arguments of a subcommand are wrong.
pub fn with_hint(out: &Out, subcommand: &str, error: Error) -> Error {
    match error.code() {
        Code::CL_ARG_PARSING_ERROR | Code::CL_INSUFFICIENT_ARGS => {
            let message = format!("Try '{} help {subcommand}' for more information", out.program());
            error.context(message)
        }
        _ => error,
    }
}

fn repository(subcommand: &str, _given: IsGiven<'_>, _first: Option<&OsStr>) -> Result<(), ArgumentError> {
    if working_copy::SUBCOMMANDS.contains(&subcommand) {
        return Err(working_copy::not_supported(subcommand).into());
    }
    Ok(())
}

/// Reads the name of a property from the command line.
///
/// # Errors
/// `errno` 22 for text in another character set; `CLIENT_PROPERTY_NAME` for a name that no property can have.
fn property_name(word: &OsStr, out: &Out) -> Result<String> {
    use std::os::unix::ffi::OsStrExt as _;
    let name = out.charset().read(word.as_bytes())?;
    let refuse = |message: String| Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
    if name.starts_with("svn:wc:") {
        return refuse(format!("'{name}' is a wcprop, thus not accessible to clients"));
    }
    if !is_property_name(&name) {
        return refuse(format!("'{name}' is not a valid Subversion property name"));
    }
    Ok(name.into_owned())
}

/// True for a letter, `:` or `_`, and after it digits, `-` and `.` too.
fn is_property_name(name: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b':' | b'_');
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_first)
        && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}
