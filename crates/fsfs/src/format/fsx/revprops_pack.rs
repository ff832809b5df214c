//! Packed revision properties. Source: section 18 of the description of FSX.
//!
//! A packed shard has files `<first revision>.<tag>`, and a manifest that names them. Both are
//! [packed data](super::packed_data), followed by an FNV, 4 bytes, the highest first:
//!
//! | file | stream | content |
//! |---|---|---|
//! | pack | bytes 0 | the property lists of consecutive revisions, one string each |
//! | manifest | integers 0 | the first revision of each pack, ascending |
//! | | integers 1 | the tag of each pack |
//!
//! A pack holds the revisions up to the next first revision of the manifest. Shard 0 begins with revision 1: revision 0 is
//! never packed.

use base::{Code, Props, Revnum};

use super::cursor::{DecodeError, Subject};
use super::packed_data::PackedData;
use super::packed_writer::PackedWriter;
use super::prop_list;

/// The manifest of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevpropsManifest {
    /// First revision and tag of each pack.
    packs: Vec<(Revnum, u64)>,
}

impl RevpropsManifest {
    /// The manifest of a shard that was never changed: its packs begin with `starts`.
    pub(crate) fn of(starts: &[Revnum]) -> Self {
        RevpropsManifest {
            packs: starts.iter().map(|start| (*start, 0)).collect(),
        }
    }

    /// Decodes the manifest of the shard with `revisions` from `first` on.
    pub(crate) fn decode(file: &[u8], first: Revnum, revisions: u64) -> base::Result<Self> {
        const SUBJECT: Subject = Subject {
            name: "Manifest of packed revision properties",
            code: Code::FS_CORRUPT_REVPROP_MANIFEST,
        };
        let mut rest = prop_list::check_file(file)?;
        let data = PackedData::decode(&mut rest)?;
        let fault = |what| DecodeError::new(SUBJECT, what, 0);
        let (starts, tags) = (data.column(0)?.values()?, data.column(1)?.values()?);
        if !rest.is_empty() || starts.len() != tags.len() {
            return Err(fault("invalid number of packs").into());
        }
        if starts.first() != Some(&first.0.max(1)) {
            return Err(fault("another first revision").into());
        }
        let is_ascending = starts.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_ascending || starts.last().is_some_and(|&last| last - first.0 >= revisions) {
            return Err(fault("the packs are not in order").into());
        }
        Ok(RevpropsManifest {
            packs: starts.into_iter().map(Revnum).zip(tags).collect(),
        })
    }

    /// The pack that holds a revision: its first revision, and the name of its file.
    pub(crate) fn pack_of(&self, rev: Revnum) -> Option<(Revnum, String)> {
        let &(start, tag) = self.packs.get(self.position(rev)?)?;
        Some((start, file_name(start, tag)))
    }

    /// The names of the files of all packs.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> {
        self.packs.iter().map(|(start, tag)| file_name(*start, *tag))
    }

    /// The position of the pack that holds a revision.
    fn position(&self, rev: Revnum) -> Option<usize> {
        self.packs
            .partition_point(|&(start, _)| start <= rev)
            .checked_sub(1)
    }

    /// Replaces the pack that begins with `starts[0]` by packs that begin with `starts`. Returns the names of their files.
    pub(crate) fn split(&mut self, starts: &[Revnum]) -> Vec<String> {
        let Some(at) = starts.first().and_then(|first| self.position(*first)) else {
            return Vec::new();
        };
        // A new file has no name that a reader may know already.
        let tag = self.packs[at].1.wrapping_add(1);
        self.packs
            .splice(at..=at, starts.iter().map(|start| (*start, tag)));
        starts.iter().map(|start| file_name(*start, tag)).collect()
    }

    /// The file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let starts: Vec<u64> = self.packs.iter().map(|(start, _)| start.0).collect();
        let tags: Vec<u64> = self.packs.iter().map(|(_, tag)| *tag).collect();
        let mut writer = PackedWriter::default();
        writer.column(&starts, true);
        writer.column(&tags, false);
        let mut file = Vec::new();
        writer.finish(&mut file);
        prop_list::push_checksum(&mut file);
        file
    }
}

/// The lists of a pack as they are stored, by their position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedLists(Box<[Box<[u8]>]>);

impl PackedLists {
    /// The list of revision `start + at`, if the pack begins with revision `start`.
    pub(crate) fn props(&self, at: u64) -> base::Result<Props> {
        let list = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        let list = list.ok_or(DecodeError::new(SUBJECT, "revision is not in it", at))?;
        Ok(prop_list::decode(list)?)
    }

    /// The lists as they are stored.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|list| &**list)
    }

    /// The stored bytes of all lists.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|list| 16 + list.len()).sum()
    }
}

const SUBJECT: Subject = Subject {
    name: "Pack of revision properties",
    code: Code::FS_PACKED_REVPROP_READ_FAILURE,
};

/// The name of the file of a pack.
fn file_name(start: Revnum, tag: u64) -> String {
    format!("{start}.{tag}")
}

/// Makes the file of a pack.
pub(crate) fn encode_pack(lists: &[&[u8]]) -> Vec<u8> {
    let mut writer = PackedWriter::default();
    writer.strings(lists);
    let mut file = Vec::new();
    writer.finish(&mut file);
    prop_list::push_checksum(&mut file);
    file
}

/// Decodes a pack.
pub(crate) fn lists_in_pack(file: &[u8]) -> base::Result<PackedLists> {
    let mut rest = prop_list::check_file(file)?;
    let data = PackedData::decode(&mut rest)?;
    if !rest.is_empty() {
        return Err(DecodeError::new(SUBJECT, "data follows the end", 0).into());
    }
    let lists = data.strings(0)?;
    Ok(PackedLists(lists.into_iter().map(Box::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &[u8] = b"\x08\x02\x01\x01\x01\x00\x01\x01\x00\x02\x01\x08\x02\x01\x00\x00\x95\xb3\x9a";

    #[test]
    fn the_sample_of_the_description() {
        let manifest = RevpropsManifest::decode(MANIFEST, Revnum(4), 4).expect("valid");
        assert_eq!(manifest.pack_of(Revnum(7)), Some((Revnum(4), "4.0".to_owned())));
        assert_eq!(manifest.pack_of(Revnum(3)), None);
        assert_eq!(manifest.encode(), MANIFEST);
        assert_eq!(RevpropsManifest::of(&[Revnum(4)]), manifest);
        let mut split = manifest.clone();
        assert_eq!(split.split(&[Revnum(4), Revnum(6)]), ["4.1", "6.1"]);
        let read = RevpropsManifest::decode(&split.encode(), Revnum(4), 4).expect("valid");
        assert_eq!(read, split);
        assert_eq!(read.pack_of(Revnum(5)), Some((Revnum(4), "4.1".to_owned())));
        let code = |rev, count| RevpropsManifest::decode(MANIFEST, Revnum(rev), count).map_err(|e| e.code());
        assert_eq!(code(8, 4), Err(Code::FS_CORRUPT_REVPROP_MANIFEST));
        assert_eq!(code(0, 4), Err(Code::FS_CORRUPT_REVPROP_MANIFEST));
    }

    #[test]
    fn a_wrong_checksum_is_refused() {
        for at in 0..MANIFEST.len() {
            let mut damaged = MANIFEST.to_vec();
            damaged[at] ^= 1;
            let e = RevpropsManifest::decode(&damaged, Revnum(4), 4).expect_err("damaged");
            assert_eq!(e.code(), Code::CHECKSUM_MISMATCH);
        }
        assert!(RevpropsManifest::decode(b"abc", Revnum(4), 4).is_err());
    }
}
