//! Glob patterns: `*`, `?`, `[a-z]`, `[!a]` or `[^a]`, and `\` before a literal.
//!
//! They match bytes, not characters, as the incumbent's do: `??` matches one Greek letter. A slash is a byte like any other.
//! A bracket that is never closed, and a `\` at the end, stand for themselves.

/// True if `pattern` matches all of `name`. Takes time proportional to the product of both lengths at worst.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to try again if the part after the last star does not match: the position behind the star, and the first byte that
    // the star does not cover. Each attempt lets the star cover one more byte.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            retry = Some((p, n));
            continue;
        }
        let stepped = match name.get(n) {
            None if p == pattern.len() => return true,
            None => return false,
            Some(byte) => step(&pattern[p..], *byte),
        };
        match (stepped, &mut retry) {
            (Some(used), _) => {
                p += used;
                n += 1;
            }
            (None, Some((after_star, start))) => {
                *start += 1;
                (p, n) = (*after_star, *start);
            }
            (None, None) => return false,
        }
    }
}

/// Matches one byte against the first element of the pattern, which is no star; returns the element's length.
fn step(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => match bracket(class, byte) {
            Some((used, true)) => Some(1 + used),
            Some((_, false)) => None,
            // Never closed: a literal bracket.
            None => (byte == b'[').then_some(1),
        },
        [b'\\', literal, ..] => (*literal == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
    }
}

/// Reads a class up to its closing bracket: its length, and whether it has `byte`.
fn bracket(class: &[u8], byte: u8) -> Option<(usize, bool)> {
    let mut at = 0;
    let negated = matches!(class.first(), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let first = at;
    let mut found = false;
    loop {
        if *class.get(at)? == b']' && at > first {
            return Some((at + 1, found != negated));
        }
        let low = member(class, &mut at)?;
        let is_range = class.get(at) == Some(&b'-') && class.get(at + 1).is_some_and(|c| *c != b']');
        let high = if is_range {
            at += 1;
            member(class, &mut at)?
        } else {
            low
        };
        found |= low <= byte && byte <= high;
    }
}

/// Takes one possibly escaped byte of a class.
fn member(class: &[u8], at: &mut usize) -> Option<u8> {
    if *class.get(*at)? == b'\\' && *at + 1 < class.len() {
        *at += 1;
    }
    let byte = *class.get(*at)?;
    *at += 1;
    Some(byte)
}

#[cfg(test)]
mod tests {
    use super::matches;

    /// Recorded from `svn ls --search` 1.14.2, with names that are folded already.
    #[test]
    fn patterns_match_as_the_incumbents_do() {
        let names = [
            "",
            "a",
            "b",
            "g",
            "f",
            "z",
            "strasse.txt",
            "]a",
            "^a",
            "a-",
            "a-c",
            "a[b",
            "o\\p",
            "x\\",
            "ωmega",
            "fi.c",
            "[",
            "a[!",
            "ab*",
            "y]",
        ];
        for (pattern, found) in [
            ("", &[""][..]),
            ("[a-f]", &["a", "b", "f"]),
            ("[!a-f]", &["g", "z", "["]),
            ("a[b", &["a[b"]),
            ("a\\[b", &["a[b"]),
            ("a[[]b", &["a[b"]),
            ("o\\\\p", &["o\\p"]),
            ("o\\p", &[]),
            ("[]a]a", &["]a"]),
            ("[]]a", &["]a"]),
            ("[\\]a]a", &["]a"]),
            ("[!]]a", &["^a"]),
            ("[z-a]*", &[]),
            ("a[-]", &["a-"]),
            ("a[a-]", &["a-"]),
            ("a[-c]c", &["a-c"]),
            ("a[--c]c", &["a-c"]),
            ("a[a-c]c", &[]),
            ("[a-\\f]", &["a", "b", "f"]),
            ("x\\", &["x\\"]),
            ("x\\\\", &["x\\"]),
            ("*\\", &["x\\"]),
            ("[", &["["]),
            ("a[!", &["a[!"]),
            ("[]", &[]),
            ("y[]", &[]),
            ("ab[*]", &["ab*"]),
            ("ab\\*", &["ab*"]),
            ("?mega", &[]),
            ("??mega", &["ωmega"]),
            ("[ω]?mega", &["ωmega"]),
            ("*.*", &["strasse.txt", "fi.c"]),
            ("f*f", &[]),
            ("**b*", &["b", "a[b", "ab*"]),
        ] {
            let got: Vec<&str> = names
                .into_iter()
                .filter(|name| matches(pattern.as_bytes(), name.as_bytes()))
                .collect();
            assert_eq!(got, found, "{pattern}");
        }
    }

    #[test]
    fn many_stars_stay_quick() {
        let name = vec![b'a'; 4000];
        let mut pattern = b"*a".repeat(200);
        pattern.push(b'b');
        assert!(!matches(&pattern, &name));
    }
}
