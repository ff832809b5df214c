//! Segments that are written and read again, golden bytes, and damage.

use std::collections::BTreeMap;

use base::Revnum;
use proptest::prelude::*;

use super::block::IndexBlock;
use super::encode::SegmentEncoder;
use super::footer::{Footer, MAGIC, SegmentIdentity};
use super::merge::{Merge, RecordSource};
use super::record::{Record, RecordEncoder, RecordReader};
use super::{HistoryEntry, HistoryIndexError, cmp_paths, list};

fn identity() -> SegmentIdentity {
    SegmentIdentity {
        uuid: "uuid".into(),
        first: Revnum(0),
        last: Revnum(9),
        fingerprint: [7; 16],
    }
}

fn entry(rev: u64, count: u64, predecessor: Option<u64>) -> HistoryEntry {
    HistoryEntry {
        rev: Revnum(rev),
        item: 2 + rev % 200,
        count,
        predecessor: predecessor.map(Revnum),
    }
}

fn segment(records: &[Record]) -> Vec<u8> {
    let mut encoder = SegmentEncoder::new(identity());
    let mut bytes = Vec::new();
    for record in records {
        encoder.add(record);
        bytes.extend(encoder.take_output());
    }
    bytes.extend(encoder.finish());
    bytes
}

/// Reads all records of a segment, in order.
fn read_all(bytes: &[u8]) -> Result<Vec<Record>, HistoryIndexError> {
    let footer = Footer::parse(bytes, bytes.len() as u64)?;
    let salt = footer.identity.salt();
    let mut records = Vec::new();
    let mut places = vec![(footer.levels - 1, footer.root)];
    while let Some((level, place)) = places.pop() {
        let range = place.offset as usize..(place.offset + place.length) as usize;
        let block = IndexBlock::parse(&salt, place.offset, level, &bytes[range])?;
        if block.is_leaf() {
            let mut reader = RecordReader::new(block.records().to_vec());
            while let Some(record) = reader.next_record()? {
                records.push(record);
            }
        } else {
            for at in (0..block.len()).rev() {
                places.push((level - 1, block.child(at)?));
            }
        }
    }
    Ok(records)
}

/// Looks up a path as readers do.
fn find(bytes: &[u8], path: &[u8], rev: Revnum) -> Option<Vec<HistoryEntry>> {
    let footer = Footer::parse(bytes, bytes.len() as u64).ok()?;
    let mut place = footer.root;
    for level in (0..footer.levels).rev() {
        let range = place.offset as usize..(place.offset + place.length) as usize;
        let block = IndexBlock::parse(&footer.identity.salt(), place.offset, level, &bytes[range]).ok()?;
        let (at, is_path) = block.find(path, rev)?;
        if block.is_leaf() {
            return is_path.then(|| block.entries(at).ok())?;
        }
        place = block.child(at).ok()?;
    }
    None
}

/// Joins the records of each path.
fn joined(records: &[Record]) -> BTreeMap<Vec<u8>, Vec<HistoryEntry>> {
    let mut paths: BTreeMap<Vec<u8>, Vec<HistoryEntry>> = BTreeMap::new();
    for record in records {
        paths
            .entry(record.path.clone())
            .or_default()
            .extend(&record.entries);
    }
    paths
}

prop_compose! {
    fn entries()(steps in prop::collection::vec((1u64..300, 0u8..12, 0u64..400), 1..120)) -> Vec<HistoryEntry> {
        let mut entries: Vec<HistoryEntry> = Vec::new();
        for (step, kind, count) in steps {
            let rev = entries.last().map_or(0, |last| last.rev.0) + step;
            entries.push(match (kind, entries.last()) {
                (0, _) => entry(rev, 0, None),
                (1, _) => entry(rev, count, Some(rev - 1 - count.min(rev - 1))),
                (_, Some(last)) => entry(rev, last.count + 1, Some(last.rev.0)),
                (_, None) => entry(rev, count, Some(rev - 1)),
            });
        }
        entries
    }
}

prop_compose! {
    fn records()(
        paths in prop::collection::btree_map("[a-c]{0,3}(/[a-c.]{1,30}){0,3}", entries(), 0..200)
    ) -> Vec<Record> {
        let mut records: Vec<Record> = paths
            .into_iter()
            .map(|(path, entries)| Record { path: path.into_bytes(), entries })
            .collect();
        records.sort_by(|a, b| cmp_paths(&a.path, &b.path));
        records
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(records in records()) {
        let bytes = segment(&records);
        let read = read_all(&bytes).expect("what was written");
        prop_assert_eq!(joined(&read), joined(&records));
        for record in &records {
            for entry in record.entries.iter().step_by(17) {
                let found = find(&bytes, &record.path, entry.rev).unwrap_or_default();
                prop_assert!(found.contains(entry));
            }
            let before = Revnum(record.entries[0].rev.0 - 1);
            prop_assert_eq!(find(&bytes, &record.path, before), None);
            let other = [&record.path[..], b"-"].concat();
            prop_assert_eq!(find(&bytes, &other, Revnum(u64::MAX)), None);
        }
    }

    #[test]
    fn lists_round_trip(entries in entries()) {
        let mut bytes = Vec::new();
        let mut last = None;
        for entry in &entries {
            list::encode(&mut bytes, last, entry);
            last = Some(entry);
        }
        let parsed = list::parse(&bytes, entries[0].rev, entries.len());
        prop_assert_eq!(parsed.as_ref(), Ok(&entries));
        let mut more = bytes.clone();
        more.push(1);
        prop_assert_eq!(list::parse(&more, entries[0].rev, entries.len()), Err(HistoryIndexError::List));
    }

    #[test]
    fn merged_sources_are_as_one(records in records(), cut in 0u64..9000) {
        let mut parts = [RecordEncoder::default(), RecordEncoder::default()];
        for record in &records {
            let at = record.entries.partition_point(|entry| entry.rev.0 < cut);
            let (old, young) = record.entries.split_at(at);
            for (part, entries) in parts.iter_mut().zip([old, young]) {
                part.push_record(&Record { path: record.path.clone(), entries: entries.to_vec() });
            }
        }
        let sources = parts.map(|part| Box::new(RecordReader::new(part.bytes)) as Box<dyn RecordSource>);
        let mut merge = Merge::new(sources.into()).expect("valid sources");
        let mut encoder = SegmentEncoder::new(identity());
        while let Some(record) = merge.next_record().expect("valid sources") {
            encoder.add(&record);
        }
        prop_assert_eq!(encoder.finish(), segment(&records));
    }
}

fn golden_records() -> Vec<Record> {
    let record = |path: &str, entries: Vec<HistoryEntry>| Record {
        path: path.into(),
        entries,
    };
    vec![
        record(
            "",
            vec![entry(0, 0, None), entry(1, 1, Some(0)), entry(9, 2, Some(1))],
        ),
        record("trunk", vec![entry(1, 0, None)]),
        record(
            "trunk/file",
            vec![entry(1, 0, None), entry(5, 0, None), entry(9, 7, Some(3))],
        ),
    ]
}

#[test]
fn golden_bytes() {
    let bytes = segment(&golden_records());
    let mut expected = b"svenhist".to_vec();
    // The leaf: "", 3 entries from r0; "trunk", 1 entry from r1; "/file", 3 entries from r1.
    expected.extend(b"\x00\x00\x00\x00\x03\x07\x02\x00\x00\x02\x03\x10\x0b");
    expected.extend(b"\x00\x05trunk\x01\x01\x03\x03\x00\x00");
    expected.extend(b"\x05\x05/file\x01\x03\x0b\x03\x00\x00\x09\x07\x00\x00\x09\x0b\x07\x06");
    let leaf_end = expected.len();
    assert_eq!(&bytes[..leaf_end], expected);
    let footer = &bytes[leaf_end + 8..];
    let mut fields = b"\x01\x04uuid\x00\x09".to_vec();
    fields.extend([7; 16]);
    // The root block is at 8 and has 53 bytes and the checksum; one level; seven entries.
    fields.extend([8, (leaf_end - 8 + 8) as u8, 1, 7]);
    assert_eq!(&footer[..fields.len()], fields);
    let length = (fields.len() as u32).to_le_bytes();
    assert_eq!(footer[fields.len()..fields.len() + 4], length);
    assert_eq!(&footer[fields.len() + 12..], MAGIC);
    assert_eq!(read_all(&bytes).expect("valid"), golden_records());
}

#[test]
fn damage_is_found() {
    let good = segment(&golden_records());
    for at in MAGIC.len()..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(read_all(&bad).is_err(), "bit {bit} of byte {at}");
        }
    }
    let mut swapped = good.clone();
    swapped.insert(8, 0);
    assert!(read_all(&swapped).is_err());
    assert_eq!(Footer::parse(b"", 0), Err(HistoryIndexError::Magic));
}

#[test]
fn long_lists_and_deep_paths_have_several_blocks() {
    let deep: Vec<String> = (1..400).map(|depth| "directory/".repeat(depth) + "d").collect();
    let mut records = vec![Record {
        path: Vec::new(),
        entries: (0..20_000)
            .map(|rev| entry(rev, rev, rev.checked_sub(1)))
            .collect(),
    }];
    records.extend(deep.iter().map(|path| Record {
        path: path.clone().into_bytes(),
        entries: vec![entry(1, 0, None)],
    }));
    records.sort_by(|a, b| cmp_paths(&a.path, &b.path));
    let bytes = segment(&records);
    // An entry takes two or three bytes, and of a path what differs from the one before.
    assert!(bytes.len() < 60_000 + 100 * 400, "{}", bytes.len());
    assert_eq!(joined(&read_all(&bytes).expect("valid")), joined(&records));
    for rev in [0, 1, 5000, 19_999] {
        let found = find(&bytes, b"", Revnum(rev)).expect("is there");
        assert!(found.iter().any(|entry| entry.rev.0 == rev) && found.len() < 2000);
    }
}
