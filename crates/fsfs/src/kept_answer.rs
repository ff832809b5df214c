//! Long answers that were made once, kept for whoever asks the same again.
//!
//! Revisions do not change, so an answer about them stays right, but for what it tells of revision properties. Whoever keeps an
//! answer says under which name (everything else that it depends on) and what it tells of which revision; who asks for it gets it
//! only if all of that is still so. The engine knows nothing else about answers: they are bytes, in parts.
//!
//! A checkout tells of thousands of revisions. Whoever changes a property puts another file in the place of the old one, so a
//! directory of such files that is as it was has the same files: an answer that was compared with all of its lists within the last second
//! is compared with their directories only. A second, for those who write into such a file where it is, as nobody should.
//!
//! Parts are values of the cache, each by itself. An answer of which one has gone is as good as none.
//!
//! Short answers that tell nothing that may change are kept as one value, in the form that suits who has made it.

use std::any::Any;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use base::{PropList, Result, Revnum, props};
use parking_lot::Mutex;

use crate::cache::Key;
use crate::disk::FileMeta;
use crate::fs::Fs;

/// A part of an answer.
#[derive(Clone)]
pub struct AnswerPart(Arc<dyn AsRef<[u8]> + Send + Sync>);

/// An answer in the form that suits who keeps it.
type KeptValue = Arc<dyn Any + Send + Sync>;

/// What an answer tells of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldRevision {
    rev: Revnum,
    date: Option<Box<[u8]>>,
    author: Option<Box<[u8]>>,
}

/// What there is to know of a kept answer.
pub(crate) struct KeptAnswer {
    name: Box<[u8]>,
    /// All of it, and its bytes; such an answer has no parts.
    value: Option<(KeptValue, usize)>,
    told: Box<[ToldRevision]>,
    /// When that was last found to be so.
    compared: Mutex<Option<Compared>>,
    parts: u64,
    /// Of which answer the parts are: there may have been others of the same name.
    number: u64,
}

/// That all lists were as an answer tells them.
struct Compared {
    when: Instant,
    /// Shards with these lists, and what was known of their directories before.
    dirs: Box<[(u64, FileMeta)]>,
}

/// How long directories stand for their files.
const BELIEVED: Duration = Duration::from_secs(1);
/// A directory that was changed less than this ago may be changed again without showing it.
const QUIET: Duration = Duration::from_secs(10);

/// Answers of each form have names of their own.
#[derive(Clone, Copy)]
enum Form {
    InParts,
    Value,
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

impl Compared {
    /// Looks at the directories of the lists that will be compared; `None` if they would not show what changes.
    fn begin(fs: &Fs, told: &[ToldRevision]) -> Option<Compared> {
        let when = Instant::now();
        let quiet_since = SystemTime::now().checked_sub(QUIET)?;
        let mut shards = Vec::new();
        for told in told {
            let shard = fs.layout().shard(told.rev).filter(|_| !fs.is_packed(told.rev))?;
            if shards.last() != Some(&shard) {
                shards.push(shard);
            }
        }
        shards.sort_unstable();
        shards.dedup();
        let dirs = shards.into_iter().map(|shard| {
            let meta = Compared::dir(fs, shard)?;
            (meta.modified < quiet_since).then_some((shard, meta))
        });
        let dirs = dirs.collect::<Option<_>>()?;
        Some(Compared { when, dirs })
    }

    fn still_holds(&self, fs: &Fs) -> bool {
        let same = |(shard, meta): &(u64, FileMeta)| Compared::dir(fs, *shard) == Some(*meta);
        self.when.elapsed() < BELIEVED && self.dirs.iter().all(same)
    }

    fn dir(fs: &Fs, shard: u64) -> Option<FileMeta> {
        let first = Revnum(shard.checked_mul(fs.format().shard_size)?);
        fs.disk().metadata(fs.layout().revprops(first).parent()?).ok()
    }
}

impl KeptAnswer {
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len() + 16);
        let told = |told: &ToldRevision| size_of::<ToldRevision>() + text(&told.date) + text(&told.author);
        let value = self.value.as_ref().map_or(0, |(_, bytes)| *bytes);
        size_of::<KeptAnswer>() + value + self.name.len() + self.told.iter().map(told).sum::<usize>()
    }

    fn key(fs: &Fs, name: &[u8], form: Form) -> Key {
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        Key::part::<Arc<KeptAnswer>>(fs.instance(), 0, hash.finish(), form as u64)
    }

    /// What was kept under a name.
    fn find(fs: &Fs, name: &[u8], form: Form) -> Option<Arc<KeptAnswer>> {
        let kept = fs
            .cache()
            .get::<Arc<KeptAnswer>>(&KeptAnswer::key(fs, name, form));
        kept.filter(|kept| *kept.name == *name)
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
        let Some(kept) = KeptAnswer::find(self, name.as_bytes(), Form::InParts) else {
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
        let kept = KeptAnswer {
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
        let key = KeptAnswer::key(self, name.as_bytes(), Form::InParts);
        self.cache().insert(key, Arc::new(kept));
    }

    /// What was kept under this name as one value.
    pub fn kept_value(&self, name: &[u8]) -> Option<Arc<dyn Any + Send + Sync>> {
        let kept = KeptAnswer::find(self, name, Form::Value)?;
        kept.value.as_ref().map(|(value, _)| value.clone())
    }

    /// Keeps a value of so many bytes under a name that says all that it depends on.
    pub fn keep_value(&self, name: &[u8], value: Arc<dyn Any + Send + Sync>, bytes: usize) {
        let kept = KeptAnswer {
            name: name.into(),
            value: Some((value, bytes)),
            told: Box::default(),
            compared: Mutex::default(),
            parts: 0,
            number: 0,
        };
        let key = KeptAnswer::key(self, name, Form::Value);
        self.cache().insert(key, Arc::new(kept));
    }
}
