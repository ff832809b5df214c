//! Removes the parts of a tool's output that may differ between two runs.

/// Replaces each `from` by its `to`, longest first.
pub fn replace(text: &str, pairs: &[(&str, &str)]) -> String {
    let mut pairs: Vec<_> = pairs.iter().filter(|(from, _)| !from.is_empty()).collect();
    pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    pairs
        .into_iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Returns the sorted lines, for output without a defined order (property lists, `lstxns`).
pub fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Replaces UUIDs by `<uuid>`.
pub fn mask_uuids(text: &str) -> String {
    mask(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "<uuid>")
}

/// Replaces stored dates (`2026-11-21T19:24:27.317017Z`) and the long printed form by `<date>`.
pub fn mask_dates(text: &str) -> String {
    let text = mask(text, "9999-99-99T99:99:99.999999Z", "<date>");
    mask(&text, "9999-99-99 99:99:99 +9999 (aaa, 99 aaa 9999)", "<date>")
}

/// Replaces text that matches a shape: `9` is a digit, `x` a hexadecimal digit, `a` a letter, any other character
/// itself.
fn mask(text: &str, shape: &str, by: &str) -> String {
    let bytes = text.as_bytes();
    let shape = shape.as_bytes();
    let fits = |at: usize| {
        bytes.get(at..at + shape.len()).is_some_and(|window| {
            window.iter().zip(shape).all(|(byte, shape)| match shape {
                b'9' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit(),
                b'a' => byte.is_ascii_alphabetic(),
                other => byte == other,
            })
        })
    };
    // Few texts have any: the search for one of its own characters is what takes the time, and the standard library's is fast.
    let (own, sign) = shape
        .iter()
        .enumerate()
        .find(|(_, sign)| !b"9xa".contains(sign))
        .expect("because each shape has a character of its own");
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (found, _) in text.match_indices(char::from(*sign)) {
        match found.checked_sub(own) {
            Some(at) if at >= copied && fits(at) => {
                out.push_str(&text[copied..at]);
                out.push_str(by);
                copied = at + shape.len();
            }
            _ => {}
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Replaces the names of transactions in messages (`transaction '9-n'`, `transactions/9-n.txn`), in URLs (`/txr/9-n/`) and
/// in the arguments of hooks (`<9-n>`).
pub fn mask_transactions(text: &str) -> String {
    let is_name = |name: &str| {
        name.split_once('-').is_some_and(|(rev, number)| {
            let is_number = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
            let is_rev = !rev.is_empty() && rev.bytes().all(|byte| byte.is_ascii_digit());
            is_rev && !number.is_empty() && number.bytes().all(is_number)
        })
    };
    let mut out = text.to_owned();
    for (before, after, shown) in [
        ("ransaction '", '\'', "ransaction '<txn>"),
        ("/transactions/", '.', "/transactions/<txn>"),
        ("/txr/", '/', "/txr/<txn>"),
        ("/txr/", '\'', "/txr/<txn>"),
        ("<", '>', "<txn"),
    ] {
        let mut parts = out.split(before);
        let mut masked = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part.split_once(after) {
                Some((name, rest)) if is_name(name) => {
                    masked.push_str(shown);
                    masked.push(after);
                    masked.push_str(rest);
                }
                _ => {
                    masked.push_str(before);
                    masked.push_str(part);
                }
            }
        }
        out = masked;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_masked_wherever_they_stand() {
        let text = "ü 1e720ca1-0000-4000-8000-00000000000f at 2026-11-21T19:24:27.317017Z.";
        assert_eq!(mask_dates(&mask_uuids(text)), "ü <uuid> at <date>.");
        assert_eq!(
            mask_dates("Created: 2026-11-21 19:25:55 +0000 (Sat, 21 Nov 2026)"),
            "Created: <date>"
        );
    }

    #[test]
    fn longer_texts_are_replaced_first() {
        assert_eq!(replace("/a/b /a", &[("/a", "A"), ("/a/b", "AB")]), "AB A");
    }
}
