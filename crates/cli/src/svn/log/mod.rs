//! `svn log`: prints the entries of a log.
//!
//! [`ranges`] parses `-c`, [`search`] selects entries, [`plain`] and [`markup`] print them as they arrive, [`options`] checks
//! what can be given together, [`targets`] has the URL and the paths.

mod markup;
pub mod options;
mod plain;
mod ranges;
mod search;
pub mod targets;

use std::ffi::OsString;

use base::{Code, Depth, Error, Props, RelPath, Result, Revnum, Url};
use client::diff::{Sessions, TreeOptions};
use client::locate;
use client::log::{self, LogOptions, LogRange};
use ra::{LogChange, LogEntry};

use self::markup::XmlLog;
use self::options::RevpropNames;
pub use self::plain::{PlainLog, SEPARATOR};
use self::ranges::ChangeArg;
pub use self::search::SearchOptions;
use super::diff::output::{DiffOutput, TextOptions};
use super::options::{DepthOption, TargetsOption};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target::{self, Target};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::xml;

/// Prints the log: who changed a node when, and why.
///
/// Without a range of revisions, the log begins at REV, or HEAD, and goes back to the beginning. It follows copies. PATHs are below URL
/// in that revision; a revision that changed several of them is printed once.
///
/// With '-v', each changed path has a letter: A is added, D deleted, R replaced (deleted and added), M modified.
#[derive(clap::Args)]
#[command(override_usage = "1. log [PATH][@REV]\n2. log URL[@REV] [PATH...]")]
pub struct LogArgs {
    /// print these revisions: ARG or ARG:ARG, each a number, HEAD, or '{' DATE '}'. May be repeated
    #[arg(short, long, value_parser = RevisionRangeArg::parse)]
    revision: Vec<RevisionRangeArg>,
    /// print the revisions of a list: numbers, and ranges such as 3-5. May be repeated
    #[arg(short, long, value_parser = ChangeArg::parse, allow_hyphen_values = true)]
    change: Vec<ChangeArg>,
    /// omit the messages
    #[arg(short, long)]
    quiet: bool,
    /// print the changed paths
    #[arg(short, long)]
    verbose: bool,
    /// print the revisions that were merged, too
    #[arg(short = 'g', long)]
    use_merge_history: bool,
    #[command(flatten)]
    targets: TargetsOption,
    /// do not follow copies
    #[arg(long)]
    stop_on_copy: bool,
    /// print only the entries, so that outputs can be joined
    #[arg(long)]
    incremental: bool,
    /// print XML
    #[arg(long)]
    xml: bool,
    /// print at most ARG entries; with '--search', look at ARG entries
    #[arg(short, long, value_parser = options::limit, allow_hyphen_values = true)]
    limit: Option<u64>,
    #[command(flatten)]
    revprops: RevpropNames,
    #[command(flatten)]
    depth: DepthOption,
    /// print what each revision changed
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    texts: TextOptions,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl LogArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| {
            self.check_options()?;
            let operands = std::mem::take(&mut self.operands);
            let targets = target::read_targets(context, out, &operands, &self.targets)?;
            if !self.revision.is_empty() && !self.change.is_empty() {
                let message = "-c and -r are mutually exclusive";
                return Err(Error::new(Code::CLIENT_BAD_REVISION, message));
            }
            let (target, paths) = targets::parse(&targets, "svn log")?;
            if self.xml && !self.incremental {
                out.print(xml::DECLARATION)?;
                out.print("<log>\n")?;
                out.flush()?;
            }
            self.revprops.check_names()?;
            self.print(context, &target, &paths, out)?;
            match (self.incremental, self.xml) {
                (true, _) => Ok(()),
                (false, true) => out.print("</log>\n"),
                (false, false) => out.line(SEPARATOR),
            }
        })
    }

    /// Checks that options are given with those that they belong to.
    fn check_options(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        if self.xml && self.diff {
            return wrong("'diff' option is not supported in XML mode".to_owned());
        }
        self.revprops.check_mode(self.xml)?;
        let of_diff = [
            (self.texts.diff_cmd.is_some(), "diff-cmd"),
            (self.texts.internal_diff, "internal-diff"),
            (self.texts.extensions.is_some(), "extensions"),
            (self.depth.depth.is_some(), "depth"),
        ];
        match of_diff.iter().find(|(is_given, _)| *is_given && !self.diff) {
            Some((_, name)) => wrong(format!("'{name}' option requires 'diff' option")),
            None => Ok(()),
        }
    }

    fn print(
        &self,
        context: &ClientContext,
        target: &Target,
        paths: &[RelPath],
        out: &mut Out,
    ) -> Result<()> {
        let url = target.url()?;
        let peg = target.peg.unwrap_or(Revision::Head).of_url()?;
        let mut session = context.open(url)?;
        let ranges = self.ranges()?;
        let options = LogOptions {
            limit: self.limit.unwrap_or(0),
            changed_paths: self.verbose,
            stop_on_copy: self.stop_on_copy,
            include_merged: self.use_merge_history,
            revprops: self.revprops.wanted(self.quiet),
        };
        let mut printer = Printer::new(self);
        let open = |url: &_| context.open(url);
        let sessions = Sessions::new(&open);
        log::log(&mut *session, peg, paths, &ranges, &options, &mut |entry| {
            if printer.entry(entry, out)?
                && self.diff
                && let Some(rev) = entry.rev
            {
                self.print_diff(context, &sessions, (url, peg), rev, out)?;
            }
            Ok(())
        })
    }

    /// Prints what a revision changed at and below the target.
    fn print_diff(
        &self,
        context: &ClientContext,
        sessions: &Sessions<'_>,
        (url, peg): (&Url, locate::Revision),
        rev: Revnum,
        out: &mut Out,
    ) -> Result<()> {
        out.print("\n")?;
        let tree = TreeOptions {
            depth: self.depth.depth.unwrap_or(Depth::Infinity),
            notice_ancestry: false,
            sessions,
            cancel: context.cancel(),
        };
        let texts = self.texts.with_config(context.config())?;
        let output = DiffOutput {
            no_deleted: true,
            ..DiffOutput::new(&texts)?
        };
        output.print(out, |options, write| {
            client::diff::print_revision(url, peg, rev, &tree, options, write)
        })?;
        out.print("\n")?;
        out.flush()
    }

    /// Returns the ranges of `-r` or of `-c`, with numbers and dates.
    fn ranges(&self) -> Result<Vec<LogRange>> {
        let changes = self.change.iter().flat_map(|change| &change.0);
        self.revision
            .iter()
            .chain(changes)
            .map(|range| {
                Ok(LogRange {
                    start: range.start.of_url()?,
                    end: range.end.unwrap_or(range.start).of_url()?,
                })
            })
            .collect()
    }
}

/// Prints entries in one of the two forms.
enum Printer<'a> {
    Plain(PlainLog<'a>),
    Xml(XmlLog<'a>),
}

impl<'a> Printer<'a> {
    fn new(args: &'a LogArgs) -> Printer<'a> {
        match args.xml {
            true => Printer::Xml(XmlLog::new(&args.search)),
            false => Printer::Plain(PlainLog::new(args.quiet, &args.search)),
        }
    }

    /// Prints an entry; true for text that a difference can follow.
    fn entry(&mut self, entry: &LogEntry, out: &mut Out) -> Result<bool> {
        match self {
            Printer::Xml(printer) => printer.entry(entry, out).map(|()| false),
            Printer::Plain(printer) => printer.entry(entry, out),
        }
    }
}

/// Returns a property as text: up to its first NUL.
fn value<'a>(all: &'a Props, name: &str) -> Option<&'a [u8]> {
    all.get(name).map(|value| {
        let end = memchr::memchr(0, value);
        &value[..end.unwrap_or(value.len())]
    })
}

/// Returns the changed paths as they are printed: what is below a path follows it. Of several changes of one path, which
/// Subversion's servers send with `-g`, the last one counts.
fn sorted_changes(entry: &LogEntry) -> Vec<&LogChange> {
    let is_sorted = entry
        .changes
        .is_sorted_by(|a, b| a.path.cmp_tree(&b.path).is_lt());
    if is_sorted {
        return entry.changes.iter().collect();
    }
    let mut changes: Vec<&LogChange> = entry.changes.iter().rev().collect();
    changes.sort_by(|a, b| a.path.cmp_tree(&b.path));
    changes.dedup_by(|a, b| a.path == b.path);
    changes
}

/// Returns the texts in which patterns are searched: those given, and the paths of the entry.
fn searched<'a>(entry: &'a LogEntry, texts: [Option<&'a [u8]>; 3]) -> Vec<&'a [u8]> {
    let paths = sorted_changes(entry).into_iter().flat_map(|change| {
        let copied = change.copyfrom.as_ref().map(|(path, _)| path);
        [Some(&change.path), copied]
            .into_iter()
            .flatten()
            .map(|path| path.as_str().as_bytes())
    });
    texts.into_iter().flatten().chain(paths).collect()
}
