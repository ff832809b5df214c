//! `sven cluster`: sets up and looks after repositories that several machines share.
//!
//! One file for each subcommand that is more than a question. The settings come from `[cluster]` of the configuration file of
//! `sven serve`.

mod create;
mod files;
mod objects;
mod status;
mod transfer;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use cluster::{Cluster, ClusterSettings};

use crate::args::help::HelpArgs;
use crate::args::{self, ArgumentError, IsGiven, ToolDefinition};
use crate::config::Config;
use crate::out::Out;
use crate::tool_runner;

/// Sets up and looks after repositories that several machines share, in
/// PostgreSQL and an object store.
#[derive(Parser)]
#[command(name = "cluster")]
pub struct ClusterCli {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    Help(HelpArgs),
    Init(InitArgs),
    Status(status::StatusArgs),
    List(ListArgs),
    Nodes(NodesArgs),
    Dead(DeadArgs),
    Create(create::CreateArgs),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
    Drop(DropArgs),
    Files(files::FilesArgs),
    Get(files::GetArgs),
    Put(files::PutArgs),
    Push(files::PushArgs),
    Remove(files::RemoveArgs),
    Fsck(objects::FsckArgs),
    Gc(objects::GcArgs),
    Scrub(objects::ScrubArgs),
}

const TOOL: ToolDefinition = ToolDefinition {
    name: "cluster",
    command: ClusterCli::command,
    may_follow: args::one_revision,
    no_subcommand: "subcommand argument required",
    conflicts: |_| Ok(()),
    repository: no_repository,
};

fn no_repository(_: &str, _: IsGiven<'_>, _: Option<&OsStr>) -> Result<(), ArgumentError> {
    Ok(())
}

/// Runs the tool with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    tool_runner::run(&TOOL, out, argv, |matches, out| {
        match ClusterCli::from_arg_matches(&matches)
            .map_err(args::definition_error)?
            .command
        {
            // `tool_runner` has answered it.
            ClusterCommand::Help(_) => Ok(()),
            ClusterCommand::Init(this) => this.run(out),
            ClusterCommand::Status(this) => this.run(out),
            ClusterCommand::List(this) => this.run(out),
            ClusterCommand::Nodes(this) => this.run(out),
            ClusterCommand::Dead(this) => this.run(out),
            ClusterCommand::Create(this) => this.run(out),
            ClusterCommand::Import(this) => this.run(out),
            ClusterCommand::Export(this) => this.run(out),
            ClusterCommand::Drop(this) => this.run(out),
            ClusterCommand::Files(this) => this.run(out),
            ClusterCommand::Get(this) => this.run(out),
            ClusterCommand::Put(this) => this.run(out),
            ClusterCommand::Push(this) => this.run(out),
            ClusterCommand::Remove(this) => this.run(out),
            ClusterCommand::Fsck(this) => this.run(out),
            ClusterCommand::Gc(this) => this.run(out),
            ClusterCommand::Scrub(this) => this.run(out),
        }
    })
}

/// The option that names the settings.
#[derive(clap::Args)]
struct ConfigOption {
    /// read the settings of the cluster from [cluster] in file ARG
    #[arg(long, value_name = "FILE", default_value = "/etc/sven/sven.toml")]
    config: PathBuf,
}

impl ConfigOption {
    fn settings(&self) -> Result<ClusterSettings> {
        let config = Config::read(&self.config)?;
        config.cluster()?.ok_or_else(|| {
            Error::new(
                Code::BAD_CONFIG_VALUE,
                format!("'{}' has no [cluster]", self.config.display()),
            )
        })
    }

    fn connect(&self) -> Result<Cluster> {
        Cluster::connect(&self.settings()?)
    }
}

/// Makes the tables of a new cluster in the database. Those that are there
/// stay.
#[derive(clap::Args)]
#[command(override_usage = "init [--config FILE]")]
struct InitArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl InitArgs {
    fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        let settings = self.config.settings()?;
        Cluster::create_tables(&settings)?;
        Cluster::connect(&settings)?.check_objects()?;
        out.line("The cluster is ready.")
    }
}

/// Lists the repositories of the cluster: youngest revision, and name.
#[derive(clap::Args)]
#[command(override_usage = "list [--config FILE]")]
struct ListArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl ListArgs {
    fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        for repository in self.config.connect()?.repositories()? {
            let youngest = match repository.youngest {
                Some(rev) => rev.to_string(),
                None => "(import has not ended)".to_owned(),
            };
            out.line(&format!("{youngest:>10}  {}", repository.name))?;
        }
        Ok(())
    }
}

/// Lists the machines of the last day: epoch, state, name, address and
/// version of the program.
#[derive(clap::Args)]
#[command(override_usage = "nodes [--config FILE]")]
struct NodesArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl NodesArgs {
    fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        for node in self.config.connect()?.nodes()? {
            let state = match node.is_alive {
                true => "alive",
                false => "gone",
            };
            let url = match node.url.is_empty() {
                true => "-",
                false => &node.url,
            };
            out.line(&format!(
                "{:>8}  {state:5}  {}  {url}  {}",
                node.epoch, node.name, node.program
            ))?;
        }
        Ok(())
    }
}

/// Declares a machine dead: what it has begun under this epoch is never
/// committed. A machine that still runs registers again.
#[derive(clap::Args)]
#[command(override_usage = "dead [--config FILE] EPOCH")]
struct DeadArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl DeadArgs {
    fn run(self, out: &mut Out) -> Result<()> {
        let [epoch] = operands::<1>(&self.operands, out)?;
        let epoch: u64 = epoch.parse().map_err(|_| {
            Error::new(
                Code::CL_ARG_PARSING_ERROR,
                format!("'{epoch}' is no epoch; 'sven cluster nodes' lists them"),
            )
        })?;
        match self.config.connect()?.declare_dead(epoch)? {
            true => out.line(&format!("The machine with epoch {epoch} commits no more.")),
            false => Err(Error::new(
                Code::ILLEGAL_TARGET,
                format!(
                    "There is no machine with epoch {epoch}, or it is dead already; 'sven cluster nodes' lists them"
                ),
            )),
        }
    }
}

/// Removes a repository from the cluster. Its objects are removed later.
#[derive(clap::Args)]
#[command(override_usage = "drop [--config FILE] --force NAME")]
struct DropArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// do it
    #[arg(long)]
    force: bool,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl DropArgs {
    fn run(self, out: &mut Out) -> Result<()> {
        let [name] = operands::<1>(&self.operands, out)?;
        if !self.force {
            let text = format!("This removes all revisions of '{name}'; give --force if that is wanted");
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, text));
        }
        self.config.connect()?.drop_repository(&name)?;
        out.line(&format!("Removed '{name}'."))
    }
}

/// Returns the operands as texts, if they are as many as are wanted.
fn operands<const COUNT: usize>(given: &[OsString], out: &Out) -> Result<[String; COUNT]> {
    let words = os_operands::<COUNT>(given)?;
    let mut texts = [const { String::new() }; COUNT];
    for (text_of, word) in texts.iter_mut().zip(&words) {
        *text_of = text(word, out)?;
    }
    Ok(texts)
}

/// Returns an operand that is no path of the disk, such as the name of a repository.
///
/// # Errors
/// `errno` 22 for text in another character set.
fn text(word: &OsStr, out: &Out) -> Result<String> {
    Ok(out.charset().read(word.as_bytes())?.into_owned())
}

/// Returns the operands, if they are as many as are wanted.
fn os_operands<const COUNT: usize>(given: &[OsString]) -> Result<[OsString; COUNT]> {
    given.to_vec().try_into().map_err(|_| {
        let (code, text) = match given.len() < COUNT {
            true => (Code::CL_INSUFFICIENT_ARGS, "Not enough arguments given"),
            false => (Code::CL_ARG_PARSING_ERROR, "Too many arguments given"),
        };
        Error::new(code, text)
    })
}
