//! `svn blame`: prints the revision and the author of each line of files.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum};
use client::blame::{self, Blame, BlameLine, BlameOptions, BlameRevision};
use diff::DiffOptions;

use super::options::{RevisionOption, TargetsOption};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target::{self, Target, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext};
use crate::date_text;
use crate::out::Out;
use crate::xml;

/// Prints the revision and the author of each line of a file: the last ones that changed it.
///
/// With a range M:N, only the revisions from M on count; lines that are older have none. If M is younger than N, the lines of revision N
/// are printed, each with the revision up to M that changed it next.
#[derive(clap::Args)]
#[command(override_usage = "blame [-rM:N] TARGET[@REV]...")]
pub struct BlameArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// print dates and whole names
    #[arg(short, long)]
    verbose: bool,
    /// print the revisions that lines were merged from
    #[arg(short = 'g', long)]
    use_merge_history: bool,
    /// print only the elements of the targets, so that outputs can be joined (with '--xml')
    #[arg(long)]
    incremental: bool,
    /// print XML
    #[arg(long)]
    xml: bool,
    /// which differences of lines do not count, separated by blanks:
    ///   -b, --ignore-space-change: how much white space there is
    ///   -w, --ignore-all-space: white space
    ///   --ignore-eol-style: how lines end
    #[arg(short = 'x', long, verbatim_doc_comment, allow_hyphen_values = true)]
    extensions: Option<String>,
    /// treat any file as text
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl BlameArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| {
            let none = TargetsOption::default();
            let targets = target::read_targets(context, out, &self.operands, &none)?;
            if targets.is_empty() {
                return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
            }
            let words = self.extensions.as_deref().unwrap_or_default();
            let diff = DiffOptions::parse(words.split_ascii_whitespace())?;
            self.check_mode()?;
            self.print_all(context, &targets, diff, out)
        })
    }

    fn check_mode(&self) -> Result<()> {
        let wrong = |message| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        match (self.xml, self.verbose, self.incremental) {
            (true, true, _) => wrong("'verbose' option invalid in XML mode"),
            (false, _, true) => wrong("'incremental' option only valid in XML mode"),
            _ => Ok(()),
        }
    }

    fn print_all(
        &self,
        context: &ClientContext,
        targets: &[TypedTarget],
        diff: DiffOptions,
        out: &mut Out,
    ) -> Result<()> {
        let has_frame = self.xml && !self.incremental;
        if has_frame {
            out.print(xml::DECLARATION)?;
            out.print("<blame>\n")?;
        }
        let mut is_missing = false;
        for typed in targets {
            let target = typed.parse()?;
            match self.blame(context, &target, diff) {
                Ok(found) => self.print(&target, &found, out)?,
                Err(error) if error.code() == Code::CLIENT_IS_BINARY_FILE => {
                    let name = typed.as_str();
                    out.print_stderr(&format!(
                        "Skipping binary file (use --force to treat as text): '{name}'\n"
                    ));
                }
                Err(error) if MISSING.contains(&error.code()) => {
                    out.warning(&error)?;
                    is_missing = true;
                }
                Err(error) => return Err(error),
            }
        }
        if has_frame {
            out.print("</blame>\n")?;
        }
        if is_missing {
            let message = "Could not perform blame on all targets because some targets don't exist";
            return Err(Error::new(Code::ILLEGAL_TARGET, message));
        }
        Ok(())
    }

    fn blame(&self, context: &ClientContext, target: &Target, diff: DiffOptions) -> Result<Blame> {
        let url = target.url()?;
        let peg = target.peg.unwrap_or(Revision::Head).of_url()?;
        let (start, end) = match self.revision.range() {
            None => (Revision::Number(Revnum(1)), target.peg.unwrap_or(Revision::Head)),
            Some(RevisionRangeArg { start, end: None }) => (Revision::Number(Revnum(1)), start),
            Some(RevisionRangeArg {
                start,
                end: Some(end),
            }) => (start, end),
        };
        let mut session = context.open(url)?;
        let options = BlameOptions {
            start: start.of_url()?,
            end: end.of_url()?,
            include_merged: self.use_merge_history,
            force: self.force,
            diff,
        };
        blame::blame(&mut *session, peg, &options)
    }

    fn print(&self, target: &Target, found: &Blame, out: &mut Out) -> Result<()> {
        if self.xml {
            let path = target.url()?.to_string();
            out.print(&xml::tag("target", &[("path", &path)], ">\n"))?;
            for (number, line) in (1u64..).zip(found.lines()) {
                out.raw(&entry(number, &line, self.use_merge_history))?;
            }
            out.print("</target>\n")?;
        } else {
            let width = found.start.max(found.end).to_string().len().max(6);
            for line in found.lines() {
                self.print_line(&line, width, out)?;
            }
        }
        out.flush()
    }

    fn print_line(&self, line: &BlameLine<'_>, width: usize, out: &mut Out) -> Result<()> {
        let is_merged = self.use_merge_history && line.merged.map(|m| m.rev) != line.own.map(|own| own.rev);
        let shown = if is_merged { line.merged } else { line.own };
        let mut text = Vec::with_capacity(120);
        if self.use_merge_history {
            text.extend_from_slice(if is_merged { b"G " } else { b"  " });
        }
        let rev = shown.map_or_else(|| "-".to_owned(), |shown| shown.rev.to_string());
        text.extend_from_slice(format!("{rev:>width$} ").as_bytes());
        let author = shown.and_then(|shown| shown.author.as_deref());
        let author = c_string(author.unwrap_or(b"-"));
        let most = if self.verbose { author.len() } else { 10 };
        let author = &author[..author.len().min(most)];
        text.extend(std::iter::repeat_n(b' ', 10_usize.saturating_sub(author.len())));
        text.extend_from_slice(author);
        text.push(b' ');
        if self.verbose {
            let date = shown.map(BlameRevision::parsed_date).unwrap_or(Ok(None));
            let date = match date {
                Ok(Some(date)) => date_text::human(date),
                Ok(None) => format!("{:>44}", "-"),
                Err(_) => "(invalid date)".to_owned(),
            };
            text.extend_from_slice(date.as_bytes());
            text.push(b' ');
            if let Some(shown) = shown.filter(|_| is_merged) {
                text.extend_from_slice(format!("{:<14} ", shown.path.as_str()).as_bytes());
            }
        }
        text.extend_from_slice(c_string(line.text));
        text.push(b'\n');
        out.raw(&text)
    }
}

/// Returns the element of a line.
fn entry(number: u64, line: &BlameLine<'_>, with_merged: bool) -> Vec<u8> {
    let mut text = xml::tag("entry", &[("line-number", &number.to_string())], ">\n").into_bytes();
    if let Some(own) = line.own {
        push_commit(own, &mut text);
    }
    if let Some(merged) = line.merged.filter(|_| with_merged) {
        text.extend_from_slice(xml::tag("merged", &[("path", merged.path.as_str())], ">\n").as_bytes());
        push_commit(merged, &mut text);
        text.extend_from_slice(b"</merged>\n");
    }
    text.extend_from_slice(b"</entry>\n");
    text
}

fn push_commit(shown: &BlameRevision, text: &mut Vec<u8>) {
    text.extend_from_slice(xml::tag("commit", &[("revision", &shown.rev.to_string())], ">\n").as_bytes());
    for (name, value) in [("author", &shown.author), ("date", &shown.date)] {
        if let Some(value) = value {
            text.extend_from_slice(format!("<{name}>").as_bytes());
            text.extend(xml::value(value));
            text.extend_from_slice(format!("</{name}>\n").as_bytes());
        }
    }
    text.extend_from_slice(b"</commit>\n");
}

/// Returns the bytes up to the first NUL.
fn c_string(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The errors of single targets.
const MISSING: [Code; 4] = [
    Code::WC_PATH_NOT_FOUND,
    Code::ENTRY_NOT_FOUND,
    Code::FS_NOT_FILE,
    Code::FS_NOT_FOUND,
];
