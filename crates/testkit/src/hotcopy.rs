//! Copies of repositories where a test wants them: below a folder that a server serves.

use std::path::Path;

use crate::repo::Repo;
use crate::tool::Tool;

impl Repo {
    /// A copy at `path`, as `svnadmin hotcopy` makes it.
    ///
    /// # Panics
    /// If it can't be made.
    pub fn copy_to(&self, path: &Path) {
        Tool::new("svnadmin")
            .arg("hotcopy")
            .arg(self.path())
            .arg(path)
            .ok();
    }
}
