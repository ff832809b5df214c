//! Random commits by both sides, above all nested, repeated and changed copies. The revision files are equal byte for
//! byte, or, where libraries compress differently, the trees are.

use std::collections::BTreeMap;

use base::Revnum;

use super::script::{CommitStep, copy_of, ours, theirs, verify};
use crate::compare;
use crate::incumbent::Repository;

/// Pseudo-random numbers (SplitMix64).
pub(crate) struct TestRandom(pub(crate) u64);

impl TestRandom {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Paths of a tree: true for directories.
pub(crate) type TreePaths = BTreeMap<String, bool>;

fn pick(random: &mut TestRandom, tree: &TreePaths, dirs: bool) -> Option<String> {
    let paths: Vec<_> = tree.iter().filter(|(_, dir)| **dir == dirs).collect();
    let at = random.below(paths.len());
    paths.get(at).map(|(path, _)| (*path).clone())
}

fn leak(text: String) -> &'static str {
    text.leak()
}

/// A random step, and the tree after it.
pub(crate) fn step(random: &mut TestRandom, trees: &[TreePaths]) -> (CommitStep, TreePaths) {
    let mut tree = trees.last().unwrap().clone();
    loop {
        let name = format!("n{}", random.below(6));
        let parent = match random.below(4) {
            0 => String::new(),
            _ => pick(random, &tree, true).unwrap_or_default(),
        };
        let free = if parent.is_empty() {
            name
        } else {
            format!("{parent}/{name}")
        };
        let is_free = !tree.contains_key(&free) && free.len() < 30;
        match random.below(10) {
            0 if is_free => {
                tree.insert(free.clone(), true);
                return (CommitStep::Mkdir(leak(free)), tree);
            }
            1 | 2 if is_free => {
                tree.insert(free.clone(), false);
                return (
                    CommitStep::Put(leak(free), format!("text {}\n", random.below(9)).into_bytes()),
                    tree,
                );
            }
            3..=5 => {
                if let Some(file) = pick(random, &tree, false) {
                    let text = format!("text {}\n", random.below(9));
                    return (CommitStep::Put(leak(file), text.into_bytes()), tree);
                }
            }
            6 | 7 if is_free => {
                let rev = 1 + random.below(trees.len() - 1);
                let Some(old) = trees.get(rev) else { continue };
                let is_dir = random.below(3) > 0;
                let Some(source) = pick(random, old, is_dir) else {
                    continue;
                };
                let inside = format!("{source}/");
                let moved: Vec<_> = old
                    .iter()
                    .filter(|(path, _)| **path == source || path.starts_with(&inside))
                    .map(|(path, dir)| (format!("{free}{}", &path[source.len()..]), *dir))
                    .collect();
                if moved.len() > 40 {
                    continue;
                }
                tree.extend(moved);
                return (CommitStep::Cp(rev as u64, leak(source), leak(free)), tree);
            }
            8 => {
                let is_dir = random.below(2) == 0;
                let Some(node) = pick(random, &tree, is_dir) else {
                    continue;
                };
                let (name, value) = match random.below(2) {
                    0 => ("p", "v".to_owned()),
                    _ => ("svn:mergeinfo", format!("/x:{}", 1 + random.below(3))),
                };
                if random.below(4) == 0 {
                    return (CommitStep::Propdel(leak(node), name), tree);
                }
                return (CommitStep::Propset(leak(node), name, leak(value)), tree);
            }
            9 if tree.len() > 12 => {
                let is_dir = random.below(3) == 0;
                let Some(node) = pick(random, &tree, is_dir) else {
                    continue;
                };
                let inside = format!("{node}/");
                tree.retain(|path, _| *path != node && !path.starts_with(&inside));
                return (CommitStep::Rm(leak(node)), tree);
            }
            _ => {}
        }
    }
}

fn run(version: &str, conf: &str, seed: u8, steps: usize) {
    let a = Repository::create(version, 1000, conf);
    let b = copy_of(&a);
    let fs = compare::open(&a);
    let mut random = TestRandom(u64::from(seed));
    let mut trees = vec![TreePaths::new()];
    for at in 1..=steps {
        let (op, tree) = step(&mut random, &trees);
        let op = [op];
        let committed =
            ours(&fs, &op).unwrap_or_else(|e| panic!("{version} seed {seed} r{at} {op:?}: {e:?}"));
        assert_eq!(committed.rev, Revnum(at as u64));
        theirs(&b, &op);
        let read = |repository: &Repository| std::fs::read(repository.rev_file(at as u64)).unwrap();
        let (mine, other) = (read(&a), read(&b));
        assert!(
            mine == other,
            "{version} seed {seed} r{at} {op:?}:\n{}\n---\n{}",
            String::from_utf8_lossy(&mine),
            String::from_utf8_lossy(&other)
        );
        trees.push(tree);
    }
    verify(&a);
}

/// The number of seeds after the first: `SVEN_RANDOM_SEEDS`.
pub(crate) fn seeds() -> u8 {
    let more = std::env::var("SVEN_RANDOM_SEEDS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn random_commits_make_equal_files_in_format_8() {
    for seed in 0..=seeds() {
        run("1.14", "[deltification]\ncompression = none\n", 10 + seed, 60);
    }
}

#[test]
fn random_commits_make_equal_files_in_fsx() {
    for seed in 0..=seeds() {
        run("fsx", "", 110 + seed, 60);
    }
}

#[test]
fn random_commits_make_equal_files_in_format_2() {
    for seed in 0..=seeds() {
        run("1.4", "", 60 + seed, 40);
    }
}
