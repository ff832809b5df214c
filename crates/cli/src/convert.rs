//! `sven convert`: makes a repository of another back end or format from a repository, with the same history.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use base::{Result, Revnum};
use clap::{CommandFactory as _, Parser};
use fsfs::BackEnd;
use repos::Cache;
use repos::convert::{self, ConvertObserver, ConvertOptions};
use repos::load::Clock;

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::own_command;
use crate::progress::{Lines, Progress};
use crate::svnadmin::create::compatible_minor;
use crate::svnadmin::locks::now;
use crate::svnadmin::repository::avoid_large_pages;

/// Converts a repository to another back end or format.
#[derive(Parser)]
#[command(name = "convert")]
pub struct ConvertArgs {
    /// the storage engine of the new repository: 'fsfs', or 'fsx', which is an experiment
    #[arg(long)]
    to: Option<String>,
    /// make a repository that Subversion ARG can use, such as '1.8'
    #[arg(long)]
    compatible_version: Option<String>,
    /// have ARG revisions in each shard; 0 for a linear layout (fsfs only)
    #[arg(long)]
    shard_size: Option<String>,
    /// bring a complete conversion up to date
    #[arg(long)]
    incremental: bool,
    /// say nothing unless something is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    #[command(flatten)]
    long_run: LongRunOptions,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    repositories: Vec<OsString>,
}

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: ConvertArgs, out| {
        if given.help {
            return Ok(out.print(&help()).map(|()| ExitCode::SUCCESS)?);
        }
        let chosen = given.chosen(out.program())?;
        Ok(given.run(chosen, out).map(|()| ExitCode::SUCCESS)?)
    })
}

/// The options that describe the new repository.
struct NewRepository {
    to: BackEnd,
    compatible: Option<u32>,
    shard_size: Option<u64>,
}

impl ConvertArgs {
    fn chosen(&self, program: &str) -> Result<NewRepository, ArgumentError> {
        let plain = |text: String| ArgumentError::Plain(text);
        let to = match self.to.as_deref() {
            Some("fsfs") => BackEnd::Fsfs,
            Some("fsx") => BackEnd::Fsx,
            Some(other) => return Err(plain(format!("'{other}' is none of fsfs and fsx."))),
            None => return Err(plain("Say what to make: '--to fsfs' or '--to fsx'.".to_owned())),
        };
        let compatible = self.compatible_version.as_deref();
        let compatible = compatible
            .map(|text| compatible_minor(program, text))
            .transpose()?;
        if compatible.is_some_and(|minor| minor < 9) && to == BackEnd::Fsx {
            return Err(plain(
                "Repositories compatible with 1.8.x or earlier cannot be of fsx.".to_owned(),
            ));
        }
        let shard_size = self.shard_size.as_deref().map(|text| {
            text.parse()
                .map_err(|_| plain(format!("'{text}' is no number of revisions.")))
        });
        if self.repositories.len() != 2 {
            return Err(plain("Give a repository and the path of the new one.".to_owned()));
        }
        Ok(NewRepository {
            to,
            compatible,
            shard_size: shard_size.transpose()?,
        })
    }

    fn run(self, new: NewRepository, out: &mut Out) -> Result<()> {
        let [source, destination] = [0, 1].map(|at| local_path::canonical(&self.repositories[at]));
        out.set_output_ignorable();
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let options = ConvertOptions {
            to: new.to,
            compatible: new.compatible,
            shard_size: new.shard_size,
            incremental: self.incremental,
            meter: meter.clone(),
        };
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStdout,
            meter.as_ref(),
        );
        avoid_large_pages();
        // Reading goes through each revision once, writing comes back to what it wrote.
        let half = self.memory.budget() / 2;
        let caches = [Cache::for_one_pass(half), Cache::for_load(half)];
        let clock: Clock = Arc::new(now);
        let mut printer = ConvertPrinter { out, progress };
        let outcome = convert::convert(
            &source,
            &destination,
            &options,
            &mut printer,
            &interrupt.cancel,
            caches.each_ref(),
            &clock,
        );
        printer.progress.finish(outcome.is_ok());
        interrupt.finish(out, outcome)
    }
}

/// Prints the progress as `svnadmin hotcopy` does.
struct ConvertPrinter<'o> {
    out: &'o mut Out,
    progress: Progress,
}

impl ConvertObserver for ConvertPrinter<'_> {
    fn started(&mut self, next: Revnum, youngest: Revnum) {
        self.progress.step("Converted", next.0, Some(youngest.0 + 1));
    }

    fn converted(&mut self, rev: Revnum) -> Result<()> {
        self.progress.set(rev.0 + 1);
        if self.progress.has_lines() {
            self.out.notice_line(&format!("* Converted revision {rev}."));
        }
        Ok(())
    }
}

/// How the command is called.
pub const USAGE: &str = "convert --to fsfs|fsx REPOS_PATH NEW_REPOS_PATH";

fn help() -> String {
    let mut text = format!(
        "usage: sven {USAGE}\n\
         Makes a new repository of the other storage engine, or of another format, with the history of a repository.\n\
         Dumps of both are equal, except that FSX has no change of a text to the same text. UUID, revision properties,\n\
         locks, hooks and configuration are carried over; transactions in progress are not, and nothing is packed.\n\
         The first repository is only read. It may be in use,\n\
         but what is committed at the end of the run or later is not in the new one: so freeze it.\n\
         A run that was interrupted goes on where it was if it is started again with the same arguments.\n\
         With '--incremental' a complete conversion gets the revisions, revision properties, locks, hooks and configuration that\n\
         have changed since; it must not have revisions of its own.\n\n",
    );
    text.push_str(&options(&ConvertArgs::command()));
    text
}
