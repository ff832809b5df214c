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

use std::collections::BTreeMap;

use base::NodeKind;
use base::hashdump::{Reader, Terminator, write_entry};

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
    }
}

/// One entry of a directory. `id` prints as `svnlook tree --show-ids` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// One path component.
    pub name: Box<str>,
    /// File or directory.
    pub kind: NodeKind,
    /// The ID of the node-revision.
    pub id: NodeRevId,
}

/// Parses a committed directory. The result is sorted by the bytes of the name, whatever the order in the file.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<DirEntry>, DirError> {
    let mut reader = Reader::new(text, Terminator::End, false);
    // An entry takes at least 40 bytes: this allocates no more than a small multiple of the input.
    let mut entries: Vec<DirEntry> = Vec::with_capacity(text.len() / 48);
    let mut sorted = true;
    while let Some(entry) = reader.next_entry().map_err(|_| DirError::Hash)? {
        let entry = parse_entry(entry.key, entry.value.unwrap_or_default())?;
        sorted &= entries.last().is_none_or(|last| last.name < entry.name);
        entries.push(entry);
    }
    if !sorted {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if entries.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(DirError::Duplicate);
        }
    }
    Ok(entries)
}

/// Parses the `children` file of a transaction: a whole directory, and then records.
pub(crate) fn parse_children(text: &[u8]) -> Result<Vec<DirEntry>, DirError> {
    let mut entries = BTreeMap::new();
    let mut whole = Reader::new(text, Terminator::End, false);
    while let Some(entry) = whole.next_entry().map_err(|_| DirError::Hash)? {
        let entry = parse_entry(entry.key, entry.value.unwrap_or_default())?;
        entries.insert(entry.name.clone(), entry);
    }
    let mut records = Reader::new(&text[whole.consumed()..], Terminator::Eof, true);
    while let Some(record) = records.next_entry().map_err(|_| DirError::Hash)? {
        match record.value {
            Some(value) => {
                let entry = parse_entry(record.key, value)?;
                entries.insert(entry.name.clone(), entry);
            }
            None => {
                let name = std::str::from_utf8(record.key).map_err(|_| DirError::Name)?;
                entries.remove(name);
            }
        }
    }
    Ok(entries.into_values().collect())
}

/// Appends one entry as a record.
pub(crate) fn encode_entry(out: &mut Vec<u8>, entry: &DirEntry) {
    write_entry(
        out,
        entry.name.as_bytes(),
        format!("{} {}", entry.kind.word(), entry.id).as_bytes(),
    );
}

/// Appends a whole directory, entries in the given order.
pub(crate) fn encode(out: &mut Vec<u8>, entries: &[DirEntry]) {
    for entry in entries {
        encode_entry(out, entry);
    }
    out.extend_from_slice(b"END\n");
}

/// Finds a name in entries that are sorted.
pub(crate) fn find<'a>(entries: &'a [DirEntry], name: &str) -> Option<&'a DirEntry> {
    let at = entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
    entries.get(at)
}

fn parse_entry(name: &[u8], value: &[u8]) -> Result<DirEntry, DirError> {
    let name = std::str::from_utf8(name).map_err(|_| DirError::Name)?;
    if !base::is_component(name) {
        return Err(DirError::Name);
    }
    let space = memchr::memchr(b' ', value).ok_or(DirError::Value)?;
    let kind = match &value[..space] {
        b"file" => NodeKind::File,
        b"dir" => NodeKind::Dir,
        _ => return Err(DirError::Kind),
    };
    let id = NodeRevId::parse(&value[space + 1..]).map_err(|_| DirError::Id)?;
    Ok(DirEntry {
        name: name.into(),
        kind,
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_directory_round_trips() {
        let text = b"K 7\nbig.txt\nV 15\nfile 2-2.0.r5/8\nK 1\nd\nV 13\ndir _6.0.r8/1\nEND\n";
        let entries = parse(text).expect("valid");
        assert_eq!(find(&entries, "d").map(|e| e.kind), Some(NodeKind::Dir));
        assert!(find(&entries, "e").is_none());
        let mut out = Vec::new();
        encode(&mut out, &entries);
        assert_eq!(out, text);
    }

    #[test]
    fn any_order_is_accepted_but_no_name_twice() {
        let entries =
            parse(b"K 1\nb\nV 13\nfile 2.0.r1/1\nK 1\na\nV 13\nfile 2.0.r1/2\nEND\n").expect("valid");
        assert_eq!(entries.iter().map(|e| &*e.name).collect::<Vec<_>>(), ["a", "b"]);
        let twice = parse(b"K 1\nb\nV 13\nfile 2.0.r1/1\nK 1\nb\nV 13\nfile 2.0.r1/2\nEND\n");
        assert_eq!(twice, Err(DirError::Duplicate));
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
        let listed: Vec<_> = entries.iter().map(|e| format!("{} {}", e.name, e.id)).collect();
        assert_eq!(listed, ["b 2.0.t1-1", "c _4.0.t1-1"]);
    }
}
