//! Runs the real Subversion.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program of Subversion's and returns its standard output.
pub fn run(program: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
    output.stdout
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A repository in a folder of its own, which is removed at the end.
pub struct Repository {
    pub dir: tempfile::TempDir,
}

impl Repository {
    /// Makes an empty repository. `version` is what `--compatible-version` takes; `conf` is appended to fsfs.conf;
    /// `shard_size` replaces the 1000 of sharded layouts.
    pub fn create(version: &str, shard_size: u64, conf: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository { dir };
        run(
            "svnadmin",
            &["create", "--compatible-version", version, arg(&repository.path())],
        );
        let format = repository.db().join("format");
        if let Ok(text) = std::fs::read_to_string(&format) {
            let text = text.replace("layout sharded 1000", &format!("layout sharded {shard_size}"));
            std::fs::remove_file(&format).unwrap();
            std::fs::write(&format, text).unwrap();
        }
        let path = repository.db().join("fsfs.conf");
        if path.exists() {
            std::fs::write(&path, conf).unwrap();
        }
        repository
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub fn db(&self) -> PathBuf {
        self.path().join("db")
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// One commit of `svnmucc` actions; paths are relative to the root.
    pub fn mucc(&self, actions: &[&str]) {
        let url = self.url();
        let mut args = vec!["--non-interactive", "-U", &url, "-m", "change"];
        args.extend_from_slice(actions);
        run("svnmucc", &args);
    }

    pub fn pack(&self) {
        run("svnadmin", &["pack", "-q", arg(&self.path())]);
    }

    pub fn youngest(&self) -> u64 {
        let text = run("svnlook", &["youngest", arg(&self.path())]);
        String::from_utf8(text).unwrap().trim().parse().unwrap()
    }

    /// Writes a file beside the repository and returns its path.
    pub fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        arg(&path).to_owned()
    }
}
