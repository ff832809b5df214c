//! Directories: a user is searched for, then bound as with the password that was sent.
//!
//! One connection does both, and the search for groups; it is kept for the next question. A directory that has closed a
//! connection meanwhile is asked again over a new one. What was found is remembered by whoever asks here: a directory hears of
//! a user once in a few minutes.

use std::collections::HashMap;
use std::sync::Arc;

use base::{Code, Error, Result};
use ldap3::{LdapConn, LdapConnSettings, LdapError, Scope, SearchEntry, ldap_escape};
use parking_lot::Mutex;

use super::{User, is_plain};
use crate::http::{Ldap, LdapScope};
use crate::trust;

/// Most connections to a directory that are kept.
const KEPT: usize = 8;
/// What a directory says to a wrong password.
const INVALID_CREDENTIALS: u32 = 49;
/// What it may say about users who must not log in.
const REFUSALS: [u32; 4] = [19, 48, 50, 53];

/// Connections to directories that are not in use.
#[derive(Default)]
pub(super) struct Directories {
    idle: Mutex<Vec<(Ldap, LdapConn)>>,
}

/// What a directory says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It does not know the user.
    Nobody,
    WrongPassword,
    /// The user, by the name that the directory has, with the groups there.
    User(User),
}

impl Directories {
    /// Whether `password` is that of `user`.
    ///
    /// # Errors
    /// `AUTHN_FAILED` if the directory cannot be asked.
    pub(super) fn ask(&self, ldap: &Ldap, user: &str, password: &[u8]) -> Result<Found> {
        // To a directory an empty password means that nobody wants to prove anything: it would say yes.
        let Some(password) = std::str::from_utf8(password).ok().filter(|p| !p.is_empty()) else {
            return Ok(Found::WrongPassword);
        };
        if user.is_empty() {
            return Ok(Found::Nobody);
        }
        while let Some(mut conn) = self.take(ldap) {
            match ask(&mut conn, ldap, user, password) {
                Ok(found) => {
                    self.put(ldap, conn);
                    return Ok(found);
                }
                // It was idle for too long.
                Err(LdapError::Io { .. } | LdapError::OpSend { .. } | LdapError::ResultRecv { .. }) => {}
                Err(error) => return Err(failed(ldap, &error)),
            }
        }
        let mut conn = connect(ldap)?;
        let found = ask(&mut conn, ldap, user, password).map_err(|error| failed(ldap, &error))?;
        self.put(ldap, conn);
        Ok(found)
    }

    /// Closes all connections that are not in use.
    pub(super) fn close(&self) {
        self.idle.lock().clear();
    }

    fn take(&self, ldap: &Ldap) -> Option<LdapConn> {
        let mut idle = self.idle.lock();
        let at = idle.iter().rposition(|(of, _)| of == ldap)?;
        Some(idle.remove(at).1)
    }

    fn put(&self, ldap: &Ldap, conn: LdapConn) {
        let mut idle = self.idle.lock();
        if idle.len() >= KEPT {
            idle.remove(0);
        }
        idle.push((ldap.clone(), conn));
    }
}

fn connect(ldap: &Ldap) -> Result<LdapConn> {
    let mut settings = LdapConnSettings::new()
        .set_conn_timeout(ldap.timeout)
        .set_starttls(ldap.starttls);
    if let Some(path) = &ldap.ca {
        let config = trust::in_authorities_of(path);
        settings = settings.set_config(config.map_err(|e| Error::new(Code::AUTHN_FAILED, e))?);
    }
    LdapConn::with_settings(settings, &ldap.url).map_err(|error| failed(ldap, &error))
}

fn ask(
    conn: &mut LdapConn,
    ldap: &Ldap,
    user: &str,
    password: &str,
) -> std::result::Result<Found, LdapError> {
    // Whoever was here last bound as somebody else.
    let (dn, secret) = match (&ldap.bind_dn, &ldap.bind_password) {
        (Some(dn), Some(password)) => (dn.as_str(), password.shown()),
        _ => ("", ""),
    };
    conn.with_timeout(ldap.timeout)
        .simple_bind(dn, secret)?
        .success()?;
    let filter = ldap.filter.as_deref().unwrap_or("(objectClass=*)");
    let filter = format!("(&{filter}({}={}))", ldap.user_attribute, ldap_escape(user));
    let scope = match ldap.scope {
        LdapScope::Subtree => Scope::Subtree,
        LdapScope::One => Scope::OneLevel,
    };
    let (entries, _) = conn
        .with_timeout(ldap.timeout)
        .search(&ldap.base, scope, &filter, vec![&ldap.user_attribute])?
        .success()?;
    // Of two with the same name nobody knows who is meant.
    let mut entries = entries
        .into_iter()
        .filter(|entry| !entry.is_ref())
        .collect::<Vec<_>>();
    let (Some(entry), true) = (entries.pop(), entries.is_empty()) else {
        return Ok(Found::Nobody);
    };
    let SearchEntry { dn, attrs, .. } = SearchEntry::construct(entry);
    let bound = conn.with_timeout(ldap.timeout).simple_bind(&dn, password)?;
    match bound.rc {
        0 => {}
        INVALID_CREDENTIALS => return Ok(Found::WrongPassword),
        rc if REFUSALS.contains(&rc) => return Ok(Found::WrongPassword),
        _ => return Err(bound.into()),
    }
    let Some(name) = spelling(attrs, &ldap.user_attribute, user) else {
        let attribute = &ldap.user_attribute;
        tracing::warn!(
            "The directory at '{}' shows no '{attribute}' that is {user:?}: see that 'bind-dn' may read it",
            ldap.url
        );
        return Ok(Found::WrongPassword);
    };
    let groups = groups(conn, ldap, &dn, &name)?;
    Ok(Found::User(User { name, groups }))
}

/// The value of `attribute` that `typed` has found: directories compare names without case and without surplus spaces, access
/// rules do not, so a rule for a name must hold for each of its spellings.
fn spelling(attributes: HashMap<String, Vec<String>>, attribute: &str, typed: &str) -> Option<String> {
    let folded = |name: &str| {
        let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
        words.join(" ")
    };
    let named = attributes
        .into_iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    let mut values: Vec<String> = named.flat_map(|(_, values)| values).collect();
    let at = values.iter().position(|value| folded(value) == folded(typed));
    let name = match at {
        Some(at) => values.swap_remove(at),
        // The directory folds more than we do; with one value there is no doubt.
        None if values.len() == 1 => values.remove(0),
        None => return None,
    };
    is_plain(&name).then_some(name)
}

fn groups(
    conn: &mut LdapConn,
    ldap: &Ldap,
    dn: &str,
    user: &str,
) -> std::result::Result<Arc<[String]>, LdapError> {
    let Some(groups) = &ldap.groups else {
        return Ok(Arc::from([]));
    };
    if let (Some(dn), Some(password)) = (&ldap.bind_dn, &ldap.bind_password) {
        // Users may not be allowed to look at groups.
        conn.with_timeout(ldap.timeout)
            .simple_bind(dn, password.shown())?
            .success()?;
    }
    let member = ldap_escape(if groups.members_are_dns { dn } else { user });
    let members: String = groups
        .member_attributes
        .iter()
        .map(|attribute| format!("({attribute}={member})"))
        .collect();
    let filter = groups.filter.as_deref().unwrap_or("");
    let filter = format!("(&{filter}(|{members}))");
    let (entries, _) = conn
        .with_timeout(ldap.timeout)
        .search(
            &groups.base,
            Scope::Subtree,
            &filter,
            vec![&groups.name_attribute],
        )?
        .success()?;
    let named = entries
        .into_iter()
        .filter(|entry| !entry.is_ref())
        .flat_map(|entry| {
            let attributes = SearchEntry::construct(entry).attrs.into_iter();
            attributes
                .filter(|(name, _)| name.eq_ignore_ascii_case(&groups.name_attribute))
                .flat_map(|(_, names)| names)
        });
    Ok(named.collect())
}

/// Errors of directories name no password.
fn failed(ldap: &Ldap, error: &LdapError) -> Error {
    let message = format!("Can't ask the directory at '{}': {error}", ldap.url);
    Error::new(Code::AUTHN_FAILED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_in_the_directory() {
        let spelled = |values: &[&str], typed: &str| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let attributes = HashMap::from([("UID".to_owned(), values)]);
            spelling(attributes, "uid", typed)
        };
        assert_eq!(spelled(&["alice"], "ALICE").as_deref(), Some("alice"));
        assert_eq!(
            spelled(&["al", "Alice  B"], "alice b ").as_deref(),
            Some("Alice  B")
        );
        assert_eq!(spelled(&["strasse"], "stra\u{df}e").as_deref(), Some("strasse"));
        assert_eq!(spelled(&["a", "b"], "c"), None);
        assert_eq!(spelled(&[], "alice"), None);
        assert_eq!(spelled(&["al\nice"], "al\nice"), None);
    }
}
