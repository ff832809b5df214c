//! Authentication of HTTP requests: user names, passwords and certificates.
//!
//! A request names its user in the `Authorization` line, by a client certificate, or not at all. [`Authenticator::identify`] checks
//! the name with the location's providers: files of `htpasswd` and `htdigest` ([`htpasswd`]), svnserve's password files, LDAP
//! directories ([`ldap`]). Passwords are sent as they are (Basic) or as hashes that cannot be used again ([`digest`]).
//! Verified passwords are remembered for a while ([`credential_cache`]).
//!
//! This module does not know what a user may do: `site::access` decides that. It knows no method and no repository. The CRAM-MD5
//! exchange of svn:// is in `svn::auth`.

mod credential_cache;
mod des_crypt;
mod digest;
mod file_cache;
mod group_file;
mod htpasswd;
mod ldap;
mod md5_crypt;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use repos::config::ConfigCache;
use repos::prompt::takes_time;

use self::credential_cache::CredentialCache;
use self::digest::{DigestResponse, DigestTarget, DigestVerdict, NonceTable};
use self::file_cache::ParsedFiles;
use self::group_file::GroupFile;
use self::htpasswd::Htpasswd;
use self::ldap::{LdapAnswer, LdapConnections};
use crate::config::{Ldap, LoggedIn, Provider, Require, RequireVerdict, Secret};
use crate::http::Request;
use crate::net::ConcurrencyLimit;

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
    /// Too many passwords wait to be checked: the client may try again.
    Busy,
}

/// Authenticates the requests of the whole process.
pub(crate) struct Authenticator {
    files: ParsedFiles<Htpasswd>,
    verified: CredentialCache,
    nonces: NonceTable,
    directories: LdapConnections,
    groups: ParsedFiles<GroupFile>,
    /// Bounds the checks of password hashes.
    hash_limit: ConcurrencyLimit,
    /// Bounds the queries to directories.
    directory_limit: ConcurrencyLimit,
}

impl Default for Authenticator {
    fn default() -> Authenticator {
        Authenticator {
            files: ParsedFiles::default(),
            verified: CredentialCache::default(),
            nonces: NonceTable::default(),
            directories: LdapConnections::default(),
            groups: ParsedFiles::default(),
            hash_limit: ConcurrencyLimit::of_processors(MAX_WAITING),
            directory_limit: ConcurrencyLimit::new(MAX_WAITING, DIRECTORY_QUERIES),
        }
    }
}

/// The highest number of requests that wait for a hash to be checked, and of those that wait for a directory.
const MAX_WAITING: u64 = 256;

/// The highest number of queries to directories at the same time.
const DIRECTORY_QUERIES: usize = 16;

impl Authenticator {
    /// Forgets verified passwords, and closes the connections to directories, whose settings may have changed.
    pub(crate) fn forget(&self) {
        self.verified.forget();
        self.directories.close();
    }

    /// Evaluates `require` for a request from `address`, of `user` if the user is known. `file` defines groups beside those of a
    /// directory.
    ///
    /// # Errors
    /// If the file of groups cannot be read.
    pub(crate) fn judge(
        &self,
        require: &Require,
        address: IpAddr,
        user: Option<&User>,
        file: Option<&Path>,
    ) -> Result<RequireVerdict> {
        let wanted = file.filter(|_| user.is_some() && require.names_groups());
        let groups = wanted
            .map(|path| self.groups.get(path, GroupFile::parse))
            .transpose()?;
        let Some(user) = user else {
            return Ok(require.judge(address, None));
        };
        let is_in = |group: &str| {
            let in_file = groups
                .as_ref()
                .is_some_and(|groups| groups.has(group, &user.name));
            in_file || user.groups.iter().any(|name| name == group)
        };
        let user = LoggedIn {
            name: &user.name,
            is_in: &is_in,
        };
        Ok(require.judge(address, Some(user)))
    }

    /// Authenticates a request. `config` reads svnserve's password files.
    ///
    /// # Errors
    /// If a file or a directory cannot be read.
    pub(crate) fn identify(
        &self,
        config: &ConfigCache,
        policy: &AuthPolicy,
        request: &Request,
    ) -> Result<AuthOutcome> {
        if policy.providers.is_empty() {
            // No provider can check any credentials, so they are ignored.
            return Ok(AuthOutcome::NoCredentials);
        }
        let header = request.header_utf8("authorization");
        if let Some(name) = certified(policy, request)
            && (header.is_none() || policy.providers.len() == 1)
        {
            return Ok(name);
        }
        let Some(header) = header else {
            return Ok(AuthOutcome::NoCredentials);
        };
        if policy.basic
            && let Some((user, password)) = basic(header)
            && is_plain(&user)
        {
            return self.by_password(config, policy, user, &password, request);
        }
        if policy.digest
            && let Some(response) = digest::parse(header)
            && is_plain(&response.user)
        {
            return self.by_digest(config, policy, &response, request);
        }
        Ok(AuthOutcome::Rejected { stale: false })
    }

    /// Returns the challenges for a 401, the better scheme first.
    pub(crate) fn challenges(&self, policy: &AuthPolicy, request: &Request, stale: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let realm = &policy.realm;
        if policy.providers.iter().all(|p| *p == Provider::Certificate) {
            return lines;
        }
        if policy.digest {
            let stale = if stale { ", stale=true" } else { "" };
            let nonce = self.nonces.make(&policy.realm);
            let mut line = |algorithm: &str| {
                lines.push(format!(
                    "Digest realm=\"{realm}\", nonce=\"{nonce}\", algorithm={algorithm}, qop=\"auth\"{stale}"
                ));
            };
            // Subversion's clients know MD5 alone and fail at another algorithm.
            if !request.is_svn_client() && knows_plain_text(policy) {
                line("SHA-256");
            }
            line("MD5");
        }
        if policy.basic {
            lines.push(format!("Basic realm=\"{realm}\""));
        }
        lines
    }

    fn by_password(
        &self,
        config: &ConfigCache,
        policy: &AuthPolicy,
        user: String,
        password: &[u8],
        request: &Request,
    ) -> Result<AuthOutcome> {
        for provider in policy.providers.iter() {
            let right = match provider {
                Provider::Certificate => continue,
                Provider::Htpasswd(path) => {
                    let file = self.files.get(path, Htpasswd::parse)?;
                    match (file.hash(&user), file.ha1(&user, &policy.realm)) {
                        (Some(hash), _) => {
                            let check = PasswordCheck {
                                policy,
                                user: &user,
                                password,
                                request,
                            };
                            match self.verify(check, path, hash)? {
                                Some(right) => right,
                                None => return Ok(AuthOutcome::Busy),
                            }
                        }
                        (None, Some(ha1)) => {
                            let made = digest::md5_ha1(&user, &policy.realm, password);
                            same(made.as_bytes(), ha1.as_bytes())
                        }
                        (None, None) => continue,
                    }
                }
                Provider::Passwd(path) => {
                    let file = config.passwords(path)?;
                    match file.as_ref().and_then(|file| file.password(user.as_bytes())) {
                        Some(known) => same(known, password),
                        None => continue,
                    }
                }
                Provider::Ldap(ldap) => {
                    let check = PasswordCheck {
                        policy,
                        user: &user,
                        password,
                        request,
                    };
                    match self.query(check, ldap)? {
                        Some(LdapAnswer::UnknownUser) => continue,
                        Some(LdapAnswer::WrongPassword) => false,
                        Some(LdapAnswer::User(user)) => return Ok(AuthOutcome::Authenticated(user, None)),
                        None => return Ok(AuthOutcome::Busy),
                    }
                }
            };
            return Ok(match right {
                true => AuthOutcome::Authenticated(User::plain(user), None),
                false => AuthOutcome::Rejected { stale: false },
            });
        }
        Ok(AuthOutcome::Rejected { stale: false })
    }

    /// Returns whether the password has the hash; `None` if too many requests wait for that.
    fn verify(&self, check: PasswordCheck<'_>, file: &Path, hash: &str) -> Result<Option<bool>> {
        let PasswordCheck { user, password, .. } = check;
        let against = format!("hash {hash}");
        let found = self.verify_cached(check, &against, || {
            // A good hash takes long by design: many wrong passwords must not occupy all processors.
            let _permit = check.request.acquire(&self.hash_limit)?;
            let right = htpasswd::verify(password, hash).unwrap_or_else(|what| {
                let file = file.display();
                tracing::warn!("'{file}' has {what} for {user:?}, who can't log in: try 'htpasswd -B'");
                false
            });
            Some(Ok(match right {
                true => LdapAnswer::User(User::plain(user.to_owned())),
                false => LdapAnswer::WrongPassword,
            }))
        })?;
        Ok(found.map(|found| matches!(found, LdapAnswer::User(_))))
    }

    /// Checks the password with a directory; returns `None` if too many requests wait for that.
    fn query(&self, check: PasswordCheck<'_>, ldap: &Ldap) -> Result<Option<LdapAnswer>> {
        // Groups and the spelling of the name depend on every setting.
        let secret = ldap.bind_password.as_ref().map(Secret::reveal);
        let against = format!("ldap {ldap:?} {secret:?}");
        self.verify_cached(check, &against, || {
            // A directory may be slow, or not answer at all: requests that wait for it must not hold all threads.
            check.request.wait.while_blocked(|| {
                let permit = self.directory_limit.acquire(check.request.peer.address.ip())?;
                let found = self.directories.query(ldap, check.user, check.password);
                drop(permit);
                Some(found)
            })
        })
    }

    /// Returns the user whose password was verified a short while ago, or the result of `find`; `None` if too many requests wait for
    /// `find`. `against` is all that the result depends on beside the name and the password.
    fn verify_cached(
        &self,
        check: PasswordCheck<'_>,
        against: &str,
        find: impl FnOnce() -> Option<Result<LdapAnswer>>,
    ) -> Result<Option<LdapAnswer>> {
        let key = self.verified.key(against.as_bytes(), check.user, check.password);
        if let Some(known) = self.verified.get(key, check.policy.remember) {
            return Ok(Some(LdapAnswer::User(known)));
        }
        takes_time()?;
        let Some(found) = find().transpose()? else {
            return Ok(None);
        };
        if let LdapAnswer::User(user) = &found {
            self.verified.insert(key, check.policy.remember, user);
        }
        Ok(Some(found))
    }

    fn by_digest(
        &self,
        config: &ConfigCache,
        policy: &AuthPolicy,
        response: &DigestResponse,
        request: &Request,
    ) -> Result<AuthOutcome> {
        // A digest response counts once: the inline attempt must not use it up.
        takes_time()?;
        let path_and_query = match &request.query {
            Some(query) => format!("{}?{query}", request.path),
            None => request.path.clone(),
        };
        let target = DigestTarget {
            method: request.method.as_str(),
            path_and_query: &path_and_query,
            realm: &policy.realm,
        };
        if !response.fits(&target) {
            return Ok(AuthOutcome::Rejected { stale: false });
        }
        for provider in policy.providers.iter() {
            let ha1 = match provider {
                // Neither has the password or its hash.
                Provider::Certificate | Provider::Ldap(_) => None,
                Provider::Htpasswd(path) => {
                    let file = self.files.get(path, Htpasswd::parse)?;
                    let known = file
                        .ha1(&response.user, &policy.realm)
                        .filter(|_| response.is_md5());
                    known.map(str::to_owned)
                }
                Provider::Passwd(path) => {
                    let file = config.passwords(path)?;
                    let known = file.as_ref().and_then(|f| f.password(response.user.as_bytes()));
                    known.map(|password| response.ha1_of(password))
                }
            };
            let Some(ha1) = ha1 else { continue };
            return Ok(match response.judge(&self.nonces, &target, &ha1) {
                DigestVerdict::Right(info) => {
                    AuthOutcome::Authenticated(User::plain(response.user.clone()), Some(info))
                }
                DigestVerdict::Stale => AuthOutcome::Rejected { stale: true },
                DigestVerdict::Wrong => AuthOutcome::Rejected { stale: false },
            });
        }
        Ok(AuthOutcome::Rejected { stale: false })
    }
}

/// A name and a password that a client has sent, to be checked.
#[derive(Clone, Copy)]
struct PasswordCheck<'a> {
    policy: &'a AuthPolicy,
    user: &'a str,
    password: &'a [u8],
    request: &'a Request,
}

impl User {
    fn plain(name: String) -> User {
        User {
            name,
            groups: Arc::from([]),
        }
    }
}

/// Returns the user of the client's certificate, if the policy accepts certificates.
fn certified(policy: &AuthPolicy, request: &Request) -> Option<AuthOutcome> {
    let asked = policy.providers.contains(&Provider::Certificate);
    let name = request.peer.certificate.as_ref().filter(|_| asked)?;
    Some(AuthOutcome::Authenticated(User::plain(name.clone()), None))
}

/// Returns whether a provider stores plain passwords: any digest can be computed from those, while a file of `htdigest` holds MD5.
fn knows_plain_text(policy: &AuthPolicy) -> bool {
    policy
        .providers
        .iter()
        .any(|provider| matches!(provider, Provider::Passwd(_)))
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
