//! The authenticator of the process: checks credentials with the providers of a policy.

use std::net::IpAddr;
use std::path::Path;

use base::Result;
use repos::config::ConfigCache;

use super::credential_cache::CredentialCache;
use super::digest::{self, DigestResponse, DigestTarget, DigestVerdict, NonceTable};
use super::file_cache::ParsedFiles;
use super::group_file::GroupFile;
use super::htpasswd::{self, Htpasswd};
use super::ldap::{LdapAnswer, LdapConnections};
use super::{AuthOutcome, AuthPolicy, User, basic, is_plain, same};
use crate::config::{Ldap, LoggedIn, Provider, Require, RequireVerdict, Secret};
use crate::http::Request;
use crate::net::ConcurrencyLimit;

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
        check.request.check_may_wait()?;
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
        request.check_may_wait()?;
        let path_and_query = match &request.query {
            Some(query) => format!("{}?{query}", request.path),
            None => request.path.clone(),
        };
        let target = DigestTarget {
            method: request.method.as_str(),
            path_and_query: &path_and_query,
            realm: &policy.realm,
        };
        if !response.fits_realm(&target) {
            return Ok(AuthOutcome::Rejected { stale: false });
        }
        if !response.fits_resource(&target) {
            return Ok(AuthOutcome::OtherResource);
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
