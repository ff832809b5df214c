//! Copies of repositories at a chosen path, such as below the root of a server.

use std::path::Path;

use crate::repo::Repo;
use crate::tool::Tool;

impl Repo {
    /// Copies the repository to `path` with Subversion's `svnadmin hotcopy`.
    ///
    /// # Panics
    /// If the copy fails.
    pub fn copy_to(&self, path: &Path) {
        Tool::new("svnadmin")
            .arg("hotcopy")
            .arg(self.path())
            .arg(path)
            .ok();
    }
}
