//! Random histories: few names, so that paths are deleted and added again, many copies, and mergeinfo with any source
//! on any node.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Random;
use crate::stream::{Content, DumpStream, RecordKind, date};

/// A node, as far as the generator needs it.
#[derive(Clone, Debug, PartialEq)]
struct RandomNode {
    kind: RecordKind,
    props: BTreeMap<String, String>,
    text: String,
}

type RandomTree = BTreeMap<String, RandomNode>;

/// A history and the facts that tests need about it.
#[derive(Debug)]
pub struct RandomHistory {
    /// The history as a dump stream.
    pub stream: DumpStream,
    /// All paths that all_paths existed, with a leading slash.
    pub paths: Vec<String>,
    /// The last revision.
    pub youngest: u64,
    /// The kind of each path, without a leading slash, by revision. The root is "".
    pub trees: Vec<BTreeMap<String, RecordKind>>,
    /// All texts that files all_paths had.
    pub texts: BTreeSet<String>,
}

/// Generates a history of `revisions` revisions. A change of mergeinfo has one source, or with `many` up to three.
pub fn history(seed: u64, revisions: u64, many: bool) -> RandomHistory {
    let mut generator = HistoryGenerator {
        random: Random::new(seed),
        stream: DumpStream::new("5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d1"),
        trees: vec![RandomTree::from([(String::new(), node(RecordKind::Dir, ""))])],
        touched: BTreeSet::new(),
        all_paths: BTreeSet::new(),
        counter: 0,
        many,
    };
    generator.random.next();
    for _ in 0..revisions {
        generator.revision();
    }
    let kinds = |tree: &RandomTree| {
        tree.iter()
            .map(|(path, node)| (path.clone(), node.kind))
            .collect()
    };
    let texts = generator.trees.iter().flat_map(BTreeMap::values);
    RandomHistory {
        trees: generator.trees.iter().map(kinds).collect(),
        texts: texts.map(|node| node.text.clone()).collect(),
        stream: generator.stream,
        paths: generator
            .all_paths
            .into_iter()
            .map(|path| format!("/{path}"))
            .collect(),
        youngest: revisions,
    }
}

fn node(kind: RecordKind, text: &str) -> RandomNode {
    RandomNode {
        kind,
        props: BTreeMap::new(),
        text: text.into(),
    }
}

struct HistoryGenerator {
    random: Random,
    stream: DumpStream,
    /// The tree of every revision; the last one is that of the revision under construction.
    trees: Vec<RandomTree>,
    /// The paths with a record in this revision.
    touched: BTreeSet<String>,
    all_paths: BTreeSet<String>,
    counter: u64,
    many: bool,
}

impl HistoryGenerator {
    fn revision(&mut self) {
        let number = self.trees.len();
        self.begin(number);
        let tree = self.trees[number - 1].clone();
        self.trees.push(tree);
        self.touched.clear();
        let operations = if number == 1 { 8 } else { self.random.below(4) };
        for _ in 0..=operations {
            match self.random.below(if number == 1 { 3 } else { 20 }) {
                0..=2 => self.add(),
                3..=6 => self.edit(),
                7 => self.set_prop(),
                8..=9 => self.delete(),
                10..=13 => self.copy(),
                14 => self.rename(),
                15..=18 => self.merge(),
                _ => self.remove_mergeinfo(),
            }
        }
    }

    /// Begins a revision, some without author or log message, some with other properties.
    fn begin(&mut self, number: usize) {
        let (date, log) = (date(number), format!("r{number}"));
        let mut props: Vec<(&str, &[u8])> = vec![("svn:date", date.as_bytes())];
        if number % 7 != 5 {
            props.push(("svn:author", ["alice", "bob", "cécile"][number % 3].as_bytes()));
        }
        if number % 13 != 12 {
            props.push(("svn:log", log.as_bytes()));
        }
        if number % 11 == 9 {
            props.extend([("custom:one", &b"1"[..]), ("two", b"\0\n2")]);
        }
        self.stream.rev_with(&props);
    }

    fn tree(&mut self) -> &mut RandomTree {
        self.trees.last_mut().expect("because there is revision 0")
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.random.below(from.len())].clone())
    }

    fn existing(&mut self, kind: Option<RecordKind>) -> Option<String> {
        let paths: Vec<String> = self
            .tree()
            .iter()
            .filter(|(path, node)| !path.is_empty() && kind.is_none_or(|kind| node.kind == kind))
            .map(|(path, _)| path.clone())
            .collect();
        self.pick(&paths)
    }

    /// Returns a path for a new node in an existing directory.
    fn new_path(&mut self) -> String {
        let dirs: Vec<String> = self
            .tree()
            .iter()
            .filter(|(path, node)| node.kind == RecordKind::Dir && path.matches('/').count() < 2)
            .map(|(path, _)| path.clone())
            .collect();
        let parent = self.pick(&dirs).unwrap_or_default();
        let name = ["A", "B", "C", "f", "g", "B b", "B-b"][self.random.below(7)];
        if parent.is_empty() {
            name.into()
        } else {
            format!("{parent}/{name}")
        }
    }

    fn put(&mut self, path: &str, node: RandomNode) {
        self.all_paths.insert(path.into());
        self.touched.insert(path.into());
        self.tree().insert(path.into(), node);
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.tree().retain(|p, _| p != path && !p.starts_with(&below));
    }

    /// True if neither the path nor a path below it has a record in this revision.
    fn is_free(&self, path: &str) -> bool {
        let below = format!("{path}/");
        !self.touched.contains(path) && !self.touched.iter().any(|t| t.starts_with(&below))
    }

    fn text(&mut self) -> String {
        self.counter += 1;
        let lines = 1 + self.random.below(6);
        (0..lines)
            .map(|line| format!("line {line} of {}\n", self.counter / (1 + line as u64)))
            .collect()
    }

    fn add(&mut self) {
        let path = self.new_path();
        if self.tree().contains_key(&path) || !self.is_free(&path) {
            return;
        }
        if self.random.below(2) == 0 {
            self.stream.add(RecordKind::Dir, &path, Content::props(&[]));
            self.put(&path, node(RecordKind::Dir, ""));
        } else {
            let text = self.text();
            self.stream.file(&path, &text);
            self.put(&path, node(RecordKind::File, &text));
        }
    }

    fn edit(&mut self) {
        let Some(path) = self.existing(Some(RecordKind::File)) else {
            return;
        };
        if self.touched.contains(&path) {
            return;
        }
        let mut new = self.trees[self.trees.len() - 1][&path].clone();
        // Sometimes the same text: a new representation of equal content.
        if self.random.below(6) != 0 {
            new.text = self.text();
        }
        self.stream.edit(&path, &new.text);
        self.put(&path, new);
    }

    fn set_prop(&mut self) {
        let value = self.random.below(100).to_string();
        self.change_props(|props| {
            props.insert("p".into(), value);
        });
    }

    fn change_props(&mut self, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        let Some(path) = self.existing(None) else {
            return;
        };
        if self.touched.contains(&path) {
            return;
        }
        let mut new = self.trees[self.trees.len() - 1][&path].clone();
        change(&mut new.props);
        let props: Vec<(&str, &[u8])> = new
            .props
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_bytes()))
            .collect();
        self.stream.change(new.kind, &path, Content::props(&props));
        self.put(&path, new);
    }

    fn delete(&mut self) {
        let Some(path) = self.existing(None) else {
            return;
        };
        if self.is_free(&path) {
            self.stream.delete(&path);
            self.remove(&path);
            self.touched.insert(path);
        }
    }

    fn copy(&mut self) {
        let rev = match self.random.below(3) {
            0 => self.random.below(self.trees.len() - 1),
            _ => self.trees.len() - 2,
        };
        let sources: Vec<String> = self.trees[rev]
            .keys()
            .filter(|p| !p.is_empty())
            .cloned()
            .collect();
        let Some(source) = self.pick(&sources) else {
            return;
        };
        let to = self.new_path();
        self.copy_to(rev, &source, &to);
    }

    fn copy_to(&mut self, rev: usize, source: &str, to: &str) -> bool {
        if !self.is_free(to) || self.trees[rev].len() > 60 {
            return false;
        }
        let below = format!("{source}/");
        let copied: Vec<(String, RandomNode)> = self.trees[rev]
            .iter()
            .filter(|(path, _)| *path == source || path.starts_with(&below))
            .map(|(path, node)| (format!("{to}{}", &path[source.len()..]), node.clone()))
            .collect();
        let kind = self.trees[rev][source].kind;
        if self.tree().contains_key(to) {
            self.stream.replace_by_copy(kind, to, rev as u64, source);
            self.remove(to);
        } else {
            self.stream.copy(kind, to, rev as u64, source);
        }
        self.touched.insert(to.into());
        for (path, node) in copied {
            self.all_paths.insert(path.clone());
            self.tree().insert(path, node);
        }
        true
    }

    fn rename(&mut self) {
        let Some(source) = self.existing(None) else {
            return;
        };
        let to = self.new_path();
        let before = self.trees.len() - 2;
        if to.starts_with(&format!("{source}/")) || source.starts_with(&format!("{to}/")) || to == source {
            return;
        }
        if !self.is_free(&source) || !self.trees[before].contains_key(&source) {
            return;
        }
        if self.copy_to(before, &source, &to) {
            self.stream.delete(&source);
            self.remove(&source);
            self.touched.insert(source);
        }
    }

    fn merge(&mut self) {
        let all_paths: Vec<String> = self.all_paths.iter().cloned().collect();
        let sources = 1 + if self.many { self.random.below(3) } else { 0 };
        let sources: Vec<String> = (0..sources).filter_map(|_| self.pick(&all_paths)).collect();
        let youngest = self.trees.len() - 1;
        let mut lines = Vec::new();
        for source in sources {
            let mut ranges = Vec::new();
            let mut start = 1 + self.random.below(youngest);
            for _ in 0..1 + self.random.below(2) {
                // Some ranges are beyond the youngest revision.
                let end = start + self.random.below(5);
                let star = if self.random.below(8) == 0 { "*" } else { "" };
                ranges.push(if start == end {
                    format!("{start}{star}")
                } else {
                    format!("{start}-{end}{star}")
                });
                start = end + 2 + self.random.below(4);
            }
            lines.push(format!("/{source}:{}", ranges.join(",")));
        }
        let keep = self.random.below(3) != 0;
        self.change_props(|props| {
            let mut value = lines.join("\n");
            if keep && let Some(old) = props.get("svn:mergeinfo") {
                value = format!("{old}\n{value}");
            }
            if let Ok(info) = base::Mergeinfo::parse(value.as_bytes()) {
                props.insert("svn:mergeinfo".into(), info.to_string());
            }
        });
    }

    fn remove_mergeinfo(&mut self) {
        let empty = self.random.below(2) == 0;
        self.change_props(|props| {
            if empty {
                props.insert("svn:mergeinfo".into(), String::new());
            } else {
                props.remove("svn:mergeinfo");
            }
        });
    }
}
