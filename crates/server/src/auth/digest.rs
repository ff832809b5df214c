//! Digest authentication: the client sends a hash of its password and a nonce that the server chose.
//!
//! A nonce holds the time when it was made and a proof that this server made it, so none is stored before a client has used one
//! rightly. From then on each request with that nonce must have a count of its own: a recorded request cannot be sent again.
//! Counts may arrive out of order, since clients use several connections, but not far behind the highest one.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use md5::Md5;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::same;
use crate::percent_encoding::percent_decode;

/// How long a nonce may be used, microseconds.
const LIFETIME: u64 = 300 * 1_000_000;
/// How far behind the highest count another may arrive.
const WINDOW: u64 = 4096;
/// The highest number of digits of a count, so that sums of counts do not overflow.
const MAX_COUNT_DIGITS: usize = 15;
/// The highest number of stored nonces.
const MAX_NONCES: usize = 20_000;

/// The fields of `Authorization: Digest`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DigestResponse {
    pub(super) user: String,
    realm: String,
    nonce: String,
    uri: String,
    count: String,
    cnonce: String,
    response: String,
    algorithm: Algorithm,
}

/// A hash function of RFC 7616.
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

    /// Returns the hash of name, realm and password.
    fn ha1(self, user: &str, realm: &str, password: &[u8]) -> String {
        self.hash(&[user.as_bytes(), realm.as_bytes(), password])
    }
}

/// Returns the hash that `htdigest` stores.
pub(super) fn md5_ha1(user: &str, realm: &str, password: &[u8]) -> String {
    Algorithm::Md5.ha1(user, realm, password)
}

/// Parses `Authorization: Digest …`. Returns `None` for other schemes and for incomplete fields: without `qop` a recorded request
/// could be sent again.
pub(crate) fn parse(header: &str) -> Option<DigestResponse> {
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
    // The RFC requires eight digits; some clients send fewer.
    let count = field("nc")?;
    let is_number = count.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_number || !(1..=MAX_COUNT_DIGITS).contains(&count.len()) {
        return None;
    }
    Some(DigestResponse {
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

/// Returns path and query of a URL without host, both decoded. Clients send no fragment.
fn decoded_parts(url: &str) -> (Vec<u8>, Option<Vec<u8>>) {
    let url = url.split('#').next().unwrap_or_default();
    match url.split_once('?') {
        Some((path, query)) => (percent_decode(path), Some(percent_decode(query))),
        None => (percent_decode(url), None),
    }
}

/// Parses `name=value` and `name="value"`, separated by commas.
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

/// The parts of a request that its digest must fit.
pub(super) struct DigestTarget<'a> {
    pub(super) method: &'a str,
    /// Path and query, as they were sent.
    pub(super) path_and_query: &'a str,
    pub(super) realm: &'a str,
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DigestVerdict {
    /// The password is right. The text is for `Authentication-Info`: it proves to the client that the server knows the password.
    Right(String),
    Wrong,
    /// The password is right, but the nonce is too old, or the count was used already.
    Stale,
}

impl DigestResponse {
    /// Returns the hash of name, realm and `password`.
    pub(super) fn ha1_of(&self, password: &[u8]) -> String {
        self.algorithm.ha1(&self.user, &self.realm, password)
    }

    /// Returns whether the response was made with MD5, as the hashes in files of `htdigest` are.
    pub(super) fn is_md5(&self) -> bool {
        self.algorithm == Algorithm::Md5
    }

    /// Returns whether the response is for this realm.
    pub(super) fn fits_realm(&self, target: &DigestTarget<'_>) -> bool {
        self.realm == target.realm
    }

    /// Returns whether the response is for the request's resource. A proxy may have encoded the path in another way than the client.
    pub(super) fn fits_resource(&self, target: &DigestTarget<'_>) -> bool {
        // Some clients send the whole URL.
        let whole = self.uri.split_once("://");
        let path = whole.and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
        let wanted = decoded_parts(target.path_and_query);
        decoded_parts(&self.uri) == wanted || path.map(decoded_parts) == Some(wanted)
    }

    /// Checks the response with the hash of the right password, and uses up its count.
    pub(super) fn judge(&self, nonces: &NonceTable, target: &DigestTarget<'_>, ha1: &str) -> DigestVerdict {
        let made = |method: &str| {
            let ha2 = self.algorithm.hash(&[method.as_bytes(), self.uri.as_bytes()]);
            let parts = [ha1, &self.nonce, &self.count, &self.cnonce, "auth", &ha2];
            self.algorithm.hash(&parts.map(str::as_bytes))
        };
        if !same(made(target.method).as_bytes(), self.response.as_bytes()) {
            return DigestVerdict::Wrong;
        }
        let Ok(count) = u64::from_str_radix(&self.count, 16) else {
            return DigestVerdict::Wrong;
        };
        let owner = (self.user.clone(), self.realm.clone());
        let counts = |made| nonces.count(owner, &self.nonce, made, count);
        if !nonces.fresh_since(&self.nonce, &self.realm).is_some_and(counts) {
            return DigestVerdict::Stale;
        }
        let rspauth = made("");
        let cnonce = self.cnonce.replace(['"', '\\'], "");
        DigestVerdict::Right(format!(
            "rspauth=\"{rspauth}\", cnonce=\"{cnonce}\", nc={}, qop=auth",
            self.count
        ))
    }
}

/// The nonces of this server.
pub(super) struct NonceTable {
    /// The key of the proofs in nonces.
    secret: [u8; 32],
    counts: Mutex<NonceCounts>,
}

/// The nonces that were used rightly, of all users.
#[derive(Default)]
struct NonceCounts {
    nonces: HashMap<String, CountedNonce>,
    users: HashMap<Owner, UserNonces>,
}

/// A user in a realm.
type Owner = (String, String);

/// One user's part of the table.
#[derive(Default)]
struct UserNonces {
    nonces: usize,
    /// Nonces made before this time, in microseconds since 1970, are refused: their counts were dropped.
    since: u64,
}

/// The used counts of a nonce.
struct CountedNonce {
    owner: Owner,
    /// The time when it was made, in microseconds since 1970.
    made: u64,
    highest: u64,
    /// A bit for each of the last [`WINDOW`] counts, by their remainder.
    used: Box<[u64; (WINDOW / 64) as usize]>,
}

impl Default for NonceTable {
    fn default() -> Self {
        NonceTable {
            secret: super::random(),
            counts: Mutex::default(),
        }
    }
}

impl NonceTable {
    /// Returns a new nonce for `realm`.
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

    /// Returns the time when a nonce was made, in microseconds since 1970, if this server made it and it is not too old.
    fn fresh_since(&self, nonce: &str, realm: &str) -> Option<u64> {
        let (time, salt) = (nonce.get(..16)?, nonce.get(16..32)?);
        let made = u64::from_str_radix(time, 16).ok()?;
        let age = now().checked_sub(made)?;
        let is_ours = same(self.made_at(made, salt, realm).as_bytes(), nonce.as_bytes());
        (is_ours && age <= LIFETIME).then_some(made)
    }

    /// Uses up a count of a nonce that was made at `made`, for a user who has proved the password. Returns false if the count was used
    /// before, or may have been.
    fn count(&self, owner: Owner, nonce: &str, made: u64, count: u64) -> bool {
        let mut table = self.counts.lock();
        if let Some(counted) = table.nonces.get_mut(nonce) {
            return counted.owner == owner && counted.take(count);
        }
        if table.nonces.len() >= MAX_NONCES {
            table.make_space(now());
        }
        let share = table.users.entry(owner.clone()).or_default();
        if made < share.since {
            return false;
        }
        share.nonces += 1;
        let mut counted = CountedNonce {
            owner,
            made,
            highest: 0,
            used: Box::new([0; (WINDOW / 64) as usize]),
        };
        let is_new = counted.take(count);
        table.nonces.insert(nonce.to_owned(), counted);
        is_new
    }
}

impl NonceCounts {
    /// Drops nonces that are too old and, if that is not enough, the older half of those of the user with most of them: a user with
    /// many nonces takes no space from others.
    fn make_space(&mut self, now: u64) {
        self.nonces
            .retain(|_, counted| now.saturating_sub(counted.made) <= LIFETIME);
        if self.nonces.len() >= MAX_NONCES
            && let Some((owner, _)) = self.users.iter().max_by_key(|(_, share)| share.nonces)
        {
            let owner = owner.clone();
            let times = self.nonces.values().filter(|counted| counted.owner == owner);
            let mut times: Vec<u64> = times.map(|counted| counted.made).collect();
            times.sort_unstable();
            // Dropped nonces must stay unusable, so the limit is the next whole microsecond.
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

impl CountedNonce {
    fn take(&mut self, count: u64) -> bool {
        let place = |count: u64| ((count % WINDOW / 64) as usize, 1 << (count % 64));
        if count + WINDOW <= self.highest {
            return false;
        }
        if count > self.highest {
            if count - self.highest >= WINDOW {
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

/// Returns the time in microseconds since 1970.
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
        let response = parse(RECORDED).expect("it is complete");
        let target = DigestTarget {
            method: "GET",
            path_and_query: "/dir/index.html",
            realm: "http-auth@example.org",
        };
        assert!(response.fits_realm(&target) && response.fits_resource(&target));
        let ha1 = response.ha1_of(b"Circle of Life");
        // The password is right, but the nonce is not ours.
        assert_eq!(
            response.judge(&NonceTable::default(), &target, &ha1),
            DigestVerdict::Stale
        );
        let wrong = response.ha1_of(b"circle of life");
        assert_eq!(
            response.judge(&NonceTable::default(), &target, &wrong),
            DigestVerdict::Wrong
        );
        let sha = RECORDED.replace("=MD5", "=SHA-256").replace(
            "8ca523f5e9506fed4657c9700eebdbec",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        );
        let response = parse(&sha).expect("it is complete");
        let ha1 = response.ha1_of(b"Circle of Life");
        assert_eq!(
            response.judge(&NonceTable::default(), &target, &ha1),
            DigestVerdict::Stale
        );
    }

    #[test]
    fn incomplete_responses_are_not_parsed() {
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

    /// Each as Apache decides, but for the whole URL, which it accepts with its own name alone.
    #[test]
    fn the_resource_may_be_encoded_in_another_way() {
        for (sent, path_and_query, fits) in [
            ("/a", "/a", true),
            ("/%61", "/a", true),
            ("/a", "/%61", true),
            ("/~a%20b", "/%7Ea b", true),
            ("/a?p=%31", "/a?p=1", true),
            ("/a#x", "/a", true),
            ("http://host/a", "/%61", true),
            ("/b", "/a", false),
            ("/a?p=1", "/a", false),
            ("/a?", "/a", false),
            ("/a%3Fp=1", "/a?p=1", false),
            ("/a/", "/a", false),
            ("/A", "/a", false),
            ("*", "/a", false),
            ("", "/a", false),
        ] {
            let response = parse(&RECORDED.replace("/dir/index.html", sent)).expect("it is complete");
            let target = DigestTarget {
                method: "GET",
                path_and_query,
                realm: "",
            };
            assert_eq!(response.fits_resource(&target), fits, "{sent} {path_and_query}");
        }
    }

    #[test]
    fn counts_may_have_fewer_digits() {
        let with = |count: &str| parse(&RECORDED.replace("nc=00000001", &format!("nc={count}")));
        for count in [
            "1",
            "0001",
            "000000001",
            "fFfFfFfF",
            "100000000",
            "fffffffffffffff",
        ] {
            assert!(with(count).is_some(), "{count}");
        }
        // Requests could be sent again with counts that are no numbers.
        for count in ["", "g", "0x1", "-1", "+1", "1x", "1000000000000000"] {
            assert!(with(count).is_none(), "{count}");
        }
    }

    #[test]
    fn a_nonce_counts_in_its_server_and_realm_and_for_its_lifetime() {
        let nonces = NonceTable::default();
        let is_fresh = |nonce: &str, realm: &str| nonces.fresh_since(nonce, realm).is_some();
        let nonce = nonces.make("r");
        assert!(is_fresh(&nonce, "r"));
        assert!(!is_fresh(&nonce, "s"));
        assert!(NonceTable::default().fresh_since(&nonce, "r").is_none());
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
    fn each_count_is_accepted_once_in_any_order() {
        let nonces = NonceTable::default();
        let count = |nonce: &str, count: u64| nonces.count(owner("u"), nonce, now(), count);
        for good in [1, 3, 2, 500, 4, 499, 4500, 405, 100_000, 99_999] {
            assert!(count("n", good), "{good}");
            assert!(!count("n", good), "{good}");
        }
        for gone in [1, 5, 404, 4500, 100_000 - WINDOW] {
            assert!(!count("n", gone), "{gone}");
        }
        assert!(count("m", 1));
        assert!(!nonces.count(owner("other"), "m", now(), 2));
    }

    #[test]
    fn one_user_cannot_fill_the_table_for_others() {
        let nonces = NonceTable::default();
        let begun = now();
        assert!(nonces.count(owner("alice"), "a", begun, 1));
        for at in 0..2 * MAX_NONCES as u64 {
            assert!(
                nonces.count(owner("eve"), &format!("e{at}"), begun + at, 1),
                "{at}"
            );
        }
        assert!(nonces.counts.lock().nonces.len() <= MAX_NONCES);
        // Other users can log in, and their used counts stay used.
        assert!(nonces.count(owner("bob"), "b", begun, 1));
        assert!(!nonces.count(owner("alice"), "a", begun, 1));
        assert!(nonces.count(owner("alice"), "a", begun, 2));
        // The counts that were dropped stay used.
        for at in [0, 1, 1000, MAX_NONCES as u64 / 2, 2 * MAX_NONCES as u64 - 1] {
            assert!(
                !nonces.count(owner("eve"), &format!("e{at}"), begun + at, 1),
                "{at}"
            );
        }
    }
}
