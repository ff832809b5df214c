//! A session bus with programs of the desktop, for stores of passwords.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{Tool, scratch};

/// A session, until the value is dropped. Its directory is the home directory of its programs.
pub struct DesktopSession {
    dir: TempDir,
    session: Child,
    /// While it is open, the session goes on.
    stdin: Option<ChildStdin>,
    address: String,
}

impl DesktopSession {
    /// Starts a session with the commands of a shell, which print nothing. The last job that they start in the background ends with it.
    pub fn start(commands: &str) -> DesktopSession {
        let dir = scratch();
        let script = format!("{commands}; echo \"$DBUS_SESSION_BUS_ADDRESS\"; cat; kill $! 2> /dev/null");
        let tool = Tool::new("dbus-run-session").args(["--", "sh", "-c", &script]);
        let tool = with_dirs(tool.env("HOME", dir.path()), dir.path());
        let mut session = tool
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("because it is installed");
        let stdin = session.stdin.take();
        let stdout = session.stdout.take().expect("because it was piped");
        let mut address = String::new();
        let read = BufReader::new(stdout).read_line(&mut address);
        read.expect("because the session prints it");
        let address = address.trim().to_owned();
        DesktopSession {
            dir,
            session,
            stdin,
            address,
        }
    }

    /// The directory of the session.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a tool that runs in the session.
    pub fn within(&self, tool: Tool) -> Tool {
        with_dirs(tool, self.path())
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            // Libraries of KDE print warnings where there is no display.
            .env("QT_LOGGING_RULES", "*=false")
    }

    /// Calls a method of a program: the object, the method and arguments. Returns its reply, or an error, as text.
    pub fn send(&self, program: &str, words: &[&str]) -> String {
        let tool = Tool::new("dbus-send").args(["--session", "--print-reply"]);
        let tool = tool.arg(format!("--dest={program}")).args(words);
        self.within(tool).run().out()
    }

    /// Waits until something is there.
    pub fn wait_until(&self, what: &str, is_there: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_there() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{what} does not come up"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for DesktopSession {
    fn drop(&mut self) {
        drop(self.stdin.take());
        _ = self.session.wait();
        // A program may end after its bus, and writes its files meanwhile.
        _ = fs::remove_dir_all(self.dir.path());
    }
}

/// Sets the directories of the desktop to those of a session.
fn with_dirs(tool: Tool, dir: &Path) -> Tool {
    tool.env("XDG_RUNTIME_DIR", dir)
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env("XDG_DATA_HOME", dir.join("data"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
}

/// True if all programs are installed; else prints that a test is skipped.
pub fn are_installed(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let found = Tool::new("sh")
            .args(["-c", "command -v \"$1\"", "sh", program])
            .run();
        found.code != 0
    });
    if let Some(missing) = missing {
        println!("skipped: {missing} is not installed");
    }
    missing.is_none()
}
