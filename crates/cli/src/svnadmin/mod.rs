//! `svnadmin`: administers a repository.
//!
//! One file for each subcommand. [`mod@repository`] opens the repository, [`range`] resolves `-r` in it.

mod build_repcache;
pub(crate) mod create;
mod dblogs;
mod deltify;
mod dump;
mod freeze;
mod hotcopy;
mod info;
mod load;
pub(crate) mod locks;
mod lslocks;
mod lstxns;
mod pack;
mod range;
pub(crate) mod repository;
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

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::out::Out;
use crate::{local_path, tool_runner};

/// Administers a Subversion repository.
#[derive(Parser)]
#[command(name = "svnadmin")]
pub struct SvnAdminCli {
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Subcommand)]
enum AdminCommand {
    #[command(name = "build-repcache")]
    BuildRepCache(build_repcache::BuildRepCacheArgs),
    Create(create::CreateArgs),
    #[command(name = "delrevprop")]
    DelRevprop(revprop::DelRevpropArgs),
    Deltify(deltify::DeltifyArgs),
    Dump(dump::DumpArgs),
    DumpRevprops(dump::DumpRevpropsArgs),
    Freeze(freeze::FreezeArgs),
    Help(HelpArgs),
    Hotcopy(hotcopy::HotcopyArgs),
    Info(info::InfoArgs),
    #[command(name = "list-dblogs")]
    ListDbLogs(dblogs::ListDbLogsArgs),
    #[command(name = "list-unused-dblogs")]
    ListUnusedDbLogs(dblogs::ListUnusedDbLogsArgs),
    Load(load::LoadArgs),
    LoadRevprops(load::LoadRevpropsArgs),
    Lock(locks::LockArgs),
    #[command(name = "lslocks")]
    LsLocks(lslocks::LsLocksArgs),
    #[command(name = "lstxns")]
    LsTxns(lstxns::LsTxnsArgs),
    Pack(pack::PackArgs),
    Recover(upgrade::RecoverArgs),
    RevSize(rev_size::RevSizeArgs),
    #[command(name = "rmlocks")]
    RmLocks(locks::RmLocksArgs),
    #[command(name = "rmtxns")]
    RmTxns(rmtxns::RmTxnsArgs),
    #[command(name = "setlog")]
    SetLog(revprop::SetLogArgs),
    #[command(name = "setrevprop")]
    SetRevprop(revprop::SetRevpropArgs),
    #[command(name = "setuuid")]
    SetUuid(setuuid::SetUuidArgs),
    Unlock(locks::UnlockArgs),
    Upgrade(upgrade::UpgradeArgs),
    Verify(verify::VerifyArgs),
}

impl AdminCommand {
    fn run(self, out: &mut Out) -> Result<ExitCode> {
        match self {
            // `tool_runner` has answered it.
            AdminCommand::Help(_) => Ok(()),
            // The exit code is that of the program that `freeze` runs.
            AdminCommand::Freeze(this) => return this.run(out),
            AdminCommand::BuildRepCache(this) => this.run(out),
            AdminCommand::Create(this) => this.run(out),
            AdminCommand::DelRevprop(this) => this.run(out),
            AdminCommand::Deltify(this) => this.run(out),
            AdminCommand::Dump(this) => this.run(out),
            AdminCommand::DumpRevprops(this) => this.run(out),
            AdminCommand::Hotcopy(this) => this.run(out),
            AdminCommand::Info(this) => this.run(out),
            AdminCommand::ListDbLogs(this) => this.run(out),
            AdminCommand::ListUnusedDbLogs(this) => this.run(out),
            AdminCommand::Load(this) => this.run(out),
            AdminCommand::LoadRevprops(this) => this.run(out),
            AdminCommand::Lock(this) => this.run(out),
            AdminCommand::LsLocks(this) => this.run(out),
            AdminCommand::LsTxns(this) => this.run(out),
            AdminCommand::Pack(this) => this.run(out),
            AdminCommand::Recover(this) => this.run(out),
            AdminCommand::RevSize(this) => this.run(out),
            AdminCommand::RmLocks(this) => this.run(out),
            AdminCommand::RmTxns(this) => this.run(out),
            AdminCommand::SetLog(this) => this.run(out),
            AdminCommand::SetRevprop(this) => this.run(out),
            AdminCommand::SetUuid(this) => this.run(out),
            AdminCommand::Unlock(this) => this.run(out),
            AdminCommand::Upgrade(this) => this.run(out),
            AdminCommand::Verify(this) => this.run(out),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "svnadmin",
    command: SvnAdminCli::command,
    may_follow: args::one_revision,
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository,
};

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run_with_codes(&TOOL, out, argv, 1, |matches, out| {
        SvnAdminCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
            .run(out)
    })
}

fn repository(subcommand: &str, given: IsGiven<'_>, first: Option<&OsStr>) -> Result<(), ArgumentError> {
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
