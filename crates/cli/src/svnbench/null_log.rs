//! `svnbench null-log`: receives logs.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum, props};
use client::locate;
use ra::{LogEntry, LogRequest, Session};

use super::measure;
use super::report::{StatisticsOption, count, grouped};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::svn::log::{self, options::RevpropNames};
use crate::svn::options::{RevisionsOption, TargetsOption};

/// Receives log messages, and counts them.
#[derive(clap::Args)]
#[command(override_usage = "null-log URL[@REV] [PATH...]")]
pub struct NullLogArgs {
    #[command(flatten)]
    revisions: RevisionsOption,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    /// receive the changed paths too
    #[arg(short, long)]
    verbose: bool,
    /// receive merged revisions too
    #[arg(short = 'g', long)]
    use_merge_history: bool,
    #[command(flatten)]
    targets: TargetsOption,
    /// stop at copies
    #[arg(long)]
    stop_on_copy: bool,
    /// receive at most ARG revisions
    #[arg(short, long, value_parser = log::options::limit)]
    limit: Option<u64>,
    #[command(flatten)]
    revprops: RevpropNames,
    #[command(flatten)]
    statistics: StatisticsOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl NullLogArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let (quiet, statistics) = (self.quiet, self.statistics);
        measure(&self.access, quiet, statistics, out, |context, out| {
            let counts = self.log(context, out)?;
            match quiet {
                true => Ok(()),
                false => counts.print(self.use_merge_history, out),
            }
        })
    }

    fn log(&self, context: &ClientContext, out: &mut Out) -> Result<Counts> {
        let targets = target::read_targets(context, out, &self.operands, &self.targets)?;
        if self.revisions.has_revision() && self.revisions.has_change() {
            let message = "-c and -r are mutually exclusive";
            return Err(Error::new(Code::CLIENT_BAD_REVISION, message));
        }
        let (first, paths) = log::targets::parse(&targets, "svnbench log")?;
        let url = first.url()?;
        let peg = first.peg.unwrap_or(Revision::Head).of_url()?;
        let mut session = context.open(url)?;
        let mut ranges = Vec::new();
        for range in self.revisions.ranges() {
            ranges.push(self.range(&mut *session, range)?);
        }
        if ranges.is_empty() {
            ranges.push((peg.number(&mut *session)?, Revnum(1)));
        }
        let youngest = ranges.iter().map(|(start, end)| *start.max(end)).max();
        let youngest = youngest.map_or(peg, locate::Revision::Number);
        locate::move_to_node(&mut *session, peg, youngest)?;
        let mut counts = Counts::default();
        for (start, end) in ranges {
            if self.revisions.ranges().is_empty() && start < end {
                // The default range of revision 0 is empty.
                continue;
            }
            let request = LogRequest {
                paths: paths.clone(),
                start: Some(start),
                end: Some(end),
                limit: self.limit.unwrap_or(0),
                changed_paths: self.verbose,
                strict: self.stop_on_copy,
                include_merged: self.use_merge_history,
                revprops: self.revprops.wanted(self.quiet),
            };
            session.log(&request, &mut |entry| counts.add(entry))?;
        }
        Ok(counts)
    }

    /// Returns the numbers of a range. A change is a range of one revision.
    fn range(&self, session: &mut dyn Session, range: RevisionRangeArg) -> Result<(Revnum, Revnum)> {
        let start = range.start.of_url()?.number(session)?;
        let end = match range.end {
            Some(end) => end.of_url()?.number(session)?,
            None => start,
        };
        if !self.revisions.has_change() {
            return Ok((start, end));
        }
        Ok(match start <= end {
            true => (Revnum(start.0 + 1), end),
            false => (start, Revnum(end.0 + 1)),
        })
    }
}

/// Counts the entries of logs.
#[derive(Default)]
struct Counts {
    /// All entries, with those that were merged.
    all: EntryCounts,
    merged: EntryCounts,
    /// Entries that merged others.
    merges: u64,
    /// Merges whose entries are being received.
    open_merges: u64,
}

#[derive(Default)]
struct EntryCounts {
    revisions: u64,
    lines: u64,
    changes: u64,
}

impl EntryCounts {
    fn add(&mut self, entry: &LogEntry) {
        self.revisions += 1;
        self.changes += entry.changes.len() as u64;
        if let Some(log) = entry.revprops.get(props::LOG) {
            self.lines += 1 + log.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }
}

impl Counts {
    fn add(&mut self, entry: &LogEntry) -> Result<()> {
        if entry.rev.is_none() {
            self.open_merges = self.open_merges.saturating_sub(1);
            return Ok(());
        }
        self.all.add(entry);
        if self.open_merges > 0 {
            self.merged.add(entry);
        }
        if entry.has_children {
            self.merges += 1;
            self.open_merges += 1;
        }
        Ok(())
    }

    fn print(&self, has_merged: bool, out: &mut Out) -> Result<()> {
        if !has_merged {
            count(out, self.all.revisions, "revisions")?;
            count(out, self.all.lines, "msg lines")?;
            return count(out, self.all.changes, "changes");
        }
        let mut line = |own: u64, what: &str, merged: u64, rest: &str| {
            let (own, merged) = (grouped(own), grouped(merged));
            out.line(&format!("{own:>15} {what} {merged:>15} {rest}"))
        };
        let rest = format!("merged in {} merges", grouped(self.merges));
        line(self.all.revisions, "revisions,", self.merged.revisions, &rest)?;
        line(
            self.all.lines,
            "msg lines,",
            self.merged.lines,
            "in merged revisions",
        )?;
        line(
            self.all.changes,
            "changes,  ",
            self.merged.changes,
            "in merged revisions",
        )
    }
}
