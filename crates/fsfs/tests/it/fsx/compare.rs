//! Compares everything that the crate reads with what a history contains.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{FsPath, NodeKind, Props, Revnum};
use delta::window::WINDOW_SIZE;
use fsfs::{ChangeKind, ChangedPath, Relation};
use fsfs::{Fs, Node, NodeRevId, Root};

use super::expected::{Expected, ExpectedNode, ExpectedTree};
use super::repository::{FsxRepository, verify};

/// Compares all revisions. `with_ids` compares the IDs of all nodes in each third revision too, with the output of
/// `svnlook`.
pub fn all(repository: &FsxRepository, expected: &Expected, with_ids: bool) {
    let fs = repository.open();
    contents(&fs, expected);
    let youngest = fs.youngest().unwrap();
    verify(&fs).unwrap();
    for rev in (0..=youngest.0).rev().step_by(3).filter(|_| with_ids) {
        let root = fs.root(Revnum(rev)).unwrap();
        let theirs = repository.svnlook("tree", &["--show-ids", "--full-paths", "-r", &rev.to_string()]);
        assert_eq!(ids(&root), theirs, "tree of r{rev}");
    }
}

/// Compares the trees, the revision properties and the changed paths.
pub fn contents(fs: &Fs, expected: &Expected) {
    assert_eq!(fs.youngest().unwrap(), Revnum(expected.trees.len() as u64 - 1));
    let mut contents = NodeContents::new();
    for (rev, tree) in expected.trees.iter().enumerate() {
        let root = fs.root(Revnum(rev as u64)).unwrap();
        let ours = read(&root, &mut contents);
        if ours != *tree {
            let differs = |path: &&String| ours.get(*path) != tree.get(*path);
            let paths: Vec<_> = ours.keys().chain(tree.keys()).filter(differs).collect();
            panic!("r{rev} differs in {paths:?}");
        }
        assert_eq!(
            fs.revprops(Revnum(rev as u64)).unwrap().to_props(),
            expected.revprops[rev],
            "r{rev}"
        );
        if let Some(changes) = expected.changes.get(rev) {
            let ours = root.changed_paths().unwrap();
            assert!(ours.windows(2).all(|pair| pair[0].path < pair[1].path), "r{rev}");
            let mut lines: Vec<_> = ours.iter().map(changed_line).collect();
            lines.sort();
            assert_eq!(lines, *changes, "changed paths of r{rev}");
        }
    }
}

/// The contents of node-revisions that were read, so that each is read once and not in each revision.
type NodeContents = HashMap<NodeRevId, ExpectedNode>;

/// Reads a whole tree, and checks what its nodes say about themselves.
fn read(root: &Root, contents: &mut NodeContents) -> ExpectedTree {
    let mut tree = ExpectedTree::new();
    let mut nodes = vec![root.root_node().unwrap()];
    while let Some(node) = nodes.pop() {
        let content = contents
            .entry(*node.id())
            .or_insert_with(|| content(&node))
            .clone();
        assert!(node.created_rev() <= root.revision());
        check_predecessor(root.fs(), &node);
        if node.kind() == NodeKind::Dir {
            let entries = node.entries().unwrap();
            let below: Vec<_> = entries
                .iter()
                .map(|entry| node.child_of(entry).unwrap())
                .collect();
            let own = u64::from(node.has_mergeinfo());
            let count: u64 = below.iter().map(Node::mergeinfo_count).sum();
            assert_eq!(node.mergeinfo_count(), own + count);
            nodes.extend(below);
        }
        tree.insert(node.path().to_string(), content);
    }
    // A look-up of each path finds the same node.
    for path in tree.keys().take(20) {
        let path = FsPath::parse(path).unwrap();
        assert_eq!(root.node(&path).unwrap().path(), &path);
    }
    tree
}

fn content(node: &Node) -> ExpectedNode {
    let props = node.props().unwrap();
    assert_eq!(node.has_props(), !props.is_empty());
    assert_eq!(node.has_mergeinfo(), props.contains_key("svn:mergeinfo"));
    ExpectedNode {
        kind: node.kind(),
        props: Props::clone(&props),
        text: (node.kind() == NodeKind::File).then(|| Arc::new(text(node))),
    }
}

fn text(node: &Node) -> Vec<u8> {
    let (mut reader, mut text) = (node.reader().unwrap(), Vec::new());
    loop {
        let chunk = reader.fill().unwrap();
        assert!(chunk.len() <= WINDOW_SIZE, "a text is not streamed");
        if chunk.is_empty() {
            break;
        }
        text.extend_from_slice(chunk);
        let length = chunk.len();
        reader.consume(length);
    }
    assert_eq!(node.size().unwrap(), text.len() as u64);
    assert_eq!(node.md5().unwrap(), Md5::of(&text));
    if node.has_text() {
        assert_eq!(node.sha1(), Some(Sha1::of(&text)));
    }
    text
}

/// The predecessor exists where it was made, and is a node-revision of the same node.
fn check_predecessor(fs: &Fs, node: &Node) {
    let Some(predecessor) = node.predecessor_id() else {
        assert_eq!(node.predecessor_count(), 0);
        return;
    };
    let rev = predecessor.rev().unwrap();
    assert!(rev < node.created_rev().unwrap());
    if node.path().is_root() {
        let root = fs.root(rev).unwrap().root_node().unwrap();
        assert_eq!(root.id(), predecessor);
        assert_eq!(root.relation(node), Relation::Related);
        assert_eq!(root.predecessor_count() + 1, node.predecessor_count());
    }
}

/// As `svnlook tree --show-ids --full-paths` prints it.
pub fn ids(root: &Root) -> String {
    let mut out = String::new();
    let mut nodes = vec![root.root_node().unwrap()];
    while let Some(node) = nodes.pop() {
        let (path, slash) = match (node.path().rel_str(), node.kind()) {
            ("", _) => ("/", ""),
            (path, NodeKind::Dir) => (path, "/"),
            (path, _) => (path, ""),
        };
        writeln!(out, "{path}{slash} <{}>", node.id()).unwrap();
        if node.kind() == NodeKind::Dir {
            let entries = node.entries().unwrap();
            let below: Vec<_> = entries
                .iter()
                .map(|entry| node.child_of(entry).unwrap())
                .collect();
            nodes.extend(below.into_iter().rev());
        }
    }
    out
}

/// The line of a change in [`Expected::changes`].
fn changed_line(change: &ChangedPath) -> String {
    let action = match change.change {
        ChangeKind::Modify => "M",
        ChangeKind::Add => "A",
        ChangeKind::Delete => "D",
        ChangeKind::Replace => "R",
    };
    let kind = if change.node_kind == NodeKind::Dir {
        "dir"
    } else {
        "file"
    };
    let source = match &change.copyfrom {
        Some((rev, path)) => format!("{path}@{rev}"),
        None => "@".to_owned(),
    };
    format!(
        "{} {action} {kind} {} {} {source}",
        change.path, change.text_mod, change.prop_mod
    )
}
