//! Draws random numbers from a distribution that is given by some quantiles.

use rand::Rng;

/// A distribution: (share of the draws at or below, value), ascending. Between two points the logarithm of the value
/// is interpolated, which fits the long tails of commit and file sizes.
pub struct Quantiles(pub &'static [(f64, f64)]);

impl Quantiles {
    /// Draws one value.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        let share: f64 = rng.random();
        let above = self
            .0
            .iter()
            .position(|(q, _)| *q >= share)
            .unwrap_or(self.0.len() - 1);
        if above == 0 {
            return self.0[0].1;
        }
        let ((q0, v0), (q1, v1)) = (self.0[above - 1], self.0[above]);
        let part = (share - q0) / (q1 - q0);
        (v0.ln() + part * (v1.ln() - v0.ln())).exp()
    }

    /// Draws one value and rounds it to a whole number of at least 1.
    pub fn draw_count(&self, rng: &mut impl Rng) -> usize {
        self.draw(rng).round().max(1.0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn drawn_values_have_the_quantiles_they_were_drawn_from() {
        let q = Quantiles(&[(0.0, 1.0), (0.5, 5.0), (0.9, 40.0), (1.0, 1400.0)]);
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut drawn: Vec<f64> = (0..10_000).map(|_| q.draw(&mut rng)).collect();
        drawn.sort_by(f64::total_cmp);
        assert!((4.5..5.5).contains(&drawn[5000]), "median {}", drawn[5000]);
        assert!((36.0..44.0).contains(&drawn[9000]), "p90 {}", drawn[9000]);
        assert!(drawn[9999] <= 1400.0);
    }
}
