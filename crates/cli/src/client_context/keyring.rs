//! The keyring of the desktop: gnome-keyring, or another program that serves `org.freedesktop.secrets` on the session bus of D-Bus.
//!
//! It is reached by the program `secret-tool` of libsecret, the library that Subversion's client uses. Items have the attributes of that
//! client, so each client finds what the other has stored. Secrets go through pipes; on the command line are only attributes.
//!
//! The keyring asks the user itself to unlock it, in a window. If the user may not be asked, a locked keyring counts as none:
//! `dbus-send` tells whether it is locked.
//!
//! Any failure is as if there were no keyring: the program is missing, there is no session bus, the user refuses.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

use base::Cancel;
use base::child_signals::with_open_signals;

use super::prompt::next_byte;

/// The longest output that is read, in bytes.
const MOST_OUTPUT: usize = 64 << 10;
/// The name that the keyring's windows show for an item.
const LABEL: &str = "--label=network password";
/// The schema of libsecret for passwords of servers.
const SCHEMA: &str = "org.gnome.keyring.NetworkPassword";
/// Asks whether the keyring that new items go to is locked.
const IS_LOCKED: [&str; 7] = [
    "--session",
    "--print-reply",
    "--dest=org.freedesktop.secrets",
    "/org/freedesktop/secrets/aliases/default",
    "org.freedesktop.DBus.Properties.Get",
    "string:org.freedesktop.Secret.Collection",
    "string:Locked",
];

/// The keyring.
#[derive(Debug)]
pub(super) struct Keyring<'a> {
    /// The user may be asked to unlock it.
    pub(super) may_ask: bool,
    /// Ends the wait for the user.
    pub(super) cancel: &'a Cancel,
}

/// The name of a secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyringItem<'a> {
    /// The user; empty for a passphrase.
    pub(super) user: &'a str,
    /// The realm of a server, or the path of a client certificate.
    pub(super) domain: &'a str,
}

impl Keyring<'_> {
    /// Returns a secret; `None` if there is none.
    pub(super) fn secret(&self, item: KeyringItem<'_>) -> Option<String> {
        if !self.is_usable() {
            return None;
        }
        let args = ["lookup", "--", "user", item.user, "domain", item.domain];
        let output = self.run("secret-tool", &args, "")?;
        String::from_utf8(output).ok()
    }

    /// Stores a secret in place of an earlier one. Returns false if that failed.
    pub(super) fn store(&self, item: KeyringItem<'_>, secret: &str) -> bool {
        let attributes = ["user", item.user, "domain", item.domain, "xdg:schema", SCHEMA];
        let args = [&["store", LABEL, "--"][..], &attributes].concat();
        self.is_usable() && self.run("secret-tool", &args, secret).is_some()
    }

    /// True if no question is needed, or if the keyring may ask it.
    fn is_usable(&self) -> bool {
        let is_unlocked = |answer: Vec<u8>| String::from_utf8_lossy(&answer).contains("boolean false");
        self.may_ask || self.run("dbus-send", &IS_LOCKED, "").is_some_and(is_unlocked)
    }

    /// Runs a program with this input. Returns its output if it succeeds.
    fn run(&self, program: &str, args: &[&str], input: &str) -> Option<Vec<u8>> {
        let mut child = start(program, args)?;
        let output = child.stdin.take().and_then(|mut stdin| {
            // A program that does not read it fails.
            _ = stdin.write_all(input.as_bytes());
            drop(stdin);
            self.output_of(&mut child)
        });
        if output.is_none() {
            // It has ended, or it waits for the user.
            _ = child.kill();
        }
        let status = child.wait().ok()?;
        output.filter(|_| status.success())
    }

    fn output_of(&self, child: &mut Child) -> Option<Vec<u8>> {
        let stdout = child.stdout.as_ref()?;
        let mut output = Vec::new();
        while let Some(byte) = next_byte(stdout.as_fd(), self.cancel).ok()? {
            if output.len() >= MOST_OUTPUT {
                return None;
            }
            output.push(byte);
        }
        Some(output)
    }
}

/// Starts a program. It takes arguments in UTF-8, whatever the locale is.
#[expect(clippy::disallowed_methods, reason = "the keyring belongs to another program")]
fn start(program: &str, args: &[&str]) -> Option<Child> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    with_open_signals(|| command.spawn()).ok()
}
