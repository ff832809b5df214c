//! Dates as the tools print them.

use base::Date;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats a date in the local time zone, as `2026-11-21 19:25:55 +0000 (Sat, 21 Nov 2026)`.
pub fn human(date: Date) -> String {
    let stamp = Timestamp::from_microsecond(date.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let zoned = stamp.to_zoned(TimeZone::system());
    zoned.strftime("%Y-%m-%d %H:%M:%S %z (%a, %d %b %Y)").to_string()
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
