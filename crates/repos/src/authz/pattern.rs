//! Patterns for one component of a path, and their canonical sequence.
//!
//! Matching is by bytes, as the incumbent's ([`base::glob`]): `?` is one byte, case matters, nothing is normalised. Bracket
//! classes cannot occur, because section names end at the first `]`; a lone `[` stands for itself.

use base::glob;

/// A component of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Segment {
    /// This very name.
    Literal(Vec<u8>),
    /// `*`: any one component.
    Any,
    /// `**`: any number of components.
    Deep,
    /// `*`, `?` and `\` within a name.
    Pattern(Pattern),
}

/// A pattern within one component, prepared for quick matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    /// `text*`
    Prefix(Vec<u8>),
    /// `*text`
    Suffix(Vec<u8>),
    /// Everything else, as written.
    General(Vec<u8>),
}

impl Segment {
    /// Understands one component of a `:glob:` rule.
    pub(super) fn glob(text: &[u8]) -> Segment {
        match text {
            b"*" => return Segment::Any,
            b"**" => return Segment::Deep,
            _ => {}
        }
        let tokens: Vec<Token> = Tokens(text).collect();
        let literal = |tokens: &[Token]| -> Option<Vec<u8>> {
            tokens
                .iter()
                .map(|t| if let Token::Byte(b) = t { Some(*b) } else { None })
                .collect()
        };
        match tokens.as_slice() {
            tokens if literal(tokens).is_some() => Segment::Literal(literal(tokens).unwrap_or_default()),
            [start @ .., Token::Star] if literal(start).is_some() => {
                Segment::Pattern(Pattern::Prefix(literal(start).unwrap_or_default()))
            }
            [Token::Star, end @ ..] if literal(end).is_some() => {
                Segment::Pattern(Pattern::Suffix(literal(end).unwrap_or_default()))
            }
            _ => Segment::Pattern(Pattern::General(text.to_vec())),
        }
    }
}

/// Orders neighbouring wildcards so that equal meanings become equal: `**/**` is `**`, `**/*` is `*/**`.
pub(super) fn normalise(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match (&segment, out.last()) {
            (Segment::Deep, Some(Segment::Deep)) => {}
            (Segment::Any, Some(Segment::Deep)) => {
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
enum Token {
    Star,
    One,
    Byte(u8),
}

/// Splits a pattern; a backslash makes the next byte ordinary, at the end it stands for itself.
struct Tokens<'a>(&'a [u8]);

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match (first, rest.split_first()) {
            (b'*', _) => Token::Star,
            (b'?', _) => Token::One,
            (b'\\', Some((&escaped, rest))) => {
                self.0 = rest;
                Token::Byte(escaped)
            }
            (b, _) => Token::Byte(b),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        match Segment::glob(pattern.as_bytes()) {
            Segment::Any => true,
            Segment::Deep => unreachable!("not within one component"),
            Segment::Literal(text) => text == name.as_bytes(),
            Segment::Pattern(pattern) => pattern.matches(name.as_bytes()),
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
        let literal = |text: &str| Segment::Literal(text.into());
        assert_eq!(Segment::glob(b"\\*"), literal("*"));
        assert_eq!(Segment::glob(b"[x\\y"), literal("[xy"));
        assert_eq!(
            Segment::glob(b"\\a*"),
            Segment::Pattern(Pattern::Prefix(b"a".to_vec()))
        );
        assert_eq!(
            Segment::glob(b"*\\*"),
            Segment::Pattern(Pattern::Suffix(b"*".to_vec()))
        );
        assert_eq!(
            Segment::glob(b"a?"),
            Segment::Pattern(Pattern::General(b"a?".to_vec()))
        );
    }

    #[test]
    fn neighbouring_wildcards_are_ordered() {
        let normal = |text: &str| normalise(text.split('/').map(|s| Segment::glob(s.as_bytes())).collect());
        assert_eq!(normal("**/*"), normal("*/**"));
        assert_eq!(normal("**/**/x/**/**"), normal("**/x/**"));
        assert_eq!(normal("**/*/**/*"), normal("*/*/**"));
        assert_eq!(normal("**/*/**/*").len(), 3);
        assert_ne!(normal("**/a/*"), normal("*/**/a"));
    }
}
