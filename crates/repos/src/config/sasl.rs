//! `svn.conf`, the configuration of Cyrus SASL for Subversion's server: which mechanisms are offered, and where the passwords are.
//!
//! Lines are `option: value`; `#` begins a comment. Options without a meaning for this server, such as `log_level`, are ignored.

use std::path::PathBuf;

use base::{Code, Error, Result};

/// The settings of Cyrus SASL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaslSettings {
    /// `mech_list`: names of mechanisms, in their order; `None` is all that the server knows.
    pub mechanisms: Option<Vec<String>>,
    /// `pwcheck_method`: the ways to check a password that the client has sent, tried in this order.
    pub password_checks: Vec<PasswordCheck>,
    /// `auxprop_plugin`: the stores of users' passwords, searched in this order.
    pub stores: Vec<UserStore>,
    /// `sasldb_path`.
    pub sasldb: PathBuf,
    /// `saslauthd_path`: the socket of the daemon.
    pub saslauthd: PathBuf,
}

/// A way to check a password that the client has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordCheck {
    /// `auxprop`: it is compared with the user's password in a [`UserStore`].
    Store,
    /// `saslauthd`: the daemon checks it, often against PAM, LDAP or Kerberos.
    Daemon,
    /// `alwaystrue`: it is right.
    Any,
    /// One that this server does not have.
    Unknown(String),
}

/// A store of users' passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserStore {
    /// `sasldb`: the file that `saslpasswd2` writes.
    SaslDb,
    /// One that this server does not have, such as `sql` and `ldapdb`.
    Unknown(String),
}

impl Default for SaslSettings {
    /// The settings without a file.
    fn default() -> Self {
        SaslSettings {
            mechanisms: None,
            password_checks: vec![PasswordCheck::Store],
            stores: vec![UserStore::SaslDb],
            sasldb: PathBuf::from("/etc/sasldb2"),
            saslauthd: PathBuf::from("/var/run/saslauthd/mux"),
        }
    }
}

impl SaslSettings {
    /// Reads the text of a file. Of two lines with one option the first counts.
    ///
    /// # Errors
    /// `MALFORMED_FILE` with the number of the line.
    pub fn parse(text: &[u8]) -> Result<SaslSettings> {
        let mut values: Vec<(String, String)> = Vec::new();
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let is_name = |name: &str| {
                let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
                !name.is_empty() && name.bytes().all(is_letter)
            };
            let split = line.split_once(':').filter(|(name, _)| is_name(name));
            let Some((name, value)) = split else {
                let message = format!("Line {number}: '{line}' is not of the form 'option: value'");
                return Err(Error::new(Code::MALFORMED_FILE, message));
            };
            values.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let get = |option: &str| {
            let found = values.iter().find(|(name, _)| name == option);
            found.map(|(_, value)| value.as_str())
        };
        let words = |option: &str| Some(get(option)?.split_ascii_whitespace());
        let default = SaslSettings::default();
        Ok(SaslSettings {
            mechanisms: words("mech_list").map(|words| words.map(str::to_owned).collect()),
            password_checks: match words("pwcheck_method") {
                Some(words) => words.map(PasswordCheck::named).collect(),
                None => default.password_checks,
            },
            stores: match words("auxprop_plugin") {
                Some(words) => words.map(UserStore::named).collect(),
                None => default.stores,
            },
            sasldb: get("sasldb_path").map_or(default.sasldb, PathBuf::from),
            saslauthd: get("saslauthd_path").map_or(default.saslauthd, PathBuf::from),
        })
    }
}

impl SaslSettings {
    /// Returns what the settings name and this server does not have: with these, no user can log in.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let checks = self.password_checks.iter().filter_map(|check| match check {
            PasswordCheck::Unknown(name) => Some(format!(
                "'pwcheck_method: {name}' is unknown: it can be 'auxprop', 'saslauthd' or 'alwaystrue'"
            )),
            _ => None,
        });
        let stores = self.stores.iter().filter_map(|store| match store {
            UserStore::Unknown(name) => {
                Some(format!("'auxprop_plugin: {name}' is unknown: it can be 'sasldb'"))
            }
            UserStore::SaslDb => None,
        });
        checks.chain(stores).collect()
    }
}

impl PasswordCheck {
    fn named(name: &str) -> PasswordCheck {
        match name.to_ascii_lowercase().as_str() {
            "auxprop" => PasswordCheck::Store,
            "saslauthd" => PasswordCheck::Daemon,
            "alwaystrue" => PasswordCheck::Any,
            _ => PasswordCheck::Unknown(name.to_owned()),
        }
    }
}

impl UserStore {
    fn named(name: &str) -> UserStore {
        match name {
            "sasldb" => UserStore::SaslDb,
            _ => UserStore::Unknown(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_says_what_no_file_says() {
        assert_eq!(SaslSettings::parse(b"").ok(), Some(SaslSettings::default()));
        let comments = b"# pwcheck_method: saslauthd\n\n  # x\nlog_level: 7\n";
        assert_eq!(SaslSettings::parse(comments).ok(), Some(SaslSettings::default()));
    }

    #[test]
    fn options_and_their_words() {
        let text = b"PWCHECK_METHOD:  saslauthd auxprop foo \n mech_list: PLAIN  login\nauxprop_plugin: sasldb sql\n\
                     sasldb_path: /a b\nsaslauthd_path:/run/x\nsasldb_path: /other";
        let settings = SaslSettings::parse(text).expect("it is well-formed");
        let expected = SaslSettings {
            mechanisms: Some(vec!["PLAIN".to_owned(), "login".to_owned()]),
            password_checks: vec![
                PasswordCheck::Daemon,
                PasswordCheck::Store,
                PasswordCheck::Unknown("foo".to_owned()),
            ],
            stores: vec![UserStore::SaslDb, UserStore::Unknown("sql".to_owned())],
            sasldb: "/a b".into(),
            saslauthd: "/run/x".into(),
        };
        assert_eq!(settings, expected);
        let doubts = settings.doubts().join("\n");
        assert!(doubts.contains("'pwcheck_method: foo'") && doubts.contains("'auxprop_plugin: sql'"));
        assert!(SaslSettings::default().doubts().is_empty());
    }

    /// The incumbent does not start with any of these.
    #[test]
    fn mistakes_name_their_line() {
        for text in ["a: b\nfoo bar\n", "a: b\nfoo : bar", "\n: bar"] {
            let error = SaslSettings::parse(text.as_bytes()).expect_err("it is malformed");
            assert!(error.message().starts_with("Line 2: "), "{}", error.message());
        }
    }
}
