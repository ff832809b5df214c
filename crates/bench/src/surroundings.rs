//! What else the machine did while a cell was measured.
//!
//! Load averages count the measured programs too. Therefore other work is measured: the CPU time of the whole
//! machine, without that of this program and its descendants, which are the measured programs and clients, and
//! without that of kernel threads, which write to the disk for them.

use std::time::Instant;

use crate::procfs::{MachineTimes, kernel_threads_cpu, load_average, own_tree_cpu};

/// Other work above this share of the wall time makes a cell busy.
const ALLOWED_SHARE: f64 = 0.1;
/// The seconds that the kernel's counters of a short cell may be wrong by: they count ticks of 10 ms.
const RESOLUTION: f64 = 0.05;

/// The other work during a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// The load averages of the last minute, at the start and at the end.
    pub load: (f64, f64),
    /// The CPU seconds of other processes.
    pub others: f64,
    /// The CPU seconds that the host of a virtual machine gave to others.
    pub stolen: f64,
    /// The seconds from start to end.
    pub wall: f64,
}

impl Surroundings {
    /// True if so much other work was done that the measurement may be wrong.
    pub fn is_busy(&self) -> bool {
        self.others + self.stolen > ALLOWED_SHARE * self.wall + RESOLUTION
    }

    /// Returns the load averages and, if the machine was busy, the number of cores that others used.
    pub fn text(&self) -> String {
        let (start, end) = self.load;
        let busy = if self.is_busy() {
            let cores = (self.others + self.stolen) / self.wall.max(1e-3);
            format!(", **busy: {cores:.1} cores for others**")
        } else {
            String::new()
        };
        format!("{start:.1}–{end:.1}{busy}")
    }
}

/// A measurement of the surroundings that has begun.
pub struct SurroundingsWatch {
    started: Instant,
    load: f64,
    others: f64,
    stolen: f64,
}

impl SurroundingsWatch {
    /// Begins.
    pub fn start() -> SurroundingsWatch {
        let (others, stolen) = others();
        SurroundingsWatch {
            started: Instant::now(),
            load: load_average(),
            others,
            stolen,
        }
    }

    /// Returns the other work since the start.
    pub fn finish(&self) -> Surroundings {
        let (others, stolen) = others();
        Surroundings {
            load: (self.load, load_average()),
            others: (others - self.others).max(0.0),
            stolen: (stolen - self.stolen).max(0.0),
            wall: self.started.elapsed().as_secs_f64(),
        }
    }
}

/// Returns the CPU seconds of other processes since the start of the machine, and the stolen ones.
fn others() -> (f64, f64) {
    let all = MachineTimes::now();
    (all.used - own_tree_cpu() - kernel_threads_cpu(), all.stolen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_work_of_others_makes_a_cell_busy() {
        let mut cell = Surroundings {
            load: (0.5, 2.0),
            others: 1.0,
            stolen: 0.0,
            wall: 10.0,
        };
        assert_eq!((cell.is_busy(), cell.text().as_str()), (false, "0.5–2.0"));
        cell.stolen = 4.0;
        assert_eq!(cell.text(), "0.5–2.0, **busy: 0.5 cores for others**");
    }
}
