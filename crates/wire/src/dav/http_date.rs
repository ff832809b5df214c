//! Dates in header lines: `Sun, 22 Nov 2026 04:20:01 GMT`, whole seconds, always GMT.

use base::Date;

const SECOND: i64 = 1_000_000;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Formats a date for header lines; fractions of a second are dropped.
pub fn format(date: Date) -> String {
    let stored = date.to_string();
    // The year may have more than four digits.
    let (year, rest) = stored.split_once('-').unwrap_or_default();
    let field = |range: std::ops::Range<usize>| rest.get(range).unwrap_or_default();
    let month = field(0..2).parse::<usize>().unwrap_or(1);
    let month = MONTHS.get(month.wrapping_sub(1)).unwrap_or(&MONTHS[0]);
    let days = date.0.div_euclid(86_400 * SECOND).rem_euclid(7);
    let weekday = DAYS[usize::try_from(days).unwrap_or(0)];
    let (day, clock) = (field(3..5), field(6..14));
    format!("{weekday}, {day} {month} {year} {clock} GMT")
}

/// Parses any of the three forms of HTTP; `None` for anything else. The weekday is ignored.
pub fn parse(text: &str) -> Option<Date> {
    let words: Vec<&str> = text
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let (day, month, year, clock) = match *words.as_slice() {
        [_, day, month, year, clock, "GMT"] => (day, month, year, clock),
        [_, month, day, clock, year] => (day, month, year, clock),
        _ => return None,
    };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let year = match year.len() {
        4 => year.to_owned(),
        // Two digits are of the years that were near when this form was in use.
        2 if year < "70" => format!("20{year}"),
        2 => format!("19{year}"),
        _ => return None,
    };
    let clock_is_fine = clock.len() == 8 && clock.split(':').all(|part| part.len() == 2 && digits(part));
    if !digits(day) || !(1..=2).contains(&day.len()) || !digits(&year) || !clock_is_fine {
        return None;
    }
    Date::parse(format!("{year}-{month:02}-{day:0>2}T{clock}.0Z").as_bytes()).ok()
}

/// A date without its fraction of a second.
pub fn whole_seconds(date: Date) -> Date {
    Date(date.0 - date.0.rem_euclid(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_apache_writes_them() {
        let date = Date::parse(b"2026-11-22T04:20:01.993045Z").expect("it is a date");
        assert_eq!(format(date), "Sun, 22 Nov 2026 04:20:01 GMT");
        assert_eq!(parse(&format(date)), Some(whole_seconds(date)));
        assert_eq!(format(Date(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn all_three_forms_are_read() {
        let same = Date(784_111_777 * SECOND);
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(same), "{text}");
        }
        for bad in [
            "",
            "yesterday",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
