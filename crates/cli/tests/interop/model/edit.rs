//! Random edits, and the model of the repository that they should result in.
//!
//! An [`ModelEdit`] is a tree of changes, as an editor is driven; [`ModelEdit::steps`] converts it to the arguments of
//! `svnmucc`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::checksum::Md5;
use testkit::history::Random;

/// A file's contents.
pub type FileText = Arc<Vec<u8>>;

/// A node.
#[derive(Clone)]
pub struct ModelNode {
    /// Contents; `None` for a directory.
    pub text: Option<FileText>,
    /// The names of its properties.
    props: Vec<String>,
}

/// A revision: paths without a leading slash; "" is the root.
pub type ModelTree = BTreeMap<String, ModelNode>;

/// A property to set, or with `None` to remove.
pub type Prop = (String, Option<Vec<u8>>);

/// The changes of a path and of the paths below it.
#[derive(Clone, Default, Debug)]
pub struct PathChange {
    /// True if the old node is deleted; `add` can replace it.
    pub delete: bool,
    /// True if the node is new; it may be a copy.
    pub add: Option<Option<(String, u64)>>,
    /// True for a directory.
    pub is_dir: bool,
    /// Properties.
    pub props: Vec<Prop>,
    /// Contents before and after.
    pub text: Option<(FileText, FileText)>,
    /// Changes below it.
    pub children: BTreeMap<String, PathChange>,
}

/// One step of `svnmucc`.
#[derive(Clone, Debug)]
pub enum MuccStep {
    Mkdir(String),
    Put(String, FileText),
    Copy(u64, String, String),
    Remove(String),
    Prop(String, Prop),
}

/// A commit.
#[derive(Clone, Debug)]
pub struct ModelEdit {
    /// The base revision.
    pub base: u64,
    /// The log message, which is unique.
    pub log: String,
    /// The change of the root.
    pub root: PathChange,
}

impl ModelEdit {
    /// Removes changes that `svnmucc` does not accept; false if none is left.
    pub fn fit_for_svnmucc(&mut self) -> bool {
        self.root.fit_for_svnmucc();
        !self.steps().is_empty()
    }

    /// Returns the edit as steps of `svnmucc`.
    pub fn steps(&self) -> Vec<MuccStep> {
        let mut steps = Vec::new();
        self.root.steps("", &mut steps);
        steps
    }
}

impl PathChange {
    fn fit_for_svnmucc(&mut self) {
        let is_dir = self.is_dir;
        self.props.retain(|(name, _)| {
            let elsewhere = if is_dir { "svn:executable" } else { "svn:ignore" };
            name.is_ascii() && name != elsewhere
        });
        self.children.values_mut().for_each(PathChange::fit_for_svnmucc);
    }

    fn steps(&self, path: &str, steps: &mut Vec<MuccStep>) {
        let at = || path.to_owned();
        if self.delete {
            steps.push(MuccStep::Remove(at()));
        }
        match &self.add {
            Some(Some((from, rev))) => steps.push(MuccStep::Copy(*rev, from.clone(), at())),
            Some(None) if self.is_dir => steps.push(MuccStep::Mkdir(at())),
            Some(None) | None => {}
        }
        if let Some((_, text)) = &self.text {
            steps.push(MuccStep::Put(at(), text.clone()));
        }
        let props = self.props.iter().cloned();
        steps.extend(props.map(|prop| MuccStep::Prop(at(), prop)));
        for (name, child) in &self.children {
            child.steps(&join(path, name), steps);
        }
    }
}

/// A generator of edits.
pub struct EditGenerator {
    pub random: Random,
    /// The trees of all revisions.
    trees: Vec<ModelTree>,
    serial: u32,
    prefix: String,
}

const NAMES: [&str; 7] = ["a", "b", "c", "d \u{e9}", "e%20+", "f.txt", "@g"];
/// The largest number of nodes; larger trees only cost time.
const LARGEST_TREE: usize = 150;

impl EditGenerator {
    /// Returns a generator for an empty repository.
    pub fn new(seed: u64, prefix: &str) -> EditGenerator {
        let mut random = Random::new(seed);
        random.next();
        let root = ModelNode {
            text: None,
            props: Vec::new(),
        };
        EditGenerator {
            random,
            trees: vec![ModelTree::from([(String::new(), root)])],
            serial: 0,
            prefix: prefix.to_owned(),
        }
    }

    /// Returns the youngest revision.
    pub fn youngest(&self) -> u64 {
        self.trees.len() as u64 - 1
    }

    /// Returns true once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    /// Generates an edit of the tree of revision `base`.
    pub fn edit(&mut self, base: u64) -> ModelEdit {
        self.serial += 1;
        let mut work = EditDraft {
            base,
            tree: self.trees[base as usize].clone(),
            root: PathChange {
                is_dir: true,
                ..PathChange::default()
            },
        };
        let many = if self.one_in(6) { 12 } else { 4 };
        let wanted = 1 + self.random.below(many);
        for _ in 0..wanted {
            self.step(&mut work);
        }
        ModelEdit {
            base,
            log: format!("{} {} of {base}", self.prefix, self.serial),
            root: work.root,
        }
    }

    /// Applies an edit that became the next revision to the youngest tree.
    pub fn committed(&mut self, edit: &ModelEdit) {
        let mut tree = self.trees.last().expect("because there is revision 0").clone();
        self.apply(&edit.root, "", &mut tree);
        self.trees.push(tree);
    }

    /// Panics unless these are exactly the paths of the youngest tree (`None` for a directory, the MD5 of a file).
    pub fn check(&self, found: &BTreeMap<String, Option<String>>, what: &str) {
        let tree = self.trees.last().expect("because there is revision 0");
        let md5 = |node: &ModelNode| node.text.as_ref().map(|text| Md5::of(text).to_string());
        let expected: BTreeMap<String, Option<String>> = tree
            .iter()
            .map(|(path, node)| (path.clone(), md5(node)))
            .collect();
        for path in expected.keys().chain(found.keys()) {
            let (expected, found) = (expected.get(path), found.get(path));
            assert_eq!(expected, found, "{what}: expected and found at '{path}'");
        }
    }

    fn apply(&self, change: &PathChange, path: &str, tree: &mut ModelTree) {
        if change.delete {
            remove(tree, path);
        }
        match &change.add {
            Some(Some((from, rev))) => copy(&self.trees[*rev as usize], from, tree, path),
            Some(None) => {
                let text = (!change.is_dir).then(FileText::default);
                let props = Vec::new();
                tree.insert(path.to_owned(), ModelNode { text, props });
            }
            None => {}
        }
        if let Some(node) = tree.get_mut(path) {
            for prop in &change.props {
                apply_prop(node, prop);
            }
            if let Some((_, text)) = &change.text {
                node.text = Some(text.clone());
            }
        }
        for (name, child) in &change.children {
            self.apply(child, &join(path, name), tree);
        }
    }

    fn step(&mut self, work: &mut EditDraft) {
        match self.random.below(20) {
            0..=2 => {
                if let Some(path) = self.free(work) {
                    work.add(&path, None, true);
                    work.tree.insert(
                        path,
                        ModelNode {
                            text: None,
                            props: Vec::new(),
                        },
                    );
                }
            }
            3..=5 => {
                if let Some(path) = self.free(work) {
                    let text = self.text(&FileText::default());
                    work.add(&path, None, false);
                    work.put(&path, FileText::default(), text);
                }
            }
            6..=9 => {
                if let Some(path) = self.pick(&work.tree, Some(false)) {
                    let before = work.tree[&path].text.clone().unwrap_or_default();
                    let text = self.text(&before);
                    work.put(&path, before, text);
                }
            }
            10 | 11 => {
                let path = self.pick(&work.tree, None).unwrap_or_default();
                self.prop(work, path);
            }
            12..=14 => {
                let rev = work.base.saturating_sub(self.random.below(8) as u64);
                let kind = if self.one_in(3) { None } else { Some(true) };
                let source = match self.random.below(12) {
                    0 => Some(String::new()),
                    _ => self.pick(&self.trees[rev as usize].clone(), kind),
                };
                if let (Some(source), Some(path)) = (source, self.free(work)) {
                    self.copy(work, rev, &source, path);
                }
            }
            15 | 16 => {
                // A move: a copy from the base revision, and a deletion.
                let base = self.trees[work.base as usize].clone();
                let Some(source) = self.pick(&base, None).filter(|s| !s.is_empty()) else {
                    return;
                };
                if !work.tree.contains_key(&source) {
                    return;
                }
                if let Some(path) = self.free(work).filter(|p| !p.starts_with(&format!("{source}/")))
                    && self.copy(work, work.base, &source, path)
                {
                    work.remove(&source);
                }
            }
            17 | 18 => {
                if let Some(path) = self.pick(&work.tree, None).filter(|p| !p.is_empty()) {
                    work.remove(&path);
                }
            }
            _ => {
                // A replacement by a file or directory, or by a copy.
                let Some(path) = self.pick(&work.tree, None).filter(|p| !p.is_empty()) else {
                    return;
                };
                let base = self.trees[work.base as usize].clone();
                let source = self.pick(&base, None).unwrap_or_default();
                work.remove(&path);
                if self.one_in(2) {
                    self.copy(work, work.base, &source, path);
                } else {
                    let text = self.text(&FileText::default());
                    work.add(&path, None, false);
                    work.put(&path, FileText::default(), text);
                }
            }
        }
    }

    fn copy(&mut self, work: &mut EditDraft, rev: u64, source: &str, path: String) -> bool {
        let old = &self.trees[rev as usize];
        let size = old.keys().filter(|p| is_at_or_below(p, source)).count();
        if size + work.tree.len() > LARGEST_TREE {
            return false;
        }
        let is_dir = old[source].text.is_none();
        work.add(&path, Some((source.to_owned(), rev)), is_dir);
        copy(old, source, &mut work.tree, &path);
        // Often the copy is changed in the same edit, at its root or below.
        if self.one_in(2) {
            let inside: Vec<String> = work
                .tree
                .keys()
                .filter(|p| is_at_or_below(p, &path))
                .cloned()
                .collect();
            let chosen = inside[self.random.below(inside.len())].clone();
            match work.tree[&chosen].text.clone() {
                Some(before) if self.one_in(2) => {
                    let text = self.text(&before);
                    work.put(&chosen, before, text);
                }
                _ if chosen != path && self.one_in(3) => work.remove(&chosen),
                _ => self.prop(work, chosen),
            }
        }
        true
    }

    fn prop(&mut self, work: &mut EditDraft, path: String) {
        let names = [
            "color",
            "svn:ignore",
            "svn:mergeinfo",
            "svn:executable",
            "x:\u{fc}ml",
            "big",
        ];
        let name = names[self.random.below(names.len())].to_owned();
        let has = work.tree[&path].props.contains(&name);
        let value = match (has && self.one_in(3), &name[..]) {
            (true, _) => None,
            (_, "svn:executable") => Some(b"*".to_vec()),
            (_, "svn:ignore") => Some(format!("*.{}\n", self.random.below(9)).into_bytes()),
            (_, "svn:mergeinfo") => {
                let end = 1 + self.random.below(work.base as usize + 1);
                Some(format!("/a:1-{}\n/b/c:{end}", end + 1).into_bytes())
            }
            (_, "big") => {
                let size = 1 + self.random.below(9000);
                Some(self.bytes(size))
            }
            _ => {
                let size = self.random.below(30);
                Some(self.bytes(size))
            }
        };
        let prop = (name, value);
        if let Some(node) = work.tree.get_mut(&path) {
            apply_prop(node, &prop);
        }
        let change = work.slot(&path);
        change.props.retain(|(name, _)| *name != prop.0);
        change.props.push(prop);
    }

    /// Returns a text for a file: lines, random bytes, both, an empty one, or a changed old text.
    fn text(&mut self, before: &FileText) -> FileText {
        let fresh = before.is_empty() || self.one_in(4);
        let mut text = match (fresh, self.random.below(24)) {
            (true, 0..=2) => Vec::new(),
            (true, 3) => {
                let size = 100_000 + self.random.below(250_000);
                self.bytes(size)
            }
            (true, 4) => {
                let size = 100_000 + self.random.below(400_000);
                let line = format!("line {} of a long text\n", self.random.below(99));
                line.bytes().cycle().take(size).collect()
            }
            (true, 5..=7) => {
                let size = self.random.below(5000);
                self.bytes(size)
            }
            // Equal texts at many paths, for rep sharing.
            (true, 8..=11) => format!("common {}\n", self.random.below(4)).into_bytes(),
            (true, _) => {
                let count = 1 + self.random.below(60);
                (0..count)
                    .flat_map(|_| format!("this is line {}\n", self.random.below(500)).into_bytes())
                    .collect()
            }
            (false, _) => {
                let at = self.random.below(before.len() + 1);
                let gone = self.random.below((before.len() - at).min(300) + 1);
                let new = format!("changed {}\n", self.random.next());
                [&before[..at], new.as_bytes(), &before[at + gone..]].concat()
            }
        };
        if self.one_in(40) {
            text.truncate(1);
        }
        Arc::new(text)
    }

    fn bytes(&mut self, size: usize) -> Vec<u8> {
        (0..size).map(|_| self.random.next() as u8).collect()
    }

    /// Returns an unused path in an existing directory.
    fn free(&mut self, work: &EditDraft) -> Option<String> {
        for _ in 0..10 {
            let parent = self.pick(&work.tree, Some(true)).unwrap_or_default();
            let path = join(&parent, NAMES[self.random.below(NAMES.len())]);
            if !work.tree.contains_key(&path) && path.len() < 60 {
                return Some(path);
            }
        }
        None
    }

    /// Returns a random path of a tree: a directory, a file, or any.
    fn pick(&mut self, tree: &ModelTree, dirs: Option<bool>) -> Option<String> {
        let found: Vec<&String> = tree
            .iter()
            .filter(|(_, node)| dirs.is_none_or(|dirs| node.text.is_none() == dirs))
            .map(|(path, _)| path)
            .collect();
        (!found.is_empty()).then(|| found[self.random.below(found.len())].clone())
    }
}

/// An edit under construction.
struct EditDraft {
    base: u64,
    tree: ModelTree,
    root: PathChange,
}

impl EditDraft {
    /// Returns the change of an existing path.
    fn slot(&mut self, path: &str) -> &mut PathChange {
        let mut change = &mut self.root;
        let mut walked = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            walked = join(&walked, name);
            let is_dir = self.tree.get(&walked).is_none_or(|node| node.text.is_none());
            change = change
                .children
                .entry(name.to_owned())
                .or_insert_with(|| PathChange {
                    is_dir,
                    ..PathChange::default()
                });
        }
        change
    }

    fn add(&mut self, path: &str, from: Option<(String, u64)>, is_dir: bool) {
        let change = self.slot(path);
        change.add = Some(from);
        change.is_dir = is_dir;
    }

    fn put(&mut self, path: &str, before: FileText, after: FileText) {
        let change = self.slot(path);
        // For a second text of a file the delta base stays the original text.
        let before = change.text.take().map_or(before, |(first, _)| first);
        change.text = Some((before, after.clone()));
        let props = self.tree.get(path).map(|n| n.props.clone()).unwrap_or_default();
        let text = Some(after);
        self.tree.insert(path.to_owned(), ModelNode { text, props });
    }

    fn remove(&mut self, path: &str) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.slot(parent);
        let was_new = parent
            .children
            .get(name)
            .is_some_and(|c| c.add.is_some() && !c.delete);
        if was_new {
            parent.children.remove(name);
        } else {
            let delete = PathChange {
                delete: true,
                ..PathChange::default()
            };
            parent.children.insert(name.to_owned(), delete);
        }
        remove(&mut self.tree, path);
    }
}

/// Joins a path and a name.
pub fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

fn is_at_or_below(path: &str, top: &str) -> bool {
    path == top || top.is_empty() || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'))
}

fn remove(tree: &mut ModelTree, path: &str) {
    tree.retain(|p, _| !is_at_or_below(p, path));
}

fn copy(old: &ModelTree, from: &str, tree: &mut ModelTree, to: &str) {
    for (path, node) in old.iter().filter(|(path, _)| is_at_or_below(path, from)) {
        let rest = path[from.len()..].trim_start_matches('/');
        let target = if rest.is_empty() {
            to.to_owned()
        } else {
            join(to, rest)
        };
        tree.insert(target, node.clone());
    }
}

fn apply_prop(node: &mut ModelNode, (name, value): &Prop) {
    node.props.retain(|known| known != name);
    if value.is_some() {
        node.props.push(name.clone());
    }
}
