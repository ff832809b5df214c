//! A new repository.

use std::path::Path;

use base::{Code, Date, Error, Result};

/// What a new repository shall be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// The oldest release (its minor number, 1.x) that must be able to work with it.
    pub compatible: u32,
    /// The name of the storage engine; `fsfs` is the only one.
    pub fs_type: Option<String>,
}

impl Default for CreateOptions {
    fn default() -> Self {
        CreateOptions {
            compatible: 14,
            fs_type: None,
        }
    }
}

/// Creates a repository in `path`, which must not exist or be empty.
///
/// # Errors
/// `REPOS_BAD_ARGS` where there is one or inside of one, `DIR_NOT_EMPTY`, `FS_UNKNOWN_FS_TYPE`; the system's.
pub fn create(path: &Path, options: &CreateOptions, now: Date) -> Result<()> {
    let _ = (path, options, now);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
