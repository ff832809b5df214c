//! The server's side of an exchange: from the client's choice of a mechanism to its acceptance.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::failure::FailureKind;
use super::layer::Layer;
use super::scram::{AwaitedClient, ClientFirst};
use super::{Failure, Mechanism, digest_md5};
use crate::svn::auth::{CramRefusal, cram_challenge, cram_check};

/// What a server demands of its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The realm of all users.
    pub realm: String,
    /// The mechanisms of the configuration, in their order.
    pub mechanisms: Vec<Mechanism>,
    /// A client without a name will do.
    pub is_anonymous_allowed: bool,
    /// The name under which the tunnel runs.
    pub tunnel_user: Option<String>,
    /// The weakest security layer that will do, bits of a key; 0 allows none.
    pub min_strength: u32,
    /// The strongest security layer that may be used.
    pub max_strength: u32,
}

impl Policy {
    /// Returns the mechanisms that are offered to the client.
    pub fn offered(&self) -> impl Iterator<Item = Mechanism> {
        let all = self.mechanisms.iter().copied();
        all.filter(|mechanism| self.check(*mechanism).is_ok())
    }

    /// Fails for a mechanism that this policy does not allow.
    fn check(&self, mechanism: Mechanism) -> Result<(), Failure> {
        if mechanism.most_strength() < self.min_strength {
            let detail = format!("mech {} is too weak", mechanism.name());
            return Err(Failure::new(FailureKind::TooWeak, detail));
        }
        let is_allowed = match mechanism {
            Mechanism::Anonymous => self.is_anonymous_allowed,
            Mechanism::External => self.tunnel_user.is_some(),
            _ => true,
        };
        match is_allowed {
            true => Ok(()),
            false => Err(Failure::new(
                FailureKind::NoMechanism,
                "security flags do not match required",
            )),
        }
    }

    /// Returns a user's name without the realm, which a client may write behind it.
    fn user(&self, name: &[u8]) -> Result<String, Failure> {
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(unknown_user());
        };
        match name.rsplit_once('@') {
            None => Ok(name.to_owned()),
            Some((user, realm)) if realm == self.realm => Ok(user.to_owned()),
            Some(_) => Err(Failure::bad_protocol(CAN_NOT_LOOK_UP)),
        }
    }
}

/// Where a server finds its users. Names have no realm.
pub trait Users {
    /// Returns a user's password in clear.
    ///
    /// # Errors
    /// The reason why there is none.
    fn password(&self, user: &str) -> Result<Vec<u8>, Denied>;

    /// Checks a password that the client has sent.
    ///
    /// # Errors
    /// The reason why it is not accepted.
    fn check(&self, user: &str, password: &[u8]) -> Result<(), Denied>;
}

/// Why a store of users has no answer that lets a client in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is no such user.
    UnknownUser,
    /// The password is wrong.
    WrongPassword,
    /// The store cannot be read now.
    Unavailable,
    /// The configuration names a store that this server does not have.
    NoStore,
}

impl Denied {
    fn because(self, detail: &str) -> Failure {
        let result = match self {
            Denied::UnknownUser => FailureKind::UnknownUser,
            Denied::WrongPassword => FailureKind::WrongPassword,
            Denied::Unavailable => FailureKind::Generic,
            Denied::NoStore => FailureKind::NoMechanism,
        };
        Failure::new(result, detail)
    }
}

/// What makes an exchange differ from others.
pub struct Seed<'a> {
    /// Random bytes, new for each message.
    pub random: [u8; 32],
    /// The time, microseconds since 1970.
    pub now_micros: i64,
    /// The server's name.
    pub host: &'a str,
}

/// What follows a message of the client.
#[derive(Debug)]
pub enum Outcome {
    /// The client must answer this token; what it answers is for [`Exchange::step`].
    Challenge(Vec<u8>, Exchange),
    /// The client is accepted.
    Accepted(Accepted),
    /// The client may choose a mechanism again.
    Refused(Failure),
}

/// An accepted client.
#[derive(Debug)]
pub struct Accepted {
    /// Its name, without the realm; `None` for ANONYMOUS.
    pub user: Option<String>,
    /// The server's last token.
    pub token: Option<Vec<u8>>,
    /// The protection of everything behind that token.
    pub layer: Option<Box<Layer>>,
}

/// An exchange that waits for a token of the client.
pub struct Exchange {
    mechanism: Mechanism,
    awaited: Awaited,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exchange({})", self.mechanism.name())
    }
}

enum Awaited {
    /// The first token, of a mechanism in which the client begins.
    First,
    /// The password of LOGIN.
    Password { user: Vec<u8> },
    /// The response to a challenge of CRAM-MD5.
    Cram { challenge: String },
    /// The response to a challenge of DIGEST-MD5 with this nonce.
    Digest { nonce: String },
    /// The proof of SCRAM.
    Scram(Box<AwaitedClient>),
}

impl Exchange {
    /// Begins the mechanism that a client has named, with its first token if it sent one.
    pub fn begin(
        policy: &Policy,
        name: &str,
        token: Option<&[u8]>,
        users: &dyn Users,
        seed: &Seed<'_>,
    ) -> Outcome {
        Exchange::try_begin(policy, name, token, users, seed).unwrap_or_else(Outcome::Refused)
    }

    fn try_begin(
        policy: &Policy,
        name: &str,
        token: Option<&[u8]>,
        users: &dyn Users,
        seed: &Seed<'_>,
    ) -> Result<Outcome, Failure> {
        if policy.realm.is_empty() {
            let detail = "user_realm is an empty string!";
            return Err(Failure::new(FailureKind::InvalidParameter, detail));
        }
        let mechanism = Mechanism::named(name);
        let is_known = |known: &Mechanism| match known {
            Mechanism::External | Mechanism::Anonymous => true,
            known => policy.mechanisms.contains(known),
        };
        let mechanism = mechanism
            .filter(is_known)
            .ok_or_else(|| Failure::no_mechanism(name))?;
        policy.check(mechanism)?;
        if !policy.mechanisms.contains(&mechanism) {
            return Err(Failure::no_mechanism(name));
        }
        let (challenge, awaited) = match (mechanism, token) {
            (Mechanism::CramMd5, Some(_)) => {
                let detail = "Remote sent first but mech does not allow it.";
                return Err(Failure::bad_protocol(detail));
            }
            (Mechanism::CramMd5, None) => {
                let nonce = u64::from(u32::from_le_bytes(
                    seed.random[..4].try_into().unwrap_or_default(),
                ));
                let challenge = cram_challenge(nonce, seed.now_micros / 1_000_000, seed.host);
                (challenge.clone().into_bytes(), Awaited::Cram { challenge })
            }
            (Mechanism::DigestMd5, _) => {
                let nonce = STANDARD.encode(seed.random);
                let bounds = (policy.min_strength, policy.max_strength);
                let challenge = digest_md5::challenge(&nonce, &policy.realm, bounds.0, bounds.1);
                (challenge, Awaited::Digest { nonce })
            }
            (Mechanism::Login, None) => (b"Username:".to_vec(), Awaited::First),
            (_, None) => (Vec::new(), Awaited::First),
            (_, Some(token)) => {
                let exchange = Exchange {
                    mechanism,
                    awaited: Awaited::First,
                };
                return exchange.try_step(policy, token, users, seed);
            }
        };
        Ok(Outcome::Challenge(challenge, Exchange { mechanism, awaited }))
    }

    /// Returns the mechanism, which gives the tokens their form.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Takes the client's next token.
    pub fn step(self, policy: &Policy, token: &[u8], users: &dyn Users, seed: &Seed<'_>) -> Outcome {
        self.try_step(policy, token, users, seed)
            .unwrap_or_else(Outcome::Refused)
    }

    fn try_step(
        self,
        policy: &Policy,
        token: &[u8],
        users: &dyn Users,
        seed: &Seed<'_>,
    ) -> Result<Outcome, Failure> {
        let mechanism = self.mechanism;
        let accepted = |user: Option<String>| {
            Outcome::Accepted(Accepted {
                user,
                token: None,
                layer: None,
            })
        };
        let next = |challenge, awaited| Ok(Outcome::Challenge(challenge, Exchange { mechanism, awaited }));
        match (self.awaited, mechanism) {
            (Awaited::First, Mechanism::Plain) => {
                plain(policy, token, users).map(|user| accepted(Some(user)))
            }
            (Awaited::First, Mechanism::Login) => {
                let user = token.to_vec();
                next(b"Password:".to_vec(), Awaited::Password { user })
            }
            (Awaited::First, Mechanism::External) => external(policy, token).map(|user| accepted(Some(user))),
            (Awaited::First, Mechanism::Scram(hash)) => {
                let first = ClientFirst::parse(token, mechanism.name())?;
                let user = policy.user(&first.user)?;
                let password = users
                    .password(&user)
                    .map_err(|denied| denied.because(CAN_NOT_LOOK_UP))?;
                let client = AwaitedClient::new(hash, mechanism.name(), first, &password, &seed.random);
                next(client.challenge().to_vec(), Awaited::Scram(Box::new(client)))
            }
            (Awaited::First, _) => Ok(accepted(None)),
            (Awaited::Password { user }, _) => {
                let user = policy.user(&user)?;
                let checked = users.check(&user, token);
                checked.map_err(|denied| denied.because("checkpass failed"))?;
                Ok(accepted(Some(user)))
            }
            (Awaited::Cram { challenge }, _) => {
                cram(policy, token, &challenge, users).map(|user| accepted(Some(user)))
            }
            (Awaited::Digest { nonce }, _) => digest(policy, token, &nonce, users).map(Outcome::Accepted),
            (Awaited::Scram(client), _) => {
                let proof = client.check(token)?;
                let first = client.first();
                let user = acting_for(policy, &first.user, first.on_behalf_of.as_deref())?;
                Ok(Outcome::Accepted(Accepted {
                    user: Some(user),
                    token: Some(proof),
                    layer: None,
                }))
            }
        }
    }
}

/// Checks a token of PLAIN: `name to act as` NUL `name` NUL `password`. Returns the user.
fn plain(policy: &Policy, token: &[u8], users: &dyn Users) -> Result<String, Failure> {
    let mut parts = token.split(|byte| *byte == 0);
    let behalf = parts.next().unwrap_or_default();
    let (Some(name), Some(password)) = (parts.next(), parts.next()) else {
        return Err(Failure::bad_protocol("Can only find author (no password)"));
    };
    if parts.next().is_some() {
        let detail = "Got more data than we were expecting in the PLAIN plugin\n";
        return Err(Failure::bad_protocol(detail));
    }
    let user = policy.user(name)?;
    let checked = users.check(&user, password);
    checked.map_err(|denied| denied.because("Password verification failed"))?;
    acting_for(policy, name, Some(behalf).filter(|behalf| !behalf.is_empty()))
}

/// Checks a token of EXTERNAL, the name to act as.
fn external(policy: &Policy, token: &[u8]) -> Result<String, Failure> {
    let name = policy.tunnel_user.as_deref().unwrap_or_default();
    acting_for(
        policy,
        name.as_bytes(),
        Some(token).filter(|token| !token.is_empty()),
    )
}

/// Checks a response to a challenge of CRAM-MD5.
fn cram(policy: &Policy, token: &[u8], challenge: &str, users: &dyn Users) -> Result<String, Failure> {
    let Some(space) = token.iter().rposition(|byte| *byte == b' ') else {
        return Err(Failure::bad_protocol("need authentication name"));
    };
    let user = policy.user(&token[..space])?;
    let found = users.password(&user);
    let checked = cram_check(token, challenge.as_bytes(), |_| found.as_ref().ok().cloned());
    match (found, checked) {
        (Ok(_), Ok(_)) => Ok(user),
        (Err(Denied::UnknownUser), Err(CramRefusal::UnknownUser)) => Err(Failure::new(
            FailureKind::UnknownUser,
            format!(
                "user: {user}@{} property: cmusaslsecretCRAM-MD5 not found in sasldb",
                policy.realm
            ),
        )),
        (Err(denied), Err(CramRefusal::UnknownUser)) => Err(denied.because(CAN_NOT_LOOK_UP)),
        _ => Err(Failure::new(
            FailureKind::WrongPassword,
            "incorrect digest response",
        )),
    }
}

/// Checks a response to a challenge of DIGEST-MD5.
fn digest(policy: &Policy, token: &[u8], nonce: &str, users: &dyn Users) -> Result<Accepted, Failure> {
    let response = digest_md5::Response::parse(token, nonce, policy.min_strength, policy.max_strength)?;
    response.check_nonce()?;
    let realm = response.realm();
    if !realm.is_empty() && realm != policy.realm.as_bytes() {
        return Err(Failure::bad_protocol(CAN_NOT_LOOK_UP));
    }
    let user = policy.user(&response.user)?;
    let password = users
        .password(&user)
        .map_err(|denied| denied.because(CAN_NOT_LOOK_UP))?;
    let (proof, layer) = response.check(&password)?;
    Ok(Accepted {
        user: Some(acting_for(
            policy,
            &response.user,
            response.on_behalf_of.as_deref(),
        )?),
        token: Some(proof),
        layer,
    })
}

/// Returns the user as whom a client acts: no other than itself.
fn acting_for(policy: &Policy, name: &[u8], behalf: Option<&[u8]>) -> Result<String, Failure> {
    let user = policy.user(name)?;
    match behalf.filter(|behalf| !behalf.is_empty()) {
        Some(behalf) if policy.user(behalf)? != user => Err(Failure::new(
            FailureKind::WrongPassword,
            "Requested identity not authenticated identity",
        )),
        _ => Ok(user),
    }
}

fn unknown_user() -> Failure {
    Denied::UnknownUser.because(CAN_NOT_LOOK_UP)
}

const CAN_NOT_LOOK_UP: &str = "unable to canonify user and get auxprops";
