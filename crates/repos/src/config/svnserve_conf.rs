//! `svnserve.conf`: access of anonymous and authenticated users, and the locations of the other files.
//!
//! Relative file names are relative to the directory of this file. The server sets the default of the realm (the
//! repository's UUID).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use base::ini::{Case, Ini};
use base::{Code, Error, Result};

use crate::authz::Source;
use crate::config_file::{located, shown};

/// The highest access of one kind of user. Ordered: each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing.
    #[default]
    None,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// How user names are converted before they are looked up in the authz file. Elsewhere they stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsernameCase {
    /// Not at all.
    #[default]
    AsIs,
    /// ASCII letters to capitals.
    Upper,
    /// ASCII letters to small ones.
    Lower,
}

/// A server's configuration: of one repository, or of all (`--config-file`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConf {
    /// `anon-access`: of users without a name.
    pub anon_access: Access,
    /// `auth-access`: of users who have logged in.
    pub auth_access: Access,
    /// `password-db`.
    pub password_db: Option<PathBuf>,
    /// `authz-db`.
    pub authz_db: Option<Source>,
    /// `groups-db`; used only with `authz_db`.
    pub groups_db: Option<Source>,
    /// `realm`; its default is the repository's UUID.
    pub realm: Option<Vec<u8>>,
    /// `force-username-case`.
    pub username_case: UsernameCase,
    /// `hooks-env`; its default is `hooks-env` in the repository's `conf`.
    pub hooks_env: Option<PathBuf>,
    /// With `use-sasl`: users prove who they are by the mechanisms of Cyrus SASL, and `password_db` is not used.
    pub sasl: Option<SaslBounds>,
}

/// The security layers that SASL may agree on, bits of a key. 0 is none, 1 protects from changes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslBounds {
    /// `min-encryption`
    pub min_encryption: u32,
    /// `max-encryption`
    pub max_encryption: u32,
}

impl Default for ServerConf {
    /// The defaults without a file: all users may read.
    fn default() -> Self {
        ServerConf {
            anon_access: Access::Read,
            auth_access: Access::Write,
            password_db: None,
            authz_db: None,
            groups_db: None,
            realm: None,
            username_case: UsernameCase::AsIs,
            hooks_env: None,
            sasl: None,
        }
    }
}

impl ServerConf {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The system's number (also if there is no such file), `MALFORMED_FILE`, `BAD_CONFIG_VALUE`.
    pub fn read(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_values(&crate::config_file::read_ini(path, Case::Ignored)?, folder)
    }

    /// Takes the settings from parsed `values`; relative names are relative to `folder`.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`; with `use-sasl`, `INCORRECT_PARAMS` for a bound that is no number.
    pub fn from_values(values: &Ini, folder: &Path) -> Result<Self> {
        let general = |option: &str| values.get(b"general", option.as_bytes());
        let access = |option: &str, default| -> Result<Access> {
            Ok(match general(option)?.as_deref() {
                None => default,
                Some(b"write") => Access::Write,
                Some(b"read") => Access::Read,
                Some(_) => Access::None,
            })
        };
        let file = |option: &str| -> Result<Option<PathBuf>> {
            Ok(general(option)?.map(|name| located(&name, folder)))
        };
        let source = |option: &str| -> Result<Option<Source>> {
            Ok(general(option)?.map(|name| Source::new(&name, folder)))
        };
        Ok(ServerConf {
            anon_access: access("anon-access", Access::Read)?,
            auth_access: access("auth-access", Access::Write)?,
            password_db: file("password-db")?,
            authz_db: source("authz-db")?,
            groups_db: source("groups-db")?,
            realm: general("realm")?.map(Cow::into_owned),
            username_case: match general("force-username-case")?.as_deref() {
                Some(b"upper") => UsernameCase::Upper,
                Some(b"lower") => UsernameCase::Lower,
                _ => UsernameCase::AsIs,
            },
            hooks_env: file("hooks-env")?,
            sasl: match values.flag("sasl", "use-sasl", false)? {
                true => Some(SaslBounds {
                    min_encryption: strength(values, "min-encryption", 0)?,
                    max_encryption: strength(values, "max-encryption", 256)?,
                }),
                false => None,
            },
        })
    }
}

/// Reads a bound on the strength of a security layer.
fn strength(values: &Ini, option: &str, default: u32) -> Result<u32> {
    let Some(value) = values.get(b"sasl", option.as_bytes())? else {
        return Ok(default);
    };
    let text = shown(&value);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().map_err(|_| {
        let message = match is_number {
            true => format!("Number '{text}' is out of range '[0, {}]'", u32::MAX),
            false => format!("Could not convert '{text}' into a number"),
        };
        Error::new(Code::INCORRECT_PARAMS, message)
    })
}

/// Returns the options with values that they cannot have: these count as `none`, silently in the incumbent.
///
/// # Errors
/// As [`ServerConf::from_values`].
pub(crate) fn doubts(values: &Ini) -> Result<Vec<String>> {
    const KNOWN: [(&str, [&[u8]; 3]); 3] = [
        ("anon-access", [b"none", b"read", b"write"]),
        ("auth-access", [b"none", b"read", b"write"]),
        ("force-username-case", [b"none", b"upper", b"lower"]),
    ];
    let mut doubts = Vec::new();
    for (option, known) in KNOWN {
        let value = values.get(b"general", option.as_bytes())?;
        if let Some(value) = value.filter(|value| !known.contains(&&**value)) {
            let [one, two, three] = known.map(shown);
            let value = shown(&value);
            doubts.push(format!(
                "'{option} = {value}' counts as 'none': it can be '{one}', '{two}' or '{three}'"
            ));
        }
    }
    Ok(doubts)
}

impl UsernameCase {
    /// Returns the name of `user` in authz rules.
    pub fn fold(self, user: &str) -> Cow<'_, str> {
        match self {
            UsernameCase::AsIs => Cow::Borrowed(user),
            UsernameCase::Upper => Cow::Owned(user.to_ascii_uppercase()),
            UsernameCase::Lower => Cow::Owned(user.to_ascii_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(text: &str) -> Result<ServerConf> {
        let values = Ini::parse(text.as_bytes(), Case::Ignored)?;
        ServerConf::from_values(&values, Path::new("/r/conf"))
    }

    #[test]
    fn an_empty_file_says_what_no_file_says() {
        assert_eq!(conf("").ok(), Some(ServerConf::default()));
        assert_eq!(
            conf("[General]\n[SASL]\nuse-sasl=off\nmin-encryption=x").ok(),
            Some(ServerConf::default())
        );
    }

    #[test]
    fn access_words_are_exact_and_all_others_mean_none() {
        for (word, expected) in [
            ("read", Access::Read),
            ("write", Access::Write),
            ("none", Access::None),
            ("READ", Access::None),
            ("foo", Access::None),
            ("", Access::None),
        ] {
            let conf = conf(&format!("[GENERAL]\nANON-ACCESS = {word}\nauth-access={word}")).expect("valid");
            assert_eq!(
                (conf.anon_access, conf.auth_access),
                (expected, expected),
                "{word}"
            );
        }
        assert!(Access::None < Access::Read && Access::Read < Access::Write);
    }

    #[test]
    fn files_are_beside_the_configuration() {
        let conf = conf(
            "[general]\npassword-db = %(dir)s//./passwd\nauthz-db = ^/a\ngroups-db = g\nhooks-env = /e\ndir = ../x\n\
             realm = My Realm\n",
        )
        .expect("valid");
        assert_eq!(
            conf.password_db.as_deref(),
            Some(Path::new("/r/conf/../x/passwd"))
        );
        assert_eq!(conf.authz_db, Some(Source::new(b"^/a", Path::new("/"))));
        assert_eq!(conf.groups_db, Some(Source::File("/r/conf/g".into())));
        assert_eq!(conf.hooks_env.as_deref(), Some(Path::new("/e")));
        assert_eq!(conf.realm.as_deref(), Some(&b"My Realm"[..]));
    }

    #[test]
    fn username_case_takes_small_letters_only() {
        for (word, expected) in [("upper", "AB"), ("lower", "ab"), ("UPPER", "aB"), ("none", "aB")] {
            let conf = conf(&format!("[general]\nforce-username-case={word}")).expect("valid");
            assert_eq!(conf.username_case.fold("aB"), expected, "{word}");
        }
    }

    /// Each was tried on svnserve 1.14.2.
    #[test]
    fn bounds_of_sasl() {
        let bounds = |text: &str| conf(&format!("[sasl]\n{text}")).map(|conf| conf.sasl);
        let some = |min_encryption, max_encryption| {
            Some(SaslBounds {
                min_encryption,
                max_encryption,
            })
        };
        assert_eq!(bounds("use-sasl=true").ok(), Some(some(0, 256)));
        assert_eq!(bounds("use-sasl=no\nmin-encryption=foo").ok(), Some(None));
        let both = "use-sasl=yes\nmin-encryption=128\nmax-encryption=4294967295";
        assert_eq!(bounds(both).ok(), Some(some(128, u32::MAX)));
        for (text, code, message) in [
            (
                "use-sasl=foo",
                Code::BAD_CONFIG_VALUE,
                "Config error: invalid boolean value 'foo' for '[sasl] use-sasl'",
            ),
            (
                "use-sasl=1\nmin-encryption=foo",
                Code::INCORRECT_PARAMS,
                "Could not convert 'foo' into a number",
            ),
            (
                "use-sasl=1\nmin-encryption=-1",
                Code::INCORRECT_PARAMS,
                "Number '-1' is out of range '[0, 4294967295]'",
            ),
            (
                "use-sasl=1\nmax-encryption=4294967296",
                Code::INCORRECT_PARAMS,
                "Number '4294967296' is out of range '[0, 4294967295]'",
            ),
        ] {
            let error = bounds(text).expect_err("it is a mistake");
            assert_eq!((error.code(), error.message()), (code, message.into()), "{text}");
        }
    }
}
