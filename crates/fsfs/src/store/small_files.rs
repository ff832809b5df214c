//! Readers of the small files of `db/` that identify the filesystem: `fs-type`, `format` and `uuid`.

use std::path::Path;

use base::{Code, Error, Result, shown_bytes};

use super::disk::{Disk, is_missing, read_replaced};
use super::shared::SHARED_FS_TYPE;
use crate::format::fs_format::{BackEnd, FormatError, FsFormat};
use crate::format::fsx::cursor::DecodeError;
use crate::format::{fsx, quoted, short_line};

/// Reads `fs-type`. That of a filesystem that several machines share has a name of its own, and is in the form of FSFS.
///
/// # Errors
/// `FS_UNKNOWN_FS_TYPE`; the system's.
pub(super) fn read_fs_type(disk: &dyn Disk, db: &Path, is_shared: bool) -> Result<BackEnd> {
    let path = db.join("fs-type");
    let text = match disk.read_small(&path) {
        Ok(text) => text,
        // A filesystem without the file is of the time when Berkeley DB was the only back end.
        Err(e) if is_missing(&Error::io("", &path, &e)) => b"bdb\n".to_vec(),
        Err(e) => return Err(Error::io("Can't open file", &path, &e)),
    };
    match short_line::first_line(&text, short_line::LIMIT, &path)? {
        name if is_shared && name == SHARED_FS_TYPE.as_bytes() => Ok(BackEnd::Fsfs),
        b"fsfs" if !is_shared => Ok(BackEnd::Fsfs),
        b"fsx" if !is_shared => Ok(BackEnd::Fsx),
        name if name == SHARED_FS_TYPE.as_bytes() => Err(Error::new(
            Code::FS_UNKNOWN_FS_TYPE,
            format!(
                "This works on the files of a repository, and those of '{}' are in a cluster",
                db.display()
            ),
        )),
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
pub(super) fn read_format(disk: &dyn Disk, db: &Path, back_end: BackEnd) -> Result<FsFormat> {
    let path = db.join("format");
    let text = match disk.read_small(&path) {
        Ok(text) if back_end == BackEnd::Fsx => {
            let shard_size = fsx::small_files::shard_size(&text);
            return shard_size
                .map(FsFormat::fsx)
                .map_err(|e| fsx_format_error(&e, &text, &path));
        }
        Ok(text) => text,
        Err(e) if back_end == BackEnd::Fsfs && is_missing(&Error::io("", &path, &e)) => {
            return Ok(FsFormat::MISSING_FILE);
        }
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

/// The error of the file `format` of FSX, in the words of the incumbent.
fn fsx_format_error(e: &DecodeError, text: &[u8], path: &Path) -> Error {
    let mut lines = text.split(|&byte| byte == b'\n');
    let mut line = || shown_bytes(lines.next().unwrap_or_default());
    let (number, option) = (line(), line());
    let path = path.display();
    let message = match number.chars().find(|c| !c.is_ascii_digit()) {
        Some(c) => format!("Format file '{path}' contains unexpected non-digit '{c}' within '{number}'"),
        None if e.code() != Code::FS_UNSUPPORTED_FORMAT => {
            format!("'{path}' contains invalid filesystem format option '{option}'")
        }
        None if number == "1" => {
            "Unsupported experimental FSX format '1' found; current format is '2'".to_owned()
        }
        // The first number is a fault of the incumbent.
        None => format!("Expected FSX format between '3' and '2'; found format '{number}'"),
    };
    Error::new(e.code(), message)
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
