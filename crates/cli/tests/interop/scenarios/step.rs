//! A step of a scenario: a run of the client, or a change of the disk. Steps have all their data, so that a script
//! can be repeated and reduced without the generator.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A step. Paths are relative to the sandbox. In arguments `URL` stands for the repository's URL, `OTHERNAME` for the
/// same with another host name.
#[derive(Clone, Debug)]
pub enum ScenarioStep {
    /// A run of `svn`.
    Svn(Run),
    /// Writes a file without the client.
    Write(String, StepText),
    /// Makes a directory.
    Mkdir(String),
    /// Makes a symbolic link.
    Link(String, String),
    /// Removes a file or a whole directory.
    Remove(String),
}

/// A run of `svn`.
#[derive(Clone, Debug)]
pub struct Run {
    /// The directory to run in.
    pub dir: &'static str,
    /// The user.
    pub user: &'static str,
    /// Subcommand, options and targets.
    pub args: Vec<String>,
    /// The file for the standard output, for patches.
    pub save: Option<String>,
}

/// The contents of a file.
#[derive(Clone)]
pub enum StepText {
    Bytes(Vec<u8>),
    /// A repeated line.
    Lines(String, usize),
}

/// The users and their passwords.
pub const USERS: [(&str, &str); 2] = [("alice", "secret"), ("bob", "pw")];

impl Run {
    /// Returns the subcommand.
    pub fn verb(&self) -> &str {
        &self.args[0]
    }
}

impl StepText {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            StepText::Bytes(bytes) => bytes.clone(),
            StepText::Lines(line, count) => line.repeat(*count).into_bytes(),
        }
    }
}

/// Changes the files below `top`. A step that does not apply after the removal of others changes nothing.
pub fn change_disk(step: &ScenarioStep, top: &Path, clock: u64) {
    match step {
        ScenarioStep::Svn(_) => {}
        ScenarioStep::Write(path, text) => {
            let path = top.join(path);
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
                return;
            }
            if let Ok(meta) = path.metadata() {
                // A file with svn:needs-lock is read-only.
                let mode = meta.permissions().mode() | 0o200;
                _ = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
            }
            if fs::write(&path, text.bytes()).is_ok() {
                set_time(&path, clock);
            }
        }
        ScenarioStep::Mkdir(path) => _ = fs::create_dir_all(top.join(path)),
        ScenarioStep::Link(path, target) => _ = std::os::unix::fs::symlink(target, top.join(path)),
        ScenarioStep::Remove(path) => {
            let path = top.join(path);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                _ = fs::remove_dir_all(path);
            } else {
                _ = fs::remove_file(path);
            }
        }
    }
}

/// Sets the file's time, a new one for each change, because the client compares times before contents.
fn set_time(path: &Path, clock: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 + clock);
    if let Ok(file) = fs::File::options().write(true).open(path) {
        _ = file.set_modified(time);
    }
}

impl fmt::Display for ScenarioStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioStep::Svn(run) => {
                write!(f, "(cd {}; svn --username {}", run.dir, run.user)?;
                for arg in &run.args {
                    // The repository's URL is a variable of the shell.
                    match arg.contains("URL") {
                        true => write!(f, " \"{}\"", arg.replace("URL", "$URL").replace('\n', "\\n"))?,
                        false => write!(f, " {}", quoted(arg))?,
                    }
                }
                if let Some(file) = &run.save {
                    write!(f, " > ../{file}")?;
                }
                write!(f, ")")
            }
            ScenarioStep::Write(path, text) => write!(f, "{text:?} > {}", quoted(path)),
            ScenarioStep::Mkdir(path) => write!(f, "mkdir -p {}", quoted(path)),
            ScenarioStep::Link(path, target) => write!(f, "ln -s {} {}", quoted(target), quoted(path)),
            ScenarioStep::Remove(path) => write!(f, "rm -rf {}", quoted(path)),
        }
    }
}

impl fmt::Debug for StepText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepText::Bytes(bytes) => {
                write!(f, "printf '")?;
                for byte in bytes {
                    match byte {
                        b'\n' => write!(f, "\\n")?,
                        b'\'' | b'\\' | b'%' => write!(f, "\\{byte:03o}")?,
                        0x20..0x7f => write!(f, "{}", char::from(*byte))?,
                        _ => write!(f, "\\{byte:03o}")?,
                    }
                }
                write!(f, "'")
            }
            StepText::Lines(line, count) => write!(f, "yes {} | head -n {count}", quoted(line.trim_end())),
        }
    }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-@:^=+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
