//! Authentication and authorization of a session.
//!
//! Two rules must both allow an operation: the access to the whole repository in its configuration, which differs for anonymous and
//! authenticated users, and the authz file's rights on the path. An anonymous client is asked to authenticate when it lacks a right,
//! not before; an authenticated client is never asked again.

use base::{Code, Error, FsPath, Result};
use repos::config::Access;
use wire::svn::auth::{AuthAnswer, AuthResponse, CramRefusal, cram_challenge, cram_check};
use wire::svn::handshake::AuthRequest;
use wire::svn::response;

use crate::auth::is_plain;
use crate::clock::now;
use crate::svn::repo_session::RepoSession;
use crate::svn::sasl::{self, SaslExchange};

impl RepoSession {
    /// Fails unless the session has a right on `path`, or without a path on any. Writes an authentication request; the client must
    /// authenticate if that could give the right.
    ///
    /// # Errors
    /// `RA_NOT_AUTHORIZED`.
    pub(crate) fn require(&mut self, access: Access, path: Option<&FsPath>, needs_user: bool) -> Result<()> {
        if self.access.may(access, path, needs_user) {
            self.conn.write_empty_auth_request();
            return Ok(());
        }
        // The incumbent checks twice, and logs the denials of both for a user who has logged in before.
        self.access.log_denial(access, path);
        let can_log_in = self.access.user.is_none()
            && self.access.repo.conf.auth_access.min(self.access.max_access()) >= access;
        if can_log_in && self.access.has_mechanisms(access, true) {
            self.authenticate(access, true)?;
            if self.access.may(access, path, needs_user) {
                return Ok(());
            }
        }
        let error = Error::bare(Code::RA_NOT_AUTHORIZED);
        self.access.log_denial(access, path);
        self.access.log_error(&error);
        Err(error)
    }

    /// Authenticates the client, from the request to the success. A client may try often.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn authenticate(&mut self, access: Access, user_required: bool) -> Result<()> {
        if let Some(mut exchange) = self.begin_exchange(access, user_required) {
            while !self.take_answer(&mut exchange)? {}
        }
        Ok(())
    }

    /// Writes an authentication request. Returns `None` if it lists no mechanism: then the client does not answer.
    pub(crate) fn begin_exchange(&mut self, access: Access, user_required: bool) -> Option<AuthExchange> {
        let sasl = SaslExchange::new(&self.access, access, user_required);
        let mechanisms = match &sasl {
            Some(sasl) => sasl.offered(),
            None => self.access.mechanisms(access, user_required),
        };
        if sasl.is_some() && mechanisms.is_empty() {
            // In place of a request, as from the incumbent: the client goes on as it is.
            let message = "Could not obtain the list of SASL mechanisms";
            response::write_failure(self.conn.out(), &Error::new(Code::RA_NOT_AUTHORIZED, message));
            return None;
        }
        let request = AuthRequest {
            mechanisms,
            realm: self.access.repo.realm.clone(),
        };
        request.write(self.conn.out());
        if request.mechanisms.is_empty() {
            return None;
        }
        self.conn.limit_next_message(LONGEST_ANSWER);
        Some(match sasl {
            Some(sasl) => AuthExchange::Sasl(Box::new(sasl)),
            None => AuthExchange::BuiltIn {
                request,
                challenge: None,
            },
        })
    }

    /// Reads one message of the client; returns whether the exchange has ended.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn take_answer(&mut self, exchange: &mut AuthExchange) -> Result<bool> {
        if self.refusals > MAX_REFUSALS {
            self.conn.flush()?;
            let error = Error::new(
                Code::RA_NOT_AUTHORIZED,
                "Too many failed attempts to authenticate",
            );
            return Err(self.conn.lose(error));
        }
        let is_last = match exchange {
            AuthExchange::Sasl(exchange) => self.take_sasl_answer(exchange)?,
            AuthExchange::BuiltIn { request, challenge } => {
                let is_last = match challenge.take() {
                    Some(challenge) => self.check_cram_response(&challenge)?,
                    None => self.begin_mechanism(request, challenge)?,
                };
                if is_last {
                    AuthAnswer::Success(None).write(self.conn.out());
                }
                is_last
            }
        };
        if !is_last {
            self.conn.limit_next_message(LONGEST_ANSWER);
        }
        Ok(is_last)
    }

    fn begin_mechanism(&mut self, request: &AuthRequest, pending: &mut Option<String>) -> Result<bool> {
        let (mechanism, token) = self.read_choice()?;
        if !request.mechanisms.contains(&mechanism) {
            self.refuse("Must authenticate with listed mechanism");
            return Ok(false);
        }
        let options = self.access.service.context.options();
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
                let challenge = cram_challenge(
                    u64::from_le_bytes(sasl::random()?),
                    now(),
                    &self.access.service.host,
                );
                AuthAnswer::Step(challenge.as_bytes()).write(self.conn.out());
                *pending = Some(challenge);
                Ok(false)
            }
        }
    }

    /// Reads the client's choice: a mechanism, and its first token.
    pub(super) fn read_choice(&mut self) -> Result<(String, Option<Vec<u8>>)> {
        let response = self.conn.receive()?.list().and_then(AuthResponse::parse);
        match response.map(|r| (r.mechanism.to_owned(), r.token.map(<[u8]>::to_vec))) {
            Ok(choice) => Ok(choice),
            Err(what) => Err(self.conn.lose(what.into())),
        }
    }

    /// Reads the response to a challenge of CRAM-MD5; returns whether it is right.
    fn check_cram_response(&mut self, challenge: &str) -> Result<bool> {
        let passwords = self.access.repo.passwords.clone();
        let Ok(answer) = self.conn.receive()?.string() else {
            // Not a response: the client chooses again.
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

    pub(super) fn log_in(&mut self, user: String) {
        self.access.user = Some(user);
        self.access.look_up_rights();
    }

    pub(super) fn refuse(&mut self, why: &str) {
        self.refusals += 1;
        AuthAnswer::Failure(why.as_bytes()).write(self.conn.out());
    }
}

/// An authentication exchange that has not ended. Between two messages it is data only.
pub(crate) enum AuthExchange {
    /// With the mechanisms that Subversion has built in.
    BuiltIn {
        /// What the client was sent.
        request: AuthRequest,
        /// The challenge of CRAM-MD5 that the client must answer.
        challenge: Option<String>,
    },
    /// With those of SASL.
    Sasl(Box<SaslExchange>),
}

/// The longest message of a client that authenticates, bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The limit on failed attempts to authenticate. The incumbent has none; its clients give up after three.
const MAX_REFUSALS: u32 = 1000;

pub(super) const ANONYMOUS: &str = "ANONYMOUS";
pub(super) const EXTERNAL: &str = "EXTERNAL";
pub(super) const CRAM_MD5: &str = "CRAM-MD5";
