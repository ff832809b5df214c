//! A connection to the session bus of D-Bus, over which programs of the desktop are called.
//!
//! The bus takes the user from the connection: no secret is needed (the mechanism EXTERNAL of the D-Bus specification). It starts a program
//! that is not there, if it knows how. Calls follow each other; signals and other messages are skipped.
//!
//! Any failure is as if there were no bus. A call takes as long as the other program takes, which may ask the user; the flag of the
//! caller ends it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use base::Cancel;
use percent_encoding::percent_decode_str;

use super::dbus_message::{self, HEAD, MethodCall, Value};

/// The longest line of the login, in bytes.
const MOST_LINE: usize = 4096;
/// The time after which a wait looks at the cancellation flag.
const SLICE: Duration = Duration::from_millis(100);
/// The first method that is called: the bus gives the connection a name.
const HELLO: MethodCall<'static> = MethodCall {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    member: "Hello",
    arguments: &[],
};

/// A connection. It ends when the value is dropped.
#[derive(Debug)]
pub(super) struct SessionBus {
    stream: UnixStream,
    /// The number of the last call.
    serial: u32,
}

impl SessionBus {
    /// Connects to the first bus that is there. The addresses have the form of `DBUS_SESSION_BUS_ADDRESS`.
    pub(super) fn connect(addresses: &str, cancel: &Cancel) -> Option<SessionBus> {
        let stream = addresses.split(';').find_map(connect_to)?;
        stream.set_read_timeout(Some(SLICE)).ok()?;
        let mut bus = SessionBus { stream, serial: 0 };
        bus.log_in(cancel)?;
        bus.call(&HELLO, cancel)?;
        Some(bus)
    }

    /// Calls a method. Returns the first value of its reply; `None` for an error, and for a method that returns nothing.
    pub(super) fn call(&mut self, call: &MethodCall<'_>, cancel: &Cancel) -> Option<Value> {
        self.serial += 1;
        let message = call.encode(self.serial)?;
        self.stream.write_all(&message).ok()?;
        loop {
            let reply = dbus_message::decode(&self.message(cancel)?)?;
            if reply.serial == Some(self.serial) {
                return reply.value;
            }
        }
    }

    fn log_in(&mut self, cancel: &Cancel) -> Option<()> {
        self.stream.write_all(b"\0AUTH EXTERNAL\r\n").ok()?;
        // The bus asks for the name of the user; an empty one is that of the connection.
        if self.line(cancel)?.starts_with(b"DATA") {
            self.stream.write_all(b"DATA\r\n").ok()?;
        }
        if !self.line(cancel)?.starts_with(b"OK ") {
            return None;
        }
        self.stream.write_all(b"BEGIN\r\n").ok()
    }

    /// Reads a line, with its end.
    fn line(&mut self, cancel: &Cancel) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') && line.len() < MOST_LINE {
            let mut byte = [0];
            self.read(&mut byte, cancel)?;
            line.extend(byte);
        }
        Some(line)
    }

    fn message(&mut self, cancel: &Cancel) -> Option<Vec<u8>> {
        let mut head = [0; HEAD];
        self.read(&mut head, cancel)?;
        let mut message = vec![0; dbus_message::message_length(&head)?];
        message[..HEAD].copy_from_slice(&head);
        self.read(&mut message[HEAD..], cancel)?;
        Some(message)
    }

    /// Fills a buffer.
    fn read(&mut self, mut buffer: &mut [u8], cancel: &Cancel) -> Option<()> {
        while !buffer.is_empty() {
            match self.stream.read(buffer) {
                Ok(0) => return None,
                Ok(length) => buffer = &mut buffer[length..],
                Err(error) if is_no_error(&error) && !cancel.is_cancelled() => {}
                Err(_) => return None,
            }
        }
        Some(())
    }
}

/// True if nothing has come yet.
fn is_no_error(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Connects to one address: a kind, `:`, and escaped values with names.
fn connect_to(address: &str) -> Option<UnixStream> {
    let values = address.strip_prefix("unix:")?;
    values.split(',').find_map(|value| {
        let (name, value) = value.split_once('=')?;
        let value: Vec<u8> = percent_decode_str(value).collect();
        match name {
            "path" => UnixStream::connect(Path::new(std::ffi::OsStr::from_bytes(&value))).ok(),
            #[cfg(target_os = "linux")]
            "abstract" => {
                use std::os::linux::net::SocketAddrExt as _;
                use std::os::unix::net::SocketAddr;
                UnixStream::connect_addr(&SocketAddr::from_abstract_name(&value).ok()?).ok()
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A message of the bus: the number of its first call has the reply `:1.5`. Before it is a signal.
    const MESSAGES: &[u8] = b"l\x04\x01\x01\0\0\0\0\x01\0\0\0\x0f\0\0\0\x03\x01s\0\x06\0\0\0Signal\0\0\
        l\x02\x01\x01\x09\0\0\0\x02\0\0\0\x0f\0\0\0\x05\x01u\0\x01\0\0\0\x08\x01g\0\x01s\0\0\x04\0\0\0:1.5\0";

    /// Serves one connection: takes what is expected of the client, and answers.
    fn serve(listener: &UnixListener, steps: &[(&[u8], &[u8])]) -> UnixStream {
        let (mut stream, _) = listener.accept().expect("because the client connects");
        for (expected, answer) in steps {
            let mut read = vec![0; expected.len()];
            stream.read_exact(&mut read).expect("because the client sends it");
            assert_eq!(
                read.escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            );
            stream.write_all(answer).expect("because the client reads");
        }
        stream
    }

    #[test]
    fn a_connection_has_a_login_and_ends_with_the_flag() {
        let folder = tempfile::tempdir().expect("because there is room");
        let path = folder.path().join("a bus");
        let listener = UnixListener::bind(&path).expect("because the folder is new");
        let hello = HELLO.encode(1).expect("because it has no NUL");
        let server = thread::spawn(move || {
            let begin: &[(&[u8], &[u8])] = &[
                (b"\0AUTH EXTERNAL\r\n", b"DATA\r\n"),
                (b"DATA\r\n", b"OK 0123\r\n"),
                (b"BEGIN\r\n", b""),
                (&hello, MESSAGES),
            ];
            // The second client gets no reply to a call, the third one no bus.
            let streams = (serve(&listener, begin), serve(&listener, begin));
            serve(&listener, &[(b"\0AUTH EXTERNAL\r\n", b"REJECTED\r\n")]);
            streams
        });
        let path = path.to_str().expect("because it is ASCII").replace(' ', "%20");
        let addresses = format!("tcp:host=x;unix:path=/nonexistent;unix:guid=1,path={path}");
        let cancel = Cancel::new();
        assert!(SessionBus::connect(&addresses, &cancel).is_some());
        let mut bus = SessionBus::connect(&addresses, &cancel).expect("because the bus answers");
        let flag = cancel.clone();
        let began = Instant::now();
        let user = thread::spawn(move || {
            thread::sleep(SLICE * 2);
            flag.cancel();
        });
        assert_eq!(bus.call(&HELLO, &cancel), None);
        assert!(began.elapsed() >= SLICE);
        user.join().expect("because it cannot panic");
        assert!(SessionBus::connect(&addresses, &Cancel::new()).is_none());
        assert!(SessionBus::connect("", &Cancel::new()).is_none());
        server.join().expect("because the client sent what it should");
    }
}
