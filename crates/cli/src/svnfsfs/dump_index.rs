//! `svnfsfs dump-index`: prints the index of a revision or pack file.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum};
use fsfs::admin::indexes;

use super::entry_text;
use crate::args::operand::misuse;
use crate::args::option::CacheSizeOption;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::out::Out;

/// Prints the index of the file that holds revision REV (0 unless it is given)
/// as a table, a line for each item in the order of their places: where it begins
/// and how long it is (hexadecimal), its type, the revision that it belongs to, its
/// number there, and its checksum. Repositories older than format 7 have no index.
///
/// Types are 'frep' and 'drep' for what files and directories hold, 'fprop' and
/// 'dprop' for their properties, 'node' for a version of a file or directory, 'chgs'
/// for the list of changed paths, and 'none' for room that is not used.
#[derive(clap::Args)]
#[command(override_usage = "dump-index REPOS_PATH -r REV")]
pub struct DumpIndexArgs {
    /// print the index of the file that holds revision ARG (of a range X:Y, X)
    #[arg(id = "revision", short = 'r', long = "revision", value_parser = RevisionRangeArg::parse)]
    revision: Option<RevisionRangeArg>,
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

impl DumpIndexArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let fs = super::open(&self.operands, self.memory)?;
        let rev = match self.revision.map(|range| range.start) {
            None => Revnum::ZERO,
            Some(Revision::Number(rev)) => rev,
            Some(Revision::Head) => fs.youngest()?,
            Some(_) => {
                let error = Error::new(Code::CL_ARG_PARSING_ERROR, "Invalid revision specifier");
                return Err(misuse(out.program(), error));
            }
        };
        out.line(entry_text::HEADER)?;
        indexes::dump(&fs, rev, &mut |entry| out.line(&entry_text::line(&entry)))
    }
}
