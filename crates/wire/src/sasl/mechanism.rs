//! The mechanisms, and what each is able to protect.

use super::scram::Hash;
use super::token;

/// A way in which a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The proof that the client knows a password, in which neither peer sends it, and the server proves that it knows it as well.
    Scram(Hash),
    /// A digest of the password and of nonces of both peers. May protect what follows.
    DigestMd5,
    /// The name under which the tunnel runs.
    External,
    /// A digest of the password and a challenge.
    CramMd5,
    /// Name and password in one token.
    Plain,
    /// Name and password in two tokens.
    Login,
    /// No name.
    Anonymous,
}

impl Mechanism {
    /// All of them, in the order in which the incumbent's server lists them.
    pub const ALL: [Mechanism; 11] = [
        Mechanism::Scram(Hash::Sha512),
        Mechanism::Scram(Hash::Sha384),
        Mechanism::Scram(Hash::Sha256),
        Mechanism::Scram(Hash::Sha224),
        Mechanism::Scram(Hash::Sha1),
        Mechanism::DigestMd5,
        Mechanism::External,
        Mechanism::CramMd5,
        Mechanism::Plain,
        Mechanism::Login,
        Mechanism::Anonymous,
    ];

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Scram(Hash::Sha512) => "SCRAM-SHA-512",
            Mechanism::Scram(Hash::Sha384) => "SCRAM-SHA-384",
            Mechanism::Scram(Hash::Sha256) => "SCRAM-SHA-256",
            Mechanism::Scram(Hash::Sha224) => "SCRAM-SHA-224",
            Mechanism::Scram(Hash::Sha1) => "SCRAM-SHA-1",
            Mechanism::DigestMd5 => "DIGEST-MD5",
            Mechanism::External => "EXTERNAL",
            Mechanism::CramMd5 => "CRAM-MD5",
            Mechanism::Plain => "PLAIN",
            Mechanism::Login => "LOGIN",
            Mechanism::Anonymous => "ANONYMOUS",
        }
    }

    /// Returns the mechanism with a name, in letters of either case.
    pub fn named(name: &str) -> Option<Mechanism> {
        Mechanism::ALL
            .into_iter()
            .find(|mechanism| mechanism.name().eq_ignore_ascii_case(name))
    }

    /// Returns the strength of the best security layer that the mechanism can agree on, bits of a key. 0 is none.
    pub(super) fn most_strength(self) -> u32 {
        match self {
            Mechanism::DigestMd5 => 128,
            _ => 0,
        }
    }

    /// Returns the form of a token on the wire: those of CRAM-MD5 travel as they are.
    pub fn encode_token(self, token: &[u8]) -> Vec<u8> {
        match self {
            Mechanism::CramMd5 => token.to_vec(),
            _ => token::encode(token),
        }
    }

    /// Returns the bytes of a token on the wire.
    pub fn decode_token(self, text: &[u8]) -> Vec<u8> {
        match self {
            Mechanism::CramMd5 => text.to_vec(),
            _ => token::decode(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for mechanism in Mechanism::ALL {
            assert_eq!(
                Mechanism::named(&mechanism.name().to_lowercase()),
                Some(mechanism)
            );
        }
        assert_eq!(Mechanism::named("NTLM"), None);
        assert_eq!(Mechanism::named(""), None);
    }
}
