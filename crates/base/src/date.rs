//! Points in time as Subversion stores them.
//!
//! Stored form: `YYYY-MM-DDThh:mm:ss.uuuuuuZ`, UTC, six digits of microseconds, 27 bytes. Readers also accept the
//! form that Subversion wrote before 1.0: `Tue 3 Oct 2000 HH:MM:SS.UUU (day 277, dst 1, gmt_off)`. What a person
//! may type (`{2026-11-21}`) is wider and belongs to the programs.

use std::fmt;

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i64);

impl Date {
    /// Parses either stored form.
    ///
    /// # Errors
    /// `BAD_DATE` if it is neither or no real date.
    pub fn parse(text: &[u8]) -> Result<Self> {
        parse_stored(text)
            .or_else(|| parse_ancient(text))
            .ok_or_else(|| Error::bare(Code::BAD_DATE))
    }
}

impl fmt::Display for Date {
    /// Prints the stored form. Dates outside the years 0 to 9999 (never written by anyone) print as the epoch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH);
        let d = when.to_zoned(TimeZone::UTC).datetime();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            d.year(),
            d.month(),
            d.day(),
            d.hour(),
            d.minute(),
            d.second(),
            d.subsec_nanosecond() / 1000
        )
    }
}

fn parse_stored(text: &[u8]) -> Option<Date> {
    let text = text.strip_suffix(b"Z")?;
    if text.len() < 20 || text[4] != b'-' || text[7] != b'-' || text[10] != b'T' || text[13] != b':' {
        return None;
    }
    if text[16] != b':' || text[19] != b'.' {
        return None;
    }
    let fraction = &text[20..];
    if fraction.is_empty() || fraction.len() > 6 || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut micros = number(fraction)?;
    for _ in fraction.len()..6 {
        micros *= 10;
    }
    from_civil(
        number(&text[..4])?,
        number(&text[5..7])?,
        number(&text[8..10])?,
        [
            number(&text[11..13])?,
            number(&text[14..16])?,
            number(&text[17..19])?,
        ],
        micros,
    )
}

/// `Sat 5 Aug 2000 13:07:22.123456 (day 217, dst 1, gmt_off -25200)`; the clock part is local time, so many seconds
/// east of UTC (as `svnlook date` of 1.14.2 reads it).
fn parse_ancient(text: &[u8]) -> Option<Date> {
    let text = std::str::from_utf8(text).ok()?;
    let (stamp, zone) = text.split_once(" (")?;
    let (_, offset) = zone.split_once("gmt_off ")?;
    let offset: i64 = offset.trim_end_matches(')').trim().parse().ok()?;
    let mut words = stamp.split_ascii_whitespace();
    words.next()?;
    let day = number(words.next()?.as_bytes())?;
    let month_name = words.next()?;
    let month = MONTHS.iter().position(|m| *m == month_name)? as i64 + 1;
    let year = number(words.next()?.as_bytes())?;
    let (clock, fraction) = words.next()?.split_once('.')?;
    let mut parts = clock.split(':').map(|p| number(p.as_bytes()));
    let clock = [parts.next()??, parts.next()??, parts.next()??];
    let Date(local) = from_civil(year, month, day, clock, number(fraction.as_bytes())?)?;
    Some(Date(local.checked_sub(offset.checked_mul(1_000_000)?)?))
}

fn from_civil(year: i64, month: i64, day: i64, clock: [i64; 3], micros: i64) -> Option<Date> {
    let clock = clock.map(|part| i8::try_from(part).unwrap_or(-1));
    let civil = civil::DateTime::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        clock[0],
        clock[1],
        clock[2].min(59),
        i32::try_from(micros).ok()?.checked_mul(1000)?,
    )
    .ok()?;
    Some(Date(
        civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond(),
    ))
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_form_round_trips() {
        let text = "2026-11-21T19:24:27.317017Z";
        assert_eq!(Date::parse(text.as_bytes()).expect("a date").to_string(), text);
        assert_eq!(Date(0).to_string(), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn the_form_before_1_0_is_read() {
        let date = Date::parse(b"Sat 5 Aug 2000 13:07:22.123456 (day 217, dst 1, gmt_off -25200)");
        assert_eq!(date.expect("a date").to_string(), "2000-08-05T20:07:22.123456Z");
    }

    #[test]
    fn nonsense_is_a_bogus_date() {
        for bad in [
            &b""[..],
            b"today",
            b"2026-13-01T00:00:00.000000Z",
            b"2026-11-21T19:24:27Z",
            b"\xff",
        ] {
            assert_eq!(Date::parse(bad).expect_err("no date").code(), Code::BAD_DATE);
        }
    }
}
