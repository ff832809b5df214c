//! `sven cluster import` and `sven cluster export`: repositories of files into a cluster and back.

use std::ffi::OsString;
use std::path::Path;

use base::{Result, Revnum};
use cluster::transfer::{self, OwnChanges};
use repos::{Cache, Repository};

use super::{ConfigOption, os_operands, text};
use crate::args::option::LongRunOptions;
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::progress::{Lines, Progress};

/// Copies a repository into the cluster. An interrupted import is continued,
/// and a later one brings what was committed since. The last part is copied
/// while no other program may write to the repository.
#[derive(clap::Args)]
#[command(override_usage = "import [--config FILE] REPOS_PATH NAME")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// say nothing unless something is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    /// overwrite locks and revision properties that were changed in the cluster
    /// since the last import
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl ImportArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [path, name] = os_operands::<2>(&self.operands)?;
        let (path, name) = (local_path::canonical(path.as_ref()), text(&name, out)?);
        // Says what is wrong with a directory that is no repository.
        Repository::open(&path, &Cache::new(1 << 20))?;
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let progress = Progress::of_revisions(self.long_run.progress, self.quiet, Lines::OnStdout, None);
        progress.step("Imported", 0, None);
        let own_changes = match self.overwrite {
            true => OwnChanges::Overwrite,
            false => OwnChanges::Refuse,
        };
        let outcome = transfer::import(
            &cluster,
            &path,
            &name,
            own_changes,
            &mut |rev| progress.set(rev.0 + 1),
            &interrupt.cancel,
        );
        progress.finish(outcome.is_ok());
        let said = outcome.and_then(|youngest| say(self.quiet, "Imported", youngest, &name, out));
        interrupt.finish(out, said)
    }
}

/// Writes a repository of the cluster to a directory, as Subversion has it.
/// An earlier export there is brought up to date.
#[derive(clap::Args)]
#[command(override_usage = "export [--config FILE] NAME REPOS_PATH")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// say nothing unless something is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl ExportArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name, path] = os_operands::<2>(&self.operands)?;
        let (name, path) = (text(&name, out)?, local_path::canonical(path.as_ref()));
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let progress = Progress::of_revisions(self.long_run.progress, self.quiet, Lines::OnStdout, None);
        progress.step("Exported", 0, None);
        let to: &Path = &path;
        let outcome = transfer::export(
            &cluster,
            &name,
            to,
            &mut |rev| progress.set(rev.0 + 1),
            &interrupt.cancel,
        );
        progress.finish(outcome.is_ok());
        let said = outcome.and_then(|youngest| say(self.quiet, "Exported", youngest, &name, out));
        interrupt.finish(out, said)
    }
}

fn say(is_quiet: bool, what: &str, youngest: Revnum, name: &str, out: &mut Out) -> Result<()> {
    match is_quiet {
        true => Ok(()),
        false => out.line(&format!("{what} '{name}' up to revision {youngest}.")),
    }
}
