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

use std::collections::HashMap;
use std::hash::Hash;

use base::checksum::{Md5, Sha1};
use base::{Code, FsPath, NodeKind, Revnum};

use super::cursor::{DecodeError, Subject};
use super::id::{ChangeSet, FsxId};
use super::noderev::FsxNodeRev;
use super::packed_data::PackedData;
use super::packed_writer::{Coding, PackedWriter};
use super::rep_line::FsxRep;
use super::string_table::StringTable;
use super::string_table_writer::StringTableWriter;

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

    /// Makes a container of committed node-revisions. `None` if they have more long paths than a string table takes.
    pub(crate) fn encode(nodes: &[FsxNodeRev]) -> Option<Vec<u8>> {
        let mut strings = StringTableWriter::new();
        let (mut ids, mut reps) = (Rows::default(), Rows::default());
        let mut columns = [const { Vec::new() }; 14];
        for node in nodes {
            let row = row_of(node, &mut ids, &mut reps, &mut strings)?;
            push_row(&mut columns, row);
        }
        let (mut id_columns, mut rep_columns) = ([const { Vec::new() }; 2], [const { Vec::new() }; 5]);
        for id in &ids.rows {
            push_row(&mut id_columns, [id.change_set.number() as u64, id.number]);
        }
        let mut digests: Vec<&[u8]> = Vec::new();
        for rep in &reps.rows {
            let (rev, item) = match rep.id {
                Some(id) => (id.change_set.number() as u64, id.number),
                None => (u64::MAX, 0),
            };
            let has_sha1 = u64::from(rep.sha1.is_some());
            push_row(&mut rep_columns, [has_sha1, rev, item, rep.size, rep.expanded]);
            digests.push(&rep.md5.0);
            digests.extend(rep.sha1.as_ref().map(|sha1| &sha1.0[..]));
        }
        let mut out = Vec::new();
        strings.finish(&mut out);
        let mut writer = PackedWriter::default();
        let mut nodes = columns
            .each_ref()
            .map(|column| (&column[..], Coding::Differences));
        nodes[0].1 = Coding::Plain;
        writer.tables(&[
            &id_columns
                .each_ref()
                .map(|column| (&column[..], Coding::Differences)),
            &[
                (&rep_columns[0], Coding::Plain),
                (&rep_columns[1], Coding::Differences),
                (&rep_columns[2], Coding::Plain),
                (&rep_columns[3], Coding::Plain),
                (&rep_columns[4], Coding::Plain),
            ],
            &nodes,
        ]);
        writer.strings(&digests);
        writer.finish(&mut out);
        Some(out)
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

/// The rows of a table, each once.
struct Rows<T> {
    rows: Vec<T>,
    positions: HashMap<T, u64>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows {
            rows: Vec::new(),
            positions: HashMap::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> Rows<T> {
    /// Returns the position + 1 of a row, which is added unless it is there already; 0 for none.
    fn reference(&mut self, row: Option<T>) -> u64 {
        let Some(row) = row else { return 0 };
        *self.positions.entry(row).or_insert_with(|| {
            self.rows.push(row);
            self.rows.len() as u64
        })
    }
}

fn row_of<'n>(
    node: &'n FsxNodeRev,
    ids: &mut Rows<FsxId>,
    reps: &mut Rows<FsxRep>,
    strings: &mut StringTableWriter<'n>,
) -> Option<[u64; 14]> {
    let mut flags = HAS_COPY_ROOT | HAS_CREATED_PATH | if node.kind == NodeKind::Dir { 2 } else { 1 };
    if node.has_mergeinfo {
        flags |= HAS_MERGEINFO;
    }
    let (mut from, mut from_rev) = (0, 0);
    if let Some((rev, path)) = &node.copyfrom {
        flags |= HAS_COPY_SOURCE;
        (from, from_rev) = (strings.add(path.as_str().as_bytes())?, rev.0);
    }
    let (root_rev, root) = &node.copyroot;
    Some([
        flags,
        ids.reference(Some(node.id)),
        ids.reference(Some(node.node)),
        ids.reference(Some(node.copy)),
        ids.reference(node.predecessor),
        node.count,
        from,
        from_rev,
        strings.add(root.as_str().as_bytes())?,
        root_rev.map_or(u64::MAX, |rev| rev.0),
        reps.reference(node.props),
        reps.reference(node.text),
        strings.add(node.created_path.as_str().as_bytes())?,
        node.mergeinfo_count,
    ])
}

fn push_row<const N: usize>(columns: &mut [Vec<u64>; N], row: [u64; N]) {
    columns
        .iter_mut()
        .zip(row)
        .for_each(|(column, value)| column.push(value));
}

const KIND: u64 = 7;
const HAS_MERGEINFO: u64 = 0x08;
const HAS_COPY_SOURCE: u64 = 0x10;
const HAS_COPY_ROOT: u64 = 0x20;
const HAS_CREATED_PATH: u64 = 0x40;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: &[u8] = include_bytes!("../../../../../fuzz/seeds/fsx_containers/noderevs");

    fn decoded(bytes: &[u8]) -> Vec<FsxNodeRev> {
        let container = NodeRevContainer::decode(bytes).expect("a container");
        let nodes = (0..container.len() as u64).map(|at| container.get(at).expect("a node-revision"));
        nodes.collect()
    }

    #[test]
    fn a_container_of_the_incumbent_is_written_shorter() {
        let nodes = decoded(SEED);
        let ours = NodeRevContainer::encode(&nodes).expect("short paths");
        assert_eq!(decoded(&ours), nodes);
        assert!(ours.len() <= SEED.len(), "{} {}", ours.len(), SEED.len());
    }

    fn id() -> impl Strategy<Value = FsxId> {
        (0u64..4, 0u64..1 << 50).prop_map(|(number, rev)| FsxId {
            change_set: ChangeSet::Revision(Revnum(rev)),
            number,
        })
    }

    fn rep() -> impl Strategy<Value = FsxRep> {
        let digests = (any::<[u8; 16]>(), prop::option::of(any::<[u8; 20]>()));
        (id(), any::<u64>(), any::<u64>(), digests).prop_map(|(id, size, expanded, (md5, sha1))| FsxRep {
            id: Some(id),
            size,
            expanded,
            md5: Md5(md5),
            sha1: sha1.map(Sha1),
        })
    }

    fn path() -> impl Strategy<Value = FsPath> {
        "(/[ab\u{1}\u{280}]{1,3}){1,4}".prop_map(|path| FsPath::parse(&path).expect("canonical"))
    }

    prop_compose! {
        fn noderev()(
            ids in [id(), id(), id()],
            predecessor in prop::option::of(id()),
            is_dir: bool,
            count in 0u64..1 << 40,
            reps in [prop::option::of(rep()), prop::option::of(rep())],
            paths in [path(), path(), path()],
            copied in prop::option::of(0u64..1 << 40),
            root_rev in 0u64..1 << 40,
            mergeinfo_count in 0u64..9,
            has_mergeinfo: bool,
        ) -> FsxNodeRev {
            let [id, node, copy] = ids;
            let [text, props] = reps;
            let [created_path, source, root] = paths;
            FsxNodeRev {
                id,
                node,
                copy,
                kind: if is_dir { NodeKind::Dir } else { NodeKind::File },
                predecessor,
                count,
                text,
                props,
                created_path,
                copyfrom: copied.map(|rev| (Revnum(rev), source)),
                copyroot: (Some(Revnum(root_rev)), root),
                mergeinfo_count,
                has_mergeinfo,
            }
        }
    }

    proptest! {
        #[test]
        fn every_container_is_read_as_it_was_written(nodes in prop::collection::vec(noderev(), 1..12)) {
            let mut nodes = nodes;
            // A content, an ID and a path that occur twice.
            let last = nodes[0].clone();
            nodes.push(last);
            let bytes = NodeRevContainer::encode(&nodes).expect("short paths");
            prop_assert_eq!(decoded(&bytes), nodes);
        }
    }
}
