//! The password file for CRAM-MD5.
//!
//! It has one section, `[users]`, with `name = password` in clear text; `[DEFAULT]` adds users to it, as to any section. Names are looked up without regard to (ASCII)
//! case, as in the incumbent; references (`%(name)s`) in passwords are expanded.

use std::collections::HashMap;
use std::path::Path;

use base::Result;
use base::ini::{Case, Ini};

/// Names and passwords.
pub struct Passwords {
    by_name: HashMap<Vec<u8>, Box<[u8]>>,
}

impl Passwords {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The system's number, `MALFORMED_FILE`, `BAD_CONFIG_VALUE`. A client gets none of these, but
    /// `AUTHN_NO_PROVIDER` ([`super::ConfigCache::passwords`]).
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_values(&crate::config_file::read_ini(path, Case::Ignored)?)
    }

    pub(crate) fn from_values(values: &Ini) -> Result<Self> {
        let mut by_name = HashMap::new();
        for name in values.names(b"users") {
            if let Some(password) = values.get(b"users", name)? {
                by_name.insert(name.to_ascii_lowercase(), password.into());
            }
        }
        Ok(Passwords { by_name })
    }

    /// Returns the password of `user`, if it has an account.
    pub fn password(&self, user: &[u8]) -> Option<&[u8]> {
        self.by_name.get(&user.to_ascii_lowercase()).map(|p| &**p)
    }
}

/// Shows no password.
impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Passwords({} users)", self.by_name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str, user: &str) -> Option<String> {
        let values = Ini::parse(text.as_bytes(), Case::Ignored).expect("well-formed");
        let passwords = Passwords::from_values(&values).expect("within bounds");
        let found = passwords.password(user.as_bytes())?;
        Some(String::from_utf8_lossy(found).into_owned())
    }

    /// Each line was tried on svnserve 1.14.2.
    #[test]
    fn as_svnserve_reads_it() {
        for (text, user, expected) in [
            ("[users]\na=b\n", "a", Some("b")),
            ("[users]\na=b\n", "A", Some("b")),
            ("[USERS]\na=b\n", "a", Some("b")),
            ("[users]\na=%(x)s\nx=b\n", "a", Some("b")),
            ("[users]\na=%(x)s\n", "a", Some("%(x)s")),
            ("[users]\na=%(x)s\n[DEFAULT]\nx=b\n", "a", Some("b")),
            ("[DEFAULT]\na=b\n[users]\n", "a", None),
            ("[DEFAULT]\na=b\n[users]\nx=y\n", "a", Some("b")),
            ("[DEFAULT]\na=b\n[users]\nx=y\n", "x", Some("y")),
            ("[DEFAULT]\na=b\n[users]\nx=y\na=c\n", "a", Some("c")),
            ("[users]\nx=y\nA=c\n[DEFAULT]\na=b\n", "a", Some("c")),
            ("[users]\na=\n", "a", Some("")),
            ("[users]\na=c\na=b\n", "a", Some("b")),
            ("[users]\na=b\nA=c\n", "a", Some("c")),
            ("[users]\na=b\n c\n", "a", Some("b c")),
            ("[users]\na b=c\n", "a b", Some("c")),
            ("[users]\n=c\n", "", Some("c")),
            ("\u{feff}[users]\na=b\n", "a", Some("b")),
            ("[users]\na=%(a)s\n", "a", Some("")),
        ] {
            assert_eq!(password(text, user).as_deref(), expected, "{text} {user}");
        }
    }
}
