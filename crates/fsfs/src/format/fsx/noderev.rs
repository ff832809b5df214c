//! Node-revisions as text. Source: section 8 of the description of FSX.
//!
//! Lines of `<name>: <value>`, ended by an empty line:
//!
//! | name | value | present |
//! |---|---|---|
//! | `id`, `node`, `copy` | IDs (see [`id`](super::id)) of the node-revision, of its node, of its copy | always |
//! | `type` | `file` or `dir` | always |
//! | `pred` | ID of the predecessor | if there is one |
//! | `count` | number of predecessors, decimal | read as 0 if absent |
//! | `text`, `props` | rep lines (see [`rep_line`](super::rep_line)) | if the content was ever set |
//! | `cpath` | path at which the node-revision was made | always |
//! | `copyfrom` | `<rev> <path>`, source of the copy | on the copy itself |
//! | `copyroot` | `<rev> <path>`; the revision is `-1` in a transaction | unless it is this node-revision |
//! | `minfo-cnt` | number of nodes with `svn:mergeinfo` at or below, decimal | unless it is 0 |
//! | `minfo-here` | `y` | if the node has `svn:mergeinfo` |
//!
//! Paths are escaped ([`path_text`]). The encoder writes the lines in this order. The parser accepts any
//! order and ignores other names. A packed node-revision is a record of a
//! [container](super::noderev_container) instead.

use base::number::parse_decimal;
use base::{FsPath, NodeKind, Revnum};

use super::cursor::{Cursor, DecodeError, Subject};
use super::id::{ChangeSet, FsxId};
use super::p2l::ROOT_ITEM;
use super::path_text;
use super::rep_line::FsxRep;
use crate::format::noderev::{CopyRoot, NodeLine, NodeRev};
use crate::format::rep_line::{Rep, RepLocation};

/// A node-revision as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FsxNodeRev {
    pub(crate) id: FsxId,
    pub(crate) node: FsxId,
    pub(crate) copy: FsxId,
    pub(crate) kind: NodeKind,
    pub(crate) predecessor: Option<FsxId>,
    /// The number of predecessors.
    pub(crate) count: u64,
    pub(crate) text: Option<FsxRep>,
    pub(crate) props: Option<FsxRep>,
    pub(crate) created_path: FsPath,
    pub(crate) copyfrom: Option<(Revnum, FsPath)>,
    /// The copy root; its revision is `None` for the revision that a transaction will become.
    pub(crate) copyroot: (Option<Revnum>, FsPath),
    /// The number of nodes with `svn:mergeinfo` at or below.
    pub(crate) mergeinfo_count: u64,
    pub(crate) has_mergeinfo: bool,
}

const SUBJECT: Subject = Subject::file("Node-revision");

/// The fields as far as they were read.
#[derive(Default)]
struct Fields {
    id: Option<FsxId>,
    node: Option<FsxId>,
    copy: Option<FsxId>,
    kind: Option<NodeKind>,
    predecessor: Option<FsxId>,
    count: u64,
    text: Option<FsxRep>,
    props: Option<FsxRep>,
    created_path: Option<FsPath>,
    copyfrom: Option<(Revnum, FsPath)>,
    copyroot: Option<(Option<Revnum>, FsPath)>,
    mergeinfo_count: u64,
    has_mergeinfo: bool,
}

impl FsxNodeRev {
    /// The node-revision in the form of the storage layer.
    pub(crate) fn into_noderev(self) -> Result<NodeRev, DecodeError> {
        let of_txn = self.id.change_set.revision().is_none();
        let rep = |rep: Option<FsxRep>, is_file| {
            let rep = rep.map(|rep| {
                rep.location(self.id.change_set, is_file).ok_or(DecodeError::new(
                    SUBJECT,
                    "a content of another transaction",
                    0,
                ))
            });
            rep.transpose()
        };
        let (text, props) = (
            rep(self.text, self.kind == NodeKind::File)?,
            rep(self.props, false)?,
        );
        let is_own = |rep: &Rep| !matches!(rep.location, RepLocation::Rev(..));
        let own = (self.id.change_set.revision(), &self.created_path);
        let copyroot = ((self.copyroot.0, &self.copyroot.1) != own).then(|| CopyRoot {
            rev: self.copyroot.0,
            path: self.copyroot.1.clone(),
        });
        Ok(NodeRev {
            id: self.id.noderev_id(),
            line: Some(Box::new(NodeLine {
                node: self.node.part(),
                copy: self.copy.part(),
            })),
            kind: self.kind,
            predecessor: self.predecessor.map(FsxId::noderev_id),
            count: self.count,
            text,
            props,
            is_fresh_txn_root: of_txn
                && self.id.number == ROOT_ITEM
                && ![text, props].iter().flatten().any(is_own),
            copyroot,
            created_path: self.created_path,
            copyfrom: self.copyfrom,
            mergeinfo_count: self.mergeinfo_count,
            has_mergeinfo: self.has_mergeinfo,
        })
    }

    /// The stored form of a node-revision of the storage layer.
    pub(crate) fn of(noderev: &NodeRev) -> Self {
        let id = FsxId::of(&noderev.id);
        let rep = |rep: &Option<Rep>| rep.as_ref().map(|rep| FsxRep::of(rep, id.change_set));
        let (root_rev, root_path) = noderev.copyroot();
        FsxNodeRev {
            id,
            node: FsxId::of_part(noderev.node_id(), id.change_set),
            copy: FsxId::of_part(noderev.copy_id(), id.change_set),
            kind: noderev.kind,
            predecessor: noderev.predecessor.as_ref().map(FsxId::of),
            count: noderev.count,
            text: rep(&noderev.text),
            props: rep(&noderev.props),
            created_path: noderev.created_path.clone(),
            copyfrom: noderev.copyfrom.clone(),
            copyroot: (root_rev, root_path.clone()),
            mergeinfo_count: noderev.mergeinfo_count,
            has_mergeinfo: noderev.has_mergeinfo,
        }
    }

    /// Parses a node-revision, which takes all of `text`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(text, SUBJECT);
        let mut fields = Fields::default();
        loop {
            let start = cursor;
            let line = cursor.until(b'\n')?;
            if line.is_empty() {
                break;
            }
            let malformed = start.fault("malformed line");
            let colon = memchr::memmem::find(line, b": ").ok_or(malformed)?;
            fields
                .set(&line[..colon], &line[colon + 2..])
                .map_err(|e| e.unwrap_or(malformed))?;
        }
        cursor.finish()?;
        fields.finish().ok_or(cursor.fault("a line is missing"))
    }

    /// Appends the text form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut line = |name: &str, value: &[u8]| {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.push(b'\n');
        };
        line("id", self.id.to_string().as_bytes());
        line("node", self.node.to_string().as_bytes());
        line("copy", self.copy.to_string().as_bytes());
        line(
            "type",
            if self.kind == NodeKind::Dir {
                b"dir"
            } else {
                b"file"
            },
        );
        if let Some(predecessor) = self.predecessor {
            line("pred", predecessor.to_string().as_bytes());
        }
        line("count", self.count.to_string().as_bytes());
        for (name, rep) in [("text", &self.text), ("props", &self.props)] {
            if let Some(rep) = rep {
                line(name, rep.line().as_bytes());
            }
        }
        line("cpath", &with_path(String::new(), &self.created_path));
        if let Some((rev, path)) = &self.copyfrom {
            line("copyfrom", &with_path(format!("{rev} "), path));
        }
        let own = (self.id.change_set.revision(), &self.created_path);
        if (self.copyroot.0, &self.copyroot.1) != own {
            let rev = self.copyroot.0.map_or("-1".to_owned(), |rev| rev.to_string());
            line("copyroot", &with_path(format!("{rev} "), &self.copyroot.1));
        }
        if self.mergeinfo_count > 0 {
            line("minfo-cnt", self.mergeinfo_count.to_string().as_bytes());
        }
        if self.has_mergeinfo {
            line("minfo-here", b"y");
        }
        out.push(b'\n');
    }
}

impl Fields {
    /// Sets the field of a line. The error is that of an ID, or `None` for a malformed line.
    fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), Option<DecodeError>> {
        let id = || FsxId::parse(value).map(Some).map_err(Some);
        match name {
            b"id" => self.id = id()?,
            b"node" => self.node = id()?,
            b"copy" => self.copy = id()?,
            b"pred" => self.predecessor = id()?,
            b"type" => {
                self.kind = Some(match value {
                    b"file" => NodeKind::File,
                    b"dir" => NodeKind::Dir,
                    _ => return Err(None),
                });
            }
            b"count" => self.count = parse_decimal(value).ok_or(None)?,
            b"text" => self.text = Some(FsxRep::parse(value).ok_or(None)?),
            b"props" => self.props = Some(FsxRep::parse(value).ok_or(None)?),
            b"cpath" => self.created_path = Some(path_text::decode(value).ok_or(None)?),
            b"copyfrom" => {
                let (rev, path) = rev_and_path(value).ok_or(None)?;
                self.copyfrom = Some((Revnum::parse(rev).ok_or(None)?, path));
            }
            b"copyroot" => {
                let (rev, path) = rev_and_path(value).ok_or(None)?;
                self.copyroot = Some(match rev {
                    b"-1" => (None, path),
                    rev => (Some(Revnum::parse(rev).ok_or(None)?), path),
                });
            }
            b"minfo-cnt" => self.mergeinfo_count = parse_decimal(value).ok_or(None)?,
            b"minfo-here" => self.has_mergeinfo = true,
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Option<FsxNodeRev> {
        let (id, created_path) = (self.id?, self.created_path?);
        let own = || match id.change_set {
            ChangeSet::Revision(rev) => (Some(rev), created_path.clone()),
            ChangeSet::Txn(_) => (None, created_path.clone()),
        };
        Some(FsxNodeRev {
            id,
            node: self.node?,
            copy: self.copy?,
            kind: self.kind?,
            predecessor: self.predecessor,
            count: self.count,
            text: self.text,
            props: self.props,
            copyroot: self.copyroot.unwrap_or_else(own),
            created_path,
            copyfrom: self.copyfrom,
            mergeinfo_count: self.mergeinfo_count,
            has_mergeinfo: self.has_mergeinfo,
        })
    }
}

/// Splits `<rev> <path>`.
pub(super) fn rev_and_path(value: &[u8]) -> Option<(&[u8], FsPath)> {
    let space = memchr::memchr(b' ', value)?;
    Some((&value[..space], path_text::decode(&value[space + 1..])?))
}

fn with_path(start: String, path: &FsPath) -> Vec<u8> {
    let mut value = start.into_bytes();
    path_text::encode(path, &mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Code;
    use proptest::prelude::*;

    const R0: &str = "id: 2+0\nnode: 0+0\ncopy: 0+0\ntype: dir\ncount: 0\ncpath: /\n\n";
    const COPY: &str = "id: 7+5\nnode: 1+2\ncopy: 0+5\ntype: file\npred: 4+3\ncount: 2\n\
        text: 3 5 33 6245 8d2b33a89f0bc051f7e7439940a6d8bf f3da7daeb50a3040e118d2540f9d71440e770fc5\n\
        props: 2 8 41 29 cc0b088b5c9e1af40a6ddbe64f0264e3\ncpath: /b/\x1bA: c\ncopyfrom: 4 /a b\n\
        minfo-cnt: 1\nminfo-here: y\n\n";
    const TXN: &str = "id: 2-2q\nnode: 0+0\ncopy: 0+0\ntype: dir\npred: 2+7\ncount: 8\n\
        text: -98 0 1 2 cc0b088b5c9e1af40a6ddbe64f0264e3\nprops: -1\ncpath: /b\ncopyroot: -1 /\n\n";

    #[test]
    fn every_form_prints_as_it_was_read() {
        for text in [R0, COPY, TXN] {
            let noderev = FsxNodeRev::parse(text.as_bytes()).expect(text);
            let mut out = Vec::new();
            noderev.encode(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
        let copy = FsxNodeRev::parse(COPY.as_bytes()).expect("valid");
        assert_eq!(copy.created_path.as_str(), "/b/\x01: c");
        assert_eq!(copy.copyroot, (Some(Revnum(5)), copy.created_path.clone()));
    }

    #[test]
    fn node_revisions_of_the_storage_layer_are_stored_as_they_were_read() {
        let in_txn = TXN.replace("props: -1\n", "");
        for text in [
            R0,
            COPY,
            &in_txn.replace(
                "-98 0 1 2 cc0b088b5c9e1af40a6ddbe64f0264e3",
                "-98 0 0 0 00000000000000000000000000000000",
            ),
        ] {
            let stored = FsxNodeRev::parse(text.as_bytes()).expect(text);
            let noderev = stored.into_noderev().expect("its own contents");
            let mut out = Vec::new();
            FsxNodeRev::of(&noderev).encode(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn malformed_node_revisions_are_refused() {
        for at in 1..R0.len() {
            assert!(FsxNodeRev::parse(&R0.as_bytes()[..at]).is_err(), "{at}");
        }
        for (from, to) in [
            ("dir", "link"),
            ("count: 0", "count: -1"),
            ("node: 0+0\n", ""),
            ("cpath: /", "cpath: x"),
            ("cpath", "text"),
            (": ", ":"),
            ("cpath: /\n\n", "cpath: /\n\nx"),
        ] {
            let e = FsxNodeRev::parse(R0.replace(from, to).as_bytes()).expect_err(to);
            assert_eq!(e.code(), Code::FS_CORRUPT);
        }
        let e = FsxNodeRev::parse(R0.replace("2+0", "2.0").as_bytes()).expect_err("an ID");
        assert_eq!(e.code(), Code::FS_MALFORMED_NODEREV_ID);
        let other = R0.replace("count: 0\n", "future: 1\n");
        assert_eq!(FsxNodeRev::parse(other.as_bytes()).expect("valid").count, 0);
    }

    proptest! {
        #[test]
        fn damage_never_panics(which in 0..3usize, at: prop::sample::Index, byte: u8) {
            let mut bytes = [R0, COPY, TXN][which].as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = FsxNodeRev::parse(&bytes);
        }
    }
}
