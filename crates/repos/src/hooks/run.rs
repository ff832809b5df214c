//! Finds and runs one hook.
//!
//! A hook is looked up each time: an administrator may install or remove it while a server runs. Its input is a file,
//! not a pipe, so a hook that does not read it blocks nothing. Its stderr is read until every holder of that pipe has
//! closed it (a child that the hook left in the background counts); the first [`MOST`] bytes are kept.
//!
//! A program that the system refuses to start (not executable, no interpreter) counts as ended with code 255: the
//! incumbent forks before it finds that out, and reports so.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use base::charset::Charset;
use base::child_signals::with_open_signals;
use base::{Code, Error, Result, disk_path};
use rustix::io::Errno;

use super::Hook;
use crate::config::Variable;

/// The parameters of a hook's process.
pub(super) struct HookCall<'a> {
    pub(super) hook: Hook,
    /// Arguments after the program's own name.
    pub(super) args: &'a [Cow<'a, [u8]>],
    /// Its input; `None` is the null device.
    pub(super) stdin: Option<&'a [u8]>,
    /// Its whole environment.
    pub(super) env: &'a [Variable],
    /// Collect its output.
    pub(super) capture: bool,
}

/// The file of a hook.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HookFile {
    /// No file that can be a program.
    Absent,
    /// A file.
    Program(PathBuf),
    /// A symbolic link that leads to no file.
    BrokenLink(PathBuf),
}

/// Looks for a hook.
pub(super) fn find(folder: &Path, hook: Hook) -> HookFile {
    let path = folder.join(hook.name());
    if path.metadata().is_ok_and(|meta| meta.is_file()) {
        return HookFile::Program(path);
    }
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => HookFile::BrokenLink(path),
        _ => HookFile::Absent,
    }
}

/// Runs the program of a hook and returns its output, which is empty unless it is collected.
pub(super) fn run(program: &Path, call: &HookCall<'_>) -> Result<Vec<u8>> {
    let ended = match start(program, call)? {
        Some(child) => finish(child, call.capture).map_err(|e| {
            Error::os(
                &e,
                &format!("Error waiting for '{}' hook", disk_path::shown(program)),
            )
            .wrap(Code::REPOS_BAD_ARGS, failed_to_start(program))
        })?,
        None => HookExit {
            status: ExitStatus::from_raw(CANNOT_RUN << 8),
            printed: Vec::new(),
            complaint: Vec::new(),
        },
    };
    match verdict(call.hook, ended.status, &ended.complaint) {
        Some(message) => Err(Error::new(Code::REPOS_HOOK_FAILURE, message)),
        None => Ok(ended.printed),
    }
}

/// Makes the error for a hook that is a broken link.
pub(super) fn broken_link(path: &Path) -> Error {
    Error::new(
        Code::REPOS_HOOK_FAILURE,
        format!("Failed to run '{}' hook; broken symlink", disk_path::shown(path)),
    )
}

/// Starts the program; `None` if it cannot be executed.
#[expect(clippy::disallowed_methods, reason = "the one place that starts hooks")]
fn start(program: &Path, call: &HookCall<'_>) -> Result<Option<Child>> {
    let refuse = |e: io::Error, what: &str| not_started(Error::os(&e, what), program);
    let mut command = Command::new(program);
    for arg in call.args {
        command.arg(std::ffi::OsStr::from_bytes(until_nul(arg)));
    }
    command.env_clear();
    for (name, value) in call.env {
        let (name, value) = (until_nul(name), until_nul(value));
        if !name.is_empty() {
            command.env(
                std::ffi::OsStr::from_bytes(name),
                std::ffi::OsStr::from_bytes(value),
            );
        }
    }
    let printed = match call.capture {
        true => Stdio::piped(),
        false => Stdio::null(),
    };
    command.stdout(printed).stderr(Stdio::piped());
    for attempt in 0.. {
        let stdin = match call.stdin {
            Some(bytes) => Stdio::from(spool(bytes).map_err(|e| refuse(e, "Can't create temporary file"))?),
            None => Stdio::null(),
        };
        match with_open_signals(|| command.stdin(stdin).spawn()) {
            Ok(child) => return Ok(Some(child)),
            Err(e) => match e.raw_os_error().map(Errno::from_raw_os_error) {
                // An editor or a copy still has the program open for writing: this ends soon.
                Some(Errno::TXTBSY) if attempt < BUSY_ATTEMPTS => thread::sleep(BUSY_PAUSE),
                Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
                    return Err(refuse(e, "Can't start process"));
                }
                _ => return Ok(None),
            },
        }
    }
    Ok(None)
}

struct HookExit {
    status: ExitStatus,
    printed: Vec<u8>,
    complaint: Vec<u8>,
}

/// Reads both pipes to their ends, then waits.
fn finish(mut child: Child, capture: bool) -> io::Result<HookExit> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: Option<&mut dyn Read>| pipe.map_or_else(|| Ok(Vec::new()), keep_first);
    let (printed, complaint) = match (stdout, stderr) {
        (Some(mut stdout), Some(mut stderr)) if capture => thread::scope(|scope| {
            let printed = scope.spawn(move || read(Some(&mut stdout)));
            let complaint = read(Some(&mut stderr));
            let printed = printed
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            (printed, complaint)
        }),
        (_, Some(mut stderr)) => (Ok(Vec::new()), read(Some(&mut stderr))),
        (_, None) => (Ok(Vec::new()), Ok(Vec::new())),
    };
    // Waited for even if reading failed, so that no zombie stays behind.
    let status = child.wait()?;
    Ok(HookExit {
        status,
        printed: printed?,
        complaint: complaint?,
    })
}

/// Reads to the end and keeps the first [`MOST`] bytes.
fn keep_first(pipe: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(kept),
            Ok(n) => kept.extend_from_slice(&buffer[..n.min(MOST - kept.len())]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Describes how a hook failed; `None` if it succeeded.
fn verdict(hook: Hook, status: ExitStatus, complaint: &[u8]) -> Option<String> {
    let name = hook.name();
    let mut message = match (status.code(), status.signal()) {
        (Some(0), _) => return None,
        (Some(code), _) => match hook.blocks() {
            Some(what) => format!("{what} blocked by {name} hook (exit code {code})"),
            None => format!("{name} hook failed (exit code {code})"),
        },
        (None, signal) => format!(
            "'{name}' hook failed (did not exit cleanly: apr_exit_why_e was {}, exitcode was {}).  ",
            // The incumbent's library counts 2 for a signal, and 4 for one that left a core.
            if status.core_dumped() { 4 } else { 2 },
            signal.unwrap_or_default()
        ),
    };
    // The incumbent's text ends at the first NUL.
    let complaint = until_nul(complaint);
    if complaint.is_empty() {
        message.push_str(" with no output.");
    } else {
        message.push_str(" with output:\n");
        message.push_str(&text(complaint));
    }
    Some(message)
}

/// Returns the hook's stderr, if it is in the character set of the locale. A character of UTF-8 that is cut at [`MOST`] is left out.
fn text(complaint: &[u8]) -> Cow<'_, str> {
    let charset = Charset::of_process();
    if charset.is_converted() {
        return charset.decode(complaint).unwrap_or(UNTRANSLATABLE.into());
    }
    Cow::Borrowed(match std::str::from_utf8(complaint) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() && complaint.len() == MOST => {
            std::str::from_utf8(&complaint[..e.valid_up_to()]).unwrap_or(UNTRANSLATABLE)
        }
        Err(_) => UNTRANSLATABLE,
    })
}

/// An unnamed file that holds `bytes`, at its beginning.
fn spool(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Arguments and variables of a process end at a NUL.
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

/// Adds the context of a hook that could not be started to an error.
pub(super) fn not_started(error: Error, program: &Path) -> Error {
    error.wrap(Code::REPOS_BAD_ARGS, failed_to_start(program))
}

fn failed_to_start(program: &Path) -> String {
    format!("Failed to start '{}' hook", disk_path::shown(program))
}

/// Most bytes kept of what a hook writes.
const MOST: usize = 1 << 20;

/// The exit code of a program that could not be executed.
const CANNOT_RUN: i32 = 255;

/// How often the start of a program that is open for writing is repeated, and the pause before.
const BUSY_ATTEMPTS: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(5);

const UNTRANSLATABLE: &str = "[Error output could not be translated from the native locale to UTF-8.]";

#[cfg(test)]
#[expect(clippy::too_many_lines, reason = "a test reads best as one piece")]
mod tests {
    use super::*;

    /// Texts as clients of svnserve 1.14.2 get them.
    #[test]
    fn endings_as_they_are_told() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        let killed = |signal: i32| ExitStatus::from_raw(signal);
        for (hook, status, complaint, expected) in [
            (Hook::PreCommit, exit(0), &b"fine"[..], None),
            (
                Hook::PreCommit,
                exit(7),
                b"a\n\nb\r\nc\n\n",
                Some("Commit blocked by pre-commit hook (exit code 7) with output:\na\n\nb\r\nc\n\n"),
            ),
            (
                Hook::StartCommit,
                exit(1),
                b"",
                Some("Commit blocked by start-commit hook (exit code 1) with no output."),
            ),
            (
                Hook::PostCommit,
                exit(9),
                b"hi\n",
                Some("post-commit hook failed (exit code 9) with output:\nhi\n"),
            ),
            (
                Hook::PreRevpropChange,
                exit(1),
                b"nul \0 after\n",
                Some("Revprop change blocked by pre-revprop-change hook (exit code 1) with output:\nnul "),
            ),
            (
                Hook::PreLock,
                exit(1),
                b"\xff\n",
                Some(
                    "Lock blocked by pre-lock hook (exit code 1) with output:\n\
                     [Error output could not be translated from the native locale to UTF-8.]",
                ),
            ),
            (
                Hook::PreUnlock,
                exit(1),
                b"",
                Some("Unlock blocked by pre-unlock hook (exit code 1) with no output."),
            ),
            (
                Hook::PreCommit,
                killed(9),
                b"",
                Some(
                    "'pre-commit' hook failed (did not exit cleanly: apr_exit_why_e was 2, exitcode was 9).   \
                     with no output.",
                ),
            ),
            (
                Hook::PostUnlock,
                killed(11 | 0x80),
                b"x\n",
                Some(
                    "'post-unlock' hook failed (did not exit cleanly: apr_exit_why_e was 4, exitcode was 11).   \
                     with output:\nx\n",
                ),
            ),
        ] {
            assert_eq!(verdict(hook, status, complaint).as_deref(), expected);
        }
    }

    #[test]
    fn a_flood_is_cut_between_characters() {
        let mut flood = "ä".repeat(MOST).into_bytes();
        flood.insert(0, b'x');
        let kept = keep_first(&mut &flood[..]).expect("because memory does not fail");
        assert_eq!(kept.len(), MOST);
        assert_eq!(text(&kept).len(), MOST - 1);
    }
}
