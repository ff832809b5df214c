//! Credentials that were verified a short while ago.
//!
//! A good password hash takes tens of milliseconds by design, a directory takes several round trips, and a checkout sends its
//! password with each of its thousands of requests. A key of the cache is a salted hash of name, password and what the password
//! was checked against: where that changes, there is no entry.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::User;

/// The highest number of entries.
const MAX_ENTRIES: usize = 10_000;

/// Users by their verified credentials. Rejections are not stored: a corrected password must work at once.
pub(super) struct CredentialCache {
    salt: [u8; 32],
    users: Mutex<HashMap<[u8; 32], CachedUser>>,
}

/// When the credentials were verified, and whose they are.
type CachedUser = (Instant, User);

/// A salted hash of credentials.
#[derive(Clone, Copy)]
pub(super) struct CredentialKey([u8; 32]);

impl Default for CredentialCache {
    fn default() -> Self {
        CredentialCache {
            salt: super::random(),
            users: Mutex::default(),
        }
    }
}

impl CredentialCache {
    /// Returns the key of `user` with `password`, as checked against `against`.
    pub(super) fn key(&self, against: &[u8], user: &str, password: &[u8]) -> CredentialKey {
        let mut hash = Sha256::new().chain_update(self.salt);
        for part in [against, user.as_bytes(), password] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        CredentialKey(hash.finalize().into())
    }

    /// Returns the user if the credentials were verified at most `lifetime` ago.
    pub(super) fn get(&self, key: CredentialKey, lifetime: Duration) -> Option<User> {
        let users = self.users.lock();
        let (since, user) = users.get(&key.0)?;
        (since.elapsed() < lifetime).then(|| user.clone())
    }

    /// Removes all entries.
    pub(super) fn forget(&self) {
        self.users.lock().clear();
    }

    /// Stores verified credentials; nothing if `lifetime` is zero.
    pub(super) fn insert(&self, key: CredentialKey, lifetime: Duration, user: &User) {
        if lifetime.is_zero() {
            return;
        }
        let mut users = self.users.lock();
        if users.len() >= MAX_ENTRIES {
            users.retain(|_, (since, _)| since.elapsed() < lifetime);
        }
        if users.len() >= MAX_ENTRIES {
            users.clear();
        }
        users.insert(key.0, (Instant::now(), user.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_credentials_are_found() {
        let cache = CredentialCache::default();
        let hour = Duration::from_secs(3600);
        let key = cache.key(b"hash", "user", b"password");
        assert!(cache.get(key, hour).is_none());
        let user = User {
            name: "User".to_owned(),
            groups: ["g".to_owned()].into(),
        };
        cache.insert(key, hour, &user);
        assert_eq!(cache.get(key, hour), Some(user));
        assert!(cache.get(key, Duration::ZERO).is_none());
        for (against, user, password) in [
            ("hash2", "user", "password"),
            ("hash", "userp", "assword"),
            ("hash", "user", "password "),
            ("hashuser", "", "password"),
        ] {
            let other = cache.key(against.as_bytes(), user, password.as_bytes());
            assert!(cache.get(other, hour).is_none());
        }
        cache.forget();
        assert!(cache.get(key, hour).is_none());
        let elsewhere = CredentialCache::default();
        assert_ne!(elsewhere.key(b"hash", "user", b"password").0, key.0);
    }
}
