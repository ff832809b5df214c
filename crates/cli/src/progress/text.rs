//! The numbers of a progress line, and their text. The time is a parameter.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Unit;

/// The numbers of an operation.
pub(super) struct Estimate {
    unit: Unit,
    start: Instant,
    /// The present step; `None` before the first.
    step: Option<Step>,
    /// Bytes read at some moments, the newest last. The first is the start.
    samples: VecDeque<(Instant, u64)>,
}

struct Step {
    what: &'static str,
    start: Instant,
    /// Units that were done when the step began.
    done_before: u64,
    done: u64,
    total: Option<u64>,
}

impl Estimate {
    pub(super) fn new(unit: Unit, now: Instant) -> Self {
        Estimate {
            unit,
            start: now,
            step: None,
            samples: VecDeque::from([(now, 0)]),
        }
    }

    pub(super) fn step(&mut self, what: &'static str, done: u64, total: Option<u64>, now: Instant) {
        self.step = Some(Step {
            what,
            start: now,
            done_before: done,
            done,
            total,
        });
    }

    pub(super) fn set(&mut self, done: u64) {
        if let Some(step) = &mut self.step {
            step.done = done;
        }
    }

    /// Adds the bytes that are read at this moment.
    pub(super) fn sample(&mut self, read: u64, now: Instant) {
        // One sample outside of the window stays: the rate is that of at least the window.
        while self
            .samples
            .get(1)
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW)
        {
            self.samples.pop_front();
        }
        self.samples.push_back((now, read));
        if self.unit == Unit::Bytes {
            self.set(read);
        }
    }

    /// Returns the line, or `None` before the first step.
    pub(super) fn text(&self, now: Instant) -> Option<String> {
        let step = self.step.as_ref()?;
        let mut text = match step.total {
            Some(total) => {
                // 100 % is for what is done.
                let percent = (u128::from(step.done) * 100).checked_div(u128::from(total));
                let percent = percent.unwrap_or(100).min(100);
                let (done, total) = (self.number(step.done), self.amount(total));
                format!("{} {done} of {total} ({percent} %)", step.what)
            }
            None => format!("{} {}", step.what, self.amount(step.done)),
        };
        let (oldest, newest) = (self.samples.front()?, self.samples.back()?);
        let recent = rate(newest.1 - oldest.1, newest.0 - oldest.0);
        let overall = rate(newest.1, newest.0 - self.start);
        text.push_str(&format!(", {recent}, {overall} in all"));
        if let Some(rest) = step.rest(now) {
            text.push_str(&format!(", {} left", hours(rest)));
        }
        Some(text)
    }

    /// Returns the last line of a complete operation.
    pub(super) fn totals(&self, now: Instant) -> String {
        let time = now.saturating_duration_since(self.start);
        let read = self.samples.back().map_or(0, |(_, read)| *read);
        let mut text = format!("Read {} in {}, {}", size(read), hours(time), rate(read, time));
        if let (Unit::Revisions, Some(step)) = (self.unit, &self.step) {
            text = format!("{} {}. {text}", step.what, self.amount(step.done));
        }
        text
    }

    /// Returns an amount that one with its unit follows.
    fn number(&self, units: u64) -> String {
        match self.unit {
            Unit::Bytes => size(units),
            Unit::Revisions => units.to_string(),
        }
    }

    fn amount(&self, units: u64) -> String {
        match self.unit {
            Unit::Bytes => size(units),
            Unit::Revisions if units == 1 => "1 revision".to_owned(),
            Unit::Revisions => format!("{units} revisions"),
        }
    }
}

impl Step {
    /// Returns the time that the rest takes if it takes as long as what was done in this step.
    fn rest(&self, now: Instant) -> Option<Duration> {
        let rest = self.total?.saturating_sub(self.done);
        let done = self.done.checked_sub(self.done_before).filter(|done| *done > 0)?;
        let time = now.saturating_duration_since(self.start).as_millis();
        let millis = time.saturating_mul(u128::from(rest)) / u128::from(done);
        Some(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
    }
}

/// Returns bytes as `12.3 MiB`.
fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = u128::from(bytes) * 10 / u128::from(unit);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{} MiB", tenths(1 << 20)),
        _ => format!("{} GiB", tenths(1 << 30)),
    }
}

/// Returns bytes per second as `12.3 MiB/s`.
fn rate(bytes: u64, time: Duration) -> String {
    let millis = time.as_millis().max(1);
    let tenths = u128::from(bytes) * 10_000 / (millis << 20);
    format!("{}.{} MiB/s", tenths / 10, tenths % 10)
}

/// Returns a time as `1:02:03`.
fn hours(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours}:{minutes:02}:{:02}", seconds % 60)
}

/// The time of the first of the two rates.
const WINDOW: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_line_has_both_rates_and_the_rest() {
        let start = Instant::now();
        let mut estimate = Estimate::new(Unit::Revisions, start);
        assert_eq!(estimate.text(start), None);
        estimate.step("Verified", 100, Some(1100), start);
        assert_eq!(
            estimate.text(start).expect("a step"),
            "Verified 100 of 1100 revisions (9 %), 0.0 MiB/s, 0.0 MiB/s in all"
        );
        // 1 MiB/s for a minute, then 3 MiB/s.
        for second in 1..=90u64 {
            let read = second.min(60) + 3 * second.saturating_sub(60);
            estimate.sample(read << 20, start + seconds(second));
        }
        estimate.set(400);
        assert_eq!(
            estimate.text(start + seconds(90)).expect("a step"),
            "Verified 400 of 1100 revisions (36 %), 3.0 MiB/s, 1.6 MiB/s in all, 0:03:30 left"
        );
        estimate.set(1100);
        assert_eq!(
            estimate.totals(start + seconds(90)),
            "Verified 1100 revisions. Read 150.0 MiB in 0:01:30, 1.6 MiB/s"
        );
    }

    #[test]
    fn an_input_of_unknown_length_has_no_rest() {
        let start = Instant::now();
        let mut estimate = Estimate::new(Unit::Bytes, start);
        estimate.step("Loaded", 0, None, start);
        estimate.sample(5 << 30, start + seconds(100));
        assert_eq!(
            estimate.text(start + seconds(100)).expect("a step"),
            "Loaded 5.0 GiB, 51.2 MiB/s, 51.2 MiB/s in all"
        );
        assert_eq!(
            estimate.totals(start + seconds(100)),
            "Read 5.0 GiB in 0:01:40, 51.2 MiB/s"
        );
    }

    #[test]
    fn the_largest_values_have_a_text() {
        let start = Instant::now();
        let mut estimate = Estimate::new(Unit::Revisions, start);
        estimate.step("Verified", 0, Some(u64::MAX), start);
        estimate.set(1);
        estimate.sample(u64::MAX, start);
        assert!(estimate.text(start + seconds(1 << 40)).is_some());
        estimate.step("Verified", 5, Some(0), start);
        estimate.set(4);
        assert!(estimate.text(start).expect("a step").contains("(100 %)"));
        assert_eq!(size(1023), "1 KiB");
    }
}
