//! What the kernel says about processes and about the whole machine, from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::ops::{Add, Sub};

/// The flag of a kernel thread in `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// The user and system seconds.
    pub cpu: f64,
    /// The number of page faults, with and without a read from the disk.
    pub faults: f64,
}

impl Usage {
    /// Returns the larger of each figure.
    pub fn max(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu.max(other.cpu),
            faults: self.faults.max(other.faults),
        }
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu + other.cpu,
            faults: self.faults + other.faults,
        }
    }
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu - other.cpu,
            faults: self.faults - other.faults,
        }
    }
}

/// The accounting of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessStat {
    /// What it has used itself.
    pub own: Usage,
    /// What its children have used that have ended and that it has waited for, with theirs.
    pub reaped: Usage,
    is_kernel_thread: bool,
}

impl ProcessStat {
    /// Returns the accounting of a process; zeros if there is none.
    pub fn of(pid: u32) -> ProcessStat {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        ProcessStat::parse(&stat)
    }

    fn parse(stat: &str) -> ProcessStat {
        // The command name may contain spaces. Fields are counted after its closing parenthesis.
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<u64> = after
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second();
        ProcessStat {
            own: Usage {
                cpu: seconds(field(11) + field(12)),
                faults: (field(7) + field(9)) as f64,
            },
            reaped: Usage {
                cpu: seconds(field(13) + field(14)),
                faults: (field(8) + field(10)) as f64,
            },
            is_kernel_thread: field(6) & KERNEL_THREAD != 0,
        }
    }

    /// Returns the sum of what it has used itself and of its ended children.
    pub fn tree(&self) -> Usage {
        self.own + self.reaped
    }
}

/// What a process has read and written, by `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoUsage {
    /// The bytes that it read, from files (in memory or not) and sockets.
    pub bytes_read: f64,
    /// The system calls that read or wrote.
    pub calls: f64,
}

impl IoUsage {
    /// Returns the figures of a process, which may have ended but not been waited for; `None` where the kernel does not tell.
    pub fn of(pid: u32) -> Option<IoUsage> {
        IoUsage::parse(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
    }

    fn parse(text: &str) -> Option<IoUsage> {
        let field = |name: &str| -> Option<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        Some(IoUsage {
            bytes_read: field("rchar:")?,
            calls: field("syscr:")? + field("syscw:")?,
        })
    }
}

impl Add for IoUsage {
    type Output = IoUsage;

    fn add(self, other: IoUsage) -> IoUsage {
        IoUsage {
            bytes_read: self.bytes_read + other.bytes_read,
            calls: self.calls + other.calls,
        }
    }
}

impl Sub for IoUsage {
    type Output = IoUsage;

    fn sub(self, other: IoUsage) -> IoUsage {
        IoUsage {
            bytes_read: self.bytes_read - other.bytes_read,
            calls: self.calls - other.calls,
        }
    }
}

/// Returns the running children of all threads of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let lists = threads.flatten().map(|thread| thread.path().join("children"));
    lists
        .flat_map(|list| {
            let pids = fs::read_to_string(list).unwrap_or_default();
            pids.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// Returns the CPU seconds of this process and of all its descendants, running and ended.
pub fn own_tree_cpu() -> f64 {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![std::process::id()];
    let mut cpu = 0.0;
    while let Some(pid) = waiting.pop() {
        if seen.insert(pid) {
            cpu += ProcessStat::of(pid).tree().cpu;
            waiting.extend(children(pid));
        }
    }
    cpu
}

/// Returns the CPU seconds of all kernel threads.
pub fn kernel_threads_cpu() -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let stats = pids.map(ProcessStat::of).filter(|stat| stat.is_kernel_thread);
    stats.map(|stat| stat.own.cpu).sum()
}

/// The times of all cores since the start of the machine, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineTimes {
    /// User and system time of all processes and kernel threads.
    pub used: f64,
    /// Time that the host of a virtual machine gave to others.
    pub stolen: f64,
}

impl MachineTimes {
    /// Returns the times so far.
    pub fn now() -> MachineTimes {
        MachineTimes::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Parses the first line: user, nice, system, idle, waiting, interrupts (hard and soft), stolen. Interrupts
    /// belong to no process: those of local connections are work of the measured programs.
    fn parse(stat: &str) -> MachineTimes {
        let line = stat.lines().next().unwrap_or("");
        let fields: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0.0))
            .collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0.0) / ticks_per_second();
        MachineTimes {
            used: field(0) + field(1) + field(2),
            stolen: field(7),
        }
    }
}

/// Returns the load average of the last minute.
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// Returns the high-water mark of a process's resident memory, in MiB.
pub fn peak_memory(pid: u32) -> f64 {
    number(&format!("/proc/{pid}/status"), "VmHWM:") as f64 / 1024.0
}

/// Returns a number from `/proc/PID/status`; 0 if the process has ended.
pub fn status(pid: u32, name: &str) -> usize {
    number(&format!("/proc/{pid}/status"), name)
}

/// Returns the number after `name` in a file of lines; 0 if there is none.
pub fn number(path: &str, name: &str) -> usize {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn fields_of_a_process_are_where_the_manual_says() {
        // proc(5): 8 tpgid, 9 flags, 10 minflt, 11 cminflt, 12 majflt, 13 cmajflt, 14 utime, 15 stime, 16 cutime, 17 cstime.
        let stat = "7 (a b) c) S 1 7 7 0 -1 2097216 100 200 3 4 500 600 700 800 20 0 1 0 9";
        let (stat, ticks) = (ProcessStat::parse(stat), ticks_per_second());
        let own = Usage {
            cpu: 1100.0 / ticks,
            faults: 103.0,
        };
        let reaped = Usage {
            cpu: 1500.0 / ticks,
            faults: 204.0,
        };
        assert_eq!((stat.own, stat.reaped), (own, reaped));
        assert!(stat.is_kernel_thread);
        let times = MachineTimes::parse("cpu  1 2 3 4 5 6 7 800 0 0\ncpu0 9 9 9 9\n");
        assert_eq!((times.used, times.stolen), (6.0 / ticks, 800.0 / ticks));
    }

    #[test]
    fn reads_and_calls_are_where_the_manual_says() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n";
        let usage = IoUsage {
            bytes_read: 10.0,
            calls: 7.0,
        };
        assert_eq!(IoUsage::parse(text), Some(usage));
        assert_eq!(IoUsage::parse(""), None);
    }

    #[test]
    fn running_and_ended_children_count_for_this_program() {
        let before = own_tree_cpu();
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let status = Command::new("sh").args(["-c", work]).status();
        assert!(status.is_ok_and(|status| status.success()));
        let ended = own_tree_cpu();
        assert!(ended > before + 0.03, "{before} {ended}");
        let mut child = Command::new("sh")
            .args(["-c", &format!("{work}; sleep 60")])
            .spawn()
            .expect("sh is there");
        let started = Instant::now();
        while own_tree_cpu() < ended + 0.03 {
            assert!(
                started.elapsed().as_secs() < 30,
                "the running child is not counted"
            );
            thread::sleep(Duration::from_millis(20));
        }
        child.kill().expect("it is running");
        child.wait().expect("it ends");
    }
}
