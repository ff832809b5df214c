//! The local time zone, by the rules of the C library: `TZ` is the name of a file of the zone database, or a description in the form of
//! POSIX. Anything else is UTC.
//!
//! `jiff` reads both, but no description without rules for daylight saving time (`CET-1CEST`) and no name that is a path in the database
//! (`posix/Europe/Berlin`), and it takes names in any case. The C library also reads numbers that are too large, as the largest that it knows.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use jiff::tz::{Offset, TimeZone};

/// Returns the local time zone.
pub fn local() -> TimeZone {
    LOCAL.clone()
}

static LOCAL: LazyLock<TimeZone> = LazyLock::new(|| match std::env::var("TZ") {
    Ok(text) => named(text.strip_prefix(':').unwrap_or(&text)),
    Err(std::env::VarError::NotPresent) => TimeZone::system(),
    Err(std::env::VarError::NotUnicode(_)) => TimeZone::UTC,
});

/// Returns an offset as dates have it: `+0100`. Seconds are dropped.
pub fn shown_offset(offset: Offset) -> String {
    let sign = if offset.seconds() < 0 { '-' } else { '+' };
    let minutes = offset.seconds().unsigned_abs() / 60;
    format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
}

/// Returns the zone with this name or description.
fn named(text: &str) -> TimeZone {
    let database = std::env::var_os("TZDIR").filter(|dir| !dir.is_empty());
    let database = database.unwrap_or_else(|| "/usr/share/zoneinfo".into());
    // An absolute name replaces the directory.
    let path = Path::new(&database).join(text);
    let zone = read(&path).and_then(|bytes| TimeZone::tzif(text, &bytes).ok());
    zone.or_else(|| TimeZone::posix(&posix(text)?).ok())
        .unwrap_or(TimeZone::UTC)
}

/// Reads a file of the zone database.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The largest file of the database has a few KiB.
const MAX_FILE: u64 = 1 << 20;

/// Returns a description in the form that POSIX allows: with rules, if there is daylight saving time, and with offsets within its limits.
fn posix(text: &str) -> Option<String> {
    let (standard, rest) = name(text)?;
    let (offset, rest) = offset(rest)?;
    let mut out = format!("{standard}{}", shown(offset));
    let Some((summer, rest)) = name(rest) else {
        return rest.is_empty().then_some(out);
    };
    out.push_str(summer);
    let (summer_offset, rest) = self::offset(rest).unwrap_or((offset - 3600, rest));
    out.push_str(&shown(summer_offset));
    let rules = match rest.strip_prefix(',') {
        Some(rules) if TimeZone::posix(&format!("{out},{rules}")).is_ok() => rules,
        _ => DEFAULT_RULES,
    };
    Some(format!("{out},{rules}"))
}

/// Those of the United States.
const DEFAULT_RULES: &str = "M3.2.0,M11.1.0";

/// Splits the name of a zone from the beginning of a description: three letters at least, or anything in angle brackets.
fn name(text: &str) -> Option<(&str, &str)> {
    let length = match text.strip_prefix('<') {
        Some(quoted) => quoted.find('>')? + 2,
        None => text
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(text.len()),
    };
    (length >= 3).then(|| text.split_at(length))
}

/// Splits an offset from the beginning of a description, in seconds to the west. Numbers that are too large are taken for the largest.
fn offset(text: &str) -> Option<(i32, &str)> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut seconds = 0;
    for (nth, (unit, most)) in [(3600, 24), (60, 59), (1, 59)].into_iter().enumerate() {
        let digits = match nth {
            0 => Some(rest),
            _ => rest.strip_prefix(':'),
        };
        let Some(digits) = digits else { break };
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if length == 0 {
            match nth {
                0 => return None,
                _ => break,
            }
        }
        let number: i32 = digits[..length].parse().unwrap_or(most);
        seconds += unit * number.min(most);
        rest = &digits[length..];
    }
    Some((sign * seconds, rest))
}

/// Returns an offset as descriptions have it.
fn shown(offset: i32) -> String {
    let sign = if offset < 0 { "-" } else { "" };
    let seconds = offset.unsigned_abs();
    format!(
        "{sign}{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_get_rules_and_limits() {
        for (text, expected) in [
            ("CET-1CEST", Some("CET-1:00:00CEST-2:00:00,M3.2.0,M11.1.0")),
            ("PST8PDT4", Some("PST8:00:00PDT4:00:00,M3.2.0,M11.1.0")),
            ("ABC5:30:15", Some("ABC5:30:15")),
            ("ABC-25:99", Some("ABC-24:59:00")),
            ("ABC-3:", None),
            ("ABC3 DEF", None),
            ("<+05>-5", Some("<+05>-5:00:00")),
            ("EST5EDT,J60,J300", Some("EST5:00:00EDT4:00:00,J60,J300")),
            ("ABC-3DEF,M3.2.0", Some("ABC-3:00:00DEF-4:00:00,M3.2.0,M11.1.0")),
            ("XX3", None),
            ("ABC", None),
            ("", None),
        ] {
            assert_eq!(posix(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn offsets_are_shown_without_seconds() {
        for (seconds, expected) in [
            (0, "+0000"),
            (-(5 * 3600 + 30 * 60 + 15), "-0530"),
            (89_999, "+2459"),
            (-59, "-0000"),
        ] {
            let offset = Offset::from_seconds(seconds).expect("a possible offset");
            assert_eq!(shown_offset(offset), expected);
        }
    }
}
