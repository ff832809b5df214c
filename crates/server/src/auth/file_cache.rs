//! Files of users and groups, parsed once and again when they change.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Error, Result};
use parking_lot::Mutex;
use repos::config::FileStamp;

/// Larger files are refused, bytes.
const MAX_FILE: u64 = 64 << 20;

/// Parsed files, by path.
pub(super) struct ParsedFiles<T> {
    files: Mutex<HashMap<PathBuf, (FileStamp, Arc<T>)>>,
}

impl<T> Default for ParsedFiles<T> {
    fn default() -> Self {
        ParsedFiles {
            files: Mutex::default(),
        }
    }
}

impl<T> ParsedFiles<T> {
    /// Returns the result of `parse` for the file at `path`.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub(super) fn get(&self, path: &Path, parse: impl FnOnce(&str) -> T) -> Result<Arc<T>> {
        let can_not = |e: std::io::Error| Error::io("Can't open file", path, &e);
        // Taken before the file is read: if the file changes in between, the next call reads it again. A stamp that does not prove
        // that the file is unchanged is not used.
        let stamp = FileStamp::of(path)?.filter(FileStamp::is_proof);
        if let Some((known, value)) = self.files.lock().get(path)
            && Some(*known) == stamp
        {
            return Ok(value.clone());
        }
        let mut text = Vec::new();
        let mut file = fs::File::open(path).map_err(can_not)?.take(MAX_FILE + 1);
        file.read_to_end(&mut text)
            .map_err(|e| Error::io("Can't read file", path, &e))?;
        if text.len() as u64 > MAX_FILE {
            let message = format!("'{}' is too large for a file of passwords", path.display());
            return Err(Error::new(Code::MALFORMED_FILE, message));
        }
        let value = Arc::new(parse(&String::from_utf8_lossy(&text)));
        if let Some(stamp) = stamp {
            self.files.lock().insert(path.to_owned(), (stamp, value.clone()));
        }
        Ok(value)
    }
}
