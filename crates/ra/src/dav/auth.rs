//! Authentication: challenges of a server or a proxy, and the headers that answer them (Basic and Digest).
//!
//! The credentials are asked once; the answer is sent with every later request to the same host, without a challenge.
//! They are never sent to another host, because each session has a host of its own.

use base::checksum::Md5;
use base::{Code, Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};

use crate::options::{AuthMechanism, Credentials, Password, PasswordRequest};

/// The number of the error of a server that offers no mechanism that is known and allowed.
const UNSUPPORTED: Code = Code(120_191);
/// The most passwords that are tried for one request.
const MOST_ATTEMPTS: u32 = 4;
/// The most new nonces in succession that a server may demand for the same password.
const MOST_STALE: u32 = 4;
/// The longest header with challenges that is read, in bytes.
const MOST_CHALLENGE: usize = 16 << 10;

/// What is known of the authentication with one peer.
#[derive(Default)]
pub(super) struct Auth {
    answer: Option<Answer>,
    /// The realm and the password that the peer has not accepted yet.
    pending: Option<(String, Password)>,
    attempts: u32,
    stale: u32,
    /// Changes with each answer: a request that was sent with an earlier one is sent once more.
    pub(super) generation: u64,
}

enum Answer {
    Basic(String),
    Digest(Box<DigestState>),
}

struct DigestState {
    password: Password,
    challenge: Challenge,
    cnonce: String,
    count: u32,
}

/// How credentials are found: from the caller for a server, from the options for a proxy.
pub(super) enum PasswordSource<'a> {
    /// The caller's credentials, for the host `<scheme://host:port>`.
    Caller {
        credentials: &'a dyn Credentials,
        host: &'a str,
        user: Option<&'a str>,
        is_redirected: bool,
    },
    /// One user name and password, for a proxy.
    Fixed(Option<Password>),
}

impl Auth {
    /// Returns the value of the header that authenticates a request, if the peer has demanded that before.
    pub(super) fn header(&mut self, method: &str, target: &str) -> Option<String> {
        match self.answer.as_mut()? {
            Answer::Basic(header) => Some(header.clone()),
            Answer::Digest(state) => Some(state.header(method, target)),
        }
    }

    /// Answers the challenges of a refused request.
    ///
    /// # Errors
    /// `AUTHN_FAILED` without credentials, or after too many; those of the caller's credentials.
    pub(super) fn challenged(
        &mut self,
        headers: &HeaderMap,
        name: &HeaderName,
        allowed: &[AuthMechanism],
        source: &PasswordSource<'_>,
    ) -> Result<()> {
        let mut challenges = Vec::new();
        for value in headers.get_all(name) {
            if value.len() <= MOST_CHALLENGE {
                challenges.extend(Challenge::parse_all(&String::from_utf8_lossy(value.as_bytes())));
            }
        }
        let chosen = allowed.iter().find_map(|mechanism| {
            let mut fitting = challenges
                .iter()
                .filter(|one| one.mechanism() == Some(*mechanism));
            // SHA-256 before MD5.
            fitting
                .clone()
                .find(|one| one.is_sha256())
                .or_else(|| fitting.next())
        });
        let Some(challenge) = chosen.cloned() else {
            let message = "Error running context: The requested authentication type(s) are not supported";
            return Err(Error::new(UNSUPPORTED, message));
        };
        self.generation += 1;
        if let Some(Answer::Digest(state)) = &mut self.answer
            && challenge.is_stale()
            && self.stale < MOST_STALE
        {
            self.stale += 1;
            (state.challenge, state.count) = (challenge, 0);
            return Ok(());
        }
        let Some((realm, password)) = self.next_password(challenge.realm(), source)? else {
            self.answer = None;
            let message = match source {
                PasswordSource::Caller { .. } => {
                    "No more credentials or we tried too many times.\nAuthentication failed"
                }
                PasswordSource::Fixed(_) => "Proxy authentication failed",
            };
            return Err(Error::new(Code::AUTHN_FAILED, message));
        };
        self.pending = Some((realm, password.clone()));
        self.attempts += 1;
        self.answer = Some(match challenge.mechanism() {
            Some(AuthMechanism::Digest) => Answer::Digest(Box::new(DigestState {
                password,
                challenge,
                cnonce: uuid::Uuid::new_v4().simple().to_string(),
                count: 0,
            })),
            _ => {
                let pair = format!("{}:{}", password.user, password.password);
                Answer::Basic(format!("Basic {}", STANDARD.encode(pair)))
            }
        });
        Ok(())
    }

    fn next_password(&self, realm: &str, source: &PasswordSource<'_>) -> Result<Option<(String, Password)>> {
        let attempt = match &self.pending {
            Some(_) => self.attempts,
            None => 0,
        };
        if attempt >= MOST_ATTEMPTS {
            return Ok(None);
        }
        match source {
            PasswordSource::Fixed(password) => {
                let first = password.clone().filter(|_| attempt == 0);
                Ok(first.map(|password| (realm.to_owned(), password)))
            }
            PasswordSource::Caller {
                credentials,
                host,
                user,
                is_redirected,
            } => {
                let realm = format!("{host} {realm}");
                let request = PasswordRequest {
                    realm: &realm,
                    user: *user,
                    attempt,
                    redirected: *is_redirected,
                    failure: (attempt > 0).then_some("Authentication failed"),
                };
                Ok(credentials
                    .password(&request)?
                    .map(|password| (realm.clone(), password)))
            }
        }
    }

    /// The peer has accepted a request. Returns the password that it has accepted for the first time, with its realm.
    pub(super) fn accepted(&mut self) -> Option<(String, Password)> {
        (self.attempts, self.stale) = (0, 0);
        self.pending.take()
    }
}

impl DigestState {
    fn header(&mut self, method: &str, target: &str) -> String {
        self.count += 1;
        let challenge = &self.challenge;
        let hash = |text: String| match challenge.is_sha256() {
            true => hex(&Sha256::digest(text.as_bytes())),
            false => Md5::of(text.as_bytes()).to_string(),
        };
        let (user, nonce, count) = (&self.password.user, challenge.param("nonce"), self.count);
        let secret = hash(format!("{user}:{}:{}", challenge.realm(), self.password.password));
        let request = hash(format!("{method}:{target}"));
        let cnonce = &self.cnonce;
        let mut header = format!(
            "Digest realm=\"{}\", username=\"{}\", nonce=\"{}\", uri=\"{target}\"",
            quoted(challenge.realm()),
            quoted(user),
            quoted(nonce)
        );
        if challenge.has_qop() {
            let response = hash(format!("{secret}:{nonce}:{count:08x}:{cnonce}:auth:{request}"));
            header += &format!(", response=\"{response}\", qop=auth, nc={count:08x}, cnonce=\"{cnonce}\"");
        } else {
            header += &format!(", response=\"{}\"", hash(format!("{secret}:{nonce}:{request}")));
        }
        if let Some(opaque) = challenge.find("opaque") {
            header += &format!(", opaque=\"{}\"", quoted(opaque));
        }
        if let Some(algorithm) = challenge.find("algorithm") {
            header += &format!(", algorithm={algorithm}");
        }
        header
    }
}

/// A challenge of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    params: Vec<(String, String)>,
}

impl Challenge {
    /// Reads the challenges of one header: a scheme, then parameters with commas between them, and so on.
    fn parse_all(header: &str) -> Vec<Challenge> {
        let mut all: Vec<Challenge> = Vec::new();
        for part in split_commas(header) {
            let part = part.trim();
            let (head, value) = match part.split_once('=') {
                Some((head, value)) => (head.trim(), Some(value.trim())),
                None => (part, None),
            };
            // `Scheme name=value`, `Scheme`, or `name=value`.
            let name = match (head.split_once(' '), value) {
                (Some((scheme, name)), _) => {
                    all.push(Challenge::new(scheme));
                    name.trim()
                }
                (None, None) if !head.is_empty() => {
                    all.push(Challenge::new(head));
                    continue;
                }
                _ => head,
            };
            if let (Some(last), Some(value)) = (all.last_mut(), value) {
                last.params.push((name.to_ascii_lowercase(), unquoted(value)));
            }
        }
        all
    }

    fn new(scheme: &str) -> Challenge {
        Challenge {
            scheme: scheme.to_ascii_lowercase(),
            params: Vec::new(),
        }
    }

    fn find(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn param(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    fn realm(&self) -> &str {
        self.param("realm")
    }

    fn is_stale(&self) -> bool {
        self.param("stale").eq_ignore_ascii_case("true")
    }

    fn is_sha256(&self) -> bool {
        self.param("algorithm").eq_ignore_ascii_case("sha-256")
    }

    fn has_qop(&self) -> bool {
        let mut offered = self.param("qop").split(',');
        offered.any(|qop| qop.trim().eq_ignore_ascii_case("auth"))
    }

    /// The mechanism, if all of the challenge is understood.
    fn mechanism(&self) -> Option<AuthMechanism> {
        match self.scheme.as_str() {
            "basic" => Some(AuthMechanism::Basic),
            "digest" => {
                let algorithm = self.find("algorithm").unwrap_or("MD5");
                let is_known = ["MD5", "SHA-256"]
                    .iter()
                    .any(|known| algorithm.eq_ignore_ascii_case(known));
                let has_way = self.find("qop").is_none() || self.has_qop();
                (is_known && has_way && self.find("nonce").is_some()).then_some(AuthMechanism::Digest)
            }
            _ => None,
        }
    }
}

/// Splits at commas outside of quotes.
fn split_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let (mut out, mut chars) = (String::new(), inner.chars());
    while let Some(next) = chars.next() {
        match next {
            '\\' => out.extend(chars.next()),
            other => out.push(other),
        }
    }
    out
}

fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_separated() {
        let header = r#"Negotiate, Digest realm="a, \"b\"", nonce="n=", qop="auth,auth-int", algorithm=MD5, Basic realm=x"#;
        let all = Challenge::parse_all(header);
        let names: Vec<_> = all.iter().map(|one| one.scheme.as_str()).collect();
        assert_eq!(names, ["negotiate", "digest", "basic"]);
        assert_eq!(all[1].realm(), "a, \"b\"");
        assert_eq!((all[1].param("nonce"), all[1].has_qop()), ("n=", true));
        assert_eq!(all[2].realm(), "x");
        assert_eq!(all[1].mechanism(), Some(AuthMechanism::Digest));
        assert_eq!(all[0].mechanism(), None);
    }

    /// The examples of RFC 7616, section 3.9.1.
    #[test]
    fn digests_are_those_of_the_standard() {
        for (algorithm, expected) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let header = format!(
                "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
                 nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            );
            let mut state = DigestState {
                password: Password {
                    user: "Mufasa".to_owned(),
                    password: "Circle of Life".to_owned(),
                },
                challenge: Challenge::parse_all(&header).remove(0),
                cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ".to_owned(),
                count: 0,
            };
            let header = state.header("GET", "/dir/index.html");
            assert!(header.contains(&format!("response=\"{expected}\"")), "{header}");
            assert!(state.header("GET", "/").contains("nc=00000002"));
        }
    }
}
