//! This process as the owner of a lock on a repository, and whether the owner of another lock is dead.
//!
//! Subversion's programs write `HOST:UUID`. Ours append what identifies the process on this machine: the identifier of the running
//! kernel, of the process name space, the process number and its start time. A lock of a process that ran under the same
//! kernel, in the same name space, and that does not exist any more, is certainly stale. Every other lock is left
//! alone: one of Subversion's programs, of another machine or container, or from before this machine was restarted.

use std::fs;

use uuid::Uuid;

/// Returns the value of a lock that this process takes.
pub fn owner() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = format!("{host}:{}", Uuid::new_v4());
    match Process::current() {
        Some(process) => format!("{plain} {process}"),
        None => plain,
    }
}

/// Returns true if the process with this lock is certainly dead.
pub fn is_dead(owner: &str) -> bool {
    let (Some(process), Some(current)) = (Process::parse(owner), Process::current()) else {
        return false;
    };
    process.boot == current.boot
        && process.space == current.space
        && start_time(process.id) != Some(process.start)
}

/// A process of this or another machine.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    /// The identifier of the running kernel.
    boot: String,
    /// The name space of process numbers.
    space: String,
    /// The number.
    id: u32,
    /// The time of its start, in ticks since the kernel's.
    start: u64,
}

impl Process {
    fn current() -> Option<Process> {
        let id = std::process::id();
        Some(Process {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .ok()?
                .trim()
                .to_owned(),
            space: fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned(),
            id,
            start: start_time(id)?,
        })
    }

    /// Parses what [`owner`] appends.
    fn parse(owner: &str) -> Option<Process> {
        let mut words = owner.split(' ').skip(1);
        let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        Some(Process {
            boot: value("boot")?.to_owned(),
            space: value("space")?.to_owned(),
            id: value("pid")?.parse().ok()?,
            start: value("start")?.parse().ok()?,
        })
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Process {
            boot,
            space,
            id,
            start,
        } = self;
        write!(f, "boot={boot} space={space} pid={id} start={start}")
    }
}

/// Returns the start time of a process; `None` if there is none with this number, or only its exit status is left.
fn start_time(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let fields = text.rsplit_once(')')?.1;
    let mut fields = fields.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(STATE_TO_START - 1)?.parse().ok(),
    }
}

/// How many fields of `/proc/PID/stat` the start time comes after the state.
const STATE_TO_START: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_that_is_gone_is_dead() {
        let owner = owner();
        assert!(!is_dead(&owner), "{owner}");
        let process = Process::parse(&owner).expect("it was made here");
        assert_eq!(Process::current().as_ref(), Some(&process));
        let with = |change: fn(&mut Process)| {
            let mut other = Process::parse(&owner).expect("as above");
            change(&mut other);
            is_dead(&format!("host:uuid {other}"))
        };
        assert!(with(|other| other.start += 1), "the number was used again");
        assert!(with(|other| other.id = u32::MAX), "no such process");
        assert!(!with(|other| {
            other.start += 1;
            other.boot.push('x');
        }));
        assert!(!with(|other| {
            other.start += 1;
            other.space.push('x');
        }));
        assert!(!is_dead("host:uuid"));
        assert!(!is_dead("host:uuid boot=x"));
    }
}
