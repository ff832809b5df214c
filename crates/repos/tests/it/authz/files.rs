//! Random authz files: as text for the parsers, as data for [`naive`](super::naive).

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// An authz file.
#[derive(Clone, Debug)]
pub struct File {
    /// Group name and members.
    pub groups: Vec<(&'static str, Vec<&'static str>)>,
    pub rules: Vec<Rule>,
}

/// A section with a path.
#[derive(Clone, Debug)]
pub struct Rule {
    pub glob: bool,
    pub repository: Option<&'static str>,
    pub path: Vec<&'static str>,
    /// The left side of an entry (user, group, alias …), and its rights: 0, 1 or 2.
    pub entries: Vec<(&'static str, u8)>,
}

impl Rule {
    /// The path as a pattern: neighbouring wildcards in their canonical order, and, in a path without wildcards,
    /// special characters escaped.
    pub fn canonical_pattern(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for name in &self.path {
            match (self.glob, *name) {
                (false, name) => out.push(name.replace('*', "\\*")),
                (true, "**") if out.last().is_some_and(|l| l == "**") => {}
                (true, "*") if out.last().is_some_and(|l| l == "**") => out.insert(out.len() - 1, "*".into()),
                (true, name) => out.push(name.into()),
            }
        }
        out
    }
}

impl File {
    pub fn text(&self) -> String {
        let mut out = "[groups]\n".to_owned();
        for (name, members) in &self.groups {
            writeln!(out, "{name} = {}", members.join(", ")).expect("to a string");
        }
        out += "[aliases]\nal = x\n";
        for rule in &self.rules {
            let glob = if rule.glob { ":glob:" } else { "" };
            let repository = rule.repository.map(|r| format!("{r}:")).unwrap_or_default();
            writeln!(out, "[{glob}{repository}/{}]", rule.path.join("/")).expect("to a string");
            for (who, level) in &rule.entries {
                writeln!(out, "{who} = {}", ["", "r", "rw"][usize::from(*level)]).expect("to a string");
            }
        }
        out
    }
}

/// True if an entry for `who` applies to `user`.
pub fn is_about(file: &File, who: &str, user: Option<&str>) -> bool {
    let (inverted, who) = who.strip_prefix('~').map_or((false, who), |who| (true, who));
    let is = match (who, user) {
        ("*", _) => true,
        ("$anonymous", _) => user.is_none(),
        ("$authenticated", _) => user.is_some(),
        (_, None) => return false,
        (who, Some(user)) => match who.strip_prefix('@') {
            Some(group) if is_empty(file, group) => return false,
            Some(group) => is_member(file, group, user),
            None => who == user || (who == "&al" && user == "x"),
        },
    };
    is != inverted
}

fn is_member(file: &File, group: &str, user: &str) -> bool {
    let (_, members) = file
        .groups
        .iter()
        .find(|(name, _)| *name == group)
        .expect("defined");
    members.iter().any(|member| match member.strip_prefix('@') {
        Some(inner) => is_member(file, inner, user),
        None => *member == user || (*member == "&al" && user == "x"),
    })
}

/// True if `user` has an alias (`x` always has), is in a group or has an entry of its own.
pub fn names(file: &File, user: &str) -> bool {
    if user == "x" {
        return true;
    }
    let is_user = |name: &&str| *name == user;
    let members = file.groups.iter().flat_map(|(_, members)| members);
    let entries = file.rules.iter().flat_map(|rule| &rule.entries);
    members
        .chain(entries.map(|(who, _)| who))
        .any(|name| is_user(&name.trim_start_matches('~')))
}

/// True for `~@group` if the group is empty: such entries are ignored, with a warning.
pub fn is_inverted_and_empty(file: &File, who: &str) -> bool {
    who.strip_prefix("~@").is_some_and(|group| is_empty(file, group))
}

fn is_empty(file: &File, group: &str) -> bool {
    let (_, members) = file
        .groups
        .iter()
        .find(|(name, _)| *name == group)
        .expect("defined");
    members.iter().all(|member| {
        member
            .strip_prefix('@')
            .is_some_and(|inner| is_empty(file, inner))
    })
}

/// Names that occur in paths; the last ones occur in no rule.
pub const NAMES: [&str; 6] = ["a", "b", "ab", "*", "c", "aab"];

/// Users whose rights are queried.
pub const USERS: [Option<&str>; 4] = [None, Some("x"), Some("y"), Some("z")];

/// Repositories whose rules are queried.
pub const REPOSITORIES: [Option<&str>; 3] = [None, Some("r"), Some("s")];

/// The patterns that occur in the paths of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wildcards {
    None,
    /// All but `*suffix`.
    NoSuffix,
    All,
}

/// A strategy for files of at most `most` rules.
pub fn file(most: usize, wildcards: Wildcards) -> impl Strategy<Value = File> {
    let groups = [
        ("g", vec!["x", "@h", "&al"]),
        ("h", vec!["y", "@i", "@none"]),
        ("i", vec!["z"]),
        ("none", vec!["@nil"]),
        ("nil", vec![]),
    ];
    let groups = groups.map(|(name, members)| {
        let most = members.len();
        subsequence(members, 0..=most).prop_map(move |members| (name, members))
    });
    (groups, vec(rule(wildcards), 1..=most)).prop_map(|(groups, mut rules)| {
        let mut seen = Vec::new();
        rules.retain(|rule| {
            let key = (rule.repository, rule.canonical_pattern());
            let new = !seen.contains(&key);
            seen.push(key);
            new
        });
        File {
            groups: groups.into(),
            rules,
        }
    })
}

fn rule(wildcards: Wildcards) -> impl Strategy<Value = Rule> {
    let literal = vec(select(&["a", "b", "ab", "*"][..]), 0..4).prop_map(|path| (false, path));
    let mut patterns = vec![
        "a", "b", "ab", "*", "**", "**", "a*", "*a*", "?b", "a?", "***", "a\\*", "\\**", "*b?",
    ];
    if wildcards == Wildcards::All {
        patterns.extend(["*b", "*\\"]);
    }
    let glob = vec(select(patterns), 0..4).prop_map(|path| (true, path));
    let path = if wildcards != Wildcards::None {
        prop_oneof![1 => literal, 2 => glob].boxed()
    } else {
        literal.boxed()
    };
    let who = [
        "x",
        "x",
        "y",
        "*",
        "~x",
        "~y",
        "$authenticated",
        "$anonymous",
        "~$anonymous",
        "~$authenticated",
        "@g",
        "~@g",
        "@h",
        "@none",
        "~@nil",
        "&al",
        "~&al",
    ];
    let entries = vec((select(who.to_vec()), 0..=2_u8), 0..3);
    let repository = select(vec![None, None, Some("r")]);
    (path, repository, entries).prop_map(|((glob, path), repository, entries)| Rule {
        glob,
        repository,
        path,
        entries,
    })
}

/// A strategy for paths to query, as lists of components.
pub fn path() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(&NAMES[..]), 0..5)
}
