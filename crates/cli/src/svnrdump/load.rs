//! `svnrdump load`: loads a dump stream.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use base::{Code, Error, Result, Revnum};
use client::rdump::{self, LoadObserver, LoadOptions, LockEvent};

use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::process_owner;

/// Loads a dump stream, from standard input, into the repository at URL.
#[derive(clap::Args)]
#[command(override_usage = "load URL")]
pub struct LoadArgs {
    /// print no progress
    #[arg(short, long)]
    quiet: bool,
    /// leave out the revision property ARG (such as 'svn:author')
    #[arg(long, action = clap::ArgAction::Append)]
    skip_revprop: Vec<String>,
    /// read file ARG instead of standard input
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl LoadArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        if self.access.password_from_stdin && self.file.is_none() {
            let message = "load subcommand with --password-from-stdin requires -F";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        let url = super::url(&self.operands)?;
        let options = LoadOptions {
            skip_revprops: self.skip_revprop.into_iter().collect(),
            owner: process_owner::owner(),
            is_dead: &process_owner::is_dead,
        };
        let (quiet, file) = (self.quiet, self.file);
        let mut access = self.access;
        // Standard input has the stream, and says nothing about the user.
        access.force_interactive |= !access.non_interactive;
        ClientContext::run(access, out, |context, out| {
            let mut open = || open_input(file.as_deref().map(Path::new));
            let mut observer = Printer { quiet, out };
            rdump::load(&url, &mut open, &options, context, &mut observer)
        })
    }
}

fn open_input(file: Option<&Path>) -> Result<Box<dyn BufRead>> {
    match file {
        None => Ok(Box::new(BufReader::with_capacity(BUFFER, io::stdin()))),
        Some(path) => {
            let file = File::open(path).map_err(|e| Error::io("Can't open file", path, &e))?;
            Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
        }
    }
}

/// Prints the progress.
struct Printer<'a> {
    quiet: bool,
    out: &'a mut Out,
}

impl LoadObserver for Printer<'_> {
    fn lock(&mut self, event: LockEvent<'_>) -> Result<()> {
        let (LockEvent::Held(owner) | LockEvent::Stolen(owner)) = event;
        self.out.line(&format!(
            "Failed to get lock on destination repos, currently held by '{owner}'"
        ))?;
        self.out.flush()
    }

    fn loaded(&mut self, rev: Revnum) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.out.line(&format!("* Loaded revision {rev}."))?;
        self.out.flush()
    }
}

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;
