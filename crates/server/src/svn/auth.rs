//! Who is there, and what they may do.
//!
//! Two rules must both allow: the blanket access of the repository's configuration, by whether a user is known, and the
//! authz file's rights on the path. A client that has not said who it is and lacks a right is asked then, not before;
//! one that has said is never asked again.

use base::{Code, Error, FsPath, Result};
use repos::authz::{Required, Rights};
use repos::config::Access;
use wire::svn::auth::{AuthAnswer, AuthResponse, CramRefusal, cram_challenge, cram_check};
use wire::svn::handshake::AuthRequest;

use crate::auth::is_plain;
use crate::clock::now;
use crate::percent_encoding::encoded;
use crate::svn::repo_session::RepoSession;

impl RepoSession {
    /// What the configuration allows this client at most.
    pub(crate) fn access(&self) -> Access {
        let access = match self.user {
            Some(_) => self.repo.conf.auth_access,
            None => self.repo.conf.anon_access,
        };
        access.min(self.ceiling())
    }

    /// What this server allows anybody.
    fn ceiling(&self) -> Access {
        if self.service.context.options().read_only {
            Access::Read
        } else {
            Access::Write
        }
    }

    /// Fetches what the authz file grants the current user.
    pub(crate) fn look_up_rights(&mut self) {
        let repo = &self.repo;
        self.rights = repo.authz.as_ref().map(|authz| {
            let folded = self
                .user
                .as_deref()
                .map(|user| repo.conf.username_case.fold(user));
            authz.rights(repo.authz_name.as_deref(), folded.as_deref())
        });
    }

    /// Demands a right on `path` (or, without one, on anything). Writes an authentication request, and holds the
    /// exchange if the right may come of it.
    ///
    /// # Errors
    /// `RA_NOT_AUTHORIZED`.
    pub(crate) fn require(&mut self, access: Access, path: Option<&FsPath>, needs_user: bool) -> Result<()> {
        if self.may(access, path, needs_user) {
            self.write_empty_auth_request();
            return Ok(());
        }
        let worth_asking = self.user.is_none() && self.repo.conf.auth_access.min(self.ceiling()) >= access;
        if worth_asking && !self.mechanisms(access, true).is_empty() {
            self.exchange(access, true)?;
            if self.may(access, path, needs_user) {
                return Ok(());
            }
        }
        let error = Error::bare(Code::RA_NOT_AUTHORIZED);
        self.log_denial(access, path);
        self.log_error(&error);
        Err(error)
    }

    pub(crate) fn may(&self, access: Access, path: Option<&FsPath>, needs_user: bool) -> bool {
        if self.access() < access || (needs_user && self.user.is_none()) {
            return false;
        }
        let Some(rights) = &self.rights else {
            return true;
        };
        match path {
            Some(path) => {
                let required = if access == Access::Write {
                    Required::Write
                } else {
                    Required::Read
                };
                rights.allows(path, required, false)
            }
            None => {
                let needed = if access == Access::Write {
                    Rights::Write
                } else {
                    Rights::Read
                };
                rights.max_rights() >= needed
            }
        }
    }

    pub(crate) fn log_denial(&self, access: Access, path: Option<&FsPath>) {
        if self.user.is_some() && self.access() >= access {
            let word = if access == Access::Write { "write" } else { "read" };
            self.log_operation(|| match path {
                Some(path) => format!("Authorization Failed {word} {}", encoded(path)),
                None => format!("Authorization Failed {word}"),
            });
        }
    }

    /// What may be tried to get this access.
    pub(crate) fn mechanisms(&self, access: Access, user_required: bool) -> Vec<String> {
        let conf = &self.repo.conf;
        let known = conf.auth_access.min(self.ceiling()) >= access;
        let mut all = Vec::new();
        if !user_required && conf.anon_access >= access {
            all.push(ANONYMOUS.to_owned());
        }
        if known && self.service.context.options().tunnel.is_some() {
            all.push(EXTERNAL.to_owned());
        }
        if known && self.repo.passwords.is_some() {
            all.push(CRAM_MD5.to_owned());
        }
        all
    }

    /// Holds an authentication exchange, from the request to the success. A client may try often.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn exchange(&mut self, access: Access, user_required: bool) -> Result<()> {
        if let Some(mut exchange) = self.ask(access, user_required) {
            while !self.take_answer(&mut exchange)? {}
        }
        Ok(())
    }

    /// Writes an authentication request. `None` if it asks for nothing: then no answer comes.
    pub(crate) fn ask(&mut self, access: Access, user_required: bool) -> Option<AuthExchange> {
        let mechanisms = self.mechanisms(access, user_required);
        let request = AuthRequest {
            mechanisms,
            realm: self.repo.realm.clone(),
        };
        request.write(self.conn.out());
        if request.mechanisms.is_empty() {
            return None;
        }
        self.conn.limit_next_message(LONGEST_ANSWER);
        Some(AuthExchange {
            request,
            challenge: None,
        })
    }

    /// Takes one message of the client; true if that was the last of the exchange.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn take_answer(&mut self, exchange: &mut AuthExchange) -> Result<bool> {
        if self.refusals > MOST_REFUSALS {
            self.conn.flush()?;
            let error = Error::new(
                Code::RA_NOT_AUTHORIZED,
                "Too many failed attempts to authenticate",
            );
            return Err(self.conn.lose(error));
        }
        let is_last = match exchange.challenge.take() {
            Some(challenge) => self.check_answer(&challenge)?,
            None => self.begin_mechanism(exchange)?,
        };
        match is_last {
            true => AuthAnswer::Success(None).write(self.conn.out()),
            false => self.conn.limit_next_message(LONGEST_ANSWER),
        }
        Ok(is_last)
    }

    fn begin_mechanism(&mut self, exchange: &mut AuthExchange) -> Result<bool> {
        let (mechanism, token) = self.choice()?;
        if !exchange.request.mechanisms.contains(&mechanism) {
            self.refuse("Must authenticate with listed mechanism");
            return Ok(false);
        }
        let options = self.service.context.options();
        match (mechanism.as_str(), options.tunnel.as_ref()) {
            (ANONYMOUS, _) => Ok(true),
            (EXTERNAL, Some(tunnel)) => {
                let name = tunnel.user.clone();
                if token.is_some_and(|token| !token.is_empty() && token != name.as_bytes()) {
                    self.refuse("Requested username does not match");
                    return Ok(false);
                }
                self.log_in(name);
                Ok(true)
            }
            _ => {
                let challenge = cram_challenge(nonce()?, now(), &self.service.host);
                AuthAnswer::Step(challenge.as_bytes()).write(self.conn.out());
                exchange.challenge = Some(challenge);
                Ok(false)
            }
        }
    }

    fn choice(&mut self) -> Result<(String, Option<Vec<u8>>)> {
        let response = self.conn.receive()?.list().and_then(AuthResponse::parse);
        match response.map(|r| (r.mechanism.to_owned(), r.token.map(<[u8]>::to_vec))) {
            Ok(choice) => Ok(choice),
            Err(what) => Err(self.conn.lose(what.into())),
        }
    }

    /// Takes the answer to a challenge of CRAM-MD5; true if it is right.
    fn check_answer(&mut self, challenge: &str) -> Result<bool> {
        let passwords = self.repo.passwords.clone();
        let Ok(answer) = self.conn.receive()?.string() else {
            // Not an answer: the client chooses again.
            return Ok(false);
        };
        let password_of = |user: &str| passwords?.password(user.as_bytes()).map(<[u8]>::to_vec);
        match cram_check(answer, challenge.as_bytes(), password_of) {
            Ok(user) if is_plain(user) => {
                let user = user.to_owned();
                self.log_in(user);
                Ok(true)
            }
            Ok(_) => {
                self.refuse(CramRefusal::UnknownUser.text());
                Ok(false)
            }
            Err(refusal) => {
                self.refuse(refusal.text());
                Ok(false)
            }
        }
    }

    fn log_in(&mut self, user: String) {
        self.user = Some(user);
        self.look_up_rights();
    }

    fn refuse(&mut self, why: &str) {
        self.refusals += 1;
        AuthAnswer::Failure(why.as_bytes()).write(self.conn.out());
    }
}

fn nonce() -> Result<u64> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Error::os(&e.into(), "Can't get random bytes"))?;
    match got {
        8 => Ok(u64::from_le_bytes(bytes)),
        _ => Err(Error::new(Code::AUTHN_FAILED, "Can't get random bytes")),
    }
}

/// An authentication exchange that is not over. Between two messages of the client it is data only.
pub(crate) struct AuthExchange {
    request: AuthRequest,
    /// What the client must answer to.
    challenge: Option<String>,
}

/// Most bytes in a message of a client that has not proved who it is.
const LONGEST_ANSWER: u64 = 64 << 10;

/// Most attempts to authenticate that may fail on one connection. The incumbent has no limit; its clients give up after three.
const MOST_REFUSALS: u32 = 1000;

const ANONYMOUS: &str = "ANONYMOUS";
const EXTERNAL: &str = "EXTERNAL";
const CRAM_MD5: &str = "CRAM-MD5";
