//! The texts of files that are compared.
//!
//! A short text is in memory. A longer one is in a temporary file, so that several may be open at once.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use base::checksum::{Md5, Md5Stream};
use base::{Error, Result};

/// Bytes of a text that are held in memory.
const IN_MEMORY: usize = 1 << 20;

/// A text while it is written and afterwards.
#[derive(Debug, Default)]
pub struct Text {
    memory: Vec<u8>,
    file: Option<File>,
    len: u64,
    source: Option<PathBuf>,
}

impl Text {
    /// Returns an empty text that becomes that of the user's file at `path`.
    pub(super) fn of_file(path: &Path) -> Text {
        Text {
            source: Some(path.to_owned()),
            ..Text::default()
        }
    }

    /// The user's file that has this text, if it is one of the local disk.
    pub fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// Appends to the text.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        if self.file.is_none() && self.memory.len() + bytes.len() <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            let file = tempfile::tempfile().map_err(|e| failed("Can't create temporary file", &e))?;
            write(&file, &self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &self.file {
            Some(file) => write(file, bytes),
            None => Ok(()),
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns `len` bytes from `offset` on, or fewer at the end.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn part(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let len = usize::try_from(self.len.saturating_sub(offset)).map_or(len, |left| left.min(len));
        let Some(file) = &self.file else {
            let start = usize::try_from(offset)
                .unwrap_or(usize::MAX)
                .min(self.memory.len());
            return Ok(Cow::Borrowed(&self.memory[start..start + len]));
        };
        let mut bytes = vec![0; len];
        let outcome = file.read_exact_at(&mut bytes, offset);
        outcome.map_err(|e| failed("Can't read file", &e))?;
        Ok(Cow::Owned(bytes))
    }

    /// Returns the whole text.
    ///
    /// # Errors
    /// `errno`.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        self.part(0, usize::try_from(self.len).unwrap_or(usize::MAX))
    }

    /// Passes the text in parts.
    ///
    /// # Errors
    /// `errno`; those of `part`.
    pub fn each_part(&self, part: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut offset = 0;
        while offset < self.len {
            let bytes = self.part(offset, IN_MEMORY)?;
            part(&bytes)?;
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Returns true if both texts are the same.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn equals(&self, other: &Text) -> Result<bool> {
        if self.len != other.len {
            return Ok(false);
        }
        let mut offset = 0;
        while offset < self.len {
            let bytes = self.part(offset, IN_MEMORY)?;
            if bytes != other.part(offset, IN_MEMORY)? {
                return Ok(false);
            }
            offset += bytes.len() as u64;
        }
        Ok(true)
    }
}

/// A text that is written, with its digest.
#[derive(Default)]
pub(super) struct TextWriter {
    text: Text,
    digest: Md5Stream,
}

impl TextWriter {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.digest.update(bytes);
        self.text.push(bytes)
    }

    /// Returns the text and its digest.
    pub(super) fn finish(self) -> (Text, Md5) {
        (self.text, self.digest.finish())
    }
}

fn write(mut file: &File, bytes: &[u8]) -> Result<()> {
    let outcome = file.write_all(bytes);
    outcome.map_err(|e| failed("Can't write to file", &e))
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::io(what, Path::new("svn"), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_like_short_ones() {
        let bytes: Vec<u8> = (0..3 * IN_MEMORY).map(|n| (n / 7 % 251) as u8).collect();
        let (mut long, mut same) = (Text::default(), Text::default());
        for piece in bytes.chunks(100_001) {
            long.push(piece).expect("room");
        }
        for piece in bytes.chunks(77_777) {
            same.push(piece).expect("room");
        }
        assert!(long.file.is_some());
        assert_eq!(long.bytes().expect("there"), bytes);
        assert_eq!(long.part(5, 3).expect("there"), &bytes[5..8]);
        assert_eq!(long.part(bytes.len() as u64 - 2, 9).expect("there").len(), 2);
        assert!(long.equals(&same).expect("there"));
        same.push(b"x").expect("room");
        assert!(!long.equals(&same).expect("there"));
    }
}
