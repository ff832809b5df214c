//! Rules for the names and values of properties, which clients check and repositories do not.

use std::cmp::Reverse;
use std::collections::HashSet;

use base::mergeinfo::Mergeinfo;
use base::{Code, Error, NodeKind, Result};

use crate::externals::{self, EXTERNALS, ParseDate};

/// Checks the name of a property: a letter, `:` or `_`, then letters, digits, `-`, `.`, `:` and `_`, all of ASCII.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME`.
pub fn check_name(name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    let message = format!("'{name}' is not a valid Subversion property name");
    Err(Error::new(Code::CLIENT_PROPERTY_NAME, message))
}

/// Returns true for a name that properties may have.
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || b":_".contains(&byte);
    bytes.next().is_some_and(is_first)
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-.:_".contains(&byte))
}

/// Returns true for the name of a property that only revisions have.
pub fn is_revision_prop(name: &str) -> bool {
    REVISION_PROPS.contains(&name)
}

/// Checks a style of line ends. `target` is the node in messages.
///
/// # Errors
/// `IO_UNKNOWN_EOL`.
pub fn check_line_end_style(value: &[u8], target: &str) -> Result<()> {
    if matches!(value, b"native" | b"LF" | b"CR" | b"CRLF") {
        return Ok(());
    }
    let value = String::from_utf8_lossy(value);
    let message = format!("Unrecognized line ending style '{value}' for '{target}'");
    Err(Error::new(Code::IO_UNKNOWN_EOL, message))
}

/// Returns true for a property whose value is text with line feeds, in UTF-8.
pub fn is_text(name: &str) -> bool {
    name.starts_with("svn:")
}

/// Returns true for a value that looks as if it turned a property off which is on with any value.
pub fn seems_to_turn_off(name: &str, value: &[u8]) -> bool {
    let is_switch = matches!(name, "svn:executable" | "svn:needs-lock" | "svn:special");
    let value = value.trim_ascii();
    let is_no = ["", "0", "no", "off", "false"]
        .iter()
        .any(|no| value.eq_ignore_ascii_case(no.as_bytes()));
    is_switch && is_no
}

/// What a property belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropOwner {
    /// A file or a directory.
    Node,
    /// A revision.
    Revision,
}

/// Checks that a name that looks like one of Subversion's own properties is one. `verb` is what the user wants to do with it.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME`, with the name that was meant if it is similar.
pub fn check_reserved_name(name: &str, owner: PropOwner, verb: &str) -> Result<()> {
    let known = match owner {
        PropOwner::Node => NODE_PROPS,
        PropOwner::Revision => REVISION_PROPS,
    };
    if known.contains(&name) {
        return Ok(());
    }
    let Some((prefix, rest)) = name.split_at_checked(4) else {
        return Ok(());
    };
    let is_reserved = prefix == PREFIX;
    if !is_reserved && (!prefix.ends_with(':') || !is_similar(prefix, PREFIX)) {
        return Ok(());
    }
    match similar_names(rest, known) {
        Some(meant) => {
            let message = format!("'{name}' is not a valid svn: property name; did you mean {meant}?");
            let hint = format!("Use '--force' to {verb} the '{name}' property.");
            Err(Error::new(Code::CLIENT_PROPERTY_NAME, message).context(hint))
        }
        None if is_reserved => {
            let message = format!("'{name}' is not a valid svn: property name; use '--force' to {verb} it");
            Err(Error::new(Code::CLIENT_PROPERTY_NAME, message))
        }
        None => Ok(()),
    }
}

/// Returns the names that a name without the prefix is similar to, the most similar one first: `'a', 'b' or 'c'`.
fn similar_names(rest: &str, known: &[&str]) -> Option<String> {
    let scored = known
        .iter()
        .map(|known| (similarity(rest, &known[PREFIX.len()..]), *known));
    let mut similar: Vec<(usize, &str)> = scored.filter(|(score, _)| *score >= SIMILAR).collect();
    similar.sort_by_key(|(score, _)| Reverse(*score));
    let mut names: Vec<String> = similar.iter().map(|(_, name)| format!("'{name}'")).collect();
    let last = names.pop()?;
    Some(match names.is_empty() {
        true => last,
        false => format!("{} or {last}", names.join(", ")),
    })
}

/// Checks the value of a property of Subversion's own and brings it to the form that is stored. `target` is the node in messages. With
/// `skip_checks`, values of line ends and media types are not checked.
///
/// # Errors
/// `ILLEGAL_TARGET` for a property of the other kind of node, `BAD_MIME_TYPE`, `CLIENT_INVALID_EXTERNALS_DESCRIPTION`,
/// `MERGEINFO_PARSE_ERROR`.
pub fn canonical_value(
    name: &str,
    value: &[u8],
    target: &str,
    kind: NodeKind,
    skip_checks: bool,
    parse_date: ParseDate<'_>,
) -> Result<Vec<u8>> {
    let (forbidden, where_) = match kind {
        NodeKind::File => (DIRECTORY_ONLY, "file"),
        _ => (FILE_ONLY, "directory"),
    };
    if forbidden.contains(&name) {
        let message = format!("Cannot set '{name}' on a {where_} ('{target}')");
        return Err(Error::new(Code::ILLEGAL_TARGET, message));
    }
    match name {
        "svn:executable" | "svn:needs-lock" | "svn:special" => Ok(b"*".to_vec()),
        "svn:ignore" | "svn:global-ignores" | "svn:auto-props" | EXTERNALS => {
            let mut value = value.to_vec();
            if !value.ends_with(b"\n") {
                value.push(b'\n');
            }
            if name == EXTERNALS {
                check_externals(target, &value, parse_date)?;
            }
            Ok(value)
        }
        "svn:keywords" | "svn:eol-style" => Ok(value.trim_ascii().to_vec()),
        base::props::MIME_TYPE => {
            if skip_checks {
                return Ok(value.to_vec());
            }
            let value = value.trim_ascii();
            check_mime_type(value)?;
            Ok(value.to_vec())
        }
        base::props::MERGEINFO => Ok(Mergeinfo::parse(value)?.to_string().into_bytes()),
        _ => Ok(value.to_vec()),
    }
}

/// Checks that every line is an external, and that no two have the same target.
fn check_externals(directory: &str, value: &[u8], parse_date: ParseDate<'_>) -> Result<()> {
    let mut targets = HashSet::new();
    for external in externals::parse(directory, value, parse_date)? {
        if let Some(target) = targets.replace(external.target) {
            let message = format!(
                "Invalid {EXTERNALS} property on '{directory}': target '{target}' appears more than once"
            );
            return Err(Error::new(Code::WC_DUPLICATE_EXTERNALS_TARGET, message));
        }
    }
    Ok(())
}

/// Checks a media type.
///
/// # Errors
/// `BAD_MIME_TYPE`.
fn check_mime_type(value: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(value);
    let end = text.find([';', ' ']).unwrap_or(text.len());
    let bare = &text[..end];
    let wrong = |message: String| Err(Error::new(Code::BAD_MIME_TYPE, message));
    if bare.is_empty() {
        return wrong(format!("MIME type '{text}' has empty media type"));
    }
    if !bare.contains('/') {
        return wrong(format!("MIME type '{text}' does not contain '/'"));
    }
    let is_separator = |byte: u8| byte != b'/' && b"()<>@,;:\\\"/[]?=".contains(&byte);
    let bad = bare
        .bytes()
        .find(|&byte| is_separator(byte) || !byte.is_ascii_graphic());
    match bad {
        Some(byte) => wrong(format!(
            "MIME type '{text}' contains invalid character '{}' in media type",
            char::from(byte)
        )),
        None => Ok(()),
    }
}

fn is_similar(a: &str, b: &str) -> bool {
    similarity(a, b) >= SIMILAR
}

/// How similar two texts are: from 0 to 1000, by their longest common subsequence.
fn similarity(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() + b.len() == 0 || a.len() > LONGEST_COMPARED {
        return 0;
    }
    let mut row = vec![0_usize; b.len() + 1];
    for byte in a {
        let mut diagonal = 0;
        for (at, other) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = match byte == other {
                true => diagonal + 1,
                false => above.max(row[at]),
            };
            diagonal = above;
        }
    }
    2000 * row[b.len()] / (a.len() + b.len())
}

/// The prefix of Subversion's own properties.
const PREFIX: &str = "svn:";
/// From here on, names count as similar.
const SIMILAR: usize = 666;
/// Longer names are similar to none.
const LONGEST_COMPARED: usize = 100;

const NODE_PROPS: &[&str] = &[
    "svn:auto-props",
    "svn:eol-style",
    "svn:executable",
    "svn:externals",
    "svn:global-ignores",
    "svn:group",
    "svn:ignore",
    "svn:keywords",
    "svn:mergeinfo",
    "svn:mime-type",
    "svn:needs-lock",
    "svn:owner",
    "svn:special",
    "svn:text-time",
    "svn:unix-mode",
];
const REVISION_PROPS: &[&str] = &[
    "svn:author",
    "svn:autoversioned",
    "svn:date",
    "svn:log",
    "svn:original-date",
];
const DIRECTORY_ONLY: &[&str] = &[
    "svn:auto-props",
    "svn:externals",
    "svn:global-ignores",
    "svn:ignore",
];
const FILE_ONLY: &[&str] = &[
    "svn:eol-style",
    "svn:executable",
    "svn:keywords",
    "svn:mime-type",
    "svn:needs-lock",
    "svn:special",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let text = |name, owner| match check_reserved_name(name, owner, "set") {
            Ok(()) => String::new(),
            Err(error) => error.root_cause().text(),
        };
        for (name, owner, meant) in [
            ("svn:eol-stlye", PropOwner::Node, "svn:eol-style"),
            ("svn:Ignore", PropOwner::Node, "svn:ignore"),
            ("snv:ignore", PropOwner::Node, "svn:ignore"),
            ("svn:autopros", PropOwner::Node, "svn:auto-props"),
            ("svn:lgo", PropOwner::Revision, "svn:log"),
            ("svn:auther", PropOwner::Revision, "svn:author"),
        ] {
            assert!(
                text(name, owner).ends_with(&format!("did you mean '{meant}'?")),
                "{name}"
            );
        }
        for name in ["svn:global", "svn:xyzzy", "svn:", "svn:log"] {
            assert!(text(name, PropOwner::Node).ends_with("use '--force' to set it"));
        }
        for name in ["svn", "SVN:ignore", "ignore", "svn:ignore"] {
            assert_eq!(text(name, PropOwner::Node), "");
        }
    }

    #[test]
    fn values_are_brought_to_their_form() {
        let value = |name, value: &str, kind| {
            canonical_value(name, value.as_bytes(), "t", kind, false, &|_| None)
                .map(|value| String::from_utf8_lossy(&value).into_owned())
        };
        assert_eq!(value("svn:ignore", "*.o", NodeKind::Dir).expect("valid"), "*.o\n");
        assert_eq!(value("svn:executable", "x", NodeKind::File).expect("valid"), "*");
        assert_eq!(
            value("svn:mime-type", " a/b ", NodeKind::File).expect("valid"),
            "a/b"
        );
        assert!(value("svn:mime-type", "x", NodeKind::File).is_err());
        assert!(value("svn:ignore", "x", NodeKind::File).is_err());
        assert!(value("svn:executable", "x", NodeKind::Dir).is_err());
    }
}
