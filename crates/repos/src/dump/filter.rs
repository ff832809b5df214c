//! Which paths a dump includes.
//!
//! The replay treats a filtered path as an unreadable one. So copies from it become additions, and revisions that
//! touch it lose their properties, as for a user without rights.

use base::{FsPath, glob};

use crate::access::{Readable, Subtree};

/// Paths to leave out, or the only paths to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Whether a match keeps a path or leaves it out.
    pub rule: FilterRule,
    /// Paths whose subtrees match; or, with `glob`, patterns that match single paths. They are used as typed: a path
    /// in the repository starts with a slash and does not end with one.
    pub patterns: Vec<String>,
    /// The patterns are globs ([`base::glob`]); a slash is a character like any other.
    pub glob: bool,
}

/// What a match means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterRule {
    /// Keep only what matches.
    Include,
    /// Leave out what matches.
    Exclude,
}

impl Readable for Filter {
    fn read(&self, path: &FsPath) -> bool {
        let hit = self.patterns.iter().any(|pattern| match self.glob {
            true => glob::matches(pattern.as_bytes(), path.as_bytes()),
            false => is_at_or_below(path, pattern),
        });
        hit == (self.rule == FilterRule::Include)
    }

    fn subtree(&self, path: &FsPath) -> Subtree {
        let around = |pattern: &String| is_at_or_below(path, pattern);
        let within = |pattern: &String| is_at_or_below(pattern, path);
        let inside = self.patterns.iter().any(around);
        if !self.patterns.is_empty() && (self.glob || !inside && self.patterns.iter().any(within)) {
            return Subtree::Mixed;
        }
        match inside == (self.rule == FilterRule::Include) {
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
            // `svnadmin dump --pattern` 1.14.2 takes the escaped end of a range for the end of a range.
            ("/[a-\\z]", "/m", true),
            ("/[a", "/[a", true),
            ("/\\*", "/*", true),
            ("/\\*", "/x", false),
            ("", "", true),
            ("**", "/", true),
        ] {
            assert_eq!(
                glob::matches(pattern.as_bytes(), text.as_bytes()),
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
        let (include, exclude) = (filter(FilterRule::Include), filter(FilterRule::Exclude));
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
