//! A file that lines are appended to, each by one write, so that several processes can share it. It can be opened again under the
//! same name after a log rotation. Without a file, lines go to standard error.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base::{Error, Result};
use parking_lot::Mutex;

/// A log file, or standard error.
#[derive(Debug, Default)]
pub struct LogFile(Mutex<Option<(PathBuf, File)>>);

impl LogFile {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn open(path: &Path) -> Result<LogFile> {
        let log = LogFile::stderr();
        log.turn_to(Some(path))?;
        Ok(log)
    }

    /// Writes to standard error.
    pub fn stderr() -> LogFile {
        LogFile::default()
    }

    /// Appends to the file at `path` from now on, or writes to standard error. If that fails nothing changes.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn turn_to(&self, path: Option<&Path>) -> Result<()> {
        let file = path.map(append_to).transpose()?;
        *self.0.lock() = file;
        Ok(())
    }

    /// Opens the file again. If that fails the old one stays, and also if it is no regular file: the name of a stream of the process that
    /// started this one, such as `/dev/stderr`, means another file now.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        let mut here = self.0.lock();
        if let Some((path, _)) = &*here {
            let (path, file) = append_to(path)?;
            if file.metadata().is_ok_and(|meta| meta.is_file()) {
                *here = Some((path, file));
            }
        }
        Ok(())
    }

    /// Adds whole lines. Errors are ignored: on a full disk lines are lost, but no operation fails.
    pub fn add(&self, lines: &str) {
        _ = (&*self).write_all(lines.as_bytes());
    }
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some((_, file)) => file.write(bytes),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append_to(path: &Path) -> Result<(PathBuf, File)> {
    let failed = |e: io::Error| Error::io("Can't open file", path, &e);
    // A server may change its working directory.
    let path = std::path::absolute(path).map_err(failed)?;
    let file = OpenOptions::new().append(true).create(true).open(&path);
    Ok((path.clone(), file.map_err(failed)?))
}
