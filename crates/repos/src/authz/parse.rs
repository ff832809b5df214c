//! Parses the text of an authz file to rules.
//!
//! Errors within a line are found as it is read, in the order of the file. References to groups and aliases are
//! resolved at the end, groups before rules. Texts and precedence are the incumbent's.

use std::collections::{HashMap, HashSet};

use base::ini::{self, IniVisitor, is_space};
use base::{Code, Error, Result, ResultExt};
use parking_lot::Mutex;

use super::groups::{AuthzFault, Definitions, Groups, LinePosition, invalid};
use super::pattern::{PatternSegment, normalise};
use super::rights::Rights;
use super::rules::{Authz, Principal, PrincipalKind, Rule, RuleEntry, RulePathsBuilder, index};
use crate::config_file::{MAX_FILE, shown};

pub(super) fn parse(
    text: &[u8],
    groups: Option<&[u8]>,
    others: bool,
) -> std::result::Result<Authz, AuthzFault> {
    check_size(text)?;
    let mut reader = AuthzReader::new();
    reader.others = others;
    ini::parse(text, &mut reader).map_err(|e| AuthzFault::at(reader.position, e))?;
    reader.close_rule();
    if let Some(text) = groups {
        check_size(text)?;
        if let Some(position) = reader.definitions.first_group() {
            let error = "Authz file cannot contain any groups when global groups are being used.";
            return Err(AuthzFault::at(position, invalid(error.into())));
        }
        let mut groups = GroupsReader {
            definitions: &mut reader.definitions,
            seen: false,
            position: LinePosition {
                is_in_groups: true,
                line: 0,
            },
        };
        ini::parse(text, &mut groups).map_err(|e| AuthzFault::at(groups.position, e))?;
    }
    reader.finish()
}

fn check_size(text: &[u8]) -> Result<()> {
    if text.len() as u64 > MAX_FILE {
        let message = format!("The file is larger than {MAX_FILE} bytes");
        return Err(Error::new(Code::MALFORMED_FILE, message));
    }
    Ok(())
}

struct AuthzReader {
    definitions: Definitions,
    /// A directory service knows further groups and members.
    others: bool,
    seen: HashSet<Vec<u8>>,
    /// The line that is being read.
    position: LinePosition,
    open: OpenSection,
    paths: RulePathsBuilder,
    rules: Vec<Rule>,
    entries: Vec<RuleEntry>,
    general: Vec<u32>,
    specific: HashMap<Vec<u8>, Vec<u32>>,
    /// The section that already has rules for (repository, path).
    described: HashMap<(Option<Vec<u8>>, u32), Vec<u8>>,
    /// Names of entries as written, each with its first line: the index is the principal's number.
    principals: Vec<(Vec<u8>, LinePosition)>,
    principal_ids: HashMap<Vec<u8>, u32>,
}

/// The section that is being read.
enum OpenSection {
    Groups,
    Aliases,
    Rule { name: Vec<u8>, node: u32, entries: u32 },
}

impl IniVisitor for AuthzReader {
    fn line(&mut self, number: u64) {
        self.position.line = number;
    }

    fn section(&mut self, name: &[u8]) -> Result<()> {
        self.close_rule();
        if self.seen.contains(name) {
            return Err(invalid(format!(
                "Section appears more than once in the authz file: [{}]",
                shown(name)
            )));
        }
        self.open = match name {
            b"groups" => OpenSection::Groups,
            b"aliases" => OpenSection::Aliases,
            _ => self.open_rule(name)?,
        };
        self.seen.insert(name.to_vec());
        Ok(())
    }

    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        match &self.open {
            OpenSection::Groups => self.definitions.add_group(name, value, self.position),
            OpenSection::Aliases => self.definitions.add_alias(name, value),
            OpenSection::Rule { name: section, .. } => {
                check_principal(name)?;
                let rights = rights(value, name, section)?;
                let principals = &mut self.principals;
                let known = self.principal_ids.get(name).copied();
                let principal = known.unwrap_or_else(|| {
                    let new = index(principals.len());
                    principals.push((name.to_vec(), self.position));
                    self.principal_ids.insert(name.to_vec(), new);
                    new
                });
                self.entries.push(RuleEntry { principal, rights });
                Ok(())
            }
        }
    }
}

impl AuthzReader {
    fn new() -> Self {
        AuthzReader {
            definitions: Definitions::default(),
            others: false,
            seen: HashSet::new(),
            position: LinePosition::default(),
            open: OpenSection::Aliases,
            paths: RulePathsBuilder::new(),
            rules: Vec::new(),
            entries: Vec::new(),
            general: Vec::new(),
            specific: HashMap::new(),
            described: HashMap::new(),
            principals: Vec::new(),
            principal_ids: HashMap::new(),
        }
    }

    fn open_rule(&mut self, name: &[u8]) -> Result<OpenSection> {
        let Header {
            repository,
            path,
            glob,
        } = header(name)?;
        let node = self.paths.node(&segments(path, glob, name)?);
        let repository = repository.map(<[u8]>::to_vec);
        let key = (repository, node);
        if let Some(other) = self.described.get(&key) {
            return Err(invalid(format!(
                "Section [{}] describes the same rule as section [{}]",
                shown(name),
                shown(other)
            )));
        }
        let rank = index(self.rules.len());
        match &key.0 {
            Some(repository) => self.specific.entry(repository.clone()).or_default().push(rank),
            None => self.general.push(rank),
        }
        self.described.insert(key, name.to_vec());
        let entries = index(self.entries.len());
        // Its end is not known yet: `close_rule` sets it.
        self.rules.push(Rule {
            node,
            entries: entries..entries,
        });
        Ok(OpenSection::Rule {
            name: name.to_vec(),
            node,
            entries,
        })
    }

    fn close_rule(&mut self) {
        if let OpenSection::Rule { node, entries, .. } = self.open
            && let Some(rule) = self.rules.last_mut()
        {
            let end = index(self.entries.len());
            *rule = Rule {
                node,
                entries: entries..end,
            };
        }
    }

    fn finish(mut self) -> std::result::Result<Authz, AuthzFault> {
        if self.others {
            let named = self.principals.iter().filter_map(|(name, _)| {
                let name = name.strip_prefix(b"~").unwrap_or(name);
                name.strip_prefix(b"@")
            });
            self.definitions.open_to_others(named);
        }
        let mut groups = self.definitions.resolve()?;
        if self.others {
            groups.fill();
        }
        let mut known: Vec<Option<Principal>> = vec![None; self.principals.len()];
        let mut warnings = Vec::new();
        for rule in &self.rules {
            let range = rule.entries.start as usize..rule.entries.end as usize;
            let mut entries: Vec<u32> = self.entries[range].iter().map(|e| e.principal).collect();
            // The incumbent checks the entries of a section in the order of their names, once each.
            entries.sort_unstable_by_key(|p| &self.principals[*p as usize].0);
            entries.dedup();
            for id in entries {
                let (name, position) = &self.principals[id as usize];
                let principal = match &mut known[id as usize] {
                    Some(principal) => principal,
                    unknown => {
                        let found = principal(name, &self.definitions, &groups);
                        unknown.insert(found.map_err(|e| AuthzFault::at(*position, e))?)
                    }
                };
                if principal.who == PrincipalKind::Nobody {
                    let name = shown(name.strip_prefix(b"~").unwrap_or(name));
                    let message = format!("Ignoring access entry for empty group '{name}'");
                    warnings.push(invalid(message));
                }
            }
        }
        let nobody = Principal {
            who: PrincipalKind::Nobody,
            inverted: false,
        };
        Ok(Authz {
            paths: self.paths.finish(),
            rules: self.rules,
            entries: self.entries,
            general: self.general,
            specific: self.specific,
            principals: known
                .into_iter()
                .map(|p| p.unwrap_or_else(|| nobody.clone()))
                .collect(),
            groups,
            warnings,
            compiled: Mutex::default(),
        })
    }
}

/// Reads the groups file.
struct GroupsReader<'d> {
    definitions: &'d mut Definitions,
    seen: bool,
    position: LinePosition,
}

impl IniVisitor for GroupsReader<'_> {
    fn line(&mut self, number: u64) {
        self.position.line = number;
    }

    fn section(&mut self, name: &[u8]) -> Result<()> {
        if name != b"groups" {
            return Err(invalid(format!(
                "Section is not valid in the global group file: [{}]",
                shown(name)
            )));
        }
        if std::mem::replace(&mut self.seen, true) {
            return Err(invalid(
                "Section appears more than once in the global groups file: [groups]".into(),
            ));
        }
        Ok(())
    }

    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        self.definitions.add_group(name, value, self.position)
    }
}

/// The section header of a rule, parsed.
struct Header<'a> {
    repository: Option<&'a [u8]>,
    path: &'a [u8],
    glob: bool,
}

/// Parses `/path`, `repository:/path`, `:glob:/path` or `:glob:repository:/path`.
fn header(name: &[u8]) -> Result<Header<'_>> {
    let empty_repository = || {
        let message = format!("Empty repository name in authz rule [{}]", shown(name));
        Err(invalid(message))
    };
    let not_valid = || {
        let message = format!("Section is not valid in the authz file: [{}]", shown(name));
        Err(invalid(message))
    };
    let mut rest = name;
    let mut glob = false;
    if let Some(typed) = name.strip_prefix(b":") {
        let Some(end) = typed.iter().position(|b| *b == b':') else {
            return empty_repository();
        };
        if &typed[..end] != b"glob" {
            return Err(invalid(format!(
                "Invalid type token '{}' in authz rule [{}]",
                shown(&typed[..end]),
                shown(name)
            )));
        }
        glob = true;
        rest = &typed[end + 1..];
    }
    let (repository, path) = match rest.iter().position(|b| matches!(b, b':' | b'/')) {
        Some(0) if rest[0] == b':' => return empty_repository(),
        Some(0) => (None, rest),
        _ => match rest.iter().position(|b| *b == b':') {
            Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
            None => return not_valid(),
        },
    };
    if path.starts_with(b"/") {
        Ok(Header {
            repository,
            path,
            glob,
        })
    } else {
        not_valid()
    }
}

/// Returns the components of a rule's path.
fn segments(path: &[u8], glob: bool, section: &[u8]) -> Result<Vec<PatternSegment>> {
    // The incumbent treats a path that begins with two slashes as the root.
    if path == b"/" || path.starts_with(b"//") {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for segment in path.split(|b| *b == b'/').skip(1) {
        let wrong = match segment {
            b"" => "Found empty name in authz rule path",
            b"." => "Found '.' in authz rule path",
            b".." => "Found '..' in authz rule path",
            _ => {
                out.push(if glob {
                    PatternSegment::glob(segment)
                } else {
                    PatternSegment::Literal(segment.to_vec())
                });
                continue;
            }
        };
        return Err(invalid(wrong.into())).context(|| {
            format!(
                "Non-canonical path '{}' in authz rule [{}]",
                shown(path),
                shown(section)
            )
        });
    }
    Ok(normalise(out))
}

/// Checks the name of an entry, as far as that needs no definitions.
fn check_principal(name: &[u8]) -> Result<()> {
    let (inverted, rest) = match name.strip_prefix(b"~") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let fault = match rest.first() {
        Some(b'~') => "has more than one inversion; double negatives are not permitted",
        Some(b'*') if rest.len() > 1 => "is not valid; it must be a single '*'",
        Some(b'*') if inverted => "will never match",
        Some(b'$') if rest != b"$anonymous" && rest != b"$authenticated" => {
            return Err(invalid(format!(
                "Access entry token '{}' is not valid; should be '$anonymous' or '$authenticated'",
                shown(name)
            )));
        }
        _ => return Ok(()),
    };
    Err(invalid(format!("Access entry '{}' {fault}", shown(name))))
}

/// Returns the principal of a checked name.
fn principal(name: &[u8], definitions: &Definitions, groups: &Groups) -> Result<Principal> {
    let (inverted, rest) = match name.strip_prefix(b"~") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let who = match rest.split_first() {
        Some((b'*', _)) => PrincipalKind::Everybody,
        Some((b'$', b"anonymous")) => PrincipalKind::Anonymous,
        Some((b'$', _)) => PrincipalKind::Authenticated,
        Some((b'@', group)) => match groups.id(group) {
            Some(id) if groups.is_empty(id) => PrincipalKind::Nobody,
            Some(id) => PrincipalKind::Group(id),
            None => {
                let message = format!("Access entry refers to undefined group '{}'", shown(rest));
                return Err(invalid(message));
            }
        },
        Some((b'&', alias)) => PrincipalKind::User(definitions.alias(alias)?.to_vec()),
        _ => PrincipalKind::User(rest.to_vec()),
    };
    Ok(Principal { who, inverted })
}

/// Parses the rights of an entry.
fn rights(value: &[u8], entry: &[u8], section: &[u8]) -> Result<Rights> {
    let (mut read, mut write) = (false, false);
    for &b in value {
        match b {
            b'r' => read = true,
            b'w' => write = true,
            b if is_space(b) => {}
            b => {
                return Err(invalid(format!(
                    "The access mode '{}' in access entry '{}' of rule [{}] is not valid",
                    shown(&[b]),
                    shown(entry),
                    shown(section)
                )));
            }
        }
    }
    match (read, write) {
        (true, true) => Ok(Rights::Write),
        (true, false) => Ok(Rights::Read),
        (false, false) => Ok(Rights::None),
        (false, true) => Err(invalid(format!(
            "Write-only access entry '{}' of rule [{}] is not valid",
            shown(entry),
            shown(section)
        ))),
    }
}
