//! Runs the programs of the real Subversion, and makes repositories with them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a program of Subversion and returns its standard output.
pub fn run(program: &str, args: &[&str]) -> Vec<u8> {
    run_with(program, args, &[])
}

/// Runs a program of Subversion with `input` as its standard input.
pub fn run_with(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
    output.stdout
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A repository in a temporary folder.
pub struct Repository {
    pub dir: tempfile::TempDir,
}

impl Repository {
    /// Makes an empty repository. `version` is what `--compatible-version` takes, or `fsx`; `conf` replaces fsfs.conf or
    /// fsx.conf; `shard_size` replaces the 1000 of sharded layouts (0: linear).
    pub fn create(version: &str, shard_size: u64, conf: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository { dir };
        let kind = match version {
            "fsx" => ["--fs-type", "fsx"],
            version => ["--compatible-version", version],
        };
        run("svnadmin", &["create", kind[0], kind[1], arg(&repository.path())]);
        let format = repository.db().join("format");
        if let Ok(text) = std::fs::read_to_string(&format) {
            let layout = match shard_size {
                0 => "layout linear".to_owned(),
                size => format!("layout sharded {size}"),
            };
            let text = text.replace("layout sharded 1000", &layout);
            std::fs::remove_file(&format).unwrap();
            std::fs::write(&format, &text).unwrap();
            if text.contains("layout linear") {
                for kind in ["revs", "revprops"] {
                    let dir = repository.db().join(kind);
                    std::fs::rename(dir.join("0/0"), dir.join("zero")).unwrap();
                    std::fs::remove_dir(dir.join("0")).unwrap();
                    std::fs::rename(dir.join("zero"), dir.join("0")).unwrap();
                }
            }
        }
        for name in ["fsfs.conf", "fsx.conf"] {
            let path = repository.db().join(name);
            if path.exists() && !conf.is_empty() {
                std::fs::write(&path, conf).unwrap();
            }
        }
        repository
    }

    /// The file of a revision that is not packed.
    pub fn rev_file(&self, rev: u64) -> PathBuf {
        let revs = self.db().join("revs");
        let format = std::fs::read_to_string(self.db().join("format")).unwrap_or_default();
        let size = format
            .lines()
            .find_map(|line| line.strip_prefix("layout sharded ")?.parse::<u64>().ok());
        let dir = match size.filter(|size| *size > 0) {
            Some(size) => revs.join((rev / size).to_string()),
            None => revs,
        };
        let is_fsx = self.db().join("fsx.conf").exists();
        dir.join(format!("{}{rev}", if is_fsx { "r" } else { "" }))
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

    pub fn upgrade(&self) {
        run("svnadmin", &["upgrade", arg(&self.path())]);
    }

    pub fn load(&self, dump: &[u8]) {
        run_with("svnadmin", &["load", "-q", arg(&self.path())], dump);
    }

    pub fn dump(&self, range: &str) -> Vec<u8> {
        run(
            "svnadmin",
            &["dump", "-q", "--incremental", "-r", range, arg(&self.path())],
        )
    }

    pub fn youngest(&self) -> u64 {
        let text = run("svnlook", &["youngest", arg(&self.path())]);
        String::from_utf8(text).unwrap().trim().parse().unwrap()
    }

    /// Output of a `svnlook` subcommand as text.
    pub fn svnlook(&self, subcommand: &[&str]) -> String {
        let path = self.path();
        let args = [&subcommand[..1], &[arg(&path)], &subcommand[1..]].concat();
        String::from_utf8(run("svnlook", &args)).unwrap()
    }

    /// Writes a file in the folder of the repository and returns its path.
    pub fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        arg(&path).to_owned()
    }
}
