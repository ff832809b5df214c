//! SCRAM (RFC 5802): both peers prove that they know a password, or a hash of it, without sending it.
//!
//! ```text
//! client  n,,n=USER,r=NONCE                  name and nonce
//! server  r=NONCE+MORE,s=SALT,i=ROUNDS       how the password is hashed
//! client  c=biws,r=NONCE+MORE,p=PROOF        proof of the client
//! server  v=SIGNATURE                        proof of the server
//! ```
//!
//! There is no channel binding: svn:// has no TLS to bind to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use digest::Digest as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq as _;

use super::Failure;
use super::failure::FailureKind;

/// How often the server has a password hashed.
const ROUNDS: u32 = 4096;
/// The most rounds that a client computes for a server: about a second.
const MOST_ROUNDS: u32 = 1_000_000;

/// The hash function of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Evaluates an expression with `$D` as the type of the hash function.
macro_rules! with_hash {
    ($hash:expr, $D:ident => $body:expr) => {
        match $hash {
            Hash::Sha1 => {
                type $D = Sha1;
                $body
            }
            Hash::Sha224 => {
                type $D = Sha224;
                $body
            }
            Hash::Sha256 => {
                type $D = Sha256;
                $body
            }
            Hash::Sha384 => {
                type $D = Sha384;
                $body
            }
            Hash::Sha512 => {
                type $D = Sha512;
                $body
            }
        }
    };
}

impl Hash {
    fn digest(self, text: &[u8]) -> Vec<u8> {
        with_hash!(self, D => D::digest(text).to_vec())
    }

    fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        with_hash!(self, D => {
            let mut mac = Hmac::<D>::new_from_slice(key).expect("because HMAC takes keys of any length");
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        })
    }

    fn salted(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        with_hash!(self, D => {
            let mut key = vec![0; D::output_size()];
            pbkdf2::pbkdf2_hmac::<D>(password, salt, rounds, &mut key);
            key
        })
    }

    /// Returns the length of a digest, bytes.
    fn length(self) -> usize {
        with_hash!(self, D => D::output_size())
    }
}

/// A client's first message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientFirst {
    pub(super) user: Vec<u8>,
    /// The name in whose stead the client acts.
    pub(super) on_behalf_of: Option<Vec<u8>>,
    /// The message's header, which the client repeats.
    header: Vec<u8>,
    /// The rest of the message.
    bare: Vec<u8>,
    nonce: Vec<u8>,
}

impl ClientFirst {
    /// Reads a message; `name` is the mechanism's.
    ///
    /// # Errors
    /// It has another form, or demands an extension.
    pub(super) fn parse(token: &[u8], name: &str) -> Result<ClientFirst, Failure> {
        let bad = |detail: String| Failure::bad_protocol(detail);
        let mut parts = token.splitn(3, |letter| *letter == b',');
        let (flag, behalf, bare) = (parts.next(), parts.next(), parts.next());
        if !matches!(flag, Some(b"n" | b"y")) && !flag.is_some_and(|flag| flag.starts_with(b"p=")) {
            return Err(bad(format!(
                "The initial {name} client response needs to start with 'y', 'n' or 'p'"
            )));
        }
        if flag.is_some_and(|flag| flag.starts_with(b"p=")) {
            return Err(bad(format!("Channel bindings data expected in {name}")));
        }
        let user_expected = || bad(format!("Username (n=) expected in {name} input"));
        let (behalf, bare) = behalf.zip(bare).ok_or_else(user_expected)?;
        let decoded = |value: &[u8]| {
            unescape(value).ok_or_else(|| bad(format!("Invalid username encoding in {name} input")))
        };
        let on_behalf_of = match behalf {
            b"" => None,
            _ => Some(decoded(behalf.strip_prefix(b"a=").ok_or_else(user_expected)?)?),
        };
        if bare.starts_with(b"m=") {
            return Err(bad(format!("Unsupported mandatory extension to {name}")));
        }
        let mut fields = bare.split(|letter| *letter == b',');
        let user = fields.next().and_then(|field| field.strip_prefix(b"n="));
        let user = decoded(user.ok_or_else(user_expected)?)?;
        let nonce = fields.next().and_then(|field| field.strip_prefix(b"r="));
        let nonce = nonce.ok_or_else(|| bad(format!("Nonce expected after the username in {name} input")))?;
        Ok(ClientFirst {
            user,
            on_behalf_of,
            header: token[..token.len() - bare.len()].to_vec(),
            nonce: nonce.to_vec(),
            bare: bare.to_vec(),
        })
    }
}

/// A server's side between its challenge and the client's proof.
pub(super) struct AwaitedClient {
    hash: Hash,
    name: &'static str,
    first: ClientFirst,
    challenge: Vec<u8>,
    nonce: Vec<u8>,
    salted: Vec<u8>,
}

impl AwaitedClient {
    /// Makes the challenge of a client. `seed` are random bytes for the salt and the nonce.
    pub(super) fn new(
        hash: Hash,
        name: &'static str,
        first: ClientFirst,
        password: &[u8],
        seed: &[u8; 32],
    ) -> AwaitedClient {
        // Two independent values of one seed.
        let more = &STANDARD.encode(hash.hmac(seed, b"nonce"))[..24];
        let nonce = [&first.nonce, more.as_bytes()].concat();
        let salt = hash.hmac(seed, b"salt");
        let challenge = format!(
            "r={},s={},i={ROUNDS}",
            String::from_utf8_lossy(&nonce),
            STANDARD.encode(&salt)
        );
        AwaitedClient {
            salted: hash.salted(password, &salt, ROUNDS),
            challenge: challenge.into_bytes(),
            hash,
            name,
            first,
            nonce,
        }
    }

    /// Returns the challenge.
    pub(super) fn challenge(&self) -> &[u8] {
        &self.challenge
    }

    /// Returns the client's first message.
    pub(super) fn first(&self) -> &ClientFirst {
        &self.first
    }

    /// Checks the client's proof; returns the server's.
    pub(super) fn check(&self, token: &[u8]) -> Result<Vec<u8>, Failure> {
        let name = self.name;
        let bad = |detail: String| Err(Failure::bad_protocol(detail));
        if token.is_empty() {
            return bad(format!("{name} input expected"));
        }
        let fields: Vec<&[u8]> = token.split(|letter| *letter == b',').collect();
        let value =
            |index: usize, prefix: &[u8]| fields.get(index).and_then(|field| field.strip_prefix(prefix));
        let header = value(0, b"c=").map(|text| STANDARD.decode(text));
        if !matches!(&header, Some(Ok(header)) if *header == self.first.header) {
            let expected = String::from_utf8_lossy(&self.first.header);
            return bad(format!(
                "Channel bindings prefix doesn't match the one received in the GS2 header of {name}. Expected \"{expected}\""
            ));
        }
        let Some(nonce) = value(1, b"r=") else {
            return bad(format!("At least nonce is expected in {name} input"));
        };
        if nonce != self.nonce {
            return bad(format!("Nonce mismatch {name} input"));
        }
        let Some(at) = fields.iter().position(|field| field.starts_with(b"p=")) else {
            return bad(format!("At least proof is expected in {name} input"));
        };
        if at + 1 < fields.len() {
            return bad(format!(
                "No extension data is allowed after the client proof in {name} input"
            ));
        }
        let proof = STANDARD.decode(&fields[at][2..]).unwrap_or_default();
        if proof.len() != self.hash.length() {
            return bad(format!("Invalid client proof length in {name} input"));
        }
        let bare_final = fields[..at].join(&b',');
        let message = [&self.first.bare, &self.challenge, &bare_final]
            .map(Vec::as_slice)
            .join(&b',');
        let keys = Keys::new(self.hash, &self.salted);
        let client_key = xor(&proof, &self.hash.hmac(&keys.stored, &message));
        if !bool::from(self.hash.digest(&client_key).ct_eq(&keys.stored)) {
            return Err(Failure::new(FailureKind::WrongPassword, "StoredKey mismatch"));
        }
        let signature = self.hash.hmac(&keys.server, &message);
        Ok(format!("v={}", STANDARD.encode(signature)).into_bytes())
    }
}

/// The keys that a salted password gives.
struct Keys {
    client: Vec<u8>,
    stored: Vec<u8>,
    server: Vec<u8>,
}

impl Keys {
    fn new(hash: Hash, salted: &[u8]) -> Keys {
        let client = hash.hmac(salted, b"Client Key");
        Keys {
            stored: hash.digest(&client),
            server: hash.hmac(salted, b"Server Key"),
            client,
        }
    }
}

/// Returns a client's first message.
pub(super) fn first_message(user: &[u8], nonce: &str) -> Vec<u8> {
    [HEADER, &first_bare(user, nonce)].concat()
}

/// The header of a client without channel binding that acts for itself.
const HEADER: &[u8] = b"n,,";

fn first_bare(user: &[u8], nonce: &str) -> Vec<u8> {
    [b"n=", &escape(user)[..], b",r=", nonce.as_bytes()].concat()
}

/// Answers a challenge: returns the client's proof, and the signature that the server must send.
///
/// # Errors
/// The challenge has another form, another nonce, or more rounds than a client should compute.
pub(super) fn respond(
    hash: Hash,
    challenge: &[u8],
    user: &[u8],
    password: &[u8],
    nonce: &str,
) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let bad = |detail: &str| Failure::bad_protocol(detail);
    let fields: Vec<&[u8]> = challenge.split(|letter| *letter == b',').collect();
    let value = |index: usize, prefix: &[u8]| fields.get(index).and_then(|field| field.strip_prefix(prefix));
    let whole_nonce = value(0, b"r=").ok_or_else(|| bad("Nonce expected in SCRAM input"))?;
    if !whole_nonce.starts_with(nonce.as_bytes()) || whole_nonce.len() == nonce.len() {
        return Err(bad(
            "The nonce received from the server doesn't start from the nonce sent by the client",
        ));
    }
    let salt = value(1, b"s=").and_then(|text| STANDARD.decode(text).ok());
    let salt = salt.ok_or_else(|| bad("Salt expected in SCRAM input"))?;
    let rounds = value(2, b"i=").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    let rounds = rounds.filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
    let rounds = rounds.ok_or_else(|| bad("Invalid iteration-count in SCRAM input"))?;
    let bare_final = [b"c=", STANDARD.encode(HEADER).as_bytes(), b",r=", whole_nonce].concat();
    let message = [&first_bare(user, nonce), challenge, &bare_final].join(&b',');
    let keys = Keys::new(hash, &hash.salted(password, &salt, rounds));
    let proof = xor(&keys.client, &hash.hmac(&keys.stored, &message));
    let answer = [&bare_final, &b",p="[..], STANDARD.encode(proof).as_bytes()].concat();
    let signature = STANDARD.encode(hash.hmac(&keys.server, &message));
    Ok((answer, format!("v={signature}").into_bytes()))
}

fn xor(one: &[u8], two: &[u8]) -> Vec<u8> {
    one.iter().zip(two).map(|(a, b)| a ^ b).collect()
}

/// Writes commas and equal signs of a name as `=2C` and `=3D`.
fn escape(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for letter in name {
        match letter {
            b',' => text.extend_from_slice(b"=2C"),
            b'=' => text.extend_from_slice(b"=3D"),
            _ => text.push(*letter),
        }
    }
    text
}

/// Reads what [`escape`] wrote; `None` for another use of `=`.
fn unescape(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(text.len());
    while let [letter, rest @ ..] = text {
        let (letter, behind) = match (letter, rest) {
            (b'=', [b'2', b'C', behind @ ..]) => (b',', behind),
            (b'=', [b'3', b'D', behind @ ..]) => (b'=', behind),
            (b'=', _) => return None,
            _ => (*letter, rest),
        };
        name.push(letter);
        text = behind;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 5802, section 5, and RFC 7677, section 3.
    #[test]
    fn the_proofs_are_those_of_the_rfcs() {
        for (hash, nonce, challenge, answer, signature) in [
            (
                Hash::Sha1,
                "fyko+d2lbbFgONRv9qkxdawL",
                "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
                "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
                "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
            ),
            (
                Hash::Sha256,
                "rOprNGfwEbeRWgbNEkqO",
                "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
                "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            ),
        ] {
            let made = respond(hash, challenge.as_bytes(), b"user", b"pencil", nonce);
            let (made_answer, made_signature) = made.expect("the challenge is well-formed");
            assert_eq!(String::from_utf8_lossy(&made_answer), answer);
            assert_eq!(String::from_utf8_lossy(&made_signature), signature);
        }
    }

    #[test]
    fn challenges_that_a_client_must_not_answer() {
        let respond =
            |challenge: &str| respond(Hash::Sha1, challenge.as_bytes(), b"u", b"p", "abc").map(|_| ());
        assert_eq!(respond("r=abcd,s=AAAA,i=1"), Ok(()));
        for wrong in [
            "",
            "r=abcd",
            "r=abc,s=AAAA,i=1",
            "r=xyz,s=AAAA,i=1",
            "r=abcd,s=?,i=1",
            "r=abcd,s=AAAA,i=0",
            "r=abcd,s=AAAA,i=99999999",
            "r=abcd,s=AAAA,i=x",
            "m=x,r=abcd,s=AAAA,i=1",
        ] {
            assert!(respond(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn names_round_trip(name: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&name)), Some(name));
        }

        #[test]
        fn any_bytes_are_taken(token: Vec<u8>) {
            _ = ClientFirst::parse(&token, "SCRAM-SHA-1");
            _ = respond(Hash::Sha1, &token, b"u", b"p", "n");
        }
    }
}
