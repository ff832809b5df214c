//! `svnbench null-list`: receives listings.

use std::ffi::OsString;

use base::{Code, Depth, Error, NodeKind, Result};
use client::list::{self, ListEvent, ListOptions};
use ra::DirentFields;

use super::measure;
use super::report::{StatisticsOption, count};
use crate::args::date;
use crate::args::revision::Revision;
use crate::client_context::target::Target;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::svn::options::{RecursiveOption, RevisionOption, TargetsOption};
use crate::svn::target_list;

/// Receives the listings of directories, and counts their entries.
#[derive(clap::Args)]
#[command(override_usage = "null-list [TARGET[@REV]...]")]
pub struct NullListArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// receive sizes, dates, authors and locks too
    #[arg(short, long)]
    verbose: bool,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    depth: RecursiveOption,
    /// receive only what the pattern ARG matches
    #[arg(long, action = clap::ArgAction::Append)]
    search: Vec<String>,
    #[command(flatten)]
    statistics: StatisticsOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// The number of entries of each kind.
#[derive(Default)]
struct Counts {
    directories: u64,
    files: u64,
    locks: u64,
}

impl NullListArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let (quiet, statistics) = (self.quiet, self.statistics);
        measure(&self.access, quiet, statistics, out, |context, out| {
            let targets = target_list::read(context, out, &self.operands, &TargetsOption::default())?;
            let mut has_missing = false;
            for target in &targets {
                context.cancel().check()?;
                let mut counts = Counts::default();
                match self.list(context, &target.parse()?, &mut counts) {
                    Ok(()) if quiet => {}
                    Ok(()) => {
                        count(out, counts.directories, "directories")?;
                        count(out, counts.files, "files")?;
                        count(out, counts.locks, "locks")?;
                    }
                    Err(error) if error.code() == Code::FS_NOT_FOUND => {
                        out.warning(&error)?;
                        has_missing = true;
                    }
                    Err(error) => return Err(error),
                }
            }
            if has_missing {
                let message = "Could not list all targets because some targets don't exist";
                return Err(Error::new(Code::ILLEGAL_TARGET, message));
            }
            Ok(())
        })
    }

    fn list(&self, context: &ClientContext, target: &Target, counts: &mut Counts) -> Result<()> {
        let url = target.url()?;
        let peg = target.peg.unwrap_or(Revision::Head);
        let operative = self.revision.start().unwrap_or(peg);
        let options = ListOptions {
            depth: self.depth.depth().unwrap_or(Depth::Immediates),
            patterns: &self.search,
            fields: match self.verbose {
                true => DirentFields::ALL,
                false => DirentFields::KIND,
            },
            locks: self.verbose,
            externals: false,
            open: &|url| context.open(url),
            parse_date: &date::parse,
            fold: &repos::list::fold,
        };
        list::list(url, peg.of_url()?, operative.of_url()?, &options, &mut |event| {
            // Without externals, all events are nodes.
            if let ListEvent::Node(node) = event {
                match node.dirent.kind {
                    NodeKind::Dir => counts.directories += 1,
                    _ => counts.files += 1,
                }
                counts.locks += u64::from(node.lock.is_some());
            }
            Ok(())
        })
    }
}
