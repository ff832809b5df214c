//! What is still to come of the front door: revision properties in packs, locks, transactions' listing (fsfs2's), and
//! histories.
#![allow(
    missing_docs,
    unused_variables,
    clippy::all,
    clippy::allow_attributes,
    clippy::unimplemented
)]

use std::sync::Arc;

use base::{Depth, Error, FsPath, Lock, Props, Result, Revnum};

use crate::fs::Fs;

impl Fs {
    pub fn txn_props(&self, txn: &str) -> Result<Props> {
        unimplemented!()
    }
    pub fn list_txns(&self) -> Result<Vec<String>> {
        unimplemented!()
    }
    pub fn revprops(&self, rev: Revnum) -> Result<Arc<Props>> {
        self.check_rev(rev)?;
        let path = self.layout().revprops(rev);
        let text = self
            .disk()
            .read_small(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))?;
        Ok(Arc::new(base::hashdump::read_props(&text)?))
    }
    /// The lock on exactly this path, None if there is none or it has expired.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        unimplemented!()
    }
    /// All locks at or below `path` within `depth`.
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        unimplemented!()
    }
    /// Bytes that the revision takes on disk (`svnadmin rev-size`).
    pub fn rev_size(&self, rev: Revnum) -> Result<u64> {
        unimplemented!()
    }
}
