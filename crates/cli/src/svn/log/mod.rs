//! `svn log`: prints the entries of a log.
//!
//! [`ranges`] parses `-c`, [`search`] selects entries, [`plain`] and [`markup`] print them as they arrive, [`options`] checks
//! what can be given together.

mod markup;
mod options;
mod plain;
mod ranges;
mod search;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Props, RelPath, Result, Url};
use client::log::{self, LogOptions, LogRange};
use ra::{LogChange, LogEntry};

use self::markup::XmlLog;
use self::options::RevpropNames;
pub use self::plain::{PlainLog, SEPARATOR};
use self::ranges::ChangeArg;
pub use self::search::SearchOptions;
use super::misuse;
use super::options::TargetsOption;
use crate::args::operand;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target::{self, Target, TargetPath};
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
    search: SearchOptions,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl LogArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        self.revprops.check_conflicts()?;
        let mut operands = std::mem::take(&mut self.operands);
        if let Some(file) = &self.targets.targets {
            let bytes = file.read()?;
            let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
            let lines = lines.filter(|line| !line.is_empty());
            operands.extend(lines.map(|line| OsStr::from_bytes(line).to_owned()));
        }
        self.revprops
            .check_mode(self.xml)
            .map_err(|error| misuse(out, "log", error))?;
        let (target, paths) = self.parse_operands(&operands, out)?;
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| {
            if self.xml && !self.incremental {
                out.print(xml::DECLARATION)?;
                out.print("<log>\n")?;
                out.flush()?;
            }
            self.revprops
                .check_names()
                .map_err(|error| misuse(out, "log", error))?;
            self.print(context, &target, &paths, out)?;
            match (self.incremental, self.xml) {
                (true, _) => Ok(()),
                (false, true) => out.print("</log>\n"),
                (false, false) => out.line(SEPARATOR),
            }
        })
    }

    /// Returns the target, and the paths below it.
    fn parse_operands(&self, operands: &[OsString], out: &Out) -> Result<(Target, Vec<RelPath>)> {
        let here = OsString::from(".");
        let first = operands.first().unwrap_or(&here);
        let target = target::parse_targets(std::slice::from_ref(first)).map_err(|error| {
            match error.code() == Code::CL_ARG_PARSING_ERROR {
                true => misuse(out, "log", error),
                false => error,
            }
        })?;
        let target = target.into_iter().next();
        let target = target.expect("because each operand is a target");
        if !self.revision.is_empty() && !self.change.is_empty() {
            let message = "-c and -r are mutually exclusive";
            return Err(Error::new(Code::CLIENT_BAD_REVISION, message));
        }
        let rest = operands.get(1..).unwrap_or_default();
        let TargetPath::Url(url) = &target.path else {
            if rest.is_empty() {
                return Ok((target, Vec::new()));
            }
            let message = "When specifying working copy paths, only one target may be given";
            return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
        };
        let paths: Result<Vec<RelPath>> = rest.iter().map(|word| relative_path(url, word, out)).collect();
        let paths = paths?;
        Ok((target, paths))
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
        log::log(&mut *session, peg, paths, &ranges, &options, &mut |entry| {
            printer.entry(entry, out)
        })
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

    fn entry(&mut self, entry: &LogEntry, out: &mut Out) -> Result<()> {
        match self {
            Printer::Xml(printer) => printer.entry(entry, out),
            Printer::Plain(printer) => printer.entry(entry, out).map(drop),
        }
    }
}

/// Returns the path of an operand below the URL.
fn relative_path(url: &Url, word: &OsString, out: &Out) -> Result<RelPath> {
    let typed = operand::text(word)?;
    if Url::is_url(typed) || typed.starts_with('/') {
        let message = format!(
            "Only relative paths can be specified after a URL for 'svn log', but '{typed}' is not a relative path"
        );
        return Err(misuse(
            out,
            "log",
            Error::new(Code::CL_ARG_PARSING_ERROR, message),
        ));
    }
    let path = operand::tidy(typed);
    RelPath::parse(&path).map_err(|_| {
        let message = format!("Path '{path}' of URL '{url}' not found");
        Error::new(Code::FS_NOT_FOUND, message)
    })
}

/// Returns a property as text: up to its first NUL.
fn value<'a>(all: &'a Props, name: &str) -> Option<&'a [u8]> {
    all.get(name).map(|value| {
        let end = value.iter().position(|byte| *byte == 0);
        &value[..end.unwrap_or(value.len())]
    })
}

/// Returns the changed paths as they are printed: what is below a path follows it. Of several changes of one path, which
/// Subversion's servers send with `-g`, the last one counts.
fn sorted_changes(entry: &LogEntry) -> Vec<&LogChange> {
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
