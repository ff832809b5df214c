//! Random changes of a dump stream: headers, lengths, property sections, whole records, and bytes.

use base::checksum::Md5;
use testkit::history::Random;

use super::record::{CONTENT_LENGTH, PROP_LENGTH, StreamRecord, TEXT_LENGTH, records};
use crate::random::one_of;

/// A stream and its changes.
pub struct MutatedStream {
    /// The bytes of the stream.
    pub bytes: Vec<u8>,
    /// The changes, for messages.
    pub changes: Vec<String>,
}

/// Returns a valid stream with up to three random changes.
pub fn mutated(random: &mut Random) -> MutatedStream {
    let mut stream = StreamMutator {
        records: records(random),
        version: one_of(random, &["2", "2", "3", "3", "1"]),
        changes: Vec::new(),
    };
    let mut of_bytes: Vec<MutationKind> = Vec::new();
    for _ in 0..one_of(random, &[0, 1, 1, 1, 1, 2, 3]) {
        match one_of(random, CHANGES) {
            MutationKind::RecordHeader => stream.header(random),
            MutationKind::Length => stream.length(random),
            MutationKind::Props => stream.props(random),
            MutationKind::StreamRecord => stream.record(random),
            MutationKind::End => stream.end(random),
            MutationKind::Oldest => stream.oldest(random),
            change => of_bytes.push(change),
        }
    }
    let mut bytes = format!("{MAGIC}: {}\n\n", stream.version).into_bytes();
    stream.records.iter().for_each(|record| record.write(&mut bytes));
    for change in of_bytes {
        let reported = change_bytes(random, change, &mut bytes);
        stream.changes.push(reported);
    }
    MutatedStream {
        bytes,
        changes: stream.changes,
    }
}

#[derive(Clone, Copy)]
enum MutationKind {
    RecordHeader,
    Length,
    Props,
    StreamRecord,
    End,
    Oldest,
    Byte,
    Cut,
    LineEnds,
    LineEnd,
    Magic,
}

struct StreamMutator {
    records: Vec<StreamRecord>,
    version: &'static str,
    changes: Vec<String>,
}

impl StreamMutator {
    fn describe(&mut self, what: &str, at: usize, value: &[u8]) {
        let value = value.escape_ascii();
        self.changes.push(format!("{what} of record {at}: {value}"));
    }

    fn header(&mut self, random: &mut Random) {
        let at = random.below(self.records.len());
        let headers = &mut self.records[at].headers;
        let place = random.below(headers.len().max(1));
        let has_some = !headers.is_empty();
        let value = match random.below(8) {
            0 if has_some => {
                let value = header_value(random, &headers[place].0);
                headers[place].1.clone_from(&value);
                [&headers[place].0, &b"="[..], &value].concat()
            }
            1 if has_some => headers.remove(place).0,
            2 if has_some => {
                headers.swap(0, place);
                b"first".to_vec()
            }
            3 if has_some => {
                headers[place].0.make_ascii_lowercase();
                headers[place].0.clone()
            }
            4 if has_some => {
                let value = &mut headers[place].1;
                match random.below(3) {
                    0 => value.insert(0, b' '),
                    1 => value.push(b' '),
                    _ => value.push(b'\r'),
                }
                value.clone()
            }
            5 => {
                headers.push((
                    one_of(random, &["junk", "", " "]).as_bytes().to_vec(),
                    b"x".to_vec(),
                ));
                b"junk".to_vec()
            }
            _ => {
                let name = one_of(random, HEADERS).as_bytes().to_vec();
                let value = header_value(random, &name);
                headers.insert(place, (name.clone(), value.clone()));
                [&name, &b"+="[..], &value].concat()
            }
        };
        self.describe("header", at, &value);
    }

    fn length(&mut self, random: &mut Random) {
        let at = random.below(self.records.len());
        let names = one_of(
            random,
            &[
                &[PROP_LENGTH][..],
                &[TEXT_LENGTH],
                &[CONTENT_LENGTH],
                &[PROP_LENGTH, TEXT_LENGTH, CONTENT_LENGTH],
            ],
        );
        let is_named = |name: &[u8]| names.iter().any(|wanted| wanted.as_bytes() == name);
        let record = &mut self.records[at];
        let reported = match random.below(5) {
            0 => {
                let value = one_of(random, NUMBERS);
                let of_names = record.headers.iter_mut().filter(|(name, _)| is_named(name));
                of_names.for_each(|(_, old)| *old = value.to_vec());
                value.to_vec()
            }
            1 => {
                record.headers.retain(|(name, _)| !is_named(name));
                b"removed".to_vec()
            }
            _ => {
                let by = one_of(random, DIFFERENCES);
                record.move_lengths(names, by);
                by.to_string().into_bytes()
            }
        };
        self.describe(&names.join("+"), at, &reported);
    }

    fn props(&mut self, random: &mut Random) {
        let at = random.below(self.records.len());
        let mut section = one_of(random, SECTIONS).to_vec();
        if random.below(3) == 0 {
            section.extend_from_slice(one_of(random, &[b"\n", b"x", b"junk\n", b"PROPS-END\n", b"\0"]));
        }
        let record = &mut self.records[at];
        if random.below(4) > 0 {
            let by = section.len() as i64 - record.props.len() as i64;
            record.move_lengths(&[PROP_LENGTH, CONTENT_LENGTH], by);
            if !record
                .headers
                .iter()
                .any(|(name, _)| name == PROP_LENGTH.as_bytes())
            {
                let length = section.len().to_string().into_bytes();
                record.headers.push((PROP_LENGTH.as_bytes().to_vec(), length));
            }
        }
        record.props.clone_from(&section);
        self.describe("properties", at, &section);
    }

    fn record(&mut self, random: &mut Random) {
        let (at, other) = (random.below(self.records.len()), random.below(self.records.len()));
        let reported: &[u8] = match random.below(4) {
            0 if self.records.len() > 1 => {
                self.records.remove(at);
                b"removed"
            }
            1 => {
                self.records.swap(at, other);
                b"exchanged"
            }
            2 => {
                self.records.insert(at, self.records[at].clone());
                b"doubled"
            }
            _ => {
                self.records.insert(other, self.records[at].clone());
                b"repeated elsewhere"
            }
        };
        self.describe("place", at, reported);
    }

    fn end(&mut self, random: &mut Random) {
        let at = random.below(self.records.len());
        let end = one_of(random, ENDS).to_vec();
        self.records[at].end.clone_from(&end);
        self.describe("end", at, &end);
    }

    /// Converts records to version 1 of the format, without lengths of the sections.
    fn oldest(&mut self, random: &mut Random) {
        self.version = "1";
        for record in self.records.iter_mut().filter(|record| record.is_node()) {
            if random.below(5) > 0 {
                let sections = [PROP_LENGTH.as_bytes(), TEXT_LENGTH.as_bytes()];
                record.headers.retain(|(name, _)| !sections.contains(&&name[..]));
            }
        }
        self.changes.push("version 1".to_owned());
    }
}

fn change_bytes(random: &mut Random, change: MutationKind, bytes: &mut Vec<u8>) -> String {
    let at = random.below(bytes.len().max(1));
    match change {
        MutationKind::Cut => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        MutationKind::LineEnds => {
            *bytes = bytes
                .split(|byte| *byte == b'\n')
                .collect::<Vec<_>>()
                .join(&b"\r\n"[..]);
            "all lines end with CR LF".to_owned()
        }
        MutationKind::LineEnd => {
            let found = bytes.iter().skip(at).position(|byte| *byte == b'\n');
            bytes.insert(found.map_or(bytes.len(), |found| at + found), b'\r');
            format!("CR LF after {at}")
        }
        MutationKind::Magic => {
            let magic = one_of(random, MAGICS);
            let end = bytes
                .windows(2)
                .position(|pair| pair == b"\n\n")
                .map_or(0, |end| end + 2);
            bytes.splice(..end, magic.iter().copied());
            format!("magic {}", magic.escape_ascii())
        }
        _ => {
            let byte = one_of(random, b"\n\0 :x\xff9\r");
            let removed = usize::from(random.below(3) > 0).min(bytes.len() - at.min(bytes.len()));
            let added = (random.below(3) > 0).then_some(byte);
            bytes.splice(at..at + removed, added);
            format!("{removed} bytes at {at} by {added:?}")
        }
    }
}

fn header_value(random: &mut Random, name: &[u8]) -> Vec<u8> {
    let words: &[&[u8]] = match name {
        b"Node-path" => &[
            b"trunk",
            b"trunk/f",
            b"/trunk//f/",
            b"n",
            b"trunk/d",
            b"",
            b"..",
            b"a/../b",
            b"./x",
            b"\xff",
            b"nosuch/x",
            b"refuse",
            b"x\x01",
            b"x\ty",
            b"trunk/f/x",
        ],
        b"Node-kind" => &[b"file", b"dir", b"symlink", b"", b"File", b" file"],
        b"Node-action" => &[b"add", b"change", b"delete", b"replace", b"foo", b""],
        b"Node-copyfrom-path" => &[b"trunk", b"trunk/f", b"/b", b"", b"nosuch", b"..", b"\xfe"],
        b"UUID" => &[b"x", b"", b"aaaaaaaa-2222-3333-4444-555555555555"],
        b"SVN-fs-dump-format-version" => &[b"1", b"2", b"3", b"4", b"0", b"x", b"-1"],
        b"Prop-delta" | b"Text-delta" => &[b"true", b"false", b"True", b"TRUE", b""],
        // Subversion reserves memory for all revisions up to the number.
        b"Revision-number" => &NUMBERS[..SMALL_NUMBERS],
        _ if name.ends_with(b"md5") || name.ends_with(b"sha1") => {
            let digest = Md5::of(b"hello").to_string();
            return match random.below(8) {
                0 => digest.to_uppercase(),
                1 => digest[..31].to_owned(),
                2 => digest + "0",
                3 => "0".repeat(31) + "g",
                4 => "0".repeat(32),
                5 => String::new(),
                6 => Md5::of(b"alpha\nbeta\n").to_string(),
                _ => digest,
            }
            .into_bytes();
        }
        _ => NUMBERS,
    };
    one_of(random, words).to_vec()
}

const MAGIC: &str = "SVN-fs-dump-format-version";

/// The kinds of changes, the frequent ones several times.
const CHANGES: &[MutationKind] = &[
    MutationKind::RecordHeader,
    MutationKind::RecordHeader,
    MutationKind::RecordHeader,
    MutationKind::RecordHeader,
    MutationKind::Length,
    MutationKind::Length,
    MutationKind::Length,
    MutationKind::Props,
    MutationKind::Props,
    MutationKind::Props,
    MutationKind::StreamRecord,
    MutationKind::StreamRecord,
    MutationKind::End,
    MutationKind::Oldest,
    MutationKind::Byte,
    MutationKind::Byte,
    MutationKind::Cut,
    MutationKind::LineEnds,
    MutationKind::LineEnd,
    MutationKind::Magic,
];

/// The errors of lengths.
const DIFFERENCES: &[i64] = &[-30, -11, -10, -2, -1, 1, 2, 5, 9, 10, 11, 30, 200];

/// Values of numeric headers, the small ones first.
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"1",
    b"-1",
    b"5",
    b"10",
    b"11",
    b"99",
    b"x",
    b"1x",
    b"",
    b" 7",
    b"+3",
    b"0x10",
    b"007",
    b"\xff",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775807",
    b"9223372036854775808",
    b"2147483648",
];
const SMALL_NUMBERS: usize = 15;

/// Names of headers, known and unknown.
const HEADERS: &[&str] = &[
    "Node-path",
    "Node-kind",
    "Node-action",
    "Node-copyfrom-rev",
    "Node-copyfrom-path",
    "Text-content-md5",
    "Text-content-sha1",
    "Text-copy-source-md5",
    "Text-copy-source-sha1",
    "Prop-content-length",
    "Text-content-length",
    "Content-length",
    "Prop-delta",
    "Text-delta",
    "Text-delta-base-md5",
    "Text-delta-base-sha1",
    "Revision-number",
    "UUID",
    "SVN-fs-dump-format-version",
    "X-unknown",
    "node-path",
];

/// The texts after a record.
const ENDS: &[&[u8]] = &[
    b"",
    b"\n",
    b"\n\n\n\n",
    b" \n",
    b"junk\n",
    b"\r\n\r\n",
    b"\t\n",
    b"\0\n",
    b"PROPS-END\n\n",
];

/// The beginnings of streams.
const MAGICS: &[&[u8]] = &[
    b"",
    b"\n",
    b"SVN-fs-dump-format-version: 1\n\n",
    b"SVN-fs-dump-format-version:2\n\n",
    b"SVN-fs-dump-format-version: 4\n\n",
    b"junk\n\n",
    b"SVN-fs-dump-format-version: 2x\n",
    b"SVN-fs-dump-format-version:  3\n\n",
    b"SVN-fs-dump-format-version\n",
];

/// Valid and invalid property sections.
const SECTIONS: &[&[u8]] = &[
    b"K 1\na\nV 1\nb\nPROPS-END\n",
    b"PROPS-END\n",
    b"",
    b"PROPS-END",
    b"K 1\na\nV 1\nb\n",
    b"K 1\na\nPROPS-END\n",
    b"V 1\nb\nPROPS-END\n",
    b"D 1\nx\nPROPS-END\n",
    b"D 1\nnosuch\nPROPS-END\n",
    b"K 2\na\nV 1\nb\nPROPS-END\n",
    b"K 1\na\nV 9\nb\nPROPS-END\n",
    b"K 0\n\nV 0\n\nPROPS-END\n",
    b"K 1\na\nV 1\nbPROPS-END\n",
    b"K 1\na\r\nV 1\nb\r\nPROPS-END\r\n",
    b"\nPROPS-END\n",
    b"K 1\na\nV 1\nb\nK 1\na\nV 1\nc\nPROPS-END\n",
    b"K  1\na\nV 1\nb\nPROPS-END\n",
    b"K x\na\nV 1\nb\nPROPS-END\n",
    b"K -1\na\nV 1\nb\nPROPS-END\n",
    b"END\n",
    b"PROPS-END\nPROPS-END\n",
    b"K 7\nsvn:log\nV 3\n\xff\xfex\nPROPS-END\n",
    b"K 7\nsvn:foo\nV 1\n\xff\nPROPS-END\n",
    b"K 1\n\xff\nV 1\nb\nPROPS-END\n",
    b"K 10\nsvn:ignore\nV 4\na\r\nb\nPROPS-END\n",
    b"K 8\nsvn:date\nV 3\nbad\nPROPS-END\n",
    b"K 3\na\0b\nV 3\nc\0d\nPROPS-END\n",
    b"K 14\nsvn:executable\nV 1\n*\nPROPS-END\n",
    b"k 1\na\nV 1\nb\nPROPS-END\n",
    b"K 1 \na\nV 1\nb\nPROPS-END\n",
    b"K 1\na\nV 1 x\nb\nPROPS-END\n",
    b"Kx1\na\nVx1\nb\nPROPS-END\n",
    b"K 99999999999\na\nV 1\nb\nPROPS-END\n",
    b"K 18446744073709551617\na\nV 1\nb\nPROPS-END\n",
    b"K\n",
    b"K \n\nV \n\nPROPS-END\n",
    b"PROPS-END junk\n",
    b"K 13\nsvn:mergeinfo\nV 4\n/a:x\nPROPS-END\n",
    b"K 12\nsvn:entry:x\nV 1\na\nPROPS-END\n",
];
