//! `sven fsx`: examines how a repository of FSX is stored.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use base::{Error, Result, Revnum};
use clap::{CommandFactory as _, Parser};
use fsfs::Fs;
use fsfs::admin::stats::fsx;
use repos::Cache;

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::args::option::CacheSizeOption;
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::own_command;

/// Examines how a repository of FSX is stored.
#[derive(Parser)]
#[command(name = "fsx")]
pub struct FsxArgs {
    /// do not say what is read
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    words: Vec<OsString>,
}

/// How the command is called.
pub const USAGE: &str = "fsx stats REPOS_PATH";

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: FsxArgs, out| {
        if given.help || given.words == ["help"] {
            return Ok(out.print(&help()).map(|()| ExitCode::SUCCESS)?);
        }
        let path = match &given.words[..] {
            [word, path] if word == "stats" => local_path::canonical(path),
            [word] if word == "stats" => {
                return Err(ArgumentError::Plain("Give the one repository.".to_owned()));
            }
            _ => {
                let text = "Give the subcommand 'stats' and a repository.";
                return Err(ArgumentError::Plain(text.to_owned()));
            }
        };
        Ok(given.stats(&path, out).map(|()| ExitCode::SUCCESS)?)
    })
}

impl FsxArgs {
    /// Reads the whole repository and prints how much room its parts take.
    fn stats(&self, path: &Path, out: &mut Out) -> Result<()> {
        let db = path.join("db");
        // A clear error for a directory that is no repository.
        let kind = db.join("fs-type");
        std::fs::metadata(&kind).map_err(|e| Error::io("Can't open file", &kind, &e))?;
        let fs = Fs::open(&db, &Cache::for_one_pass(self.memory.budget()))?;
        fsx::check(&fs)?;
        let interrupt = Interrupt::install()?;
        let shard = fs.info()?.shard_size.max(1);
        let mut written = match self.quiet {
            true => Ok(()),
            false => out.line("Reading revisions").and_then(|()| out.flush()),
        };
        let outcome = {
            let mut reached = |rev: Revnum| {
                if !self.quiet && rev.0.is_multiple_of(shard) && written.is_ok() {
                    written = out.print(&format!("{:>8}", rev.0)).and_then(|()| out.flush());
                    if written.is_err() {
                        interrupt.cancel.cancel();
                    }
                }
            };
            fsx::run(&fs, &mut reached, &interrupt.cancel)
        };
        written?;
        let gap = if self.quiet { "" } else { "\n\n" };
        let outcome = outcome.and_then(|stats| out.print(&format!("{gap}{stats}")));
        interrupt.finish(out, outcome)
    }
}

fn help() -> String {
    let mut text = format!(
        "usage: sven {USAGE}\n\
         Reads a whole repository of FSX and prints how much room its parts take: files and indexes, items of each kind\n\
         and containers, node-revisions and changed paths, contents by their size, and what is shared.\n\
         For repositories of FSFS, see 'sven fsfs help stats'.\n\n",
    );
    text.push_str(&options(&FsxArgs::command()));
    text
}
