//! The one cache of the process: a byte budget that all open repositories share.
//!
//! Values are parsed things, never raw files: a hit costs one look-up and one reference count. Keys carry a number that
//! stands for the repository instance, so a repository that was replaced never serves what its predecessor held.
//! Revisions do not change, so nothing here is ever invalidated; what can change (revision properties, locks) carries
//! a generation in its key or stays out.
//!
//! [`Cache::get_or_load`] lets concurrent misses of one key wait for the first. A loader must not wait for another
//! value of the same kind, or two of them could wait for each other.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use base::checksum::Md5;
use base::{Props, Result};
use delta::svndiff::OwnedWindow;
use parking_lot::Mutex;
use quick_cache::sync::{Cache as QuickCache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::chain::Chain;
use crate::format::change_list::ChangeList;
use crate::format::dir::DirEntry;
use crate::format::noderev::NodeRev;
use crate::format::p2l::P2lEntry;
use crate::kept_answer::{AnswerPart, KeptAnswer};
use crate::log_records::LogRecord;
use crate::prompt::takes_time;
use crate::rep::write::ChainLength;
use crate::rev_file::RevFile;
use crate::revprops::{KeptList, KeptManifest, KeptPack};
use crate::root::KeptChildren;
use crate::shard_dirs::ShardDirs;
use crate::tally::{CacheCounts, Tallies};

/// The process's one cache: byte budget, shared by all repositories.
pub struct Cache {
    items: Items,
    item_limit: u64,
    /// Those that are read through handles.
    files: QuickCache<FileKey, Arc<RevFile>>,
    /// Those that are in memory whole.
    small_files: QuickCache<FileKey, Arc<RevFile>, WeighFile>,
    dirs: ShardDirs,
    instances: Mutex<HashMap<String, u32>>,
    next_instance: AtomicU32,
    pub(crate) tallies: Tallies,
}

type Items = QuickCache<Key, Value, Weigh>;

/// Open files that are kept for the next reader.
const OPEN_FILES: usize = 256;

/// One part in so many of the budget is for files that are in memory whole, but so many bytes at least and at most.
const SMALL_FILES: (u64, u64, u64) = (16, 1 << 20, 64 << 20);

/// What an entry costs beside its value: key, links, counters.
const OVERHEAD: u64 = 96;

/// A number that stands for one repository instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instance(u32);

/// An instance that can be replaced while others read it.
pub(crate) struct SharedInstance(AtomicU32);

impl SharedInstance {
    pub(crate) fn new(instance: Instance) -> Self {
        SharedInstance(AtomicU32::new(instance.0))
    }

    pub(crate) fn load(&self) -> Instance {
        Instance(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn store(&self, instance: Instance) {
        self.0.store(instance.0, Ordering::Release);
    }
}

/// Key of a kept open file: the repository, its first revision, and whether it is a pack.
pub(crate) type FileKey = (Instance, u64, bool);

/// Names a value: what `rev` and `item` mean depends on the kind, which the value's type gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) instance: Instance,
    kind: Kind,
    /// Further distinction, such as the number of a page or a window.
    pub(crate) part: u64,
    pub(crate) rev: u64,
    pub(crate) item: u64,
}

/// A type that the cache holds. Cheap to clone: a reference count.
pub(crate) trait Cached: Clone {
    /// Sets keys of different types apart.
    const KIND: Kind;
    /// Wraps it.
    fn into_value(self) -> Value;
    /// Unwraps it.
    fn from_value(value: Value) -> Option<Self>;
    /// Bytes of memory that it holds.
    fn weight(&self) -> u64;
}

macro_rules! cached {
    ($($(#[$doc:meta])* $kind:ident($type:ty) = $bytes:expr;)*) => {
        /// Kinds of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Kind {
            $($(#[$doc])* $kind,)*
        }

        /// Any value.
        #[derive(Clone)]
        pub(crate) enum Value {
            $($(#[$doc])* $kind($type),)*
        }

        impl Value {
            fn weight(&self) -> u64 {
                match self {
                    $(Value::$kind(value) => Cached::weight(value),)*
                }
            }
        }

        $(impl Cached for $type {
            const KIND: Kind = Kind::$kind;
            fn into_value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some(value),
                    _ => None,
                }
            }
            fn weight(&self) -> u64 {
                let bytes: fn(&$type) -> usize = $bytes;
                bytes(self) as u64
            }
        })*
    };
}

cached! {
    /// Node-revision by (revision, item).
    NodeRev(Arc<NodeRev>) = |value| size_of::<NodeRev>() + 64 + value.created_path.len();
    /// Parsed directory by (revision, item) of its rep.
    Dir(Arc<[DirEntry]>) = |value| value.iter().map(|e| size_of::<DirEntry>() + 16 + e.name.len()).sum();
    /// Directories that the last look-up of a deep path came through, by revision. They become more while they are cached.
    Chain(Arc<Mutex<Chain>>) = |_| 8 << 20;
    /// Property list by (revision, item) of its rep.
    Props(Arc<Props>) = |value| value.iter().map(|(name, value)| 96 + name.len() + value.len()).sum();
    /// One window's worth of a content by (revision, item) of its rep and number of the window.
    Chunk(Chunk) = |value| 64 + value.bytes().capacity();
    /// Length of a delta chain by (revision, item) of its rep.
    ChainLength(ChainLength) = |_| size_of::<ChainLength>();
    /// One window of a content against nothing as it goes over a wire, by (revision, item) of its rep, number and form.
    Window(Arc<OwnedWindow>) = |value| 64 + value.len();
    /// Page of an L2P index by first revision, page number.
    L2pPage(Arc<[Option<u64>]>) = |value| 16 * value.len();
    /// Description of a P2L index by first revision, page number.
    P2lPage(Arc<[P2lEntry]>) = |value| size_of::<P2lEntry>() * value.len();
    /// Unpacked revision properties by revision, with the state of their file.
    Revprops(KeptList) = |value| size_of_val(&**value) + 32 + value.value.text_len();
    /// Manifest of packed revision properties by shard, with the state of its file.
    RevpropsManifest(KeptManifest) = |value| value.bytes;
    /// Pack of revision properties by the two parts of its name and its shard, with the state of its file.
    RevpropsPack(KeptPack) = |value| value.bytes;
    /// Entries of a directory that a transaction has changed, with the state of their file.
    Children(KeptChildren) = |value| value.bytes + value.value.entries.len() * size_of::<DirEntry>();
    /// Node-revision at a path by revision and a hash of the path.
    Placed(Placed) = |value| size_of::<NodeRev>() + 64 + value.0.len();
    /// What there is to know of a kept answer, by a hash of its name.
    Answer(Arc<KeptAnswer>) = |value| value.bytes();
    /// Part of a kept answer by its number and that of the part.
    AnswerPart(AnswerPart) = |value| 64 + value.as_ref().len();
    /// What a log tells of a revision, by revision.
    Log(LogRecord) = |value| value.bytes();
    /// Changed-path list by revision.
    Changes(ChangeList) = |value| value.bytes();
}

/// The bytes that one window of a representation makes: at most `delta::window::WINDOW_SIZE`.
#[derive(Clone, Debug)]
pub(crate) struct Chunk(Arc<ChunkBytes>);

#[derive(Debug)]
struct ChunkBytes {
    bytes: Arc<Vec<u8>>,
    is_checked: AtomicBool,
    /// Of a content of several chunks: the digest that it was found to have, and whether it ends with these bytes.
    part_of: OnceLock<(Md5, bool)>,
}

impl Chunk {
    /// Bytes that nobody has checked against a digest yet.
    pub(crate) fn new(bytes: Arc<Vec<u8>>) -> Self {
        Chunk(Arc::new(ChunkBytes {
            bytes,
            is_checked: AtomicBool::new(false),
            part_of: OnceLock::new(),
        }))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.0.bytes
    }

    /// True if the bytes are a whole content that had the right digest.
    pub(crate) fn is_checked(&self) -> bool {
        self.0.is_checked.load(Ordering::Relaxed)
    }

    /// Notes that the digest was right.
    pub(crate) fn set_checked(&self) {
        self.0.is_checked.store(true, Ordering::Relaxed);
    }

    /// If the bytes are known to be a part of a content with this digest: whether it ends with them.
    pub(crate) fn part_of(&self, md5: &Md5) -> Option<bool> {
        let (whole, is_last) = self.0.part_of.get()?;
        (whole == md5).then_some(*is_last)
    }

    /// To be told later whether the digest was right, if it is still there then.
    pub(crate) fn watch(&self) -> WatchedChunk {
        WatchedChunk(Arc::downgrade(&self.0))
    }
}

/// A chunk that may leave the cache meanwhile.
#[derive(Debug)]
pub(crate) struct WatchedChunk(Weak<ChunkBytes>);

impl WatchedChunk {
    /// Notes the digest that the whole content was found to have, and whether it ends with these bytes.
    pub(crate) fn set_part_of(&self, md5: Md5, is_last: bool) {
        if let Some(chunk) = self.0.upgrade() {
            // Whoever was first has found the same.
            _ = chunk.part_of.set((md5, is_last));
        }
    }
}

/// A path and the node-revision that it names.
#[derive(Clone)]
pub(crate) struct Placed(Arc<str>, Arc<NodeRev>);

impl Placed {
    pub(crate) fn new(path: &str, noderev: Arc<NodeRev>) -> Self {
        Placed(path.into(), noderev)
    }

    /// The node-revision, if this is about `path`.
    pub(crate) fn at(self, path: &str) -> Option<Arc<NodeRev>> {
        (*self.0 == *path).then_some(self.1)
    }

    /// Key of what stands at a path of a revision.
    pub(crate) fn key(instance: Instance, rev: u64, path: &str) -> Key {
        let mut hash = DefaultHasher::new();
        path.hash(&mut hash);
        Key::new::<Placed>(instance, rev, hash.finish())
    }
}

#[derive(Clone)]
struct Weigh;

impl Weighter<Key, Value> for Weigh {
    fn weight(&self, _: &Key, value: &Value) -> u64 {
        // What a process holds for its values, in size classes and in pages that other threads gave back, was measured at
        // 1.75 times their own bytes after 25,000 revisions. The budget is about the process.
        OVERHEAD + value.weight() / 4 * 7
    }
}

#[derive(Clone)]
struct WeighFile;

impl Weighter<FileKey, Arc<RevFile>> for WeighFile {
    fn weight(&self, _: &FileKey, file: &Arc<RevFile>) -> u64 {
        // Names, indexes that were parsed, and what keeps both.
        const BESIDE: u64 = 1 << 10;
        file.bytes().len() + BESIDE
    }
}

impl Cache {
    /// `budget` in bytes; 0 caches next to nothing.
    pub fn new(budget: u64) -> Arc<Cache> {
        let (part, least, most) = SMALL_FILES;
        let for_files = (budget / part).min(most);
        let budget = budget - for_files;
        let for_files = for_files.max(least);
        let small_files = QuickCache::with_weighter((for_files >> 12) as usize, for_files, WeighFile);
        // Shards set the largest item that fits, so a small cache has few.
        let shards = (budget / (4 << 20)).clamp(1, 64).next_power_of_two() as usize;
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(
                usize::try_from(budget / 1024)
                    .unwrap_or(usize::MAX)
                    .clamp(16, 1 << 20),
            )
            .weight_capacity(budget)
            .build()
            .expect("because all mandatory options are given and in range");
        let items = Items::with_options(
            options,
            Weigh,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        );
        Arc::new(Cache {
            item_limit: items.shard_capacity() / 4,
            items,
            files: QuickCache::new(OPEN_FILES),
            small_files,
            dirs: ShardDirs::default(),
            instances: Mutex::default(),
            next_instance: AtomicU32::new(0),
            tallies: Tallies::default(),
        })
    }

    /// Bytes that all values take now.
    pub fn used(&self) -> u64 {
        self.items.weight()
    }

    /// What was counted since the process began.
    pub fn counts(&self) -> CacheCounts {
        self.tallies.sums()
    }

    /// The number that stands for the instance of this name, the same one for the same name.
    pub(crate) fn instance(&self, name: String) -> Instance {
        let mut instances = self.instances.lock();
        let next = || self.next_instance.fetch_add(1, Ordering::Relaxed);
        Instance(*instances.entry(name).or_insert_with(next))
    }

    /// Another number for the instance of this name, because what is cached under `old` is no longer true.
    pub(crate) fn renew_instance(&self, name: &str, old: Instance) -> Instance {
        let mut instances = self.instances.lock();
        match instances.get(name) {
            // Another handle was first.
            Some(&number) if number != old.0 => Instance(number),
            _ => {
                let number = self.next_instance.fetch_add(1, Ordering::Relaxed);
                instances.insert(name.to_owned(), number);
                Instance(number)
            }
        }
    }

    /// True if a value of so many bytes is worth keeping.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        bytes <= self.item_limit
    }

    /// The value, if it is there.
    pub(crate) fn get<T: Cached>(&self, key: &Key) -> Option<T> {
        let value = self.items.get(key).and_then(T::from_value);
        match value {
            Some(_) => self.tallies.hits.add(),
            None => self.tallies.misses.add(),
        }
        value
    }

    /// Keeps a value.
    pub(crate) fn insert<T: Cached>(&self, key: Key, value: T) {
        self.items.insert(key, value.into_value());
    }

    /// The value; if it is missing, `load` makes it, while others who ask for it wait.
    pub(crate) fn get_or_load<T: Cached>(&self, key: Key, load: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.item_limit == 0 {
            takes_time()?;
            return load();
        }
        let value = match self.items.get(&key) {
            Some(value) => {
                self.tallies.hits.add();
                value
            }
            None => {
                takes_time()?;
                let mut loaded = false;
                let value = self.items.get_or_insert_with(&key, || {
                    loaded = true;
                    load().map(T::into_value)
                })?;
                match loaded {
                    true => self.tallies.misses.add(),
                    false => self.tallies.waits.add(),
                }
                value
            }
        };
        Ok(T::from_value(value).expect("because the key's kind is that of the type"))
    }

    /// A kept open file.
    pub(crate) fn file(&self, key: &FileKey) -> Option<Arc<RevFile>> {
        self.small_files.get(key).or_else(|| self.files.get(key))
    }

    /// Keeps an open file.
    pub(crate) fn keep_file(&self, key: FileKey, file: Arc<RevFile>) {
        match file.bytes().is_whole() {
            true => self.small_files.insert(key, file),
            false => self.files.insert(key, file),
        }
    }

    /// Closes a file (once its users are done).
    pub(crate) fn drop_file(&self, key: &FileKey) {
        self.small_files.remove(key);
        self.files.remove(key);
    }

    /// Closes the files of unpacked revisions below `rev`: their shards have been packed.
    pub(crate) fn drop_unpacked(&self, instance: Instance, rev: u64) {
        let stays = |key: &FileKey| key.0 != instance || key.2 || key.1 >= rev;
        self.small_files.retain(|key, _| stays(key));
        self.files.retain(|key, _| stays(key));
    }

    /// The directories of revision and property files in which walks are going on.
    pub(crate) fn dirs(&self) -> &ShardDirs {
        &self.dirs
    }
}

impl Key {
    /// Key of a value of type `T`.
    pub(crate) fn new<T: Cached>(instance: Instance, rev: u64, item: u64) -> Self {
        Key::part::<T>(instance, rev, item, 0)
    }

    /// Key of a part of something.
    pub(crate) fn part<T: Cached>(instance: Instance, rev: u64, item: u64, part: u64) -> Self {
        Key {
            instance,
            kind: T::KIND,
            part,
            rev,
            item,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Code, Error};

    fn key(cache: &Cache, item: u64) -> Key {
        Key::new::<Chunk>(cache.instance("r".into()), 1, item)
    }

    fn chunk(len: usize) -> Chunk {
        Chunk::new(Arc::new(vec![7; len]))
    }

    #[test]
    fn the_budget_holds() {
        let cache = Cache::new(1 << 20);
        for item in 0..1000 {
            cache.insert(key(&cache, item), chunk(10_000));
        }
        assert!(
            cache.used() <= 1 << 20 && cache.used() > 1 << 18,
            "{}",
            cache.used()
        );
    }

    #[test]
    fn a_failed_load_leaves_nothing_and_the_next_one_tries_again() {
        let cache = Cache::new(1 << 20);
        let failed = cache.get_or_load::<Chunk>(key(&cache, 1), || Err(Error::bare(Code::FS_CORRUPT)));
        assert_eq!(
            failed.map(|_| ()).expect_err("the loader's error").code(),
            Code::FS_CORRUPT
        );
        let loaded = cache.get_or_load(key(&cache, 1), || Ok(chunk(3))).expect("loads");
        assert_eq!(loaded.bytes().len(), 3);
        let hit = cache.get_or_load::<Chunk>(key(&cache, 1), || Err(Error::bare(Code::FS_CORRUPT)));
        assert_eq!(hit.expect("cached").bytes().len(), 3);
    }

    #[test]
    fn kinds_and_instances_do_not_mix() {
        let cache = Cache::new(1 << 20);
        let (a, b) = (cache.instance("a".into()), cache.instance("b".into()));
        assert_eq!(cache.instance("a".into()), a);
        cache.insert(Key::new::<Chunk>(a, 1, 1), chunk(1));
        assert!(cache.get::<Chunk>(&Key::new::<Chunk>(b, 1, 1)).is_none());
        assert!(
            cache
                .get::<Arc<Props>>(&Key::new::<Arc<Props>>(a, 1, 1))
                .is_none()
        );
        assert!(cache.get::<Chunk>(&Key::new::<Chunk>(a, 1, 1)).is_some());
    }

    #[test]
    fn a_cache_without_budget_still_loads() {
        let cache = Cache::new(0);
        assert_eq!(
            cache
                .get_or_load(key(&cache, 1), || Ok(chunk(3)))
                .expect("loads")
                .bytes()
                .len(),
            3
        );
        assert!(cache.get::<Chunk>(&key(&cache, 1)).is_none());
    }

    #[test]
    fn concurrent_misses_load_once() {
        let cache = Cache::new(1 << 20);
        let loads = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let load = || {
                        loads.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok(chunk(3))
                    };
                    cache.get_or_load(key(&cache, 1), load).expect("loads");
                });
            }
        });
        assert_eq!(loads.into_inner(), 1);
    }
}
