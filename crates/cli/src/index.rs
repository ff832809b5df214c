//! `sven index`: builds, checks, describes and removes the history index of a repository.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use base::{Code, Error, Result, Revnum};
use clap::{CommandFactory as _, Parser};
use fsfs::Fs;
use fsfs::admin::history_index::{self, BuildOptions, IndexStatus};
use repos::{Cache, OpenOptions, Repository};

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::own_command;
use crate::progress::{Lines, Progress};

/// Builds the history index of a repository, or adds what it lacks.
#[derive(Parser)]
#[command(name = "index")]
pub struct IndexArgs {
    /// start again from revision 0
    #[arg(long)]
    rebuild: bool,
    /// compare the index with the repository
    #[arg(long)]
    check: bool,
    /// only say what the index covers
    #[arg(long)]
    status: bool,
    /// remove the index
    #[arg(long)]
    remove: bool,
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
    repository: Vec<OsString>,
}

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: IndexArgs, out| {
        if given.help {
            return Ok(out.print(&help()).map(|()| ExitCode::SUCCESS)?);
        }
        let modes = [given.rebuild, given.check, given.status, given.remove];
        if modes.iter().filter(|is_given| **is_given).count() > 1 {
            let text = "Give one of --rebuild, --check, --status and --remove.";
            return Err(ArgumentError::Plain(text.to_owned()));
        }
        let [path] = &given.repository[..] else {
            return Err(ArgumentError::Plain("Give the one repository.".to_owned()));
        };
        let path = local_path::canonical(path);
        Ok(given.run(&path, out).map(|()| ExitCode::SUCCESS)?)
    })
}

impl IndexArgs {
    fn run(self, path: &Path, out: &mut Out) -> Result<()> {
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let options = OpenOptions {
            meter: meter.clone(),
            ..OpenOptions::default()
        };
        let cache = Cache::for_one_pass(self.memory.budget());
        let repository = Repository::open_with(path, &cache, options)?;
        let fs = repository.fs();
        if self.remove {
            return history_index::remove(fs);
        }
        if self.status {
            return out.line(&describe(fs)?);
        }
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStdout,
            meter.as_ref(),
        );
        let outcome = match self.check {
            true => self.check(fs, progress, &interrupt, out),
            false => self.build(fs, progress, &interrupt, out),
        };
        interrupt.finish(out, outcome)
    }

    fn build(&self, fs: &Fs, progress: Progress, interrupt: &Interrupt, out: &mut Out) -> Result<()> {
        let status = history_index::status(fs)?.and_then(|status| status.last);
        let first = match status {
            Some(last) if !self.rebuild => last.next(),
            _ => Revnum::ZERO,
        };
        step(&progress, "Indexed", first, fs.youngest()?);
        let options = BuildOptions {
            rebuild: self.rebuild,
            cache_budget: self.memory.budget(),
            cancel: interrupt.cancel.clone(),
            ..BuildOptions::default()
        };
        let built = history_index::build(fs, &options, &mut |rev| progress.set(rev.0 + 1 - first.0));
        progress.finish(built.is_ok());
        built?;
        match self.quiet {
            true => Ok(()),
            false => out.line(&describe(fs)?),
        }
    }

    fn check(&self, fs: &Fs, progress: Progress, interrupt: &Interrupt, out: &mut Out) -> Result<()> {
        step(&progress, "Checked", Revnum::ZERO, fs.youngest()?);
        let checked = history_index::check(fs, &interrupt.cancel, &mut |rev| progress.set(rev.0 + 1));
        progress.finish(checked.is_ok());
        let text = match checked? {
            Some(last) => format!("The history index agrees with revisions 0 to {last}."),
            None => return Err(Error::new(Code::FS_GENERAL, "There is no history index")),
        };
        match self.quiet {
            true => Ok(()),
            false => out.line(&text),
        }
    }
}

/// Begins the display of an operation on the revisions `first` to `last`.
fn step(progress: &Progress, what: &'static str, first: Revnum, last: Revnum) {
    progress.step(what, 0, Some((last.0 + 1).saturating_sub(first.0)));
}

/// Describes the index in one line.
fn describe(fs: &Fs) -> Result<String> {
    let youngest = fs.youngest()?;
    let Some(status) = history_index::status(fs)? else {
        return Ok("There is no history index.".to_owned());
    };
    let IndexStatus {
        last,
        segments,
        entries,
        bytes,
        unused,
    } = status;
    let mut text = match last {
        None => "The history index covers no revision".to_owned(),
        Some(last) if last == youngest => format!("The history index covers all revisions up to {last}"),
        Some(last) => format!("The history index covers revisions up to {last} of {youngest}"),
    };
    text.push_str(&format!(
        ": {entries} node-revisions in {segments} segments, {bytes} bytes."
    ));
    if unused > 0 {
        text.push_str(&format!(" {unused} segments are not used."));
    }
    Ok(text)
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven index REPOS_PATH [--rebuild | --check | --status | --remove]\n\
         Builds the history index of a repository, or adds the revisions that it lacks.\n\
         With it, 'log' and 'blame' of one path need not walk through the repository. Commits by sven extend an\n\
         index that exists. Subversion's programs ignore it. It can be removed at any time.\n\
         A run that was interrupted goes on where it was.\n\n",
    );
    text.push_str(&options(&IndexArgs::command()));
    text
}
