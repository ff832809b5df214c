//! The client's side of an exchange.

use super::digest_md5::{self, AwaitedProof};
use super::layer::Layer;
use super::{Failure, Mechanism, scram};
use crate::svn::auth::cram_answer;

/// A user's name and password.
pub struct Credentials<'a> {
    /// The name.
    pub user: &'a [u8],
    /// The password.
    pub password: &'a [u8],
}

/// The client's side of an exchange.
pub struct Exchange {
    mechanism: Mechanism,
    /// A random word.
    nonce: String,
    next: Next,
}

enum Next {
    /// The first challenge has not arrived.
    Begin,
    /// LOGIN: the server has the name.
    Password,
    /// The server must prove that it knows the password.
    DigestProof(AwaitedProof),
    /// The server's last token must be this one.
    Signature(Vec<u8>),
    /// The server need not send anything more.
    Done(Option<Box<Layer>>),
}

impl Exchange {
    /// Returns the mechanism that proves a password best among those that a server offers: as the incumbent with Cyrus SASL chooses.
    pub fn best_mechanism(is_offered: impl Fn(&str) -> bool) -> Option<Mechanism> {
        let mut all = Mechanism::ALL.into_iter();
        all.find(|mechanism| {
            !matches!(mechanism, Mechanism::External | Mechanism::Anonymous) && is_offered(mechanism.name())
        })
    }

    /// Begins a mechanism. Returns the exchange, and the first token if the client sends one. `nonce` is a random word of
    /// letters and digits.
    pub fn begin(
        mechanism: Mechanism,
        nonce: String,
        credentials: &Credentials<'_>,
    ) -> (Exchange, Option<Vec<u8>>) {
        let (token, next) = match mechanism {
            Mechanism::Plain => {
                let token = [b"\0", credentials.user, b"\0", credentials.password].concat();
                (Some(token), Next::Done(None))
            }
            Mechanism::Scram(_) => {
                let token = scram::first_message(credentials.user, &nonce);
                (Some(token), Next::Begin)
            }
            _ => (None, Next::Begin),
        };
        let exchange = Exchange {
            mechanism,
            nonce,
            next,
        };
        (exchange, token)
    }

    /// Answers a challenge. `host` is the server's name.
    ///
    /// # Errors
    /// The challenge is malformed, or one too many, or the server does not prove what it must.
    pub fn step(
        &mut self,
        challenge: &[u8],
        host: &str,
        credentials: &Credentials<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let (user, password) = (credentials.user, credentials.password);
        let (answer, next) = match (&self.next, self.mechanism) {
            (Next::Begin, Mechanism::CramMd5) => {
                let user = String::from_utf8_lossy(user);
                (cram_answer(&user, password, challenge), Next::Done(None))
            }
            (Next::Begin, Mechanism::Login) => (user.to_vec(), Next::Password),
            (Next::Password, _) => (password.to_vec(), Next::Done(None)),
            (Next::Begin, Mechanism::DigestMd5) => {
                let (answer, proof) = digest_md5::respond(challenge, user, password, host, &self.nonce)?;
                (answer, Next::DigestProof(proof))
            }
            (Next::Begin, Mechanism::Scram(hash)) => {
                let (answer, signature) = scram::respond(hash, challenge, user, password, &self.nonce)?;
                (answer, Next::Signature(signature))
            }
            // The proof in a challenge of its own, as older servers send it.
            (Next::DigestProof(_) | Next::Signature(_), _) => {
                (Vec::new(), Next::Done(self.proven(challenge)?))
            }
            (Next::Begin | Next::Done(_), _) => {
                return Err(Failure::bad_protocol("The server asks too often"));
            }
        };
        self.next = next;
        Ok(answer)
    }

    /// Ends the exchange after the server's acceptance, with its last token. Returns the security layer.
    ///
    /// # Errors
    /// The server accepts too early, or does not prove what it must.
    pub fn finish(self, token: Option<&[u8]>) -> Result<Option<Box<Layer>>, Failure> {
        match (&self.next, token) {
            (Next::DigestProof(_) | Next::Signature(_), token) => self.proven(token.unwrap_or_default()),
            (Next::Begin | Next::Password, _) => Err(Failure::bad_protocol(
                "The server accepts before the client has proven anything",
            )),
            (Next::Done(_), _) => match self.next {
                Next::Done(layer) => Ok(layer),
                _ => Ok(None),
            },
        }
    }

    /// Checks the server's proof.
    fn proven(&self, token: &[u8]) -> Result<Option<Box<Layer>>, Failure> {
        match &self.next {
            Next::DigestProof(proof) => proof.check(token),
            Next::Signature(signature) if token == signature => Ok(None),
            _ => Err(Failure::bad_protocol("Incorrect server signature")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::{self, Denied, Outcome, Policy, Seed, Users};
    use super::*;

    struct OneUser;

    impl Users for OneUser {
        fn password(&self, user: &str) -> Result<Vec<u8>, Denied> {
            match user {
                "älice" => Ok(b"secr\xc3\xa9t".to_vec()),
                _ => Err(Denied::UnknownUser),
            }
        }

        fn check(&self, user: &str, password: &[u8]) -> Result<(), Denied> {
            match self.password(user)? == password {
                true => Ok(()),
                false => Err(Denied::WrongPassword),
            }
        }
    }

    fn policy(bounds: (u32, u32)) -> Policy {
        Policy {
            realm: "here".to_owned(),
            mechanisms: Mechanism::ALL.to_vec(),
            is_anonymous_allowed: false,
            tunnel_user: None,
            min_strength: bounds.0,
            max_strength: bounds.1,
        }
    }

    /// Lets both sides talk; returns the user, and whether the layers fit each other.
    fn exchange(
        mechanism: Mechanism,
        policy: &Policy,
        user: &str,
        password: &str,
    ) -> Result<(Option<String>, bool), Failure> {
        let credentials = Credentials {
            user: user.as_bytes(),
            password: password.as_bytes(),
        };
        let seed = Seed {
            random: [7; 32],
            now_micros: 5,
            host: "h",
        };
        let (mut client, token) = Exchange::begin(mechanism, "abc".to_owned(), &credentials);
        let name = mechanism.name();
        let mut outcome = server::Exchange::begin(policy, name, token.as_deref(), &OneUser, &seed);
        for _ in 0..5 {
            outcome = match outcome {
                Outcome::Challenge(challenge, server) => {
                    let answer = client.step(&challenge, "h", &credentials)?;
                    server.step(policy, &answer, &OneUser, &seed)
                }
                Outcome::Accepted(accepted) => {
                    let layer = client.finish(accepted.token.as_deref())?;
                    let fits = match (layer, accepted.layer) {
                        (None, None) => false,
                        (Some(mut client), Some(mut server)) => {
                            let (mut sealed, mut text) = (Vec::new(), Vec::new());
                            client.sealer.seal(b"ping", &mut sealed);
                            let opened = server.opener.open(&sealed, &mut text);
                            assert_eq!((opened, &text[..]), (Ok(()), &b"ping"[..]));
                            sealed.clear();
                            server.sealer.seal(b"pong", &mut sealed);
                            client.opener.open(&sealed, &mut text).is_ok()
                        }
                        _ => panic!("only one of them has a layer"),
                    };
                    return Ok((accepted.user, fits));
                }
                Outcome::Refused(failure) => return Err(failure),
            };
        }
        panic!("an endless exchange")
    }

    #[test]
    fn both_sides_agree() {
        for bounds in [
            (0, 0),
            (0, 1),
            (0, 55),
            (0, 56),
            (0, 112),
            (0, 256),
            (1, 1),
            (128, 128),
        ] {
            let policy = policy(bounds);
            let offered: Vec<_> = policy.offered().collect();
            assert_eq!(offered.len(), if bounds.0 == 0 { 9 } else { 1 }, "{bounds:?}");
            for mechanism in offered {
                let talk = |user: &str, password: &str| exchange(mechanism, &policy, user, password);
                let has_layer = mechanism == Mechanism::DigestMd5 && bounds.1 > 0;
                let alice = Some("älice".to_owned());
                let right = Ok((alice.clone(), has_layer));
                assert_eq!(talk("älice", "secrét"), right, "{mechanism:?} {bounds:?}");
                assert_eq!(talk("älice@here", "secrét"), right);
                for (user, password) in [("älice", "x"), ("älice", ""), ("bob", "secrét"), ("", "secrét")]
                {
                    let refused = talk(user, password).expect_err("it is wrong");
                    assert!(
                        refused.to_string().starts_with("SASL(-13): "),
                        "{mechanism:?} {refused}"
                    );
                }
                assert!(talk("älice@there", "secrét").is_err());
            }
        }
    }

    #[test]
    fn a_server_that_proves_nothing_is_not_believed() {
        let credentials = Credentials {
            user: b"u",
            password: b"p",
        };
        for mechanism in Mechanism::ALL {
            let begin = || Exchange::begin(mechanism, "abc".to_owned(), &credentials).0;
            let is_plain = mechanism == Mechanism::Plain;
            assert_eq!(begin().finish(None).is_ok(), is_plain, "{mechanism:?}");
        }
    }
}
