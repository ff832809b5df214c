//! The decoders of this folder for fuzz targets, which cannot call `pub(crate)` functions.
//!
//! Each function takes any bytes. It panics if a value that was decoded differs after it was encoded and decoded again.

use base::Revnum;

use super::changes_container::ChangesContainer;
use super::cursor::{Cursor, Subject};
use super::dir::FsxDirEntries;
use super::l2p::{ExpectedL2p, L2pHeader};
use super::noderev::FsxNodeRev;
use super::noderev_container::NodeRevContainer;
use super::p2l::{self, ExpectedP2l, P2lHeader};
use super::rep_container::RepContainer;
use super::rep_container_writer::RepContainerWriter;
use super::revprops_pack::{self, RevpropsManifest};
use super::string_table::StringTable;
use super::{changes, prop_list, proto_index, small_files};

/// A node-revision, and a changed-path list.
pub fn text(data: &[u8]) {
    if let Ok(noderev) = FsxNodeRev::parse(data) {
        let mut out = Vec::new();
        noderev.encode(&mut out);
        assert_eq!(FsxNodeRev::parse(&out).as_ref(), Ok(&noderev));
        let _ = noderev.into_noderev();
    }
    if let Ok(list) = changes::parse(data) {
        let mut out = Vec::new();
        changes::encode(&list, &mut out);
        assert_eq!(changes::parse(&out), Ok(list));
    }
    let _ = changes::parse_log(data);
}

/// Property lists, directories, and small files.
pub fn lists(data: &[u8]) {
    if let Ok(props) = prop_list::decode(data) {
        let mut out = Vec::new();
        prop_list::encode(&props, &mut out);
        assert_eq!(prop_list::decode(&out), Ok(props));
    }
    if let Ok(entries) = FsxDirEntries::decode(data) {
        let mut out = Vec::new();
        entries.encode(&mut out);
        let _ = entries.entries();
        assert_eq!(FsxDirEntries::decode(&out), Ok(entries));
    }
    let _ = FsxDirEntries::decode_children(data);
    let _ = (proto_index::find_l2p(data, 3), proto_index::parse_p2l(data));
    let _ = small_files::shard_size(data);
    let _ = (small_files::next_ids(data), small_files::txn_current(data));
    let _ = (small_files::generation(data), small_files::next_item(data));
}

/// The indexes of a file, of one revision and of four.
pub fn indexes(data: &[u8]) {
    let (first_rev, index_len) = (Revnum(4), data.len() as u64);
    for rev_count in [1, 4] {
        let expect = ExpectedL2p {
            first_rev,
            rev_count,
            index_len,
        };
        if let Ok(Some(header)) = L2pHeader::parse(data, expect) {
            for item in [0, 1, 2, 9000, u64::MAX] {
                if let Ok((page, _)) = header.page_of(Revnum(5), item) {
                    let page = header.page(page);
                    let _ = page.entries(&data[page.offset as usize..][..page.length as usize]);
                }
            }
        }
        let expect = ExpectedP2l {
            first_rev,
            rev_count,
            items_len: announced_items_len(data),
            index_len,
        };
        if let Ok(Some(header)) = P2lHeader::parse(data, expect) {
            for page in 0..header.page_count() {
                let (start, end) = header.page_range(page);
                let _ = p2l::parse_page(&data[start as usize..end as usize], expect);
            }
        }
    }
}

/// The size of all items that a P2L index announces; its file says how large they are.
fn announced_items_len(index: &[u8]) -> u64 {
    let mut cursor = Cursor::new(index, Subject::file("P2L index"));
    let mut third = || {
        cursor.until(b'\n')?;
        cursor.le()?;
        cursor.le()
    };
    third().unwrap_or(1)
}

/// The three containers, which are encoded from what was decoded, a string table, and packed revision properties. Most inputs have a
/// wrong checksum: one that is right is added.
pub fn containers(data: &[u8]) {
    if let Ok(container) = NodeRevContainer::decode(data) {
        let nodes = (0..container.len() as u64).map(|at| container.get(at));
        if let Ok(nodes) = nodes.collect::<Result<Vec<_>, _>>()
            && let Some(bytes) = NodeRevContainer::encode(&nodes)
        {
            let container = NodeRevContainer::decode(&bytes).expect("because it was just encoded");
            for (at, node) in (0..).zip(nodes) {
                assert_eq!(container.get(at), Ok(node));
            }
        }
    }
    if let Ok(container) = ChangesContainer::decode(data) {
        let lists = (0..container.len() as u64).map(|at| container.get(at));
        if let Ok(lists) = lists.collect::<Result<Vec<_>, _>>()
            && let Some(bytes) =
                ChangesContainer::encode(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
        {
            let container = ChangesContainer::decode(&bytes).expect("because it was just encoded");
            for (at, list) in (0..).zip(lists) {
                assert_eq!(container.get(at), Ok(list));
            }
        }
    }
    if let Ok(container) = RepContainer::decode(data) {
        let texts = (0..container.len().min(20) as u64).map(|at| container.read(at, 0, 1 << 16));
        if let Ok(texts) = texts.collect::<Result<Vec<_>, _>>() {
            let mut writer = RepContainerWriter::new();
            texts.iter().for_each(|text| writer.push(text));
            let mut bytes = Vec::new();
            writer.finish(&mut bytes);
            let container = RepContainer::decode(&bytes).expect("because it was just encoded");
            for (at, text) in (0..).zip(texts) {
                assert_eq!(container.read(at, 0, usize::MAX), Ok(text));
            }
        }
    }
    if let Ok(table) = StringTable::decode(&mut &data[..]) {
        for at in (0..20_000).step_by(7) {
            let _ = table.string(at);
        }
    }
    let checksum = base::checksum::fnv1a_32x4(data).to_be_bytes();
    let file = [data, &checksum].concat();
    let _ = RevpropsManifest::decode(&file, Revnum(4), 4);
    let _ = revprops_pack::lists_in_pack(&file).and_then(|lists| lists.props(2));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Seeds of the fuzz targets: bytes of Subversion's own repositories.
    const SEEDS: [&[u8]; 12] = [
        include_bytes!("../../../../../fuzz/seeds/fsx_text/noderev"),
        include_bytes!("../../../../../fuzz/seeds/fsx_text/changes"),
        include_bytes!("../../../../../fuzz/seeds/fsx_lists/props"),
        include_bytes!("../../../../../fuzz/seeds/fsx_lists/dir"),
        include_bytes!("../../../../../fuzz/seeds/fsx_lists/children"),
        include_bytes!("../../../../../fuzz/seeds/fsx_indexes/rev-l2p"),
        include_bytes!("../../../../../fuzz/seeds/fsx_indexes/pack-l2p"),
        include_bytes!("../../../../../fuzz/seeds/fsx_indexes/pack-p2l"),
        include_bytes!("../../../../../fuzz/seeds/fsx_containers/noderevs"),
        include_bytes!("../../../../../fuzz/seeds/fsx_containers/changes"),
        include_bytes!("../../../../../fuzz/seeds/fsx_containers/reps"),
        include_bytes!("../../../../../fuzz/seeds/fsx_containers/revprops-manifest"),
    ];

    #[test]
    fn seeds_are_what_their_names_say() {
        assert!(FsxNodeRev::parse(SEEDS[0]).is_ok() && changes::parse(SEEDS[1]).is_ok());
        assert!(prop_list::decode(SEEDS[2]).is_ok() && FsxDirEntries::decode(SEEDS[3]).is_ok());
        assert!(NodeRevContainer::decode(SEEDS[8]).is_ok() && ChangesContainer::decode(SEEDS[9]).is_ok());
        assert!(RepContainer::decode(SEEDS[10]).is_ok());
    }

    proptest! {
        #[test]
        fn damaged_seeds_never_panic(
            seed in 0..SEEDS.len(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut bytes = SEEDS[seed].to_vec();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            for decode in [text, lists, indexes, containers] {
                decode(&bytes);
            }
        }
    }
}
