//! Responses of a server that are sent again, as values of the cache.
//!
//! A long response is a list of parts, each a value by itself. A response of which one part is gone is not used. A short response that
//! depends on nothing that can change is one value in the form of its maker.

use std::any::Any;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::{PropList, Revnum, props};
use parking_lot::Mutex;

use super::Key;
use crate::store::Store;
use crate::store::disk::FileMeta;

/// A part of an answer.
#[derive(Clone)]
pub struct ResponsePart(Arc<dyn AsRef<[u8]> + Send + Sync>);

/// An answer in the form that suits who keeps it.
pub(crate) type CachedValue = Arc<dyn Any + Send + Sync>;

/// What an answer tells of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRevprops {
    pub(crate) rev: Revnum,
    date: Option<Box<[u8]>>,
    author: Option<Box<[u8]>>,
}

/// What there is to know of a cached answer.
pub(crate) struct CachedResponse {
    pub(crate) name: Box<[u8]>,
    /// All of it, and its bytes; such an answer has no parts.
    pub(crate) value: Option<(CachedValue, usize)>,
    pub(crate) shown: Box<[ShownRevprops]>,
    /// When that was last found to be so.
    pub(crate) check: Mutex<Option<RevpropsCheck>>,
    pub(crate) parts: u64,
    /// Of which answer the parts are: there may have been others of the same name.
    pub(crate) number: u64,
}

/// That all lists were as an answer tells them.
pub(crate) struct RevpropsCheck {
    when: Instant,
    /// Shards with these lists, and what was known of their directories before.
    dirs: Box<[(u64, FileMeta)]>,
}

/// How long directories stand for their files.
const DIRS_TRUSTED: Duration = Duration::from_secs(1);
/// A directory that was changed less than this ago may be changed again without showing it.
const DIR_SETTLED: Duration = Duration::from_secs(10);

/// Answers of each form have names of their own.
#[derive(Clone, Copy)]
pub(crate) enum ResponseForm {
    Parts,
    Value,
}

impl ResponsePart {
    /// Takes bytes over.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> ResponsePart {
        ResponsePart(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for ResponsePart {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl std::fmt::Debug for ResponsePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResponsePart({} bytes)", self.as_ref().len())
    }
}

impl ShownRevprops {
    /// What `revprops`, the properties of `rev`, say.
    pub fn of(rev: Revnum, revprops: &PropList) -> ShownRevprops {
        ShownRevprops {
            rev,
            date: revprops.get(props::DATE).map(Into::into),
            author: revprops.get(props::AUTHOR).map(Into::into),
        }
    }

    /// True if the revision properties are those that the response shows.
    pub(crate) fn matches(&self, revprops: &PropList) -> bool {
        revprops.get(props::DATE) == self.date.as_deref()
            && revprops.get(props::AUTHOR) == self.author.as_deref()
    }
}

impl RevpropsCheck {
    /// Looks at the directories of the lists that will be check; `None` if they would not show what changes.
    pub(crate) fn begin(fs: &Store, shown: &[ShownRevprops]) -> Option<RevpropsCheck> {
        let when = Instant::now();
        let quiet_since = SystemTime::now().checked_sub(DIR_SETTLED)?;
        let mut shards = Vec::new();
        for shown in shown {
            let shard = fs
                .layout()
                .shard(shown.rev)
                .filter(|_| !fs.is_packed(shown.rev))?;
            if shards.last() != Some(&shard) {
                shards.push(shard);
            }
        }
        shards.sort_unstable();
        shards.dedup();
        let dirs = shards.into_iter().map(|shard| {
            let meta = RevpropsCheck::dir(fs, shard)?;
            (meta.modified < quiet_since).then_some((shard, meta))
        });
        let dirs = dirs.collect::<Option<_>>()?;
        Some(RevpropsCheck { when, dirs })
    }

    pub(crate) fn still_holds(&self, fs: &Store) -> bool {
        let same = |(shard, meta): &(u64, FileMeta)| RevpropsCheck::dir(fs, *shard) == Some(*meta);
        self.when.elapsed() < DIRS_TRUSTED && self.dirs.iter().all(same)
    }

    fn dir(fs: &Store, shard: u64) -> Option<FileMeta> {
        let first = Revnum(shard.checked_mul(fs.format().shard_size)?);
        fs.disk().metadata(fs.layout().revprops(first).parent()?).ok()
    }
}

impl CachedResponse {
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len() + 16);
        let shown =
            |shown: &ShownRevprops| size_of::<ShownRevprops>() + text(&shown.date) + text(&shown.author);
        let value = self.value.as_ref().map_or(0, |(_, bytes)| *bytes);
        size_of::<CachedResponse>() + value + self.name.len() + self.shown.iter().map(shown).sum::<usize>()
    }

    pub(crate) fn key(fs: &Store, name: &[u8], form: ResponseForm) -> Key {
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        Key::part::<Arc<CachedResponse>>(fs.instance(), 0, hash.finish(), form as u64)
    }

    /// What was cached under a name.
    pub(crate) fn find(fs: &Store, name: &[u8], form: ResponseForm) -> Option<Arc<CachedResponse>> {
        let cached = fs
            .cache()
            .get::<Arc<CachedResponse>>(&CachedResponse::key(fs, name, form));
        cached.filter(|cached| *cached.name == *name)
    }

    pub(crate) fn part(&self, fs: &Store, part: u64) -> Key {
        Key::part::<ResponsePart>(fs.instance(), 0, self.number, part)
    }
}
