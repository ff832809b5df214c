//! The parsers of this folder for fuzz targets, which cannot call `pub(crate)` functions.
//!
//! Each function takes any bytes. It panics if a value that was parsed differs after it was encoded and parsed decoded.

use std::sync::Arc;

use base::Revnum;

use super::dir::DirEntries;
use super::footer::Footer as RevisionFooter;
use super::history_index::block::{IndexBlock, checksum};
use super::history_index::footer::Footer;
use super::history_index::record::{RecordEncoder, RecordReader};
use super::l2p::{self, L2pHeader};
use super::noderev::NodeRev;
use super::p2l::{self, P2lHeader};
use super::rep_header::RepHeader;
use super::rev_trailer::RevTrailer;
use super::{changes, dir, fold, manifest, proto_index};

/// A node-revision.
pub fn noderev(data: &[u8]) {
    if let Ok(Some((noderev, length))) = NodeRev::parse(data) {
        assert!(length <= data.len());
        let mut out = Vec::new();
        noderev.encode(&mut out, true, true);
        let decoded = NodeRev::parse(&out).expect("what was written");
        assert_eq!(decoded, Some((noderev, out.len())));
    }
}

/// A changed-path list, and folding it.
pub fn changes(data: &[u8]) {
    if let Ok(list) = changes::parse(data, false) {
        let mut out = Vec::new();
        changes::encode(&mut out, &list);
        assert_eq!(changes::parse(&out, false).as_ref(), Ok(&list));
        let normal = fold::normalize(list.clone());
        assert_eq!(
            changes::parse_normal(data).map(|list| list.to_vec()).as_ref(),
            Ok(&normal)
        );
        assert!(normal.windows(2).all(|pair| pair[0].path < pair[1].path));
        if let Ok(folded) = fold::fold(list) {
            assert!(
                folded
                    .windows(2)
                    .all(|pair| pair[0].info.path < pair[1].info.path)
            );
        }
    }
}

/// A directory, committed or with the records of a transaction. The first half of `data` is another version of the
/// second, if it is a directory.
pub fn dir(data: &[u8]) {
    let parse = |text: &[u8], like: Option<&DirEntries>| DirEntries::parse(Arc::new(text.to_vec()), like);
    if let Ok(entries) = parse(data, None) {
        let rewritten = entries.with_changes(std::iter::empty()).expect("a short text");
        assert_eq!(parse(rewritten.text(), None).as_ref(), Ok(&entries));
        assert!(
            entries
                .iter()
                .all(|entry| entries.find(entry.name) == Some(entry))
        );
        assert!(entries.iter().all(|entry| entry.id().is_ok()));
    }
    let (like, text) = data.split_at(data.len() / 2);
    if let Ok(like) = parse(like, None) {
        assert_eq!(parse(text, Some(&like)), parse(text, None));
    }
    let _ = dir::parse_children(data);
}

/// An L2P index of one revision and one of four.
pub fn l2p(data: &[u8]) {
    for rev_count in [1, 4] {
        let expect = l2p::ExpectedL2p {
            first_rev: Revnum(4),
            rev_count,
            index_len: data.len() as u64,
        };
        let Ok(Some(header)) = L2pHeader::parse(data, expect) else {
            continue;
        };
        for page in &header.pages {
            let start = page.offset as usize;
            let _ = l2p::parse_page(&data[start..start + page.length as usize], page.entries);
        }
        for item in [0, 1, 2, 9000, u64::MAX] {
            let _ = header.page_of(Revnum(5), item);
        }
    }
    for item in [0, 1, 2, u64::MAX] {
        let single = l2p::single_offset(data, Revnum(4), item);
        assert!(single.is_none() || single == long_way(data, item));
    }
}

fn long_way(index: &[u8], item: u64) -> Option<u64> {
    let expect = l2p::ExpectedL2p {
        first_rev: Revnum(4),
        rev_count: 1,
        index_len: index.len() as u64,
    };
    let header = L2pHeader::parse(index, expect).ok()??;
    let (page, entry) = header.page_of(Revnum(4), item).ok()?;
    let page = header.pages[page as usize];
    let data = &index[page.offset as usize..][..page.length as usize];
    l2p::parse_page(data, page.entries).ok()?[entry]
}

/// A P2L index of a file of 809 bytes.
pub fn p2l(data: &[u8]) {
    for rev_count in [1, 4] {
        let expect = p2l::ExpectedP2l {
            first_rev: Revnum(1),
            rev_count,
            file_size: 809,
            index_len: data.len() as u64,
        };
        let Ok(Some(header)) = P2lHeader::parse(data, expect) else {
            continue;
        };
        for page in 0..header.page_count() {
            if let Some((start, end)) = header.page_range(page) {
                let _ = p2l::parse_page(&data[start as usize..end as usize], expect, header.limit());
            }
        }
    }
}

/// The small parts around items: header of a representation, footer and trailer of a revision, manifest of a pack
/// file, index files of a transaction.
pub fn edges(data: &[u8]) {
    if let Ok(Some((header, length))) = RepHeader::parse(data) {
        let mut out = Vec::new();
        header.encode(&mut out);
        assert!(length <= data.len());
        assert_eq!(RepHeader::parse(&out), Ok(Some((header, out.len()))));
    }
    if let Ok(footer) = RevisionFooter::parse(data, 1 << 40) {
        let mut out = Vec::new();
        footer.encode(&mut out);
        // Leading zeros are read but not written, so the footer may start later.
        let decoded = RevisionFooter::parse(&out, 1 << 40).expect("what was written");
        assert_eq!(
            (decoded.l2p_offset, decoded.p2l_md5),
            (footer.l2p_offset, footer.p2l_md5)
        );
    }
    if let Ok(trailer) = RevTrailer::parse(data) {
        let mut out = b"\n".to_vec();
        trailer.encode(&mut out);
        assert_eq!(RevTrailer::parse(&out), Ok(trailer));
    }
    let lines = memchr::memchr_iter(b'\n', data).count() as u64;
    if let Ok(offsets) = manifest::parse(data, lines) {
        let mut out = Vec::new();
        manifest::encode(&mut out, &offsets);
        assert_eq!(manifest::parse(&out, lines), Ok(offsets));
    }
    if let Ok(entries) = proto_index::parse_p2l(data) {
        let mut out = Vec::new();
        entries
            .iter()
            .for_each(|entry| proto_index::push_p2l(&mut out, entry));
        assert_eq!(proto_index::parse_p2l(&out), Ok(entries));
    }
    let _ = (proto_index::find_l2p(data, 3), proto_index::parse_next_item(data));
}

/// A segment of the history index: its footer, its blocks, and the records in them.
pub fn history_index(data: &[u8]) {
    let mut records = RecordReader::new(data.to_vec());
    let mut decoded = Vec::new();
    while let Ok(Some(record)) = records.next_record() {
        decoded.push(record);
    }
    let mut encoder = RecordEncoder::default();
    for record in &decoded {
        encoder.push_record(record);
    }
    let mut records = RecordReader::new(encoder.bytes);
    for record in &decoded {
        assert_eq!(records.next_record().as_ref(), Ok(&Some(record.clone())));
    }
    if let Ok(footer) = Footer::parse(data, data.len() as u64) {
        let mut out = Vec::new();
        footer.encode(&mut out);
        assert_eq!(
            Footer::parse(&out, footer.root.offset + footer.root.length + out.len() as u64),
            Ok(footer)
        );
    }
    // Most inputs have a wrong checksum: one that is right is added.
    for level in [0, 1] {
        let mut block = vec![level as u8];
        block.extend_from_slice(data);
        let checksum = checksum(&[0; 16], 8, &block);
        block.extend_from_slice(&checksum);
        if let Ok(block) = IndexBlock::parse(&[0; 16], 8, level, &block) {
            _ = block.find(data, Revnum(data.len() as u64));
            for at in 0..=block.len() {
                _ = (block.entries(at), block.child(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLES: [&[u8]; 8] = [
        b"id: 2-2.0-7.r7/3\ntype: file\npred: 2-2.0-3.r4/4\ncount: 2\n\
          text: 4 3 33 6245 8d2b33a89f0bc051f7e7439940a6d8bf - 3-3/_1\ncpath: /a: b\ncopyfrom: 5 /b\n\n",
        b"0-1._0.t2-2 add-dir false false false /b\n2 /t\n0-1.0.t4-4 modify false true /t\n\n\n",
        b"K 1\na\nV 13\nfile 2.0.r1/1\nEND\nK 1\nc\nV 13\ndir _4.0.t1-1\nD 1\na\n",
        b"L2P-INDEX\n\x04\x80\x40\x01\x01\x01\x10\x09\x00\xb0\x0a\xf7\x01\xb5\x08\x4e\x84\x01\xd6\x02\x80\x01\xe8\x01",
        b"P2L-INDEX\n\x01\xa9\x06\x80\x80\x40\x01\x0b\x00\x27\x32\x00\xec\xaa\x80\xfe\x02\x42\x18",
        b"809 b981925895ff8d8083d6423753c32461 843 f5ae084d04cb3227c1cdb9e2c84a4975I",
        b"DELTA 2 3 4023\n0\n115\n",
        b"\0\0\0\0\0\0\0\0\x4b\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x16\xb7\xfc\x0d\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0",
    ];

    proptest! {
        #[test]
        fn damaged_samples_never_panic(
            sample in 0..SAMPLES.len(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut bytes = SAMPLES[sample].to_vec();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            for door in [noderev, changes, dir, l2p, p2l, edges] {
                door(&bytes);
            }
        }
    }
}
