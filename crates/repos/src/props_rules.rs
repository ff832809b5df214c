//! Which properties a repository stores, and in what form.

use base::{Code, Error, Result};

/// Refuses a property that must not be stored; deleting any is allowed.
///
/// # Errors
/// `REPOS_BAD_ARGS` for names of working copies, `BAD_PROPERTY_VALUE` for values of `svn:` properties.
pub fn validate(name: &str, value: Option<&[u8]>) -> Result<()> {
    let _ = (name, value);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}

/// The value with its line endings made LF, if the property is one whose value is text; `None` if it is so already.
pub fn normalize(name: &str, value: &[u8]) -> Option<Vec<u8>> {
    let _ = (name, value);
    None
}
