//! `Range`: a part of a text instead of all of it.

use std::ops::Range;

/// The part of a text that a client requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole text: there is no range, or one that is not understood.
    Whole,
    /// These bytes; not empty.
    Bytes(Range<u64>),
    /// A part after the end (416).
    Nothing,
}

/// Parses `Range` for a text of `size` bytes. A request for several ranges gets the whole, as HTTP allows.
pub fn parse(header: &str, size: u64) -> RequestedRange {
    let Some(spec) = header.trim().strip_prefix("bytes=") else {
        return RequestedRange::Whole;
    };
    let number = |text: &str| -> Option<u64> {
        let fine = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number too long for us is behind the end of any text.
        fine.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match spec.trim().split_once('-') {
        Some(("", last)) => match number(last) {
            Some(last) => size.saturating_sub(last)..size,
            None => return RequestedRange::Whole,
        },
        Some((first, "")) => match number(first) {
            Some(first) => first..size,
            None => return RequestedRange::Whole,
        },
        Some((first, last)) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => first..size.min(last.saturating_add(1)),
            _ => return RequestedRange::Whole,
        },
        None => return RequestedRange::Whole,
    };
    match range.start < range.end {
        true => RequestedRange::Bytes(range),
        false => RequestedRange::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end() {
        for (header, expected) in [
            ("bytes=0-0", RequestedRange::Bytes(0..1)),
            ("bytes=2-", RequestedRange::Bytes(2..10)),
            ("bytes=-3", RequestedRange::Bytes(7..10)),
            ("bytes=-30", RequestedRange::Bytes(0..10)),
            ("bytes=5-99999999999999999999999", RequestedRange::Bytes(5..10)),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=99999999999999999999999-", RequestedRange::Nothing),
            ("bytes=5-2", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
        ] {
            assert_eq!(parse(header, 10), expected, "{header}");
        }
        assert_eq!(parse("bytes=0-", 0), RequestedRange::Nothing);
    }
}
