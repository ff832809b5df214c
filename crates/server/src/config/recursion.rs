//! Paths on which recursive operations are refused, such as `/tags` in a repository with ten thousand tags.

use base::FsPath;

/// Patterns of paths in a repository. The first matching one decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recursion {
    patterns: Vec<Pattern>,
    /// Replays, as `svnsync` requests them, are refused as well.
    pub(crate) replay: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// `*` stands for one whole component.
    parts: Vec<String>,
    is_allowed: bool,
}

impl Recursion {
    /// Parses patterns such as `/`, `/*/tags` and `!/*/trunk`, which allows the paths that it matches. `replay` refuses replays.
    ///
    /// # Errors
    /// A sentence that names the pattern.
    pub fn new(patterns: &[String], replay: bool) -> Result<Recursion, String> {
        let parsed = patterns.iter().map(|text| {
            let (path, is_allowed) = match text.strip_prefix('!') {
                Some(path) => (path, true),
                None => (text.as_str(), false),
            };
            if !path.starts_with('/') {
                return Err(format!(
                    "'{text}' is no pattern of paths such as /*/tags: it must begin with '/'"
                ));
            }
            let parts: Vec<String> = path
                .split('/')
                .filter(|p| !p.is_empty())
                .map(str::to_owned)
                .collect();
            match parts.iter().find(|part| part.contains('*') && *part != "*") {
                Some(part) => Err(format!("'{part}' in '{text}': '*' stands for a whole component")),
                None => Ok(Pattern { parts, is_allowed }),
            }
        });
        Ok(Recursion {
            patterns: parsed.collect::<Result<_, _>>()?,
            replay,
        })
    }

    /// Returns whether recursive operations on `path` are refused.
    pub(crate) fn refuses(&self, path: &FsPath) -> bool {
        let parts: Vec<&str> = path.as_str().split('/').filter(|part| !part.is_empty()).collect();
        let matches = |pattern: &&Pattern| {
            let same = |(wanted, part): (&String, &&str)| wanted == "*" || wanted == part;
            pattern.parts.len() == parts.len() && pattern.parts.iter().zip(&parts).all(same)
        };
        self.patterns
            .iter()
            .find(matches)
            .is_some_and(|pattern| !pattern.is_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_pattern_decides() {
        let patterns = ["/", "!/special/tags", "/*/tags", "/tags/"].map(str::to_owned);
        let recursion = Recursion::new(&patterns, false).expect("patterns");
        for (path, refused) in [
            ("/", true),
            ("/tags", true),
            ("/tags/1.0", false),
            ("/a/tags", true),
            ("/special/tags", false),
            ("/a/b/tags", false),
            ("/trunk", false),
        ] {
            assert_eq!(
                recursion.refuses(&FsPath::parse(path).expect("a path")),
                refused,
                "{path}"
            );
        }
        for bad in ["", "tags", "!tags", "/a*", "/**"] {
            assert!(Recursion::new(&[bad.to_owned()], false).is_err(), "{bad}");
        }
    }
}
