//! A clock that jumps, for one process: `libfaketime` stands between the process and the system.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::tool::scratch;

/// The clock of the processes that have its variables in their environment. Times that only measure how long something takes are not changed.
pub struct FakeClock {
    dir: TempDir,
    library: PathBuf,
}

impl FakeClock {
    /// Returns a clock that is right.
    pub fn new() -> FakeClock {
        let folders = fs::read_dir("/usr/lib").expect("because Linux has it").flatten();
        let library = folders
            .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"))
            .find(|library| library.exists())
            .expect("because ./dev deps has installed faketime");
        let clock = FakeClock {
            dir: scratch(),
            library,
        };
        clock.set("+0");
        clock
    }

    /// Sets the distance from the right time, as `+8m` or `-3d`.
    pub fn set(&self, distance: &str) {
        // Replaced whole: the processes read it at each look at the clock.
        let (new, file) = (self.dir.path().join("new"), self.file());
        fs::write(&new, distance).expect("because the folder is ours");
        fs::rename(&new, &file).expect("because the folder is ours");
    }

    /// The variables for the environment of a process.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.file().display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("clock")
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        FakeClock::new()
    }
}
