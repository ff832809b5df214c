//! Tests of the codec alone; streams of the real tool are in `tests/it/dump.rs`.

use std::io::{BufRead, BufReader, Cursor};

use proptest::prelude::*;

use super::*;
use crate::checksum::{Md5, Sha1};
use crate::{Code, NodeKind, PropChange, Props, Revnum};

/// What a stream says: records with their properties and texts.
type ReadRecords = Vec<(DumpRecord, Vec<PropChange>, Option<Vec<u8>>)>;

fn read_all(stream: &[u8]) -> crate::Result<ReadRecords> {
    let mut reader = DumpReader::open(stream)?;
    let mut told = Vec::new();
    while let Some(record) = reader.next_record()? {
        let mut props = Vec::new();
        while let Some(prop) = reader.next_prop()? {
            props.push(prop);
        }
        let mut text = reader.text_left()?.map(|_| Vec::new());
        let mut piece = [0; 7];
        loop {
            let length = reader.read_text(&mut piece)?;
            if length == 0 {
                break;
            }
            text.get_or_insert_default().extend_from_slice(&piece[..length]);
        }
        told.push((record, props, text));
    }
    Ok(told)
}

fn refused(stream: impl AsRef<[u8]>) -> Code {
    read_all(stream.as_ref()).expect_err("must be refused").code()
}

const START: &str = "SVN-fs-dump-format-version: 2\n\n";

#[test]
fn what_is_no_stream_is_refused() {
    assert_eq!(refused(""), Code::INCOMPLETE_DATA);
    assert_eq!(refused("SVN-fs-dump-format-version: 2"), Code::INCOMPLETE_DATA);
    assert_eq!(refused("hello\n"), Code::STREAM_MALFORMED_DATA);
    let long = format!("SVN-fs-dump-format-version: 2{}\n", " ".repeat(60));
    assert_eq!(refused(long), Code::STREAM_MALFORMED_DATA);
    assert_eq!(
        refused("SVN-fs-dump-format-version: 4\n"),
        Code::STREAM_MALFORMED_DATA
    );
    assert!(
        read_all(b"SVN-fs-dump-format-version: 2\n")
            .expect("empty")
            .is_empty()
    );
    assert!(
        read_all(b"SVN-fs-dump-format-version:2\n")
            .expect("no space")
            .is_empty()
    );
}

#[test]
fn all_content_of_the_oldest_streams_begins_with_properties() {
    for record in ["UUID: x", "SVN-fs-dump-format-version: 1", "Revision-number: 0"] {
        let oldest = format!("SVN-fs-dump-format-version: 1\n\n{record}\nContent-length: 3\n\nab\n");
        assert_eq!(refused(oldest), Code::STREAM_MALFORMED_DATA, "{record}");
    }
}

#[test]
fn malformed_records_have_the_incumbents_codes() {
    for (record, code) in [
        ("Foo: bar\n\n", Code::STREAM_MALFORMED_DATA),
        ("Foobar\n\n", Code::STREAM_MALFORMED_DATA),
        ("Revision-number: 1", Code::INCOMPLETE_DATA),
        (
            "Revision-number: 1\nProp-content-length: 20\nContent-length: 10\n\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Revision-number: 1\nProp-content-length: 10\n\nPROPS",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Revision-number: 1\nProp-content-length: 14\n\nXYZ\nPROPS-END\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Revision-number: 1\nProp-content-length: 16\n\nD 1\nx\nPROPS-END\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Revision-number: 1\nProp-content-length: 99999\n\nK 9999\nx\n",
            Code::INCOMPLETE_DATA,
        ),
        (
            "Revision-number: 1\nProp-content-length: 18446744073709551615\n\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Node-path: a\nProp-content-length: 9223372036854775807\nText-content-length: 9223372036854775807\n\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Node-path: a\nText-content-length: 20\n\nab\n\n",
            Code::INCOMPLETE_DATA,
        ),
        (
            "UUID: u\nProp-content-length: 22\n\nK 1\nk\nV 1\nv\nPROPS-END\n",
            Code::STREAM_MALFORMED_DATA,
        ),
        (
            "Revision-number: 1\nText-content-length: 1\n\nx\n",
            Code::STREAM_MALFORMED_DATA,
        ),
    ] {
        assert_eq!(refused(format!("{START}{record}")), code, "{record}");
    }
}

#[test]
fn a_revision_without_a_number_ends_the_one_before() {
    let told = read_all(format!("{START}Revision-number: 1\n\nRevision-number: x\n\n").as_bytes())
        .expect("two records");
    let numbers = told.iter().map(|(record, ..)| match record {
        DumpRecord::Revision(headers) => headers.rev().map_err(|error| error.code()),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        numbers.collect::<Vec<_>>(),
        [Ok(Revnum(1)), Err(Code::INCORRECT_PARAMS)]
    );
}

/// Records that are skipped may have any path and any version of the format.
#[test]
fn values_are_refused_where_they_are_used() {
    let stream = [
        START.as_bytes(),
        b"Node-path: a\xff\nSVN-fs-dump-format-version: 9\n\n",
    ]
    .concat();
    let mut reader = DumpReader::open(&stream[..]).expect("because it starts well");
    let Some(DumpRecord::Node(node)) = reader.next_record().expect("readable") else {
        panic!("it is a node");
    };
    assert!(node.is_path_bad);
    assert_eq!(node.path, "a?\\FF");
}

/// Of headers with the same name the last one alone is looked at.
#[test]
fn the_last_header_of_a_name_wins() {
    let stream = format!(
        "{START}Node-path: a\nText-content-md5: x\nNode-path: b\nText-content-md5: {}\n\n",
        "0".repeat(32)
    );
    let mut reader = DumpReader::open(stream.as_bytes()).expect("because it starts well");
    let Some(DumpRecord::Node(node)) = reader.next_record().expect("readable") else {
        panic!("it is a node");
    };
    assert_eq!(
        (&*node.path, node.has_bad_md5, node.content_md5),
        ("b", false, None)
    );
}

#[test]
fn a_header_block_may_end_with_the_stream() {
    let told = read_all(format!("{START}Revision-number: 1\n").as_bytes()).expect("complete");
    assert!(matches!(&told[0].0, DumpRecord::Revision(headers) if headers.rev().ok() == Some(Revnum(1))));
}

#[test]
fn empty_lines_and_lines_of_space_between_records_are_passed() {
    let told = read_all(
        format!("{START}\n  x y\n\t\nRevision-number: 5\nRevision-number: 1\n\n \nUUID: u\n\n").as_bytes(),
    );
    let told = told.expect("readable");
    assert!(matches!(&told[0].0, DumpRecord::Revision(headers) if headers.rev().ok() == Some(Revnum(1))));
    assert_eq!(told[1].0, DumpRecord::Uuid("u".into()));
}

#[test]
fn the_oldest_streams_have_text_after_the_properties() {
    let record = "Node-path: a\nNode-kind: file\nNode-action: add\nContent-length: 14\n\nPROPS-END\ntext\n\n";
    let old = read_all(format!("SVN-fs-dump-format-version: 1\n\n{record}").as_bytes()).expect("version 1");
    assert_eq!(old[0].2.as_deref(), Some(&b"text"[..]));
    let new = read_all(format!("{START}{record}").as_bytes()).expect("version 2");
    assert_eq!(new[0].2, None);
    let empty = record.replace("14", "10").replace("text", "");
    let old = read_all(format!("SVN-fs-dump-format-version: 1\n\n{empty}").as_bytes()).expect("version 1");
    assert_eq!(old[0].2.as_deref(), Some(&b""[..]));
}

/// Every line was asked of `svnadmin load` 1.14.2: lengths that do not fit, numbers with something around them.
#[test]
fn lengths_may_be_off() {
    let block = "K 1\na\nV 1\nb\nPROPS-END\n";
    for (props, content) in [
        ("21", "26"),
        ("26", "31"),
        ("221", "226"),
        ("16", "21"),
        ("22", "27"),
        (" 21", "26"),
        ("21x", "26"),
        ("+21", "26\r"),
        ("021", "26"),
    ] {
        let record = format!(
            "{START}Node-path: a\nProp-content-length: {props}\nText-content-length: 5\nContent-length: {content}\n\n{block}hello\n\n"
        );
        let read = read_all(record.as_bytes()).unwrap_or_else(|e| panic!("{props} {content}: {e}"));
        assert_eq!(
            read[0].1,
            [("a".to_owned(), Some(b"b".to_vec()))],
            "{props} {content}"
        );
        assert_eq!(read[0].2.as_deref(), Some(&b"hello"[..]), "{props} {content}");
    }
    // A section without terminator ends where its length does; one of no length has no properties.
    for (props, block, names) in [("12", "K 1\na\nV 1\nb\n", 1), ("0", "", 0), ("x", "", 0)] {
        let record = format!("{START}Revision-number: 1\nProp-content-length: {props}\n\n{block}\n");
        assert_eq!(read_all(record.as_bytes()).expect(props).len(), 1, "{props}");
        assert_eq!(
            read_all(record.as_bytes()).expect(props)[0].1.len(),
            names,
            "{props}"
        );
    }
}

#[test]
fn what_is_not_read_is_skipped() {
    let stream = format!(
        "{START}Node-path: a\nProp-content-length: 22\nText-content-length: 4\nContent-length: 31\n\n\
         K 1\nk\nV 1\nv\nPROPS-END\ntextEXTRA\n\nRevision-number: 2\n\n"
    );
    let mut reader = DumpReader::open(stream.as_bytes()).expect("a stream");
    assert!(matches!(
        reader.next_record().expect("readable"),
        Some(DumpRecord::Node(_))
    ));
    assert!(reader.next_prop().expect("readable").is_some());
    let next = reader.next_record().expect("readable");
    assert!(matches!(next, Some(DumpRecord::Revision(headers)) if headers.rev().ok() == Some(Revnum(2))));
    assert_eq!(reader.next_record().expect("readable"), None);
}

/// Paths of the records of a stream whose texts are skipped, and the error at its end, if there is one.
fn skim<R: BufRead>(reader: crate::Result<DumpReader<R>>) -> (Vec<Vec<u8>>, Option<Code>) {
    let (mut paths, mut block) = (Vec::new(), HeaderBlock::default());
    let mut reader = reader.expect("a stream");
    loop {
        match reader.next_block(&mut block) {
            Ok(Some(_)) => paths.push(block.get(name::PATH).unwrap_or_default().to_vec()),
            Ok(None) => return (paths, None),
            Err(e) => return (paths, Some(e.code())),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Texts around the length from which a file is not read: as long as their headers say, longer or shorter, in a stream that may
    /// end in any of them.
    #[test]
    fn a_file_is_skipped_as_a_pipe_is(
        texts in proptest::collection::vec((0u64..600_000, -3i64..3), 1..6),
        huge in proptest::option::of(any::<u64>()),
        cut in 0u64..2_000_000,
        buffer in 1usize..300_000,
    ) {
        let mut stream = START.as_bytes().to_vec();
        for (number, (length, wrong)) in texts.iter().enumerate() {
            let told = length.saturating_add_signed(*wrong);
            stream.extend(format!("Node-path: {number}\nText-content-length: {told}\nContent-length: {told}\n\n").bytes());
            stream.resize(stream.len() + *length as usize, b'\n');
        }
        if let Some(length) = huge {
            stream.extend(format!("Node-path: huge\nText-content-length: {length}\nContent-length: {length}\n\nabc").bytes());
        }
        stream.truncate((START.len() as u64).max(cut) as usize);
        let file = BufReader::with_capacity(buffer, Cursor::new(&stream));
        prop_assert_eq!(skim(DumpReader::open_file(file)), skim(DumpReader::open(&stream[..])));
    }
}

fn node() -> impl Strategy<Value = NodeHeaders<'static>> {
    let md5 = || {
        proptest::option::of(any::<[u8; 16]>().prop_map(|mut md5| {
            md5[0] |= 1;
            Md5(md5)
        }))
    };
    let sha1 = || proptest::option::of(any::<[u8; 20]>().prop_map(Sha1));
    let kinds = proptest::option::of(prop_oneof![Just(NodeKind::File), Just(NodeKind::Dir)]);
    let actions = proptest::option::of(prop_oneof![
        Just(NodeAction::Change),
        Just(NodeAction::Add),
        Just(NodeAction::Delete),
        Just(NodeAction::Replace)
    ]);
    let copyfrom = proptest::option::of((0i64..1 << 62, "[^\n\0]{0,20}"));
    (
        ("[^\n\0]{0,20}", kinds, actions, copyfrom),
        (md5(), sha1(), any::<bool>(), any::<bool>()),
        (md5(), sha1(), md5(), sha1()),
    )
        .prop_map(|((path, kind, action, copyfrom), a, b)| NodeHeaders {
            path: path.into(),
            kind,
            action,
            copyfrom: copyfrom.map(|(rev, path)| (rev, path.into())),
            copy_source_md5: a.0,
            copy_source_sha1: a.1,
            prop_delta: a.2,
            text_delta: a.3,
            delta_base_md5: b.0,
            delta_base_sha1: b.1,
            content_md5: b.2,
            content_sha1: b.3,
            ..NodeHeaders::default()
        })
}

fn content() -> impl Strategy<Value = (Option<Vec<PropChange>>, Option<Vec<u8>>)> {
    let value = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40));
    let props = proptest::collection::vec(("[a-zé\n]{0,9}", value), 0..4);
    (
        proptest::option::of(props),
        proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300)),
    )
}

proptest! {
    #[test]
    fn nodes_come_back_as_they_were_written(nodes in proptest::collection::vec((node(), content()), 0..6)) {
        let mut stream = Vec::new();
        write_start(&mut stream, 3, "a-uuid");
        let props = Props::from([("p".into(), b"v".to_vec())]);
        write_revision(&mut stream, Revnum(7), &(&props).into());
        let mut expected: ReadRecords = vec![
            (DumpRecord::Uuid("a-uuid".into()), vec![], None),
            (
                DumpRecord::Revision(RevisionHeaders {
                    number: b"7".to_vec(),
                    prop_length: Some(22),
                    content_length: Some(22),
                }),
                vec![("p".into(), Some(b"v".to_vec()))],
                None,
            ),
        ];
        for (mut headers, (props, text)) in nodes {
            let mut section = Vec::new();
            for (name, value) in props.iter().flatten() {
                match value {
                    Some(value) => crate::hashdump::write_entry(&mut section, name.as_bytes(), value),
                    None => crate::hashdump::write_delete(&mut section, name.as_bytes()),
                }
            }
            if props.is_some() {
                section.extend_from_slice(b"PROPS-END\n");
                headers.prop_length = Some(section.len() as u64);
            }
            headers.text_length = text.as_ref().map(|text| text.len() as u64);
            if props.is_some() || text.is_some() {
                section.extend_from_slice(text.as_deref().unwrap_or_default());
                headers.content_length = Some(section.len() as u64);
            }
            headers.write(&mut stream);
            stream.push(b'\n');
            stream.extend_from_slice(&section);
            stream.extend_from_slice(b"\n\n");
            expected.push((DumpRecord::Node(Box::new(headers)), props.unwrap_or_default(), text));
        }
        prop_assert_eq!(read_all(&stream).expect("what was written"), expected);
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_all(&[START.as_bytes(), &bytes].concat());
    }

    #[test]
    fn damage_never_panics(at in 0usize..200, byte in any::<u8>(), cut in 0usize..260) {
        let mut stream = format!(
            "{START}Revision-number: 1\nProp-content-length: 22\nContent-length: 22\n\n\
             K 1\nk\nV 1\nv\nPROPS-END\n\nNode-path: a\nNode-kind: file\nNode-action: add\n\
             Prop-content-length: 16\nText-content-length: 4\nContent-length: 20\n\nD 1\nx\nPROPS-END\ntext\n\n"
        )
        .into_bytes();
        if let Some(place) = stream.get_mut(at) {
            *place = byte;
        }
        stream.truncate(cut);
        let _ = read_all(&stream);
    }
}
