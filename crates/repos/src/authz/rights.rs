//! The rights of one user in one repository: a tree of rules, and walks through it.
//!
//! A walk keeps the set of nodes whose paths match what has been walked so far. Without wildcards that is one node,
//! and the walk ends where the tree does. With them it is a few: a `**` node stays in the set for good.
//!
//! For checks of subtrees each node holds, of the rules strictly below it, the last in the file that grants and the
//! last that denies. A `**` rule in the set applies everywhere below, so all rules before it in the file have no
//! effect from there on. If no rule is left that denies, all of the subtree is granted, and vice versa. The result
//! errs in one direction only: where a denying rule is always overridden by a later one with other wildcards, the
//! subtree counts as mixed.

use std::ops::Range;
use std::sync::Arc;

use base::FsPath;

use super::rules::RulePaths;
use crate::access::{Readable, Subtree};

/// The rights of a user to a path. Ordered: each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rights {
    /// Nothing.
    #[default]
    None,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// The rights that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    /// To read.
    Read,
    /// To read and write.
    Write,
}

impl Required {
    fn by(self, rights: Rights) -> bool {
        match self {
            Required::Read => rights >= Rights::Read,
            Required::Write => rights == Rights::Write,
        }
    }
}

/// The compiled rights of one user in one repository.
#[derive(Debug)]
pub struct UserRights {
    paths: Arc<RulePaths>,
    tree: RuleTree,
    max: Rights,
}

/// The rules that apply to one user.
#[derive(Debug)]
pub(super) struct RuleTree {
    /// 0 is the root.
    pub(super) nodes: Box<[RuleNode]>,
    /// (name, child), sorted by name within each node's range.
    pub(super) names: Box<[(u32, u32)]>,
    /// (pattern, child)
    pub(super) patterns: Box<[(u32, u32)]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RuleNode {
    /// Position in the file of the rule for this path, from 1; 0: there is none.
    pub(super) rank: u32,
    /// The rights that the rule grants.
    pub(super) rights: Rights,
    /// The node is a `**`.
    pub(super) is_deep: bool,
    /// The child `*`, or 0.
    pub(super) any: u32,
    /// The child `**`, or 0.
    pub(super) deep: u32,
    pub(super) names: Range<u32>,
    pub(super) patterns: Range<u32>,
    pub(super) below: RanksBelow,
}

/// The last ranks of rules strictly below a node, by their effect; 0: there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RanksBelow {
    pub(super) grants_read: u32,
    pub(super) grants_write: u32,
    pub(super) denies_read: u32,
    pub(super) denies_write: u32,
}

impl UserRights {
    pub(super) fn new(paths: Arc<RulePaths>, tree: RuleTree, max: Rights) -> Self {
        UserRights { paths, tree, max }
    }

    /// Returns the rights to this very path.
    pub fn rights(&self, path: &FsPath) -> Rights {
        self.walk(path).own
    }

    /// True if `path` is granted; with `recursive` also everything below it, by the rules alone, whichever nodes
    /// exist.
    pub fn allows(&self, path: &FsPath, required: Required, recursive: bool) -> bool {
        let walk = self.walk(path);
        required.by(walk.own) && (!recursive || self.below(&walk, required) == Subtree::All)
    }

    /// Returns the highest rights that any rule grants: they apply where there is no path.
    pub fn max_rights(&self) -> Rights {
        self.max
    }

    /// Returns the bytes that this value takes in memory, approximately: for statistics.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.tree.nodes)
            + size_of_val(&*self.tree.names)
            + size_of_val(&*self.tree.patterns)
    }

    fn walk(&self, path: &FsPath) -> PathWalk {
        let mut walk = PathWalk::default();
        walk.set.push(0);
        self.enter_deep(&mut walk.set);
        self.apply(&mut walk);
        if path.is_root() {
            // The incumbent treats the root as one component without a name, which `*` matches.
            let mut quirk = self.step(&walk, b"");
            self.apply(&mut quirk);
            walk.own = quirk.own;
            return walk;
        }
        for component in path.components() {
            walk = self.step(&walk, component.as_bytes());
            if walk.set.is_empty() {
                break;
            }
            self.apply(&mut walk);
        }
        walk
    }

    /// Moves one component down.
    fn step(&self, from: &PathWalk, component: &[u8]) -> PathWalk {
        let name = self.paths.name(component);
        let mut set = NodeSet::default();
        for &at in from.set.nodes() {
            let node = &self.tree.nodes[at as usize];
            if let Some(name) = name {
                let names = &self.tree.names[node.names.start as usize..node.names.end as usize];
                if let Ok(found) = names.binary_search_by_key(&name, |(name, _)| *name) {
                    set.push(names[found].1);
                }
            }
            if node.any != 0 {
                set.push(node.any);
            }
            for (pattern, child) in
                &self.tree.patterns[node.patterns.start as usize..node.patterns.end as usize]
            {
                if self.paths.patterns[*pattern as usize].matches(component) {
                    set.push(*child);
                }
            }
            if node.is_deep {
                set.push(at);
            }
        }
        self.enter_deep(&mut set);
        PathWalk {
            set,
            own: from.own,
            inherited: from.inherited,
        }
    }

    /// Adds the `**` children of the set's nodes, which match without a component.
    fn enter_deep(&self, set: &mut NodeSet) {
        let before = set.nodes().len();
        for at in 0..before {
            let deep = self.tree.nodes[set.nodes()[at] as usize].deep;
            if deep != 0 {
                set.push(deep);
            }
        }
        if set.nodes().len() > before {
            // The same `**` may have been in the set already.
            set.dedup();
        }
    }

    /// Applies the last rule for the path walked so far, if there is one; it replaces what was inherited.
    fn apply(&self, walk: &mut PathWalk) {
        let rules = walk.set.nodes().iter().map(|at| &self.tree.nodes[*at as usize]);
        if let Some(last) = rules.filter(|node| node.rank != 0).max_by_key(|node| node.rank) {
            walk.own = last.rights;
            walk.inherited = last.rights;
        }
    }

    /// Returns the access to everything strictly below a path.
    fn below(&self, walk: &PathWalk, required: Required) -> Subtree {
        let nodes = || walk.set.nodes().iter().map(|at| &self.tree.nodes[*at as usize]);
        // The last rule that matches at every depth from here on.
        let reaching = nodes()
            .filter(|node| node.is_deep && node.rank != 0)
            .max_by_key(|n| n.rank);
        // A rule for every child: none inherits from here.
        let covers = |node: &RuleNode| node.any != 0 && self.tree.nodes[node.any as usize].rank != 0;
        let inherited = match reaching {
            Some(rule) => Some(rule.rights),
            None if nodes().any(covers) => None,
            None => Some(walk.inherited),
        };
        let reach = reaching.map_or(0, |rule| rule.rank);
        let last = |of: fn(&RanksBelow, Required) -> u32| nodes().map(|node| of(&node.below, required)).max();
        let granted = last(RanksBelow::grants).is_some_and(|rank| rank > reach);
        let denied = last(RanksBelow::denies).is_some_and(|rank| rank > reach);
        let inherits = inherited.map(|rights| required.by(rights));
        if !denied && inherits != Some(false) {
            Subtree::All
        } else if !granted && inherits != Some(true) {
            Subtree::None
        } else {
            Subtree::Mixed
        }
    }
}

impl RanksBelow {
    fn grants(&self, required: Required) -> u32 {
        match required {
            Required::Read => self.grants_read,
            Required::Write => self.grants_write,
        }
    }

    fn denies(&self, required: Required) -> u32 {
        match required {
            Required::Read => self.denies_read,
            Required::Write => self.denies_write,
        }
    }
}

impl Readable for UserRights {
    fn read(&self, path: &FsPath) -> bool {
        self.rights(path) >= Rights::Read
    }

    fn subtree(&self, path: &FsPath) -> Subtree {
        let walk = self.walk(path);
        match (walk.own >= Rights::Read, self.below(&walk, Required::Read)) {
            (true, Subtree::All) => Subtree::All,
            (false, Subtree::None) => Subtree::None,
            _ => Subtree::Mixed,
        }
    }
}

/// The state of a walk.
#[derive(Default)]
struct PathWalk {
    set: NodeSet,
    /// Rights to the path walked so far.
    own: Rights,
    /// Rights of a child without a rule (they differ from `own` at the root only).
    inherited: Rights,
}

/// A set of nodes: on the stack while it is small, which it nearly always is.
#[derive(Default)]
struct NodeSet {
    few: [u32; 6],
    count: usize,
    many: Vec<u32>,
}

impl NodeSet {
    fn push(&mut self, node: u32) {
        match self.few.get_mut(self.count) {
            Some(free) if self.many.is_empty() => {
                *free = node;
                self.count += 1;
            }
            _ => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(node);
            }
        }
    }

    fn nodes(&self) -> &[u32] {
        if self.many.is_empty() {
            &self.few[..self.count]
        } else {
            &self.many
        }
    }

    fn is_empty(&self) -> bool {
        self.nodes().is_empty()
    }

    fn dedup(&mut self) {
        if self.many.is_empty() {
            let few = &mut self.few[..self.count];
            few.sort_unstable();
            let mut kept = 0;
            for at in 0..few.len() {
                if kept == 0 || few[kept - 1] != few[at] {
                    few[kept] = few[at];
                    kept += 1;
                }
            }
            self.count = kept;
        } else {
            self.many.sort_unstable();
            self.many.dedup();
        }
    }
}
