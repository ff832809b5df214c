//! Long answers that were made once, kept for whoever asks the same again.
//!
//! Revisions do not change, so an answer about them stays right, but for what it tells of revision properties. Whoever keeps an
//! answer says under which name (everything else that it depends on) and what it tells of which revision; who asks for it gets it
//! only if all of that is still so. The engine knows nothing else about answers: they are bytes, in parts.
//!
//! Parts are values of the cache, each by itself. An answer of which one has gone is as good as none.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{PropList, Result, Revnum, props};

use crate::cache::Key;
use crate::fs::Fs;

/// A part of an answer.
#[derive(Clone)]
pub struct AnswerPart(Arc<dyn AsRef<[u8]> + Send + Sync>);

/// What an answer tells of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldRevision {
    rev: Revnum,
    date: Option<Box<[u8]>>,
    author: Option<Box<[u8]>>,
}

/// What there is to know of a kept answer.
pub(crate) struct KeptAnswer {
    name: Box<str>,
    told: Box<[ToldRevision]>,
    parts: u64,
    /// Of which answer the parts are: there may have been others of the same name.
    number: u64,
}

impl AnswerPart {
    /// Takes bytes over.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> AnswerPart {
        AnswerPart(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for AnswerPart {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl std::fmt::Debug for AnswerPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnswerPart({} bytes)", self.as_ref().len())
    }
}

impl ToldRevision {
    /// What `revprops`, the properties of `rev`, say.
    pub fn of(rev: Revnum, revprops: &PropList) -> ToldRevision {
        ToldRevision {
            rev,
            date: revprops.get(props::DATE).map(Into::into),
            author: revprops.get(props::AUTHOR).map(Into::into),
        }
    }

    fn is_still_so(&self, revprops: &PropList) -> bool {
        revprops.get(props::DATE) == self.date.as_deref()
            && revprops.get(props::AUTHOR) == self.author.as_deref()
    }
}

impl KeptAnswer {
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len() + 16);
        let told = |told: &ToldRevision| size_of::<ToldRevision>() + text(&told.date) + text(&told.author);
        self.name.len() + self.told.iter().map(told).sum::<usize>()
    }

    fn key(fs: &Fs, name: &str) -> Key {
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        Key::new::<Arc<KeptAnswer>>(fs.instance(), 0, hash.finish())
    }

    fn part(&self, fs: &Fs, part: u64) -> Key {
        Key::part::<AnswerPart>(fs.instance(), 0, self.number, part)
    }
}

impl Fs {
    /// The answer that was kept under this name, if all of it is there and what it tells of revisions is still so.
    ///
    /// # Errors
    /// What reading revision properties may say.
    pub fn kept_answer(&self, name: &str) -> Result<Option<Vec<AnswerPart>>> {
        let kept = self.cache().get::<Arc<KeptAnswer>>(&KeptAnswer::key(self, name));
        let Some(kept) = kept.filter(|kept| *kept.name == *name) else {
            return Ok(None);
        };
        let parts = (0..kept.parts).map(|part| self.cache().get(&kept.part(self, part)));
        let Some(parts) = parts.collect::<Option<Vec<AnswerPart>>>() else {
            return Ok(None);
        };
        let revs: Vec<Revnum> = kept.told.iter().map(|told| told.rev).collect();
        for (told, revprops) in kept.told.iter().zip(self.revprop_lists(&revs)) {
            if !told.is_still_so(&revprops?) {
                return Ok(None);
            }
        }
        Ok(Some(parts))
    }

    /// Keeps an answer under a name that says all that it depends on but what is `told` in it of revisions.
    pub fn keep_answer(&self, name: &str, told: Vec<ToldRevision>, parts: Vec<AnswerPart>) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let kept = KeptAnswer {
            name: name.into(),
            told: told.into(),
            parts: parts.len() as u64,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        };
        for (at, part) in (0..).zip(parts) {
            self.cache().insert(kept.part(self, at), part);
        }
        self.cache().insert(KeptAnswer::key(self, name), Arc::new(kept));
    }
}
