//! One cell of the table: the same job by us and by a rival, in pairs.

use crate::measure::Cost;

/// What the pairs of one cell measured.
pub struct Cell {
    /// What was done, on what.
    pub job: String,
    /// Whom we were compared with.
    pub rival: &'static str,
    /// Smallest ratio that the goal asks for (rival's wall time divided by ours).
    pub goal: Option<f64>,
    /// Our runs.
    pub ours: Vec<Cost>,
    /// The rival's, pair by pair.
    pub theirs: Vec<Cost>,
}

impl Cell {
    /// Runs `pairs` counted pairs after one uncounted, ours and theirs in turn.
    ///
    /// # Errors
    /// The first run that fails.
    pub fn measure(
        job: String,
        rival: &'static str,
        goal: Option<f64>,
        pairs: usize,
        mut ours: impl FnMut() -> Result<Cost, String>,
        mut theirs: impl FnMut() -> Result<Cost, String>,
    ) -> Result<Cell, String> {
        eprintln!("measuring {job} against {rival} …");
        let mut cell = Cell {
            job,
            rival,
            goal,
            ours: Vec::new(),
            theirs: Vec::new(),
        };
        for pair in 0..=pairs {
            let (a, b) = (ours()?, theirs()?);
            if pair > 0 || pairs == 0 {
                cell.ours.push(a);
                cell.theirs.push(b);
            }
        }
        Ok(cell)
    }

    /// Median over the pairs of (rival / ours) for some figure.
    pub fn ratio(&self, figure: impl Fn(&Cost) -> f64) -> f64 {
        let pairs = self.ours.iter().zip(&self.theirs);
        median(pairs.map(|(a, b)| figure(b) / figure(a).max(1e-3)).collect())
    }
}

/// The middle value.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// Smallest and largest value.
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
        let cost = |wall| Cost {
            wall,
            ..Cost::default()
        };
        let cell = Cell {
            job: String::new(),
            rival: "",
            goal: None,
            ours: vec![cost(1.0), cost(2.0), cost(1.0)],
            theirs: vec![cost(3.0), cost(4.0), cost(9.0)],
        };
        assert_eq!(cell.ratio(|c| c.wall), 3.0);
    }
}
