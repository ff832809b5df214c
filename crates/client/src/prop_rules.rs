//! Rules for the names and values of properties, which clients check and repositories do not.

use base::{Code, Error, Result};

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
