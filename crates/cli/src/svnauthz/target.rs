//! Reads the authz file to check: from disk, a repository's youngest revision, or a transaction.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use base::{Code, Error, FsPath, NodeKind, Result, ResultExt as _};
use fsfs::Root;
use repos::authz::{Authz, Source};
use repos::{Cache, Repository};

use crate::args::{operand, option};
use crate::local_path;
use crate::out::Out;

/// Reads the authz file that `operands` name, and the groups file if there is one. Prints the warnings.
///
/// # Errors
/// `AUTHZ_INVALID_CONFIG` and `MALFORMED_FILE` if a file is invalid; other errors if it cannot be read.
pub fn read(
    out: &mut Out,
    transaction: Option<&str>,
    operands: &[OsString],
    groups: Option<&OsStr>,
) -> Result<Authz> {
    check_operands(transaction, operands)?;
    let cache = Cache::new(option::default_budget());
    let (text, groups, name) = match (transaction, operands) {
        (Some(txn), [repository, file]) => {
            let file = path_in_repository(file)?;
            let groups = groups.map(path_in_repository).transpose()?;
            let repository = Repository::open(&local_path::canonical(repository), &cache)?;
            let root = repository.fs().txn_root(txn)?;
            let groups = groups.map(|path| text_in(&root, &path)).transpose()?;
            let text = text_in(&root, &file)?;
            (
                text,
                groups,
                format!("Error parsing authz file: '{}':", file.as_str()),
            )
        }
        _ => {
            let target = operands.first().map(OsString::as_os_str).unwrap_or_default();
            let source = source_named(target)?;
            let groups = groups.map(source_named).transpose()?;
            let fetch = |path: &[u8]| fetch(&cache, Path::new(OsStr::from_bytes(path)));
            let text = source.load(&fetch)?;
            let groups = groups.map(|source| source.load(&fetch)).transpose()?;
            let name = format!("Error while parsing authz file: '{}':", source.shown());
            (text, groups, name)
        }
    };
    let authz = Authz::parse(&text, groups.as_deref()).context(|| name)?;
    for warning in authz.warnings() {
        out.print_warning(warning);
    }
    Ok(authz)
}

/// Returns an error for too many or too few operands.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn check_operands(transaction: Option<&str>, operands: &[OsString]) -> Result<()> {
    let (needed, message) = match transaction {
        Some(_) => (2, "Repository and authz file arguments required"),
        None => (1, "Authz file argument required"),
    };
    if operands.len() == needed {
        return Ok(());
    }
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

/// Parses an operand as a file or a URL.
fn source_named(typed: &OsStr) -> Result<Source> {
    operand::text(typed)?;
    refuse_relative_url(typed)?;
    if local_path::is_url(typed) {
        return Ok(Source::new(typed.as_bytes(), Path::new("")));
    }
    Ok(Source::File(local_path::canonical(typed)))
}

/// Parses an operand as a path in a repository.
fn path_in_repository(typed: &OsStr) -> Result<FsPath> {
    refuse_relative_url(typed)?;
    if local_path::is_url(typed) {
        let message = format!(
            "'{}' is a URL when it should be a repository-relative path",
            typed.to_string_lossy()
        );
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    operand::fs_path(typed)
}

fn refuse_relative_url(typed: &OsStr) -> Result<()> {
    if !typed.as_bytes().starts_with(b"^/") {
        return Ok(());
    }
    let message = format!(
        "'{}' is a repository relative URL when it should be a local path or file:// URL",
        typed.to_string_lossy()
    );
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

/// Returns the text of a file of a transaction.
fn text_in(root: &Root, path: &FsPath) -> Result<Vec<u8>> {
    match root.try_node(path)? {
        Some(node) if node.kind() == NodeKind::File => node.reader()?.read_all(),
        _ => {
            let message = format!("Path '{}' is not a file", path.as_str());
            Err(Error::new(Code::FS_NOT_FILE, message))
        }
    }
}

/// Returns the text of a file in the youngest revision of the repository at or above `path`, or `None` if there is no
/// such file.
pub fn fetch(cache: &Arc<Cache>, path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(top) = Repository::find_upward(path) else {
        return Ok(None);
    };
    let inside = path.strip_prefix(&top).unwrap_or(Path::new(""));
    let Ok(inside) = FsPath::canonicalize(&operand::text(inside.as_os_str())?) else {
        return Ok(None);
    };
    let repository = Repository::open(&top, cache)?;
    let root = repository.fs().root(repository.youngest()?)?;
    match root.try_node(&inside)? {
        Some(node) if node.kind() == NodeKind::File => node.reader()?.read_all().map(Some),
        _ => Ok(None),
    }
}
