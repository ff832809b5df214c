//! Digest authentication: passwords that are never sent, only hashes of them with a number that we chose.
//!
//! The number (nonce) says when it was made and proves that we made it, so none need be kept until somebody has answered
//! one rightly. From then on each answer to it must carry a count of its own: a request that was listened to cannot be
//! sent again. Counts may come out of order, for clients use several connections, but not long after much higher ones.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use md5::Md5;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::same;

/// How long a nonce may be answered.
const LIFETIME: Duration = Duration::from_secs(300);
/// How far behind the highest count another may come.
const BEHIND: u64 = 4096;
/// Most nonces whose counts are watched.
const MOST: usize = 20_000;

/// What a client sends: the fields of `Authorization: Digest`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(super) user: String,
    realm: String,
    nonce: String,
    uri: String,
    count: String,
    cnonce: String,
    response: String,
    algorithm: Algorithm,
}

/// How things are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    fn hash(self, parts: &[&[u8]]) -> String {
        let joined = parts.join(&b':');
        match self {
            Algorithm::Md5 => hex(&Md5::digest(&joined)),
            Algorithm::Sha256 => hex(&Sha256::digest(&joined)),
        }
    }

    /// The hash of name, realm and password.
    fn ha1(self, user: &str, realm: &str, password: &[u8]) -> String {
        self.hash(&[user.as_bytes(), realm.as_bytes(), password])
    }
}

/// The hash that `htdigest` keeps.
pub(super) fn md5_ha1(user: &str, realm: &str, password: &[u8]) -> String {
    Algorithm::Md5.ha1(user, realm, password)
}

/// Takes `Authorization: Digest …` apart. `None` for other schemes, and for answers that lack something: without `qop` a
/// listener could use them again.
pub(crate) fn parse(header: &str) -> Option<Answer> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("digest") {
        return None;
    }
    let fields = fields(rest)?;
    let field = |name: &str| {
        let mut found = fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.clone());
        value.filter(|_| found.next().is_none())
    };
    if !field("qop")?.eq_ignore_ascii_case("auth") {
        return None;
    }
    let count = field("nc")?;
    if count.len() != 8 {
        return None;
    }
    Some(Answer {
        user: field("username")?,
        realm: field("realm")?,
        nonce: field("nonce")?,
        uri: field("uri")?,
        count,
        cnonce: field("cnonce")?,
        response: field("response")?.to_ascii_lowercase(),
        algorithm: match field("algorithm") {
            None => Algorithm::Md5,
            Some(name) if name.eq_ignore_ascii_case("md5") => Algorithm::Md5,
            Some(name) if name.eq_ignore_ascii_case("sha-256") => Algorithm::Sha256,
            Some(_) => return None,
        },
    })
}

/// `name=value` and `name="value"`, separated by commas.
fn fields(text: &str) -> Option<Vec<(String, String)>> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        found.push((name.trim().to_owned(), value));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(found)
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

/// What is asked of a request.
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    /// Path and query, as they were sent.
    pub(super) target: &'a str,
    pub(super) realm: &'a str,
}

/// What an answer is worth.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The password is right; the client may check that we know it too by this line.
    Right(String),
    Wrong,
    /// The password is right, but the number is too old, or was used already.
    Stale,
}

impl Answer {
    /// Hash of name, realm and a password that is known.
    pub(super) fn ha1_of(&self, password: &[u8]) -> String {
        self.algorithm.ha1(&self.user, &self.realm, password)
    }

    /// Hashes that files hold are of this kind.
    pub(super) fn is_md5(&self) -> bool {
        self.algorithm == Algorithm::Md5
    }

    /// The client answers what we asked, as far as it shows without its password.
    pub(super) fn fits(&self, asked: &Asked<'_>) -> bool {
        // Some send the whole URL.
        let path = self
            .uri
            .split_once("://")
            .and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
        self.realm == asked.realm && (self.uri == asked.target || path == Some(asked.target))
    }

    /// Judges the answer with the hash that the right password makes.
    pub(super) fn judge(&self, nonces: &Nonces, asked: &Asked<'_>, ha1: &str) -> Verdict {
        let made = |method: &str| {
            let ha2 = self.algorithm.hash(&[method.as_bytes(), self.uri.as_bytes()]);
            let parts = [ha1, &self.nonce, &self.count, &self.cnonce, "auth", &ha2];
            self.algorithm.hash(&parts.map(str::as_bytes))
        };
        if !same(made(asked.method).as_bytes(), self.response.as_bytes()) {
            return Verdict::Wrong;
        }
        let Ok(count) = u64::from_str_radix(&self.count, 16) else {
            return Verdict::Wrong;
        };
        if !nonces.is_fresh(&self.nonce, &self.realm) || !nonces.count(&self.nonce, count) {
            return Verdict::Stale;
        }
        let rspauth = made("");
        let cnonce = self.cnonce.replace(['"', '\\'], "");
        Verdict::Right(format!(
            "rspauth=\"{rspauth}\", cnonce=\"{cnonce}\", nc={}, qop=auth",
            self.count
        ))
    }
}

/// The numbers that we gave out.
pub(super) struct Nonces {
    secret: [u8; 32],
    counted: Mutex<HashMap<String, Counted>>,
}

/// Which counts of a nonce were used.
struct Counted {
    since: Instant,
    highest: u64,
    /// A bit for each of the last [`BEHIND`] counts, by their remainder.
    used: Box<[u64; (BEHIND / 64) as usize]>,
}

impl Default for Nonces {
    fn default() -> Self {
        Nonces {
            secret: super::random(),
            counted: Mutex::default(),
        }
    }
}

impl Nonces {
    /// A new number for `realm`.
    pub(super) fn make(&self, realm: &str) -> String {
        self.made_at(now(), &hex(&super::random::<8>()), realm)
    }

    fn made_at(&self, time: u64, salt: &str, realm: &str) -> String {
        let proof = Sha256::new()
            .chain_update(self.secret)
            .chain_update(format!("{time:016x}{salt}{realm}"))
            .chain_update(self.secret)
            .finalize();
        format!("{time:016x}{salt}{}", hex(&proof[..16]))
    }

    fn is_fresh(&self, nonce: &str, realm: &str) -> bool {
        let (Some(time), Some(salt)) = (nonce.get(..16), nonce.get(16..32)) else {
            return false;
        };
        let Ok(made) = u64::from_str_radix(time, 16) else {
            return false;
        };
        let age = now().checked_sub(made);
        same(self.made_at(made, salt, realm).as_bytes(), nonce.as_bytes())
            && age.is_some_and(|age| age <= LIFETIME.as_secs())
    }

    /// Uses up a count; false if it was used before, or may have been.
    fn count(&self, nonce: &str, count: u64) -> bool {
        let mut counted = self.counted.lock();
        if counted.len() >= MOST && !counted.contains_key(nonce) {
            counted.retain(|_, counted| counted.since.elapsed() <= LIFETIME);
            if counted.len() >= MOST {
                return false;
            }
        }
        let counted = counted.entry(nonce.to_owned()).or_insert_with(|| Counted {
            since: Instant::now(),
            highest: 0,
            used: Box::new([0; (BEHIND / 64) as usize]),
        });
        counted.take(count)
    }
}

impl Counted {
    fn take(&mut self, count: u64) -> bool {
        let place = |count: u64| ((count % BEHIND / 64) as usize, 1 << (count % 64));
        if count + BEHIND <= self.highest {
            return false;
        }
        if count > self.highest {
            if count - self.highest >= BEHIND {
                self.used.fill(0);
            } else {
                for passed in self.highest + 1..=count {
                    let (word, bit) = place(passed);
                    self.used[word] &= !bit;
                }
            }
            self.highest = count;
        }
        let (word, bit) = place(count);
        let free = self.used[word] & bit == 0;
        self.used[word] |= bit;
        free
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", \
        algorithm=MD5, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, \
        cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, \
        response=\"8ca523f5e9506fed4657c9700eebdbec\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

    #[test]
    fn the_example_of_the_rfc_has_the_right_hash() {
        let answer = parse(RECORDED).expect("it is complete");
        let asked = Asked {
            method: "GET",
            target: "/dir/index.html",
            realm: "http-auth@example.org",
        };
        assert!(answer.fits(&asked));
        let ha1 = answer.ha1_of(b"Circle of Life");
        // Right, but we did not make that nonce.
        assert_eq!(answer.judge(&Nonces::default(), &asked, &ha1), Verdict::Stale);
        let wrong = answer.ha1_of(b"circle of life");
        assert_eq!(answer.judge(&Nonces::default(), &asked, &wrong), Verdict::Wrong);
        let sha = RECORDED.replace("=MD5", "=SHA-256").replace(
            "8ca523f5e9506fed4657c9700eebdbec",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        );
        let answer = parse(&sha).expect("it is complete");
        let ha1 = answer.ha1_of(b"Circle of Life");
        assert_eq!(answer.judge(&Nonces::default(), &asked, &ha1), Verdict::Stale);
    }

    #[test]
    fn answers_that_lack_something_are_none() {
        for lacking in [
            "username", "realm", "uri", "nonce", "nc", "cnonce", "qop", "response",
        ] {
            assert_eq!(
                parse(&RECORDED.replace(&format!("{lacking}="), "x=")),
                None,
                "{lacking}"
            );
        }
        for bad in [
            "Digest",
            "Digest ",
            "Digest a",
            "Digest a=\"b",
            "Digest a=\"b\" c=d",
            "Digest a=\"\\",
            "Basic a=b",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let twice = format!("{RECORDED}, username=\"Scar\"");
        assert_eq!(parse(&twice), None);
        assert_eq!(parse(&RECORDED.replace("=MD5", "=MD5-sess")), None);
    }

    #[test]
    fn a_nonce_is_ours_of_its_realm_and_young() {
        let nonces = Nonces::default();
        let nonce = nonces.make("r");
        assert!(nonces.is_fresh(&nonce, "r"));
        assert!(!nonces.is_fresh(&nonce, "s"));
        assert!(!Nonces::default().is_fresh(&nonce, "r"));
        let old = nonces.made_at(now() - 301, "0123456789abcdef", "r");
        assert!(!nonces.is_fresh(&old, "r"));
        let ahead = nonces.made_at(now() + 100, "0123456789abcdef", "r");
        assert!(!nonces.is_fresh(&ahead, "r"));
        for bad in ["", "x", "ä".repeat(20).as_str(), &"0".repeat(64), &nonce[1..]] {
            assert!(!nonces.is_fresh(bad, "r"), "{bad}");
        }
    }

    #[test]
    fn each_count_is_good_once_in_whatever_order() {
        let nonces = Nonces::default();
        for good in [1, 3, 2, 500, 4, 499, 4500, 405, 100_000, 99_999] {
            assert!(nonces.count("n", good), "{good}");
            assert!(!nonces.count("n", good), "{good}");
        }
        for gone in [1, 5, 404, 4500, 100_000 - BEHIND] {
            assert!(!nonces.count("n", gone), "{gone}");
        }
        assert!(nonces.count("m", 1));
    }
}
