//! Creating an empty filesystem of any format: revision 0 and the small files around it, byte for byte as `svnadmin create`
//! writes them (the comments of `fsfs.conf` are our own).

use std::path::Path;
use std::sync::Arc;

use base::{Code, Date, Error, Result};

use crate::disk::Disk;

/// What filesystem to create.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// 1 to 8, never 5.
    pub format: u32,
    /// Revisions a shard, 0 for the linear layout; `None` is the format's default.
    pub shard_size: Option<u64>,
    /// `None` makes one up.
    pub uuid: Option<String>,
    /// Whether items are found by number and index; `None` is the format's default.
    pub log_addressing: Option<bool>,
    /// Text of `fsfs.conf`; `None` is a file that explains the options and sets none.
    pub conf: Option<Vec<u8>>,
}

/// Creates `db`, which must not exist or be empty; `now` becomes the date of revision 0.
///
/// # Errors
/// `FS_UNSUPPORTED_FORMAT`, `FS_GENERAL` if there is a filesystem already; the system's.
pub fn create(db: &Path, options: &CreateOptions, now: Date, disk: Arc<dyn Disk>) -> Result<()> {
    let _ = (db, options, now, disk);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
