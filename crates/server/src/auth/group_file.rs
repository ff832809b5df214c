//! Group files of Apache's `AuthGroupFile`: lines of `group: user user`.

use std::collections::{HashMap, HashSet};

/// The users of each group.
#[derive(Debug, Default)]
pub(super) struct GroupFile(HashMap<String, HashSet<String>>);

impl GroupFile {
    /// Parses lines of `group: user "user with space"`. Several lines with the same group add up.
    pub(super) fn parse(text: &str) -> GroupFile {
        let mut groups = GroupFile::default();
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

    /// Returns whether `user` is in `group`.
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
        let groups = GroupFile::parse("dev: alice \"bob b\"\n# ops: eve\n\nops:carol\nnothing\ndev: dave\n");
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
