//! Groups and aliases, and their members.
//!
//! Definitions are collected while the file is read and resolved at its end, because they may come in any order.
//! Membership is stored as it was written, user to groups and group to groups, and followed upward when a user's
//! rights are compiled: nested groups are never expanded.

use std::collections::{BTreeMap, HashMap};

use base::{Code, Error, Result};

use crate::config_file::shown;

/// The sections `[groups]` and `[aliases]`, as written.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// By name without `&`.
    aliases: BTreeMap<Vec<u8>, Vec<u8>>,
    /// By name without `@`: the list of members, and its line.
    groups: BTreeMap<Vec<u8>, (Vec<u8>, LinePosition)>,
}

/// A line of an authz or groups file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinePosition {
    /// The line is in the groups file.
    pub(crate) is_in_groups: bool,
    /// From 1.
    pub(crate) line: u64,
}

/// The error of invalid files, and its line, unless the error names it.
#[derive(Debug)]
pub(crate) struct AuthzFault {
    pub(crate) error: Error,
    pub(crate) position: Option<LinePosition>,
}

impl AuthzFault {
    /// Syntax errors name their line, semantic errors do not.
    pub(super) fn at(position: LinePosition, error: Error) -> Self {
        let is_unplaced = error.code() == Code::AUTHZ_INVALID_CONFIG;
        AuthzFault {
            position: is_unplaced.then_some(position),
            error,
        }
    }
}

impl From<Error> for AuthzFault {
    fn from(error: Error) -> Self {
        AuthzFault {
            error,
            position: None,
        }
    }
}

impl Definitions {
    /// Adds an alias.
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG` for a bad or repeated name.
    pub(super) fn add_alias(&mut self, name: &[u8], user: &[u8]) -> Result<()> {
        check_name("Alias", name)?;
        match self.aliases.insert(name.to_vec(), user.to_vec()) {
            None => Ok(()),
            Some(_) => Err(invalid(format!(
                "Can't override definition of alias '&{}'",
                shown(name)
            ))),
        }
    }

    /// Adds a group.
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG` for a bad or repeated name.
    pub(super) fn add_group(&mut self, name: &[u8], members: &[u8], position: LinePosition) -> Result<()> {
        check_name("Group", name)?;
        match self.groups.insert(name.to_vec(), (members.to_vec(), position)) {
            None => Ok(()),
            Some(_) => Err(invalid(format!(
                "Can't override definition of group '@{}'",
                shown(name)
            ))),
        }
    }

    /// Returns the line of the first group, if there is one.
    pub(super) fn first_group(&self) -> Option<LinePosition> {
        let places = self.groups.values().map(|(_, position)| *position);
        places.min_by_key(|position| position.line)
    }

    /// Defines groups that are named but not defined as empty ones: a directory service knows their members. `named`
    /// are the names in entries, without `@`.
    pub(super) fn open_to_others<'n>(&mut self, named: impl Iterator<Item = &'n [u8]>) {
        let nested = self.groups.values().flat_map(|(list, _)| members(list));
        let nested = nested.filter_map(|member| member.strip_prefix(b"@"));
        let mut missing: Vec<Vec<u8>> = nested.map(<[u8]>::to_vec).collect();
        missing.extend(named.map(<[u8]>::to_vec));
        for name in missing {
            self.groups.entry(name).or_default();
        }
    }

    /// Returns the user of the alias `name` (without `&`).
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG` if it is not defined.
    pub(super) fn alias(&self, name: &[u8]) -> Result<&[u8]> {
        let user = self.aliases.get(name);
        user.map(|u| &**u)
            .ok_or_else(|| invalid(format!("Alias '&{}' was never defined", shown(name))))
    }

    /// Resolves all references between groups.
    ///
    /// # Errors
    /// `AUTHZ_INVALID_CONFIG` for undefined members and for groups that contain themselves.
    pub(super) fn resolve(&self) -> std::result::Result<Groups, AuthzFault> {
        let lists: Vec<Vec<&[u8]>> = self.groups.values().map(|(list, _)| members(list)).collect();
        let mut groups = Groups {
            ids: self.groups.keys().cloned().zip(0..).collect(),
            users: HashMap::new(),
            within: vec![Vec::new(); lists.len()],
            empty: vec![true; lists.len()],
        };
        for user in self.aliases.values() {
            groups.users.entry(user.clone()).or_default();
        }
        let mut resolver = GroupResolver {
            definitions: self,
            positions: self.groups.values().map(|(_, position)| *position).collect(),
            state: vec![VisitState::New; lists.len()],
            lists,
            groups,
        };
        for group in 0..resolver.lists.len() {
            resolver.resolve(group)?;
        }
        Ok(resolver.groups)
    }
}

/// Resolves the groups in depth-first order.
struct GroupResolver<'a> {
    definitions: &'a Definitions,
    /// The members of each group.
    lists: Vec<Vec<&'a [u8]>>,
    /// The definition of each group in the file.
    positions: Vec<LinePosition>,
    state: Vec<VisitState>,
    groups: Groups,
}

impl GroupResolver<'_> {
    /// Resolves a group and those that it contains, unless that was done before.
    fn resolve(&mut self, first: usize) -> std::result::Result<(), AuthzFault> {
        // A stack of (group, members seen): nesting may be as deep as the file is long.
        let mut open = match self.state[first] {
            VisitState::New => vec![(first, 0)],
            VisitState::Open | VisitState::Done => return Ok(()),
        };
        self.state[first] = VisitState::Open;
        while let Some((group, next)) = open.pop() {
            let Some(&member) = self.lists[group].get(next) else {
                self.state[group] = VisitState::Done;
                if let Some((parent, _)) = open.last() {
                    self.groups.empty[*parent] &= self.groups.empty[group];
                }
                continue;
            };
            open.push((group, next + 1));
            let id = u32::try_from(group).map_err(|_| invalid("Too many groups".into()))?;
            match member.split_first() {
                Some((b'@', name)) => open.extend(self.add_group(id, name)?.map(|inner| (inner, 0))),
                first => {
                    let user = match first {
                        Some((b'&', alias)) => {
                            let user = self.definitions.alias(alias);
                            user.map_err(|error| self.fault(group, error))?
                        }
                        _ => member,
                    };
                    self.groups.users.entry(user.to_vec()).or_default().push(id);
                    self.groups.empty[group] = false;
                }
            }
        }
        Ok(())
    }

    /// Adds the group `name` to the members of the group `id`. Returns it if its own members must be resolved first.
    fn add_group(&mut self, id: u32, name: &[u8]) -> std::result::Result<Option<usize>, AuthzFault> {
        let group = id as usize;
        let Some(&inner) = self.groups.ids.get(name) else {
            let error = invalid(format!("Undefined group '@{}'", shown(name)));
            return Err(self.fault(group, error));
        };
        let inner = inner as usize;
        self.groups.within[inner].push(id);
        match self.state[inner] {
            VisitState::New => {
                self.state[inner] = VisitState::Open;
                Ok(Some(inner))
            }
            VisitState::Open => {
                let error = invalid(format!("Recursive definition of group '@{}'", shown(name)));
                Err(self.fault(group, error))
            }
            VisitState::Done => {
                self.groups.empty[group] &= self.groups.empty[inner];
                Ok(None)
            }
        }
    }

    /// Returns the fault at the definition of a group.
    fn fault(&self, group: usize, error: Error) -> AuthzFault {
        AuthzFault::at(self.positions[group], error)
    }
}

#[derive(Clone, Copy)]
enum VisitState {
    New,
    Open,
    Done,
}

/// All groups, resolved.
#[derive(Debug, Default)]
pub(super) struct Groups {
    ids: HashMap<Vec<u8>, u32>,
    /// The groups that name a user; users with an alias are here in any case.
    users: HashMap<Vec<u8>, Vec<u32>>,
    /// The groups that contain a group.
    within: Vec<Vec<u32>>,
    empty: Vec<bool>,
}

impl Groups {
    /// Returns the number of the group `name` (without `@`).
    pub(super) fn id(&self, name: &[u8]) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// True if the group has no members, not even indirect ones.
    pub(super) fn is_empty(&self, id: u32) -> bool {
        self.empty[id as usize]
    }

    /// Lets no group count as empty from now on.
    pub(super) fn fill(&mut self) {
        self.empty.fill(false);
    }

    /// True if some group or alias names `user`.
    pub(super) fn names_user(&self, user: &[u8]) -> bool {
        self.users.contains_key(user)
    }

    /// Returns for each group whether `user` belongs to it, if `others` are the groups that a directory service puts
    /// the user in.
    pub(super) fn of_user(&self, user: &[u8], others: &[String]) -> Vec<bool> {
        let mut belongs = vec![false; self.within.len()];
        let mut todo: Vec<u32> = self.users.get(user).cloned().unwrap_or_default();
        todo.extend(others.iter().filter_map(|name| self.id(name.as_bytes())));
        while let Some(group) = todo.pop() {
            if !std::mem::replace(&mut belongs[group as usize], true) {
                todo.extend(&self.within[group as usize]);
            }
        }
        belongs
    }
}

/// Splits a list at its commas; drops white space and empty members.
fn members(list: &[u8]) -> Vec<&[u8]> {
    list.split(|b| *b == b',')
        .map(base::ini::trim)
        .filter(|m| !m.is_empty())
        .collect()
}

fn check_name(kind: &str, name: &[u8]) -> Result<()> {
    let bad = match name.first() {
        // The incumbent prints a NUL byte here, which ends its message.
        None => String::new(),
        Some(b @ (b'@' | b'$' | b'&' | b'*' | b'~')) => format!("{}'", char::from(*b)),
        Some(_) => return Ok(()),
    };
    Err(invalid(format!(
        "{kind} name '{}' may not begin with '{bad}",
        shown(name)
    )))
}

/// Makes an error in an authz file.
pub(super) fn invalid(message: String) -> Error {
    Error::new(Code::AUTHZ_INVALID_CONFIG, message)
}
