//! Authentication of HTTP requests: user names, passwords and certificates.
//!
//! A request names its user in the `Authorization` line, by a client certificate, or not at all. [`Authenticator::identify`] checks
//! the name with the location's providers: files of `htpasswd` and `htdigest` ([`htpasswd`]), svnserve's password files, LDAP
//! directories ([`ldap`]). Passwords are sent as they are (Basic) or as hashes that cannot be used again ([`digest`]).
//! Verified passwords are remembered for a while ([`credential_cache`]).
//!
//! This module does not know what a user may do: `site::access` decides that. It knows no method and no repository. The CRAM-MD5
//! exchange of svn:// is in `svn::auth`.

mod authenticator;
mod credential_cache;
mod des_crypt;
mod digest;
mod file_cache;
mod group_file;
mod htpasswd;
mod ldap;
mod md5_crypt;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) use self::authenticator::Authenticator;
use crate::config::Provider;

/// How the users of a location or a repository prove their names.
pub(crate) struct AuthPolicy {
    /// Where names are looked up, in this order. The first provider that knows a name checks the password.
    pub(crate) providers: Arc<[Provider]>,
    /// Without quotes and backslashes: see [`plain_realm`].
    pub(crate) realm: String,
    pub(crate) basic: bool,
    pub(crate) digest: bool,
    /// How long a verified password is not checked again.
    pub(crate) remember: Duration,
}

/// A user who has proved a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    /// The user's groups in an LDAP directory.
    pub(crate) groups: Arc<[String]>,
}

/// The result of authentication.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AuthOutcome {
    /// The request names no user.
    NoCredentials,
    /// The user has proved the name; the text is for `Authentication-Info`.
    Authenticated(User, Option<String>),
    /// The name or the password is wrong, or (`stale`) the nonce is too old.
    Rejected { stale: bool },
    /// The digest was made for another resource than the request's: a proxy has changed the request. Status 400, because another password does
    /// not help.
    OtherResource,
    /// Too many passwords wait to be checked: the client may try again.
    Busy,
}

impl User {
    fn plain(name: String) -> User {
        User {
            name,
            groups: Arc::from([]),
        }
    }
}

/// Parses user name and password of `Authorization: Basic`.
pub(crate) fn basic(header: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim()).ok()?;
    let colon = decoded.iter().position(|b| *b == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((user, decoded[colon + 1..].to_vec()))
}

/// Returns whether a name has no control characters, so that it can stand in a line of a log.
pub(crate) fn is_plain(user: &str) -> bool {
    !user.contains(char::is_control)
}

/// Compares secrets in a time that does not depend on where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// Replaces quotes and backslashes in a realm: clients read their escapes in different ways.
pub(crate) fn plain_realm(realm: &str) -> String {
    realm.replace(['"', '\\'], "'")
}

/// Returns random bytes of the system.
fn random<const LEN: usize>() -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(got, Ok(LEN), "the system returns so few random bytes at once");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_cut_at_the_first_colon() {
        assert_eq!(basic("Basic YTpiOmM="), Some(("a".into(), b"b:c".to_vec())));
        assert_eq!(basic("basic  YTpiOmM= "), Some(("a".into(), b"b:c".to_vec())));
        for bad in ["", "Basic", "Basic !", "Basic YWJj", "Digest YTpi"] {
            assert_eq!(basic(bad), None, "{bad}");
        }
    }
}
