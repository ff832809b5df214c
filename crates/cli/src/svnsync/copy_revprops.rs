//! `svnsync copy-revprops`: copies revision properties to a mirror.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum, Url};
use client::sync::{self, CopyRange, CopyRevision};

use super::context::change;
use super::options::{self, ChangeOptions, SyncAccessOptions};
use crate::args::operand;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target;
use crate::out::Out;

/// Copies the properties of revisions to the mirror at DEST_URL: those of all revisions that it has, or of a range.
///
/// HEAD is the last revision of the mirror. SOURCE_URL replaces the URL that is recorded in the mirror: give it if others can
/// write to the mirror. With '--skip-unchanged', values that are the same are not written, and hooks do not run for them.
///
/// The second form is the same as '-r REV:REV2'.
#[derive(clap::Args)]
#[command(override_usage = "\n1. copy-revprops DEST_URL [SOURCE_URL]\n2. copy-revprops DEST_URL REV[:REV2]")]
pub struct CopyRevpropsArgs {
    #[command(flatten)]
    access: SyncAccessOptions,
    #[command(flatten)]
    options: ChangeOptions,
    /// copy the properties of revision ARG, or of a range ARG1:ARG2: numbers or HEAD
    #[arg(short, long, value_parser = RevisionText::parse)]
    revision: Option<RevisionText>,
    /// do not write values that are the same
    #[arg(long)]
    skip_unchanged: bool,
    operands: Vec<OsString>,
}

/// The argument of `-r`, as typed and parsed.
#[derive(Clone, Debug)]
struct RevisionText {
    text: String,
    range: RevisionRangeArg,
}

impl RevisionText {
    fn parse(text: &str) -> Result<RevisionText> {
        Ok(RevisionText {
            text: text.to_owned(),
            range: RevisionRangeArg::parse(text)?,
        })
    }

    fn range(&self) -> Result<CopyRange> {
        let number = |revision: Revision| match revision {
            Revision::Number(rev) => Some(CopyRevision::Number(rev)),
            Revision::Head => Some(CopyRevision::Head),
            _ => None,
        };
        let start = number(self.range.start);
        let end = self.range.end.map_or(start, number);
        match (start, end) {
            (Some(start), Some(end)) => Ok(CopyRange { start, end }),
            _ => Err(invalid_range(&self.text)),
        }
    }
}

impl CopyRevpropsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let (mirror, source, given) = self.operands().map_err(|error| super::misuse(out, error))?;
        let range = match given {
            Some(given) => given.range()?,
            None => CopyRange {
                start: CopyRevision::Number(Revnum::ZERO),
                end: CopyRevision::Head,
            },
        };
        change(self.access, &self.options, out, |context, observer| {
            sync::copy_revprops(
                &mirror,
                source.as_ref(),
                range,
                self.skip_unchanged,
                context,
                observer,
            )
        })
    }

    /// Parses the operands: the mirror, and the source or a range.
    fn operands(&self) -> Result<(Url, Option<Url>, Option<RevisionText>)> {
        let mut range = self.revision.clone();
        let mut words = self.operands.as_slice();
        if words.len() > 2 {
            return Err(Error::bare(Code::CL_ARG_PARSING_ERROR));
        }
        if let [first, second] = words {
            let text = operand::text(second)?;
            if !target::is_url(&text) {
                if range.is_some() {
                    return Err(Error::new(
                        Code::CL_ARG_PARSING_ERROR,
                        "Cannot specify revisions via both command-line arguments and the --revision (-r) option",
                    ));
                }
                range = Some(RevisionText::parse(&text).map_err(|_| invalid_range(&text))?);
                words = std::slice::from_ref(first);
            }
        }
        let targets = options::targets(words)?;
        let mut urls = options::urls(&targets, 1, 2)?.into_iter();
        match urls.next() {
            Some(mirror) => Ok((mirror, urls.next(), range)),
            None => Err(Error::bare(Code::CL_INSUFFICIENT_ARGS)),
        }
    }
}

fn invalid_range(text: &str) -> Error {
    Error::new(
        Code::CL_ARG_PARSING_ERROR,
        format!("Invalid revision range '{text}' provided"),
    )
}
