//! Dates as the tools print them.

use base::Date;

use crate::time_zone;

/// Formats a date in the local time zone, as `2026-11-21 19:25:55 +0000 (Sat, 21 Nov 2026)`.
pub fn human(date: Date) -> String {
    let (year, time) = date.in_zone(time_zone::local());
    let (clock, day) = (time.strftime("%m-%d %H:%M:%S"), time.strftime("%a, %d %b"));
    let offset = time_zone::shown_offset(time.offset());
    format!("{year:04}-{clock} {offset} ({day} {year:04})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_formatted_in_english() {
        let text = human(Date(0));
        assert!(text.contains("1970") || text.contains("1969"), "{text}");
        assert!(
            text.ends_with("(Thu, 01 Jan 1970)") || text.ends_with("(Wed, 31 Dec 1969)"),
            "{text}"
        );
    }
}
