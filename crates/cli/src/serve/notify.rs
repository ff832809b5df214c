//! Telling systemd how things stand (`Type=notify`): one datagram for each change, to the socket that it named.
//!
//! Without systemd nothing is sent, and a failure to send is ignored.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixDatagram;

/// The socket of the service manager.
#[derive(Clone, Debug)]
pub struct Notify {
    to: Option<OsString>,
}

impl Notify {
    /// Looks for the socket in the environment.
    pub fn from_env() -> Notify {
        Notify {
            to: env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()),
        }
    }

    /// Clients can connect.
    pub fn ready(&self, status: &str) {
        self.tell(&format!(
            "READY=1\nSTATUS={status}\nMAINPID={}",
            std::process::id()
        ));
    }

    /// The configuration is being read anew.
    pub fn reloading(&self) {
        self.tell("RELOADING=1");
    }

    /// The server comes to its end.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, text: &str) {
        let Some(to) = &self.to else { return };
        let Ok(socket) = UnixDatagram::unbound() else {
            return;
        };
        // A service that cannot say how it is serves all the same.
        match to.as_bytes().strip_prefix(b"@") {
            Some(name) => _ = send_to_abstract(&socket, name, text),
            None => _ = socket.send_to(text.as_bytes(), to),
        }
    }
}

#[cfg(target_os = "linux")]
fn send_to_abstract(socket: &UnixDatagram, name: &[u8], text: &str) -> std::io::Result<usize> {
    use std::os::linux::net::SocketAddrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    socket.send_to_addr(text.as_bytes(), &address)
}

#[cfg(not(target_os = "linux"))]
fn send_to_abstract(_: &UnixDatagram, _: &[u8], _: &str) -> std::io::Result<usize> {
    Ok(0)
}
