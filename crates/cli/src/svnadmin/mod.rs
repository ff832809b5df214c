//! `svnadmin`: administers a repository.
//!
//! One file a subcommand; [`mod@repository`] opens, [`range`] turns `-r` into revisions of an open repository.

mod build_repcache;
mod create;
mod dblogs;
mod deltify;
mod dump;
mod freeze;
mod hotcopy;
mod info;
mod load;
mod locks;
mod lslocks;
mod lstxns;
mod pack;
mod range;
mod repository;
mod rev_size;
mod revprop;
mod rmtxns;
mod setuuid;
mod upgrade;
mod verify;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::{self, Given, Refusal, Tool};
use crate::out::Out;
use crate::{front, local_path};

/// Administers a Subversion repository.
#[derive(Parser)]
#[command(name = "svnadmin")]
pub struct Cli {
    #[command(subcommand)]
    command: Admin,
}

#[derive(Subcommand)]
enum Admin {
    #[command(name = "build-repcache")]
    BuildRepCache(build_repcache::BuildRepCache),
    Create(create::Create),
    #[command(name = "delrevprop")]
    DelRevprop(revprop::DelRevprop),
    Deltify(deltify::Deltify),
    Dump(dump::Dump),
    DumpRevprops(dump::DumpRevprops),
    Freeze(freeze::Freeze),
    Help(Help),
    Hotcopy(hotcopy::Hotcopy),
    Info(info::Info),
    #[command(name = "list-dblogs")]
    ListDbLogs(dblogs::ListDbLogs),
    #[command(name = "list-unused-dblogs")]
    ListUnusedDbLogs(dblogs::ListUnusedDbLogs),
    Load(load::Load),
    LoadRevprops(load::LoadRevprops),
    Lock(locks::Lock),
    #[command(name = "lslocks")]
    LsLocks(lslocks::LsLocks),
    #[command(name = "lstxns")]
    LsTxns(lstxns::LsTxns),
    Pack(pack::Pack),
    Recover(upgrade::Recover),
    RevSize(rev_size::RevSize),
    #[command(name = "rmlocks")]
    RmLocks(locks::RmLocks),
    #[command(name = "rmtxns")]
    RmTxns(rmtxns::RmTxns),
    #[command(name = "setlog")]
    SetLog(revprop::SetLog),
    #[command(name = "setrevprop")]
    SetRevprop(revprop::SetRevprop),
    #[command(name = "setuuid")]
    SetUuid(setuuid::SetUuid),
    Unlock(locks::Unlock),
    Upgrade(upgrade::Upgrade),
    Verify(verify::Verify),
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
struct Help {
    topics: Vec<String>,
}

impl Admin {
    fn run(self, out: &mut Out) -> Result<ExitCode> {
        match self {
            // Answered before any subcommand runs.
            Admin::Help(_) => Ok(()),
            // It ends as its program ends.
            Admin::Freeze(this) => return this.run(out),
            Admin::BuildRepCache(this) => this.run(out),
            Admin::Create(this) => this.run(out),
            Admin::DelRevprop(this) => this.run(out),
            Admin::Deltify(this) => this.run(out),
            Admin::Dump(this) => this.run(out),
            Admin::DumpRevprops(this) => this.run(out),
            Admin::Hotcopy(this) => this.run(out),
            Admin::Info(this) => this.run(out),
            Admin::ListDbLogs(this) => this.run(out),
            Admin::ListUnusedDbLogs(this) => this.run(out),
            Admin::Load(this) => this.run(out),
            Admin::LoadRevprops(this) => this.run(out),
            Admin::Lock(this) => this.run(out),
            Admin::LsLocks(this) => this.run(out),
            Admin::LsTxns(this) => this.run(out),
            Admin::Pack(this) => this.run(out),
            Admin::Recover(this) => this.run(out),
            Admin::RevSize(this) => this.run(out),
            Admin::RmLocks(this) => this.run(out),
            Admin::RmTxns(this) => this.run(out),
            Admin::SetLog(this) => this.run(out),
            Admin::SetRevprop(this) => this.run(out),
            Admin::SetUuid(this) => this.run(out),
            Admin::Unlock(this) => this.run(out),
            Admin::Upgrade(this) => this.run(out),
            Admin::Verify(this) => this.run(out),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

const TOOL: Tool = Tool {
    name: "svnadmin",
    command: Cli::command,
    once: &["revision"],
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    front::run_coded(&TOOL, out, argv, 1, |matches, out| {
        Cli::from_arg_matches(&matches)
            .map_err(args::unreadable)?
            .command
            .run(out)
    })
}

fn repository(subcommand: &str, given: Given<'_>, first: Option<&OsStr>) -> Result<(), Refusal> {
    let wrong = |text: String| Err(Error::new(Code::CL_ARG_PARSING_ERROR, text).into());
    if subcommand == "freeze" && given("file") {
        return Ok(());
    }
    match first {
        None => wrong("Repository argument required".into()),
        Some(url) if local_path::is_url(url) => wrong(format!(
            "'{}' is a URL when it should be a local path",
            url.to_string_lossy()
        )),
        Some(_) => Ok(()),
    }
}
