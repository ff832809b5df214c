//! One row of the table: the same job by Sven and by a rival, in pairs of runs.

use crate::measure::RunCost;
use crate::surroundings::{Surroundings, SurroundingsWatch};

/// The least CPU seconds that give a ratio.
const SHORTEST_CPU: f64 = 0.03;

/// The measurements of a job.
pub struct TableCell {
    /// The job and its data.
    pub job: String,
    /// The name of the rival.
    pub rival: &'static str,
    /// The goals.
    pub goal: Goal,
    /// The runs of Sven.
    pub ours: Vec<RunCost>,
    /// The runs of the rival, in the order of the pairs.
    pub theirs: Vec<RunCost>,
    /// What else the machine did.
    pub surroundings: Surroundings,
}

/// The least ratios of the rival's figures to ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// Of wall time.
    pub wall: Option<f64>,
    /// Of CPU time.
    pub cpu: Option<f64>,
}

impl Goal {
    /// No goal.
    pub const NONE: Goal = Goal {
        wall: None,
        cpu: None,
    };

    /// Returns a goal of wall time alone.
    pub const fn wall(least: f64) -> Goal {
        Goal {
            wall: Some(least),
            cpu: None,
        }
    }

    /// Returns goals of wall time and of CPU time.
    pub const fn both(wall: f64, cpu: f64) -> Goal {
        Goal {
            wall: Some(wall),
            cpu: Some(cpu),
        }
    }
}

impl TableCell {
    /// Runs one pair that is not counted and `pairs` that are, Sven and the rival in turn.
    ///
    /// # Errors
    /// The first run that fails.
    pub fn measure(
        job: String,
        rival: &'static str,
        goal: Goal,
        pairs: usize,
        mut ours: impl FnMut() -> Result<RunCost, String>,
        mut theirs: impl FnMut() -> Result<RunCost, String>,
    ) -> Result<TableCell, String> {
        eprintln!("measuring {job} against {rival} …");
        let mut cell = TableCell {
            job,
            rival,
            goal,
            ours: Vec::new(),
            theirs: Vec::new(),
            surroundings: Surroundings::default(),
        };
        let watch = SurroundingsWatch::start();
        for pair in 0..=pairs {
            let (a, b) = (ours()?, theirs()?);
            if pair > 0 || pairs == 0 {
                cell.ours.push(a);
                cell.theirs.push(b);
            }
        }
        cell.surroundings = watch.finish();
        // A long measurement that is stopped has shown something.
        let wall = |runs: &[RunCost]| median(runs.iter().map(|run| run.wall).collect());
        eprintln!(
            "  {:.3} s and {:.3} s: {:.2}, load average {}",
            wall(&cell.ours),
            wall(&cell.theirs),
            cell.ratio(|run| run.wall),
            cell.surroundings.text()
        );
        Ok(cell)
    }

    /// Returns the ratio of CPU times; `None` if they are so short that the kernel's ticks of 10 ms decide.
    pub fn cpu_ratio(&self) -> Option<f64> {
        let is_measured = |runs: &[RunCost]| median(runs.iter().map(|run| run.cpu).collect()) >= SHORTEST_CPU;
        (is_measured(&self.ours) && is_measured(&self.theirs)).then(|| self.ratio(|run| run.cpu))
    }

    /// Returns the median over the pairs of rival / ours for a figure.
    pub fn ratio(&self, figure: impl Fn(&RunCost) -> f64) -> f64 {
        let pairs = self.ours.iter().zip(&self.theirs);
        median(pairs.map(|(a, b)| figure(b) / figure(a).max(1e-3)).collect())
    }
}

/// Returns the median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// Returns the geometric mean.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.max(1e-6).ln()).sum();
    (logarithms / values.len().max(1) as f64).exp()
}

/// Returns the smallest and the largest value.
pub fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (
        values.clone().fold(f64::INFINITY, f64::min),
        values.fold(0.0, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let cost = |wall| RunCost {
            wall,
            ..RunCost::default()
        };
        let cell = TableCell {
            job: String::new(),
            rival: "",
            goal: Goal::NONE,
            ours: vec![cost(1.0), cost(2.0), cost(1.0)],
            theirs: vec![cost(3.0), cost(4.0), cost(9.0)],
            surroundings: Surroundings::default(),
        };
        assert_eq!(cell.ratio(|c| c.wall), 3.0);
        assert_eq!(cell.cpu_ratio(), None);
    }
}
