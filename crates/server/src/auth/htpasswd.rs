//! Files as `htpasswd` and `htdigest` write them, and the hashes in them.
//!
//! A line is `NAME:HASH`, or `NAME:REALM:HA1` where the second command wrote it. The first line of a name counts.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha_crypt::{PasswordHashRef, PasswordVerifier as _, ShaCrypt};
use sha1::Digest as _;

use super::{des_crypt, md5_crypt, same};

/// A parsed file.
#[derive(Default)]
pub(super) struct Htpasswd {
    hashes: HashMap<String, String>,
    /// By name and realm.
    digests: HashMap<(String, String), String>,
}

impl Htpasswd {
    pub(super) fn parse(text: &str) -> Htpasswd {
        let mut file = Htpasswd::default();
        for line in text.lines() {
            let line = line.trim();
            let Some((name, rest)) = line.split_once(':').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let (first, tail) = match rest.split_once(':') {
                Some((first, tail)) => (first, Some(tail.split(':').next().unwrap_or_default())),
                None => (rest, None),
            };
            match tail.filter(|ha1| ha1.len() == 32 && ha1.bytes().all(|b| b.is_ascii_hexdigit())) {
                Some(ha1) => {
                    let key = (name.to_owned(), first.to_owned());
                    file.digests.entry(key).or_insert(ha1.to_ascii_lowercase());
                }
                None => {
                    let hash = first.to_owned();
                    file.hashes.entry(name.to_owned()).or_insert(hash);
                }
            }
        }
        file
    }

    /// Returns the hash of a user's password.
    pub(super) fn hash(&self, user: &str) -> Option<&str> {
        self.hashes.get(user).map(String::as_str)
    }

    /// Returns the hash that `htdigest` stores for a user in a realm: MD5 of name, realm and password.
    pub(super) fn ha1(&self, user: &str, realm: &str) -> Option<&str> {
        let key = (user.to_owned(), realm.to_owned());
        self.digests.get(&key).map(String::as_str)
    }
}

/// Returns whether `hash` is a hash of `password`.
///
/// # Errors
/// What is wrong with a hash that no password can fit: for the log, since the user can't log in.
pub(super) fn verify(password: &[u8], hash: &str) -> Result<bool, &'static str> {
    // Administrators disable users in this way.
    if hash.is_empty() || hash.starts_with(['*', '!']) {
        return Ok(false);
    }
    if let Some(encoded) = hash.strip_prefix("{SHA}") {
        let stored = STANDARD.decode(encoded).map_err(|_| "a malformed SHA-1 hash")?;
        return Ok(same(&sha1::Sha1::digest(password), &stored));
    }
    if hash.starts_with("$2") {
        return bcrypt::verify(password, hash).map_err(|_| "a malformed bcrypt hash");
    }
    if password.len() > LONGEST_CRYPT && !hash.starts_with("$apr1$") {
        return Ok(false);
    }
    if let Some(right) = md5_crypt::verify(password, hash) {
        return Ok(right);
    }
    if hash.starts_with("$5$") || hash.starts_with("$6$") {
        let stored = PasswordHashRef::new(hash).map_err(|_| "a malformed SHA-crypt hash")?;
        return Ok(ShaCrypt::default().verify_password(password, stored).is_ok());
    }
    des_crypt::verify(password, hash).ok_or("a hash of an unknown kind")
}

/// The longest password of a hash that Apache leaves to the system's `crypt`, bytes. The time of SHA-crypt grows with the square of the
/// length: without the limit one request could need a processor for many seconds.
const LONGEST_CRYPT: usize = 511;

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `htpasswd` of Apache 2.4, `openssl passwd` and `mkpasswd`, all of the password `s3cret`.
    #[test]
    fn hashes_of_the_real_tools_are_verified() {
        let file = Htpasswd::parse(include_str!("htpasswd_sample.txt"));
        assert_eq!(file.hashes.len(), 9);
        for name in [
            "apr1", "bcrypt", "sha1", "sha256", "sha512", "md5", "rounds", "des",
        ] {
            let hash = file.hash(name).expect("because the file has it");
            assert!(verify(b"s3cret", hash).expect("a known kind"), "{name}");
            for wrong in [&b"s3cres"[..], b"", b"s3cret "] {
                assert!(!verify(wrong, hash).expect("a known kind"), "{name}");
            }
        }
        let long = file.hash("long").expect("because the file has it");
        assert!(verify("ä sehr lönger Satz als Passwort, 0123456789".as_bytes(), long).expect("known"));
        assert_eq!(
            file.ha1("dig", "The realm"),
            Some("a9b9a18b87427a78731bae20115867ce")
        );
        assert_eq!(file.ha1("dig", "the realm"), None);
        assert_eq!(file.hash("dig"), None);
    }

    #[test]
    fn comments_and_malformed_lines_are_skipped() {
        let file = Htpasswd::parse("# a:b\n\nnobody\na:x\r\na:y\nb:x:comment\n");
        assert_eq!(file.hash("a"), Some("x"));
        assert_eq!(file.hash("b"), Some("x"));
        assert_eq!(file.hash("# a"), None);
        for bad in [
            "",
            "x",
            "$2y$",
            "$6$",
            "$5$rounds=x$",
            "{SHA}!",
            "$apr1$",
            "$apr1$a",
            "$1$$",
        ] {
            assert!(!verify(b"x", bad).unwrap_or(false), "{bad}");
        }
        assert_eq!(verify(b"", ""), Ok(false));
        assert_eq!(verify(b"x", "$y$j9T$F5Jx5$x"), Err("a hash of an unknown kind"));
    }

    /// The limit was found with Apache 2.4 and Debian's libxcrypt; the hashes were made by the latter.
    #[test]
    fn passwords_have_the_longest_length_of_crypt() {
        let longest = [b'x'; LONGEST_CRYPT + 1];
        // DES reads eight bytes.
        let hashes = [
            "abzDJoqKYZJww",
            "$1$abcdefgh$jBEDbI/aTXR/AhNlqcHuk/",
            "$5$abcdefgh$rKfLIht5ff20Rn/FWIOcGK4beOB9KzL7RN3x8I9FWWB",
            "$6$abcdefgh$DqQZnrHJnd1RbXtYVSOYoxD0oq2WszT9.eJms/MKvy9FpSTkzCZ76oIy2T1qtVLydP7hjGpZ6a0FeZ3qGmMON/",
        ];
        for hash in hashes {
            assert_eq!(verify(&longest[1..], hash), Ok(true), "{hash}");
            assert_eq!(verify(&longest, hash), Ok(false), "{hash}");
        }
        // A password that takes a processor for many seconds with SHA-crypt.
        assert_eq!(verify(&[b'x'; 60_000], hashes[3]), Ok(false));
        let digest = STANDARD.encode(sha1::Sha1::digest(longest));
        assert_eq!(verify(&longest, &format!("{{SHA}}{digest}")), Ok(true));
    }
}
