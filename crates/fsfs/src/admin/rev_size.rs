//! The size of one revision on disk: `svnadmin rev-size`.

use std::sync::Arc;

use base::hashdump::{self, Terminator};
use base::{Result, Revnum};

use crate::store::rev_file::RevFile;
use crate::tree::Fs;

impl Fs {
    /// Returns the bytes that a revision takes on disk: its data (without indexes, with padding that belongs to it) and its
    /// property list in plain form.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_INDEX_CORRUPTION`; those of reading files.
    pub fn rev_size(&self, rev: Revnum) -> Result<u64> {
        self.refuse_fsx_ioctl("Revision size query")?;
        self.check_rev(rev)?;
        let data = self.with_rev_file(rev, |file| self.data_size(file, rev))?;
        let mut props = Vec::new();
        hashdump::write_props(&mut props, &self.revprops(rev)?.to_props(), Terminator::End);
        Ok(data + props.len() as u64)
    }

    fn data_size(&self, file: &Arc<RevFile>, rev: Revnum) -> Result<u64> {
        if file.footer().is_none() {
            let (start, end) = file.rev_range(rev)?;
            return Ok(end - start);
        }
        let header = file.p2l_header()?;
        let mut size = 0u64;
        for page in 0..header.page_count() {
            let entries = file.p2l_page(self.cache(), page)?;
            // After the last item, one more entry fills the page.
            let entries = entries
                .iter()
                .filter(|entry| entry.rev == rev && entry.offset < header.file_size);
            size += entries.map(|entry| entry.size).sum::<u64>();
        }
        Ok(size)
    }
}
