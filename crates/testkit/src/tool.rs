//! Runs programs in a clean environment: Subversion's from `PATH`, Sven's from the build directory.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::server::transport::certificate;

/// The implementation of a program: Sven's or Subversion's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Subversion 1.14, as installed.
    Theirs,
    /// Sven, started under the tool's name.
    Ours,
}

impl Side {
    /// Both, Subversion first.
    pub const BOTH: [Side; 2] = [Side::Theirs, Side::Ours];

    /// Returns a tool of this implementation (`svnadmin`, `svnlook`, …).
    pub fn tool(self, name: &str) -> Tool {
        match self {
            Side::Theirs => Tool::new(name),
            Side::Ours => Tool::new(tool_link(name)),
        }
    }
}

/// A program with its arguments and environment.
#[derive(Clone, Debug)]
pub struct Tool {
    program: OsString,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    dir: Option<PathBuf>,
}

impl Tool {
    /// Returns a program by name (looked up in `PATH`) or by path.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Tool {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            envs: Vec::new(),
            stdin: Vec::new(),
            dir: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Applies the permissions of files to the program even if tests run as root: it starts without the capabilities
    /// that override them.
    pub fn bound_by_permissions(mut self) -> Self {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        if is_root {
            self = self.under("setpriv", &["--bounding-set=-dac_override,-dac_read_search"]);
        }
        self
    }

    /// Lets another program start this one: `args` are its own arguments, which the command line follows.
    pub fn under(mut self, starter: &str, args: &[&str]) -> Self {
        let program = std::mem::replace(&mut self.program, starter.into());
        let args = args.iter().map(OsString::from).chain([program]);
        self.args.splice(..0, args);
        self
    }

    /// Sets the standard input, which is empty by default.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the current directory of the program.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Runs the program until it ends.
    pub fn run(self) -> Output {
        let shown = self.to_string();
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("can't run {shown}: {e}"));
        let mut input = child.stdin.take().expect("because it was piped");
        let bytes = self.stdin;
        // A program may end before it has read all input, so a broken pipe is no failure.
        let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
        let output = child
            .wait_with_output()
            .unwrap_or_else(|e| panic!("can't wait for {shown}: {e}"));
        writer.join().expect("because it cannot panic");
        Output {
            command: shown,
            stdout: output.stdout,
            stderr: output.stderr,
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Runs the program until it ends, and panics unless the exit code is 0.
    pub fn ok(self) -> Output {
        self.run().expect_ok()
    }

    /// Returns the command, for callers that set the streams themselves.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("HOME", home())
            .env_remove("SVN_EDITOR")
            .env_remove("EDITOR")
            // Tests do not reach the desktop with its stores of passwords.
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("DISPLAY")
            .envs(self.envs.iter().map(|(k, v)| (k, v)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.to_string_lossy())?;
        for arg in &self.args {
            write!(f, " {}", arg.to_string_lossy())?;
        }
        Ok(())
    }
}

/// The output of a program.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    /// The command line, for messages.
    pub command: String,
    /// The bytes of standard output.
    pub stdout: Vec<u8>,
    /// The bytes of standard error.
    pub stderr: Vec<u8>,
    /// The exit code; -1 after a signal.
    pub code: i32,
}

impl Output {
    /// Panics unless the exit code is 0.
    pub fn expect_ok(self) -> Self {
        assert!(self.code == 0, "{self:?}");
        self
    }

    /// Returns standard output as text.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns standard error as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Returns the numbers of all errors (`E160013:`) on standard error, in order.
    pub fn error_codes(&self) -> Vec<i32> {
        let text = self.err();
        let mut codes = Vec::new();
        for word in text.split_ascii_whitespace() {
            let digits = word.strip_prefix('E').and_then(|w| w.strip_suffix(':'));
            if let Some(Ok(code)) = digits.filter(|d| d.len() == 6).map(str::parse) {
                codes.push(code);
            }
        }
        codes
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4000;
        let cut = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
        writeln!(f, "{} -> exit {}", self.command, self.code)?;
        writeln!(
            f,
            "--- stdout ({} bytes)\n{}",
            self.stdout.len(),
            cut(&self.stdout)
        )?;
        writeln!(
            f,
            "--- stderr ({} bytes)\n{}",
            self.stderr.len(),
            cut(&self.stderr)
        )
    }
}

/// Runs a tool of Subversion.
pub fn run<A: AsRef<OsStr>>(tool: &str, args: &[A]) -> Output {
    Tool::new(tool).args(args).run()
}

/// Returns the path of a link to Sven's binary with the name of a tool.
pub fn tool_link(name: &str) -> PathBuf {
    let folder = folder("testkit-links");
    let link = folder.join(name);
    let target = std::fs::read_link(&link);
    if target.as_ref().is_ok_and(|target| *target != sven_binary()) {
        // The link is from another build directory or another `$SVEN_BIN`.
        _ = std::fs::remove_file(&link);
    }
    if link.symlink_metadata().is_err() {
        // Another process may make the same link at the same moment.
        let made = std::os::unix::fs::symlink(sven_binary(), &link);
        assert!(
            made.is_ok() || link.symlink_metadata().is_ok(),
            "can't link {}",
            link.display()
        );
    }
    link
}

/// Returns the path of Sven's binary: `$SVEN_BIN`, or `sven` in the build directory of the running test. Panics if it
/// does not exist: `cargo test --workspace` builds it, `cargo test -p` of a crate below `cli` does not.
pub fn sven_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("SVEN_BIN") {
        return path.into();
    }
    let path = profile_dir().join("sven");
    assert!(
        path.exists(),
        "{} is missing: run `cargo build -p sven` first",
        path.display()
    );
    path
}

/// Makes a temporary directory, which is removed when it is dropped.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("sven-test-")
        .tempdir()
        .expect("because the temporary folder can be written")
}

/// Returns a directory below `target/`, made if needed.
pub fn folder(name: &str) -> PathBuf {
    let path = profile_dir().join(name);
    std::fs::create_dir_all(&path).expect("because target/ can be written");
    path
}

/// Returns the version of Subversion's `svnadmin`, on which kept repositories depend.
pub fn svnadmin_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        Tool::new("svnadmin")
            .args(["--version", "-q"])
            .ok()
            .out()
            .trim()
            .to_owned()
    })
}

/// Returns `target/debug` or `target/release`; test programs are in its `deps`.
fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("because the system knows what it runs");
    let deps = exe.ancestors().find(|dir| dir.ends_with("deps"));
    let dir = deps.and_then(Path::parent).or(exe.parent());
    dir.expect("because a program is in a folder").to_owned()
}

/// Returns a home directory with a Subversion configuration that only trusts the test servers' certificate.
fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let home = folder("testkit-home");
        let settings = home.join(".subversion");
        let believed = certificate().certificate.display().to_string();
        let text = format!("[global]\nssl-authority-files = {believed}\n");
        let servers = settings.join("servers");
        if std::fs::read_to_string(&servers).ok().as_ref() != Some(&text) {
            std::fs::create_dir_all(&settings).expect("because target/ can be written");
            let whole = settings.join(format!("servers.{}", std::process::id()));
            std::fs::write(&whole, text).expect("because target/ can be written");
            std::fs::rename(&whole, &servers).expect("because target/ can be written");
        }
        home
    })
}
