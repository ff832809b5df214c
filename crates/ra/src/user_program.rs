//! Programs that users name: for tunnels, to compare texts, and to run while a repository is frozen.
//!
//! They are looked up in `PATH`. A script without a first line `#!` is run by the shell, as `execvp` does it; the standard library's
//! way to start a process does not. (The incumbent starts hooks in another way, and refuses such scripts there.)

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command};

use base::child_signals::with_open_signals;
use rustix::io::Errno;

/// Starts a program. `prepare` adds the arguments, the streams and the environment; it may be called twice.
///
/// # Errors
/// The system's.
#[expect(clippy::disallowed_methods, reason = "the user has named the program")]
pub fn spawn(program: &OsStr, prepare: impl Fn(&mut Command)) -> io::Result<Child> {
    let mut command = Command::new(program);
    prepare(&mut command);
    let started = with_open_signals(|| command.spawn());
    match started {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOEXEC) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "exec \"$0\" \"$@\""]).arg(program);
            prepare(&mut shell);
            with_open_signals(|| shell.spawn())
        }
        started => started,
    }
}
