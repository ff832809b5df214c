//! Repositories of Subversion's `svnadmin`.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base::{Error, Result, Revnum};
use fsfs::admin::verify::{self, VerifyObserver, VerifyOptions, VerifyProgress, VerifyWarning};
use fsfs::{Cache, Fs};
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

/// Opens a filesystem with a cache of its own.
pub fn open(db: &Path) -> Result<Fs> {
    Fs::open(db, &Cache::new(16 << 20))
}

/// Checks the whole filesystem.
///
/// # Errors
/// The first failure.
pub fn verify(fs: &Fs) -> Result<()> {
    struct First(Option<Error>);
    impl VerifyObserver for First {
        fn progress(&mut self, _: VerifyProgress) {}

        fn failed(&mut self, _: Option<Revnum>, error: &Error) -> ControlFlow<()> {
            self.0 = Some(error.clone());
            ControlFlow::Break(())
        }

        fn warn(&mut self, _: Revnum, warning: &VerifyWarning) {
            panic!("{warning:?}");
        }
    }
    let mut first = First(None);
    verify::run(fs, &VerifyOptions::range(Revnum(0), fs.youngest()?), &mut first)?;
    first.0.map_or(Ok(()), Err)
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
    pub fn open(&self) -> Fs {
        open(&self.db()).unwrap()
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
