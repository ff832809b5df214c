//! Patterns for one component of a path, and their canonical sequence.
//!
//! Matching is by bytes, as the incumbent's ([`base::glob`]): `?` is one byte, case matters, nothing is normalised. Bracket
//! classes cannot occur, because section names end at the first `]`; a lone `[` stands for itself.

use base::glob;

/// A component of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PatternSegment {
    /// Exactly this name.
    Literal(Vec<u8>),
    /// `*`: any one component.
    Any,
    /// `**`: any number of components.
    Deep,
    /// `*`, `?` and `\` within a name.
    Pattern(Pattern),
}

/// A pattern within one component, prepared for fast matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    /// `text*`
    Prefix(Vec<u8>),
    /// `*text`
    Suffix(Vec<u8>),
    /// Everything else, as written.
    General(Vec<u8>),
}

impl PatternSegment {
    /// Parses one component of a `:glob:` rule.
    pub(super) fn glob(text: &[u8]) -> PatternSegment {
        match text {
            b"*" => return PatternSegment::Any,
            b"**" => return PatternSegment::Deep,
            _ => {}
        }
        let tokens: Vec<PatternToken> = Tokens(text).collect();
        let literal = |tokens: &[PatternToken]| -> Option<Vec<u8>> {
            tokens
                .iter()
                .map(|t| {
                    if let PatternToken::Byte(b) = t {
                        Some(*b)
                    } else {
                        None
                    }
                })
                .collect()
        };
        match tokens.as_slice() {
            tokens if literal(tokens).is_some() => {
                PatternSegment::Literal(literal(tokens).unwrap_or_default())
            }
            [start @ .., PatternToken::Star] if literal(start).is_some() => {
                PatternSegment::Pattern(Pattern::Prefix(literal(start).unwrap_or_default()))
            }
            [PatternToken::Star, end @ ..] if literal(end).is_some() => {
                PatternSegment::Pattern(Pattern::Suffix(literal(end).unwrap_or_default()))
            }
            _ => PatternSegment::Pattern(Pattern::General(text.to_vec())),
        }
    }
}

/// Orders neighbouring wildcards so that equal meanings become equal: `**/**` is `**`, `**/*` is `*/**`.
pub(super) fn normalise(segments: Vec<PatternSegment>) -> Vec<PatternSegment> {
    let mut out: Vec<PatternSegment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match (&segment, out.last()) {
            (PatternSegment::Deep, Some(PatternSegment::Deep)) => {}
            (PatternSegment::Any, Some(PatternSegment::Deep)) => {
                let deep = out.len() - 1;
                out.insert(deep, segment);
            }
            _ => out.push(segment),
        }
    }
    out
}

impl Pattern {
    /// True if `name` matches.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Pattern::Prefix(text) => name.starts_with(text),
            Pattern::Suffix(text) => name.ends_with(text),
            Pattern::General(text) => glob::matches(text, name),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternToken {
    Star,
    One,
    Byte(u8),
}

/// Splits a pattern. A backslash makes the next byte ordinary; at the end it stands for itself.
struct Tokens<'a>(&'a [u8]);

impl Iterator for Tokens<'_> {
    type Item = PatternToken;

    fn next(&mut self) -> Option<PatternToken> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match (first, rest.split_first()) {
            (b'*', _) => PatternToken::Star,
            (b'?', _) => PatternToken::One,
            (b'\\', Some((&escaped, rest))) => {
                self.0 = rest;
                PatternToken::Byte(escaped)
            }
            (b, _) => PatternToken::Byte(b),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        match PatternSegment::glob(pattern.as_bytes()) {
            PatternSegment::Any => true,
            PatternSegment::Deep => unreachable!("not within one component"),
            PatternSegment::Literal(text) => text == name.as_bytes(),
            PatternSegment::Pattern(pattern) => pattern.matches(name.as_bytes()),
        }
    }

    /// Each pair was tried with `svnauthz accessof` 1.14.2.
    #[test]
    fn as_svnauthz_matches() {
        for (pattern, yes, no) in [
            ("?", vec!["a", "?"], vec!["é", "ab"]),
            ("??", vec!["é", "ab"], vec!["aé"]),
            ("?*", vec!["é", "a"], vec![]),
            ("*?", vec!["é", "a"], vec![]),
            ("*é*", vec!["é", "aéa"], vec![]),
            ("\\?", vec!["?"], vec!["a"]),
            ("a\\*b", vec!["a*b"], vec!["axb"]),
            ("a\\b", vec!["ab"], vec!["a\\b"]),
            ("a\\\\b", vec!["a\\b"], vec!["ab"]),
            ("a\\", vec!["a\\"], vec!["a"]),
            ("*\\", vec!["a\\", "\\"], vec!["a"]),
            ("*a\\", vec!["aa\\"], vec!["a", "ba"]),
            ("\\a*", vec!["ab"], vec!["\\ab"]),
            ("[ab", vec!["[ab"], vec!["a", "b"]),
            ("[ab*", vec!["[ab", "[abc"], vec!["a", "b"]),
            ("*[", vec!["[", "a["], vec![]),
            ("\\**", vec!["*", "*a"], vec!["a"]),
            ("*\\*", vec!["*", "a*"], vec!["a"]),
            ("**b", vec!["b", "ab", "xab"], vec![]),
            ("a**b", vec!["ab", "axxb"], vec!["a"]),
            ("***", vec!["a", ""], vec![]),
            ("*.*", vec!["a.b", ".a"], vec!["ab"]),
            ("*", vec![".a"], vec![]),
            ("a*", vec!["a"], vec!["A"]),
            ("a*\\", vec!["ab\\", "a\\"], vec!["ab"]),
            ("a\\?*", vec!["a?x", "a?"], vec!["abx"]),
            ("*\\?a", vec!["x?a"], vec!["xba"]),
            ("{a,b}", vec!["{a,b}"], vec!["a"]),
            ("a?\\", vec!["ab\\"], vec!["ab"]),
            ("*a*b*", vec!["ab", "xaxbx", "aab"], vec!["ba", ""]),
        ] {
            for name in yes {
                assert!(matches(pattern, name), "{pattern} {name}");
            }
            for name in no {
                assert!(!matches(pattern, name), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn many_stars_are_no_trap() {
        let pattern = Pattern::General(b"*a".repeat(500));
        assert!(!pattern.matches(&b"a".repeat(499)));
        let pattern = Pattern::General([b"*a".repeat(500), b"b?".to_vec()].concat());
        assert!(!pattern.matches(&b"a".repeat(5000)));
    }

    #[test]
    fn kinds() {
        let literal = |text: &str| PatternSegment::Literal(text.into());
        assert_eq!(PatternSegment::glob(b"\\*"), literal("*"));
        assert_eq!(PatternSegment::glob(b"[x\\y"), literal("[xy"));
        assert_eq!(
            PatternSegment::glob(b"\\a*"),
            PatternSegment::Pattern(Pattern::Prefix(b"a".to_vec()))
        );
        assert_eq!(
            PatternSegment::glob(b"*\\*"),
            PatternSegment::Pattern(Pattern::Suffix(b"*".to_vec()))
        );
        assert_eq!(
            PatternSegment::glob(b"a?"),
            PatternSegment::Pattern(Pattern::General(b"a?".to_vec()))
        );
    }

    #[test]
    fn neighbouring_wildcards_are_ordered() {
        let normal = |text: &str| {
            normalise(
                text.split('/')
                    .map(|s| PatternSegment::glob(s.as_bytes()))
                    .collect(),
            )
        };
        assert_eq!(normal("**/*"), normal("*/**"));
        assert_eq!(normal("**/**/x/**/**"), normal("**/x/**"));
        assert_eq!(normal("**/*/**/*"), normal("*/*/**"));
        assert_eq!(normal("**/*/**/*").len(), 3);
        assert_ne!(normal("**/a/*"), normal("*/**/a"));
    }
}
