//! Compares every node of every revision with the output of the real tools.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use base::checksum::Md5;
use base::{NodeKind, Props, Revnum};
use fsfs::{Cache, ChangeKind, ChangedPath, Fs, Node, Root};

use crate::incumbent::{Repository, arg, run};

pub fn open(repository: &Repository) -> Fs {
    Fs::open(&repository.db(), &Cache::new(16 << 20)).unwrap()
}

/// A tree, in the same form for all formats: texts by digest, directories without one, and property lists.
pub type Contents = BTreeMap<String, (Option<Md5>, Props)>;

/// Compares all revisions with the expected trees, and their IDs and changed paths with the output of the tools.
pub fn all(repository: &Repository, contents: &[Contents]) {
    let fs = open(repository);
    assert_eq!(fs.youngest().unwrap(), Revnum(contents.len() as u64 - 1));
    let changed = changed_paths(repository);
    for (rev, expected) in contents.iter().enumerate() {
        let root = fs.root(Revnum(rev as u64)).unwrap();
        let ours = read(&root);
        if ours != *expected {
            let differs = |path: &&String| ours.get(*path) != expected.get(*path);
            let paths: Vec<_> = ours.keys().chain(expected.keys()).filter(differs).collect();
            panic!("r{rev} differs in {paths:?}");
        }
        let tree = repository.svnlook(&["tree", "--show-ids", "--full-paths", "-r", &rev.to_string()]);
        assert_eq!(ids(&root), tree, "tree of r{rev}");
        let lines: Vec<_> = root.changed_paths().unwrap().iter().map(changed_line).collect();
        assert_eq!(
            lines,
            *changed.get(rev).unwrap_or(&Vec::new()),
            "changed paths of r{rev}"
        );
    }
}

/// Reads a whole tree.
pub fn read(root: &Root) -> Contents {
    fn walk(node: &Node, contents: &mut Contents) {
        let props = node.props().unwrap();
        assert_eq!(node.has_props(), !props.is_empty());
        let text = (node.kind() == NodeKind::File).then(|| {
            let text = node.reader().unwrap().read_all().unwrap();
            assert_eq!(node.size().unwrap(), text.len() as u64);
            let md5 = Md5::of(&text);
            assert_eq!(node.md5().unwrap(), md5);
            md5
        });
        contents.insert(node.path().to_string(), (text, Props::clone(&props)));
        if node.kind() == NodeKind::Dir {
            for entry in node.entries().unwrap().iter() {
                let child = node.child_of(entry).unwrap();
                assert_eq!(node.root().node(child.path()).unwrap().id(), &entry.id().unwrap());
                assert_eq!(node.root().kind(child.path()).unwrap(), entry.kind);
                walk(&child, contents);
            }
        }
    }
    let mut contents = Contents::new();
    walk(&root.root_node().unwrap(), &mut contents);
    contents
}

/// The trees of all revisions by the real tools.
pub fn their_contents(repository: &Repository) -> Vec<Contents> {
    let revision = |rev| {
        let url = format!("{}@{rev}", repository.url());
        let export = repository.dir.path().join("export");
        run("svn", &["export", "-q", "--ignore-keywords", &url, arg(&export)]);
        let mut contents = Contents::new();
        exported(&export, "", &mut contents);
        std::fs::remove_dir_all(&export).unwrap();
        let theirs = run("svn", &["proplist", "-R", "--xml", "-v", &url]);
        xml_props(
            &String::from_utf8(theirs).unwrap(),
            &repository.url(),
            &mut contents,
        );
        contents
    };
    (0..=repository.youngest()).map(revision).collect()
}

/// As `svnlook tree --show-ids --full-paths` prints it.
pub fn ids(root: &Root) -> String {
    fn walk(node: &Node, out: &mut String) {
        let path = match node.path().rel_str() {
            "" => "/",
            path => path,
        };
        let slash = if node.kind() == NodeKind::Dir && path != "/" {
            "/"
        } else {
            ""
        };
        writeln!(out, "{path}{slash} <{}>", node.id()).unwrap();
        if node.kind() == NodeKind::Dir {
            for entry in node.entries().unwrap().iter() {
                walk(&node.child_of(entry).unwrap(), out);
            }
        }
    }
    let mut out = String::new();
    walk(&root.root_node().unwrap(), &mut out);
    out
}

fn exported(dir: &Path, path: &str, contents: &mut Contents) {
    let own = if path.is_empty() { "/" } else { path };
    contents.insert(own.to_owned(), (None, Props::new()));
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let below = format!("{path}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            exported(&entry.path(), &below, contents);
        } else {
            let text = std::fs::read(entry.path()).unwrap();
            contents.insert(below, (Some(Md5::of(&text)), Props::new()));
        }
    }
}

/// Parses the output of `svn proplist --xml -v`.
fn xml_props(xml: &str, url: &str, contents: &mut Contents) {
    let mut path = String::new();
    for tag in xml.split('<').skip(1) {
        if tag.starts_with("target") {
            let target = attribute(tag, "path").unwrap();
            path = percent_decode(target.strip_prefix(url).unwrap());
            if path.is_empty() {
                path.push('/');
            }
        } else if tag.starts_with("property") {
            let value = unescape(&tag[tag.find('>').unwrap() + 1..]);
            let value = match attribute(tag, "encoding") {
                Some(_) => panic!("binary properties are not for this test"),
                None => value.into_bytes(),
            };
            contents
                .get_mut(&path)
                .unwrap()
                .1
                .insert(attribute(tag, "name").unwrap(), value);
        }
    }
}

/// The changed paths of all revisions from `svn log -v --xml`, one line each.
fn changed_paths(repository: &Repository) -> Vec<Vec<String>> {
    let range = format!("0:{}", repository.youngest());
    let xml = run("svn", &["log", "-v", "--xml", "-r", &range, &repository.url()]);
    let xml = String::from_utf8(xml).unwrap();
    let mut revisions: Vec<Vec<String>> = Vec::new();
    for tag in xml.split('<').skip(1) {
        if tag.starts_with("logentry") {
            let rev = attribute(tag, "revision").unwrap().parse().unwrap();
            revisions.resize(rev, Vec::new());
            revisions.push(Vec::new());
        } else if tag.starts_with("path\n") || tag.starts_with("path ") {
            let path = unescape(&tag[tag.find('>').unwrap() + 1..]);
            let get = |name| attribute(tag, name).unwrap_or_default();
            let source = format!("{}@{}", get("copyfrom-path"), get("copyfrom-rev"));
            revisions.last_mut().unwrap().push(format!(
                "{path} {} {} {} {source}",
                get("action"),
                get("text-mods"),
                get("prop-mods"),
            ));
        }
    }
    for revision in &mut revisions {
        revision.sort();
    }
    revisions
}

fn changed_line(change: &ChangedPath) -> String {
    let action = match change.change {
        ChangeKind::Modify => "M",
        ChangeKind::Add => "A",
        ChangeKind::Delete => "D",
        ChangeKind::Replace => "R",
    };
    let source = match &change.copyfrom {
        Some((rev, path)) => format!("{path}@{rev}"),
        None => "@".to_owned(),
    };
    format!(
        "{} {action} {} {} {source}",
        change.path, change.text_mod, change.prop_mod
    )
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
    let start = tag.find(&format!("{name}=\""))? + name.len() + 2;
    Some(unescape(&tag[start..start + tag[start..].find('"')?]))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first == b'%' {
            let digits = std::str::from_utf8(&rest[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).unwrap()
}
