//! Finds out whether a path is filtered.

use std::collections::HashSet;

use base::glob;

use crate::dump::{Filter, FilterRule};

/// The paths of a [`Filter`], prepared for many questions: a stream may have millions of nodes, and a list of prefixes
/// thousands of lines.
pub(super) struct PathMatcher<'f> {
    rule: FilterRule,
    patterns: Patterns<'f>,
}

enum Patterns<'f> {
    /// Paths that match with everything below them.
    Prefixes(HashSet<&'f [u8]>),
    Globs(Vec<&'f [u8]>),
}

impl<'f> PathMatcher<'f> {
    pub fn new(filter: &'f Filter) -> Self {
        let patterns = filter.patterns.iter().map(|pattern| pattern.as_bytes());
        PathMatcher {
            rule: filter.rule,
            patterns: match filter.glob {
                true => Patterns::Globs(patterns.collect()),
                false => Patterns::Prefixes(patterns.collect()),
            },
        }
    }

    /// True if the path is kept. It begins with a slash, and need not be canonical.
    pub fn keeps(&self, path: &[u8]) -> bool {
        let hit = match &self.patterns {
            Patterns::Globs(globs) => globs.iter().any(|glob| glob::matches(glob, path)),
            Patterns::Prefixes(prefixes) => {
                let ends = memchr::memchr_iter(b'/', path).chain([path.len()]);
                prefixes.contains(&b"/"[..]) || ends.into_iter().any(|end| prefixes.contains(&path[..end]))
            }
        };
        hit == (self.rule == FilterRule::Include)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asked of `svndumpfilter` 1.14.2.
    #[test]
    fn prefixes_and_globs_match_as_with_the_incumbent() {
        let paths = ["/x", "/x/", "/x/a", "/x//a", "//x", "/", "/xa"];
        for (pattern, glob, hits) in [
            ("/x", false, &["/x", "/x/", "/x/a", "/x//a"][..]),
            ("/x/", false, &["/x/", "/x//a"]),
            ("/", false, &paths[..]),
            ("//x", false, &["//x"]),
            ("/x", true, &["/x"]),
            ("/", true, &["/"]),
            ("/x/*", true, &["/x/", "/x/a", "/x//a"]),
            ("/??", true, &["/x/", "//x", "/xa"]),
        ] {
            for rule in [FilterRule::Include, FilterRule::Exclude] {
                let filter = Filter {
                    rule,
                    patterns: vec!["/never".to_owned(), pattern.to_owned()],
                    glob,
                };
                let matcher = PathMatcher::new(&filter);
                for path in paths {
                    let hit = matcher.keeps(path.as_bytes()) == (rule == FilterRule::Include);
                    assert_eq!(hit, hits.contains(&path), "{pattern} {glob} {path}");
                }
            }
        }
    }
}
