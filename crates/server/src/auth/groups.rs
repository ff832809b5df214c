//! Files of groups, as Apache's `AuthGroupFile` names them: `group: user user`.

use std::collections::{HashMap, HashSet};

/// Which users are in which groups.
#[derive(Debug, Default)]
pub(super) struct Groups(HashMap<String, HashSet<String>>);

impl Groups {
    /// Reads lines of `group: user "user with space"`; several about one group hold together.
    pub(super) fn parse(text: &str) -> Groups {
        let mut groups = Groups::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((name, users)) = line.split_once(':') {
                groups
                    .0
                    .entry(name.trim().to_owned())
                    .or_default()
                    .extend(words(users));
            }
        }
        groups
    }

    /// True if `user` is in `group`.
    pub(super) fn has(&self, group: &str, user: &str) -> bool {
        self.0.get(group).is_some_and(|users| users.contains(user))
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            quote @ ('"' | '\'') => {
                let inner = &rest[1..];
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_as_apache_reads_them() {
        let groups = Groups::parse("dev: alice \"bob b\"\n# ops: eve\n\nops:carol\nnothing\ndev: dave\n");
        for (group, user, is_in) in [
            ("dev", "alice", true),
            ("dev", "bob b", true),
            ("dev", "dave", true),
            ("ops", "carol", true),
            ("ops", "eve", false),
            ("# ops", "eve", false),
            ("dev", "Alice", false),
            ("other", "alice", false),
        ] {
            assert_eq!(groups.has(group, user), is_in, "{group} {user}");
        }
    }
}
