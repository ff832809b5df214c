//! Digest authentication: passwords that are never sent, only hashes of them with a number that we chose.
//!
//! The number (nonce) says when it was made and proves that we made it, so none need be kept until somebody has answered
//! one rightly. From then on each answer to it must carry a count of its own: a request that was listened to cannot be
//! sent again. Counts may come out of order, for clients use several connections, but not long after much higher ones.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use md5::Md5;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::same;

/// How long a nonce may be answered, microseconds.
const LIFETIME: u64 = 300 * 1_000_000;
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
        let owner = (self.user.clone(), self.realm.clone());
        let counts = |made| nonces.count(owner, &self.nonce, made, count);
        if !nonces.fresh_since(&self.nonce, &self.realm).is_some_and(counts) {
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
    /// Proves that a number is ours.
    secret: [u8; 32],
    counted: Mutex<Table>,
}

/// The nonces that were answered rightly, of all users.
#[derive(Default)]
struct Table {
    nonces: HashMap<String, Counted>,
    users: HashMap<Owner, Share>,
}

/// A user in a realm.
type Owner = (String, String);

/// What one user has of the table.
#[derive(Default)]
struct Share {
    nonces: usize,
    /// Nonces made before that, in microseconds since 1970, are too old: their counts were given up.
    since: u64,
}

/// Which counts of a nonce were used.
struct Counted {
    owner: Owner,
    /// When it was made, in microseconds since 1970.
    made: u64,
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

    /// When a nonce was made, in microseconds since 1970, if it is one of ours and not too old.
    fn fresh_since(&self, nonce: &str, realm: &str) -> Option<u64> {
        let (time, salt) = (nonce.get(..16)?, nonce.get(16..32)?);
        let made = u64::from_str_radix(time, 16).ok()?;
        let age = now().checked_sub(made)?;
        let is_ours = same(self.made_at(made, salt, realm).as_bytes(), nonce.as_bytes());
        (is_ours && age <= LIFETIME).then_some(made)
    }

    /// Uses up a count of a nonce that was made at `made`, for a user who has proved the password; false if it was used
    /// before, or may have been.
    fn count(&self, owner: Owner, nonce: &str, made: u64, count: u64) -> bool {
        let mut table = self.counted.lock();
        if let Some(counted) = table.nonces.get_mut(nonce) {
            return counted.owner == owner && counted.take(count);
        }
        if table.nonces.len() >= MOST {
            table.make_space(now());
        }
        let share = table.users.entry(owner.clone()).or_default();
        if made < share.since {
            return false;
        }
        share.nonces += 1;
        let mut counted = Counted {
            owner,
            made,
            highest: 0,
            used: Box::new([0; (BEHIND / 64) as usize]),
        };
        let is_new = counted.take(count);
        table.nonces.insert(nonce.to_owned(), counted);
        is_new
    }
}

impl Table {
    /// Gives up nonces that are too old and, if that is not enough, the older half of those of the user who has most: a user
    /// who asks for many takes no place from others.
    fn make_space(&mut self, now: u64) {
        self.nonces
            .retain(|_, counted| now.saturating_sub(counted.made) <= LIFETIME);
        if self.nonces.len() >= MOST
            && let Some((owner, _)) = self.users.iter().max_by_key(|(_, share)| share.nonces)
        {
            let owner = owner.clone();
            let times = self.nonces.values().filter(|counted| counted.owner == owner);
            let mut times: Vec<u64> = times.map(|counted| counted.made).collect();
            times.sort_unstable();
            // What is given up must stay unusable, so it ends with a whole microsecond.
            let since = times.get(times.len() / 2).map_or(now, |median| median + 1);
            self.nonces
                .retain(|_, counted| counted.owner != owner || counted.made >= since);
            self.users.entry(owner).or_default().since = since;
        }
        for share in self.users.values_mut() {
            share.nonces = 0;
        }
        for counted in self.nonces.values() {
            if let Some(share) = self.users.get_mut(&counted.owner) {
                share.nonces += 1;
            }
        }
        self.users
            .retain(|_, share| share.nonces > 0 || now.saturating_sub(share.since) <= LIFETIME);
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

/// Microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
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
        let is_fresh = |nonce: &str, realm: &str| nonces.fresh_since(nonce, realm).is_some();
        let nonce = nonces.make("r");
        assert!(is_fresh(&nonce, "r"));
        assert!(!is_fresh(&nonce, "s"));
        assert!(Nonces::default().fresh_since(&nonce, "r").is_none());
        let old = nonces.made_at(now() - LIFETIME - 1_000_000, "0123456789abcdef", "r");
        assert!(!is_fresh(&old, "r"));
        let ahead = nonces.made_at(now() + 100_000_000, "0123456789abcdef", "r");
        assert!(!is_fresh(&ahead, "r"));
        for bad in ["", "x", "ä".repeat(20).as_str(), &"0".repeat(64), &nonce[1..]] {
            assert!(!is_fresh(bad, "r"), "{bad}");
        }
    }

    fn owner(user: &str) -> Owner {
        (user.to_owned(), "r".to_owned())
    }

    #[test]
    fn each_count_is_good_once_in_whatever_order() {
        let nonces = Nonces::default();
        let count = |nonce: &str, count: u64| nonces.count(owner("u"), nonce, now(), count);
        for good in [1, 3, 2, 500, 4, 499, 4500, 405, 100_000, 99_999] {
            assert!(count("n", good), "{good}");
            assert!(!count("n", good), "{good}");
        }
        for gone in [1, 5, 404, 4500, 100_000 - BEHIND] {
            assert!(!count("n", gone), "{gone}");
        }
        assert!(count("m", 1));
        assert!(!nonces.count(owner("other"), "m", now(), 2));
    }

    #[test]
    fn one_user_cannot_fill_the_table_for_others() {
        let nonces = Nonces::default();
        let begun = now();
        assert!(nonces.count(owner("alice"), "a", begun, 1));
        for at in 0..2 * MOST as u64 {
            assert!(
                nonces.count(owner("eve"), &format!("e{at}"), begun + at, 1),
                "{at}"
            );
        }
        assert!(nonces.counted.lock().nonces.len() <= MOST);
        // Others come in, and what they have used stays used.
        assert!(nonces.count(owner("bob"), "b", begun, 1));
        assert!(!nonces.count(owner("alice"), "a", begun, 1));
        assert!(nonces.count(owner("alice"), "a", begun, 2));
        // So does what was given up.
        for at in [0, 1, 1000, MOST as u64 / 2, 2 * MOST as u64 - 1] {
            assert!(
                !nonces.count(owner("eve"), &format!("e{at}"), begun + at, 1),
                "{at}"
            );
        }
    }
}
