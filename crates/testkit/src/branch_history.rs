//! Random histories of branches: a trunk, branches of it and of each other, copies of parts of them, renames,
//! replacements, reintroductions, and `svn:mergeinfo` on any of their nodes, both as merges write it and as no merge
//! would.

mod mergeinfo;

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Random;
use crate::random_history::RandomHistory;
use crate::stream::{Content, DumpStream, RecordKind};

#[derive(Clone)]
struct BranchNode {
    kind: RecordKind,
    lines: Vec<String>,
    mergeinfo: Option<String>,
    color: Option<String>,
}

type BranchTree = BTreeMap<String, BranchNode>;

/// Generates a history of `revisions` revisions, at least one.
pub fn history(seed: u64, revisions: u64) -> RandomHistory {
    let mut generator = BranchGenerator {
        random: Random::new(seed),
        stream: DumpStream::new("5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d3"),
        trees: vec![BranchTree::from([(String::new(), dir())])],
        all_paths: BTreeSet::new(),
        texts: BTreeSet::from([String::new()]),
        edited: BTreeSet::new(),
    };
    generator.random.next();
    generator.first();
    for _ in 1..revisions {
        generator.revision();
    }
    let kinds = |tree: &BranchTree| {
        tree.iter()
            .map(|(path, node)| (path.clone(), node.kind))
            .collect()
    };
    RandomHistory {
        trees: generator.trees.iter().map(kinds).collect(),
        texts: generator.texts,
        stream: generator.stream,
        paths: generator
            .all_paths
            .into_iter()
            .map(|path| format!("/{path}"))
            .collect(),
        youngest: revisions.max(1),
    }
}

fn dir() -> BranchNode {
    BranchNode {
        kind: RecordKind::Dir,
        lines: Vec::new(),
        mergeinfo: None,
        color: None,
    }
}

impl BranchNode {
    fn text(&self) -> String {
        self.lines.concat()
    }
}

struct BranchGenerator {
    random: Random,
    stream: DumpStream,
    /// The tree of every revision; the last one is that of the revision under construction.
    trees: Vec<BranchTree>,
    all_paths: BTreeSet<String>,
    texts: BTreeSet<String>,
    /// The files that already have a new text in this revision. A second text would leave the first without a node;
    /// `history::orphans` has that case.
    edited: BTreeSet<String>,
}

impl BranchGenerator {
    /// Returns the number of the revision under construction.
    fn number(&self) -> usize {
        self.trees.len() - 1
    }

    fn tree(&mut self) -> &mut BranchTree {
        self.trees.last_mut().expect("because there is revision 0")
    }

    fn begin(&mut self) {
        let tree = self.tree().clone();
        self.trees.push(tree);
        self.edited.clear();
        let log = format!("log of r{}", self.number());
        self.stream.rev(&log);
    }

    fn first(&mut self) {
        self.begin();
        for path in ["trunk", "branches", "tags", "trunk/A", "trunk/A/B", "trunk/C"] {
            self.put(path, dir());
            self.stream.add(RecordKind::Dir, path, Content::props(&[]));
        }
        for path in ["trunk/f", "trunk/A/f", "trunk/A/B/g", "trunk/C/h"] {
            self.new_file(path, 8);
        }
    }

    fn new_file(&mut self, path: &str, lines: usize) {
        let lines = (0..lines).map(|line| format!("line {line} of {path}\n"));
        let node = BranchNode {
            kind: RecordKind::File,
            lines: lines.collect(),
            ..dir()
        };
        self.stream.file(path, node.text());
        self.put(path, node);
    }

    fn revision(&mut self) {
        self.begin();
        match self.random.below(30) {
            0..=6 => self.edit(),
            7..=10 => self.branch(),
            11..=12 => self.copy(),
            13 => self.rename(),
            14 => self.rename_branch(),
            15 => self.delete(),
            16..=17 => self.reintroduce(),
            18 => self.add(),
            19..=25 => self.merge(),
            _ => self.unusual_mergeinfo(),
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.random.below(from.len())].clone())
    }

    fn put(&mut self, path: &str, node: BranchNode) {
        self.all_paths.insert(path.to_owned());
        self.texts.insert(node.text());
        self.tree().insert(path.to_owned(), node);
    }

    /// Returns the roots of the trunk, branches and tags.
    fn roots(&self, number: usize) -> Vec<String> {
        let is_root = |path: &str| path == "trunk" || (path.matches('/').count() == 1 && is_branch(path));
        let dirs = self.trees[number]
            .iter()
            .filter(|(_, node)| node.kind == RecordKind::Dir);
        dirs.map(|(path, _)| path.clone())
            .filter(|path| is_root(path))
            .collect()
    }

    /// Returns the nodes in the trunk, branches and tags, their roots included.
    fn nodes(&self, kind: Option<RecordKind>) -> Vec<String> {
        let tree = &self.trees[self.number()];
        let all = tree.iter().filter(|(path, node)| {
            kind.is_none_or(|kind| node.kind == kind) && (path.starts_with("trunk") || is_branch(path))
        });
        all.map(|(path, _)| path.clone()).collect()
    }

    /// Writes the record of a property change.
    fn change_props(&mut self, path: &str) {
        let node = self.tree()[path].clone();
        let mut props: Vec<(&str, &[u8])> = Vec::new();
        if let Some(color) = &node.color {
            props.push(("color", color.as_bytes()));
        }
        if let Some(mergeinfo) = &node.mergeinfo {
            props.push(("svn:mergeinfo", mergeinfo.as_bytes()));
        }
        self.stream.change(node.kind, path, Content::props(&props));
    }

    fn edit(&mut self) {
        for _ in 0..1 + self.random.below(2) {
            let files = self.nodes(Some(RecordKind::File));
            if let Some(path) = self.pick(&files) {
                self.edit_file(&path);
            }
        }
        if self.one_in(6) {
            let all = self.nodes(None);
            if let Some(path) = self.pick(&all) {
                let color = format!("c{}", self.number());
                self.tree()
                    .entry(path.clone())
                    .and_modify(|node| node.color = Some(color));
                self.change_props(&path);
            }
        }
    }

    fn edit_file(&mut self, path: &str) {
        if !self.edited.insert(path.to_owned()) {
            return;
        }
        let number = self.number();
        let mut node = self.tree()[path].clone();
        let line = self.random.below(node.lines.len().max(1));
        let text = format!("line {line} in r{number}\n");
        match node.lines.get_mut(line) {
            Some(old) if !old.starts_with(&text) => *old = text,
            _ => node.lines.push(text),
        }
        if self.one_in(5) {
            node.lines.push(format!("appended in r{number}\n"));
        }
        self.stream.edit(path, node.text());
        self.put(path, node);
    }

    /// Copies `source` of a revision to `to`, replacing the node there.
    fn copy_to(&mut self, number: usize, source: &str, to: &str) -> bool {
        let below = format!("{source}/");
        let copied: Vec<(String, BranchNode)> = self.trees[number]
            .iter()
            .filter(|(path, _)| *path == source || path.starts_with(&below))
            .map(|(path, node)| (format!("{to}{}", &path[source.len()..]), node.clone()))
            .collect();
        let Some(kind) = self.trees[number].get(source).map(|node| node.kind) else {
            return false;
        };
        if copied.len() + self.tree().len() > 140 || to.matches('/').count() > 5 {
            return false;
        }
        if self.tree().contains_key(to) {
            self.stream.replace_by_copy(kind, to, number as u64, source);
            self.remove(to);
        } else {
            self.stream.copy(kind, to, number as u64, source);
        }
        for (path, node) in copied {
            self.put(&path, node);
        }
        true
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.tree().retain(|p, _| p != path && !p.starts_with(&below));
    }

    /// Returns the last revision or, in a third of the cases, an earlier one.
    fn earlier(&mut self) -> usize {
        let last = self.number() - 1;
        if self.one_in(3) {
            1 + self.random.below(last)
        } else {
            last
        }
    }

    fn branch(&mut self) {
        let number = self.earlier();
        let roots = self.roots(number);
        let Some(source) = self.pick(&roots) else {
            return;
        };
        let names = [
            "branches/b1",
            "branches/b2",
            "branches/b3",
            "tags/t1",
            "branches/b1",
        ];
        let to = names[self.random.below(names.len())];
        if to == source && number == self.number() - 1 {
            return;
        }
        let parent = to.split('/').next().unwrap_or_default();
        if self.tree().contains_key(parent) && self.copy_to(number, &source, to) && self.one_in(3) {
            let files = self.nodes(Some(RecordKind::File));
            let files: Vec<String> = files.into_iter().filter(|path| path.starts_with(to)).collect();
            if let Some(path) = self.pick(&files) {
                self.edit_file(&path);
            }
        }
    }

    /// Returns a path for a new node in one of the trees.
    fn new_path(&mut self) -> Option<String> {
        let dirs = self.nodes(Some(RecordKind::Dir));
        let parent = self.pick(&dirs)?;
        let name = ["A", "B", "C", "f", "g", "h"][self.random.below(6)];
        Some(format!("{parent}/{name}"))
    }

    fn copy(&mut self) {
        let number = self.earlier();
        let sources: Vec<String> = self.trees[number]
            .keys()
            .filter(|path| path.matches('/').count() > 0)
            .cloned()
            .collect();
        if let (Some(source), Some(to)) = (self.pick(&sources), self.new_path()) {
            self.copy_to(number, &source, &to);
        }
    }

    fn rename(&mut self) {
        let sources = self.nodes(None);
        let sources: Vec<String> = sources
            .into_iter()
            .filter(|p| p.matches('/').count() > 1)
            .collect();
        if let (Some(source), Some(to)) = (self.pick(&sources), self.new_path()) {
            self.move_to(&source, &to);
        }
    }

    fn rename_branch(&mut self) {
        let roots = self.roots(self.number());
        let to = ["branches/b1", "branches/b4", "tags/t1"][self.random.below(3)];
        if let Some(source) = self.pick(&roots)
            && source != "trunk"
        {
            self.move_to(&source, to);
        }
    }

    fn move_to(&mut self, source: &str, to: &str) {
        let is_inside = |path: &str, of: &str| path == of || path.starts_with(&format!("{of}/"));
        let last = self.number() - 1;
        if !is_inside(to, source) && !is_inside(source, to) && self.copy_to(last, source, to) {
            self.stream.delete(source);
            self.remove(source);
        }
    }

    fn delete(&mut self) {
        let nodes = self.nodes(None);
        if let Some(path) = self.pick(&nodes).filter(|path| path != "trunk") {
            self.stream.delete(&path);
            self.remove(&path);
        }
    }

    /// Copies a deleted node back to its path, or an older state over the current one.
    fn reintroduce(&mut self) {
        let number = 1 + self.random.below(self.number() - 1);
        let gone: Vec<String> = self.trees[number]
            .keys()
            .filter(|path| !self.trees[self.number()].contains_key(*path))
            .cloned()
            .collect();
        let Some(path) = self.pick(&gone).or_else(|| self.new_path()) else {
            return;
        };
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if self
            .tree()
            .get(parent)
            .is_some_and(|node| node.kind == RecordKind::Dir)
        {
            self.copy_to(number, &path, &path);
        }
    }

    fn add(&mut self) {
        let Some(path) = self.new_path() else {
            return;
        };
        if self.tree().contains_key(&path) {
            return;
        }
        if self.one_in(2) {
            self.stream.add(RecordKind::Dir, &path, Content::props(&[]));
            self.put(&path, dir());
        } else {
            self.new_file(&path, 5);
        }
    }
}

/// True for paths below `branches` and `tags`.
fn is_branch(path: &str) -> bool {
    path.starts_with("branches/") || path.starts_with("tags/")
}
