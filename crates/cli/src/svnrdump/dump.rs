//! `svnrdump dump`: writes a dump stream.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use base::{Code, Error, Result, Revnum, disk_path};
use client::rdump::{self, DumpRange, DumpRevision};

use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Writes a dump stream of the repository at URL, or of the tree there.
///
/// The first revision of a range is written as a whole tree, except with '--incremental'. Files are written as differences.
#[derive(clap::Args)]
#[command(override_usage = "dump URL [-r LOWER[:UPPER]]")]
pub struct DumpArgs {
    /// dump revision ARG, or the range ARG1:ARG2: numbers or HEAD
    #[arg(short, long, value_parser = RevisionRangeArg::parse)]
    revision: Option<RevisionRangeArg>,
    /// print no progress
    #[arg(short, long)]
    quiet: bool,
    /// write the first revision as a difference too
    #[arg(long)]
    incremental: bool,
    /// write to file ARG instead of standard output
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl DumpArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let url = super::url(&self.operands)?;
        let (quiet, file) = (self.quiet, self.file);
        let (revision, incremental) = (self.revision, self.incremental);
        ClientContext::run(self.access, out, |context, out| {
            let stream = RefCell::new(Stream::Standard);
            let out = RefCell::new(out);
            let mut open = || {
                if let Some(file) = &file {
                    stream.replace(Stream::create(Path::new(file))?);
                }
                range(revision, incremental)
            };
            let mut output = |bytes: &[u8]| stream.borrow_mut().write(bytes, &mut out.borrow_mut());
            let mut dumped = |rev: Revnum| {
                if quiet {
                    return Ok(());
                }
                let mut out = out.borrow_mut();
                out.flush()?;
                out.print_stderr(&format!("* Dumped revision {rev}.\n"));
                Ok(())
            };
            rdump::dump(&url, &mut open, context, &mut output, &mut dumped)?;
            stream.into_inner().finish()
        })
    }
}

/// Where the stream goes.
enum Stream {
    /// To standard output.
    Standard,
    /// To a file, whose name as it is shown in messages comes with it.
    File(BufWriter<File>, String),
}

impl Stream {
    fn create(path: &Path) -> Result<Stream> {
        let file = File::create(path).map_err(|e| Error::io("Can't open file", path, &e))?;
        Ok(Stream::File(
            BufWriter::new(file),
            disk_path::shown(path).to_string(),
        ))
    }

    fn write(&mut self, bytes: &[u8], out: &mut Out) -> Result<()> {
        match self {
            Stream::Standard => out.raw(bytes),
            Stream::File(file, name) => file
                .write_all(bytes)
                .map_err(|e| Error::io("Can't write to file", Path::new(name), &e)),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Stream::Standard => Ok(()),
            Stream::File(mut file, name) => file
                .flush()
                .map_err(|e| Error::io("Can't write to file", Path::new(&name), &e)),
        }
    }
}

/// Resolves the argument of `-r`.
fn range(given: Option<RevisionRangeArg>, incremental: bool) -> Result<DumpRange> {
    let number = |revision: Revision| match revision {
        Revision::Number(rev) => Ok(DumpRevision::Number(rev)),
        Revision::Head => Ok(DumpRevision::Head),
        _ => Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            "Unsupported revision specifier used; use only integer values or 'HEAD'",
        )),
    };
    let (start, end) = match given {
        None => (DumpRevision::Number(Revnum::ZERO), DumpRevision::Head),
        Some(given) => {
            let start = number(given.start)?;
            (start, given.end.map_or(Ok(start), number)?)
        }
    };
    Ok(DumpRange {
        start,
        end,
        incremental,
    })
}
