//! Compiles the rules of a file to the rights of one user in one repository.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::rights::{RanksBelow, Rights, RuleNode, RuleTree, UserRights};
use super::rules::{Authz, PathStep, Principal, PrincipalKind, Rule, index};

/// A rule that applies to the user.
struct UserRule {
    /// Its node in the tree of all paths.
    node: u32,
    /// Position in the file, from 1.
    rank: u32,
    rights: Rights,
}

/// What is known about a node's rights while the rules are scanned.
#[derive(Clone, Copy)]
enum NodeRights {
    Not,
    /// The node's path has a wildcard.
    Wildcard,
    Rights(Rights),
}

impl Authz {
    pub(super) fn compile(
        &self,
        repository: Option<&str>,
        user: Option<&str>,
        groups: &[String],
    ) -> UserRights {
        let meant = self.principals_of(user, groups);
        let rights_by = |rank: u32| {
            let rule: &Rule = &self.rules[rank as usize];
            let range = rule.entries.start as usize..rule.entries.end as usize;
            let matching = self.entries[range].iter().filter(|e| meant[e.principal as usize]);
            let rights = matching.map(|e| e.rights).max()?;
            Some(UserRule {
                node: rule.node,
                rank: rank + 1,
                rights,
            })
        };
        let specific = repository.and_then(|name| self.specific.get(name.as_bytes()));
        let mut rules: Vec<UserRule> = specific
            .into_iter()
            .flatten()
            .filter_map(|rank| rights_by(*rank))
            .collect();
        let preferred: HashSet<u32> = rules.iter().map(|rule| rule.node).collect();
        let mut max = rules.iter().map(|rule| rule.rights).max();
        for rule in self.general.iter().filter_map(|rank| rights_by(*rank)) {
            // The incumbent counts them even if a rule with the repository's name hides them.
            max = max.max(Some(rule.rights));
            if !preferred.contains(&rule.node) {
                rules.push(rule);
            }
        }
        rules.sort_unstable_by_key(|rule| rule.node);
        self.drop_repetitions(&mut rules);
        let max = max.unwrap_or_default().max(self.empty_inverted(repository, user));
        UserRights::new(Arc::clone(&self.paths), self.tree(&rules), max)
    }

    /// Returns the rights of entries that are ignored because they name everyone outside an empty group. They grant
    /// nothing on any path, but the incumbent counts them in the maximum of a user whom the file does not name.
    fn empty_inverted(&self, repository: Option<&str>, user: Option<&str>) -> Rights {
        let stranger = user.is_some_and(|name| !self.names_user(name.as_bytes()));
        if !stranger || self.warnings.is_empty() {
            return Rights::None;
        }
        let specific = repository.and_then(|name| self.specific.get(name.as_bytes()));
        let rules = self.general.iter().chain(specific.into_iter().flatten());
        let entries = rules.flat_map(|rank| {
            let range = &self.rules[*rank as usize].entries;
            &self.entries[range.start as usize..range.end as usize]
        });
        let ignored = |principal: u32| {
            let principal = &self.principals[principal as usize];
            principal.inverted && principal.who == PrincipalKind::Nobody
        };
        let granted = entries.filter(|e| ignored(e.principal)).map(|e| e.rights);
        granted.max().unwrap_or_default()
    }

    /// True if `user` is a member of a group or has an entry of its own, inverted or not.
    fn names_user(&self, user: &[u8]) -> bool {
        let own = |p: &Principal| matches!(&p.who, PrincipalKind::User(name) if name == user);
        self.groups.names_user(user) || self.principals.iter().any(own)
    }

    /// Returns for each principal whether an entry about it applies to this user.
    fn principals_of(&self, user: Option<&str>, others: &[String]) -> Vec<bool> {
        let groups = user.map(|name| self.groups.of_user(name.as_bytes(), others));
        let matches = |who: &PrincipalKind| match (who, user, &groups) {
            (PrincipalKind::Everybody, ..) => Some(true),
            (PrincipalKind::Anonymous, ..) => Some(user.is_none()),
            (PrincipalKind::Authenticated, ..) => Some(user.is_some()),
            (PrincipalKind::User(name), Some(user), _) => Some(name == user.as_bytes()),
            (PrincipalKind::Group(id), _, Some(groups)) => Some(groups[*id as usize]),
            // Entries for users and groups never apply to anonymous, not even inverted ones.
            (PrincipalKind::User(_), None, _)
            | (PrincipalKind::Group(_), _, None)
            | (PrincipalKind::Nobody, ..) => None,
        };
        let meant = |p: &Principal| matches(&p.who).is_some_and(|yes| yes != p.inverted);
        self.principals.iter().map(meant).collect()
    }

    /// Drops the rules that grant what is inherited anyway. `rules` are sorted by node, so parents come first. With
    /// wildcards nothing is dropped: what a rule overrides then depends on the path that is checked.
    fn drop_repetitions(&self, rules: &mut Vec<UserRule>) {
        let nodes = &self.paths.nodes;
        // The rights at the nodes that were visited so far.
        let mut at = vec![NodeRights::Not; nodes.len()];
        at[0] = NodeRights::Rights(Rights::None);
        let mut keep = Vec::with_capacity(rules.len());
        let mut way = Vec::new();
        for rule in rules.iter() {
            let mut node = rule.node;
            while matches!(at[node as usize], NodeRights::Not) {
                way.push(node);
                node = nodes[node as usize].parent;
            }
            let mut inherited = at[node as usize];
            for node in way.drain(..).rev() {
                if !matches!(nodes[node as usize].step, PathStep::Root | PathStep::Name(_)) {
                    inherited = NodeRights::Wildcard;
                }
                at[node as usize] = inherited;
            }
            let NodeRights::Rights(inherited) = inherited else {
                return;
            };
            keep.push(inherited != rule.rights);
            at[rule.node as usize] = NodeRights::Rights(rule.rights);
        }
        let mut keep = keep.into_iter();
        rules.retain(|_| keep.next().unwrap_or(true));
    }

    /// Builds the tree that holds `rules` (sorted by node) and the nodes above them.
    fn tree(&self, rules: &[UserRule]) -> RuleTree {
        let paths = &self.paths.nodes;
        let needed = self.nodes_above(rules);
        let new: HashMap<u32, u32> = needed.iter().copied().zip(0..).collect();
        let mut nodes = vec![RuleNode::default(); needed.len()];
        for rule in rules {
            let node = &mut nodes[new[&rule.node] as usize];
            node.rank = rule.rank;
            node.rights = rule.rights;
        }
        let mut names: Vec<Edge> = Vec::new();
        let mut patterns: Vec<Edge> = Vec::new();
        for (at, old) in needed.iter().enumerate().skip(1) {
            let at = index(at);
            let parent = new[&paths[*old as usize].parent];
            match paths[*old as usize].step {
                PathStep::Root => {}
                PathStep::Name(name) => names.push((parent, name, at)),
                PathStep::Pattern(pattern) => patterns.push((parent, pattern, at)),
                PathStep::Any => nodes[parent as usize].any = at,
                PathStep::Deep => {
                    nodes[parent as usize].deep = at;
                    nodes[at as usize].is_deep = true;
                }
            }
        }
        names.sort_unstable();
        patterns.sort_unstable();
        for (node, range) in ranges_by_parent(&names) {
            nodes[node as usize].names = range;
        }
        for (node, range) in ranges_by_parent(&patterns) {
            nodes[node as usize].patterns = range;
        }
        for at in (1..nodes.len()).rev() {
            let parent = new[&paths[needed[at] as usize].parent] as usize;
            let child = &nodes[at];
            let below = child.below.with(child.rank, child.rights);
            nodes[parent].below = nodes[parent].below.merge(below);
        }
        let without_parent = |edges: Vec<Edge>| -> Box<[(u32, u32)]> {
            edges.into_iter().map(|(_, label, node)| (label, node)).collect()
        };
        RuleTree {
            nodes: nodes.into(),
            names: without_parent(names),
            patterns: without_parent(patterns),
        }
    }

    /// Returns the nodes of `rules` and all above them, in ascending order: parents before children.
    fn nodes_above(&self, rules: &[UserRule]) -> Vec<u32> {
        let paths = &self.paths.nodes;
        let mut nodes: Vec<u32> = vec![0];
        let mut seen: HashSet<u32> = HashSet::from([0]);
        for rule in rules {
            let mut node = rule.node;
            while seen.insert(node) {
                nodes.push(node);
                node = paths[node as usize].parent;
            }
        }
        nodes.sort_unstable();
        nodes
    }
}

/// The way from a node to a child: the parent, the name or pattern, the child.
type Edge = (u32, u32, u32);

/// Returns the range of the edges of each parent. `edges` are sorted.
fn ranges_by_parent(edges: &[Edge]) -> impl Iterator<Item = (u32, Range<u32>)> {
    let mut start = 0;
    edges.chunk_by(|a, b| a.0 == b.0).map(move |same| {
        let range = index(start)..index(start + same.len());
        start += same.len();
        (same[0].0, range)
    })
}

impl RanksBelow {
    /// Adds a rule; rank 0 is none.
    fn with(self, rank: u32, rights: Rights) -> RanksBelow {
        let grants = |needed: Rights| if rights >= needed { rank } else { 0 };
        self.merge(RanksBelow {
            grants_read: grants(Rights::Read),
            grants_write: grants(Rights::Write),
            denies_read: rank - grants(Rights::Read),
            denies_write: rank - grants(Rights::Write),
        })
    }

    fn merge(self, other: RanksBelow) -> RanksBelow {
        RanksBelow {
            grants_read: self.grants_read.max(other.grants_read),
            grants_write: self.grants_write.max(other.grants_write),
            denies_read: self.denies_read.max(other.denies_read),
            denies_write: self.denies_write.max(other.denies_write),
        }
    }
}
