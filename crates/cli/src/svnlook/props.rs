//! Reads and prints property lists, for `propget` and `proplist`.

use base::{FsPath, Result};
use fsfs::{Node, Root};

use crate::out::Out;
use crate::xml;

/// Names and values, sorted by name.
pub type PropertyList = Vec<(String, Vec<u8>)>;

/// Returns the properties that a node inherits: the path and the properties of each directory above it that has any,
/// the outermost first. With a `name`, only that property counts.
///
/// # Errors
/// As the engine's.
pub fn inherited(root: &Root, path: &FsPath, name: Option<&str>) -> Result<Vec<(FsPath, PropertyList)>> {
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

/// Returns a node's own properties; with a `name`, only that one.
///
/// # Errors
/// Errors of reading them.
pub fn of_node(node: &Node, name: Option<&str>) -> Result<PropertyList> {
    let wanted = |entry: &(&String, &Vec<u8>)| name.is_none_or(|name| name == entry.0);
    let all = node.props()?;
    let list = all.iter().filter(wanted);
    Ok(list.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Prints the names of a list, one a line, indented by two spaces. With `values`, prints each value after its name,
/// indented by four.
///
/// # Errors
/// See [`Out::print`].
pub fn print(out: &mut Out, list: &[(String, Vec<u8>)], values: bool) -> Result<()> {
    for (name, value) in list {
        out.line(&format!("  {name}"))?;
        if values {
            // The incumbent prints values as C strings here, up to the first null byte.
            let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
            value_text(out, name, &indented(&value[..end]))?;
            out.raw(b"\n")?;
        }
    }
    Ok(())
}

/// Indents every line by four spaces, including an empty last line.
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

/// Prints a value. Subversion's own properties are text and are converted to the terminal's character set; others are
/// bytes.
fn value_text(out: &mut Out, name: &str, value: &[u8]) -> Result<()> {
    match std::str::from_utf8(value) {
        Ok(text) if name.starts_with("svn:") => out.print(text),
        _ => out.raw(value),
    }
}

/// Returns the XML elements of a list.
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
