//! Histories: copies of copies, replaced and lazily copied nodes, compared with `svnlook history` and `svn log`.

use std::collections::BTreeMap;
use std::fmt::Write;

use base::{FsPath, Revnum};
use fsfs::{Fs, Root};

use crate::compare;
use crate::incumbent::Repository;

/// Random numbers, the same each time.
struct TestRandom(u64);

impl TestRandom {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A dump stream of `count` revisions full of copies.
pub(crate) fn random_history(seed: u64, count: usize) -> Vec<u8> {
    let mut random = TestRandom(seed);
    // Paths; true for directories.
    let mut trees: Vec<BTreeMap<String, bool>> = vec![BTreeMap::new()];
    let mut dump = "SVN-fs-dump-format-version: 2\n\n".to_owned();
    for rev in 1..=count {
        write!(
            dump,
            "Revision-number: {rev}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        )
        .unwrap();
        let mut tree = trees[rev - 1].clone();
        let mut touched: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(4) {
            let dirs: Vec<String> = tree
                .iter()
                .filter(|(_, is_dir)| **is_dir)
                .map(|(path, _)| path.clone())
                .chain([String::new()])
                .collect();
            let parent = dirs[random.below(dirs.len())].clone();
            let path = format!("{parent}/n{}", random.below(7));
            let overlaps = |other: &String| {
                other.starts_with(&format!("{path}/"))
                    || path.starts_with(&format!("{other}/"))
                    || *other == path
            };
            if path.len() > 20 || touched.iter().any(overlaps) {
                continue;
            }
            let existing = tree.get(&path).copied();
            let name = path.trim_start_matches('/');
            match random.below(20) {
                0 if existing.is_some() => {
                    write!(dump, "Node-path: {name}\nNode-action: delete\n\n").unwrap();
                    remove(&mut tree, &path);
                }
                1..=6 => {
                    let from = random.below(rev);
                    let sources: Vec<_> = trees[from]
                        .iter()
                        .map(|(path, is_dir)| (path.clone(), *is_dir))
                        .collect();
                    if sources.is_empty() {
                        continue;
                    }
                    let (source, is_dir) = sources[random.below(sources.len())].clone();
                    if existing.is_some() {
                        write!(dump, "Node-path: {name}\nNode-action: delete\n\n").unwrap();
                        remove(&mut tree, &path);
                    }
                    let kind = if is_dir { "dir" } else { "file" };
                    let from_path = source.trim_start_matches('/');
                    write!(
                        dump,
                        "Node-path: {name}\nNode-kind: {kind}\nNode-action: add\nNode-copyfrom-rev: {from}\n\
                         Node-copyfrom-path: {from_path}\n\n"
                    )
                    .unwrap();
                    let below = format!("{source}/");
                    for (old, is_dir) in &trees[from] {
                        if *old == source || old.starts_with(&below) {
                            tree.insert(format!("{path}{}", &old[source.len()..]), *is_dir);
                        }
                    }
                    // Sometimes a node inside the copy is changed in the same revision.
                    let inside: Vec<_> = tree
                        .iter()
                        .filter(|(p, is_dir)| p.starts_with(&path) && !**is_dir)
                        .map(|(p, _)| p)
                        .collect();
                    if !inside.is_empty() && random.below(2) == 0 {
                        change(&mut dump, inside[random.below(inside.len())], &mut random);
                    }
                }
                7..=9 if existing.is_none() => {
                    write!(dump, "Node-path: {name}\nNode-kind: dir\nNode-action: add\n\n").unwrap();
                    tree.insert(path.clone(), true);
                }
                _ if existing.is_none() => {
                    write!(
                        dump,
                        "Node-path: {name}\nNode-kind: file\nNode-action: add\nText-content-length: 1\n\
                         Content-length: 1\n\na\n\n"
                    )
                    .unwrap();
                    tree.insert(path.clone(), false);
                }
                _ if existing == Some(false) => change(&mut dump, &path, &mut random),
                _ => continue,
            }
            touched.push(path);
        }
        trees.push(tree);
    }
    dump.into_bytes()
}

fn remove(tree: &mut BTreeMap<String, bool>, path: &str) {
    let below = format!("{path}/");
    tree.retain(|other, _| other != path && !other.starts_with(&below));
}

fn change(dump: &mut String, path: &str, random: &mut TestRandom) {
    let text = format!("text {:010}", random.below(1 << 30));
    write!(
        dump,
        "Node-path: {}\nNode-kind: file\nNode-action: change\nText-content-length: 15\nContent-length: 15\n\n{text}\n\n",
        path.trim_start_matches('/')
    )
    .unwrap();
}

/// As `svnlook history` prints it.
pub(crate) fn history(root: &Root, path: &str) -> String {
    let mut out = "REVISION   PATH\n--------   ----\n".to_owned();
    let mut history = root
        .node(&FsPath::parse(path).unwrap())
        .unwrap()
        .history()
        .unwrap();
    while let Some((rev, path)) = history.prev(true).unwrap() {
        let there = root.fs().root(rev).unwrap();
        let node = there.node_of_item(&path, history.last_item().unwrap()).unwrap();
        assert_eq!(node.id(), there.node(&path).unwrap().id());
        writeln!(out, "{rev:8}   {path}").unwrap();
    }
    out
}

fn check(repository: &Repository, fs: &Fs, revs: impl Iterator<Item = u64>) -> usize {
    let mut compared = 0;
    for rev in revs {
        let root = fs.root(Revnum(rev)).unwrap();
        for path in compare::read(&root).keys() {
            let theirs = repository.svnlook(&["history", "-r", &rev.to_string(), path]);
            assert_eq!(history(&root, path), theirs, "history of {path}@{rev}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn history_of_random_copies() {
    for (version, seed) in [("1.14", 15), ("1.3", 17)] {
        let repository = Repository::create(version, 10, "");
        repository.load(&random_history(seed, 90));
        let fs = compare::open(&repository);
        let compared = check(&repository, &fs, [90, 61].into_iter());
        assert!(compared > 20, "only {compared} nodes were compared");
    }
}

#[test]
fn history_without_crossing_copies_ends_at_the_copy() {
    let sample = &crate::sample::sample().repository;
    let fs = compare::open(sample);
    let root = fs.root(fs.youngest().unwrap()).unwrap();
    let node = root
        .node(&FsPath::parse("/branches/nested/b1/big.txt").unwrap())
        .unwrap();
    let copy = node.closest_copy().unwrap().unwrap();
    assert_eq!(copy, (Revnum(12), FsPath::parse("/branches/nested").unwrap()));
    let mut history = node.history().unwrap();
    assert_eq!(
        history.prev(false).unwrap().map(|found| found.0),
        Some(Revnum(12))
    );
    assert_eq!(history.prev(false).unwrap(), None);
    assert_eq!(node.origin_rev().unwrap(), Revnum(2));
    let root = fs.root(Revnum(1)).unwrap().root_node().unwrap();
    assert_eq!(root.origin_rev().unwrap(), Revnum(0));
    assert_eq!(root.closest_copy().unwrap(), None);
}
