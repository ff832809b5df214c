//! Daemon mode without forking a process that has threads: the program starts itself again.
//!
//! The first process checks the arguments and opens the listening socket. The second gets that socket as its standard
//! input, becomes the leader of a session without a terminal, and serves. When the first process ends, its parent
//! knows that clients can connect.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use base::{Error, Result};
use server::Listener;

/// Starts the second process with the same arguments, and returns it.
///
/// # Errors
/// If the process cannot be started.
#[expect(
    clippy::disallowed_methods,
    reason = "the daemon is a second process of this program"
)]
pub fn hand_over(listener: &Listener, argv: &[OsString]) -> Result<Child> {
    let can_not = |e: std::io::Error| Error::os(&e, "Can't start in the background");
    let program = std::env::current_exe().map_err(can_not)?;
    let socket = listener.as_fd().try_clone_to_owned().map_err(can_not)?;
    Command::new(program)
        .arg0("svnserve")
        .args(argv)
        .arg("--inherited-listener")
        .stdin(Stdio::from(socket))
        .spawn()
        .map_err(can_not)
}

/// Takes the listening socket and leaves the terminal and the streams of the first process. The second process calls it when its log is
/// open, which may be one of these streams.
///
/// # Errors
/// If standard input is no listening socket, or there is no `/dev/null`.
pub fn take_over() -> Result<Listener> {
    let can_not = |e: std::io::Error| Error::os(&e, "Can't take the listening socket over");
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(can_not)?;
    let listener = Listener::inherited(socket)?;
    // This fails only for the leader of a process group, which has left the terminal already.
    _ = rustix::process::setsid();
    let nothing = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(can_not)?;
    rustix::stdio::dup2_stdout(&nothing).map_err(|e| can_not(e.into()))?;
    rustix::stdio::dup2_stderr(&nothing).map_err(|e| can_not(e.into()))?;
    Ok(listener)
}

/// Changes to `/`, so that the file system of the current directory can be unmounted.
pub fn leave_directory() {
    // A failure has no other effect than that the directory stays in use.
    _ = std::env::set_current_dir("/");
}
