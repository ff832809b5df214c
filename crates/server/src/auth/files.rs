//! Files of names and passwords, parsed once as long as they stay as they are.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Error, Result};
use parking_lot::Mutex;
use repos::config::FileStamp;

/// Larger is no file of passwords.
const LARGEST: u64 = 64 << 20;

/// Files that are in use.
pub(super) struct Files<T> {
    known: Mutex<HashMap<PathBuf, (FileStamp, Arc<T>)>>,
}

impl<T> Default for Files<T> {
    fn default() -> Self {
        Files {
            known: Mutex::default(),
        }
    }
}

impl<T> Files<T> {
    /// What `parse` makes of the file at `path`.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub(super) fn get(&self, path: &Path, parse: impl FnOnce(&str) -> T) -> Result<Arc<T>> {
        let can_not = |e: std::io::Error| Error::io("Can't open file", path, &e);
        // Before it is read: if it changes in between the next look reads it again. One that proves nothing is no help.
        let stamp = FileStamp::of(path)?.filter(FileStamp::is_proof);
        if let Some((known, value)) = self.known.lock().get(path)
            && Some(*known) == stamp
        {
            return Ok(value.clone());
        }
        let mut text = Vec::new();
        let mut file = fs::File::open(path).map_err(can_not)?.take(LARGEST + 1);
        file.read_to_end(&mut text)
            .map_err(|e| Error::io("Can't read file", path, &e))?;
        if text.len() as u64 > LARGEST {
            let message = format!("'{}' is too large for a file of passwords", path.display());
            return Err(Error::new(Code::MALFORMED_FILE, message));
        }
        let value = Arc::new(parse(&String::from_utf8_lossy(&text)));
        if let Some(stamp) = stamp {
            self.known.lock().insert(path.to_owned(), (stamp, value.clone()));
        }
        Ok(value)
    }
}
