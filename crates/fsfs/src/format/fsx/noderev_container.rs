//! Containers of node-revisions. Source: section 15 of the description of FSX.
//!
//! A container is a [string table](super::string_table) and [packed data](super::packed_data) with two top-level integer
//! streams and a byte stream:
//!
//! | stream | content |
//! |---|---|
//! | integers 0, table 0 | IDs: change set, number |
//! | integers 0, table 1 | representations: has SHA-1, revision, item, size, size of the content |
//! | integers 0, table 2 | node-revisions: flags, ID, node, copy, predecessor, count, path and revision of the copy source, path and revision of the copy root, properties, text, created path, mergeinfo count |
//! | bytes 0 | for each representation the MD5, and then the SHA-1 if it has one, as separate strings |
//!
//! IDs and representations in a node-revision are positions in their tables + 1; 0 is none. Paths are indexes of the string
//! table.
//!
//! | flag | meaning |
//! |---|---|
//! | bits 0 to 2 | 1 a file, 2 a directory |
//! | 0x08 | the node has `svn:mergeinfo` |
//! | 0x10, 0x20, 0x40 | there is a copy source, a copy root, a created path |

use base::checksum::{Md5, Sha1};
use base::{Code, FsPath, NodeKind, Revnum};

use super::cursor::{DecodeError, Subject};
use super::id::{ChangeSet, FsxId};
use super::noderev::FsxNodeRev;
use super::packed_data::PackedData;
use super::rep_line::FsxRep;
use super::string_table::StringTable;

const SUBJECT: Subject = Subject::file("Node-revision container");

/// A decoded container.
#[derive(Debug)]
pub(crate) struct NodeRevContainer {
    strings: StringTable,
    ids: [Vec<u64>; 2],
    reps: Vec<FsxRep>,
    nodes: [Vec<u64>; 14],
}

impl NodeRevContainer {
    /// Decodes a container, which takes all of `bytes`.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, DecodeError> {
        let strings = StringTable::decode(&mut bytes)?;
        let data = PackedData::decode(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(DecodeError::new(SUBJECT, "data follows the end", 0));
        }
        let structs = data.column(0)?;
        Ok(NodeRevContainer {
            strings,
            ids: structs.sub(0)?.table()?,
            reps: reps(structs.sub(1)?.table()?, &data.strings(0)?)?,
            nodes: structs.sub(2)?.table()?,
        })
    }

    /// The number of node-revisions.
    pub(crate) fn len(&self) -> usize {
        self.nodes[0].len()
    }

    /// A node-revision by its number in the container.
    pub(crate) fn get(&self, sub_item: u64) -> Result<FsxNodeRev, DecodeError> {
        const OUTSIDE: Subject = Subject {
            name: "Node-revision container",
            code: Code::FS_CONTAINER_INDEX,
        };
        let row = usize::try_from(sub_item).ok().filter(|row| *row < self.len());
        let row = row.ok_or(DecodeError::new(OUTSIDE, "no such node-revision", sub_item))?;
        let fault = |what| DecodeError::new(SUBJECT, what, sub_item);
        let [
            flags,
            id,
            node,
            copy,
            pred,
            count,
            from,
            from_rev,
            root,
            root_rev,
            props,
            text,
            cpath,
            minfo,
        ] = self.nodes.each_ref().map(|column| column[row]);
        let required = |id: u64| self.id(id)?.ok_or(fault("no ID"));
        let path = |flag, index| match flags & flag {
            0 => Ok(None),
            _ => self.strings.path(index).map(Some),
        };
        let rev = |rev: u64| Some(Revnum(rev)).filter(|rev| *rev <= Revnum::MAX);
        let id = required(id)?;
        let created_path = path(HAS_CREATED_PATH, cpath)?.unwrap_or_else(FsPath::root);
        let own = || (id.change_set.revision(), created_path.clone());
        let copyroot = path(HAS_COPY_ROOT, root)?.map(|path| (rev(root_rev), path));
        let copyfrom = match path(HAS_COPY_SOURCE, from)? {
            Some(path) => Some((
                rev(from_rev).ok_or(fault("invalid revision of a copy source"))?,
                path,
            )),
            None => None,
        };
        Ok(FsxNodeRev {
            id,
            node: required(node)?,
            copy: required(copy)?,
            kind: match flags & KIND {
                1 => NodeKind::File,
                2 => NodeKind::Dir,
                _ => return Err(fault("invalid node kind")),
            },
            predecessor: self.id(pred)?,
            count,
            text: self.rep(text)?,
            props: self.rep(props)?,
            copyroot: copyroot.unwrap_or_else(own),
            created_path,
            copyfrom,
            mergeinfo_count: minfo,
            has_mergeinfo: flags & HAS_MERGEINFO != 0,
        })
    }

    fn id(&self, position: u64) -> Result<Option<FsxId>, DecodeError> {
        let Some(at) = position.checked_sub(1) else {
            return Ok(None);
        };
        let row = usize::try_from(at).ok();
        let id = row.and_then(|row| {
            Some(FsxId {
                change_set: ChangeSet::from_number(*self.ids[0].get(row)? as i64)?,
                number: self.ids[1][row],
            })
        });
        id.map(Some).ok_or(DecodeError::new(SUBJECT, "no such ID", at))
    }

    fn rep(&self, position: u64) -> Result<Option<FsxRep>, DecodeError> {
        let Some(at) = position.checked_sub(1) else {
            return Ok(None);
        };
        let rep = usize::try_from(at).ok().and_then(|at| self.reps.get(at));
        rep.copied()
            .map(Some)
            .ok_or(DecodeError::new(SUBJECT, "no such representation", at))
    }

    /// The memory that the container takes, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let columns = 8 * (2 * self.ids[0].len() + 14 * self.nodes[0].len());
        self.strings.bytes() + columns + size_of::<FsxRep>() * self.reps.len()
    }
}

fn reps(columns: [Vec<u64>; 5], digests: &[&[u8]]) -> Result<Vec<FsxRep>, DecodeError> {
    let [has_sha1, revs, items, sizes, expanded] = columns;
    let mut digests = digests.iter();
    let mut reps = Vec::with_capacity(revs.len());
    for row in 0..revs.len() {
        let fault = |what| DecodeError::new(SUBJECT, what, row as u64);
        let mut digest = || digests.next().copied();
        let md5 = digest().and_then(|md5| md5.try_into().ok());
        let sha1 = match has_sha1[row] {
            0 => None,
            _ => {
                let sha1 = digest().and_then(|sha1| sha1.try_into().ok());
                Some(Sha1(sha1.ok_or(fault("no SHA-1"))?))
            }
        };
        let change_set = ChangeSet::from_number(revs[row] as i64);
        reps.push(FsxRep {
            id: Some(FsxId {
                change_set: change_set.ok_or(fault("representation without revision"))?,
                number: items[row],
            }),
            size: sizes[row],
            expanded: expanded[row],
            md5: Md5(md5.ok_or(fault("no MD5"))?),
            sha1,
        });
    }
    match digests.next() {
        None => Ok(reps),
        Some(_) => Err(DecodeError::new(SUBJECT, "digests without representation", 0)),
    }
}

const KIND: u64 = 7;
const HAS_MERGEINFO: u64 = 0x08;
const HAS_COPY_SOURCE: u64 = 0x10;
const HAS_COPY_ROOT: u64 = 0x20;
const HAS_CREATED_PATH: u64 = 0x40;
