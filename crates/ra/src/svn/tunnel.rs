//! Tunnels: programs that connect to `svnserve -t` on another host, `ssh` above all.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use base::{Code, Error, Result, Url, percent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};

use crate::options::Tunnels;
use crate::user_program;

/// The command for `ssh` if the configuration has none.
const DEFAULT_SSH: &str = "$SVN_SSH ssh -q -o ControlMaster=no --";
/// How long a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A running tunnel program and its pipes, which do not block.
pub(super) struct Tunnel {
    child: Child,
    to: Option<ChildStdin>,
    from: Option<ChildStdout>,
}

impl Tunnel {
    /// Starts the program for a URL.
    ///
    /// # Errors
    /// `BAD_URL` for an unknown tunnel name or an invalid host; the system's.
    pub(super) fn start(url: &Url, tunnels: &Tunnels) -> Result<Tunnel> {
        let mut argv = command_line(url, tunnels)?;
        let program = argv.remove(0);
        let failed =
            |e: &io::Error| Error::os(e, &format!("Error in child process: exec of '{program}' failed"));
        let prepare = |command: &mut Command| {
            command.args(&argv).stdin(Stdio::piped()).stdout(Stdio::piped());
        };
        let mut child = user_program::spawn(OsStr::new(&program), prepare).map_err(|e| failed(&e))?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let tunnel = Tunnel { child, to, from };
        for pipe in [
            tunnel.to.as_ref().map(AsFd::as_fd),
            tunnel.from.as_ref().map(AsFd::as_fd),
        ] {
            let pipe = pipe.ok_or_else(|| failed(&io::ErrorKind::BrokenPipe.into()))?;
            rustix::io::ioctl_fionbio(pipe, true).map_err(|e| failed(&e.into()))?;
        }
        Ok(tunnel)
    }

    /// Reads what has arrived. Fails with `WouldBlock` if nothing has.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.from {
            Some(from) => io::Read::read(from, buffer),
            None => Ok(0),
        }
    }

    /// Writes what the pipe has room for. Fails with `WouldBlock` if it has none.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            Some(to) => io::Write::write(to, bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until there is something to read.
    pub(super) fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        match &self.from {
            Some(from) => wait(from.as_fd(), PollFlags::IN, timeout),
            None => Ok(true),
        }
    }

    /// Waits until the pipe has room.
    pub(super) fn wait_writable(&self, timeout: Duration) -> io::Result<bool> {
        match &self.to {
            Some(to) => wait(to.as_fd(), PollFlags::OUT, timeout),
            None => Ok(true),
        }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.to = None;
        self.from = None;
        // The program may have ended already; then nothing is left to do.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let step = Duration::from_millis(5);
        for _ in 0..GRACE.as_millis() / step.as_millis() {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(step),
                _ => return,
            }
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Waits until a file descriptor is ready, or has an error to report.
pub(super) fn wait(fd: BorrowedFd<'_>, flags: PollFlags, timeout: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(fd, flags)];
    let timeout = Timespec::try_from(timeout).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    match poll(&mut fds, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Returns the program and its arguments.
fn command_line(url: &Url, tunnels: &Tunnels) -> Result<Vec<String>> {
    let bad = |message: String| Error::new(Code::BAD_URL, message);
    let name = url.scheme().split_once('+').map_or("", |(_, name)| name);
    let default = (name == "ssh").then_some(DEFAULT_SSH);
    let configured = tunnels
        .commands
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, command)| command.as_str());
    let undefined = || bad(format!("Undefined tunnel scheme '{name}'"));
    let command = configured
        .or(default)
        .filter(|command| !command.is_empty())
        .ok_or_else(undefined)?;
    let command = match command.strip_prefix('$') {
        None => command,
        Some(rest) => {
            let (variable, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let value = tunnels.variables.get(variable).map(String::as_str);
            value
                .or(Some(rest).filter(|rest| !rest.is_empty()))
                .ok_or_else(|| {
                    bad(format!(
                        "Tunnel scheme {name} requires environment variable {variable} to be defined"
                    ))
                })?
        }
    };
    let mut argv = words(command);
    if argv.is_empty() {
        return Err(undefined());
    }
    let host = String::from_utf8_lossy(&percent::decode(url.authority().as_bytes())).into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":.-_[]@".contains(c);
    if host.starts_with('-') || !host.chars().all(is_plain) {
        return Err(bad(format!("Invalid host '{}'", url.authority())));
    }
    argv.extend([host, "svnserve".to_owned(), "-t".to_owned()]);
    Ok(argv)
}

/// Splits a command at spaces and tabs. A word that begins with a quote ends at the next one. A backslash stands before a character that
/// has no other meaning; other quotes are characters of the word.
fn words(command: &str) -> Vec<String> {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let mut words = Vec::new();
    let mut rest = command.trim_start_matches(is_blank);
    while let Some(first) = rest.chars().next() {
        let quote = Some(first).filter(|first| ['"', '\''].contains(first));
        let ends = |c: char| quote.map_or(is_blank(c), |quote| c == quote);
        rest = &rest[quote.map_or(0, char::len_utf8)..];
        let mut before = None;
        let end = rest.find(|c: char| {
            let is_end = ends(c) && before != Some('\\');
            before = Some(c);
            is_end
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(unescaped(word));
        let after = quote.and_then(|quote| after.strip_prefix(quote)).unwrap_or(after);
        rest = after.trim_start_matches(is_blank);
    }
    words
}

/// Returns a word without the backslashes before other characters.
fn unescaped(word: &str) -> String {
    let mut text = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(url: &str, commands: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<Vec<String>> {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            pairs.collect()
        };
        let tunnels = Tunnels {
            commands: owned(commands),
            variables: owned(variables),
        };
        command_line(&Url::canonicalize(url)?, &tunnels)
    }

    #[test]
    fn commands_are_those_of_the_configuration() {
        let ssh = [
            "ssh",
            "-q",
            "-o",
            "ControlMaster=no",
            "--",
            "u@h:22",
            "svnserve",
            "-t",
        ];
        assert_eq!(line("svn+ssh://u@H:22/x", &[], &[]).expect("a command"), ssh);
        let own = line("svn+ssh://h/x", &[], &[("SVN_SSH", "my-ssh -l me")]).expect("a command");
        assert_eq!(own, ["my-ssh", "-l", "me", "h", "svnserve", "-t"]);
        let bar = line(
            "svn+bar://h/x",
            &[("bar", r#"$BAR sh -c 'a "b"' c\ d "" e"f"#)],
            &[],
        )
        .expect("a command");
        assert_eq!(
            bar,
            ["sh", "-c", "a \"b\"", "c d", "", "e\"f", "h", "svnserve", "-t"]
        );
    }

    /// As the incumbent splits them.
    #[test]
    fn quotes_have_a_meaning_at_the_beginning_of_a_word() {
        for (command, expected) in [
            ("a''b", &["a''b"][..]),
            (r#"e"f g""#, &["e\"f", "g\""]),
            ("'a'b", &["a", "b"]),
            ("'a''b'", &["a", "b"]),
            (r"'a\'b'", &["a'b"]),
            (r"'a\b'", &["ab"]),
            (r"a\\b", &["a\\b"]),
            ("'a b", &["a b"]),
            ("a\tb", &["a", "b"]),
            (r#"\"a b""#, &["\"a", "b\""]),
            ("''", &[""]),
            ("a'", &["a'"]),
            (r"\  a", &[" ", "a"]),
            ("a \\", &["a", ""]),
            (r#""a\\" b""#, &["a\\\" b"]),
            ("  ", &[]),
        ] {
            assert_eq!(words(command), expected, "{command}");
        }
    }

    #[test]
    fn other_urls_are_refused_with_the_incumbents_messages() {
        let commands = [("foo", "$FOO_CMD"), ("baz", ""), ("bar", "sh")];
        for (url, message) in [
            (
                "svn+foo://h/x",
                "Tunnel scheme foo requires environment variable FOO_CMD to be defined",
            ),
            ("svn+none://h/x", "Undefined tunnel scheme 'none'"),
            ("svn+baz://h/x", "Undefined tunnel scheme 'baz'"),
            ("svn+bar://-h/x", "Invalid host '-h'"),
            ("svn+bar://h;x/x", "Invalid host 'h;x'"),
            ("svn+bar://h%20x/x", "Invalid host 'h%20x'"),
        ] {
            let error = line(url, &commands, &[]).expect_err(url);
            assert_eq!((error.code(), error.message().as_str()), (Code::BAD_URL, message));
        }
    }
}
