//! Directories: a hash dump of name to `<kind> <id>`.
//!
//! | field | encoding |
//! |---|---|
//! | key | name: one path component, UTF-8 |
//! | `<kind>` | `file` or `dir` |
//! | `<id>` | node-revision ID (see [`id`](super::id)) |
//!
//! The dump ends with `END`. In the `children` file of a transaction, records for single names follow it, up to the
//! end of the file: an entry sets a name, a deletion (`D` and the name) removes it. The form is the same in all
//! formats.

mod entries;

use std::collections::BTreeMap;

use base::NodeKind;
use base::hashdump::{Reader, Terminator, write_entry};

pub use entries::{DirEntries, DirEntry};

use super::decode_error;
use super::id::NodeRevId;

decode_error! {
    /// Why a directory's content is not usable.
    DirError {
        Hash => FS_CORRUPT, "Directory is no hash dump";
        Name => FS_CORRUPT, "Directory entry's name is no UTF-8 path component";
        Value => FS_CORRUPT, "Directory entry corrupt";
        Kind => FS_CORRUPT, "Directory entry has an unknown kind";
        Id => FS_CORRUPT, "Directory entry has a malformed ID";
        Duplicate => FS_CORRUPT, "Directory has two entries of one name";
        Length => FS_CORRUPT, "Directory is longer than 4 GiB";
    }
}

/// What a transaction makes of a name: an entry, or (`None`) a deletion.
pub(crate) type EntryChange = Option<(NodeKind, NodeRevId)>;

/// Parses the `children` file of a transaction: a whole directory, and then records.
pub(crate) fn parse_children(text: &[u8]) -> Result<DirEntries, DirError> {
    let (whole, length) = DirEntries::parse_front(text)?;
    let mut changes = BTreeMap::new();
    let mut records = Reader::new(&text[length..], Terminator::Eof, true);
    while let Some(record) = records.next_entry().map_err(|_| DirError::Hash)? {
        let name = std::str::from_utf8(record.key).map_err(|_| DirError::Name)?;
        let change = match record.value {
            Some(_) if !base::is_component(name) => return Err(DirError::Name),
            Some(value) => Some(parse_value(value)?),
            None => None,
        };
        changes.insert(name, change);
    }
    if changes.is_empty() {
        return Ok(whole);
    }
    whole.with_changes(changes.into_iter())
}

/// Appends one entry as a record.
pub(crate) fn encode_entry(out: &mut Vec<u8>, name: &[u8], kind: NodeKind, id: &[u8]) {
    write_entry(out, name, &[kind.word().as_bytes(), b" ", id].concat());
}

/// Parses the kind and the ID of an entry.
fn parse_value(value: &[u8]) -> Result<(NodeKind, NodeRevId), DirError> {
    let (kind, id) = split_value(value)?;
    Ok((kind, NodeRevId::parse(id).map_err(|_| DirError::Id)?))
}

/// Splits an entry's value into its kind and its ID.
fn split_value(value: &[u8]) -> Result<(NodeKind, &[u8]), DirError> {
    if let Some(id) = value.strip_prefix(b"file ") {
        return Ok((NodeKind::File, id));
    }
    if let Some(id) = value.strip_prefix(b"dir ") {
        return Ok((NodeKind::Dir, id));
    }
    match value.contains(&b' ') {
        true => Err(DirError::Kind),
        false => Err(DirError::Value),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &[u8]) -> Result<DirEntries, DirError> {
        DirEntries::parse(Arc::new(text.to_vec()), None)
    }

    fn listed(entries: &DirEntries) -> Vec<String> {
        entries.iter().map(|entry| format!("{entry:?}")).collect()
    }

    #[test]
    fn a_real_directory_round_trips() {
        let text = b"K 7\nbig.txt\nV 15\nfile 2-2.0.r5/8\nK 1\nd\nV 13\ndir _6.0.r8/1\nEND\n";
        let entries = parse(text).expect("valid");
        assert_eq!(entries.find("d").map(|e| e.kind), Some(NodeKind::Dir));
        assert!(entries.find("e").is_none());
        let rewritten = DirEntries::default().with_changes(
            entries
                .iter()
                .map(|e| (e.name, Some((e.kind, e.id().expect("checked"))))),
        );
        assert_eq!(**rewritten.expect("short").text(), text);
    }

    #[test]
    fn any_order_is_accepted_but_no_name_twice() {
        let entries =
            parse(b"K 1\nb\nV 13\nfile 2.0.r1/1\nK 1\na\nV 13\nfile 2.0.r1/2\nEND\n").expect("valid");
        assert_eq!(listed(&entries), ["a file 2.0.r1/2", "b file 2.0.r1/1"]);
        let twice = parse(b"K 1\nb\nV 13\nfile 2.0.r1/1\nK 1\nb\nV 13\nfile 2.0.r1/2\nEND\n");
        assert_eq!(twice, Err(DirError::Duplicate));
        let id = NodeRevId::parse(b"3.0.r2/1").expect("an ID");
        let changed = entries.with_changes([("b", None), ("c", Some((NodeKind::Dir, id)))].into_iter());
        let text = b"K 1\na\nV 13\nfile 2.0.r1/2\nK 1\nc\nV 12\ndir 3.0.r2/1\nEND\n";
        assert_eq!(**changed.expect("short").text(), text);
    }

    #[test]
    fn hostile_entries_are_refused() {
        for (text, error) in [
            (&b"K 1\n/\nV 13\nfile 2.0.r1/1\nEND\n"[..], DirError::Name),
            (b"K 2\n..\nV 13\nfile 2.0.r1/1\nEND\n", DirError::Name),
            (b"K 0\n\nV 13\nfile 2.0.r1/1\nEND\n", DirError::Name),
            (b"K 1\n\xff\nV 13\nfile 2.0.r1/1\nEND\n", DirError::Name),
            (b"K 1\na\nV 13\nlink 2.0.r1/1\nEND\n", DirError::Kind),
            (b"K 1\na\nV 4\nfile\nEND\n", DirError::Value),
            (b"K 1\na\nV 6\nfile x\nEND\n", DirError::Id),
            (b"K 1\na\n", DirError::Hash),
        ] {
            assert_eq!(parse(text), Err(error));
        }
    }

    #[test]
    fn records_after_the_dump_set_and_delete() {
        let text = b"K 1\na\nV 13\nfile 2.0.r1/1\nK 1\nb\nV 13\nfile 2.0.r1/2\nEND\n\
                     K 1\nb\nV 13\nfile 2.0.t1-1\nK 1\nc\nV 13\ndir _4.0.t1-1\nD 1\na\n";
        let entries = parse_children(text).expect("valid");
        assert_eq!(listed(&entries), ["b file 2.0.t1-1", "c dir _4.0.t1-1"]);
    }

    /// A directory out of few names, one of which looks like an entry, so that versions have many of them in common.
    fn versions() -> impl Strategy<Value = Vec<Vec<(usize, u64)>>> {
        let version = proptest::collection::vec((0..NAMES.len(), 1..4u64), 0..6);
        proptest::collection::vec(version, 2..6)
    }

    const NAMES: [&str; 9] = [
        "a",
        "b",
        "b\nV 13\nfile 2.0.t1-1\nK 1\nc",
        "a\nV 13\nfile 2.0.t1-1\nEND",
        "c",
        "long name of a file.txt",
        "o",
        "ä",
        "z",
    ];

    fn text_of(version: &[(usize, u64)], is_sorted: bool) -> Vec<u8> {
        let mut names: Vec<(&str, u64)> = version.iter().map(|(name, rev)| (NAMES[*name], *rev)).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|(name, _)| seen.insert(*name));
        if is_sorted {
            names.sort_unstable();
        }
        let mut out = Vec::new();
        for (name, rev) in names {
            encode_entry(
                &mut out,
                name.as_bytes(),
                NodeKind::File,
                format!("2.0.t{rev}-1").as_bytes(),
            );
        }
        out.extend_from_slice(b"END\n");
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn another_version_changes_nothing(versions in versions(), unsorted in 0..8usize) {
            let mut like: Option<DirEntries> = None;
            for (at, version) in versions.iter().enumerate() {
                let text = text_of(version, at != unsorted);
                let alone = parse(&text).expect("valid");
                let with = DirEntries::parse(Arc::new(text), like.as_ref()).expect("valid");
                prop_assert_eq!(listed(&alone), listed(&with));
                if let Some(like) = &like {
                    let mut expected = Vec::new();
                    for name in NAMES {
                        let pair = (like.find(name), with.find(name));
                        if pair.0 != pair.1 {
                            expected.push((name.as_bytes(), pair));
                        }
                    }
                    expected.sort_unstable_by_key(|(name, _)| *name);
                    let expected: Vec<_> = expected.into_iter().map(|(_, pair)| pair).collect();
                    prop_assert_eq!(&with.differences(like), &expected);
                    let changes = expected.iter().map(|(old, new)| {
                        let name = new.or(*old).expect("one of them").name;
                        (name, new.map(|new| (new.kind, new.id().expect("checked"))))
                    });
                    prop_assert_eq!(&like.with_changes(changes).expect("short"), &with);
                }
                like = Some(with);
            }
        }

        #[test]
        fn damage_changes_nothing(version in versions(), at: proptest::sample::Index, byte: u8) {
            let text = text_of(&version[0], true);
            let like = parse(&text).expect("valid");
            let mut damaged = text;
            let at = at.index(damaged.len());
            damaged[at] = byte;
            let alone = parse(&damaged).map(|entries| listed(&entries));
            let with = DirEntries::parse(Arc::new(damaged), Some(&like)).map(|entries| listed(&entries));
            prop_assert_eq!(alone, with);
        }
    }
}
