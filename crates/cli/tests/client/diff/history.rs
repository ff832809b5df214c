//! Histories with everything that a difference shows: all kinds of texts, properties, replacements, moves.

use std::collections::BTreeMap;

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind, date};

const UUID: &str = "0d7e62c8-5c4b-4a0e-9a60-9f1a2b3c4d5e";

/// Properties of a node.
type Props = BTreeMap<String, Vec<u8>>;

/// A history and what commands name.
pub struct DiffHistory {
    pub stream: DumpStream,
    /// All paths that ever existed.
    pub paths: Vec<String>,
    pub youngest: usize,
}

/// Returns the history of the table of commands.
pub fn fixed() -> DumpStream {
    use RecordKind::{Dir, File};
    let mut s = DumpStream::new(UUID);
    s.rev("1")
        .mkdirs(["trunk", "trunk/A", "trunk/A/B", "trunk/C", "branches"]);
    s.file("trunk/f", "one\ntwo\nthree\n")
        .file("trunk/A/nonl", "x\ny")
        .file("trunk/A/B/e", "e\n")
        .file("trunk/C/c", "c\n")
        .file("trunk/run", "#!/bin/sh\n")
        .file("trunk/empty", "")
        .file("trunk/ws", "a b\n\tc\r\nint f()\n{\n 1;\n 2;\n 3;\n 4;\n 5;\n}\n");
    let binary: &[(&str, &[u8])] = &[("svn:mime-type", b"application/octet-stream")];
    s.add(File, "trunk/A/bin", Content::both(binary, "bin\0ary"));
    s.add(
        File,
        "trunk/kw",
        Content::both(&[("svn:keywords", b"Id")], "$Id$\na\n"),
    );
    s.rev("2").edit("trunk/f", "one\n2\nthree\nfour\n");
    s.change(Dir, "trunk", Content::props(&[("multi", b"a\nb\nc\n")]));
    s.change(
        File,
        "trunk/run",
        Content::props(&[("svn:executable", b"*"), ("color", b"red")]),
    );
    s.delete("trunk/C");
    s.edit("trunk/ws", "a  b\nc\nint f()\n{\n 1;\n 2;\n 3;\n 4;\n 6;\n}\n");
    s.rev("3").copy(Dir, "branches/b1", 1, "trunk");
    s.copy_with(
        File,
        "trunk/f2",
        2,
        "trunk/f",
        Content::text("one\n2\nthree\nfour\nmore\n"),
    );
    s.copy(Dir, "trunk/A2", 2, "trunk/A")
        .edit("trunk/A2/B/e", "e\nm\n");
    s.copy(File, "trunk/ws2", 2, "trunk/ws").delete("trunk/ws");
    s.rev("4")
        .delete("trunk/f")
        .add(Dir, "trunk/f", Content::props(&[]));
    s.file("trunk/f/in", "in\n");
    let image: &[(&str, &[u8])] = &[("svn:mime-type", b"image/png")];
    s.rev("5")
        .change(File, "trunk/A/bin", Content::both(image, "bin\0ary2"));
    let merged: &[(&str, &[u8])] = &[("empty", b""), ("svn:mergeinfo", b"/branches/b1:1-2\n/x:3,5*")];
    s.change(Dir, "trunk", Content::props(merged))
        .delete("trunk/empty");
    s.file("trunk/sp ace@1", "z\n");
    let more: &[(&str, &[u8])] = &[
        ("bytes", b"a\x01\xff"),
        ("svn:mergeinfo", b"/branches/b1:1-4\n/y:3"),
    ];
    s.rev("6").change(Dir, "trunk", Content::props(more));
    s.add(
        File,
        "trunk/link",
        Content::both(&[("svn:special", b"*")], "link f"),
    );
    s.edit("trunk/kw", "$Id$\nb\n");
    s.add(
        File,
        "trunk/café",
        Content::both(&[("prop", "ü\n".as_bytes())], "é\n"),
    );
    let odd: &[(&str, &[u8])] = &[("svn:mergeinfo", b""), ("no-end", b"line")];
    s.rev("7").change(Dir, "trunk/A2", Content::props(odd));
    s.add(Dir, "trunk/D", Content::props(&[("k", b"v\n")]));
    s.add(File, "trunk/e2", Content::both(&[("color", b"blue")], ""));
    s.add(
        File,
        "trunk/ebin",
        Content::both(&[("svn:mime-type", b"a/b")], ""),
    );
    s.rev("8").change(Dir, "trunk/A2", Content::props(&[]));
    s.delete("trunk/D");
    s.add(
        File,
        "trunk/D",
        Content::both(&[("svn:special", b"*"), ("svn:executable", b"*")], "link A"),
    );
    s.add(
        File,
        "trunk/big",
        Content::both(image, &testkit::history::noise(3, 400)),
    );
    s.edit("trunk/f/in", "in\n");
    s
}

/// Generates a history.
pub fn random(random: &mut Random, revisions: usize) -> DiffHistory {
    let mut generator = Generator {
        random,
        stream: DumpStream::new(UUID),
        trees: vec![Tree::from([(String::new(), Node::directory())])],
        touched: Vec::new(),
        paths: Vec::new(),
    };
    for rev in 1..=revisions {
        generator.revision(rev);
    }
    generator.paths.sort_unstable();
    generator.paths.dedup();
    DiffHistory {
        paths: generator.paths,
        stream: generator.stream,
        youngest: revisions,
    }
}

#[derive(Clone)]
struct Node {
    kind: RecordKind,
    props: Props,
    text: Vec<u8>,
}

impl Node {
    fn directory() -> Node {
        Node {
            kind: RecordKind::Dir,
            props: Props::new(),
            text: Vec::new(),
        }
    }
}

type Tree = BTreeMap<String, Node>;

struct Generator<'a> {
    random: &'a mut Random,
    stream: DumpStream,
    trees: Vec<Tree>,
    touched: Vec<String>,
    paths: Vec<String>,
}

impl Generator<'_> {
    fn revision(&mut self, rev: usize) {
        self.begin(rev);
        self.trees.push(self.trees[rev - 1].clone());
        self.touched.clear();
        // A few revisions are empty.
        let count = if rev == 1 {
            12
        } else {
            self.random.below(13).div_ceil(2).min(5)
        };
        for _ in 0..count {
            match self.random.below(if rev == 1 { 5 } else { 16 }) {
                0..=4 => self.add(),
                5..=8 => self.edit(),
                9..=10 => self.delete(),
                _ => self.copy(),
            }
        }
    }

    /// Begins a revision, some without author, date or log message.
    fn begin(&mut self, rev: usize) {
        let (date, log) = (date(rev), format!("r{rev}"));
        let mut props: Vec<(&str, &[u8])> = vec![("two", b"\0\n2")];
        if rev % 7 != 5 {
            props.push(("svn:author", ["alice", "bob", "cécile"][rev % 3].as_bytes()));
        }
        if rev % 9 != 7 {
            props.push(("svn:date", date.as_bytes()));
        }
        if rev % 10 != 8 {
            props.push(("svn:log", log.as_bytes()));
        }
        self.stream.rev_with(&props);
    }

    fn tree(&mut self) -> &mut Tree {
        self.trees.last_mut().expect("because there is revision 0")
    }

    /// Returns one of the paths of a tree; `None` for the root.
    fn existing(&mut self, rev: usize) -> Option<String> {
        let paths: Vec<&String> = self.trees[rev].keys().collect();
        let path = paths[self.random.below(paths.len())].clone();
        Some(path).filter(|path| !path.is_empty())
    }

    fn new_path(&mut self) -> String {
        let tree = self.tree().iter();
        let parents: Vec<String> = tree
            .filter(|(path, node)| node.kind == RecordKind::Dir && path.matches('/').count() < 3)
            .map(|(path, _)| path.clone())
            .collect();
        let parent = &parents[self.random.below(parents.len())];
        let name = NAMES[self.random.below(NAMES.len())];
        match parent.as_str() {
            "" => name.to_owned(),
            parent => format!("{parent}/{name}"),
        }
    }

    /// True if neither the path nor one above or below it has a record in this revision.
    fn is_free(&self, path: &str) -> bool {
        let overlaps =
            |a: &str, b: &str| a == b || a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        !self
            .touched
            .iter()
            .any(|touched| overlaps(path, touched) || overlaps(touched, path))
    }

    fn props(&mut self) -> Props {
        let mut props = Props::new();
        for _ in 0..[0, 0, 1, 1, 2, 4][self.random.below(6)] {
            let (name, values): (&str, &[&[u8]]) = match self.random.below(9) {
                0..=1 => (
                    "svn:mime-type",
                    &[b"text/plain", b"a/b", b"image/png", b"text/x; charset=y"],
                ),
                2 => ("svn:executable", &[b"*"]),
                3 => ("svn:special", &[b"*"]),
                4 => ("svn:eol-style", &[b"native", b"CRLF"]),
                5 => ("svn:keywords", &[b"Id", b"Rev Author"]),
                6 => (
                    "svn:mergeinfo",
                    &[b"/a:1-3\n/b:2*", b"/a:1,3,5-6", b"", b"/b:2\n/c/d:4\n/e:1-2"],
                ),
                7 => ("multi", &[b"1\n2\n3\n", b"1\n3\n4", b"1\r\n2", b"\x00\xff"]),
                _ => ("p", &[b"", b"v", b"w\n", "ü".as_bytes()]),
            };
            let value = values[self.random.below(values.len())];
            props.insert(name.to_owned(), value.to_vec());
        }
        props
    }

    fn text(&mut self) -> Vec<u8> {
        match self.random.below(12) {
            0 => Vec::new(),
            1 => b"link a".to_vec(),
            2 => b"\0\x01bin\xff\xfe".to_vec(),
            3 => b"$Id$ and $Rev: 12 $\n".to_vec(),
            _ => {
                let end: &[u8] = [&b"\n"[..], b"\n", b"\n", b"\r\n", b"\r"][self.random.below(5)];
                let mut text = Vec::new();
                let step = 1 + self.random.below(4);
                for line in 0..self.random.below(25) {
                    let word = ["int f()", "{", "  x;", "}", "\tx;", "a  b", "a b"][line * step % 7];
                    text.extend_from_slice(word.as_bytes());
                    if self.random.below(5) == 0 {
                        text.extend_from_slice(b" changed");
                    }
                    text.extend_from_slice(end);
                }
                if self.random.below(4) == 0 {
                    text.pop();
                }
                text
            }
        }
    }

    fn put(&mut self, path: &str, node: Node) {
        self.paths.push(path.to_owned());
        self.touched.push(path.to_owned());
        self.tree().insert(path.to_owned(), node);
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.tree().retain(|p, _| p != path && !p.starts_with(&below));
    }

    fn add(&mut self) {
        let path = self.new_path();
        if !self.is_free(&path) && self.touched.contains(&path) {
            return;
        }
        if self.tree().contains_key(&path) {
            if !self.is_free(&path) {
                return;
            }
            self.stream.delete(&path);
            self.remove(&path);
        }
        let node = match self.random.below(3) {
            0 => Node {
                props: self.props(),
                ..Node::directory()
            },
            _ => Node {
                kind: RecordKind::File,
                props: self.props(),
                text: self.text(),
            },
        };
        record(&node, |content| {
            self.stream.add(node.kind, &path, content);
        });
        self.put(&path, node);
    }

    fn edit(&mut self) {
        let rev = self.trees.len() - 1;
        let Some(path) = self.existing(rev).filter(|path| !self.touched.contains(path)) else {
            return;
        };
        let mut node = self.tree()[&path].clone();
        let what = self.random.below(3);
        if node.kind == RecordKind::File && what != 0 {
            node.text = match self.random.below(5) {
                0 => node.text,
                1 => [node.text, self.text()].concat(),
                _ => self.text(),
            };
        }
        if what != 1 {
            node.props = self.props();
        }
        record(&node, |content| {
            self.stream.change(node.kind, &path, content);
        });
        self.put(&path, node);
    }

    fn delete(&mut self) {
        let rev = self.trees.len() - 1;
        if let Some(path) = self.existing(rev).filter(|path| self.is_free(path)) {
            self.stream.delete(&path);
            self.remove(&path);
            self.touched.push(path);
        }
    }

    fn copy(&mut self) {
        let rev = self.random.below(self.trees.len() - 1);
        let (Some(source), to) = (self.existing(rev), self.new_path()) else {
            return;
        };
        if !self.is_free(&to) || self.tree().len() > 80 || self.trees[rev].len() > 60 {
            return;
        }
        let below = format!("{source}/");
        let copied = self.trees[rev].iter();
        let copied: Vec<(String, Node)> = copied
            .filter(|(path, _)| **path == source || path.starts_with(&below))
            .map(|(path, node)| (format!("{to}{}", &path[source.len()..]), node.clone()))
            .collect();
        let kind = self.trees[rev][&source].kind;
        if self.tree().contains_key(&to) {
            self.stream.replace_by_copy(kind, &to, rev as u64, &source);
            self.remove(&to);
        } else {
            self.stream.copy(kind, &to, rev as u64, &source);
        }
        self.touched.push(to);
        for (path, node) in copied {
            self.paths.push(path.clone());
            self.tree().insert(path, node);
        }
    }
}

/// Passes a node's properties and text to `add`.
fn record(node: &Node, add: impl FnOnce(Content<'_>)) {
    let props = node.props.iter();
    let props: Vec<(&str, &[u8])> = props
        .map(|(name, value)| (name.as_str(), value.as_slice()))
        .collect();
    match node.kind {
        RecordKind::Dir => add(Content::props(&props)),
        RecordKind::File => add(Content::both(&props, &node.text)),
    }
}

/// The names of nodes.
const NAMES: &[&str] = &[
    "a", "b", "c", "D", "E", "f", "g g", "h%25", "é", "x.c", "at@2", "@", "ha#sh", "q?m", "&<\"'>", "b\\s",
];
