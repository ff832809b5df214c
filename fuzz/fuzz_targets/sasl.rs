//! SASL: tokens of every mechanism to both peers, blocks of a security layer, and the files of its configuration.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repos::config::{SaslDb, SaslSettings};
use wire::sasl::client::{self, Credentials};
use wire::sasl::server::{Denied, Exchange, Outcome, Policy, Seed, Users};
use wire::sasl::{Mechanism, token};

struct OneUser;

impl Users for OneUser {
    fn password(&self, user: &str) -> Result<Vec<u8>, Denied> {
        match user {
            "u" => Ok(b"p".to_vec()),
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

fuzz_target!(|data: &[u8]| {
    _ = SaslSettings::parse(data);
    _ = SaslDb::parse(data);
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let mechanism = Mechanism::ALL[usize::from(*first) % Mechanism::ALL.len()];
    let policy = Policy {
        realm: "r".to_owned(),
        mechanisms: Mechanism::ALL.to_vec(),
        is_anonymous_allowed: true,
        tunnel_user: Some("u".to_owned()),
        min_strength: 0,
        max_strength: 256,
    };
    let seed = Seed {
        random: [1; 32],
        now_micros: 1,
        host: "h",
    };
    let credentials = Credentials {
        user: b"u",
        password: b"p",
    };
    let (mut client, begun) = client::Exchange::begin(mechanism, "n".to_owned(), &credentials);
    let mut outcome = Exchange::begin(&policy, mechanism.name(), begun.as_deref(), &OneUser, &seed);
    // Each line is a token for the server, and one for the client.
    for line in rest.split(|byte| *byte == b'\n').take(4) {
        _ = client.step(&token::decode(line), "h", &credentials);
        outcome = match outcome {
            Outcome::Challenge(_, server) => server.step(&policy, line, &OneUser, &seed),
            Outcome::Accepted(accepted) => {
                if let Some(mut layer) = accepted.layer {
                    _ = layer.opener.open(line, &mut Vec::new());
                }
                return;
            }
            Outcome::Refused(_) => Exchange::begin(&policy, mechanism.name(), Some(line), &OneUser, &seed),
        };
    }
    _ = client.finish(Some(rest));
});
