//! Repositories of Subversion's `svnadmin`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fsx::FsxFs;
use testkit::{Repo, Tool, scratch};

/// An FSX repository of one test.
pub struct FsxRepository {
    repo: Repo,
    _folder: tempfile::TempDir,
}

/// Settings of a new repository.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Revisions of a shard.
    pub shard: u64,
    /// Lines that are appended to `fsx.conf`.
    pub conf: &'static str,
}

impl Settings {
    pub fn shard(shard: u64) -> Self {
        Settings { shard, conf: "" }
    }
}

/// Makes a temporary folder, in memory if possible: `svnadmin load` waits for the disk after each revision, in FSX whatever
/// its options are, in FSFS for the database of equal texts.
pub fn folder() -> tempfile::TempDir {
    let in_memory = Path::new("/dev/shm");
    match tempfile::Builder::new()
        .prefix("sven-test-")
        .tempdir_in(in_memory)
    {
        Ok(folder) => folder,
        Err(_) => scratch(),
    }
}

impl FsxRepository {
    /// Makes an empty repository.
    pub fn create(settings: &Settings) -> Self {
        let folder = folder();
        let path = folder.path().join("repo");
        Tool::new("svnadmin")
            .args(["create", "--fs-type", "fsx"])
            .arg(&path)
            .ok();
        let db = path.join("db");
        let format = db.join("format");
        // The size of a shard may be changed while there is only revision 0.
        fs::set_permissions(&format, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&format, format!("2\nlayout sharded {}\n", settings.shard)).unwrap();
        if !settings.conf.is_empty() {
            fs::write(db.join("fsx.conf"), settings.conf).unwrap();
        }
        FsxRepository {
            repo: Repo::at(&path),
            _folder: folder,
        }
    }

    /// Makes a repository and loads a stream into it.
    pub fn load(settings: &Settings, stream: &[u8]) -> Self {
        let repository = Self::create(settings);
        repository.repo.load(stream.to_vec());
        repository
    }

    pub fn path(&self) -> &Path {
        self.repo.path()
    }

    pub fn db(&self) -> PathBuf {
        self.repo.db()
    }

    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Packs all complete shards.
    pub fn pack(&self) {
        Tool::new("svnadmin").args(["pack", "-q"]).arg(self.path()).ok();
    }

    /// Opens it with this crate.
    pub fn open(&self) -> FsxFs {
        FsxFs::open(&self.db()).unwrap()
    }

    /// Returns what `svnlook` prints.
    pub fn svnlook(&self, command: &str, args: &[&str]) -> String {
        Tool::new("svnlook")
            .arg(command)
            .arg(self.path())
            .args(args)
            .ok()
            .out()
    }
}
