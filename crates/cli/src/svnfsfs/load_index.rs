//! `svnfsfs load-index`: makes indexes from a table.

use std::ffi::OsString;
use std::io::{self, BufRead as _, Read as _};

use base::{Code, Error, Result, Revnum};
use fsfs::admin::indexes::{self, IndexEntry};

use super::entry_text;
use crate::args::option::CacheSizeOption;
use crate::out::Out;

/// Reads a table as 'dump-index' prints it from standard input, in any order, and
/// makes the indexes of the file that it describes again. It must describe the whole
/// file; header and checksums may be left out and are not looked at.
#[derive(clap::Args)]
#[command(override_usage = "load-index REPOS_PATH")]
pub struct LoadIndexArgs {
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

impl LoadIndexArgs {
    /// Runs the subcommand.
    pub fn run(self, _out: &mut Out) -> Result<()> {
        let fs = super::open(&self.operands, self.memory)?;
        let mut entries = entries()?;
        // An empty table is wrong in a format without indexes, too.
        let rev = entries.first().map_or(Revnum::ZERO, |first| first.rev);
        indexes::fill_checksums(&fs, rev, &mut entries)?;
        match entries.is_empty() {
            true => Ok(()),
            false => indexes::load(&fs, rev, &entries),
        }
    }
}

/// Reads the table from standard input.
fn entries() -> Result<Vec<IndexEntry>> {
    let mut input = io::stdin().lock();
    let (mut entries, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        // Bounds the memory for a line. All valid lines are much shorter.
        let read = input
            .by_ref()
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .map_err(|e| Error::os(&e, "Can't read from stream"))?;
        if read == 0 {
            return Ok(entries);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if text.len() as u64 + 1 >= LONGEST {
            return Err(Error::new(Code::INVALID_INPUT, "A line is too long"));
        }
        entries.extend(entry_text::parse(text)?);
    }
}

/// The largest length of a line in bytes.
const LONGEST: u64 = 4096;
