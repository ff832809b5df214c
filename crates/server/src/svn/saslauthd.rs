//! The protocol of `saslauthd`, the daemon that checks passwords for Cyrus SASL, against PAM, LDAP, Kerberos and others.
//!
//! One question a connection of a Unix socket: user, password, service and realm, each with its length in two bytes before it. The
//! response, of the same form, begins with `OK` or `NO`.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long the daemon may take. PAM makes users wait for some seconds after a wrong password.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest response that is read, bytes.
const LONGEST_RESPONSE: u64 = 1024;

/// A question to the daemon.
pub(super) struct Question<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a [u8],
    pub(super) realm: &'a str,
}

impl Question<'_> {
    /// Asks the daemon at the socket `path` whether the password is right.
    ///
    /// # Errors
    /// The system's; `InvalidInput` for a part that is too long; `InvalidData` for another response.
    pub(super) fn ask(&self, path: &Path) -> io::Result<bool> {
        let mut message = Vec::new();
        for part in [self.user.as_bytes(), self.password, b"svn", self.realm.as_bytes()] {
            let length = u16::try_from(part.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            message.extend_from_slice(&length.to_be_bytes());
            message.extend_from_slice(part);
        }
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.write_all(&message)?;
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let most = u64::from(u16::from_be_bytes(length)).min(LONGEST_RESPONSE);
        let mut response = Vec::new();
        stream.take(most).read_to_end(&mut response)?;
        match response.get(..2) {
            Some(b"OK") => Ok(true),
            Some(b"NO") => Ok(false),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Answers one question with `response`; returns what the client makes of it, and the question.
    fn asked(response: &[u8]) -> (io::Result<bool>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mux");
        let listener = UnixListener::bind(&path).expect("a socket");
        std::thread::scope(|scope| {
            let question = Question {
                user: "alice",
                password: b"secret",
                realm: "here",
            };
            let asked = scope.spawn(move || question.ask(&path));
            let (mut stream, _) = listener.accept().expect("the client connects");
            let mut question = vec![0; 26];
            stream.read_exact(&mut question).expect("a question");
            stream.write_all(response).expect("the client reads");
            drop(stream);
            (asked.join().expect("no panic"), question)
        })
    }

    #[test]
    fn questions_and_responses_are_those_of_the_daemon() {
        let (right, question) = asked(b"\0\x02OK");
        assert_eq!(question, b"\0\x05alice\0\x06secret\0\x03svn\0\x04here");
        assert!(right.expect("a response"));
        assert!(asked(b"\0\x0aOK success").0.expect("a response"));
        assert!(!asked(b"\0\x06NO bad").0.expect("a response"));
        for response in [&b""[..], b"\0\0", b"\0\x05maybe", b"\xff\xff", b"\0"] {
            assert!(asked(response).0.is_err(), "{response:?}");
        }
    }
}
