//! A small file system in memory, for tests of full disks.

use std::path::Path;

use crate::tool::{Tool, scratch};

/// A mounted file system. It is unmounted when the value is dropped, also after a failure.
#[derive(Debug)]
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one of this size, as `mount` of a tmpfs takes it: `700k`, `6m`. Prints a message and returns `None` if
    /// that is not permitted here.
    #[expect(
        clippy::print_stderr,
        reason = "who runs the tests should know what they left out"
    )]
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let folder = scratch();
        let options = format!("size={size}");
        let mount = Tool::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]);
        let mounted = mount.arg(folder.path()).run();
        if mounted.code != 0 {
            eprintln!(
                "NOT TESTED: a full disk (no file system may be mounted): {}",
                mounted.err()
            );
            return None;
        }
        Some(SmallDisk { folder })
    }

    /// The root of the file system.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it another size.
    pub fn resize(&self, size: &str) {
        let options = format!("remount,size={size}");
        Tool::new("mount").args(["-o", &options]).arg(self.path()).ok();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Tool::new("umount").arg("-l").arg(self.path()).run();
    }
}
