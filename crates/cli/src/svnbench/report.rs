//! Counts, times and traffic, in the incumbent's columns.

use std::time::{Duration, Instant};

use base::Result;

use crate::client_context::ClientContext;
use crate::out::Out;

/// The option `--statistics`.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct StatisticsOption {
    /// print the throughput, the number of requests, and percentiles of the times in which they were answered (an option of Sven)
    #[arg(id = "statistics", long = "statistics")]
    pub is_given: bool,
}

/// The time since the beginning of the work.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Prints the time and the traffic.
    ///
    /// # Errors
    /// Those of [`Out::print`].
    pub fn print(self, context: &ClientContext, statistics: StatisticsOption, out: &mut Out) -> Result<()> {
        let time = self.0.elapsed();
        out.line(&format!("{:15.6} seconds taken", time.as_secs_f64()))?;
        let (sent, received) = context.traffic().bytes();
        if sent + received > 0 {
            count(out, sent + received, "bytes transferred over network")?;
        }
        if statistics.is_given {
            print_statistics(context, time, out)?;
        }
        Ok(())
    }
}

/// Prints a count in a column of 15 letters.
///
/// # Errors
/// Those of [`Out::print`].
pub fn count(out: &mut Out, number: u64, what: &str) -> Result<()> {
    out.line(&format!("{:>15} {what}", grouped(number)))
}

/// Returns a number with a comma before each group of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn print_statistics(context: &ClientContext, time: Duration, out: &mut Out) -> Result<()> {
    let traffic = context.traffic();
    let (sent, received) = traffic.bytes();
    count(out, sent, "bytes sent")?;
    count(out, received, "bytes received")?;
    let per_second = u128::from(received) * 1_000_000 / time.as_micros().max(1);
    let per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
    count(out, per_second, "bytes received per second")?;
    count(out, traffic.requests(), "requests")?;
    let mut latencies = traffic.latencies();
    latencies.sort_unstable();
    for percent in [50, 90, 99, 100] {
        if let Some(latency) = percentile(&latencies, percent) {
            let milliseconds = latency.as_secs_f64() * 1000.0;
            let what = format!("milliseconds until {percent} % of the answers began");
            out.line(&format!("{milliseconds:15.3} {what}"))?;
        }
    }
    Ok(())
}

/// Returns the smallest of `sorted` times that `percent` of them do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let times: Vec<Duration> = (1..=10).map(Duration::from_secs).collect();
        for (percent, seconds) in [(1, 1), (50, 5), (90, 9), (99, 10), (100, 10)] {
            assert_eq!(percentile(&times, percent), Some(Duration::from_secs(seconds)));
        }
        assert_eq!(percentile(&[], 50), None);
    }
}
