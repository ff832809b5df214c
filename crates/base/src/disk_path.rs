//! Paths of the local disk as text, and text as such paths.
//!
//! The names of files are bytes, in the character set of the process's locale. Text is UTF-8, as in URLs, repositories and messages.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::charset::Charset;

/// Returns a path as messages show it. What is not in the character set is replaced.
pub fn shown<P: AsRef<Path> + ?Sized>(path: &P) -> Cow<'_, str> {
    let path = path.as_ref();
    match Charset::of_process().read_word(path.as_os_str()) {
        Ok(text) => text,
        Err(_) => path.to_string_lossy(),
    }
}

/// Returns the path that a text names.
///
/// # Errors
/// `errno` 22 for text with a character that the character set lacks.
pub fn of_text(text: &str) -> Result<PathBuf> {
    bytes_of_text(text.as_bytes()).map(|bytes| PathBuf::from(OsString::from_vec(bytes.into_owned())))
}

/// Converts text to the character set of names and arguments.
///
/// # Errors
/// `errno` 22 for text with a character that the character set lacks, and for bytes that are not UTF-8 if they are to be converted.
pub fn bytes_of_text(text: &[u8]) -> Result<Cow<'_, [u8]>> {
    let charset = Charset::of_process();
    match charset.is_converted() {
        true => charset.write(crate::charset::utf8(OsStr::from_bytes(text))?),
        false => Ok(Cow::Borrowed(text)),
    }
}
