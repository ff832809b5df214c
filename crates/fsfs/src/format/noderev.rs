//! Node-revisions: lines of `<name>: <value>`, ended by an empty line.
//!
//! | name | value | present | since format |
//! |---|---|---|---|
//! | `id` | node-revision ID (see [`id`](super::id)) | always | 1 |
//! | `type` | `file` or `dir` | always | 1 |
//! | `pred` | ID of the predecessor | if there is one | 1 |
//! | `count` | number of predecessors, decimal, up to 2^31 - 1 | read as 0 if absent | 1 |
//! | `text` | rep line (see [`rep_line`](super::rep_line)) of the text or the entries | if it was ever set | 1 |
//! | `props` | rep line of the property list | if it was ever set | 1 |
//! | `cpath` | path at which the node-revision was made | always | 1 |
//! | `copyfrom` | `<rev> <path>`, source of the copy | on the copy itself | 1 |
//! | `copyroot` | `<rev> <path>`, copy root; the revision is `-1` in a transaction | unless it is this node-revision | 1 |
//! | `is-fresh-txn-root` | `y` | on an unchanged root of a transaction | 1 |
//! | `minfo-cnt` | number of nodes with `svn:mergeinfo` at or below, decimal | unless it is 0 | 3 |
//! | `minfo-here` | `y` | if the node has `svn:mergeinfo` | 3 |
//!
//! The encoder writes the lines in this order. The parser accepts any order and ignores other names.

use base::{Code, Error, FsPath, NodeKind, Revnum};

use super::id::{IdPart, NodeRevId};
use super::rep_line::{Rep, RepLineError};
use super::{decode_error, quoted};
use base::number::{BadRev, parse_decimal, parse_rev};

decode_error! {
    /// Why a node-revision is not usable.
    NodeRevError {
        Header => FS_CORRUPT, "Found malformed header in revision file";
        Id => FS_CORRUPT, "Missing id field in node-rev";
        MalformedId => FS_MALFORMED_NODEREV_ID, "Malformed node revision ID string";
        Kind => FS_CORRUPT, "Missing kind field in node-rev";
        Pred => FS_MALFORMED_NODEREV_ID, "Malformed node revision ID string";
        Count => INCORRECT_PARAMS, "Malformed predecessor count in node-rev";
        Rep => FS_CORRUPT, "Malformed text representation offset line in node-rev";
        RepRevision => REVNUM_PARSE_FAILURE, "Invalid revision number in a representation line of a node-rev";
        RepNumber => INCORRECT_PARAMS, "Invalid number in a representation line of a node-rev";
        RepChecksum => BAD_CHECKSUM_PARSE, "Invalid character in hex checksum";
        RepTxn => FS_MALFORMED_TXN_ID, "Malformed transaction ID in the uniquifier of a node-rev";
        Uniquifier => FS_CORRUPT, "Malformed uniquifier in node-rev";
        CreatedPath => FS_CORRUPT, "Missing cpath field in node-rev";
        CopyRoot => FS_CORRUPT, "Malformed copyroot line in node-rev";
        CopyFrom => FS_CORRUPT, "Malformed copyfrom line in node-rev";
        CopyRevision => REVNUM_PARSE_FAILURE, "Invalid revision number of a copy in node-rev";
        Mergeinfo => INCORRECT_PARAMS, "Malformed mergeinfo count in node-rev";
        TooLong => FS_CORRUPT, "Node-rev does not end";
    }
}

impl NodeRevError {
    /// The error for the committed node-revision `id` that cannot be parsed from `block`, in the words of the
    /// incumbent.
    pub(crate) fn of(self, id: &str, block: &[u8]) -> Error {
        let node = || quoted(id.split('.').next().unwrap_or(id).as_bytes());
        let error = |what: String| Error::new(self.code(), what);
        let cause = match self {
            NodeRevError::Header => self.of_header(block),
            NodeRevError::Kind | NodeRevError::CreatedPath => error(format!("{} '{}'", self.text(), node())),
            NodeRevError::MalformedId => error(format!("{} '{}'", self.text(), value_in(block, b"id"))),
            NodeRevError::Pred => error(format!("{} '{}'", self.text(), value_in(block, b"pred"))),
            NodeRevError::Rep
            | NodeRevError::RepRevision
            | NodeRevError::RepNumber
            | NodeRevError::RepChecksum => Error::from(self).context(format!(
                "While reading representation offsets for node-revision '{id}':"
            )),
            _ => Error::from(self),
        };
        match cause.code() {
            Code::FS_CORRUPT => cause.context(format!("Corrupt node-revision '{id}'")),
            _ => cause,
        }
    }

    /// As [`NodeRevError::of`], for the root of a revision. With physical addressing the incumbent first reads only
    /// its ID, at the offset in the trailer, and then the node-revision with this ID.
    pub(crate) fn of_root(self, is_logical: bool, id: &str, block: &[u8]) -> Error {
        match self {
            NodeRevError::Header if !is_logical => self.of_header(block),
            NodeRevError::Id if !is_logical => self.into(),
            _ => self.of(id, block),
        }
    }

    fn of_header(self, block: &[u8]) -> Error {
        let line = lines_of(block).find(|line| split_line(line).is_none());
        let line = quoted(line.unwrap_or_default());
        Error::new(
            self.code(),
            format!("Found malformed header '{line}' in revision file"),
        )
    }
}

impl From<RepLineError> for NodeRevError {
    fn from(e: RepLineError) -> Self {
        match e {
            RepLineError::Malformed => NodeRevError::Rep,
            RepLineError::Revision => NodeRevError::RepRevision,
            RepLineError::Number => NodeRevError::RepNumber,
            RepLineError::Checksum => NodeRevError::RepChecksum,
            RepLineError::Txn => NodeRevError::RepTxn,
            RepLineError::Uniquifier => NodeRevError::Uniquifier,
        }
    }
}

/// A node-revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRev {
    pub(crate) id: NodeRevId,
    /// The node and the copy that it belongs to, if `id` does not have them (FSX).
    pub(crate) line: Option<Box<NodeLine>>,
    /// File or directory.
    pub(crate) kind: NodeKind,
    pub(crate) predecessor: Option<NodeRevId>,
    /// The number of predecessors.
    pub(crate) count: u64,
    /// The text, or the entries of a directory.
    pub(crate) text: Option<Rep>,
    pub(crate) props: Option<Rep>,
    /// The path at which this node-revision was made.
    pub(crate) created_path: FsPath,
    /// The source of the copy, on the node-revision that a copy made.
    pub(crate) copyfrom: Option<(Revnum, FsPath)>,
    /// The copy root; `None` if it is this node-revision.
    pub(crate) copyroot: Option<CopyRoot>,
    /// True for the root of a transaction without changes.
    pub(crate) is_fresh_txn_root: bool,
    /// The number of nodes at or below with `svn:mergeinfo`.
    pub(crate) mergeinfo_count: u64,
    /// True if the node itself has `svn:mergeinfo`.
    pub(crate) has_mergeinfo: bool,
}

/// The node and the copy that a node-revision of FSX belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeLine {
    pub(crate) node: IdPart,
    pub(crate) copy: IdPart,
}

/// The destination of a copy. Without a revision, the copy is of the same transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyRoot {
    pub(crate) rev: Option<Revnum>,
    pub(crate) path: FsPath,
}

/// The longest node-revision, bytes. (The format has no limit for paths; 1 MiB is enough for any that an operating
/// system accepts.)
pub(crate) const MAX_NODEREV: usize = 1 << 20;

impl NodeRev {
    /// The node-id.
    pub(crate) fn node_id(&self) -> IdPart {
        self.line.as_ref().map_or(self.id.node, |line| line.node)
    }

    /// The copy-id.
    pub(crate) fn copy_id(&self) -> IdPart {
        self.line.as_ref().map_or(self.id.copy, |line| line.copy)
    }

    /// True if both are node-revisions of one node. Node-ids of a transaction are comparable only within it.
    pub(crate) fn is_related(&self, other: &NodeRev) -> bool {
        let node = self.node_id();
        node == other.node_id() && (!node.is_temporary() || self.id.txn() == other.id.txn())
    }

    /// Parses the node-revision at the front of `input`. Returns it with its length, or `None` if more bytes are
    /// needed.
    pub(crate) fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, NodeRevError> {
        let mut fields = NodeRevFields::default();
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let Some(end) = memchr::memchr(b'\n', rest) else {
                return if input.len() >= MAX_NODEREV {
                    Err(NodeRevError::TooLong)
                } else {
                    Ok(None)
                };
            };
            at += end + 1;
            if end == 0 {
                return Ok(Some((fields.finish()?, at)));
            }
            let (name, value) = split_line(&rest[..end]).ok_or(NodeRevError::Header)?;
            fields.set(name, value)?;
        }
    }

    /// Appends the lines and the empty line. `mergeinfo` is true for formats that record it (3 and later),
    /// `placeholders` for those that write `-` in rep lines (8).
    pub(crate) fn encode(&self, out: &mut Vec<u8>, mergeinfo: bool, placeholders: bool) {
        let mut text = format!("id: {}\ntype: {}\n", self.id, self.kind.word());
        if let Some(predecessor) = &self.predecessor {
            text.push_str(&format!("pred: {predecessor}\n"));
        }
        text.push_str(&format!("count: {}\n", self.count));
        for (name, rep) in [("text: ", &self.text), ("props: ", &self.props)] {
            if let Some(rep) = rep {
                text.push_str(name);
                rep.encode(&mut text, placeholders);
                text.push('\n');
            }
        }
        text.push_str(&format!("cpath: {}\n", self.created_path));
        if let Some((rev, path)) = &self.copyfrom {
            text.push_str(&format!("copyfrom: {rev} {path}\n"));
        }
        if let Some(CopyRoot { rev, path }) = &self.copyroot {
            match rev {
                Some(rev) => text.push_str(&format!("copyroot: {rev} {path}\n")),
                None => text.push_str(&format!("copyroot: -1 {path}\n")),
            }
        }
        if self.is_fresh_txn_root {
            text.push_str("is-fresh-txn-root: y\n");
        }
        if mergeinfo && self.mergeinfo_count > 0 {
            text.push_str(&format!("minfo-cnt: {}\n", self.mergeinfo_count));
        }
        if mergeinfo && self.has_mergeinfo {
            text.push_str("minfo-here: y\n");
        }
        text.push('\n');
        out.extend_from_slice(text.as_bytes());
    }

    /// The revision and path of the copy root; no revision if it is in a transaction.
    pub(crate) fn copyroot(&self) -> (Option<Revnum>, &FsPath) {
        match &self.copyroot {
            Some(root) => (root.rev, &root.path),
            None => (self.id.rev(), &self.created_path),
        }
    }
}

#[derive(Default)]
struct NodeRevFields {
    id: Option<NodeRevId>,
    kind: Option<NodeKind>,
    predecessor: Option<NodeRevId>,
    count: u64,
    text: Option<Rep>,
    props: Option<Rep>,
    created_path: Option<FsPath>,
    copyfrom: Option<(Revnum, FsPath)>,
    copyroot: Option<CopyRoot>,
    is_fresh_txn_root: bool,
    mergeinfo_count: u64,
    has_mergeinfo: bool,
}

impl NodeRevFields {
    fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), NodeRevError> {
        match name {
            b"id" => self.id = Some(NodeRevId::parse(value).map_err(|_| NodeRevError::MalformedId)?),
            b"type" => {
                self.kind = match value {
                    b"file" => Some(NodeKind::File),
                    b"dir" => Some(NodeKind::Dir),
                    _ => return Err(NodeRevError::Kind),
                }
            }
            b"pred" => self.predecessor = Some(NodeRevId::parse(value).map_err(|_| NodeRevError::Pred)?),
            b"count" => {
                let count = parse_decimal(value).filter(|&n| n <= i32::MAX as u64);
                self.count = count.ok_or(NodeRevError::Count)?;
            }
            b"text" => self.text = Some(Rep::parse(value)?),
            b"props" => self.props = Some(Rep::parse(value)?),
            b"cpath" => {
                self.created_path = Some(FsPath::parse_bytes(value).map_err(|_| NodeRevError::CreatedPath)?)
            }
            b"copyfrom" => {
                let (rev, path) = split_rev_path(value).ok_or(NodeRevError::CopyFrom)?;
                self.copyfrom = Some((copy_rev(rev)?, path));
            }
            b"copyroot" => {
                let (rev, path) = split_rev_path(value).ok_or(NodeRevError::CopyRoot)?;
                let rev = match rev {
                    b"-1" => None,
                    digits => Some(copy_rev(digits)?),
                };
                self.copyroot = Some(CopyRoot { rev, path });
            }
            b"is-fresh-txn-root" => self.is_fresh_txn_root = true,
            b"minfo-cnt" => self.mergeinfo_count = parse_decimal(value).ok_or(NodeRevError::Mergeinfo)?,
            b"minfo-here" => self.has_mergeinfo = true,
            // Names that a later format may add are ignored.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<NodeRev, NodeRevError> {
        Ok(NodeRev {
            id: self.id.ok_or(NodeRevError::Id)?,
            line: None,
            kind: self.kind.ok_or(NodeRevError::Kind)?,
            predecessor: self.predecessor,
            count: self.count,
            text: self.text,
            props: self.props,
            created_path: self.created_path.ok_or(NodeRevError::CreatedPath)?,
            copyfrom: self.copyfrom,
            copyroot: self.copyroot,
            is_fresh_txn_root: self.is_fresh_txn_root,
            mergeinfo_count: self.mergeinfo_count,
            has_mergeinfo: self.has_mergeinfo,
        })
    }
}

/// Splits `<name>: <value>`.
fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr2(b':', 0, line).filter(|&at| line[at] == b':')?;
    Some((&line[..colon], line.get(colon + 2..)?))
}

/// The lines of a block, up to the empty line.
fn lines_of(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block
        .split(|&byte| byte == b'\n')
        .take_while(|line| !line.is_empty())
}

/// The value of a line with an invalid ID, for messages: like the incumbent, up to the first dot.
fn value_in(block: &[u8], name: &[u8]) -> String {
    let mut values = lines_of(block).filter_map(split_line);
    let value = values.find(|(found, _)| *found == name).map(|(_, value)| value);
    let value = value.unwrap_or_default();
    quoted(value.split(|&byte| byte == b'.').next().unwrap_or(value))
}

fn copy_rev(digits: &[u8]) -> Result<Revnum, NodeRevError> {
    parse_rev(digits).map_err(|e| match e {
        BadRev::NoDigit => NodeRevError::CopyRevision,
        BadRev::Trailing => NodeRevError::CopyFrom,
    })
}

/// Splits `<rev> <path>`.
fn split_rev_path(value: &[u8]) -> Option<(&[u8], FsPath)> {
    let space = memchr::memchr(b' ', value)?;
    Some((&value[..space], FsPath::parse_bytes(&value[space + 1..]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str, mergeinfo: bool, placeholders: bool) -> NodeRev {
        let (noderev, length) = NodeRev::parse(text.as_bytes()).expect("valid").expect("complete");
        assert_eq!(length, text.len());
        let mut out = Vec::new();
        noderev.encode(&mut out, mergeinfo, placeholders);
        assert_eq!(String::from_utf8_lossy(&out), text);
        noderev
    }

    #[test]
    fn temporary_node_ids_are_related_only_inside_their_transaction() {
        let node = |id: &str| {
            let text = format!("id: {id}\ntype: dir\ncpath: /\n\n");
            let parsed = NodeRev::parse(text.as_bytes()).expect("valid");
            parsed.expect("complete").0
        };
        assert!(node("1-2.0.r2/4").is_related(&node("1-2.5-7.t8-8")));
        assert!(!node("_1.0.t8-8").is_related(&node("_1.0.t8-9")));
        assert!(node("_1.0.t8-8").is_related(&node("_1._1.t8-8")));
    }

    #[test]
    fn real_node_revisions_round_trip() {
        let root = round_trip(
            "id: 0.0.r0/17\ntype: dir\ncount: 0\ntext: 0 0 4 4 2d2977d1c96f487abe4a1e202dd03b4e\ncpath: /\n\n",
            false,
            false,
        );
        assert_eq!(root.copyroot(), (Some(Revnum(0)), &FsPath::root()));
        let copy = round_trip(
            "id: 2-2.0-7.r7/3\ntype: file\npred: 2-2.0-3.r4/4\ncount: 2\n\
             text: 4 3 33 6245 8d2b33a89f0bc051f7e7439940a6d8bf f3da7daeb50a3040e118d2540f9d71440e770fc5 3-3/_1\n\
             props: 2 8 41 29 cc0b088b5c9e1af40a6ddbe64f0264e3 - 1-1/_7\n\
             cpath: /trunk/dup: 1 .txt\ncopyfrom: 5 /branches/b1/big.txt\nminfo-cnt: 1\nminfo-here: y\n\n",
            true,
            true,
        );
        assert_eq!(copy.copyroot(), (Some(Revnum(7)), &copy.created_path));
        assert_eq!(copy.created_path.as_str(), "/trunk/dup: 1 .txt");
        let in_txn = round_trip(
            "id: _8._0.t8-8\ntype: dir\npred: 0-1.0.r8/6\ncount: 6\ntext: -1\nprops: -1\ncpath: /b2\n\
             copyroot: -1 /b2\nis-fresh-txn-root: y\n\n",
            true,
            true,
        );
        assert_eq!(in_txn.copyroot().0, None);
    }

    #[test]
    fn a_cut_block_needs_more() {
        let text = b"id: 0.0.r0/17\ntype: dir\ncount: 0\ncpath: /\n\n";
        for cut in 0..text.len() {
            assert_eq!(NodeRev::parse(&text[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn malformed_blocks_are_refused() {
        for (text, error) in [
            ("\n", NodeRevError::Id),
            ("id: 0.0.r0/17\n\n", NodeRevError::Kind),
            ("id: 0.0.r0/17\ntype: dir\n\n", NodeRevError::CreatedPath),
            ("id: 0.0.r0/17\ntype: link\n\n", NodeRevError::Kind),
            ("id\n\n", NodeRevError::Header),
            ("id:\n\n", NodeRevError::Header),
            ("copyr\0ot: 0 /\n\n", NodeRevError::Header),
            ("id: 0.0\n\n", NodeRevError::MalformedId),
            ("pred: x\n\n", NodeRevError::Pred),
            ("cpath: a//b\n\n", NodeRevError::CreatedPath),
            ("copyfrom: /a\n\n", NodeRevError::CopyFrom),
            ("copyroot: -2 /a\n\n", NodeRevError::CopyRevision),
            ("text: 1 2\n\n", NodeRevError::Rep),
            ("count: -1\n\n", NodeRevError::Count),
        ] {
            assert_eq!(NodeRev::parse(text.as_bytes()), Err(error), "{text:?}");
        }
        assert_eq!(
            NodeRev::parse(&vec![b'x'; MAX_NODEREV]),
            Err(NodeRevError::TooLong)
        );
    }

    #[test]
    fn unknown_names_are_ignored_and_a_missing_count_is_zero() {
        let text = b"id: 0.0.r0/17\ntype: dir\nfuture: 1 2 3\ncpath: /\n\n";
        let (noderev, _) = NodeRev::parse(text).expect("valid").expect("complete");
        assert_eq!(noderev.count, 0);
    }
}
