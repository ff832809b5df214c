//! `Accept-Encoding` and `Accept`: what a client accepts, with its preferences.

/// One thing of a list, with its quality in thousandths.
type WeightedValue<'a> = (&'a str, u16);

/// The svndiff version to send: 2, 1 or 0. `accept_encoding` is the header, all of its lines joined; `level` the server's
/// level of compression, 0 to 9.
pub fn svndiff_version(accept_encoding: &str, level: u8) -> u8 {
    if level == 0 {
        return 0;
    }
    let mut best: Option<(u8, u16)> = None;
    for (name, quality) in weighted(accept_encoding) {
        let version = match name {
            "svndiff1" => 1,
            "svndiff2" => 2,
            _ => continue,
        };
        // The quick level means the quick compression, however the client ranks it.
        if version == 2 && level == 1 && quality > 0 {
            return 2;
        }
        if quality > 0 && best.is_none_or(|(_, most)| quality > most) {
            best = Some((version, quality));
        }
    }
    best.map_or(0, |(version, _)| version)
}

/// Returns the weight of `coding` in `Accept-Encoding`, 0 to 1000; `*` applies if it is not named.
pub fn quality(header: &str, coding: &str) -> u16 {
    let mut any = 0;
    for (name, quality) in weighted(header) {
        if name.eq_ignore_ascii_case(coding) {
            return quality;
        }
        if name == "*" {
            any = quality;
        }
    }
    any
}

fn weighted(header: &str) -> impl Iterator<Item = WeightedValue<'_>> {
    header.split(',').filter_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().filter(|name| !name.is_empty())?;
        let quality = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            matches!(key.trim(), "q" | "Q" | "qs").then(|| thousandths(value.trim()))
        });
        Some((name, quality.unwrap_or(1000)))
    })
}

/// Parses a preference such as `0.9`; text that is not a number, and larger numbers, count as 1.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return 1000;
    }
    if whole.bytes().any(|b| b != b'0') {
        return 1000;
    }
    let mut out = 0;
    let mut digits = fraction.bytes();
    for _ in 0..3 {
        out = out * 10 + u16::from(digits.next().unwrap_or(b'0') - b'0');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_svndiff_version_is_the_clients_choice_within_the_servers_level() {
        let near = "gzip,svndiff2;q=0.9,svndiff1;q=0.8,svndiff;q=0.7";
        let far = "gzip,svndiff1;q=0.9,svndiff2;q=0.8,svndiff;q=0.7";
        assert_eq!(svndiff_version(near, 5), 2);
        assert_eq!(svndiff_version(far, 5), 1);
        assert_eq!(svndiff_version(far, 1), 2);
        assert_eq!(svndiff_version(far, 0), 0);
        assert_eq!(svndiff_version("svndiff", 5), 0);
        assert_eq!(svndiff_version("", 5), 0);
        assert_eq!(svndiff_version("svndiff1;q=0", 5), 0);
    }

    #[test]
    fn qualities_are_numbers_between_0_and_1() {
        assert_eq!(quality("gzip;q=0.5, br", "gzip"), 500);
        assert_eq!(quality("gzip;q=0.5, br", "BR"), 1000);
        assert_eq!(quality("*;q=0.1", "gzip"), 100);
        assert_eq!(quality("identity", "gzip"), 0);
        assert_eq!(quality("gzip; q=1.000", "gzip"), 1000);
        assert_eq!(quality("gzip; q=x", "gzip"), 1000);
        assert_eq!(quality("gzip;q=0.0009", "gzip"), 0);
    }
}
