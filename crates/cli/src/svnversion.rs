//! `svnversion`: identifies the revisions of a working copy.
//!
//! Working copies are not supported yet. What needs none is complete: the answers about paths outside of a working copy, and the
//! errors. A path in a working copy gives an error that says so.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{Code, Error, Result, disk_path};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::args::help::{essay, options};
use crate::args::operand::text;
use crate::args::{self, ArgumentError};
use crate::local_path;
use crate::out::Out;
use crate::version;

/// Prints which revisions a working copy has.
///
/// The output is a number, or a range of numbers, with 'M' after it if there are local
/// changes, 'S' if parts are switched, and 'P' if parts are missing. TRAIL_URL is the end
/// of the URL that WC_PATH should have; with another URL it counts as switched. Without
/// WC_PATH, the current directory is examined.
///
/// A path outside of a working copy is 'Unversioned directory', 'Unversioned file' or
/// 'Unversioned symlink'.
///
/// Working copies are not supported yet: a path in one is an error.
#[derive(Debug, Parser)]
#[command(
    name = "svnversion",
    override_usage = "svnversion [OPTIONS] [WC_PATH [TRAIL_URL]]"
)]
pub struct SvnversionArgs {
    /// end the output without a line feed
    #[arg(short = 'n', long)]
    no_newline: bool,
    /// print the revisions of the last changes, not those of the working copy
    #[arg(short = 'c', long)]
    committed: bool,
    /// explain this program
    #[arg(id = "help", short = 'h', long = "help")]
    help: bool,
    /// tell the version
    #[arg(long)]
    version: bool,
    /// tell nothing on standard error but errors; with '--version', tell only the number
    #[arg(short = 'q', long)]
    quiet: bool,
    operands: Vec<OsString>,
}

/// Runs the program with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let given = args::parse_flat(SvnversionArgs::command(), argv)
        .and_then(|matches| Ok(SvnversionArgs::from_arg_matches(&matches).map_err(args::definition_error)?));
    match given.map(|given| given.run(&mut out)) {
        Ok(outcome) => out.finish(outcome),
        Err(error) => {
            print_argument_error(&mut out, error);
            ExitCode::FAILURE
        }
    }
}

fn print_argument_error(out: &mut Out, error: ArgumentError) {
    let program = out.program().to_owned();
    if error.lines(&program, "").is_some() {
        out.raw_stderr(&error.message_with_hint(&program, &hint(&program)));
    } else if let Some(error) = error.numbered() {
        out.print_error(&error);
    }
}

impl SvnversionArgs {
    fn run(self, out: &mut Out) -> Result<ExitCode> {
        if self.help {
            out.print(&help(out.program()))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.version {
            out.print(&version::text("svnversion", self.quiet))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.operands.len() > 2 {
            let hint = hint(out.program());
            out.print_stderr(&hint);
            return Ok(ExitCode::FAILURE);
        }
        let typed = self.operands.first().cloned().unwrap_or_default();
        text(&typed)?;
        let path = absolute(&local_path::canonical(&typed))?;
        let end = if self.no_newline { "" } else { "\n" };
        match examine(&path)? {
            PathState::Unversioned(kind) => {
                out.print(&format!("Unversioned {kind}{end}"))?;
                Ok(ExitCode::SUCCESS)
            }
            PathState::Missing => Ok(complain(out, &path, "doesn't exist")),
            PathState::Special => Ok(complain(out, &path, "is of unknown type")),
            PathState::Versioned(root) => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                format!(
                    "'{}' is in the working copy '{}', and working copies are not supported yet",
                    disk_path::shown(&path),
                    disk_path::shown(&root)
                ),
            )),
        }
    }
}

fn complain(out: &mut Out, path: &Path, what: &str) -> ExitCode {
    out.print_stderr(&format!("'{}' {what}\n", disk_path::shown(path)));
    ExitCode::FAILURE
}

/// What is at a path.
enum PathState {
    /// A node outside of a working copy, by its kind.
    Unversioned(&'static str),
    Missing,
    /// Neither a file nor a directory nor a symbolic link.
    Special,
    /// A path in the working copy with this root.
    Versioned(PathBuf),
}

fn examine(path: &Path) -> Result<PathState> {
    let Some(kind) = metadata(path)?.map(|found| found.file_type()) else {
        return Ok(PathState::Missing);
    };
    // A link to a directory may lead into a working copy.
    let is_dir = fs::metadata(path).is_ok_and(|found| found.is_dir());
    if let Some(root) = working_copy(path, is_dir)? {
        return Ok(PathState::Versioned(root));
    }
    Ok(match kind {
        kind if kind.is_symlink() => PathState::Unversioned("symlink"),
        kind if kind.is_dir() => PathState::Unversioned("directory"),
        kind if kind.is_file() => PathState::Unversioned("file"),
        _ => PathState::Special,
    })
}

/// Returns the root of the working copy that a path is in. The administrative directory itself is in none.
fn working_copy(path: &Path, is_dir: bool) -> Result<Option<PathBuf>> {
    for (distance, dir) in path.ancestors().enumerate().skip(usize::from(!is_dir)) {
        let admin = dir.join(ADMIN_DIR);
        if path.starts_with(&admin) || !metadata(&admin)?.is_some_and(|found| found.is_dir()) {
            continue;
        }
        // Before version 1.7 every directory had its own list of entries.
        let is_old = distance == 0 && admin.join("entries").is_file() && !admin.join(DATABASE).exists();
        if is_old || is_database(&admin.join(DATABASE)) {
            return Ok(Some(dir.to_owned()));
        }
    }
    Ok(None)
}

/// True for a database, also one that was just begun.
fn is_database(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    is_file && read.is_ok() && (start.is_empty() || start == MAGIC)
}

/// Returns what is at a path; `None` if there is nothing.
fn metadata(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("Can't check path", path, &e)),
    }
}

/// Returns the absolute path, without `..` components.
fn absolute(path: &Path) -> Result<PathBuf> {
    let shown = local_path::shown(path);
    let here = env::current_dir().map_err(|e| {
        let code = Code(e.raw_os_error().unwrap_or(0));
        Error::bare(code).wrap(
            Code::BAD_FILENAME,
            format!("Couldn't determine absolute path of '{shown}'"),
        )
    })?;
    Ok(local_path::without_parents(here.join(path)))
}

fn hint(program: &str) -> String {
    format!("Type '{program} --help' for usage.\n")
}

fn help(program: &str) -> String {
    let command = SvnversionArgs::command();
    let mut text = format!(
        "usage: {program} [OPTIONS] [WC_PATH [TRAIL_URL]]\n{}",
        essay(&command)
    );
    text.push('\n');
    text.push_str(&options(&command));
    text
}

/// The administrative directory of a working copy.
const ADMIN_DIR: &str = ".svn";
/// The database in it.
const DATABASE: &str = "wc.db";
/// The first bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";
