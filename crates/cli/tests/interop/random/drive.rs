//! Brings the edit after a report into a canonical order, because the order of siblings is partly undefined.
//!
//! Within a directory the incumbent follows the report's order for the paths in the report. Deletions follow, then
//! all other entries, both in hash order. Therefore runs of the same kind are sorted.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use base::checksum::Md5;
use delta::svndiff::{Codec, Decoder};
use testkit::probe::{ProbeItem, list, word};

/// The data for a comparison of edits.
#[derive(Debug, Default)]
pub struct EditFacts<'a> {
    /// The paths in the report, relative to the edit's root, and their parents.
    pub reported: BTreeSet<String>,
    /// All texts of the history, by digest.
    pub texts: Option<&'a HashMap<String, String>>,
}

/// An entry of a directory.
#[derive(Debug)]
pub struct Child<T> {
    pub name: String,
    /// True for a deletion.
    pub gone: bool,
    pub reported: T,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Reported,
    Gone,
    Other,
}

/// Brings the entries of `dir` into canonical order.
pub fn in_order<T: Ord>(dir: &str, children: Vec<Child<T>>, reported: &BTreeSet<String>) -> Vec<T> {
    let mut groups: Vec<(Turn, String, Vec<T>)> = Vec::new();
    for child in children {
        let path = format!("{dir}/{}", child.name);
        let turn = match (reported.contains(path.trim_start_matches('/')), child.gone) {
            (true, _) => Turn::Reported,
            (false, true) => Turn::Gone,
            (false, false) => Turn::Other,
        };
        match groups.last_mut() {
            // A replacement.
            Some((last, name, reported)) if *name == child.name => {
                *last = turn;
                reported.push(child.reported);
            }
            _ => groups.push((turn, child.name, vec![child.reported])),
        }
    }
    for run in groups.chunk_by_mut(|a, b| a.0 == b.0) {
        if run[0].0 != Turn::Reported {
            run.sort_by(|a, b| (&a.1, &a.2).cmp(&(&b.1, &b.2)));
        }
    }
    groups.into_iter().flat_map(|(_, _, reported)| reported).collect()
}

/// An open node.
struct OpenNode {
    path: String,
    begin: ProbeItem,
    props: Vec<ProbeItem>,
    rest: Vec<ProbeItem>,
    children: Vec<Child<Vec<ProbeItem>>>,
}

impl OpenNode {
    fn end(mut self, known: &EditFacts<'_>) -> Vec<ProbeItem> {
        let mut all = vec![self.begin];
        self.props.sort();
        all.append(&mut self.props);
        let children = in_order(&self.path, self.children, &known.reported);
        all.extend(children.into_iter().flatten());
        all.append(&mut self.rest);
        all
    }
}

/// Brings an edit, in which paths replace tokens, into canonical order.
pub fn canonical(edit: Vec<ProbeItem>, known: &EditFacts<'_>) -> Vec<ProbeItem> {
    let mut open: Vec<OpenNode> = Vec::new();
    let mut all = Vec::new();
    for item in edit {
        let name = match item.items().first() {
            Some(ProbeItem::Word(name)) => name.clone(),
            _ => String::new(),
        };
        let path = match item.items().get(1).and_then(|args| args.items().first()) {
            Some(ProbeItem::Text(path)) => String::from_utf8_lossy(path).into_owned(),
            _ => String::new(),
        };
        match name.as_str() {
            "open-root" | "add-dir" | "open-dir" | "add-file" | "open-file" => open.push(OpenNode {
                path,
                begin: item,
                props: Vec::new(),
                rest: Vec::new(),
                children: Vec::new(),
            }),
            "close-dir" | "close-file" => {
                let Some(mut node) = open.pop() else {
                    all.push(item);
                    continue;
                };
                node.rest.push(item);
                end(node, &mut open, &mut all, known);
            }
            "delete-entry" | "absent-dir" | "absent-file" => match open.last_mut() {
                Some(dir) => dir.children.push(Child {
                    name: basename(&path),
                    gone: name == "delete-entry",
                    reported: vec![item],
                }),
                None => all.push(item),
            },
            "change-dir-prop" | "change-file-prop" => match open.last_mut() {
                Some(node) => node.props.push(item),
                None => all.push(item),
            },
            "apply-textdelta" | "textdelta-end" | "text" => match open.last_mut() {
                Some(node) => node.rest.push(item),
                None => all.push(item),
            },
            _ => {
                // The end, or an early end.
                while let Some(node) = open.pop() {
                    end(node, &mut open, &mut all, known);
                }
                all.push(item);
            }
        }
    }
    while let Some(node) = open.pop() {
        end(node, &mut open, &mut all, known);
    }
    all
}

fn end(node: OpenNode, open: &mut [OpenNode], all: &mut Vec<ProbeItem>, known: &EditFacts<'_>) {
    let name = basename(&node.path);
    let reported = node.end(known);
    match open.last_mut() {
        Some(parent) => parent.children.push(Child {
            name,
            gone: false,
            reported,
        }),
        None => all.extend(reported),
    }
}

fn basename(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The partially received deltas, by file.
#[derive(Debug, Default)]
pub struct DeltaReceiver(HashMap<ProbeItem, (Option<String>, Vec<u8>)>);

impl DeltaReceiver {
    /// Begins a delta.
    pub fn begin(&mut self, file: &ProbeItem, base: &ProbeItem) {
        let base = match base.items().first() {
            Some(ProbeItem::Text(digest)) => Some(String::from_utf8_lossy(digest).into_owned()),
            _ => None,
        };
        self.0.insert(file.clone(), (base, Vec::new()));
    }

    /// Adds a part of a delta.
    pub fn push(&mut self, file: &ProbeItem, piece: &ProbeItem) {
        if let (Some((_, delta)), ProbeItem::Text(bytes)) = (self.0.get_mut(file), piece) {
            delta.extend(bytes);
        }
    }

    /// Ends a delta. Returns its result, or `None` for an empty delta.
    pub fn end(&mut self, file: &ProbeItem, known: &EditFacts<'_>) -> Option<ProbeItem> {
        let (base, delta) = self.0.remove(file)?;
        let made = made(base.as_deref(), &delta, known.texts?)?;
        Some(list([word("text"), list([word(&made)])]))
    }
}

/// Applies a delta to the text with this digest. Returns the digest of the result or an error; `None` without a
/// delta.
pub fn made(base: Option<&str>, delta: &[u8], texts: &HashMap<String, String>) -> Option<String> {
    if delta.is_empty() {
        return None;
    }
    let base = match base {
        None => "",
        Some(digest) => match texts.get(digest) {
            Some(text) => text,
            None => return Some("unknown-base".to_owned()),
        },
    };
    let (mut decoder, mut codec, mut text) = (Decoder::new(), Codec::new(), Vec::new());
    let applied = decoder.push(delta, |window| {
        let window = window.decode(&mut codec)?;
        let start = base.len().min(window.source_offset as usize);
        window.apply(&base.as_bytes()[start..], &mut text)?;
        Ok(())
    });
    let mut out = format!("md5-{}", Md5::of(&text));
    if let Err(error) = applied {
        _ = write!(out, "-{error:?}");
    }
    Some(out)
}

/// Returns the texts of a history by digest.
pub fn by_digest(texts: &BTreeSet<String>) -> HashMap<String, String> {
    let digest = |text: &String| (Md5::of(text.as_bytes()).to_string(), text.clone());
    texts.iter().map(digest).collect()
}
