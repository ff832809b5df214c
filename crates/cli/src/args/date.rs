//! Dates as they are typed between braces: `{2026-11-21}`, `{10:20}`, `{3 days ago}`.
//!
//! More forms are accepted than the stored one, and exactly those that the incumbent accepts. All other text is
//! refused, so that a typing error never selects another day. Times without a zone are local.

use base::Date;
use jiff::civil;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::time_zone;

/// Parses a date; `None` if it matches no template, does not exist or is before 1970.
pub fn parse(text: &str) -> Option<Date> {
    parse_at(text, &Zoned::new(Timestamp::now(), time_zone::local()))
}

fn parse_at(text: &str, now: &Zoned) -> Option<Date> {
    let micros = match ago(text) {
        Some(seconds) => now
            .timestamp()
            .as_microsecond()
            .checked_sub(seconds.checked_mul(1_000_000)?)?,
        None => moment(text, now)?.0,
    };
    (micros >= 0).then_some(Date(micros))
}

/// Returns the seconds of `N <unit>s ago`.
fn ago(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace();
    let (count, unit) = (words.next()?, words.next()?);
    if words.next() != Some("ago") || words.next().is_some() {
        return None;
    }
    let count = match COUNTS.iter().position(|word| *word == count) {
        Some(at) => i64::try_from(at).ok()?,
        None => number(count, 1, 9)?,
    };
    let (_, seconds) = UNITS.iter().find(|(name, _)| unit.starts_with(name))?;
    count.checked_mul(*seconds)
}

fn moment(text: &str, now: &Zoned) -> Option<Date> {
    if let Some(found) = time_today(text, now) {
        return Some(found);
    }
    let split = text.find(['T', ' ']).unwrap_or(text.len());
    let (day, rest) = text.split_at(split);
    let (day, dashed) = date(day)?;
    let midnight = Clock::default();
    if rest.is_empty() {
        return local(day, midnight, now);
    }
    let spaced = rest.starts_with(' ');
    let rest = &rest[1..];
    if spaced && !dashed {
        return None;
    }
    let zone_at = rest
        .find(if spaced { &[' '][..] } else { &['Z', '+', '-'][..] })
        .unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let time = if dashed { clock(time)? } else { packed_clock(time)? };
    let zone = match (zone, spaced) {
        ("", _) => return local(day, time, now),
        ("Z", false) => Offset::UTC,
        (zone, false) => offset(zone, true)?,
        (zone, true) => offset(&zone[1..], false)?,
    };
    at(day, time, &TimeZone::fixed(zone))
}

/// Parses `hh:mm[:ss[.frac]]` or a single digit, the hour, as a time of today.
fn time_today(text: &str, now: &Zoned) -> Option<Date> {
    let time = match number(text, 1, 1) {
        Some(hour) => Clock {
            hour,
            ..Clock::default()
        },
        None => clock(text)?,
    };
    local(now.date(), time, now)
}

/// Parses `YYYY-M[M]-D[D]` or `YYYYMMDD`; the second value is true for the first form.
fn date(text: &str) -> Option<(civil::Date, bool)> {
    let dashed = text.contains('-');
    let (year, month, day) = if dashed {
        let mut parts = text.split('-');
        let found = (
            number(parts.next()?, 4, 4)?,
            number(parts.next()?, 1, 2)?,
            number(parts.next()?, 1, 2)?,
        );
        if parts.next().is_some() {
            return None;
        }
        found
    } else {
        let all = number(text, 8, 8)?;
        (all / 10_000, all / 100 % 100, all % 100)
    };
    let date = civil::Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    );
    Some((date.ok()?, dashed))
}

/// A time of day. The second can be 60, a leap second.
#[derive(Clone, Copy, Default)]
struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

impl Clock {
    fn checked(self) -> Option<Self> {
        (self.hour < 24 && self.minute < 60 && self.second <= 60).then_some(self)
    }
}

/// Parses `h[h]:mm[:ss[.frac]]`.
fn clock(text: &str) -> Option<Clock> {
    let (time, micros) = fraction(text)?;
    let mut parts = time.split(':');
    let hour = number(parts.next()?, 1, 2)?;
    let minute = number(parts.next()?, 2, 2)?;
    let second = match parts.next() {
        Some(part) => number(part, 2, 2)?,
        None if micros.is_some() => return None,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    let micros = micros.unwrap_or(0);
    Clock {
        hour,
        minute,
        second,
        micros,
    }
    .checked()
}

/// Parses `hhmm[ss[.frac]]`.
fn packed_clock(text: &str) -> Option<Clock> {
    let (time, micros) = fraction(text)?;
    let all = number(time, 4, 6).filter(|_| time.len() != 5)?;
    let all = match time.len() {
        4 if micros.is_some() => return None,
        4 => all * 100,
        _ => all,
    };
    Clock {
        hour: all / 10_000,
        minute: all / 100 % 100,
        second: all % 100,
        micros: micros.unwrap_or(0),
    }
    .checked()
}

/// Splits off `.frac` or `,frac` and returns it in microseconds.
fn fraction(text: &str) -> Option<(&str, Option<i64>)> {
    let Some(at) = text.find(['.', ',']) else {
        return Some((text, None));
    };
    let digits = &text[at + 1..];
    let mut micros = number(digits, 1, 6)?;
    for _ in digits.len()..6 {
        micros *= 10;
    }
    Some((&text[..at], Some(micros)))
}

/// Parses `±hh`, `±hhmm` or, with `colon`, `±hh:mm`.
fn offset(text: &str, colon: bool) -> Option<Offset> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let text = &text[1..];
    let (hours, minutes) = match (text.len(), text.split_once(':')) {
        (2, None) => (text, "00"),
        (4, None) => text.split_at_checked(2)?,
        (5, Some(parts)) if colon => parts,
        _ => return None,
    };
    let (hours, minutes) = (number(hours, 2, 2)?, number(minutes, 2, 2)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * i32::try_from(hours * 3600 + minutes * 60).ok()?).ok()
}

fn local(day: civil::Date, time: Clock, now: &Zoned) -> Option<Date> {
    at(day, time, now.time_zone())
}

fn at(day: civil::Date, time: Clock, zone: &TimeZone) -> Option<Date> {
    let small = |number| i8::try_from(number).ok();
    let micros = i32::try_from(time.micros).ok()?;
    // A leap second becomes the next ordinary second.
    let leap = i64::from(time.second == 60);
    let shown = day.at(
        small(time.hour)?,
        small(time.minute)?,
        small(time.second - leap)?,
        micros * 1000,
    );
    let Date(micros) = Date::from_zone(shown, zone.clone())?;
    Some(Date(micros + leap * 1_000_000))
}

/// Parses a number of `least` to `most` digits.
fn number(text: &str, least: usize, most: usize) -> Option<i64> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

const COUNTS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// A unit's name (more letters may follow) and its seconds. A month has 30 days, a year 365.
const UNITS: [(&str, i64); 6] = [
    ("minute", 60),
    ("hour", 3600),
    ("day", 86_400),
    ("week", 604_800),
    ("month", 30 * 86_400),
    ("year", 365 * 86_400),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        let zone = TimeZone::fixed(jiff::tz::offset(-5));
        let now = civil::date(2026, 11, 21)
            .at(21, 45, 0, 0)
            .to_zoned(zone)
            .expect("a moment");
        parse_at(text, &now).map(|date| date.to_string())
    }

    #[test]
    fn every_template_parses() {
        for (text, stamp) in [
            ("2020-01-02", "2020-01-02T05:00:00.000000Z"),
            ("2020-1-2", "2020-01-02T05:00:00.000000Z"),
            ("20200102", "2020-01-02T05:00:00.000000Z"),
            ("2020-01-02T10:20", "2020-01-02T15:20:00.000000Z"),
            ("2020-01-02T1:20", "2020-01-02T06:20:00.000000Z"),
            ("2020-01-02T10:20:30.5Z", "2020-01-02T10:20:30.500000Z"),
            ("2020-01-02T10:20:30,25Z", "2020-01-02T10:20:30.250000Z"),
            ("2020-01-02T10:20+02:30", "2020-01-02T07:50:00.000000Z"),
            ("2020-01-02T10:20-0230", "2020-01-02T12:50:00.000000Z"),
            ("20200102T102030+02", "2020-01-02T08:20:30.000000Z"),
            ("20200102T1020", "2020-01-02T15:20:00.000000Z"),
            ("2020-01-02 10:20", "2020-01-02T15:20:00.000000Z"),
            ("2020-01-02 10:20:30.123456 +0230", "2020-01-02T07:50:30.123456Z"),
            ("10:20", "2026-11-21T15:20:00.000000Z"),
            ("7", "2026-11-21T12:00:00.000000Z"),
            ("3 days ago", "2026-11-19T02:45:00.000000Z"),
            ("two months ago", "2026-09-23T02:45:00.000000Z"),
            ("2020-12-31T23:59:60Z", "2021-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:60Z", "10000-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59-14:00", "10000-01-01T13:59:00.000000Z"),
            ("9999-12-31", "9999-12-31T05:00:00.000000Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(stamp), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "10",
            "2020",
            "2020-01",
            "2020-01-01T",
            "2020-01-01T10",
            "2020-01-01Z",
            "20200101Z",
            "1960-01-01",
            "2020-01-01 10:20+02",
            "2020-01-01 10:20 +02:00",
            "2020-01-01T10:20 +02",
            "2020-01-01T10:20+2:30",
            "20200101 10:20",
            "20200101T1:20",
            "20200101T10:20",
            "2020-01-01T1020",
            "10:2",
            "10:20Z",
            "10:60",
            "24:00",
            "2020-02-30",
            "2019-02-29",
            "2020-00-10",
            "2020-01-01T10:20:30.1234567Z",
            "2020-01-01  10:20",
            " 2020-01-01",
            "3 days",
            "a day ago",
            "3 DAYS AGO",
            "5 seconds ago",
            "100 years ago",
            "yesterday",
            "2020-01-01T10:20+99",
            "é",
            "2020-01-01T10:20+éé",
            "2020-01-01 é",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
