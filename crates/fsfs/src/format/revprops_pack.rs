//! Packed revision properties (format 6 and later): the pack files of a shard, and the manifest that names the pack
//! file of each revision.
//!
//! A pack file is one *block*:
//!
//! | field | encoding |
//! |---|---|
//! | length | bytes of the content; 7 bits a byte, high bits first, the top bit set on all bytes but the last |
//! | data | the content itself if it has exactly that length, else a zlib stream of it |
//!
//! The content has decimal numbers, each on its own line, and then the lists:
//!
//! | field | encoding |
//! |---|---|
//! | first revision | a line |
//! | number of revisions | a line |
//! | size of each list, bytes | a line for each revision |
//! | end of the header | an empty line |
//! | lists | hash dumps, back to back |
//!
//! A manifest has one line for each revision of its shard (without revision 0): `<first revision>.<counter>`, the
//! name of the pack file. Both numbers are decimal.

use std::ops::Range;

use base::Revnum;

use super::decode_error;
use base::number::parse_decimal;

decode_error! {
    /// Why a pack file or a manifest is not usable.
    RevpropsPackError {
        NoSize => SVNDIFF_INVALID_COMPRESSED_DATA, "Decompression of zlib compressed data failed: no size";
        Size => SVNDIFF_INVALID_COMPRESSED_DATA, "Decompression of zlib compressed data failed: size is impossible";
        Inflate => STREAM_MALFORMED_DATA, "Decompression of svndiff data failed";
        Header => FS_CORRUPT, "Malformed header";
        HeaderEnd => FS_CORRUPT, "Header end not found";
        Sizes => FS_CORRUPT, "Sizes of the lists don't match the content";
        Unterminated => FS_CORRUPT, "not properly terminated";
        Surplus => FS_CORRUPT, "has too many entries";
        Name => FS_CORRUPT, "has a malformed entry";
    }
}

/// The property lists of consecutive revisions, each as a hash dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevpropsPack {
    first: Revnum,
    /// The range of each list in `content`.
    lists: Vec<Range<usize>>,
    content: Vec<u8>,
}

impl RevpropsPack {
    /// Parses a pack file.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, RevpropsPackError> {
        let content = decode_block(file)?;
        let mut at = 0;
        let first = number(line(&content, &mut at)?)?;
        let count = number(line(&content, &mut at)?)?;
        // Each revision takes at least two bytes of header, so the size of the file bounds what is allocated.
        let count = usize::try_from(count).ok().filter(|n| *n <= content.len() / 2);
        let count = count.filter(|n| *n > 0).ok_or(RevpropsPackError::Header)?;
        if first
            .checked_add(count as u64)
            .is_none_or(|end| end > Revnum::MAX.0)
        {
            return Err(RevpropsPackError::Header);
        }
        let mut sizes = Vec::with_capacity(count);
        for _ in 0..count {
            sizes.push(number(line(&content, &mut at)?)?);
        }
        if !line(&content, &mut at)?.is_empty() {
            return Err(RevpropsPackError::HeaderEnd);
        }
        let mut lists = Vec::with_capacity(count);
        for size in sizes {
            let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
            let end = end
                .filter(|end| *end <= content.len())
                .ok_or(RevpropsPackError::Sizes)?;
            lists.push(at..end);
            at = end;
        }
        Ok(RevpropsPack {
            first: Revnum(first),
            lists,
            content,
        })
    }

    /// Appends the pack file of these lists.
    pub(crate) fn encode(out: &mut Vec<u8>, first: Revnum, lists: &[&[u8]], compress: bool) {
        let mut content = format!("{first}\n{}\n", lists.len()).into_bytes();
        for list in lists {
            content.extend(format!("{}\n", list.len()).into_bytes());
        }
        content.push(b'\n');
        lists.iter().for_each(|list| content.extend_from_slice(list));
        encode_block(out, &content, compress);
    }

    /// The revisions in the pack file.
    pub(crate) fn revisions(&self) -> Range<u64> {
        self.first.0..self.first.0 + self.lists.len() as u64
    }

    /// Bytes of the content, decompressed.
    pub(crate) fn content_bytes(&self) -> usize {
        self.content.len()
    }

    /// The hash dump of a revision; `None` if it is not in this pack file.
    pub(crate) fn list(&self, rev: Revnum) -> Option<&[u8]> {
        let at = usize::try_from(rev.0.checked_sub(self.first.0)?).ok()?;
        Some(&self.content[self.lists.get(at)?.clone()])
    }
}

/// The names in a manifest, in the order of the revisions of the shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevpropsManifest {
    names: Vec<(u64, u64)>,
}

impl RevpropsManifest {
    /// Parses a manifest that must have `count` entries. A shard may have two thousand million revisions, so the size
    /// of the file, and not `count`, bounds what is allocated.
    pub(crate) fn parse(text: &[u8], count: u64) -> Result<Self, RevpropsPackError> {
        let mut names = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let name = line(text, &mut at).map_err(|_| RevpropsPackError::Unterminated)?;
            if names.len() as u64 == count {
                return Err(RevpropsPackError::Surplus);
            }
            let dot = memchr::memchr(b'.', name).ok_or(RevpropsPackError::Name)?;
            // The numbers are parts of a file name: with leading zeros, they name another file.
            let part = |digits: &[u8]| {
                let is_name = digits.len() == 1 || !digits.starts_with(b"0");
                let number = parse_decimal(digits).filter(|_| is_name);
                number.ok_or(RevpropsPackError::Name)
            };
            names.push((part(&name[..dot])?, part(&name[dot + 1..])?));
        }
        if names.len() as u64 == count {
            Ok(RevpropsManifest { names })
        } else {
            Err(RevpropsPackError::Unterminated)
        }
    }

    /// Appends the text.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for (first, counter) in &self.names {
            out.extend(format!("{first}.{counter}\n").into_bytes());
        }
    }

    /// Sets the name of the entry at index `at`, if there is one.
    pub(crate) fn set_name(&mut self, at: u64, name: (u64, u64)) {
        if let Some(entry) = usize::try_from(at).ok().and_then(|at| self.names.get_mut(at)) {
            *entry = name;
        }
    }

    /// Makes a manifest of these names.
    pub(crate) fn of(names: Vec<(u64, u64)>) -> Self {
        RevpropsManifest { names }
    }

    /// The name of the pack file of the entry at index `at`: first revision and counter.
    pub(crate) fn name(&self, at: u64) -> Option<(u64, u64)> {
        self.names.get(usize::try_from(at).ok()?).copied()
    }
}

/// Returns the content of a block.
fn decode_block(file: &[u8]) -> Result<Vec<u8>, RevpropsPackError> {
    let (size, rest) = block_size(file).ok_or(RevpropsPackError::NoSize)?;
    if size == rest.len() as u64 {
        return Ok(rest.to_vec());
    }
    // Deflate makes at most 1032 bytes of one. A larger length is wrong, and nothing is allocated for it.
    let most = (rest.len() as u64).saturating_mul(1032);
    let size = usize::try_from(size).ok().filter(|size| *size as u64 <= most);
    let mut content = vec![0; size.ok_or(RevpropsPackError::Size)?];
    match libdeflater::Decompressor::new().zlib_decompress(rest, &mut content) {
        Ok(length) if length == content.len() => Ok(content),
        _ => Err(RevpropsPackError::Inflate),
    }
}

/// Appends the block of a content.
fn encode_block(out: &mut Vec<u8>, content: &[u8], compress: bool) {
    push_block_size(out, content.len() as u64);
    if compress && content.len() >= MIN_COMPRESSED {
        let level = libdeflater::CompressionLvl::new(5).expect("because levels 0 to 12 exist");
        let mut compressor = libdeflater::Compressor::new(level);
        let mut packed = vec![0; compressor.zlib_compress_bound(content.len())];
        if let Ok(length) = compressor.zlib_compress(content, &mut packed)
            && length < content.len()
        {
            out.extend_from_slice(&packed[..length]);
            return;
        }
    }
    out.extend_from_slice(content);
}

fn block_size(file: &[u8]) -> Option<(u64, &[u8])> {
    let mut size = 0u64;
    for (at, byte) in file.iter().enumerate().take(10) {
        size = size.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((size, &file[at + 1..]));
        }
    }
    None
}

fn push_block_size(out: &mut Vec<u8>, size: u64) {
    let groups = (64 - size.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        out.push((size >> (7 * group)) as u8 & 0x7f | more);
    }
}

fn line<'a>(text: &'a [u8], at: &mut usize) -> Result<&'a [u8], RevpropsPackError> {
    let rest = &text[*at..];
    let end = memchr::memchr(b'\n', rest).ok_or(RevpropsPackError::HeaderEnd)?;
    *at += end + 1;
    Ok(&rest[..end])
}

fn number(digits: &[u8]) -> Result<u64, RevpropsPackError> {
    parse_decimal(digits).ok_or(RevpropsPackError::Header)
}

/// The shortest content that is compressed, bytes.
const MIN_COMPRESSED: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(first: u64, lists: &[&[u8]], compress: bool) -> Vec<u8> {
        let mut out = Vec::new();
        RevpropsPack::encode(&mut out, Revnum(first), lists, compress);
        out
    }

    #[test]
    fn the_sample_of_the_specification_round_trips() {
        // r1 to r3 of 103, 108 and 103 bytes, stored: 331 bytes of content.
        let lists = [vec![b'a'; 103], vec![b'b'; 108], vec![b'c'; 103]];
        let lists: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
        let file = encoded(1, &lists, false);
        assert_eq!(file.len(), 333);
        assert!(file.starts_with(b"\x82\x4b1\n3\n103\n108\n103\n\na"));
        let pack = RevpropsPack::decode(&file).expect("what was written");
        assert_eq!(pack.revisions(), 1..4);
        assert_eq!(pack.list(Revnum(2)), Some(lists[1]));
        assert_eq!(pack.list(Revnum(0)), None);
        assert_eq!(pack.list(Revnum(4)), None);
    }

    #[test]
    fn impossible_sizes_are_refused_without_allocating() {
        for (file, error) in [
            (&b""[..], RevpropsPackError::NoSize),
            (
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                RevpropsPackError::NoSize,
            ),
            (b"\x8f\xff\xff\xff\xff\x7fxxxxxx", RevpropsPackError::Size),
            (b"\x05", RevpropsPackError::Size),
            (b"\x7fxxxxxx", RevpropsPackError::Inflate),
            (b"\x084\n0\n\nEND", RevpropsPackError::Header),
            (b"\x054\n-1\n", RevpropsPackError::Header),
            (b"\x194\n9223372036854775807\n1\n\n", RevpropsPackError::Header),
            (b"\x129223372036854775807\n1\n1\n\nx", RevpropsPackError::NoSize),
            (b"\x0a4\n1\n4\nEND\n", RevpropsPackError::HeaderEnd),
            (b"\x0a4\n1\n4\n\nEND", RevpropsPackError::Sizes),
        ] {
            let found = RevpropsPack::decode(file);
            let same = found.as_ref().err() == Some(&error);
            assert!(
                same || error == RevpropsPackError::NoSize && found.is_err(),
                "{file:?}: {found:?}"
            );
        }
    }

    #[test]
    fn manifests_have_exactly_one_line_for_each_revision() {
        let text = b"4.1\n4.1\n6.1\n7.1\n";
        let manifest = RevpropsManifest::parse(text, 4).expect("a real manifest");
        assert_eq!(manifest.name(2), Some((6, 1)));
        assert_eq!(manifest.name(4), None);
        let mut out = Vec::new();
        manifest.encode(&mut out);
        assert_eq!(out, text);
        for (text, count, error) in [
            (&text[..], 3, RevpropsPackError::Surplus),
            (text, 5, RevpropsPackError::Unterminated),
            (b"", 1, RevpropsPackError::Unterminated),
            (b"4.0", 1, RevpropsPackError::Unterminated),
            (b"../x\n", 1, RevpropsPackError::Name),
            (b"4.01\n", 1, RevpropsPackError::Name),
            (b"04.1\n", 1, RevpropsPackError::Name),
            (b"4\n", 1, RevpropsPackError::Name),
        ] {
            assert_eq!(RevpropsManifest::parse(text, count), Err(error));
        }
        assert!(
            RevpropsManifest::parse(b"", 0).is_ok(),
            "shard 0 of size 1 has nothing to pack"
        );
    }

    proptest! {
        #[test]
        fn round_trips(
            first in 1u64..1 << 40,
            lists in proptest::collection::vec(proptest::collection::vec(b'a'..b'e', 0..400), 1..12),
            compress: bool,
        ) {
            let slices: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
            let pack = RevpropsPack::decode(&encoded(first, &slices, compress)).expect("what was written");
            prop_assert_eq!(pack.revisions(), first..first + lists.len() as u64);
            for (at, list) in lists.iter().enumerate() {
                prop_assert_eq!(pack.list(Revnum(first + at as u64)), Some(list.as_slice()));
            }
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, count in 0u64..20) {
            let _ = RevpropsPack::decode(&bytes);
            let _ = RevpropsManifest::parse(&bytes, count);
        }
    }
}
