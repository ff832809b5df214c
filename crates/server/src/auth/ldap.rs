//! LDAP directories: the user's entry is searched for, then bound to with the password that was sent.
//!
//! One connection does both, and the search for groups. It is kept for the next query; if the directory has closed it meanwhile,
//! the query is repeated over a new one. The caller caches the result, so a directory is queried for a user once in a few minutes.

use std::collections::HashMap;
use std::sync::Arc;

use base::{Code, Error, Result};
use ldap3::{LdapConn, LdapConnSettings, LdapError, Scope, SearchEntry, ldap_escape};
use parking_lot::Mutex;

use super::{User, is_plain};
use crate::config::{Ldap, LdapScope};
use crate::net::tls::authorities;

/// The highest number of idle connections.
const MAX_IDLE: usize = 8;
/// The result code for a wrong password.
const INVALID_CREDENTIALS: u32 = 49;
/// The result codes for users who may not log in.
const REFUSALS: [u32; 4] = [19, 48, 50, 53];

/// The idle connections to directories.
#[derive(Default)]
pub(super) struct LdapConnections {
    idle: Mutex<Vec<(Ldap, LdapConn)>>,
}

/// The answer of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LdapAnswer {
    /// The directory has no such user, or several.
    UnknownUser,
    WrongPassword,
    /// The user, with the name as the directory spells it and the groups there.
    User(User),
}

impl LdapConnections {
    /// Checks the password of `user`.
    ///
    /// # Errors
    /// `AUTHN_FAILED` if the directory cannot be queried.
    pub(super) fn query(&self, ldap: &Ldap, user: &str, password: &[u8]) -> Result<LdapAnswer> {
        // A bind with an empty password is anonymous: a directory would accept it.
        let Some(password) = std::str::from_utf8(password).ok().filter(|p| !p.is_empty()) else {
            return Ok(LdapAnswer::WrongPassword);
        };
        if user.is_empty() {
            return Ok(LdapAnswer::UnknownUser);
        }
        while let Some(mut conn) = self.take(ldap) {
            match query(&mut conn, ldap, user, password) {
                Ok(found) => {
                    self.put(ldap, conn);
                    return Ok(found);
                }
                // The directory has closed the idle connection.
                Err(LdapError::Io { .. } | LdapError::OpSend { .. } | LdapError::ResultRecv { .. }) => {}
                Err(error) => return Err(failed(ldap, &error)),
            }
        }
        let mut conn = connect(ldap)?;
        let found = query(&mut conn, ldap, user, password).map_err(|error| failed(ldap, &error))?;
        self.put(ldap, conn);
        Ok(found)
    }

    /// Closes all idle connections.
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
        if idle.len() >= MAX_IDLE {
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
        let config = authorities::client_config(path);
        settings = settings.set_config(config.map_err(|e| Error::new(Code::AUTHN_FAILED, e))?);
    }
    LdapConn::with_settings(settings, &ldap.url).map_err(|error| failed(ldap, &error))
}

fn query(
    conn: &mut LdapConn,
    ldap: &Ldap,
    user: &str,
    password: &str,
) -> std::result::Result<LdapAnswer, LdapError> {
    // The last query has bound the connection to another entry.
    let (dn, secret) = match (&ldap.bind_dn, &ldap.bind_password) {
        (Some(dn), Some(password)) => (dn.as_str(), password.reveal()),
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
    // If two entries have the name, it is not clear which user is meant.
    let mut entries = entries
        .into_iter()
        .filter(|entry| !entry.is_ref())
        .collect::<Vec<_>>();
    let (Some(entry), true) = (entries.pop(), entries.is_empty()) else {
        return Ok(LdapAnswer::UnknownUser);
    };
    let SearchEntry { dn, attrs, .. } = SearchEntry::construct(entry);
    let bound = conn.with_timeout(ldap.timeout).simple_bind(&dn, password)?;
    match bound.rc {
        0 => {}
        INVALID_CREDENTIALS => return Ok(LdapAnswer::WrongPassword),
        rc if REFUSALS.contains(&rc) => return Ok(LdapAnswer::WrongPassword),
        _ => return Err(bound.into()),
    }
    let Some(name) = spelling(attrs, &ldap.user_attribute, user) else {
        let attribute = &ldap.user_attribute;
        tracing::warn!(
            "The directory at '{}' shows no '{attribute}' that is {user:?}: see that 'bind-dn' may read it",
            ldap.url
        );
        return Ok(LdapAnswer::WrongPassword);
    };
    let groups = groups(conn, ldap, &dn, &name)?;
    Ok(LdapAnswer::User(User { name, groups }))
}

/// Returns the value of `attribute` that `typed` has matched. Directories ignore case and surplus spaces in names, access rules do
/// not: with the directory's spelling a rule for a name holds for every spelling that is typed.
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
        // The directory folds more than we do. A single value must be the one that matched.
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
        // The user may not have the right to read groups.
        conn.with_timeout(ldap.timeout)
            .simple_bind(dn, password.reveal())?
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

/// Returns the error of a query. Errors of directories contain no password.
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
