//! Answers the demands of servers for names and passwords.
//!
//! The sources, in this order: what was accepted before in this run, the options with the cache, the store that the cache names, and up to
//! three questions to the user. A question has a default name: that of the options, of the cache, of `username` in `servers`, or of the
//! system. What a server accepts is stored in the cache, if the configuration and the user allow that.
//!
//! A password of the options is for the host that the user named: it is not sent to a host to which a server redirects. Passwords of the
//! cache are found by their realm, which has the scheme, the host and the port.
//!
//! Several threads may open sessions with the same server: one of them asks, the others get the same answer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use base::Result;
use base::disk_path;
use client::config::credential_cache::{Attributes, CachedCredentials, CredentialCache, CredentialKind};
use client::config::{ServerConfig, Tristate};
use parking_lot::Mutex;
use ra::{CertificateProblem, CertificateTrust, ClientCertificate, Credentials, Password, PasswordRequest};

use super::password_stores::PasswordStore;
use super::prompt::{Echo, Prompter};
use super::settings::{self, AccessSettings};

/// The most questions for one realm.
pub(super) const MOST_QUESTIONS: u32 = 3;
/// The attributes of credentials in the cache.
pub(super) const USERNAME: &str = "username";
const PASSWORD: &str = "password";
const PASSPHRASE: &str = "passphrase";
/// Where the password is: in the file itself, or in one of the stores.
pub(super) const PASSTYPE: &str = "passtype";
/// It is in the file.
const SIMPLE: &str = "simple";

/// The credentials of one account of a run.
pub struct UserCredentials {
    pub(super) settings: AccessSettings,
    pub(super) prompter: Arc<Prompter>,
    pub(super) cache: Option<CredentialCache>,
    /// Held while the user is asked, so that other threads wait for the answer.
    pub(super) state: Mutex<CredentialState>,
}

/// What was found out in this run.
#[derive(Default)]
pub(super) struct CredentialState {
    /// The last password of each realm.
    known: HashMap<String, Password>,
    attempts: HashMap<(ThreadId, String), Attempts>,
    /// The passwords that stores returned, by realm.
    kept: HashMap<String, Password>,
    /// The secrets that were stored, or not to be stored, by realm.
    decided: HashMap<String, String>,
    /// The certificates of servers that are trusted.
    pub(super) trusted: Vec<CertificateProblem>,
    /// The files of client certificates, by realm.
    pub(super) client_files: HashMap<String, ClientCertificate>,
    passphrases: HashMap<String, String>,
    /// The questions for the file of a client certificate.
    pub(super) file_questions: u32,
}

/// How far one exchange with a server has come.
#[derive(Default)]
pub(super) struct Attempts {
    last: Option<Password>,
    has_tried_stored: bool,
    /// The requests to the store that keeps the password.
    pub(super) store_requests: u32,
    questions: u32,
}

/// Whether secrets may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StorePolicy {
    secrets: bool,
    plaintext: Tristate,
}

impl UserCredentials {
    /// Returns the credentials of an account.
    pub fn new(settings: AccessSettings, prompter: Arc<Prompter>) -> UserCredentials {
        UserCredentials {
            cache: settings.config.dir().map(CredentialCache::of_area),
            settings,
            prompter,
            state: Mutex::default(),
        }
    }

    /// True if credentials of a host may be stored.
    pub(super) fn may_store(&self, server: &ServerConfig<'_>) -> Result<bool> {
        let is_allowed = self.is_allowed(server, "store-auth-creds")?;
        Ok(!self.settings.no_auth_cache && is_allowed)
    }

    /// Returns the value of an option that both `config` and `servers` have. A "no" in `config` counts whatever `servers` says: a user who
    /// forbids storage there must not depend on what an administrator allows for a host.
    fn is_allowed(&self, server: &ServerConfig<'_>, option: &str) -> Result<bool> {
        let config = &self.settings.config.config;
        Ok(config.flag("auth", option, true)? && server.flag(option, true)?)
    }

    /// Returns the record of a realm's password.
    pub(super) fn cached_password(&self, realm: &str) -> Option<CachedCredentials> {
        self.cached(CredentialKind::Simple, realm)
    }

    fn cached(&self, kind: CredentialKind, realm: &str) -> Option<CachedCredentials> {
        self.cache.as_ref()?.read(kind, realm)
    }

    /// Returns the password that needs no question: that of the options, or that of the cache.
    fn stored(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        let options = self.options_for(request);
        let cached = self.cached(CredentialKind::Simple, request.realm);
        let cached_user = cached.as_ref().and_then(|cached| cached.text(USERNAME));
        if let (_, Some(password)) = options {
            let user = match options.0 {
                Some(user) => Some(user.to_owned()),
                None => self.default_user(request, cached_user)?,
            };
            let password = password.to_owned();
            return Ok(user.map(|user| Password { user, password }));
        }
        let is_other = options
            .0
            .is_some_and(|user| cached_user.is_some_and(|cached| cached != user));
        let (Some(user), Some(cached), false) = (cached_user, &cached, is_other) else {
            return Ok(None);
        };
        Ok(cached.secret(PASSWORD).map(|password| Password {
            user: user.to_owned(),
            password: password.to_owned(),
        }))
    }

    /// Returns the user and the password of the options, as far as they are for the host that asks.
    pub(super) fn options_for(&self, request: &PasswordRequest<'_>) -> (Option<&str>, Option<&str>) {
        let password = self.settings.password.as_deref();
        (
            self.settings.username.as_deref(),
            password.filter(|_| !request.redirected),
        )
    }

    fn default_user(&self, request: &PasswordRequest<'_>, cached: Option<&str>) -> Result<Option<String>> {
        if let Some(user) = self.settings.username.as_deref().or(cached) {
            return Ok(Some(user.to_owned()));
        }
        let server = self.settings.config.server(host_of(request.realm));
        Ok(server.text("username")?.or_else(settings::os_user))
    }

    /// Asks the user for a password. The first question has a default name, unless the password of the options was refused.
    fn ask(&self, request: &PasswordRequest<'_>, is_first: bool) -> Result<Password> {
        let cached = self.cached(CredentialKind::Simple, request.realm);
        let cached_user = cached.as_ref().and_then(|cached| cached.text(USERNAME));
        let realm = format!("Authentication realm: {}\n", request.realm);
        let default = match is_first {
            true => self.default_user(request, cached_user)?,
            false => None,
        };
        let (user, begin) = match default {
            Some(user) => (user, realm.as_str()),
            None => {
                let text = format!("{realm}Username: ");
                (self.prompter.ask(&text, Echo::Shown)?, "")
            }
        };
        let text = format!("{begin}Password for '{user}': ");
        let password = self.prompter.ask(&text, Echo::Hidden)?;
        Ok(Password { user, password })
    }

    fn next_password(
        &self,
        request: &PasswordRequest<'_>,
        state: &mut CredentialState,
    ) -> Result<Option<Password>> {
        let key = (thread::current().id(), request.realm.to_owned());
        if request.attempt == 0 {
            state.attempts.remove(&key);
        }
        let attempts = state.attempts.entry(key).or_default();
        let known = state.known.get(request.realm).cloned();
        if known.is_some() && known != attempts.last {
            return Ok(known);
        }
        if !attempts.has_tried_stored {
            attempts.has_tried_stored = true;
            let stored = self.stored(request)?;
            // The question that options would answer is not asked.
            if self.options_for(request).1.is_some() {
                attempts.questions += 1;
            }
            if stored.is_some() && stored != attempts.last {
                return Ok(stored);
            }
        }
        if let Some(password) = self.ask_store(request, attempts) {
            state.kept.insert(request.realm.to_owned(), password.clone());
            return Ok(Some(password));
        }
        if !self.prompter.is_interactive() || attempts.questions >= MOST_QUESTIONS {
            return Ok(None);
        }
        attempts.questions += 1;
        self.ask(request, attempts.questions == 1).map(Some)
    }

    /// Returns whether secrets of a host may be stored.
    fn password_policy(&self, server: &ServerConfig<'_>) -> Result<StorePolicy> {
        Ok(StorePolicy {
            secrets: self.is_allowed(server, "store-passwords")?,
            plaintext: server.tristate("store-plaintext-passwords", "ask")?,
        })
    }

    /// True if a secret may be stored without encryption: the configuration says so, or the user.
    fn may_store_secret(&self, policy: StorePolicy, question: &SecretQuestion<'_>) -> Result<bool> {
        match policy.plaintext {
            _ if !policy.secrets => Ok(false),
            Tristate::Yes => Ok(true),
            Tristate::No => Ok(false),
            Tristate::Unknown if !self.prompter.is_interactive() => Ok(false),
            Tristate::Unknown => {
                let area = self.settings.config.dir().unwrap_or(Path::new(""));
                let servers = disk_path::shown(&area.join("servers")).to_string();
                self.prompter.ask_yes_or_no(&question.text(&servers))
            }
        }
    }

    /// Stores attributes. A cache that cannot be written is as good as none.
    pub(super) fn store(&self, kind: CredentialKind, realm: &str, attributes: &Attributes) {
        if let Some(cache) = &self.cache {
            _ = cache.write(kind, realm, attributes);
        }
    }

    /// True if a record has no password because it was not to be stored, and this one is that of the options: it is not offered again.
    fn is_left_out(&self, cached: &CachedCredentials, password: &Password) -> bool {
        let is_typed = self.settings.password.as_ref() != Some(&password.password);
        let is_elsewhere = cached.text(PASSTYPE).is_some_and(|kind| kind != SIMPLE);
        !is_typed && !is_elsewhere && cached.text(PASSWORD).is_none()
    }

    fn store_password(&self, realm: &str, password: &Password, state: &mut CredentialState) -> Result<()> {
        let decision = format!("{}\n{}", password.user, password.password);
        if state.decided.get(realm) == Some(&decision) {
            return Ok(());
        }
        state.decided.insert(realm.to_owned(), decision);
        let server = self.settings.config.server(host_of(realm));
        let cached = self.cached(CredentialKind::Simple, realm);
        let is_stored = cached.as_ref().is_some_and(|cached| {
            let is_kept = state.kept.get(realm) == Some(password);
            cached.text(USERNAME) == Some(&password.user)
                && (is_kept
                    || self.is_left_out(cached, password)
                    || cached.secret(PASSWORD) == Some(&password.password))
        });
        if is_stored || self.cache.is_none() || !self.may_store(&server)? {
            return Ok(());
        }
        let mut attributes = attributes([(USERNAME, &password.user)]);
        let policy = self.password_policy(&server)?;
        let question = SecretQuestion::Password { realm };
        let store = match policy.secrets {
            true => self.keep_password(realm, password),
            false => None,
        };
        let mut decision = Ok(false);
        match store {
            Some(store) => attributes.extend(self::attributes([(PASSTYPE, store)])),
            None => decision = self.may_store_secret(policy, &question),
        }
        if let Ok(true) = decision {
            attributes.extend(self::attributes([
                (PASSWORD, password.password.as_str()),
                (PASSTYPE, SIMPLE),
            ]));
        }
        // A question without an answer changes nothing, but gpg-agent, which the incumbent tries first, has noted the user by then.
        let is_agent = |store: &PasswordStore| matches!(store, PasswordStore::Agent(_));
        if decision.is_err() && !self.settings.stores.iter().any(is_agent) {
            return decision.map(drop);
        }
        // The record of a password that a store keeps is the same each time.
        if cached.is_none_or(|cached| cached.attributes != attributes) {
            self.store(CredentialKind::Simple, realm, &attributes);
        }
        decision.map(drop)
    }
}

impl Credentials for UserCredentials {
    fn password(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        let mut state = self.state.lock();
        let found = self.next_password(request, &mut state)?;
        if let Some(password) = &found {
            let key = (thread::current().id(), request.realm.to_owned());
            state.attempts.entry(key).or_default().last = Some(password.clone());
            state.known.insert(request.realm.to_owned(), password.clone());
        }
        Ok(found)
    }

    fn accepted(&self, realm: &str, password: &Password) -> Result<()> {
        let mut state = self.state.lock();
        state.known.insert(realm.to_owned(), password.clone());
        self.store_password(realm, password, &mut state)
    }

    fn server_certificate(&self, problem: &CertificateProblem) -> Result<CertificateTrust> {
        self.judge_certificate(problem)
    }

    fn client_certificate(&self, realm: &str, attempt: u32) -> Result<Option<ClientCertificate>> {
        self.client_file(realm, attempt)
    }

    fn client_passphrase(&self, realm: &str, file: &Path) -> Result<Option<String>> {
        let mut state = self.state.lock();
        let name = disk_path::shown(file).into_owned();
        if let Some(known) = state.passphrases.get(&name) {
            return Ok(Some(known.clone()));
        }
        let server = self.settings.config.server(host_of(realm));
        if let Some(configured) = server.text("ssl-client-cert-password")? {
            return Ok(Some(configured));
        }
        let cached = self.cached(CredentialKind::ClientPassphrase, &name);
        let stored = cached.and_then(|cached| match cached.secret(PASSPHRASE) {
            Some(passphrase) => Some(passphrase.to_owned()),
            None => self.kept_passphrase(&cached, &name),
        });
        if let Some(passphrase) = stored {
            return Ok(Some(passphrase));
        }
        if !self.prompter.is_interactive() {
            return Ok(None);
        }
        let passphrase = self
            .prompter
            .ask(&format!("Passphrase for '{name}': "), Echo::Hidden)?;
        state.passphrases.insert(name, passphrase.clone());
        Ok(Some(passphrase))
    }

    fn passphrase_accepted(&self, realm: &str, file: &Path, passphrase: &str) -> Result<()> {
        let mut state = self.state.lock();
        let name = disk_path::shown(file).into_owned();
        // One that was not typed is stored already, or in the configuration.
        if state
            .passphrases
            .get(&name)
            .is_none_or(|typed| typed != passphrase)
            || state
                .decided
                .get(&name)
                .is_some_and(|decided| decided == passphrase)
        {
            return Ok(());
        }
        state.decided.insert(name.clone(), passphrase.to_owned());
        let server = self.settings.config.server(host_of(realm));
        if self.cache.is_none() || !self.may_store(&server)? {
            return Ok(());
        }
        let policy = StorePolicy {
            secrets: server.flag("store-ssl-client-cert-pp", true)?,
            plaintext: server.tristate("store-ssl-client-cert-pp-plaintext", "ask")?,
        };
        let store = match policy.secrets {
            true => self.keep_passphrase(&name, passphrase),
            false => None,
        };
        if let Some(store) = store {
            let attributes = attributes([(PASSTYPE, store)]);
            self.store(CredentialKind::ClientPassphrase, &name, &attributes);
        } else if self.may_store_secret(policy, &SecretQuestion::Passphrase { file: &name })? {
            let attributes = attributes([(PASSPHRASE, passphrase), (PASSTYPE, SIMPLE)]);
            self.store(CredentialKind::ClientPassphrase, &name, &attributes);
        }
        Ok(())
    }

    fn local_user(&self, realm: &str) -> Result<Option<String>> {
        let cached = self.cached(CredentialKind::Username, realm);
        let cached_user = cached.as_ref().and_then(|cached| cached.text(USERNAME));
        let Some(user) = &self.settings.username else {
            // A number without a name, as in a container, has an empty one.
            let user = cached_user.map(str::to_owned).or_else(settings::os_user);
            return Ok(Some(user.unwrap_or_default()));
        };
        let server = self.settings.config.server("");
        if cached_user != Some(user) && self.may_store(&server)? {
            self.store(CredentialKind::Username, realm, &attributes([(USERNAME, user)]));
        }
        Ok(Some(user.clone()))
    }
}

/// A question whether a secret may be stored.
enum SecretQuestion<'a> {
    Password { realm: &'a str },
    Passphrase { file: &'a str },
}

impl SecretQuestion<'_> {
    /// Returns the incumbent's question; `servers` is the path of the file with the option.
    fn text(&self, servers: &str) -> String {
        const LINE: &str = "-----------------------------------------------------------------------";
        let (what, secret, option, question) = match self {
            SecretQuestion::Password { realm } => (
                format!("password for authentication realm:\n\n   {realm}\n"),
                "passwords",
                format!("of the 'store-plaintext-passwords' option to either 'yes' or 'no' in\n'{servers}'."),
                "Store password unencrypted (yes/no)? ",
            ),
            SecretQuestion::Passphrase { file } => (
                format!("passphrase for client certificate:\n\n   {file}\n"),
                "passphrase",
                format!(
                    "of the 'store-ssl-client-cert-pp-plaintext' option to either 'yes' or\n'no' in '{servers}'."
                ),
                "Store passphrase unencrypted (yes/no)? ",
            ),
        };
        format!(
            "\n{LINE}\nATTENTION!  Your {what}\n\
             can only be stored to disk unencrypted!  You are advised to configure\n\
             your system so that Subversion can store {secret} encrypted, if\n\
             possible.  See the documentation for details.\n\n\
             You can avoid future appearances of this warning by setting the value\n\
             {option}\n{LINE}\n{question}"
        )
    }
}

pub(super) fn attributes<const N: usize>(pairs: [(&str, &str); N]) -> Attributes {
    pairs
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .into()
}

/// Returns the host in a realm: `<svn://host:port> realm`, or `https://host:port`.
pub(super) fn host_of(realm: &str) -> &str {
    let realm = realm.strip_prefix('<').unwrap_or(realm);
    let Some((_, rest)) = realm.split_once("://") else {
        return "";
    };
    let end = rest.find(['>', '/']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_realm() {
        for (realm, host) in [
            ("<svn://127.0.0.1:3690> My: realm", "127.0.0.1"),
            ("<http://::1:80> x", "::1"),
            ("<svn://[::1]:80> x", "::1"),
            ("https://localhost:443", "localhost"),
            ("09eb9f85-0bbb", ""),
        ] {
            assert_eq!(host_of(realm), host);
        }
    }
}
