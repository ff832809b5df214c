//! Measures a client and its server at the same time, or a tool alone: time, processor time of each, and what they read.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::measure::{MeasuredServer, watch};
use crate::procfs::{IoUsage, ProcessStat};

/// The cost of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The seconds from start to end of the client.
    pub wall: f64,
    /// User and system seconds of the client or the tool.
    pub client_cpu: f64,
    /// User and system seconds of the server meanwhile; 0 without a server.
    pub server_cpu: f64,
    /// The bytes that client and server read, from files and sockets; `None` where the kernel does not tell.
    pub bytes: Option<f64>,
    /// The system calls with which they read and wrote; `None` where the kernel does not tell.
    pub calls: Option<f64>,
    /// The bytes of the repository that the run made; `None` for other runs.
    pub stored: Option<f64>,
}

impl Cost {
    /// Returns the share of the client in the processor time, 0 to 1.
    pub fn client_share(&self) -> f64 {
        let both = self.client_cpu + self.server_cpu;
        if both > 0.0 { self.client_cpu / both } else { 0.0 }
    }
}

/// Runs `client`, which may have its streams set; the others are closed.
///
/// # Errors
/// If it cannot start or fails.
pub fn measure(client: &mut Command, server: Option<&MeasuredServer>) -> Result<Cost, String> {
    let before = server.map(ServerState::of);
    client.stderr(Stdio::null());
    let started = Instant::now();
    let mut child = client.spawn().map_err(|e| format!("{client:?}: {e}"))?;
    let ended = watch(&child, || ())?;
    let wall = (ended - started).as_secs_f64();
    let own = ProcessStat::of(child.id()).own;
    let mut io = IoUsage::of(child.id());
    let status = child.wait().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{client:?}: {status}"));
    }
    let mut cost = Cost {
        wall,
        client_cpu: own.cpu,
        ..Cost::default()
    };
    if let (Some(before), Some(server)) = (before, server) {
        let after = ServerState::of(server);
        cost.server_cpu = after.cpu - before.cpu;
        io = match (io, before.io, after.io) {
            (Some(client), Some(before), Some(after)) => Some(client + (after - before)),
            _ => None,
        };
    }
    cost.bytes = io.map(|io| io.bytes_read);
    cost.calls = io.map(|io| io.calls);
    Ok(cost)
}

/// What a server, which is one process, has used so far.
struct ServerState {
    cpu: f64,
    io: Option<IoUsage>,
}

impl ServerState {
    fn of(server: &MeasuredServer) -> ServerState {
        ServerState {
            cpu: ProcessStat::of(server.id()).tree().cpu,
            io: IoUsage::of(server.id()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_shows_what_it_read() {
        let mut command = Command::new("head");
        command.args(["-c", "3000000", "/dev/zero"]).stdout(Stdio::null());
        let cost = measure(&mut command, None).expect("because head is there");
        assert!(cost.wall > 0.0);
        // Another user's kernel may hide it.
        assert!(cost.bytes.is_none_or(|bytes| bytes >= 3_000_000.0), "{cost:?}");
        let failing = measure(
            Command::new("sh").args(["-c", "exit 3"]).stdout(Stdio::null()),
            None,
        );
        assert!(failing.is_err());
    }
}
