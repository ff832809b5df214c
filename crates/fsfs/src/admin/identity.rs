//! A filesystem's UUID, and holding it still: SKELETON (agreed signatures; the bodies are being written).

use base::{Code, Error, Result};

use crate::fs::Fs;

impl Fs {
    /// Gives the filesystem this UUID, or a new one.
    ///
    /// # Errors
    /// The system's.
    pub fn set_uuid(&self, uuid: Option<&str>) -> Result<()> {
        let _ = uuid;
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// Runs `f` while nobody can change the filesystem.
    ///
    /// # Errors
    /// What `f` says; the system's.
    pub fn freeze<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let _ = f;
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }
}
