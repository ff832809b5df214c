//! DIGEST-MD5 (RFC 2831): what both peers compute, the server's challenge, and the client's response.
//!
//! The session's hash covers name, realm, password and the nonces of both peers. The client proves it with its response, the server with
//! `rspauth`. The keys of a security layer are made of it.

use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

use super::Failure;
use super::digest_fields::{Fields, quoted, words};
use super::failure::FailureKind;
use super::layer::{CipherName, LONGEST_BLOCK, Layer, Protection};

/// The longest blocks that a peer receives if it does not say so, bytes.
const DEFAULT_MAXBUF: usize = 65536;
/// The highest value of `maxbuf`.
const MOST_MAXBUF: usize = 0x00ff_ffff;

/// The count of the first use of a nonce, as it is hashed. There is no second one.
const FIRST_USE: &[u8] = b"00000001";

/// Returns what a server offers within bounds of strength: `qop` words and ciphers.
fn offer(min: u32, max: u32) -> (Vec<&'static str>, Vec<CipherName>) {
    let ciphers = CipherName::ALL.into_iter();
    let ciphers: Vec<_> = ciphers
        .filter(|cipher| (min..=max).contains(&cipher.strength()))
        .collect();
    let qops = [
        ("auth", min == 0),
        ("auth-int", min <= 1 && max >= 1),
        ("auth-conf", !ciphers.is_empty()),
    ];
    let qops = qops.into_iter().filter(|(_, is_offered)| *is_offered);
    (qops.map(|(word, _)| word).collect(), ciphers)
}

/// Returns the server's challenge. `min` and `max` bound the strength of the security layer, bits of a key.
pub(super) fn challenge(nonce: &str, realm: &str, min: u32, max: u32) -> Vec<u8> {
    let (qops, ciphers) = offer(min, max);
    let mut text = format!("nonce=\"{nonce}\",realm=").into_bytes();
    text.extend(quoted(realm.as_bytes()));
    text.extend(format!(",qop=\"{}\"", qops.join(",")).into_bytes());
    if !ciphers.is_empty() {
        let names: Vec<_> = ciphers.iter().map(|cipher| cipher.name()).collect();
        text.extend(format!(",cipher=\"{}\"", names.join(",")).into_bytes());
    }
    text.extend(format!(",maxbuf={LONGEST_BLOCK},charset=utf-8,algorithm=md5-sess").into_bytes());
    text
}

/// A client's response, as far as it can be checked without the password.
pub(super) struct Response {
    /// The name that the client gave.
    pub(super) user: Vec<u8>,
    /// The name in whose stead it acts.
    pub(super) on_behalf_of: Option<Vec<u8>>,
    session: SessionFields,
    response: Vec<u8>,
    has_right_nonce: bool,
    is_first_use: bool,
    is_for_this_service: bool,
    protection: Result<Option<Protection>, Failure>,
    maxbuf: usize,
}

impl Response {
    /// Reads a response to the challenge with `nonce`.
    ///
    /// # Errors
    /// It lacks a field, or `charset` or `maxbuf` has a wrong value.
    pub(super) fn parse(token: &[u8], nonce: &str, min: u32, max: u32) -> Result<Response, Failure> {
        let wrong = |detail: &str| Failure::new(FailureKind::WrongPassword, detail);
        let fields = Fields::parse(token);
        if fields
            .get("charset")
            .is_some_and(|charset| !charset.eq_ignore_ascii_case(b"utf-8"))
        {
            return Err(Failure::new(FailureKind::Generic, "client doesn't support UTF-8"));
        }
        let maxbuf = match fields.get("maxbuf") {
            None => DEFAULT_MAXBUF,
            Some(digits) => number(digits).ok_or_else(|| wrong("invalid maxbuf parameter"))?,
        };
        if maxbuf <= 16 {
            return Err(wrong("maxbuf parameter too small"));
        }
        if maxbuf > MOST_MAXBUF {
            return Err(wrong("maxbuf parameter too big"));
        }
        let required = |field: &str, name: &str| match fields.get(field) {
            Some(value) => Ok(value.to_vec()),
            None => Err(wrong(&format!("required parameters missing: {name}"))),
        };
        let user = required("username", "username")?;
        let client_nonce = required("nonce", "nonce")?;
        let count = required("nc", "noncecount")?;
        let cnonce = required("cnonce", "cnonce")?;
        let uri = required("digest-uri", "digesturi")?;
        let response = required("response", "response")?;
        let qop = fields.get("qop").unwrap_or(b"auth");
        let on_behalf_of = fields.get("authzid").map(<[u8]>::to_vec);
        Ok(Response {
            has_right_nonce: client_nonce == nonce.as_bytes(),
            is_first_use: std::str::from_utf8(&count)
                .is_ok_and(|count| u32::from_str_radix(count, 16) == Ok(1)),
            is_for_this_service: uri.starts_with(b"svn/"),
            protection: chosen_protection(qop, fields.get("cipher"), min, max),
            maxbuf,
            session: SessionFields {
                user: user.clone(),
                realm: fields.get("realm").unwrap_or_default().to_vec(),
                nonce: client_nonce,
                cnonce,
                on_behalf_of: on_behalf_of.clone(),
                count: FIRST_USE.to_vec(),
                qop: qop.to_vec(),
                uri,
            },
            user,
            on_behalf_of,
            response,
        })
    }

    /// Returns the realm of the client's password.
    pub(super) fn realm(&self) -> &[u8] {
        &self.session.realm
    }

    /// Fails for a response to another challenge.
    pub(super) fn check_nonce(&self) -> Result<(), Failure> {
        let wrong = |detail: &str| Err(Failure::new(FailureKind::WrongPassword, detail));
        match (self.has_right_nonce, self.is_first_use) {
            (false, _) => wrong("nonce changed: authentication aborted"),
            (true, false) => wrong("incorrect nonce-count"),
            (true, true) => Ok(()),
        }
    }

    /// Checks the response against the user's password. Returns the server's proof, and the layer.
    pub(super) fn check(&self, password: &[u8]) -> Result<(Vec<u8>, Option<Box<Layer>>), Failure> {
        if !self.is_for_this_service {
            let detail = "bad digest-uri: doesn't match service";
            return Err(Failure::new(FailureKind::WrongPassword, detail));
        }
        let protection = self.protection.clone()?;
        // Of UTF-8 as it is, or in Latin-1: clients read the RFC in two ways.
        let hashes = [|text: &[u8]| text.to_vec(), latin1].map(|form| self.session.hash(password, form));
        let is_proven = |hash: &&[u8; 16]| {
            let expected = self.session.proof(hash, "AUTHENTICATE:");
            bool::from(expected.as_bytes().ct_eq(&self.response))
        };
        let Some(hash) = hashes.iter().find(is_proven) else {
            let detail = "client response doesn't match what we generated (tried bogus)";
            return Err(Failure::new(FailureKind::WrongPassword, detail));
        };
        let proof = format!("rspauth={}", self.session.proof(hash, ":"));
        let layer = protection.map(|protection| Box::new(Layer::new(protection, hash, true, self.maxbuf)));
        Ok((proof.into_bytes(), layer))
    }
}

/// Returns the protection that a client has chosen; `None` without a layer.
fn chosen_protection(
    qop: &[u8],
    cipher: Option<&[u8]>,
    min: u32,
    max: u32,
) -> Result<Option<Protection>, Failure> {
    let (qops, ciphers) = offer(min, max);
    let generic = |detail: &str| Failure::new(FailureKind::Generic, detail);
    let qop = std::str::from_utf8(qop).unwrap_or_default().to_ascii_lowercase();
    match (qop.as_str(), cipher) {
        ("auth-conf", Some(name)) => {
            let cipher = ciphers
                .into_iter()
                .find(|cipher| cipher.name().as_bytes() == name);
            let cipher = cipher.ok_or_else(|| generic("client requested invalid cipher"))?;
            Ok(Some(Protection::Confidentiality(cipher)))
        }
        ("auth-int", _) if qops.contains(&"auth-int") => Ok(Some(Protection::Integrity)),
        ("auth", _) if qops.contains(&"auth") => Ok(None),
        _ => Err(generic("protocol violation: client requested invalid qop")),
    }
}

/// A client's side between its response and the server's proof.
pub(super) struct AwaitedProof {
    expected: Vec<u8>,
    protection: Option<Protection>,
    hash: [u8; 16],
    maxbuf: usize,
}

/// Answers a challenge: returns the response, and what the server must prove. The strongest protection that the server offers is chosen.
///
/// # Errors
/// The challenge lacks what is needed, or offers nothing that is known.
pub(super) fn respond(
    challenge: &[u8],
    user: &[u8],
    password: &[u8],
    host: &str,
    cnonce: &str,
) -> Result<(Vec<u8>, AwaitedProof), Failure> {
    let fields = Fields::parse(challenge);
    let nonce = fields.get("nonce");
    let nonce = nonce.ok_or_else(|| Failure::bad_protocol("required parameters missing: nonce"))?;
    if !fields
        .get("algorithm")
        .is_some_and(|name| name.eq_ignore_ascii_case(b"md5-sess"))
    {
        return Err(Failure::bad_protocol("Server specified unknown algorithm"));
    }
    let maxbuf = match fields.get("maxbuf") {
        None => DEFAULT_MAXBUF,
        Some(digits) => {
            let maxbuf = number(digits).filter(|maxbuf| (17..=MOST_MAXBUF).contains(maxbuf));
            maxbuf.ok_or_else(|| Failure::bad_protocol("Invalid maxbuf parameter received from server"))?
        }
    };
    let protection = strongest(&fields)?;
    let (qop, cipher) = match protection {
        None => ("auth", None),
        Some(Protection::Integrity) => ("auth-int", None),
        Some(Protection::Confidentiality(cipher)) => ("auth-conf", Some(cipher)),
    };
    let session = SessionFields {
        user: user.to_vec(),
        realm: fields.all("realm").next().unwrap_or_default().to_vec(),
        nonce: nonce.to_vec(),
        cnonce: cnonce.as_bytes().to_vec(),
        on_behalf_of: None,
        count: FIRST_USE.to_vec(),
        qop: qop.as_bytes().to_vec(),
        uri: format!("svn/{host}").into_bytes(),
    };
    let hash = session.hash(password, <[u8]>::to_vec);
    let mut parts = vec![
        [b"username=", &quoted(user)[..]].concat(),
        [b"realm=", &quoted(&session.realm)[..]].concat(),
        [b"nonce=", &quoted(nonce)[..]].concat(),
        format!("cnonce=\"{cnonce}\",nc=00000001,qop={qop}").into_bytes(),
    ];
    parts.extend(cipher.map(|cipher| format!("cipher={}", cipher.name()).into_bytes()));
    parts.push(format!("maxbuf={LONGEST_BLOCK}").into_bytes());
    parts.push([b"digest-uri=", &quoted(&session.uri)[..]].concat());
    let response = session.proof(&hash, "AUTHENTICATE:");
    parts.push(format!("response={response}").into_bytes());
    if fields.get("charset").is_some() {
        parts.push(b"charset=utf-8".to_vec());
    }
    let awaited = AwaitedProof {
        expected: session.proof(&hash, ":").into_bytes(),
        protection,
        hash,
        maxbuf,
    };
    Ok((parts.join(&b','), awaited))
}

/// Returns the strongest protection that a challenge offers.
fn strongest(fields: &Fields) -> Result<Option<Protection>, Failure> {
    let qops: Vec<&[u8]> = words(fields.get("qop").unwrap_or(b"auth")).collect();
    let offers = |qop: &[u8]| qops.iter().any(|offered| offered.eq_ignore_ascii_case(qop));
    let names = || words(fields.get("cipher").unwrap_or_default());
    let ciphers = CipherName::ALL.into_iter();
    let ciphers = ciphers.filter(|cipher| names().any(|name| name == cipher.name().as_bytes()));
    match ciphers.max_by_key(|cipher| cipher.strength()) {
        Some(cipher) if offers(b"auth-conf") => Ok(Some(Protection::Confidentiality(cipher))),
        _ if offers(b"auth-int") => Ok(Some(Protection::Integrity)),
        _ if offers(b"auth") => Ok(None),
        _ => Err(Failure::bad_protocol(
            "Invalid qop parameter received from server",
        )),
    }
}

impl AwaitedProof {
    /// Checks the server's proof; returns the layer.
    ///
    /// # Errors
    /// The server does not know the password.
    pub(super) fn check(&self, token: &[u8]) -> Result<Option<Box<Layer>>, Failure> {
        let fields = Fields::parse(token);
        let proof = fields.get("rspauth").unwrap_or_default();
        if !bool::from(proof.ct_eq(&self.expected)) {
            let detail = "DIGEST-MD5: This server wants us to believe that he knows shared secret";
            return Err(Failure::new(FailureKind::Generic, detail));
        }
        let layer = |protection| Box::new(Layer::new(protection, &self.hash, false, self.maxbuf));
        Ok(self.protection.map(layer))
    }
}

/// The fields that both peers hash.
struct SessionFields {
    user: Vec<u8>,
    realm: Vec<u8>,
    nonce: Vec<u8>,
    cnonce: Vec<u8>,
    on_behalf_of: Option<Vec<u8>>,
    count: Vec<u8>,
    qop: Vec<u8>,
    uri: Vec<u8>,
}

impl SessionFields {
    /// Returns the hash of the session, `H(A1)`, of names and password in a form.
    fn hash(&self, password: &[u8], form: fn(&[u8]) -> Vec<u8>) -> [u8; 16] {
        let secret = [form(&self.user), form(&self.realm), form(password)].join(&b':');
        let mut hash = Md5::new()
            .chain_update(Md5::digest(secret))
            .chain_update(b":")
            .chain_update(&self.nonce)
            .chain_update(b":")
            .chain_update(&self.cnonce);
        if let Some(name) = &self.on_behalf_of {
            hash.update(b":");
            hash.update(name);
        }
        hash.finalize().into()
    }

    /// Returns a peer's proof of the session's hash, in hexadecimal digits. `method` begins with `AUTHENTICATE` for the client's.
    fn proof(&self, hash: &[u8; 16], method: &str) -> String {
        let mut a2 = [method.as_bytes(), &self.uri].concat();
        if self.qop != b"auth" {
            a2.extend_from_slice(b":00000000000000000000000000000000");
        }
        let parts = [
            base::checksum::Md5(*hash).to_string().as_bytes(),
            &self.nonce,
            &self.count,
            &self.cnonce,
            &self.qop,
            base::checksum::Md5(Md5::digest(a2).into()).to_string().as_bytes(),
        ]
        .join(&b':');
        base::checksum::Md5(Md5::digest(parts).into()).to_string()
    }
}

/// Returns a text in Latin-1, or as it is if it is not UTF-8 or has other letters.
fn latin1(text: &[u8]) -> Vec<u8> {
    let decoded = std::str::from_utf8(text).ok();
    let letters = decoded.and_then(|text| text.chars().map(|letter| u8::try_from(letter).ok()).collect());
    letters.unwrap_or_else(|| text.to_vec())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2831, section 4, which is one of IMAP.
    #[test]
    fn the_digests_are_those_of_rfc_2831() {
        let session = SessionFields {
            user: b"chris".to_vec(),
            realm: b"elwood.innosoft.com".to_vec(),
            nonce: b"OA6MG9tEQGm2hh".to_vec(),
            cnonce: b"OA6MHXh6VqTrRk".to_vec(),
            on_behalf_of: None,
            count: b"00000001".to_vec(),
            qop: b"auth".to_vec(),
            uri: b"imap/elwood.innosoft.com".to_vec(),
        };
        let hash = session.hash(b"secret", <[u8]>::to_vec);
        assert_eq!(
            session.proof(&hash, "AUTHENTICATE:"),
            "d388dad90d4bbd760a152321f2143af7"
        );
        assert_eq!(session.proof(&hash, ":"), "ea40f60335c427b5527b84dbabcdfffd");
    }

    /// Each text is that of svnserve 1.14.2 with these bounds.
    #[test]
    fn challenges_are_those_of_the_incumbent() {
        for (min, max, offered) in [
            (
                0,
                256,
                r#"qop="auth,auth-int,auth-conf",cipher="rc4-40,rc4-56,rc4,des,3des""#,
            ),
            (112, 256, r#"qop="auth-conf",cipher="rc4,3des""#),
            (128, 256, r#"qop="auth-conf",cipher="rc4""#),
            (0, 0, r#"qop="auth""#),
            (0, 1, r#"qop="auth,auth-int""#),
            (
                0,
                56,
                r#"qop="auth,auth-int,auth-conf",cipher="rc4-40,rc4-56,des""#,
            ),
        ] {
            let text = String::from_utf8(challenge("N=", "a\"b", min, max)).expect("it is ASCII");
            let expected =
                format!(r#"nonce="N=",realm="a\"b",{offered},maxbuf=16384,charset=utf-8,algorithm=md5-sess"#);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn texts_are_in_latin_1_if_it_has_their_letters() {
        assert_eq!(latin1("ä".as_bytes()), b"\xe4");
        assert_eq!(latin1("€".as_bytes()), "€".as_bytes());
        assert_eq!(latin1(b"\xff"), b"\xff");
    }
}
