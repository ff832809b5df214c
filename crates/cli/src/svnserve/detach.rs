//! Into the background without forking a process that has threads: the program starts itself again.
//!
//! The first process checks everything that can be wrong and opens the listening socket; the second gets that socket as its
//! standard input, becomes the leader of a session without a terminal, and serves. When the first
//! ends, its parent process knows that clients can connect.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use base::{Code, Error, Result};
use server::Listener;

/// Starts the second process with the same arguments, and answers it.
///
/// # Errors
/// The system's.
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
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(can_not)
}

/// Makes this process the second one: takes the socket, leaves the terminal and the directory.
///
/// # Errors
/// The system's.
pub fn take_over() -> Result<Listener> {
    let can_not = |e: std::io::Error| Error::os(&e, "Can't take the listening socket over");
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(can_not)?;
    let listener = Listener::inherited(socket)?;
    // It fails only for the leader of a process group, who has left the terminal already.
    _ = rustix::process::setsid();
    Ok(listener)
}

/// Leaves the directory, so that it can be unmounted.
pub fn leave_directory() {
    // It only fails where even the root cannot be entered, and then nothing depends on it.
    _ = std::env::set_current_dir("/");
}

/// The name of the user who owns this process.
///
/// # Errors
/// If the system does not know one.
#[expect(
    clippy::disallowed_methods,
    reason = "the system's program asks directory services"
)]
pub fn process_owner() -> Result<String> {
    // Names may come from a directory service: the system's own program knows how to ask.
    let output = Command::new("id")
        .arg("-un")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::os(&e, "Can't run 'id'"))?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !name.is_empty() {
        return Ok(name);
    }
    Err(Error::new(
        Code::BASE,
        "Can't get the name of the owner of this process",
    ))
}
