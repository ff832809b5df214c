//! Readers of the small files of `db/` that identify the filesystem: `fs-type`, `format` and `uuid`.

use std::path::Path;

use base::{Code, Error, Result};

use super::disk::{Disk, is_missing, read_replaced};
use crate::format::fs_format::{FormatError, FsFormat};
use crate::format::{quoted, short_line};

/// Refuses a filesystem of another back end.
///
/// # Errors
/// `FS_UNKNOWN_FS_TYPE`; the system's.
pub(super) fn check_fs_type(disk: &dyn Disk, db: &Path, expected: &str) -> Result<()> {
    let path = db.join("fs-type");
    let text = match disk.read_small(&path) {
        Ok(text) => text,
        // A filesystem without the file is of the time when Berkeley DB was the only back end.
        Err(e) if is_missing(&Error::io("", &path, &e)) => b"bdb\n".to_vec(),
        Err(e) => return Err(Error::io("Can't open file", &path, &e)),
    };
    match short_line::first_line(&text, short_line::LIMIT, &path)? {
        name if name == expected.as_bytes() => Ok(()),
        other => Err(Error::new(
            Code::FS_UNKNOWN_FS_TYPE,
            format!("Unknown FS type '{}'", quoted(other)),
        )),
    }
}

/// Reads `format`.
///
/// # Errors
/// `FS_UNSUPPORTED_FORMAT`, `BAD_VERSION_FILE_FORMAT`; the system's.
pub(super) fn read_format(disk: &dyn Disk, db: &Path) -> Result<FsFormat> {
    let path = db.join("format");
    let text = match disk.read_small(&path) {
        Ok(text) => text,
        Err(e) if is_missing(&Error::io("", &path, &e)) => return Ok(FsFormat::MISSING_FILE),
        Err(e) => return Err(Error::io("Can't open file", &path, &e)),
    };
    FsFormat::parse(&text).map_err(|e| {
        let line = String::from_utf8_lossy(text.split(|&b| b == b'\n').next().unwrap_or_default());
        match e {
            FormatError::Unsupported => Error::new(
                e.code(),
                format!(
                    "Expected FS format between '1' and '{}'; found format '{line}'",
                    FsFormat::NEWEST
                ),
            ),
            FormatError::FirstLine => Error::new(e.code(), first_line_fault(&path, &line)),
            FormatError::Option => Error::new(
                e.code(),
                format!(
                    "'{}' contains invalid filesystem format option '{}'",
                    path.display(),
                    e.line(&text)
                ),
            ),
            FormatError::LogicalLinear => Error::new(
                e.code(),
                format!(
                    "'{}' specifies logical addressing for a non-sharded repository",
                    path.display()
                ),
            ),
        }
    })
}

fn first_line_fault(path: &Path, line: &str) -> String {
    match line.chars().find(|c| !c.is_ascii_digit()) {
        Some(c) => {
            format!(
                "Format file '{}' contains unexpected non-digit '{c}' within '{line}'",
                path.display()
            )
        }
        None => format!("Can't read first line of format file '{}'", path.display()),
    }
}

/// Reads the UUID and, from format 7 on, the instance ID, which tells copies of a repository apart.
///
/// # Errors
/// `BAD_UUID` and its kin; the system's.
pub(super) fn read_ids(disk: &dyn Disk, path: &Path, format: &FsFormat) -> Result<(String, Option<String>)> {
    let text = read_replaced(disk, path)?;
    let line = |text| short_line::first_line(text, short_line::UUID_LIMIT, path);
    let shown = |line| String::from_utf8_lossy(line).into_owned();
    let uuid = line(&text)?;
    let instance_id = match format.has_instance_id() {
        true => Some(shown(line(&text[uuid.len() + 1..])?)),
        false => None,
    };
    Ok((shown(uuid), instance_id))
}
