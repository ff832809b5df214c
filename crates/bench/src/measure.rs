//! Runs a process and measures wall time, CPU seconds and peak memory.
//!
//! The numbers are the kernel's accounting of the process ([`crate::procfs`], read after its end and before it is
//! reaped). Peak memory is the kernel's high-water mark, sampled while the process is running, so a very short
//! process may have none. Servers are measured from outside while a client works: their CPU time is a difference and
//! includes their children.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::procfs::{self, ProcessStat, Usage, peak_memory};

/// The cost of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunCost {
    /// The seconds from start to end.
    pub wall: f64,
    /// User and system seconds: of the tool, or of the server while its client ran.
    pub cpu: f64,
    /// The peak of resident memory in MiB: of the tool or the server.
    pub memory: f64,
    /// The number of page faults: of the tool, or of the server while its client ran.
    pub faults: f64,
    /// User and system seconds of the server whose client was measured; 0 where that is not asked, or no server is used.
    pub server_cpu: f64,
}

/// Runs a command until it ends and discards its output.
///
/// # Errors
/// If it cannot start or fails.
pub fn tool(command: &mut Command) -> Result<RunCost, String> {
    tool_with(command, Stdio::null(), Stdio::null())
}

/// As [`tool`], with its output in a file.
///
/// # Errors
/// If the file can't be made, or the command cannot start or fails.
pub fn tool_writing(command: &mut Command, output: &Path) -> Result<RunCost, String> {
    let file = fs::File::create(output).map_err(|e| format!("{}: {e}", output.display()))?;
    tool_with(command, Stdio::null(), file.into())
}

/// As [`tool`], with a file as its standard input.
///
/// # Errors
/// If the file can't be opened, or the command cannot start or fails.
pub fn tool_reading(command: &mut Command, input: &Path) -> Result<RunCost, String> {
    let file = fs::File::open(input).map_err(|e| format!("{}: {e}", input.display()))?;
    tool_with(command, file.into(), Stdio::null())
}

/// As [`tool`], for a client: with the processor time that its server took meanwhile.
///
/// # Errors
/// If it cannot start or fails.
pub fn client_of(server: Option<&MeasuredServer>, command: &mut Command) -> Result<RunCost, String> {
    let used = || server.map_or(0.0, |server| ProcessStat::of(server.id()).tree().cpu);
    let before = used();
    let cost = tool(command)?;
    Ok(RunCost {
        server_cpu: used() - before,
        ..cost
    })
}

fn tool_with(command: &mut Command, input: Stdio, output: Stdio) -> Result<RunCost, String> {
    let started = Instant::now();
    let mut child = command
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    let mut memory = 0.0_f64;
    let ended = watch(&child, || memory = memory.max(peak_memory(child.id())))?;
    let wall = (ended - started).as_secs_f64();
    let Usage { cpu, faults } = ProcessStat::of(child.id()).own;
    let status = child.wait().map_err(|e| e.to_string())?;
    if status.success() {
        Ok(RunCost {
            wall,
            cpu,
            memory,
            faults,
            ..RunCost::default()
        })
    } else {
        Err(format!("{command:?}: {status}"))
    }
}

/// Waits for the end of a child without reaping it and returns its time. Calls `sample` repeatedly meanwhile.
pub fn watch(child: &Child, mut sample: impl FnMut()) -> Result<Instant, String> {
    let pid = Pid::from_child(child);
    let (sender, receiver) = mpsc::channel();
    // Sampling sleeps, so another thread waits for the end.
    thread::scope(|scope| {
        scope.spawn(move || {
            let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            let ended = ended.map(|_| Instant::now()).map_err(|e| format!("waitid: {e}"));
            // The receiver lives longer than this thread.
            _ = sender.send(ended);
        });
        let mut pause = Duration::from_micros(500);
        loop {
            sample();
            match receiver.recv_timeout(pause) {
                Ok(ended) => return ended,
                Err(mpsc::RecvTimeoutError::Timeout) => pause = (pause * 2).min(Duration::from_millis(5)),
                Err(error) => return Err(error.to_string()),
            }
        }
    })
}

/// A server process that is measured.
pub struct MeasuredServer {
    child: Child,
}

impl MeasuredServer {
    /// Returns a started server.
    pub fn new(child: Child) -> Self {
        MeasuredServer { child }
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Runs a client: wall time is the client's, CPU and memory are the server's.
    ///
    /// # Errors
    /// If the client cannot start or fails.
    pub fn measure_client(&self, client: &mut Command) -> Result<RunCost, String> {
        let before = ProcessStat::of(self.child.id()).tree();
        let started = Instant::now();
        let mut child = client
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{client:?}: {e}"))?;
        let mut memory = 0.0_f64;
        let mut living = Usage::default();
        let ended = watch(&child, || {
            let (rss, usage) = self.children();
            memory = memory.max(peak_memory(self.child.id()) + rss);
            living = living.max(usage);
        })?;
        let wall = (ended - started).as_secs_f64();
        let status = child.wait().map_err(|e| e.to_string())?;
        if !status.success() {
            return Err(format!("{client:?}: {status}"));
        }
        // A forked child that has not been reaped yet counts with its last sample.
        thread::sleep(Duration::from_millis(20));
        let reaped = ProcessStat::of(self.child.id()).tree() - before;
        let left = self.children().1;
        let Usage { cpu, faults } = if reaped.cpu >= living.cpu {
            reaped + left
        } else {
            reaped + living.max(left)
        };
        Ok(RunCost {
            wall,
            cpu,
            memory,
            faults,
            ..RunCost::default()
        })
    }

    /// Returns the largest resident MiB and the sum of what the server's running children have used.
    fn children(&self) -> (f64, Usage) {
        let running = procfs::children(self.child.id()).into_iter();
        running.fold((0.0, Usage::default()), |(rss, usage), pid| {
            (peak_memory(pid).max(rss), usage + ProcessStat::of(pid).own)
        })
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_process_shows_its_cost_and_a_failing_one_is_an_error() {
        let cost = tool(Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]));
        let cost = cost.expect("because sh is there");
        assert!(cost.cpu > 0.0 && cost.wall > 0.0 && cost.faults > 0.0);
        assert!(tool(Command::new("sh").args(["-c", "exit 3"])).is_err());
    }
}
