//! Long responses that were made once and are sent again.
//!
//! Revisions do not change, so a response about them stays valid, except for the revision properties that it shows. The maker
//! gives a name, which holds everything else that the response depends on, and the properties that it shows. A response is
//! returned only if all of them are still the same.
//!
//! A checkout shows the properties of thousands of revisions. A changed property is a new file in the place of the old one, which changes
//! the directory. So within one second after all lists were compared, only their directories are. The second is for programs that
//! write into such a file in place, which Subversion never does.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Result, Revnum};
use parking_lot::Mutex;

use crate::store::cache::response::{AnswerPart, CachedResponse, Compared, Form, ToldRevision};
use crate::tree::Fs;

impl Fs {
    /// The answer that was kept under this name, if all of it is there and what it tells of revisions is still so.
    ///
    /// # Errors
    /// What reading revision properties may say.
    pub fn kept_answer(&self, name: &str) -> Result<Option<Vec<AnswerPart>>> {
        let Some(kept) = CachedResponse::find(self, name.as_bytes(), Form::InParts) else {
            return Ok(None);
        };
        let parts = (0..kept.parts).map(|part| self.cache().get(&kept.part(self, part)));
        let Some(parts) = parts.collect::<Option<Vec<AnswerPart>>>() else {
            return Ok(None);
        };
        if kept
            .compared
            .lock()
            .as_ref()
            .is_some_and(|compared| compared.still_holds(self))
        {
            return Ok(Some(parts));
        }
        let compared = Compared::begin(self, &kept.told);
        let revs: Vec<Revnum> = kept.told.iter().map(|told| told.rev).collect();
        for (told, revprops) in kept.told.iter().zip(self.revprop_lists(&revs)) {
            if !told.is_still_so(&revprops?) {
                return Ok(None);
            }
        }
        *kept.compared.lock() = compared;
        Ok(Some(parts))
    }

    /// Keeps an answer under a name that says all that it depends on but what is `told` in it of revisions.
    pub fn keep_answer(&self, name: &str, told: Vec<ToldRevision>, parts: Vec<AnswerPart>) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let kept = CachedResponse {
            name: name.as_bytes().into(),
            value: None,
            told: told.into(),
            compared: Mutex::default(),
            parts: parts.len() as u64,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        };
        for (at, part) in (0..).zip(parts) {
            self.cache().insert(kept.part(self, at), part);
        }
        let key = CachedResponse::key(self, name.as_bytes(), Form::InParts);
        self.cache().insert(key, Arc::new(kept));
    }

    /// What was kept under this name as one value.
    pub fn kept_value(&self, name: &[u8]) -> Option<Arc<dyn Any + Send + Sync>> {
        let kept = CachedResponse::find(self, name, Form::Value)?;
        kept.value.as_ref().map(|(value, _)| value.clone())
    }

    /// Keeps a value of so many bytes under a name that says all that it depends on.
    pub fn keep_value(&self, name: &[u8], value: Arc<dyn Any + Send + Sync>, bytes: usize) {
        let kept = CachedResponse {
            name: name.into(),
            value: Some((value, bytes)),
            told: Box::default(),
            compared: Mutex::default(),
            parts: 0,
            number: 0,
        };
        let key = CachedResponse::key(self, name, Form::Value);
        self.cache().insert(key, Arc::new(kept));
    }
}
