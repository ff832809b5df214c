//! The rules of authz, evaluated naively: no tree, no sharing, every query from scratch.
//!
//! The second oracle next to `svnauthz`, and the only one for recursive queries with wildcards, where the real tool
//! contradicts itself.

use super::files::{File, Rule, is_about, is_inverted_and_empty, names};

/// Rights as digits: 0 none, 1 read, 2 read and write.
pub type Level = u8;

/// The rights of `user` to `path` in `repository`.
pub fn rights(file: &File, repository: Option<&str>, user: Option<&str>, path: &[&str]) -> Level {
    let mut level = at_level(file, repository, user, &path[..0]).unwrap_or(0);
    // The incumbent treats the root as a path with one empty component.
    let path = if path.is_empty() { &[""] } else { path };
    for end in 1..=path.len() {
        level = at_level(file, repository, user, &path[..end]).unwrap_or(level);
    }
    level
}

/// The highest rights that any section grants. For users whom the file does not name, the incumbent counts entries
/// for `~@empty`, though they grant nothing.
pub fn max(file: &File, repository: Option<&str>, user: Option<&str>) -> Level {
    let of_repository = |rule: &&Rule| rule.repository.is_none() || rule.repository == repository;
    let rules = file.rules.iter().filter(of_repository);
    let entries = rules.flat_map(|rule| &rule.entries);
    let counts = |who: &str| {
        let ignored = user.is_some_and(|user| !names(file, user)) && is_inverted_and_empty(file, who);
        ignored || is_about(file, who, user)
    };
    let levels = entries.filter(|(who, _)| counts(who)).map(|(_, level)| *level);
    levels.max().unwrap_or(0)
}

/// The rights by the rules for exactly this path, if there are any.
fn at_level(file: &File, repository: Option<&str>, user: Option<&str>, path: &[&str]) -> Option<Level> {
    let mut last = None;
    for (at, rule) in file.rules.iter().enumerate() {
        let hidden = |rule: &Rule| {
            let same = |other: &&Rule| {
                other.repository == repository && other.canonical_pattern() == rule.canonical_pattern()
            };
            let others = file.rules.iter().filter(same);
            rule.repository.is_none()
                && repository.is_some()
                && others
                    .filter_map(|other| rights_of_entries(file, other, user))
                    .next()
                    .is_some()
        };
        let here = rule.repository.is_none() || rule.repository == repository;
        if here && matches(&rule.canonical_pattern(), path) && !hidden(rule) {
            last = rights_of_entries(file, rule, user)
                .map(|level| (at, level))
                .or(last);
        }
    }
    last.map(|(_, level)| level)
}

/// The union of the rights of all entries that apply to `user`.
fn rights_of_entries(file: &File, rule: &Rule, user: Option<&str>) -> Option<Level> {
    let about = rule.entries.iter().filter(|(who, _)| is_about(file, who, user));
    about.map(|(_, level)| *level).max()
}

fn matches(pattern: &[String], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            matches(rest, path) || (!path.is_empty() && matches(pattern, &path[1..]))
        }
        Some((first, rest)) => match path.split_first() {
            Some((name, path)) => name_matches(first.as_bytes(), name.as_bytes()) && matches(rest, path),
            None => false,
        },
    }
}

fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            name_matches(rest, name) || (!name.is_empty() && name_matches(pattern, &name[1..]))
        }
        ([b'\\', b, rest @ ..], [found, name @ ..]) => b == found && name_matches(rest, name),
        ([b'?', rest @ ..], [_, name @ ..]) => name_matches(rest, name),
        ([b, rest @ ..], [found, name @ ..]) => b == found && name_matches(rest, name),
        _ => false,
    }
}
