//! Subversion's configuration file syntax: sections, options, continuation lines, `%(name)s`.
//!
//! `[section]` starts in the first column (what follows the bracket on its line is ignored); `name = value` or `name: value`;
//! a line that starts with white space continues the value before it; `#` in the first column starts a comment; the last of
//! several equal names counts. Section and option names are compared without case. `%(other)s` inside a value stands for the
//! option `other` of the same section, or of `[DEFAULT]`; where there is none, or in a circle, nothing is replaced.
//!
//! A file is read in full here or not at all; the caller names it in the error. (Errors name the true line; Subversion 1.14
//! does not count the section headers that it has passed.)

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ini {
    sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    name: String,
    options: Vec<(String, String)>,
}

impl Ini {
    /// Reads a file's text.
    ///
    /// # Errors
    /// `MALFORMED_FILE` with `line N: …`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
        let mut ini = Ini::default();
        let mut section = None;
        let mut may_continue = false;
        for (number, line) in text.split('\n').enumerate() {
            let bad = |what| Error::new(Code::MALFORMED_FILE, format!("line {}: {what}", number + 1));
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                may_continue = false;
            } else if let Some(rest) = line.strip_prefix('[') {
                let (name, _) = rest
                    .split_once(']')
                    .ok_or_else(|| bad("Section header must end with ']'"))?;
                if name.is_empty() {
                    return Err(bad("Section header expected"));
                }
                section = Some(ini.section_at(name));
                may_continue = false;
            } else if line.starts_with([' ', '\t']) {
                let text = line.trim_start();
                match section.and_then(|at| ini.sections[at].options.last_mut()) {
                    Some((_, value)) if may_continue => {
                        value.push(' ');
                        value.push_str(text);
                    }
                    _ if text.starts_with('[') => {
                        return Err(bad("Section header must start in the first column"));
                    }
                    _ => return Err(bad("Option expected")),
                }
            } else {
                let at = section.ok_or_else(|| bad("Section header expected"))?;
                let end = line
                    .find([':', '='])
                    .ok_or_else(|| bad("Option must end with ':' or '='"))?;
                let option = (
                    line[..end].trim_end().to_owned(),
                    line[end + 1..].trim_start().to_owned(),
                );
                ini.sections[at].options.push(option);
                may_continue = true;
            }
        }
        Ok(ini)
    }

    /// An option's value, with its `%(…)s` replaced.
    pub fn get(&self, section: &str, option: &str) -> Option<Cow<'_, str>> {
        let value = self.raw(section, option)?;
        let mut path = vec![option];
        Some(self.expand(section, value, &mut path))
    }

    /// The options of a section in the order of the file, without those that a later one of the same name overrides; values
    /// are expanded.
    pub fn options<'a>(&'a self, section: &str) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        let found = self
            .sections
            .iter()
            .find(|s| s.name.eq_ignore_ascii_case(section));
        found.into_iter().flat_map(move |section| {
            section
                .options
                .iter()
                .enumerate()
                .filter_map(move |(at, (name, value))| {
                    let later = &section.options[at + 1..];
                    let overridden = later.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
                    (!overridden).then(|| (&**name, self.expand(&section.name, value, &mut vec![name])))
                })
        })
    }

    /// Names of the sections, in the order of their first appearance.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|section| &*section.name)
    }

    fn section_at(&mut self, name: &str) -> usize {
        let found = self
            .sections
            .iter()
            .position(|s| s.name.eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| {
            self.sections.push(Section {
                name: name.to_owned(),
                options: Vec::new(),
            });
            self.sections.len() - 1
        })
    }

    fn raw(&self, section: &str, option: &str) -> Option<&str> {
        let section = self
            .sections
            .iter()
            .find(|s| s.name.eq_ignore_ascii_case(section))?;
        let mut options = section.options.iter().rev();
        options
            .find(|(name, _)| name.eq_ignore_ascii_case(option))
            .map(|(_, value)| &**value)
    }

    /// `path` holds the options being expanded, to see circles; it also bounds the depth.
    fn expand<'a, 'n>(&'a self, section: &str, value: &'a str, path: &mut Vec<&'n str>) -> Cow<'a, str>
    where
        'a: 'n,
    {
        if !value.contains("%(") || path.len() > MAX_EXPANSION_DEPTH {
            return Cow::Borrowed(value);
        }
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some(start) = rest.find("%(") {
            let Some(end) = rest[start..].find(")s").map(|at| start + at) else {
                break;
            };
            let name = &rest[start + 2..end];
            let known = self.raw(section, name).or_else(|| self.raw("DEFAULT", name));
            let circle = path.iter().any(|seen| seen.eq_ignore_ascii_case(name));
            out.push_str(&rest[..start]);
            match known {
                _ if circle => {}
                Some(inner) => {
                    path.push(name);
                    out.push_str(&self.expand(section, inner, path));
                    path.pop();
                }
                None => out.push_str(&rest[start..end + 2]),
            }
            rest = &rest[end + 2..];
            if out.len() > MAX_EXPANDED {
                break;
            }
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// Reads a yes-or-no value: `true`, `yes`, `on`, `1` and their opposites, in any case.
pub fn parse_bool(value: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match () {
        () if is(["true", "yes", "on", "1"]) => Some(true),
        () if is(["false", "no", "off", "0"]) => Some(false),
        () => None,
    }
}

const MAX_EXPANSION_DEPTH: usize = 16;

/// Options that double each other would fill the memory.
const MAX_EXPANDED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn get(text: &str, section: &str, option: &str) -> Option<String> {
        let ini = Ini::parse(text.as_bytes()).expect(text);
        ini.get(section, option).map(Cow::into_owned)
    }

    #[test]
    fn names_have_no_case_and_the_last_value_counts() {
        let text = "\u{feff}[A]x\nName = 1\n# no\nname : two words \n[b]\n[a]\nother=3\r\n";
        assert_eq!(get(text, "a", "NAME").as_deref(), Some("two words"));
        assert_eq!(get(text, "A", "other").as_deref(), Some("3"));
        assert_eq!(get(text, "b", "name"), None);
        let ini = Ini::parse(text.as_bytes()).expect("good");
        assert_eq!(ini.sections().collect::<Vec<_>>(), ["A", "b"]);
        let options: Vec<_> = ini.options("a").map(|(name, _)| name).collect();
        assert_eq!(options, ["name", "other"]);
    }

    #[test]
    fn values_continue_on_indented_lines() {
        assert_eq!(get("[a]\nx = 1\n  2\n\t3\n", "a", "x").as_deref(), Some("1 2 3"));
    }

    #[test]
    fn references_are_replaced_but_never_for_ever() {
        let text = "[DEFAULT]\ny=3\n[a]\nx=<%(y)s>\nz=%(no)s\nc=%(d)s\nd=%(c)s\ny=4\n";
        assert_eq!(get(text, "a", "x").as_deref(), Some("<4>"));
        assert_eq!(get(&text.replace("y=4\n", ""), "a", "x").as_deref(), Some("<3>"));
        assert_eq!(get(text, "a", "z").as_deref(), Some("%(no)s"));
        assert_eq!(get(text, "a", "c").as_deref(), Some(""));
        let mut bomb = "[a]\nx0=0123456789\n".to_owned();
        for n in 1..40 {
            bomb.push_str(&format!("x{n}={}\n", format!("%(x{})s", n - 1).repeat(9)));
        }
        let grown = get(&bomb, "a", "x39").expect("an option");
        assert!(grown.len() < 20 * MAX_EXPANDED);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, message) in [
            ("garbage\n", "line 1: Section header expected"),
            ("[a\n", "line 1: Section header must end with ']'"),
            ("[]\n", "line 1: Section header expected"),
            ("[a]\nx\n", "line 2: Option must end with ':' or '='"),
            ("[a]\n x=1\n", "line 2: Option expected"),
            ("[a]\nx=1\n\n 3\n", "line 4: Option expected"),
            (" [a]\n", "line 1: Section header must start in the first column"),
        ] {
            let error = Ini::parse(text.as_bytes()).expect_err(text);
            assert_eq!((error.code(), &*error.message()), (Code::MALFORMED_FILE, message));
        }
    }
}
