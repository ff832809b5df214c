//! Every node of every revision, as we read it and as the real tools show it.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use base::{NodeKind, Revnum};
use fsfs::{Cache, Fs, Node};

use crate::incumbent::{Repository, arg, run};

pub fn open(repository: &Repository) -> Fs {
    Fs::open(&repository.db(), &Cache::new(16 << 20)).unwrap()
}

/// Compares all revisions.
pub fn all(repository: &Repository) {
    let fs = open(repository);
    let youngest = repository.youngest();
    assert_eq!(fs.youngest().unwrap(), Revnum(youngest));
    for rev in 0..=youngest {
        revision(repository, &fs, Revnum(rev));
    }
}

/// Compares one revision: tree with IDs, changed paths, property lists, texts.
pub fn revision(repository: &Repository, fs: &Fs, rev: Revnum) {
    let root = fs.root(rev).unwrap();
    let at = rev.to_string();
    let look = |args: &[&str]| {
        let path = repository.path();
        let args = [args, &["-r", &at, arg(&path)]].concat();
        String::from_utf8(run("svnlook", &args)).unwrap()
    };
    let mut tree = String::new();
    list(&root.root_node().unwrap(), &mut tree);
    assert_eq!(
        tree,
        look(&["tree", "--show-ids", "--full-paths"]),
        "tree of r{rev}"
    );
    let export = repository.dir.path().join("export");
    run(
        "svn",
        &[
            "export",
            "-q",
            "--ignore-keywords",
            &format!("{}@{rev}", repository.url()),
            arg(&export),
        ],
    );
    same_texts(&root.root_node().unwrap(), &export);
    std::fs::remove_dir_all(&export).unwrap();
    let mut props = String::new();
    list_props(&root.root_node().unwrap(), &mut props);
    let theirs = run(
        "svn",
        &[
            "proplist",
            "-R",
            "--xml",
            "-v",
            &format!("{}@{rev}", repository.url()),
        ],
    );
    let theirs = String::from_utf8(theirs).unwrap();
    assert_eq!(
        props,
        xml_props(&theirs, &repository.url()),
        "properties in r{rev}"
    );
    let _: Arc<[_]> = root.changed_paths().unwrap();
}

/// As `svnlook tree --show-ids --full-paths` prints it.
fn list(node: &Node, out: &mut String) {
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
            list(&node.child_of(entry).unwrap(), out);
        }
    }
}

fn same_texts(node: &Node, exported: &Path) {
    let path = exported.join(node.path().rel_str());
    if node.kind() == NodeKind::Dir {
        for entry in node.entries().unwrap().iter() {
            same_texts(&node.child_of(entry).unwrap(), exported);
        }
        return;
    }
    let ours = node.reader().unwrap().read_all().unwrap();
    assert!(ours == std::fs::read(&path).unwrap(), "text of {}", node.path());
    assert_eq!(node.size().unwrap(), ours.len() as u64);
    assert_eq!(node.md5().unwrap(), base::checksum::Md5::of(&ours));
}

/// `path name value` lines, sorted.
fn list_props(node: &Node, out: &mut String) {
    fn collect(node: &Node, lines: &mut Vec<String>) {
        let props = node.props().unwrap();
        assert_eq!(node.has_props(), !props.is_empty());
        for (name, value) in props.iter() {
            lines.push(format!(
                "{} {name} {}",
                node.path(),
                String::from_utf8_lossy(value)
            ));
        }
        if node.kind() == NodeKind::Dir {
            for entry in node.entries().unwrap().iter() {
                collect(&node.child_of(entry).unwrap(), lines);
            }
        }
    }
    let mut lines = Vec::new();
    collect(node, &mut lines);
    lines.sort();
    *out = lines.join("\n");
}

/// The same out of `svn proplist --xml -v`; enough of an XML reader for that.
fn xml_props(xml: &str, url: &str) -> String {
    let unescape = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
    };
    let mut lines = Vec::new();
    let mut path = String::new();
    for tag in xml.split('<').skip(1) {
        let attribute = |name: &str| {
            let start = tag.find(&format!("{name}=\""))? + name.len() + 2;
            Some(unescape(&tag[start..start + tag[start..].find('"')?]))
        };
        if tag.starts_with("target") {
            path = attribute("path").unwrap();
            path = percent_decode(path.strip_prefix(url).unwrap());
            if path.is_empty() {
                path.push('/');
            }
        } else if tag.starts_with("property") {
            let value = &tag[tag.find('>').unwrap() + 1..];
            lines.push(format!(
                "{path} {} {}",
                attribute("name").unwrap(),
                unescape(value)
            ));
        }
    }
    lines.sort();
    lines.join("\n")
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
