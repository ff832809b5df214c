//! Points in time as Subversion stores them.
//!
//! Stored form: `YYYY-MM-DDThh:mm:ss.uuuuuuZ`, UTC, six digits of microseconds, 27 bytes. Readers also accept the
//! form that Subversion wrote before 1.0: `Tue 3 Oct 2000 HH:MM:SS.UUU (day 277, dst 1, gmt_off)`. What a person
//! may type (`{2026-11-21}`) is wider and belongs to the programs.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

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

    /// Returns what a calendar and a clock show in a time zone: the year, and the rest as a time whose own year may be another one,
    /// because the calendar ends with the year 9999. Every 400 years the days of the week and the rules of time zones are the same.
    pub fn in_zone(self, zone: TimeZone) -> (i64, Zoned) {
        let (cycles, micros) = match Timestamp::from_microsecond(self.0) {
            Ok(_) => (0, self.0),
            Err(_) => {
                // The years 3970 to 4369, or before all rules.
                let nearest = if self.0 < 0 { -15 } else { 5 };
                (
                    self.0.div_euclid(CYCLE) - nearest,
                    self.0.rem_euclid(CYCLE) + nearest * CYCLE,
                )
            }
        };
        let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(zone);
        (i64::from(time.year()) + 400 * cycles, time)
    }

    /// Returns the moment at which calendar and clock of a time zone show this, or `None` if they never do.
    pub fn from_zone(shown: DateTime, zone: TimeZone) -> Option<Self> {
        // The last hours of the year 9999 are beyond the moments that have a time zone.
        let cycles = i16::from(shown.year() == 9999);
        let earlier = shown.with().year(shown.year() - 400 * cycles).build().ok()?;
        let time = earlier.to_zoned(zone).ok()?.timestamp();
        Some(Date(time.as_microsecond() + i64::from(cycles) * CYCLE))
    }
}

/// 400 years, microseconds.
const CYCLE: i64 = 146_097 * 86_400 * 1_000_000;

impl fmt::Display for Date {
    /// Prints the stored form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, time) = self.in_zone(TimeZone::UTC);
        let d = time.datetime();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            year,
            d.month(),
            d.day(),
            d.hour(),
            d.minute(),
            d.second(),
            d.subsec_nanosecond() / 1000
        )
    }
}

/// `YYYY-MM-DDThh:mm:ss.uuuuuuZ`; as the incumbent, any number of digits between the marks will do, and what follows the `Z`
/// does not matter.
fn parse_stored(text: &[u8]) -> Option<Date> {
    let mut rest = text;
    let mut fields = [0; 7];
    for (field, mark) in fields.iter_mut().zip(*b"--T::.Z") {
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        *field = if end == 0 { 0 } else { number(&rest[..end])? };
        rest = rest[end..].strip_prefix(&[mark])?;
    }
    let [year, month, day, hour, minute, second, micros] = fields;
    from_civil(year, month, day, [hour, minute, second], micros)
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

/// The parts need not be in their usual ranges, except for the month: the 31st of April is the 1st of May. Nothing is before 1970.
fn from_civil(year: i64, month: i64, day: i64, clock: [i64; 3], micros: i64) -> Option<Date> {
    if !(1..=12).contains(&month) {
        return None;
    }
    // Years that begin in March end with the leap day.
    let year = if month < 3 { year - 1 } else { year };
    let since_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = 365 * year + leap_days + (153 * since_march + 2) / 5 + day - 1 - DAYS_BEFORE_1970;
    if days < 0 {
        return None;
    }
    let seconds = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2];
    Some(Date(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
}

/// Days from the 1st of March of the year 0 to 1970.
const DAYS_BEFORE_1970: i64 = 719_468;

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
    fn years_may_have_more_digits() {
        for text in [
            "9999-12-30T22:00:00.999999Z",
            "9999-12-31T23:59:59.999999Z",
            "10000-01-01T00:00:00.000000Z",
            "148108-02-29T12:13:14.000015Z",
            "292277-01-09T04:00:54.775807Z",
        ] {
            let date = Date::parse(text.as_bytes()).expect(text);
            assert_eq!(date.to_string(), text);
        }
        let (year, time) = Date(i64::MIN).in_zone(TimeZone::UTC);
        assert_eq!((year, time.month(), time.day()), (-290_308, 12, 21));
    }

    #[test]
    fn the_form_before_1_0_is_read() {
        let date = Date::parse(b"Sat 5 Aug 2000 13:07:22.123456 (day 217, dst 1, gmt_off -25200)");
        assert_eq!(date.expect("a date").to_string(), "2000-08-05T20:07:22.123456Z");
    }

    /// As `svn info` prints what `svnadmin setrevprop` accepted.
    #[test]
    fn odd_dates_are_read_as_by_the_real_tool() {
        for (text, same) in [
            ("1970-01-01T00:00:00.0Z", "1970-01-01T00:00:00.000000Z"),
            ("2020-02-29T23:59:60.000001Z", "2020-03-01T00:00:00.000001Z"),
            ("2019-02-31T24:60:99.5Z", "2019-03-04T01:01:39.000005Z"),
            ("2020-01-T:0:.Z", "2019-12-31T00:00:00.000000Z"),
            ("2020-1-1T0:0:0.12Z", "2020-01-01T00:00:00.000012Z"),
            (
                "2020-012-01T00:00:00.1234567Z and more",
                "2020-12-01T00:00:01.234567Z",
            ),
            ("2000-12-31T00:00:00.999999Z", "2000-12-31T00:00:00.999999Z"),
            ("1999-03-01T00:00:00.999999Z", "1999-03-01T00:00:00.999999Z"),
        ] {
            assert_eq!(
                Date::parse(text.as_bytes()).expect(text).to_string(),
                same,
                "{text}"
            );
        }
        for bogus in [
            "1969-12-31T23:59:59.999999Z",
            "1970-01-00T24:00:00.0Z",
            "1020-02-29T03:30:00.123456Z",
            "2020-13-01T00:00:00.0Z",
            "2020-00-01T00:00:00.0Z",
            "2020-01-01T00:00:00Z",
            "2020-01-01T00:00:00.0",
            "2020-01-01 00:00:00.0Z",
            " 2020-01-01T00:00:00.0Z",
            "2020-01-01T00:-1:00.0Z",
            "Sat 5 Aug 1960 13:07:22.123456 (day 217, dst 1, gmt_off 0)",
        ] {
            assert!(Date::parse(bogus.as_bytes()).is_err(), "{bogus}");
        }
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
