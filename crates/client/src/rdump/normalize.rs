//! Line ends of `svn:` properties in dump streams.

use std::borrow::Cow;

/// Returns the value with line feeds if the property is one of Subversion's: both directions normalise it.
pub fn normalize<'a>(name: &str, value: &'a [u8]) -> Cow<'a, [u8]> {
    if !name.starts_with("svn:") || !value.contains(&b'\r') {
        return Cow::Borrowed(value);
    }
    Cow::Owned(crate::sync::with_line_feeds(value))
}
