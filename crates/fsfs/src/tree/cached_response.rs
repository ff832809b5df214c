//! Long responses that are made once and sent again.
//!
//! Revisions do not change, so a response about them stays valid, except for the revision properties that it shows.
//! The maker gives a name, which contains everything else that the response depends on, and the properties that it
//! shows. A response is returned only if all of them are still the same.
//!
//! A checkout shows the properties of thousands of revisions. A changed property is a new file in place of the old
//! one, which changes the directory. So for one second after all lists were compared, only the metadata of their
//! directories is compared. The limit of one second is for programs that write into such a file in place, which
//! Subversion never does.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Result, Revnum};
use parking_lot::Mutex;

use crate::store::cache::response::{
    CachedResponse, ResponseForm, ResponsePart, RevpropsCheck, ShownRevprops,
};
use crate::tree::Fs;

impl Fs {
    /// The response of this name, if all of it is in the cache and the revision properties that it shows are still
    /// the same.
    ///
    /// # Errors
    /// Those of [`Fs::revprops`].
    pub fn cached_response(&self, name: &str) -> Result<Option<Vec<ResponsePart>>> {
        let Some(cached) = CachedResponse::find(self, name.as_bytes(), ResponseForm::Parts) else {
            return Ok(None);
        };
        let parts = (0..cached.parts).map(|part| self.cache().get(&cached.part(self, part)));
        let Some(parts) = parts.collect::<Option<Vec<ResponsePart>>>() else {
            return Ok(None);
        };
        if cached
            .last_check
            .lock()
            .as_ref()
            .is_some_and(|check| check.still_holds(self))
        {
            return Ok(Some(parts));
        }
        let check = RevpropsCheck::begin(self, &cached.shown);
        let revs: Vec<Revnum> = cached.shown.iter().map(|shown| shown.rev).collect();
        for (shown, revprops) in cached.shown.iter().zip(self.revprop_lists(&revs)) {
            if !shown.matches(&revprops?) {
                return Ok(None);
            }
        }
        *cached.last_check.lock() = check;
        Ok(Some(parts))
    }

    /// Caches a response. The name contains all that it depends on except the revision properties in `shown`.
    pub fn cache_response(&self, name: &str, shown: Vec<ShownRevprops>, parts: Vec<ResponsePart>) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let cached = CachedResponse {
            name: name.as_bytes().into(),
            value: None,
            shown: shown.into(),
            last_check: Mutex::default(),
            parts: parts.len() as u64,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        };
        for (at, part) in (0..).zip(parts) {
            self.cache().insert(cached.part(self, at), part);
        }
        let key = CachedResponse::key(self, name.as_bytes(), ResponseForm::Parts);
        self.cache().insert(key, Arc::new(cached));
    }

    /// The value of this name.
    pub fn cached_value(&self, name: &[u8]) -> Option<Arc<dyn Any + Send + Sync>> {
        let cached = CachedResponse::find(self, name, ResponseForm::Value)?;
        cached.value.as_ref().map(|(value, _)| value.clone())
    }

    /// Caches a value of `bytes` bytes. The name contains all that it depends on.
    pub fn cache_value(&self, name: &[u8], value: Arc<dyn Any + Send + Sync>, bytes: usize) {
        let cached = CachedResponse {
            name: name.into(),
            value: Some((value, bytes)),
            shown: Box::default(),
            last_check: Mutex::default(),
            parts: 0,
            number: 0,
        };
        let key = CachedResponse::key(self, name, ResponseForm::Value);
        self.cache().insert(key, Arc::new(cached));
    }
}
