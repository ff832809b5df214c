//! Opens the repository of a subcommand.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use base::Result;
use fsfs::disk::IoMeter;
use repos::{Cache, OpenOptions, Repository};

use crate::args::{operand, option};
use crate::local_path;
use crate::out::Out;

/// Returns the first operand as a path of the local disk.
pub fn path(operands: &[OsString]) -> PathBuf {
    local_path::canonical(operands.first().map(OsString::as_os_str).unwrap_or_default())
}

/// Opens the repository that the only operand names.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for more operands; errors of opening.
pub fn open(out: &Out, operands: &[OsString]) -> Result<Repository> {
    open_with(out, operands, option::default_budget())
}

/// [`open`] with a cache of `budget` bytes.
///
/// # Errors
/// See [`open`].
pub fn open_with(out: &Out, operands: &[OsString], budget: u64) -> Result<Repository> {
    operand::at_most(operands, 1, out.program(), "Too many arguments")?;
    Repository::open(&path(operands), &Cache::new(budget))
}

/// [`open`], for a subcommand that reads each revision once, with the cache of such a job and with a meter of what is read and
/// written.
///
/// # Errors
/// See [`open`].
pub fn open_for_one_pass(
    out: &Out,
    operands: &[OsString],
    budget: u64,
    meter: Option<&Arc<IoMeter>>,
) -> Result<Repository> {
    operand::at_most(operands, 1, out.program(), "Too many arguments")?;
    let options = OpenOptions {
        meter: meter.cloned(),
        ..OpenOptions::default()
    };
    avoid_large_pages();
    Repository::open_with(&path(operands), &Cache::for_one_pass(budget), options)
}

/// Turns pages of 2 MiB off for this process: they would add half as much to the memory of a job that reads or writes each
/// revision once as its cache takes.
pub fn avoid_large_pages() {
    // A kernel that cannot turn them off is no obstacle.
    _ = rustix::thread::disable_transparent_huge_pages(true);
}
