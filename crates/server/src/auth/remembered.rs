//! Credentials that were found right a short while ago.
//!
//! A good hash of a password takes tens of milliseconds by design, a directory takes a few round trips, and a checkout sends
//! its password with each of its thousands of requests. What is kept is a salted hash of the whole question, with what the
//! password was checked against in it: where that changes, nothing is remembered.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::User;

/// Most answers that are kept.
const MOST: usize = 10_000;

/// Right answers of late. Wrong ones are not remembered: a mended password must count at once.
pub(super) struct Remembered {
    salt: [u8; 32],
    known: Mutex<HashMap<[u8; 32], Known>>,
}

/// Since when an answer is known, and whom it is about.
type Known = (Instant, User);

/// A question, hashed.
#[derive(Clone, Copy)]
pub(super) struct Question([u8; 32]);

impl Default for Remembered {
    fn default() -> Self {
        Remembered {
            salt: super::random(),
            known: Mutex::default(),
        }
    }
}

impl Remembered {
    /// The question whether `user` has `password`, according to `against`.
    pub(super) fn question(&self, against: &[u8], user: &str, password: &[u8]) -> Question {
        let mut hash = Sha256::new().chain_update(self.salt);
        for part in [against, user.as_bytes(), password] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Question(hash.finalize().into())
    }

    /// The user, if the answer was yes not longer than `lifetime` ago.
    pub(super) fn recall(&self, question: Question, lifetime: Duration) -> Option<User> {
        let known = self.known.lock();
        let (since, user) = known.get(&question.0)?;
        (since.elapsed() < lifetime).then(|| user.clone())
    }

    /// Forgets all answers.
    pub(super) fn forget(&self) {
        self.known.lock().clear();
    }

    /// Remembers that the answer is yes.
    pub(super) fn keep(&self, question: Question, lifetime: Duration, user: &User) {
        if lifetime.is_zero() {
            return;
        }
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, (since, _)| since.elapsed() < lifetime);
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(question.0, (Instant::now(), user.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_question_is_answered() {
        let remembered = Remembered::default();
        let hour = Duration::from_secs(3600);
        let asked = remembered.question(b"hash", "user", b"password");
        assert!(remembered.recall(asked, hour).is_none());
        let user = User {
            name: "User".to_owned(),
            groups: ["g".to_owned()].into(),
        };
        remembered.keep(asked, hour, &user);
        assert_eq!(remembered.recall(asked, hour), Some(user));
        assert!(remembered.recall(asked, Duration::ZERO).is_none());
        for (against, user, password) in [
            ("hash2", "user", "password"),
            ("hash", "userp", "assword"),
            ("hash", "user", "password "),
            ("hashuser", "", "password"),
        ] {
            let other = remembered.question(against.as_bytes(), user, password.as_bytes());
            assert!(remembered.recall(other, hour).is_none());
        }
        remembered.forget();
        assert!(remembered.recall(asked, hour).is_none());
        let elsewhere = Remembered::default();
        assert_ne!(elsewhere.question(b"hash", "user", b"password").0, asked.0);
    }
}
