//! Cached responses of a server, as values of the cache.
//!
//! A long response is a list of parts, each a value by itself. It is not used if one of its parts has left the cache.
//! A short response that depends on nothing that can change is one value of a type that the server chooses.

use std::any::Any;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::{PropList, Revnum, props};
use parking_lot::Mutex;

use super::Key;
use crate::store::Store;
use crate::store::disk::FileMeta;

/// A part of a response.
#[derive(Clone)]
pub struct ResponsePart(Arc<dyn AsRef<[u8]> + Send + Sync>);

/// A response as a value of the type that the server chose.
pub(crate) type CachedValue = Arc<dyn Any + Send + Sync>;

/// The revision properties that a response shows of one revision: the date and the author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRevprops {
    pub(crate) rev: Revnum,
    date: Option<Box<[u8]>>,
    author: Option<Box<[u8]>>,
}

/// A response without the bytes of its parts.
pub(crate) struct CachedResponse {
    pub(crate) name: Box<[u8]>,
    /// The whole response and its size in bytes; then it has no parts.
    pub(crate) value: Option<(CachedValue, usize)>,
    pub(crate) shown: Box<[ShownRevprops]>,
    /// The last time when all shown properties were the same as now.
    pub(crate) last_check: Mutex<Option<RevpropsCheck>>,
    pub(crate) parts: u64,
    /// The number that the keys of its parts carry: it tells responses of one name apart.
    pub(crate) number: u64,
}

/// The state of the directories of revision properties at a time when all lists were as a response shows them.
pub(crate) struct RevpropsCheck {
    when: Instant,
    /// The shards of these lists, and the metadata of their directories before the lists were compared.
    dirs: Box<[(u64, FileMeta)]>,
}

/// How long an unchanged directory counts as a proof for unchanged files.
const DIRS_TRUSTED: Duration = Duration::from_secs(1);
/// A directory that was changed less than this ago is no proof: the next change could get the same time.
const DIR_SETTLED: Duration = Duration::from_secs(10);

/// The form of a response. Each form has its own names.
#[derive(Clone, Copy)]
pub(crate) enum ResponseForm {
    Parts,
    Value,
}

impl ResponsePart {
    /// Wraps bytes.
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
    /// The properties to show of `rev`, out of its list.
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
    /// Reads the metadata of the directories whose lists are compared next. Returns `None` if a change might not show
    /// in it: packed shards, directories changed a moment ago.
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

    /// The response of this name.
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
