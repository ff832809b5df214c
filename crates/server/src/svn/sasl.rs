//! Authentication by Cyrus SASL's mechanisms (`use-sasl = true`): the policy of a repository, and where its users are.
//!
//! The mechanisms are in `wire::sasl`. As with the incumbent, a name that a client proves while an anonymous client would do is
//! not used: the client proves it again when a command needs it.

use std::sync::Arc;

use base::{Code, Error, Result};
use repos::config::{Access, PasswordCheck, SaslBounds, SaslSettings, UserStore};
use repos::hooks::HookWait;
use wire::sasl::Mechanism;
use wire::sasl::server::{Denied, Exchange, Outcome, Policy, Seed, Users};
use wire::svn::auth::AuthAnswer;

use crate::auth::{is_plain, same};
use crate::clock::now;
use crate::log::Origin;
use crate::service::Service;
use crate::svn::repo_access::RepoAccess;
use crate::svn::repo_session::RepoSession;
use crate::svn::saslauthd::Question;

/// The settings of SASL for a repository.
pub(crate) struct SaslAuth {
    settings: Arc<SaslSettings>,
    bounds: SaslBounds,
}

impl SaslAuth {
    /// Reads the settings.
    ///
    /// # Errors
    /// `RA_NOT_AUTHORIZED` for the client, if the file is malformed; the log gets the cause.
    pub(super) fn open(service: &Service, bounds: SaslBounds, origin: Origin<'_>) -> Result<SaslAuth> {
        let folders = &service.context.options().sasl_folders;
        let settings = service.config.sasl_settings(folders).map_err(|error| {
            if let Some(log) = &service.context.log {
                log.error(origin, &error);
            }
            Error::new(Code::RA_NOT_AUTHORIZED, "Could not initialize the SASL library")
        })?;
        Ok(SaslAuth { settings, bounds })
    }

    /// Returns the mechanisms of the configuration, in its order.
    fn mechanisms(&self) -> Vec<Mechanism> {
        match &self.settings.mechanisms {
            None => Mechanism::ALL.to_vec(),
            Some(names) => names.iter().filter_map(|name| Mechanism::named(name)).collect(),
        }
    }
}

/// An exchange that has not ended. Between two messages it is data only.
pub(crate) struct SaslExchange {
    settings: Arc<SaslSettings>,
    policy: Policy,
    /// What waits for the client's next token; `None` while it has to choose a mechanism.
    pending: Option<Exchange>,
}

impl SaslExchange {
    /// Begins an exchange of a client that needs `access`; `None` without SASL.
    pub(super) fn new(access: &RepoAccess, needed: Access, is_user_required: bool) -> Option<SaslExchange> {
        let sasl = access.repo.sasl.as_ref()?;
        let options = access.service.context.options();
        let policy = Policy {
            realm: access.repo.realm.clone(),
            mechanisms: sasl.mechanisms(),
            is_anonymous_allowed: !is_user_required && access.repo.conf.anon_access >= needed,
            tunnel_user: options.tunnel.as_ref().map(|tunnel| tunnel.user.clone()),
            min_strength: sasl.bounds.min_encryption,
            max_strength: sasl.bounds.max_encryption,
        };
        Some(SaslExchange {
            settings: sasl.settings.clone(),
            policy,
            pending: None,
        })
    }

    /// Returns the names of the mechanisms that the client may choose.
    pub(super) fn offered(&self) -> Vec<String> {
        self.policy
            .offered()
            .map(|mechanism| mechanism.name().to_owned())
            .collect()
    }
}

impl RepoSession {
    /// Reads one message of the client; returns whether the exchange has ended.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn take_sasl_answer(&mut self, exchange: &mut SaslExchange) -> Result<bool> {
        let seed = Seed {
            random: random()?,
            now_micros: now(),
            host: &self.access.service.host.clone(),
        };
        let policy = &exchange.policy;
        // A name that is unknown is refused, whatever its token is.
        let form = |mechanism: Option<Mechanism>| mechanism.unwrap_or(Mechanism::Plain);
        let (outcome, form) = match exchange.pending.take() {
            Some(pending) => {
                let form = pending.mechanism();
                let Ok(answer) = self.conn.receive()?.string() else {
                    // Not a token: the client chooses again.
                    return Ok(false);
                };
                let answer = form.decode_token(answer);
                let users = self.sasl_users(&exchange.settings);
                (pending.step(policy, &answer, &users, &seed), form)
            }
            None => {
                let (name, first) = self.read_choice()?;
                let mechanism = Mechanism::named(&name);
                let form = form(mechanism);
                let first = first.map(|first| form.decode_token(&first));
                // Without a token the name is that of the tunnel.
                let first = first.or_else(|| (mechanism == Some(Mechanism::External)).then(Vec::new));
                let users = self.sasl_users(&exchange.settings);
                let outcome = Exchange::begin(policy, &name, first.as_deref(), &users, &seed);
                (outcome, form)
            }
        };
        match outcome {
            Outcome::Challenge(challenge, pending) => {
                let challenge = form.encode_token(&challenge);
                AuthAnswer::Step(&challenge).write(self.conn.out());
                exchange.pending = Some(pending);
                Ok(false)
            }
            Outcome::Refused(failure) => {
                self.refuse(&failure.to_string());
                Ok(false)
            }
            Outcome::Accepted(accepted) => {
                if let Some(user) = &accepted.user
                    && !is_plain(user)
                {
                    self.refuse("Couldn't obtain the authenticated username");
                    return Ok(false);
                }
                let last = accepted.token.map(|last| form.encode_token(&last));
                AuthAnswer::Success(last.as_deref()).write(self.conn.out());
                if let Some(layer) = accepted.layer {
                    self.conn.protect(layer)?;
                }
                let user = accepted.user.filter(|_| !exchange.policy.is_anonymous_allowed);
                if let Some(user) = user {
                    self.log_in(user);
                }
                Ok(true)
            }
        }
    }

    fn sasl_users<'a>(&'a self, settings: &'a SaslSettings) -> SaslUsers<'a> {
        SaslUsers {
            access: &self.access,
            settings,
            waiting: self.conn.stream().hook_waiting(),
        }
    }
}

/// The users of a repository's realm.
struct SaslUsers<'a> {
    access: &'a RepoAccess,
    settings: &'a SaslSettings,
    /// How the thread waits for a daemon.
    waiting: HookWait,
}

impl SaslUsers<'_> {
    /// Asks the daemon.
    fn ask_daemon(&self, user: &str, password: &[u8]) -> Result<(), Denied> {
        let question = Question {
            user,
            password,
            realm: &self.access.repo.realm,
        };
        let mut response = Ok(false);
        self.waiting
            .run(&mut || response = question.ask(&self.settings.saslauthd));
        match response {
            Ok(true) => Ok(()),
            Ok(false) => Err(Denied::WrongPassword),
            Err(e) => {
                let error = Error::io("Can't ask saslauthd at", &self.settings.saslauthd, &e);
                self.access.log_error(&error);
                Err(Denied::Unavailable)
            }
        }
    }

    /// Returns the user's password in `sasldb2`.
    fn in_sasldb(&self, user: &str) -> Result<Vec<u8>, Denied> {
        let users = self
            .access
            .service
            .config
            .sasldb(&self.settings.sasldb)
            .map_err(|error| {
                self.access.log_error(&error);
                Denied::Unavailable
            })?;
        let password = users
            .as_ref()
            .and_then(|users| users.password(user, &self.access.repo.realm));
        password.map(<[u8]>::to_vec).ok_or(Denied::UnknownUser)
    }
}

impl Users for SaslUsers<'_> {
    fn password(&self, user: &str) -> Result<Vec<u8>, Denied> {
        let known = self.settings.stores.iter().map(|store| match store {
            UserStore::SaslDb => self.in_sasldb(user),
            UserStore::Unknown(_) => Err(Denied::NoStore),
        });
        first_success(known)
    }

    fn check(&self, user: &str, password: &[u8]) -> Result<(), Denied> {
        let checks = self.settings.password_checks.iter().map(|check| match check {
            PasswordCheck::Store => match same(&self.password(user)?, password) {
                true => Ok(()),
                false => Err(Denied::WrongPassword),
            },
            PasswordCheck::Daemon => self.ask_daemon(user, password),
            PasswordCheck::Any => Ok(()),
            PasswordCheck::Unknown(_) => Err(Denied::NoStore),
        });
        first_success(checks)
    }
}

/// Returns the first success, or the last failure.
fn first_success<T>(results: impl Iterator<Item = Result<T, Denied>>) -> Result<T, Denied> {
    let mut last = Err(Denied::NoStore);
    for result in results {
        match result {
            Ok(value) => return Ok(value),
            failure => last = failure,
        }
    }
    last
}

/// Returns random bytes of the system.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Error::os(&e.into(), "Can't get random bytes"))?;
    match got == N {
        true => Ok(bytes),
        false => Err(Error::new(Code::AUTHN_FAILED, "Can't get random bytes")),
    }
}
