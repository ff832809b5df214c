//! Damaged, missing and superfluous files, and many readers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::UNIX_EPOCH;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use super::*;

const BIG: u64 = 1 << 30;

fn open(budget: u64) -> (TempDir, BlockCache) {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = BlockCache::open(&dir.path().join("cache"), budget, Arc::default()).expect("a cache");
    (dir, cache)
}

fn key(number: u64) -> BlockKey {
    BlockKey {
        object: "instance/r/000000/7-publication".into(),
        number,
        checksum: None,
    }
}

/// The content of a block: different in each byte's neighbourhood and for each number.
fn content(number: u64, length: usize) -> Bytes {
    let mut bytes = vec![0; length];
    ChaCha8Rng::seed_from_u64(number).fill(&mut bytes[..]);
    bytes.into()
}

fn read_all(cache: &BlockCache, number: u64, length: usize, fetched: &AtomicUsize) -> Vec<u8> {
    let fetch = || {
        fetched.fetch_add(1, Ordering::SeqCst);
        Ok(content(number, length))
    };
    let mut out = vec![0; length];
    let mut at = 0;
    while at < length {
        match cache.read(&key(number), length, at, &mut out[at..], &fetch) {
            Ok(0) => panic!("ends at {at}"),
            Ok(count) => at += count,
            Err(e) => panic!("{e}"),
        }
    }
    out
}

fn damaged(cache: &BlockCache) -> u64 {
    cache.metrics.damaged_blocks.load(Ordering::SeqCst)
}

#[test]
fn a_block_is_fetched_once_and_read_from_the_disk() {
    for length in [1, 100, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, BLOCK as usize] {
        let (_dir, cache) = open(BIG);
        let fetched = AtomicUsize::new(0);
        assert_eq!(read_all(&cache, 3, length, &fetched), content(3, length));
        cache.open.clear();
        assert_eq!(read_all(&cache, 3, length, &fetched), content(3, length));
        assert_eq!(fetched.into_inner(), 1, "length {length}");
    }
}

#[test]
fn each_damage_of_a_file_is_healed() {
    let length = 2 * CHUNK + 100;
    let (_dir, cache) = open(BIG);
    let fetched = AtomicUsize::new(0);
    read_all(&cache, 0, length, &fetched);
    let path = cache.shared.path(&key(0));
    let good = fs::read(&path).expect("the file");
    let header = good.len() - length;
    // Each byte of the header, and some of each chunk.
    let places = (0..header)
        .chain((header..good.len()).step_by(997))
        .chain([good.len() - 1]);
    for (count, place) in places.enumerate() {
        for is_open in [true, false] {
            if !is_open {
                cache.open.clear();
            }
            let mut bad = good.clone();
            bad[place] ^= 1 << (count % 8);
            // The same file, as bad sectors would have it: an open one is damaged, too.
            let file = File::options().write(true).open(&path).expect("the file");
            file.write_all_at(&bad, 0).expect("writing");
            assert_eq!(
                read_all(&cache, 0, length, &fetched),
                content(0, length),
                "byte {place}"
            );
            // An open file does not read its header again.
            if !is_open || place >= header {
                assert_eq!(fs::read(&path).expect("the file"), good, "byte {place}");
            }
            fs::write(&path, &good).expect("writing");
        }
    }
    assert!(damaged(&cache) > 0);
}

#[test]
fn a_file_of_another_length_or_block_is_not_served() {
    let length = CHUNK + 100;
    let (_dir, cache) = open(BIG);
    let fetched = AtomicUsize::new(0);
    for number in 0..2 {
        read_all(&cache, number, length, &fetched);
    }
    let path = cache.shared.path(&key(0));
    let good = fs::read(&path).expect("the file");
    for size in [0, 10, good.len() - 1, good.len() + 1] {
        for is_open in [true, false] {
            if !is_open {
                cache.open.clear();
            }
            let file = File::options().write(true).open(&path).expect("the file");
            file.set_len(size as u64).expect("cutting");
            assert_eq!(
                read_all(&cache, 0, length, &fetched),
                content(0, length),
                "{size}"
            );
            fs::write(&path, &good).expect("writing");
        }
    }
    fs::copy(cache.shared.path(&key(1)), &path).expect("copying");
    cache.open.clear();
    assert_eq!(read_all(&cache, 0, length, &fetched), content(0, length));
}

#[test]
fn the_directory_may_disappear() {
    let (_dir, cache) = open(BIG);
    let fetched = AtomicUsize::new(0);
    read_all(&cache, 0, 1000, &fetched);
    fs::remove_dir_all(&cache.shared.dir).expect("removing");
    assert_eq!(read_all(&cache, 0, 1000, &fetched), content(0, 1000));
    assert_eq!(read_all(&cache, 1, 1000, &fetched), content(1, 1000));
    cache.open.clear();
    assert_eq!(read_all(&cache, 0, 1000, &fetched), content(0, 1000));
    assert_eq!(read_all(&cache, 1, 1000, &fetched), content(1, 1000));
    // Block 1 is on disk again.
    assert_eq!(fetched.into_inner(), 3);
}

#[test]
fn without_a_disk_blocks_are_served_from_memory() {
    for budget in [0, BIG] {
        let (_dir, cache) = open(budget);
        fs::remove_dir_all(&cache.shared.dir).expect("removing");
        fs::write(&cache.shared.dir, "no directory").expect("writing");
        let fetched = AtomicUsize::new(0);
        for _ in 0..3 {
            assert_eq!(read_all(&cache, 0, 3 * CHUNK, &fetched), content(0, 3 * CHUNK));
        }
        assert_eq!(fetched.into_inner(), 1);
    }
}

#[test]
fn an_error_of_the_store_is_returned_and_not_kept() {
    let (_dir, cache) = open(BIG);
    let mut buf = [0; 10];
    let failed = cache.read(&key(0), 1000, 0, &mut buf, &|| {
        Err(io::ErrorKind::ConnectionReset.into())
    });
    assert_eq!(failed.map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset));
    let short = cache.read(&key(0), 1000, 0, &mut buf, &|| Ok(content(0, 999)));
    assert_eq!(short.map_err(|e| e.kind()), Err(io::ErrorKind::UnexpectedEof));
    let fetched = AtomicUsize::new(0);
    assert_eq!(read_all(&cache, 0, 1000, &fetched), content(0, 1000));
}

#[test]
fn readers_of_one_block_wait_for_one_fetch() {
    let (_dir, cache) = open(BIG);
    let fetched = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let fetch = || {
                    thread::sleep(Duration::from_millis(50));
                    fetched.fetch_add(1, Ordering::SeqCst);
                    Ok(content(0, 1000))
                };
                let mut buf = [0; 1000];
                let read = cache.read(&key(0), 1000, 0, &mut buf, &fetch).expect("a block");
                assert_eq!(buf[..read], content(0, 1000)[..read]);
            });
        }
    });
    assert_eq!(fetched.into_inner(), 1);
}

#[test]
fn the_files_that_were_not_opened_for_longest_are_removed() {
    let budget = 64 * BLOCK;
    let (_dir, cache) = open(budget);
    let fetched = AtomicUsize::new(0);
    let set_age = |number: u64, age: u64| {
        let file = File::options().write(true).open(cache.shared.path(&key(number)));
        let time = SystemTime::now() - Duration::from_secs(age);
        file.expect("the file")
            .set_modified(time)
            .expect("setting its time");
    };
    // One of two is opened again before others are removed.
    for number in 0..56 {
        read_all(&cache, number, BLOCK as usize, &fetched);
        set_age(number, 1000 + 500 * (number % 2));
    }
    let left = cache.shared.dir.join("00");
    fs::create_dir_all(&left).expect("a directory");
    fs::write(left.join("new-left"), "x").expect("writing");
    let old = File::options()
        .write(true)
        .open(left.join("new-left"))
        .expect("the file");
    old.set_modified(UNIX_EPOCH).expect("setting its time");
    for number in 56..70 {
        read_all(&cache, number, BLOCK as usize, &fetched);
        while cache.shared.is_sweeping.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }
    cache.shared.sweep(0);
    let mut total = 0;
    cache.shared.each_file(|_, size, _| total += size);
    assert!(total <= budget / 8 * 7, "{total} of {budget}");
    assert!(total > budget / 2, "{total} of {budget}");
    assert!(!left.join("new-left").exists());
    for number in 0..70 {
        let is_there = cache.shared.path(&key(number)).exists();
        assert!(is_there || (number < 56 && number % 2 == 1), "block {number}");
    }
}

/// Readers at random places, while files are damaged, cut and removed.
#[test]
fn random_reads_are_right_while_files_are_damaged() {
    for seed in testkit::seeds("CACHE_SEED", 0..1) {
        let (_dir, cache) = open(40 * BLOCK);
        let lengths: Vec<usize> = (0..8)
            .map(|n| [300, CHUNK, 3 * CHUNK + 7, BLOCK as usize][n % 4])
            .collect();
        thread::scope(|scope| {
            for thread in 0..3 {
                let (cache, lengths) = (&cache, &lengths);
                scope.spawn(move || {
                    let mut random = ChaCha8Rng::seed_from_u64(seed * 100 + thread);
                    for _ in 0..300 {
                        let number = random.random_range(0..lengths.len());
                        let length = lengths[number];
                        if thread == 0 {
                            damage(cache, number as u64, &mut random);
                            continue;
                        }
                        let offset = random.random_range(0..length);
                        let offset = if random.random() {
                            offset / CHUNK * CHUNK
                        } else {
                            offset
                        };
                        let mut buf = vec![0; random.random_range(1..4 * CHUNK)];
                        let whole = content(number as u64, length);
                        let fetch = || Ok(whole.clone());
                        let read = cache.read(&key(number as u64), length, offset, &mut buf, &fetch);
                        let read = read.expect("a block");
                        assert!(read > 0);
                        assert_eq!(buf[..read], whole[offset..offset + read], "seed {seed}");
                    }
                });
            }
        });
    }
}

fn damage(cache: &BlockCache, number: u64, random: &mut ChaCha8Rng) {
    let path = cache.shared.path(&key(number));
    let Ok(file) = File::options().write(true).open(&path) else {
        return;
    };
    let size = file.metadata().map_or(1, |meta| meta.len().max(1));
    match random.random_range(0..4) {
        0 => _ = fs::remove_file(&path),
        1 => _ = file.set_len(random.random_range(0..size)),
        2 => cache.open.clear(),
        _ => _ = file.write_all_at(&random.random::<[u8; 8]>(), random.random_range(0..size)),
    }
    thread::sleep(Duration::from_millis(1));
}

#[test]
fn little_room_on_the_disk_is_left_to_commits() {
    let (dir, mut cache) = open(BIG);
    let root = dir.path().join("cache");
    // A disk that has room for 16 blocks, one of which is reserved.
    let (disk, others) = (16 * (BLOCK + (1 << 16)), Arc::new(AtomicU64::new(0)));
    let used = move |dir: &Path| -> u64 {
        let shared = Shared {
            dir: dir.to_owned(),
            budget: BIG,
            space: Box::new(|_| None),
            written: AtomicU64::new(0),
            is_sweeping: AtomicBool::new(false),
        };
        let mut used = 0;
        shared.each_file(|_, size, _| used += size);
        used
    };
    let by_others = others.clone();
    Arc::get_mut(&mut cache.shared).expect("because it is new").space = Box::new(move |dir| {
        Some(DiskSpace {
            free: disk.saturating_sub(used(dir) + by_others.load(Ordering::SeqCst)),
            size: disk,
        })
    });
    let fetched = AtomicUsize::new(0);
    let read = |number: u64| read_all(&cache, number, BLOCK as usize, &fetched);
    for number in 0..20 {
        assert_eq!(read(number), content(number, BLOCK as usize));
    }
    let free = || (cache.shared.space)(&root).expect("because the test says").free;
    assert!(free() >= disk / 16 && free() < disk / 8, "{}", free());
    // Room is made until new blocks are kept again.
    cache.keep_reserve();
    assert!(free() >= disk / 16 * 3, "{}", free());
    read(30);
    let before = fetched.load(Ordering::SeqCst);
    read(30);
    assert_eq!(fetched.load(Ordering::SeqCst), before);
    // What others write takes the place of blocks, and those go on to be read.
    others.store(disk / 16, Ordering::SeqCst);
    cache.keep_reserve();
    assert!(free() >= disk / 8, "{}", free());
    others.store(disk, Ordering::SeqCst);
    for _ in 0..8 {
        cache.keep_reserve();
    }
    let mut files = 0;
    cache.shared.each_file(|_, _, _| files += 1);
    assert_eq!(files, 0);
    assert_eq!(read(30), content(30, BLOCK as usize));
}
