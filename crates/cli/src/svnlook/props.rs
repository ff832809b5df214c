//! Property lists as `propget` and `proplist` print them.

use base::{FsPath, Result};
use fsfs::{Node, Root};

use crate::out::Out;
use crate::xml;

/// Names and values, sorted by name.
pub type List = Vec<(String, Vec<u8>)>;

/// The properties that a node inherits: for each directory above it that has any, its path and those, the outermost first. With
/// a `name` only that property counts.
///
/// # Errors
/// As the engine's.
pub fn inherited(root: &Root, path: &FsPath, name: Option<&str>) -> Result<Vec<(FsPath, List)>> {
    let mut found = Vec::new();
    for dir in root.ancestors(path)? {
        let dir = dir?;
        let list = of_node(&dir, name)?;
        if !list.is_empty() {
            found.push((dir.path().clone(), list));
        }
    }
    found.reverse();
    Ok(found)
}

/// A node's own properties; with a `name` only that one.
///
/// # Errors
/// As the engine's.
pub fn of_node(node: &Node, name: Option<&str>) -> Result<List> {
    let wanted = |entry: &(&String, &Vec<u8>)| name.is_none_or(|name| name == entry.0);
    let all = node.props()?;
    let list = all.iter().filter(wanted);
    Ok(list.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Prints a list, each name on a line of its own, indented by two blanks; with their values by four.
///
/// # Errors
/// See [`Out::print`].
pub fn print(out: &mut Out, list: &[(String, Vec<u8>)], values: bool) -> Result<()> {
    for (name, value) in list {
        out.line(&format!("  {name}"))?;
        if values {
            // The incumbent prints values as C strings here.
            let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
            value_text(out, name, &indented(&value[..end]))?;
            out.raw(b"\n")?;
        }
    }
    Ok(())
}

/// Puts four blanks in front of every line, an empty last one included.
fn indented(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 8);
    let mut lines = diff::split(value);
    if value.is_empty() || value.ends_with(b"\n") || value.ends_with(b"\r") {
        lines.push(b"");
    }
    for line in lines {
        out.extend_from_slice(b"    ");
        out.extend_from_slice(line);
    }
    out
}

/// Prints a value: Subversion's own properties are text, for the terminal's character set; others are bytes.
fn value_text(out: &mut Out, name: &str, value: &[u8]) -> Result<()> {
    match std::str::from_utf8(value) {
        Ok(text) if name.starts_with("svn:") => out.print(text),
        _ => out.raw(value),
    }
}

/// The elements of a list.
pub fn elements(element: &str, list: &[(String, Vec<u8>)], values: bool) -> String {
    let mut text = String::new();
    for (name, value) in list {
        if !values {
            text.push_str(&xml::tag(element, &[("name", name)], "/>\n"));
            continue;
        }
        match std::str::from_utf8(value) {
            Ok(value) if xml::is_safe(value.as_bytes()) => {
                text.push_str(&xml::tag(element, &[("name", name)], ">"));
                text.push_str(&xml::text(value));
            }
            _ => {
                text.push_str(&xml::tag(element, &[("name", name), ("encoding", "base64")], ">"));
                text.push_str(&xml::base64(value));
            }
        }
        text.push_str(&format!("</{element}>\n"));
    }
    text
}
