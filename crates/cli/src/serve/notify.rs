//! Notifications of systemd (`Type=notify`): one datagram for each change of state, sent to `$NOTIFY_SOCKET`.
//!
//! Without that variable nothing is sent. A failure to send is ignored.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixDatagram;

/// The socket of the service manager.
#[derive(Clone, Debug)]
pub struct Notifier {
    to: Option<OsString>,
}

impl Notifier {
    /// Reads the socket's name from `$NOTIFY_SOCKET`.
    pub fn from_env() -> Notifier {
        Notifier {
            to: env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()),
        }
    }

    /// Reports that clients can connect.
    pub fn ready(&self, status: &str) {
        self.send(&format!(
            "READY=1\nSTATUS={status}\nMAINPID={}",
            std::process::id()
        ));
    }

    /// Reports that the configuration is being reloaded.
    pub fn reloading(&self) {
        self.send("RELOADING=1");
    }

    /// Reports that the server is shutting down.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, text: &str) {
        let Some(to) = &self.to else { return };
        let Ok(socket) = UnixDatagram::unbound() else {
            return;
        };
        // A failure to notify must not stop the server.
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
