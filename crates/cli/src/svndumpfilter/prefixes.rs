//! The prefixes of an argument list and of a targets file.
//!
//! An operand loses doubled and trailing slashes and `.`; a line of a file loses only the white space around it. Both get a
//! leading slash.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;

use base::{Error, Result, disk_path};

use super::filter::read_stdin;
use crate::args::operand::{text, tidy};

/// The prefixes of a filter.
pub struct Prefixes {
    /// Absolute paths or patterns: first the operands, then the lines of the file.
    pub all: Vec<String>,
    /// The file was standard input, so that there is no stream to read any more.
    pub has_used_stdin: bool,
}

/// Collects the prefixes.
///
/// # Errors
/// `errno` for words that are not UTF-8, and for a file that cannot be read.
pub fn collect(operands: &[OsString], targets: Option<&OsStr>) -> Result<Prefixes> {
    let targets = targets.map(text).transpose()?;
    let mut all = Vec::new();
    for operand in operands {
        all.push(absolute(&tidy(&text(operand)?)));
    }
    let has_used_stdin = targets.as_deref() == Some("-");
    if let Some(name) = targets {
        let file = match has_used_stdin {
            true => read_stdin()?,
            false => read_file(&name)?,
        };
        // The incumbent's text is a C string.
        let file = file.split(|byte| *byte == 0).next().unwrap_or_default();
        let lines = text(bytes(file))?;
        for line in lines.split(['\n', '\r']) {
            let line = line.trim_matches(is_space);
            if !line.is_empty() {
                all.push(absolute(line));
            }
        }
    }
    Ok(Prefixes { all, has_used_stdin })
}

fn bytes(text: &[u8]) -> &OsStr {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(text)
}

fn read_file(name: &str) -> Result<Vec<u8>> {
    let path = &disk_path::of_text(if name.is_empty() { "." } else { name })?;
    let mut contents = Vec::new();
    let mut file = match name.is_empty() {
        true => File::open(""),
        false => File::open(path),
    }
    .map_err(|e| Error::io("Can't open file", path, &e))?;
    file.read_to_end(&mut contents)
        .map_err(|e| Error::io("Can't read file", path, &e))?;
    Ok(contents)
}

fn absolute(path: &str) -> String {
    match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/{path}"),
    }
}

fn is_space(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter == '\x0b'
}
