//! What a history contains, from the output of Subversion's tools for an FSFS repository with the same history.
//!
//! FSFS is the oracle because the dump of an unpacked FSX repository may lack nodes: see `known_faults`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::dumpfile::{DumpReader, DumpRecord, NodeAction, NodeHeaders};
use base::{NodeKind, Props};
use testkit::{Repo, Tool};

use super::repository::folder;

/// A node of a tree. Directories have no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedNode {
    pub kind: NodeKind,
    pub props: Props,
    pub text: Option<Arc<Vec<u8>>>,
}

/// A tree by path, with leading slashes.
pub type ExpectedTree = BTreeMap<String, ExpectedNode>;

/// A history.
#[derive(Debug, Default)]
pub struct Expected {
    /// The tree of each revision.
    pub trees: Vec<ExpectedTree>,
    /// The properties of each revision.
    pub revprops: Vec<Props>,
    /// The changed paths of each revision, as `svn log -v` has them, one line each, sorted.
    pub changes: Vec<Vec<String>>,
}

impl Expected {
    /// Loads a stream into an FSFS repository and reads what that has.
    pub fn of_stream(stream: &[u8]) -> Self {
        Self::of_parts(&[stream])
    }

    /// As [`Expected::of_stream`], with a load for each part. Loads change the revisions in mergeinfo that are not in their
    /// stream.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let folder = folder();
        let twin = Repo::at(&folder.path().join("twin"));
        Tool::new("svnadmin")
            .args(["create", "--fs-type", "fsfs"])
            .arg(twin.path())
            .ok();
        parts.iter().for_each(|part| twin.load(part.to_vec()));
        let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(twin.path()).ok();
        let mut expected = Expected::of_dump(&dump.stdout);
        let range = format!("0:{}", expected.trees.len() - 1);
        let log = Tool::new("svn")
            .args(["log", "-v", "--xml", "-r", &range, &twin.url()])
            .ok();
        expected.changes = changes(&log.out(), expected.trees.len());
        expected
    }

    /// The history up to a revision.
    pub fn until(&self, rev: u64) -> Self {
        let count = rev as usize + 1;
        Expected {
            trees: self.trees[..count].to_vec(),
            revprops: self.revprops[..count].to_vec(),
            changes: self.changes[..count].to_vec(),
        }
    }

    /// Reads a dump.
    pub fn of_dump(dump: &[u8]) -> Self {
        let mut reader = DumpReader::open(dump).unwrap();
        let mut expected = Expected::default();
        while let Some(record) = reader.next_record().unwrap() {
            let is_revision = matches!(record, DumpRecord::Revision(_));
            let has_props = reader.has_props();
            let mut props = Props::new();
            while let Some((name, value)) = reader.next_prop().unwrap() {
                props.insert(name, value.unwrap());
            }
            if is_revision {
                let tree = expected.trees.last().cloned().unwrap_or_else(new_tree);
                expected.trees.push(tree);
                expected.revprops.push(props);
                continue;
            }
            let mut text = reader.text_left().unwrap().map(|_| Vec::new());
            if let Some(text) = &mut text {
                reader
                    .copy_text(|bytes| {
                        text.extend_from_slice(bytes);
                        Ok(())
                    })
                    .unwrap();
            }
            if let DumpRecord::Node(node) = record {
                expected.apply(&node, has_props.then_some(props), text);
            }
        }
        expected
    }

    fn apply(&mut self, node: &NodeHeaders<'_>, props: Option<Props>, text: Option<Vec<u8>>) {
        let path = absolute(&node.path);
        let (tree, before) = self.trees.split_last_mut().unwrap();
        let action = node.action.unwrap();
        if matches!(action, NodeAction::Delete | NodeAction::Replace) {
            let below = format!("{path}/");
            tree.retain(|other, _| *other != path && !other.starts_with(&below));
        }
        if action == NodeAction::Delete {
            return;
        }
        if let Some((rev, source)) = &node.copyfrom {
            let source = absolute(source);
            let below = format!("{source}/");
            for (from, copied) in &before[usize::try_from(*rev).unwrap()] {
                if *from == source || from.starts_with(&below) {
                    tree.insert(format!("{path}{}", &from[source.len()..]), copied.clone());
                }
            }
        } else if action != NodeAction::Change {
            let kind = node.kind.unwrap();
            let added = ExpectedNode {
                kind,
                props: Props::new(),
                text: (kind == NodeKind::File).then(Arc::default),
            };
            tree.insert(path.clone(), added);
        }
        let changed = tree.get_mut(&path).unwrap();
        if let Some(props) = props {
            changed.props = props;
        }
        if let Some(text) = text {
            changed.text = Some(Arc::new(text));
        }
    }
}

fn new_tree() -> ExpectedTree {
    let root = ExpectedNode {
        kind: NodeKind::Dir,
        props: Props::new(),
        text: None,
    };
    ExpectedTree::from([("/".to_owned(), root)])
}

fn absolute(path: &str) -> String {
    format!("/{path}")
}

/// The changed paths of all revisions out of the output of `svn log -v --xml`, one line each, sorted.
pub fn changes(xml: &str, revisions: usize) -> Vec<Vec<String>> {
    let mut changes = vec![Vec::new(); revisions];
    let mut rev = 0;
    for tag in xml.split('<').skip(1) {
        if tag.starts_with("logentry") {
            rev = attribute(tag, "revision").parse().unwrap();
        } else if tag.starts_with("path\n") {
            let path = unescape(&tag[tag.find('>').unwrap() + 1..]);
            let get = |name| attribute(tag, name);
            changes[rev].push(format!(
                "{path} {} {} {} {} {}@{}",
                get("action"),
                get("kind"),
                get("text-mods"),
                get("prop-mods"),
                get("copyfrom-path"),
                get("copyfrom-rev"),
            ));
        }
    }
    changes.iter_mut().for_each(|lines| lines.sort());
    changes
}

fn attribute(tag: &str, name: &str) -> String {
    let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
    let start = tag.find(&format!("{name}=\""));
    let value = start.map(|start| &tag[start + name.len() + 2..]);
    value
        .map(|value| unescape(&value[..value.find('"').unwrap()]))
        .unwrap_or_default()
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#9;", "\t")
        .replace("&#13;", "\r")
        .replace("&amp;", "&")
}
