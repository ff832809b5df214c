//! Which paths a dump includes.
//!
//! To the walk, a path that is filtered out is a path that may not be read; so copies from it become additions and
//! revisions that touch it lose their properties, as they would for a user without rights.

use base::FsPath;

use crate::access::{Readable, Subtree};

/// Paths to leave out, or the only ones to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Whether a match keeps a path or leaves it out.
    pub rule: Rule,
    /// Paths whose subtrees match; or, with `glob`, patterns that match single paths. As typed: a path in the repository
    /// starts with a slash and does not end with one.
    pub patterns: Vec<String>,
    /// `*`, `?`, `[…]` and `\` have their meaning; a slash is a character like any other.
    pub glob: bool,
}

/// What a match means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Keep only what matches.
    Include,
    /// Leave out what matches.
    Exclude,
}

impl Readable for Filter {
    fn read(&self, path: &FsPath) -> bool {
        let hit = self.patterns.iter().any(|pattern| match self.glob {
            true => glob_matches(pattern.as_bytes(), path.as_bytes()),
            false => is_at_or_below(path, pattern),
        });
        hit == (self.rule == Rule::Include)
    }

    fn subtree(&self, path: &FsPath) -> Subtree {
        let around = |pattern: &String| is_at_or_below(path, pattern);
        let within = |pattern: &String| is_at_or_below(pattern, path);
        let inside = self.patterns.iter().any(around);
        if !self.patterns.is_empty() && (self.glob || !inside && self.patterns.iter().any(within)) {
            return Subtree::Mixed;
        }
        match inside == (self.rule == Rule::Include) {
            true => Subtree::All,
            false => Subtree::None,
        }
    }
}

fn is_at_or_below(path: &str, ancestor: &str) -> bool {
    if ancestor == "/" {
        return path.starts_with('/');
    }
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The shell's matching of names. Takes time proportional to the product of both lengths at worst.
fn glob_matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on if what follows the last star turns out wrong.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            None if t == text.len() => return true,
            None => None,
            Some(_) => text.get(t).and_then(|byte| match_one(&pattern[p..], *byte)),
        };
        match (step, retry) {
            (Some(used), _) => {
                p += used;
                t += 1;
            }
            (None, Some((after_star, from))) if from < text.len() => {
                retry = Some((after_star, from + 1));
                p = after_star;
                t = from + 1;
            }
            (None, _) => return false,
        }
    }
}

/// Matches one byte against the first element of a pattern; returns the element's length if it matches.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', rest @ ..] => match class(rest, byte) {
            Some((hit, used)) => hit.then_some(used + 1),
            // Never closed: an ordinary bracket.
            None => (byte == b'[').then_some(1),
        },
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// Matches a bracket class, whose opening bracket is consumed already: whether it has the byte, and its length.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    let (mut at, mut hit) = (start, false);
    loop {
        let low = match pattern.get(at)? {
            b']' if at > start => return Some((hit != negated, at + 1)),
            b'\\' => {
                at += 1;
                *pattern.get(at)?
            }
            byte => *byte,
        };
        at += 1;
        match pattern.get(at..) {
            Some([b'-', high, ..]) if *high != b']' => {
                hit |= (low..=*high).contains(&byte);
                at += 2;
            }
            _ => hit |= low == byte,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, hit) in [
            ("/trunk/*", "/trunk/a/b", true),
            ("/trunk/*", "/trunk", false),
            ("*sub*", "/a/sub/b", true),
            ("/*/sub", "/a/b/sub", true),
            ("/?/sub", "/ab/sub", false),
            ("/[a-c]x", "/bx", true),
            ("/[!a-c]x", "/bx", false),
            ("/[]]", "/]", true),
            ("/[a", "/[a", true),
            ("/\\*", "/*", true),
            ("/\\*", "/x", false),
            ("", "", true),
            ("**", "/", true),
        ] {
            assert_eq!(
                glob_matches(pattern.as_bytes(), text.as_bytes()),
                hit,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn prefixes_are_whole_components() {
        let filter = |rule| Filter {
            rule,
            patterns: vec!["/a/b".into()],
            glob: false,
        };
        let path = |text| FsPath::parse(text).expect("canonical");
        let (include, exclude) = (filter(Rule::Include), filter(Rule::Exclude));
        for (text, inside, subtree) in [
            ("/", false, Subtree::Mixed),
            ("/a", false, Subtree::Mixed),
            ("/a/b", true, Subtree::All),
            ("/a/b/c", true, Subtree::All),
            ("/a/bc", false, Subtree::None),
        ] {
            assert_eq!(include.read(&path(text)), inside, "{text}");
            assert_eq!(exclude.read(&path(text)), !inside, "{text}");
            assert_eq!(include.subtree(&path(text)), subtree, "{text}");
        }
    }
}
