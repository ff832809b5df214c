//! A parsed authz file, and the compiled rights made from it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base::{Error, Result};
use parking_lot::Mutex;

use super::groups::{AuthzFault, Groups};
use super::pattern::{Pattern, PatternSegment};
use super::rights::{Rights, UserRights};

/// A parsed authz file. It is immutable, except for its cache of compiled rights.
pub struct Authz {
    pub(super) paths: Arc<RulePaths>,
    /// In the order of the file: the index is the rule's rank.
    pub(super) rules: Vec<Rule>,
    /// The rules' entries, one after another.
    pub(super) entries: Vec<RuleEntry>,
    /// Indices of the rules without a repository's name.
    pub(super) general: Vec<u32>,
    /// Indices of the rules of each repository.
    pub(super) specific: HashMap<Vec<u8>, Vec<u32>>,
    pub(super) principals: Vec<Principal>,
    pub(super) groups: Groups,
    pub(super) warnings: Vec<Error>,
    pub(super) compiled: Mutex<HashMap<RightsKey, Arc<UserRights>>>,
}

/// The key of compiled rights: (repository, user, groups that a directory service puts the user in).
pub(super) type RightsKey = (Option<Box<str>>, Option<Box<str>>, Box<[String]>);

/// One section with a path.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its path, an index into [`RulePaths`].
    pub(super) node: u32,
    /// Its entries: a range of `Authz::entries`.
    pub(super) entries: std::ops::Range<u32>,
}

/// One line of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleEntry {
    /// An index into `Authz::principals`.
    pub(super) principal: u32,
    pub(super) rights: Rights,
}

/// The users that an entry applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Principal {
    pub(super) who: PrincipalKind,
    /// Written with `~`: it applies to all others.
    pub(super) inverted: bool,
}

/// The users that an entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PrincipalKind {
    Everybody,
    Anonymous,
    Authenticated,
    User(Vec<u8>),
    Group(u32),
    /// An empty group: such entries are ignored.
    Nobody,
}

impl Authz {
    /// Parses an authz file and, if there is one, the groups file.
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG`, or `MALFORMED_FILE` with `line N: …`. No link names the file: the incumbent names the
    /// authz file in either case, and each of its programs in other words.
    pub fn parse(text: &[u8], groups: Option<&[u8]>) -> Result<Self> {
        super::parse::parse(text, groups, false).map_err(|mistake| mistake.error)
    }

    /// As [`Authz::parse`], where a directory service knows further groups and members: a group need not be defined,
    /// nor have members.
    ///
    /// # Errors
    /// As of [`Authz::parse`].
    pub fn parse_open(text: &[u8], groups: Option<&[u8]>) -> Result<Self> {
        super::parse::parse(text, groups, true).map_err(|mistake| mistake.error)
    }

    /// As [`Authz::parse`], or with `others` as [`Authz::parse_open`]; the error has its line.
    pub(crate) fn parse_placed(
        text: &[u8],
        groups: Option<&[u8]>,
        others: bool,
    ) -> std::result::Result<Self, AuthzFault> {
        super::parse::parse(text, groups, others)
    }

    /// Returns warnings about a valid file: `Ignoring access entry for empty group '@g'`.
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Returns the rights of `user` (`None` or an empty name: anonymous) in the repository with this name (`None`:
    /// only general rules apply). They are compiled once, then shared.
    pub fn rights(&self, repository: Option<&str>, user: Option<&str>) -> Arc<UserRights> {
        self.rights_in_groups(repository, user, &[])
    }

    /// As [`Authz::rights`] of a user whom a directory service puts in `groups`, by their names without `@`.
    pub fn rights_in_groups(
        &self,
        repository: Option<&str>,
        user: Option<&str>,
        groups: &[String],
    ) -> Arc<UserRights> {
        let user = user.filter(|name| !name.is_empty());
        // A repository without rules of its own shares the general rights.
        let repository = repository.filter(|name| self.specific.contains_key(name.as_bytes()));
        let asker = (repository.map(Into::into), user.map(Into::into), groups.into());
        if let Some(known) = self.compiled.lock().get(&asker) {
            return Arc::clone(known);
        }
        // Compiled without the lock held: two connections may do the same work, but none waits for the other.
        let rights = Arc::new(self.compile(repository, user, groups));
        let mut compiled = self.compiled.lock();
        if compiled.len() >= MAX_COMPILED {
            compiled.clear();
        }
        Arc::clone(compiled.entry(asker).or_insert(rights))
    }
}

impl fmt::Debug for Authz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authz({} rules)", self.rules.len())
    }
}

/// The paths of all rules as one tree. Parents have smaller indices than their children; 0 is the root.
#[derive(Debug)]
pub(super) struct RulePaths {
    pub(super) nodes: Vec<PathNode>,
    names: HashMap<Box<[u8]>, u32>,
    pub(super) patterns: Vec<Pattern>,
}

/// A node of [`RulePaths`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PathNode {
    pub(super) parent: u32,
    pub(super) step: PathStep,
}

/// The last component of a node's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PathStep {
    /// The step of the root only.
    Root,
    Name(u32),
    Any,
    Deep,
    Pattern(u32),
}

impl RulePaths {
    /// Returns the number of a component that some rule names.
    pub(super) fn name(&self, text: &[u8]) -> Option<u32> {
        self.names.get(text).copied()
    }
}

/// Builds [`RulePaths`].
pub(super) struct RulePathsBuilder {
    paths: RulePaths,
    children: HashMap<(u32, PathStep), u32>,
    patterns: HashMap<Pattern, u32>,
}

impl RulePathsBuilder {
    pub(super) fn new() -> Self {
        RulePathsBuilder {
            paths: RulePaths {
                nodes: vec![PathNode {
                    parent: 0,
                    step: PathStep::Root,
                }],
                names: HashMap::new(),
                patterns: Vec::new(),
            },
            children: HashMap::new(),
            patterns: HashMap::new(),
        }
    }

    /// Returns the node of a path; creates it if it does not exist.
    pub(super) fn node(&mut self, path: &[PatternSegment]) -> u32 {
        path.iter().fold(0, |parent, segment| {
            let step = self.step(segment);
            let nodes = &mut self.paths.nodes;
            *self.children.entry((parent, step)).or_insert_with(|| {
                nodes.push(PathNode { parent, step });
                index(nodes.len() - 1)
            })
        })
    }

    fn step(&mut self, segment: &PatternSegment) -> PathStep {
        match segment {
            PatternSegment::Any => PathStep::Any,
            PatternSegment::Deep => PathStep::Deep,
            PatternSegment::Literal(text) => {
                let names = &mut self.paths.names;
                let known = names.get(&**text).copied();
                PathStep::Name(known.unwrap_or_else(|| {
                    let new = index(names.len());
                    names.insert(text.as_slice().into(), new);
                    new
                }))
            }
            PatternSegment::Pattern(pattern) => {
                let all = &mut self.paths.patterns;
                let id = self.patterns.entry(pattern.clone()).or_insert_with(|| {
                    all.push(pattern.clone());
                    index(all.len() - 1)
                });
                PathStep::Pattern(*id)
            }
        }
    }

    pub(super) fn finish(self) -> Arc<RulePaths> {
        Arc::new(self.paths)
    }
}

/// Makes a position in one of this file's lists. It cannot reach 2^32: a file has at most 2^26 bytes
/// ([`crate::config_file::MAX_FILE`], checked by [`Authz::parse`]).
pub(super) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("because no list is longer than the file has bytes")
}

/// Users whose rights are cached; beyond that the cache is emptied.
const MAX_COMPILED: usize = 8192;
