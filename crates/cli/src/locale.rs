//! The locale of the process.

use std::env;

use base::charset::Charset;

/// Returns the character set of the locale in LC_ALL, LC_CTYPE or LANG, the first that is set and not empty.
pub fn charset() -> Charset {
    let name = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    Charset::of_locale(&name.to_string_lossy())
}
