//! `svnlook history`: prints the revisions in which a path changed.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum};

use super::lookup::{self, RootOption};
use crate::args::revision;
use crate::out::Out;

/// Prints where a path was changed, copied or moved, youngest first: the whole
/// repository's root if no path is given.
#[derive(clap::Args)]
#[command(override_usage = "history REPOS_PATH [PATH_IN_REPOS]")]
pub struct HistoryArgs {
    /// start at revision ARG
    #[arg(short = 'r', long, value_parser = revision::plain_number)]
    revision: Option<Revnum>,
    /// print the node-revision ID beside each path
    #[arg(long)]
    show_ids: bool,
    /// print at most ARG lines
    #[arg(short = 'l', long, value_parser = limit)]
    limit: Option<usize>,
    operands: Vec<OsString>,
}

impl HistoryArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 2)?;
        let typed = self
            .operands
            .get(1)
            .map(OsString::as_os_str)
            .unwrap_or("/".as_ref());
        out.print(if self.show_ids {
            "REVISION   PATH <ID>\n--------   ---------\n"
        } else {
            "REVISION   PATH\n--------   ----\n"
        })?;
        let root = RootOption::revision(self.revision).root(&repository)?;
        let mut history = lookup::node(&root, typed)?.history()?;
        let mut left = self.limit.unwrap_or(usize::MAX);
        while left > 0
            && let Some((revision, path)) = history.prev(true)?
        {
            let mut line = format!("{:>8}   {path}", revision.0);
            if self.show_ids {
                let node = repository.fs().root(revision)?.node(&path)?;
                line.push_str(&format!(" <{}>", node.id()));
            }
            out.line(&line)?;
            left -= 1;
        }
        Ok(())
    }
}

/// Parses a limit, a C integer. A negative number means no limit.
fn limit(text: &str) -> Result<usize> {
    let number = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (minus, digits) = match number.as_bytes().first() {
        Some(b'-') => (true, &number[1..]),
        Some(b'+') => (false, &number[1..]),
        _ => (false, number),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) || (digits.is_empty() && !text.is_empty()) {
        return Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            "Non-numeric limit argument given",
        ));
    }
    if digits.bytes().all(|b| b == b'0') {
        return Err(Error::new(
            Code::INCORRECT_PARAMS,
            "Argument to --limit must be positive",
        ));
    }
    Ok(match minus {
        true => usize::MAX,
        false => digits.parse().unwrap_or(usize::MAX),
    })
}
