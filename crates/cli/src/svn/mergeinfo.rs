//! `svn mergeinfo`: shows what was merged between two branches.

mod diagram;

use std::ffi::OsString;

use base::{Code, Depth, Error, RelPath, Result, Revnum, props};
use client::mergeinfo::{self, Branch, MergedState, RevisionsRequest, Which};
use ra::{LogEntry, LogRevprops, Session};

use super::log::{PlainLog, SEPARATOR, SearchOptions};
use super::options::{RecursiveOption, RevisionOption, TargetsOption};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target::{self, Target, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::out::Out;

/// Shows what was merged between two branches.
///
/// 1. Draws the branches: from left to right the revision in which they parted, the last full merge, and the tips.
///
/// 2. Prints the revisions that changed SOURCE and that were merged to TARGET ('--show-revs=merged'), or were not
///    ('--show-revs=eligible'). An asterisk marks what was merged in part.
///
/// SOURCE and TARGET are URLs.
#[derive(clap::Args)]
#[command(
    override_usage = "1. mergeinfo SOURCE[@REV] [TARGET[@REV]]\n2. mergeinfo --show-revs=WHICH SOURCE[@REV] [TARGET[@REV]]"
)]
pub struct MergeinfoArgs {
    #[command(flatten)]
    revision: RevisionOption,
    #[command(flatten)]
    depth: RecursiveOption,
    /// with '--log', print no messages
    #[arg(short, long)]
    quiet: bool,
    /// with '--log', print the changed paths too
    #[arg(short, long)]
    verbose: bool,
    /// print revisions: ARG is 'merged' or 'eligible'
    #[arg(long, value_parser = parse_which)]
    show_revs: Option<Which>,
    /// print log entries
    #[arg(long)]
    log: bool,
    /// print what can be put together with the output of other runs
    #[arg(long)]
    incremental: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

fn parse_which(text: &str) -> Result<Which> {
    match text {
        "merged" => Ok(Which::Merged),
        "eligible" => Ok(Which::Eligible),
        _ => refuse(&format!("'{text}' is not a valid --show-revs value")),
    }
}

fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

impl MergeinfoArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.mergeinfo(context, out))
    }

    fn mergeinfo(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
        let here = TypedTarget::current_directory();
        let (source, target) = match targets.as_slice() {
            [] => return refuse("Not enough arguments given"),
            [source] => (source, &here),
            [source, target] => (source, target),
            _ => return refuse("Too many arguments given"),
        };
        let (source, target) = (source.parse()?, target.parse()?);
        self.check_options()?;
        let Some(which) = self.show_revs else {
            // The incumbent looks at the target first, which may be a working copy.
            target.url()?;
            let source = open(context, &source)?;
            return draw(source, open(context, &target)?, out);
        };
        self.revisions(context, &source, &target, which, out)
    }

    /// Refuses options that the chosen output does not have.
    fn check_options(&self) -> Result<()> {
        if !self.log {
            if self.quiet {
                return refuse("--quiet (-q) option valid only with --log option");
            }
            if self.verbose {
                return refuse("--verbose (-v) option valid only with --log option");
            }
            if self.incremental {
                return refuse("--incremental option valid only with --log option");
            }
        }
        if self.show_revs.is_none() {
            if self.revision.range().is_some() {
                return refuse("--revision (-r) option valid only with --show-revs option");
            }
            if self.depth.depth().is_some() {
                return refuse("Depth specification options valid only with --show-revs option");
            }
            if self.log {
                return refuse("--log option valid only with --show-revs option");
            }
        }
        Ok(())
    }

    fn revisions(
        &self,
        context: &ClientContext,
        source: &Target,
        target: &Target,
        which: Which,
        out: &mut Out,
    ) -> Result<()> {
        let scope = mergeinfo::Scope::of_depth(self.depth.depth().unwrap_or(Depth::Empty))?;
        check_range(self.revision.range())?;
        let mut target = open(context, target)?;
        let state = MergedState::read(&mut branch(&mut target), scope, which == Which::Merged)?;
        // As in the incumbent, without merges the source may be anything.
        if !state.is_empty() {
            // A session of its own has other errors for a source that the user may not read.
            let source = match which {
                Which::Merged => open(context, source)?,
                Which::Eligible => open_beside(context, source, target)?,
            };
            self.print(source, &state, which, out)?;
        }
        if self.log && !self.incremental {
            out.line(SEPARATOR)?;
        }
        Ok(())
    }

    fn print(&self, mut source: OpenNode, state: &MergedState, which: Which, out: &mut Out) -> Result<()> {
        let names = [props::AUTHOR, props::DATE, props::LOG].map(str::to_owned);
        let names = if self.log { names.to_vec() } else { Vec::new() };
        let request = RevisionsRequest {
            which,
            range: resolve(self.revision.range(), &mut source)?,
            revprops: LogRevprops::Names(names),
        };
        let search = SearchOptions::default();
        let mut printer = PlainLog::new(self.quiet, &search);
        let mut print = |entry: &LogEntry, is_part: bool| {
            if self.log {
                let mut entry = entry.clone();
                if !self.verbose {
                    entry.changes.clear();
                }
                return printer.entry(&entry, out).map(drop);
            }
            let rev = entry.rev.unwrap_or(Revnum::ZERO);
            out.line(&format!("r{rev}{}", if is_part { "*" } else { "" }))
        };
        mergeinfo::revisions(&mut branch(&mut source), state, &request, &mut print)
    }
}

/// Refuses revisions of a working copy.
fn check_range(range: Option<RevisionRangeArg>) -> Result<()> {
    let ends = range.map(|range| [Some(range.start), range.end]);
    let mut ends = ends.into_iter().flatten().flatten();
    match ends.all(|end| end.of_url().is_ok()) {
        true => Ok(()),
        false => {
            let message = "Bogus revision information given";
            Err(Error::new(Code::CLIENT_BAD_REVISION, message))
        }
    }
}

/// Resolves `-r`: one revision is a range, and no range is all of them.
fn resolve(range: Option<RevisionRangeArg>, source: &mut OpenNode) -> Result<(Revnum, Revnum)> {
    let Some(range) = range else {
        return Ok((Revnum::ZERO, source.rev));
    };
    let mut number = |revision: Revision| revision.of_url()?.number(&mut *source.session);
    let start = number(range.start)?;
    let end = range.end.map_or(Ok(start), number)?;
    Ok((start, end))
}

fn open(context: &ClientContext, target: &Target) -> Result<OpenNode> {
    let peg = target.peg.unwrap_or(Revision::Head).of_url()?;
    context.open_node(target.url()?, peg, peg)
}

/// As [`open`], with the session of another node if that is in the same repository.
fn open_beside(context: &ClientContext, target: &Target, other: OpenNode) -> Result<OpenNode> {
    let (url, mut session) = (target.url()?, other.session);
    if url.relative_to(session.root_url()).is_none() {
        return open(context, target);
    }
    session.reparent(url)?;
    let rev = target
        .peg
        .unwrap_or(Revision::Head)
        .of_url()?
        .number(&mut *session)?;
    Ok(OpenNode { session, rev })
}

fn branch(node: &mut OpenNode) -> Branch<'_> {
    Branch {
        session: &mut *node.session,
        rev: node.rev,
    }
}

/// Draws the merges between two branches.
fn draw(mut source: OpenNode, mut target: OpenNode, out: &mut Out) -> Result<()> {
    let path = |session: &dyn Session| {
        let path = session.url().relative_to(session.root_url());
        path.unwrap_or_else(RelPath::empty)
    };
    let paths = (path(&*source.session), path(&*target.session));
    let summary = mergeinfo::summary(&mut branch(&mut source), &mut branch(&mut target))?;
    out.print(&diagram::draw(
        &summary,
        (paths.0.as_str(), source.rev),
        (paths.1.as_str(), target.rev),
    ))
}
