//! Values in the configuration file: sizes (`"1 GiB"`), times (`"30s"`), and a string or a list of strings.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor, value::SeqAccessDeserializer};

/// A number of bytes: `4096`, `"64 KiB"`, `"1.5 GB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A span of time: `"30s"`, `"5 min"`, `"1h 30m"`; `None` for `"never"`, which switches a limit off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Option<Duration>);

/// One string, or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}' is no size such as \"64 KiB\" or \"1 GiB\"");
        let (number, unit) = number_and_unit(text).ok_or_else(expected)?;
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" | "byte" | "bytes" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(expected()),
        };
        scaled(number, factor)
            .map(Size)
            .ok_or_else(|| format!("'{text}' is too large"))
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}' is no time such as \"30s\", \"5 min\" or \"never\"");
        if text.eq_ignore_ascii_case("never") {
            return Ok(Period(None));
        }
        let mut rest = text.trim();
        let mut sum = Duration::ZERO;
        if rest.is_empty() {
            return Err(expected());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| c != '.' && !c.is_ascii_digit());
            // A number without a unit is an error.
            let after = &rest[digits.ok_or_else(expected)?..];
            let letters = after.trim_start();
            let end = letters
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(letters.len());
            let (unit, next) = letters.split_at(end);
            let millis: u64 = match unit {
                "ms" => 1,
                "s" | "sec" | "second" | "seconds" => 1_000,
                "m" | "min" | "minute" | "minutes" => 60_000,
                "h" | "hour" | "hours" => 3_600_000,
                "d" | "day" | "days" => 86_400_000,
                _ => return Err(expected()),
            };
            let number = &rest[..rest.len() - after.len()];
            let span = scaled(number, millis).ok_or_else(expected)?;
            sum = sum
                .checked_add(Duration::from_millis(span))
                .ok_or_else(|| format!("'{text}' is too long"))?;
            rest = next.trim_start();
        }
        Ok(Period(Some(sum)))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 >> shift != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(span) = self.0 else {
            return f.write_str("never");
        };
        let millis = span.as_millis();
        for (factor, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
            if millis != 0 && millis.is_multiple_of(factor) {
                return write!(f, "{}{unit}", millis / factor);
            }
        }
        match millis {
            0 => f.write_str("0s"),
            millis => write!(f, "{millis}ms"),
        }
    }
}

fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then_some((number, unit.trim_start()))
}

/// Returns a decimal number times `factor`. Of a fraction only the first three digits count.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, "0"),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let thousandths: String = fraction.chars().chain("00".chars()).take(3).collect();
    let sum = u128::from(whole.parse::<u64>().ok()?) * 1000 + thousandths.parse::<u128>().ok()?;
    u64::try_from(sum * u128::from(factor) / 1000).ok()
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"64 KiB\", or a number of bytes")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Size, E> {
                u64::try_from(number)
                    .map(Size)
                    .map_err(|_| E::custom("a size is not negative"))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "a time such as \"30s\"")
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrManyVisitor;
        impl<'de> Visitor<'de> for OneOrManyVisitor {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrMany, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

fn parsed<'de, D, T>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    struct FromStrVisitor<T>(&'static str, PhantomData<T>);
    impl<T: FromStr<Err = String>> Visitor<'_> for FromStrVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(FromStrVisitor(expected, PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("64 KiB", 65536),
            ("64k", 65536),
            ("1.5 GiB", 3 << 29),
            ("2.5MB", 2_500_000),
            ("1 TiB", 1 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "GiB", "-1", "1 XiB", "1. GiB", "1.x", "99999999 TiB", "1 2"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_parse() {
        for (text, millis) in [
            ("30s", 30_000),
            ("250ms", 250),
            ("5 min", 300_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
            ("2 days", 172_800_000),
            ("1.5s", 1_500),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Period(Some(Duration::from_millis(millis)))),
                "{text}"
            );
        }
        assert_eq!("never".parse(), Ok(Period(None)));
        for text in ["", "30", "s", "1 fortnight", "5 min 3", "1..5s", "-1s"] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }

    #[test]
    fn formatted_values_parse() {
        for bytes in [0, 1, 1023, 1024, 1025, 3 << 20, 1 << 30, 5 << 40, u64::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        for millis in [0, 1, 999, 1000, 1001, 60_000, 90_000, 3_600_000, 86_400_000] {
            let period = Period(Some(Duration::from_millis(millis)));
            assert_eq!(period.to_string().parse(), Ok(period));
        }
    }
}
