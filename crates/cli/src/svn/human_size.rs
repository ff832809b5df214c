//! Sizes of files with a unit, as `-H` prints them: at most three digits and one letter.

/// Returns a size of so many bytes with its unit, as `9.9K`.
pub fn with_unit(bytes: u64) -> String {
    let (number, unit) = scaled(bytes);
    format!("{number}{}", unit.unwrap_or('B'))
}

/// Returns a size of so many bytes with its unit, as `9.9 KiB`.
pub fn with_long_unit(bytes: u64) -> String {
    match scaled(bytes) {
        (number, Some(unit)) => format!("{number} {unit}iB"),
        (number, None) => format!("{number} B"),
    }
}

/// Returns a size as a number of at most four digits, and the letter of its unit; `None` for bytes.
fn scaled(bytes: u64) -> (String, Option<char>) {
    if bytes < 1000 {
        return (bytes.to_string(), None);
    }
    let (mut unit, mut order) = (1024u64, 0);
    while order + 1 < UNITS.len() && bytes >= unit.saturating_mul(1000) {
        unit *= 1024;
        order += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    let size = bytes as f64 / unit as f64;
    let digits = usize::from(size < 9.95);
    (format!("{size:.digits$}"), Some(UNITS[order]))
}

const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];

#[cfg(test)]
mod tests {
    use super::*;

    /// From the output of `svn list -vH` 1.14.2.
    #[test]
    fn sizes_round_as_the_incumbent_rounds_them() {
        for (bytes, text) in [
            (0, "0B"),
            (999, "999B"),
            (1000, "1.0K"),
            (1075, "1.0K"),
            (1076, "1.1K"),
            (10188, "9.9K"),
            (10189, "10K"),
            (1_023_487, "999K"),
            (1_023_488, "1000K"),
            (1_023_999, "1000K"),
            (1_024_000, "1.0M"),
            (10_485_759, "10M"),
            (u64::MAX, "16384P"),
        ] {
            assert_eq!(with_unit(bytes), text, "{bytes}");
        }
    }
}
