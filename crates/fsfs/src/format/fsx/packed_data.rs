//! Packed data: the form of all containers and of packed revision properties. Source: section 13 of the description of FSX.
//!
//! Packed data is a set of columns. There are integer streams, which may consist of substreams, and byte streams. First
//! the structure, then a payload for each top-level stream; integers have the low bits first ([`Cursor::le`]):
//!
//! | part | encoding |
//! |---|---|
//! | length of the structure | bytes |
//! | structure | number of integer streams, these; number of byte streams, these |
//! | integer stream | 4 * number of substreams + 2 if signed + 1 if differences; number of values; bytes; its substreams |
//! | byte stream | 0; number of the integer stream with the lengths of its strings; bytes |
//! | payload | length; a frame: the length of the content with the high bits first, then the content itself or its zlib stream |
//!
//! The content of an integer stream is its own values, then those of its substreams in order, which may have substreams
//! themselves. A stream with substreams has no values of its own: k substreams are the k columns of a table. With
//! differences, a value is the signed difference to the one before, modulo 2^64. A value that is signed but no difference has
//! the signed form.
//!
//! Values are decoded when a column is asked for. The sum of all lengths is bounded before anything is allocated.

use base::Code;
use base::number::signed;
use delta::svndiff::{Codec, SvndiffError};

use super::cursor::{Cursor, DecodeError, Subject};

const SUBJECT: Subject = Subject {
    name: "Packed data",
    code: Code::CORRUPT_PACKED_DATA,
};

/// The most bytes of all integer streams together. The largest container that the incumbent writes has 2^21 instructions
/// of two numbers.
const MAX_NUMBERS: u64 = 32 << 20;

/// The most substreams within each other: the incumbent has two levels.
const MAX_DEPTH: usize = 8;

/// Decoded packed data.
#[derive(Debug)]
pub(crate) struct PackedData {
    /// All integer streams, each before its substreams.
    streams: Vec<NumberStream>,
    /// The positions of the top-level integer streams among all.
    top: Vec<usize>,
    bytes: Vec<ByteStream>,
}

#[derive(Debug)]
struct NumberStream {
    is_signed: bool,
    is_difference: bool,
    count: u64,
    length: u64,
    /// The positions of the substreams among all streams.
    substreams: Vec<usize>,
    content: Vec<u8>,
}

#[derive(Debug)]
struct ByteStream {
    lengths: usize,
    content: Vec<u8>,
}

/// A column of numbers, or a table of them.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    data: &'a PackedData,
    at: usize,
}

impl PackedData {
    /// Decodes packed data at the front of `bytes`, and moves `bytes` behind it.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, SUBJECT);
        let length = cursor.le()?;
        let mut structure = Cursor::new(cursor.take(length)?, SUBJECT);
        let mut data = PackedData {
            streams: Vec::new(),
            top: Vec::new(),
            bytes: Vec::new(),
        };
        data.read_number_streams(&mut structure)?;
        let byte_streams = read_byte_streams(&mut structure, data.top.len())?;
        structure.finish()?;
        let sum = data
            .streams
            .iter()
            .try_fold(0u64, |sum, s| sum.checked_add(s.length));
        if sum.is_none_or(|sum| sum > MAX_NUMBERS) {
            return Err(structure.fault("too many numbers"));
        }
        let mut codec = Codec::new();
        let ends = data.top.iter().skip(1).copied().chain([data.streams.len()]);
        let ranges: Vec<_> = data.top.iter().copied().zip(ends).collect();
        for (start, end) in ranges {
            let streams = &mut data.streams[start..end];
            let length = streams.iter().map(|stream| stream.length).sum();
            let content = payload(&mut cursor, length, &mut codec)?;
            let mut rest = &content[..];
            for stream in streams {
                let (own, after) = rest.split_at(stream.length as usize);
                stream.content = own.to_vec();
                rest = after;
            }
        }
        for (lengths, length) in byte_streams {
            let content = payload(&mut cursor, length, &mut codec)?;
            data.bytes.push(ByteStream { lengths, content });
        }
        *bytes = cursor.rest();
        Ok(data)
    }

    /// Reads the structure of the integer streams, without recursion.
    fn read_number_streams(&mut self, structure: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let count = structure.le_count(SHORTEST_STREAM)?;
        // The streams whose substreams are being read, with the number of those that are missing.
        let mut open: Vec<(usize, usize)> = Vec::new();
        while self.top.len() < count || !open.is_empty() {
            let (flags, values, length) = (structure.le()?, structure.le()?, structure.le()?);
            let at = self.streams.len();
            match open.last_mut() {
                Some((parent, missing)) => {
                    *missing -= 1;
                    self.streams[*parent].substreams.push(at);
                }
                None => self.top.push(at),
            }
            self.streams.push(NumberStream {
                is_signed: flags & 2 != 0,
                is_difference: flags & 1 != 0,
                count: values,
                length,
                substreams: Vec::new(),
                content: Vec::new(),
            });
            let substreams = usize::try_from(flags >> 2).ok();
            let most = structure.rest().len() / SHORTEST_STREAM;
            match substreams.filter(|count| *count <= most && open.len() < MAX_DEPTH) {
                Some(0) => {}
                Some(_) if length != 0 => return Err(structure.fault("numbers in a stream of substreams")),
                Some(count) => open.push((at, count)),
                None => return Err(structure.fault("too many substreams")),
            }
            while open.last().is_some_and(|(_, missing)| *missing == 0) {
                open.pop();
            }
        }
        Ok(())
    }

    /// A top-level integer stream.
    pub(crate) fn column(&self, number: usize) -> Result<Column<'_>, DecodeError> {
        let at = self.top.get(number).copied().ok_or(missing())?;
        Ok(Column { data: self, at })
    }

    /// The strings of a byte stream, all of them.
    pub(crate) fn strings(&self, number: usize) -> Result<Vec<&[u8]>, DecodeError> {
        let stream = self.bytes.get(number).ok_or(missing())?;
        let mut rest = Cursor::new(&stream.content, SUBJECT);
        let lengths = self.column(stream.lengths)?.values()?;
        let strings: Result<_, _> = lengths.into_iter().map(|length| rest.take(length)).collect();
        rest.finish()?;
        strings
    }

    /// The number of integer streams and of byte streams.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.top.len(), self.bytes.len())
    }
}

impl Column<'_> {
    /// A substream.
    pub(crate) fn sub(self, number: usize) -> Result<Self, DecodeError> {
        let at = self.data.streams[self.at].substreams.get(number);
        let at = at.copied().ok_or(missing())?;
        Ok(Column { at, ..self })
    }

    /// The values of the substreams, each as long as the first.
    pub(crate) fn table<const N: usize>(self) -> Result<[Vec<u64>; N], DecodeError> {
        let mut table = [const { Vec::new() }; N];
        if self.data.streams[self.at].substreams.len() != N {
            return Err(missing());
        }
        for (number, column) in table.iter_mut().enumerate() {
            *column = self.sub(number)?.values()?;
        }
        match table.iter().all(|column| column.len() == table[0].len()) {
            true => Ok(table),
            false => Err(DecodeError::new(SUBJECT, "columns of different lengths", 0)),
        }
    }

    /// The values of a stream without substreams. Signed ones are in two's complement.
    pub(crate) fn values(self) -> Result<Vec<u64>, DecodeError> {
        let stream = &self.data.streams[self.at];
        let mut cursor = Cursor::new(&stream.content, SUBJECT);
        if stream.count > stream.length {
            return Err(cursor.fault("more numbers than bytes"));
        }
        let mut values = Vec::with_capacity(stream.count as usize);
        let mut last = 0u64;
        for _ in 0..stream.count {
            let raw = cursor.le()?;
            last = match (stream.is_difference, stream.is_signed) {
                (true, _) => last.wrapping_add_signed(signed(raw)),
                (false, true) => signed(raw) as u64,
                (false, false) => raw,
            };
            values.push(last);
        }
        cursor.finish()?;
        Ok(values)
    }
}

/// Flags, number of values and length take at least this many bytes.
const SHORTEST_STREAM: usize = 3;

/// The number of the integer stream with the lengths of each byte stream, and the length of the byte stream.
fn read_byte_streams(structure: &mut Cursor<'_>, columns: usize) -> Result<Vec<(usize, u64)>, DecodeError> {
    let count = structure.le_count(SHORTEST_STREAM)?;
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let (_, lengths, length) = (structure.le()?, structure.le()?, structure.le()?);
        let lengths = usize::try_from(lengths).ok().filter(|lengths| *lengths < columns);
        let lengths = lengths.ok_or(structure.fault("no lengths of strings"))?;
        streams.push((lengths, length));
    }
    Ok(streams)
}

/// Reads a payload, whose content has `length` bytes.
fn payload(cursor: &mut Cursor<'_>, length: u64, codec: &mut Codec) -> Result<Vec<u8>, DecodeError> {
    let frame_len = cursor.le()?;
    let at = *cursor;
    let frame = cursor.take(frame_len)?;
    let announced = Cursor::new(frame, SUBJECT).be()?;
    if announced != length {
        return Err(at.fault("a payload of another length than its streams"));
    }
    let limit = usize::try_from(length).map_err(|_| at.fault("payload too long"))?;
    codec.read_zlib_block(frame, limit).map_err(|e| match e {
        SvndiffError::SectionLength => at.fault("a payload of another length than announced"),
        _ => at.fault("damaged zlib stream"),
    })
}

fn missing() -> DecodeError {
    DecodeError::new(SUBJECT, "a stream is missing", 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The manifest of shard 1 with 4 revisions in a shard, without its checksum.
    const MANIFEST: &[u8] = b"\x08\x02\x01\x01\x01\x00\x01\x01\x00\x02\x01\x08\x02\x01\x00";

    /// Two integer streams, one a table of a plain and a signed column with a table of differences; then two strings.
    const TABLE: &[u8] = b"\x17\x02\x0c\x02\x00\x00\x02\x02\x02\x02\x02\x04\x00\x00\x01\x02\x03\x00\x02\x02\
        \x01\x00\x01\x03";

    fn table() -> Vec<u8> {
        let mut bytes = TABLE.to_vec();
        // The numbers 5 and 6; -1 and 1; 7 and 7. Then the lengths 1 and 2, and the strings.
        bytes.extend_from_slice(b"\x08\x07\x05\x06\x01\x02\x0e\x80\x00");
        bytes.extend_from_slice(b"\x03\x02\x01\x02\x04\x03abc");
        bytes
    }

    #[test]
    fn the_sample_of_the_description() {
        let mut rest = MANIFEST;
        let data = PackedData::decode(&mut rest).expect("valid");
        assert_eq!((data.shape(), rest.len()), ((2, 0), 0));
        let values = |number| data.column(number).and_then(Column::values);
        assert_eq!((values(0), values(1)), (Ok(vec![4]), Ok(vec![0])));
        assert!(values(2).is_err() && data.strings(0).is_err());
    }

    #[test]
    fn tables_and_strings() {
        let bytes = table();
        let data = PackedData::decode(&mut &bytes[..]).expect("valid");
        let columns = data.column(0).expect("a table");
        assert_eq!(columns.sub(0).and_then(Column::values), Ok(vec![5, 6]));
        assert_eq!(columns.sub(1).and_then(Column::values), Ok(vec![u64::MAX, 1]));
        let inner = columns.sub(2).and_then(Column::table::<1>);
        assert_eq!(inner, Ok([vec![7, 7]]));
        assert!(columns.sub(3).is_err() && columns.table::<2>().is_err());
        assert_eq!(data.strings(0), Ok(vec![&b"a"[..], b"bc"]));
    }

    #[test]
    fn structures_that_promise_too_much_are_refused() {
        // A length, numbers of streams, substreams and values that are absurd; substreams without end.
        let deep = [&b"\x40\x01"[..], &b"\x04\x00\x00".repeat(20), b"\x00\x00\x00\x00"].concat();
        for bad in [
            &b""[..],
            b"\xff\xff\xff\xff\x7f\x00",
            b"\x05\xff\xff\xff\x7f\x00",
            b"\x09\x01\xfc\xff\xff\xff\x7f\x00\x00\x00",
            b"\x09\x01\x00\x01\xff\xff\xff\x7f\x00\x00",
            b"\x05\x00\x01\x00\x00\x00",
            &deep,
        ] {
            assert!(PackedData::decode(&mut &bad[..]).is_err(), "{bad:?}");
        }
        let mut short = MANIFEST.to_vec();
        short[3] = 2;
        let data = PackedData::decode(&mut &short[..]).expect("the structure is right");
        assert!(data.column(0).and_then(Column::values).is_err());
    }

    proptest! {
        #[test]
        fn damage_never_panics(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut bytes = table();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(data) = PackedData::decode(&mut &bytes[..]) {
                let (columns, strings) = data.shape();
                for number in 0..columns {
                    let _ = data.column(number).and_then(Column::values);
                    let _ = data.column(number).and_then(Column::table::<3>);
                }
                for number in 0..strings {
                    let _ = data.strings(number);
                }
            }
        }
    }
}
