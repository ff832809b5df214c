//! The cache of the process: one budget in bytes that all open repositories share.
//!
//! The cache holds parsed values, and beside them blocks of pack files through which a walk is in progress
//! ([`FileBlocks`](super::open_file::FileBlocks)). A hit costs one look-up and one reference count. Keys carry the
//! instance of the filesystem, so a filesystem that replaces another one at the same path never gets the values of
//! the earlier one. Committed data does not change, so no value is ever removed because it is out of date. Data that
//! can change (revision properties, changed directories of transactions) is cached with the metadata of its file
//! ([`values::CachedFile`]), and a reader compares it.
//!
//! [`Cache::get_or_load`] makes concurrent misses of one key wait for the first one. A loader must not wait for
//! another value of the same kind: two loaders could wait for each other.
//!
//! [`values`] lists the types that are cached. Open revision files and open directories are cached beside the values.

mod chunk;
pub(crate) mod values;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base::Result;
use parking_lot::Mutex;
use quick_cache::sync::{Cache as QuickCache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use self::values::{Value, ValueKind};
use super::counters::{CacheCounts, Counters};
use super::disk::open_file_budget;
use super::encoder_buffers::SpareBuffers;
use super::read_mode::ReadMode;
use super::rev_file::RevFile;
use super::shard_dirs::ShardDirs;

pub(crate) use self::chunk::{Chunk, WatchedChunk};
pub(crate) use self::values::Cached;

/// The cache. A process has one for all repositories; tests and administrators' commands make their own.
pub struct Cache {
    items: Items,
    item_limit: u64,
    /// Open files whose bytes are read from the disk.
    files: QuickCache<FileKey, Arc<RevFile>>,
    /// Files whose bytes are all in memory; they keep no descriptor.
    small_files: QuickCache<FileKey, Arc<RevFile>, FileWeighter>,
    dirs: ShardDirs,
    instances: Mutex<HashMap<String, u32>>,
    next_instance: AtomicU32,
    pub(crate) counters: Counters,
    /// Buffers for the encoders of all filesystems.
    pub(crate) spare_buffers: Arc<SpareBuffers>,
}

type Items = QuickCache<Key, WeighedValue, ValueWeighter>;

/// The most open files that are kept.
const OPEN_FILES: usize = 256;

/// The memory for files that are in memory whole: the divisor of the budget, and the least and the most bytes.
const SMALL_FILES: (u64, u64, u64) = (16, 1 << 20, 64 << 20);

/// The most bytes of the cache of a job that reads each revision once. Dumps of 25,000 revisions are as fast with 64 MiB as with
/// 1 GiB, and memory that is used for the first time costs time.
pub const ONE_PASS_BUDGET: u64 = 64 << 20;

/// The most bytes of the cache of a load. A new text is mostly a delta against a version of long ago, which the dump does not
/// contain again: with 192 MiB a load of 25,000 revisions takes an eighth less time than with 64 MiB, and as long as with 512.
const LOAD_BUDGET: u64 = 192 << 20;

/// The part of its budget that the cache of such a job uses: numerator and denominator. Its values come and go so quickly that the
/// allocator, which returns memory to the system after a second, holds the rest.
const ONE_PASS_PART: (u64, u64) = (2, 3);

/// Which values a full cache keeps.
struct ReplacementPolicy {
    /// The part of the budget, 0 to 1, for values that were used more than once. New values get the rest. No larger value is
    /// cached.
    frequent: f64,
    /// The least bytes of a shard, which has a lock of its own.
    shard: u64,
}

/// The policy of servers: a client that reads everything once does not displace what the others need.
const FREQUENT: ReplacementPolicy = ReplacementPolicy {
    frequent: 0.97,
    shard: 4 << 20,
};

/// The policy of jobs that read each revision once, with a few threads. A chain of directories, the heaviest value, must fit.
const RECENT: ReplacementPolicy = ReplacementPolicy {
    frequent: 0.5,
    shard: 32 << 20,
};

/// Bytes of an entry beside its value: key, links, counters.
const OVERHEAD: u64 = 96;

/// The number of an instance of a filesystem.
///
/// It tells a filesystem from all others that the process opens, also from one that takes its place at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance(u32);

/// An instance that can be replaced while other threads read it.
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

/// The key of an open file: instance, first revision, and whether it is a pack file.
pub(crate) type FileKey = (Instance, u64, bool);

/// The key of a value. What `rev` and `item` mean depends on the kind, which the value's type gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) instance: Instance,
    kind: ValueKind,
    /// The number of a page or window, or 0.
    pub(crate) part: u64,
    pub(crate) rev: u64,
    pub(crate) item: u64,
}

/// A value with its weight, which is computed once: the cache asks for it whenever it moves or evicts a value, and a property list
/// has to be walked for it.
#[derive(Clone)]
struct WeighedValue {
    value: Value,
    weight: u64,
}

impl WeighedValue {
    fn new(value: impl Cached) -> Self {
        let value = value.into_value();
        WeighedValue {
            // The memory of a process for its values, with size classes and with pages freed by other threads, was
            // measured at 1.75 times their own bytes after 25,000 revisions. The budget is for the process.
            weight: OVERHEAD + value.weight() / 4 * 7,
            value,
        }
    }
}

#[derive(Clone)]
struct ValueWeighter;

impl Weighter<Key, WeighedValue> for ValueWeighter {
    fn weight(&self, _: &Key, item: &WeighedValue) -> u64 {
        item.weight
    }
}

#[derive(Clone)]
struct FileWeighter;

impl Weighter<FileKey, Arc<RevFile>> for FileWeighter {
    fn weight(&self, _: &FileKey, file: &Arc<RevFile>) -> u64 {
        // Bytes for the path, for parsed indexes and for the structures around both.
        const BESIDE: u64 = 1 << 10;
        file.bytes().len() + BESIDE
    }
}

impl Cache {
    /// Makes a cache with a budget in bytes. With 0 it caches next to nothing.
    pub fn new(budget: u64) -> Arc<Cache> {
        Cache::with_policy(budget, &FREQUENT)
    }

    /// Makes a cache for a job that reads each revision once, in order, such as a dump or a verification. It
    /// takes a part of `budget`, at most [`ONE_PASS_BUDGET`], and keeps what was used last: the next version of a
    /// text or of a directory is made from the present one, and then the present one is not needed again, however often
    /// it was read.
    pub fn for_one_pass(budget: u64) -> Arc<Cache> {
        Cache::for_recent(budget, ONE_PASS_BUDGET)
    }

    /// Makes a cache for a load, which writes each revision once, in order: as [`Cache::for_one_pass`], but larger.
    pub fn for_load(budget: u64) -> Arc<Cache> {
        Cache::for_recent(budget, LOAD_BUDGET)
    }

    fn for_recent(budget: u64, most: u64) -> Arc<Cache> {
        let (numerator, denominator) = ONE_PASS_PART;
        let budget = budget / denominator * numerator;
        Cache::with_policy(budget.min(most), &RECENT)
    }

    fn with_policy(budget: u64, policy: &ReplacementPolicy) -> Arc<Cache> {
        let (part, least, most) = SMALL_FILES;
        let for_files = (budget / part).min(most);
        let budget = budget - for_files;
        let for_files = for_files.max(least);
        let small_files = QuickCache::with_weighter((for_files >> 12) as usize, for_files, FileWeighter);
        // The largest item that fits is a part of a shard, so a small cache has few shards.
        let shards = (budget / policy.shard).clamp(1, 64).next_power_of_two() as usize;
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(
                usize::try_from(budget / 1024)
                    .unwrap_or(usize::MAX)
                    .clamp(16, 1 << 20),
            )
            .weight_capacity(budget)
            .hot_allocation(policy.frequent)
            .build()
            .expect("because all mandatory options are given and in range");
        let items = Items::with_options(
            options,
            ValueWeighter,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        );
        Arc::new(Cache {
            item_limit: items.shard_capacity() / 4,
            items,
            files: QuickCache::new(open_file_budget(OPEN_FILES)),
            small_files,
            dirs: ShardDirs::default(),
            instances: Mutex::default(),
            next_instance: AtomicU32::new(0),
            counters: Counters::default(),
            spare_buffers: Arc::default(),
        })
    }

    /// Bytes that all values weigh now.
    pub fn used(&self) -> u64 {
        self.items.weight()
    }

    /// The counters since the process began.
    pub fn counts(&self) -> CacheCounts {
        self.counters.sums()
    }

    /// The number of the instance of this name: the same number for the same name.
    pub(crate) fn instance(&self, name: String) -> Instance {
        let mut instances = self.instances.lock();
        let next = || self.next_instance.fetch_add(1, Ordering::Relaxed);
        Instance(*instances.entry(name).or_insert_with(next))
    }

    /// A number for an instance that has no name.
    pub(crate) fn unnamed_instance(&self) -> Instance {
        Instance(self.next_instance.fetch_add(1, Ordering::Relaxed))
    }

    /// A new number for the instance of this name, because the values cached under `old` are no longer valid.
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

    /// True if a value of this many bytes is small enough to be cached.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        bytes <= self.item_limit
    }

    /// The cached value.
    pub(crate) fn get<T: Cached>(&self, key: &Key) -> Option<T> {
        let value = self.items.get(key).and_then(|item| T::from_value(item.value));
        match value {
            Some(_) => self.counters.hits.add(),
            None => self.counters.misses.add(),
        }
        value
    }

    /// Adds a value, or replaces it.
    pub(crate) fn insert<T: Cached>(&self, key: Key, value: T) {
        self.items.insert(key, WeighedValue::new(value));
    }

    /// Returns the value. If it is missing, `load` makes it, while other threads that need it wait.
    ///
    /// # Errors
    /// Those of `load`; that of [`ReadMode::check_may_wait`] if the value is missing.
    pub(crate) fn get_or_load<T: Cached>(
        &self,
        mode: &ReadMode,
        key: Key,
        load: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.item_limit == 0 {
            mode.check_may_wait()?;
            return load();
        }
        let item = match self.items.get(&key) {
            Some(item) => {
                self.counters.hits.add();
                item
            }
            None => {
                mode.check_may_wait()?;
                let mut loaded = false;
                let item = self.items.get_or_insert_with(&key, || {
                    loaded = true;
                    load().map(WeighedValue::new)
                })?;
                match loaded {
                    true => self.counters.misses.add(),
                    false => self.counters.waits.add(),
                }
                item
            }
        };
        Ok(T::from_value(item.value).expect("because the key's kind is that of the type"))
    }

    /// A cached open file.
    pub(crate) fn file(&self, key: &FileKey) -> Option<Arc<RevFile>> {
        self.small_files
            .get(key)
            .or_else(|| self.files.get(key).inspect(|file| file.note_use()))
    }

    /// Closes all files.
    pub(crate) fn close_files(&self) {
        self.files.clear();
    }

    /// Closes the files and directories that were not read since the last call. A file that stays open keeps its room on the disk after it was
    /// deleted, its file system from being unmounted, and on network file systems its directory from being removed.
    pub fn close_idle_files(&self) {
        self.files.retain(|_, file| file.take_use());
        self.dirs.close_old();
    }

    /// Adds an open file.
    pub(crate) fn insert_file(&self, key: FileKey, file: Arc<RevFile>) {
        match file.bytes().is_whole() {
            true => self.small_files.insert(key, file),
            false => self.files.insert(key, file),
        }
    }

    /// Removes an open file. It is closed when its last user is done.
    pub(crate) fn drop_file(&self, key: &FileKey) {
        self.small_files.remove(key);
        self.files.remove(key);
    }

    /// Removes the files of unpacked revisions below `rev`, whose shards have been packed.
    pub(crate) fn drop_unpacked(&self, instance: Instance, rev: u64) {
        let stays = |key: &FileKey| key.0 != instance || key.2 || key.1 >= rev;
        self.small_files.retain(|key, _| stays(key));
        self.files.retain(|key, _| stays(key));
    }

    /// The open directories of shards.
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
    use crate::store::path_chain::PathChain;
    use base::{Code, Error, Props};

    fn key(cache: &Cache, item: u64) -> Key {
        Key::new::<Chunk>(cache.instance("r".into()), 1, item)
    }

    fn chunk(len: usize) -> Chunk {
        Chunk::new(Arc::new(vec![7; len]))
    }

    #[test]
    fn the_cache_stays_within_its_budget() {
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
    fn a_job_of_one_pass_caches_the_heaviest_value() {
        let cache = Cache::for_one_pass(1 << 30);
        let key = Key::new::<Arc<Mutex<PathChain>>>(cache.instance("r".into()), 1, 0);
        cache.insert(key, Arc::new(Mutex::new(PathChain::default())));
        assert!(cache.get::<Arc<Mutex<PathChain>>>(&key).is_some());
    }

    #[test]
    fn a_failed_load_is_not_cached() {
        let cache = Cache::new(1 << 20);
        let failed = cache.get_or_load::<Chunk>(&ReadMode::MayWait, key(&cache, 1), || {
            Err(Error::bare(Code::FS_CORRUPT))
        });
        assert_eq!(
            failed.map(|_| ()).expect_err("the loader's error").code(),
            Code::FS_CORRUPT
        );
        let loaded = cache
            .get_or_load(&ReadMode::MayWait, key(&cache, 1), || Ok(chunk(3)))
            .expect("loads");
        assert_eq!(loaded.bytes().len(), 3);
        let hit = cache.get_or_load::<Chunk>(&ReadMode::MayWait, key(&cache, 1), || {
            Err(Error::bare(Code::FS_CORRUPT))
        });
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
                .get_or_load(&ReadMode::MayWait, key(&cache, 1), || Ok(chunk(3)))
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
                    cache
                        .get_or_load(&ReadMode::MayWait, key(&cache, 1), load)
                        .expect("loads");
                });
            }
        });
        assert_eq!(loads.into_inner(), 1);
    }
}
