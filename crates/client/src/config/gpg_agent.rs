//! Passwords that `gpg-agent` keeps.
//!
//! The agent listens on a socket of the user, and asks the user itself if it does not know a password. Each request is a connection of
//! its own: a greeting, a question that tells that this is an agent, the terminal on which the agent may ask, and the request. Lines and
//! arguments follow the Assuan protocol, whose specification is part of GnuPG's documentation; the identifier of a password (the MD5 of
//! the realm) and the texts are those of Subversion's client, observed with an agent that records what it gets.
//!
//! Any failure is as if there were no agent. What is absent: the environment, which the caller reads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use base::checksum::Md5;
use percent_encoding::percent_decode_str;

/// The longest line that is read, in bytes. The protocol allows 1,000.
const MOST_LINE: u64 = 4096;

/// How the agent is reached, and where it may ask the user.
#[derive(Clone, Debug, Default)]
pub struct GpgAgent {
    /// Where the socket may be. The first one that exists counts.
    pub sockets: Vec<PathBuf>,
    /// The name of the terminal (`GPG_TTY`).
    pub terminal: Option<String>,
    /// The kind of the terminal (`TERM`).
    pub terminal_type: Option<String>,
    /// The locale of the terminal.
    pub locale: Option<String>,
    /// The X display (`DISPLAY`).
    pub display: Option<String>,
}

/// A request for a password.
#[derive(Clone, Copy, Debug)]
pub struct AgentRequest<'a> {
    /// The realm of the server.
    pub realm: &'a str,
    /// The user.
    pub user: &'a str,
    /// The server has refused the last password.
    pub was_refused: bool,
    /// Whether the agent may ask the user.
    pub may_ask: bool,
}

impl GpgAgent {
    /// True if there is an agent.
    pub fn is_there(&self) -> bool {
        self.connect().is_some()
    }

    /// Returns the password of a user; `None` if there is none, or no agent.
    pub fn password(&self, request: &AgentRequest<'_>) -> Option<String> {
        let mut agent = self.connect_for_request()?;
        let error = if request.was_refused {
            argument("Authentication failed")
        } else {
            "X".to_owned()
        };
        let no_ask = if request.may_ask { "" } else { "--no-ask " };
        let prompt = argument(&format!("Password for '{}': ", request.user));
        let description = argument(&format!("Enter your Subversion password for {}", request.realm));
        let id = id(request.realm);
        let answer = agent.ask(&format!(
            "GET_PASSPHRASE --data {no_ask}{id} {error} {prompt} {description}"
        ))?;
        let password = answer.strip_prefix("D ")?;
        let password = percent_decode_str(password).decode_utf8().ok()?.into_owned();
        // The password is there, whatever the agent answers.
        _ = agent.send("BYE");
        Some(password)
    }

    /// Lets the agent forget the password of a realm.
    pub fn forget(&self, realm: &str) {
        if let Some(mut agent) = self.connect_for_request() {
            _ = agent.ask(&format!("CLEAR_PASSPHRASE {}", id(realm)));
            _ = agent.send("BYE");
        }
    }

    fn connect(&self) -> Option<AgentConnection> {
        let path = self.sockets.iter().find(|path| path.exists())?;
        let mut agent = AgentConnection(BufReader::new(UnixStream::connect(path).ok()?));
        if !agent.line()?.starts_with("OK") {
            return None;
        }
        // Another program would not answer with the name of a socket.
        let name = agent.ask("GETINFO socket_name")?;
        if name.strip_prefix("D ")? != path.to_str()? || !agent.line()?.starts_with("OK") {
            return None;
        }
        Some(agent)
    }

    /// Connects for a request about a password: the agent learns where it may ask the user.
    fn connect_for_request(&self) -> Option<AgentConnection> {
        let mut agent = self.connect()?;
        let options = [
            ("ttyname", &self.terminal),
            ("ttytype", &self.terminal_type),
            ("lc-ctype", &self.locale),
            ("display", &self.display),
        ];
        for (name, value) in options {
            let Some(value) = value else { continue };
            let line = format!("OPTION {name}={}", one_line(value));
            if !agent.ask(&line)?.starts_with("OK") {
                return None;
            }
        }
        Some(agent)
    }
}

struct AgentConnection(BufReader<UnixStream>);

impl AgentConnection {
    fn ask(&mut self, line: &str) -> Option<String> {
        self.send(line)?;
        self.line()
    }

    fn send(&mut self, line: &str) -> Option<()> {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).ok()
    }

    /// Reads a line, without its end.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut limited = (&mut self.0).take(MOST_LINE);
        limited.read_until(b'\n', &mut line).ok()?;
        let line = line.strip_suffix(b"\n")?;
        String::from_utf8(line.to_vec()).ok()
    }
}

/// Returns the identifier of the password of a realm.
fn id(realm: &str) -> String {
    Md5::of(realm.as_bytes()).to_string()
}

/// Returns text as an argument: blanks are `+`, and what would end the argument or the line is escaped.
fn argument(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => escaped.push('+'),
            '+' | '%' | '\0'..='\x1f' | '\x7f' => escaped.push_str(&format!("%{:02X}", u32::from(c))),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns the first line of a text.
fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_stays_one_argument_of_one_line() {
        assert_eq!(argument("a b+c%\nBYE é"), "a+b%2Bc%25%0ABYE+é");
        assert_eq!(one_line("xterm\nBYE"), "xterm");
    }
}
