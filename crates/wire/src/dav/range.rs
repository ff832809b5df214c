//! `Range`: a part of a text instead of all of it.

use std::ops::Range;

/// The part of a text that a client requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole text: there is no range, or one that is not understood.
    Whole,
    /// These bytes; not empty.
    Bytes(Range<u64>),
    /// A part after the end (416).
    Nothing,
}

/// Parses `Range` for a text of `size` bytes. A request for several ranges gets the whole, as HTTP allows.
pub fn parse(header: &str, size: u64) -> Part {
    let Some(spec) = header.trim().strip_prefix("bytes=") else {
        return Part::Whole;
    };
    let number = |text: &str| -> Option<u64> {
        let fine = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number too long for us is behind the end of any text.
        fine.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match spec.trim().split_once('-') {
        Some(("", last)) => match number(last) {
            Some(last) => size.saturating_sub(last)..size,
            None => return Part::Whole,
        },
        Some((first, "")) => match number(first) {
            Some(first) => first..size,
            None => return Part::Whole,
        },
        Some((first, last)) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => first..size.min(last.saturating_add(1)),
            _ => return Part::Whole,
        },
        None => return Part::Whole,
    };
    match range.start < range.end {
        true => Part::Bytes(range),
        false => Part::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end() {
        for (header, expected) in [
            ("bytes=0-0", Part::Bytes(0..1)),
            ("bytes=2-", Part::Bytes(2..10)),
            ("bytes=-3", Part::Bytes(7..10)),
            ("bytes=-30", Part::Bytes(0..10)),
            ("bytes=5-99999999999999999999999", Part::Bytes(5..10)),
            ("bytes=10-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=99999999999999999999999-", Part::Nothing),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
        ] {
            assert_eq!(parse(header, 10), expected, "{header}");
        }
        assert_eq!(parse("bytes=0-", 0), Part::Nothing);
    }
}
