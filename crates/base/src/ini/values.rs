//! The values of a configuration file, by section and name, with `%(name)s` expanded when they are read.
//!
//! An option that a section lacks has the value that `[DEFAULT]` gives it. As in the incumbent, a section exists from its first option on,
//! and an option that an existing section sets and only `[DEFAULT]` has is set there.
//!
//! Each kind of file says whether case matters in names ([`Case`]). Expansion is bounded ([`MAX_EXPANSION`],
//! [`MAX_DEPTH`]): a small file cannot unfold into a large one.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

use super::parse::{IniVisitor, parse};
use crate::error::{Error, Result};
use crate::error_codes::Code;

/// Does case matter in the names of sections and options? (ASCII case only.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `[General]` is not `[general]`: hooks-env and authz files.
    Sensitive,
    /// `[General]` is `[general]`: svnserve.conf and passwd.
    Ignored,
}

/// A parsed configuration file, or several with the same meaning, the later ones over the earlier.
#[derive(Clone, Debug)]
pub struct Ini {
    case: Case,
    sections: Vec<Section>,
    by_name: HashMap<Vec<u8>, usize>,
}

#[derive(Clone, Debug)]
struct Section {
    /// As first written.
    name: Vec<u8>,
    /// Name as first written, value as last written.
    options: Vec<(Vec<u8>, Vec<u8>)>,
    by_name: HashMap<Vec<u8>, usize>,
}

impl Ini {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// `MALFORMED_FILE` with `line N: …`.
    pub fn parse(text: &[u8], case: Case) -> Result<Self> {
        let mut values = Ini::empty(case);
        values.read(text)?;
        Ok(values)
    }

    /// Returns no values.
    pub fn empty(case: Case) -> Self {
        Ini {
            case,
            sections: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// Adds the values of another file. They replace those of the same name.
    ///
    /// # Errors
    /// `MALFORMED_FILE` with `line N: …`. The values before that line are added.
    pub fn read(&mut self, text: &[u8]) -> Result<()> {
        let collector = &mut Collector {
            values: self,
            open: Vec::new(),
        };
        parse(text, collector)
    }

    /// Sets a value.
    pub fn set(&mut self, section: &[u8], option: &[u8], value: &[u8]) {
        let mut collector = Collector {
            values: self,
            open: section.to_vec(),
        };
        collector.put(option, value);
    }

    /// The names of the sections with options, in the order of the file.
    pub fn sections(&self) -> impl Iterator<Item = &[u8]> {
        self.sections.iter().map(|s| &*s.name)
    }

    /// Returns the options of a section itself in the order of the file, expanded; none if there is no such section.
    pub fn options(&self, section: &[u8]) -> impl Iterator<Item = (&[u8], Result<Cow<'_, [u8]>>)> {
        let found = self.section(section);
        let options = found.map_or(&[][..], |s| &self.sections[s].options);
        options.iter().enumerate().map(move |(at, (name, _))| {
            let value = self.expanded((found.unwrap_or_default(), at));
            (&**name, value)
        })
    }

    /// Returns the names for which [`Ini::get`] finds a value: those of a section, and if it exists, those of `[DEFAULT]`. A name may occur
    /// twice.
    pub fn names(&self, section: &[u8]) -> impl Iterator<Item = &[u8]> {
        let own = self.section(section);
        let default = own.and_then(|_| self.section(b"DEFAULT"));
        let both = own.into_iter().chain(default);
        both.flat_map(|at| self.sections[at].options.iter().map(|(name, _)| &**name))
    }

    /// The expanded value of an option of a section, or of `[DEFAULT]` if the section exists without it; `None` if it is not there.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` if it would expand beyond all bounds.
    pub fn get(&self, section: &[u8], option: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let Some(section) = self.section(section) else {
            return Ok(None);
        };
        self.option_or_default(section, option)
            .map(|found| self.expanded(found))
            .transpose()
    }

    /// The truth of an option: true/yes/on/1 or false/no/off/0 in any case; `default` if it is not there.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for any other word.
    pub fn flag(&self, section: &str, option: &str, default: bool) -> Result<bool> {
        let Some(value) = self.get(section.as_bytes(), option.as_bytes())? else {
            return Ok(default);
        };
        match &*value.to_ascii_lowercase() {
            b"true" | b"yes" | b"on" | b"1" => Ok(true),
            b"false" | b"no" | b"off" | b"0" => Ok(false),
            _ => Err(Error::new(
                Code::BAD_CONFIG_VALUE,
                format!(
                    "Config error: invalid boolean value '{}' for '[{section}] {option}'",
                    String::from_utf8_lossy(&value)
                ),
            )),
        }
    }

    fn fold<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        match self.case {
            Case::Ignored if name.iter().any(u8::is_ascii_uppercase) => Cow::Owned(name.to_ascii_lowercase()),
            Case::Ignored | Case::Sensitive => Cow::Borrowed(name),
        }
    }

    fn section(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(&*self.fold(name)).copied()
    }

    fn option(&self, section: usize, name: &[u8]) -> Option<usize> {
        self.sections[section].by_name.get(&*self.fold(name)).copied()
    }

    fn add_section(&mut self, name: &[u8]) -> usize {
        let at = self.sections.len();
        self.by_name.insert(self.fold(name).into_owned(), at);
        self.sections.push(Section {
            name: name.to_vec(),
            options: Vec::new(),
            by_name: HashMap::new(),
        });
        at
    }

    fn expanded(&self, at: OptionIndex) -> Result<Cow<'_, [u8]>> {
        let raw = self.raw(at);
        if memmem::find(raw, b"%(").is_none() {
            return Ok(Cow::Borrowed(raw));
        }
        let mut expansion = Expansion {
            values: self,
            done: HashMap::new(),
            total: 0,
        };
        match expansion.expand(at, 0) {
            Ok(value) => Ok(Cow::Owned(value)),
            // As in the incumbent, a value that refers to itself is empty.
            Err(ExpansionLimit::Cycle) => Ok(Cow::Borrowed(b"")),
            Err(ExpansionLimit::TooLarge) => Err(Error::new(
                Code::BAD_CONFIG_VALUE,
                format!(
                    "Config error: the references in '[{}] {}' expand too far",
                    String::from_utf8_lossy(&self.sections[at.0].name),
                    String::from_utf8_lossy(&self.sections[at.0].options[at.1].0),
                ),
            )),
        }
    }

    fn raw(&self, (section, option): OptionIndex) -> &[u8] {
        &self.sections[section].options[option].1
    }

    /// Returns the option of a section, or that of `[DEFAULT]`.
    fn option_or_default(&self, section: usize, name: &[u8]) -> Option<OptionIndex> {
        if let Some(option) = self.option(section, name) {
            return Some((section, option));
        }
        if self.sections[section].name.eq_ignore_ascii_case(b"DEFAULT") {
            return None;
        }
        let default = self.section(b"DEFAULT")?;
        Some((default, self.option(default, name)?))
    }
}

/// The indices of a section and of an option in it.
type OptionIndex = (usize, usize);

/// Why an expansion ended early.
enum ExpansionLimit {
    Cycle,
    TooLarge,
}

struct Expansion<'v> {
    values: &'v Ini,
    /// `None` while it is being expanded.
    done: HashMap<OptionIndex, Option<Vec<u8>>>,
    total: usize,
}

impl Expansion<'_> {
    fn expand(&mut self, at: OptionIndex, depth: usize) -> Result<Vec<u8>, ExpansionLimit> {
        if depth > MAX_DEPTH {
            return Err(ExpansionLimit::TooLarge);
        }
        self.done.insert(at, None);
        let mut rest = self.values.raw(at);
        let mut out = Vec::new();
        while let Some(start) = memmem::find(rest, b"%(") {
            let Some(len) = memmem::find(&rest[start + 2..], b")s") else {
                break;
            };
            self.append(&mut out, &rest[..start])?;
            let end = start + 2 + len + 2;
            match self
                .values
                .option_or_default(at.0, &rest[start + 2..start + 2 + len])
            {
                None => self.append(&mut out, &rest[start..end])?,
                Some(other) => {
                    let value = match self.done.get(&other) {
                        Some(Some(value)) => value.clone(),
                        Some(None) => return Err(ExpansionLimit::Cycle),
                        None => self.expand(other, depth + 1)?,
                    };
                    self.append(&mut out, &value)?;
                }
            }
            rest = &rest[end..];
        }
        self.append(&mut out, rest)?;
        self.done.insert(at, Some(out.clone()));
        Ok(out)
    }

    fn append(&mut self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ExpansionLimit> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > MAX_EXPANSION {
            return Err(ExpansionLimit::TooLarge);
        }
        out.extend_from_slice(bytes);
        Ok(())
    }
}

struct Collector<'v> {
    values: &'v mut Ini,
    /// The name of the section that was opened last.
    open: Vec<u8>,
}

impl Collector<'_> {
    fn put(&mut self, name: &[u8], value: &[u8]) {
        let values = &mut *self.values;
        let existing = values.section(&self.open);
        if let Some((section, option)) = existing.and_then(|at| values.option_or_default(at, name)) {
            values.sections[section].options[option].1 = value.to_vec();
            return;
        }
        let section = existing.unwrap_or_else(|| values.add_section(&self.open));
        let folded = values.fold(name).into_owned();
        let section = &mut values.sections[section];
        section.by_name.insert(folded, section.options.len());
        section.options.push((name.to_vec(), value.to_vec()));
    }
}

impl IniVisitor for Collector<'_> {
    fn section(&mut self, name: &[u8]) -> Result<()> {
        self.open = name.to_vec();
        Ok(())
    }

    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        self.put(name, value);
        Ok(())
    }
}

/// References within references.
const MAX_DEPTH: usize = 64;
/// Bytes copied to expand one value.
const MAX_EXPANSION: usize = 1 << 20;

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
