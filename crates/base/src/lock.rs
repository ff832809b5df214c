//! A user's lock on a file.

use crate::date::Date;
use crate::path::FsPath;

/// A user's lock. The word *lock* alone always means this one, never a mutex or a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The locked file.
    pub path: FsPath,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// The user who holds it.
    pub owner: String,
    /// The owner's comment; may be several lines.
    pub comment: Option<String>,
    /// True if a WebDAV client made it, whose comment is an XML fragment.
    pub is_dav_comment: bool,
    /// When it was made.
    pub created: Date,
    /// When it ends; `None` is never. An expired lock counts as absent.
    pub expires: Option<Date>,
}
