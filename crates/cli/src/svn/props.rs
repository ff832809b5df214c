//! How properties are printed.

use base::Result;

use crate::out::Out;
use crate::xml;

/// Prints a value as it is. Values of Subversion's own properties are text, and converted to the terminal's character set.
pub fn print_value(name: &str, value: &[u8], out: &mut Out) -> Result<()> {
    match name.starts_with("svn:") {
        true => out.print_bytes(value),
        false => out.raw(value),
    }
}

/// Prints the name of a property, indented, and if `with_value` its value, indented more. The value ends at a NUL byte.
pub fn print_indented(name: &str, value: &[u8], with_value: bool, out: &mut Out) -> Result<()> {
    out.line(&format!("  {name}"))?;
    if !with_value {
        return Ok(());
    }
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    for line in value[..end].split(|byte| *byte == b'\n') {
        out.raw(b"    ")?;
        print_value(name, line, out)?;
        out.raw(b"\n")?;
    }
    Ok(())
}

/// Returns the element of a property; without a value if it is `None`.
pub fn xml_element(element: &str, name: &str, value: Option<&[u8]>) -> String {
    let Some(value) = value else {
        return xml::tag(element, &[("name", name)], "/>\n");
    };
    let (attributes, text) = match std::str::from_utf8(value) {
        Ok(text) if xml::is_safe(value) => (vec![("name", name)], xml::text(text)),
        _ => (vec![("name", name), ("encoding", "base64")], xml::base64(value)),
    };
    format!("{}{text}</{element}>\n", xml::tag(element, &attributes, ">"))
}
