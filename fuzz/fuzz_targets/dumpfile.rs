//! Dump streams: read at once and byte by byte they give the same records, and headers that were read are written and
//! read again unchanged.

#![no_main]

use std::io::{BufRead, BufReader};

use libfuzzer_sys::fuzz_target;
use repos::dumpfile::{DumpReader, DumpRecord};

type RecordsWithContents = Vec<(DumpRecord, Vec<base::PropChange>, Vec<u8>)>;

fn read(input: impl BufRead) -> base::Result<RecordsWithContents> {
    let mut reader = DumpReader::open(input)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        let mut props = Vec::new();
        while let Some(prop) = reader.next_prop()? {
            props.push(prop);
        }
        let (mut text, mut piece) = (Vec::new(), [0; 64]);
        loop {
            let length = reader.read_text(&mut piece)?;
            if length == 0 {
                break;
            }
            text.extend_from_slice(&piece[..length]);
        }
        records.push((record, props, text));
    }
    Ok(records)
}

fuzz_target!(|data: &[u8]| {
    let whole = read(data);
    let byte_by_byte = read(BufReader::with_capacity(1, data));
    assert_eq!(whole, byte_by_byte);
    let Ok(records) = whole else {
        return;
    };
    for (record, _, _) in records {
        let DumpRecord::Node(headers) = record else {
            continue;
        };
        if headers.has_bad_md5 || headers.is_path_bad || headers.is_source_bad {
            continue;
        }
        let mut stream = b"SVN-fs-dump-format-version: 3\n\n".to_vec();
        headers.write(&mut stream);
        stream.push(b'\n');
        let mut reader = DumpReader::open(&stream[..]).expect("because it starts well");
        let again = reader.next_record().expect("because it was written so");
        assert_eq!(again, Some(DumpRecord::Node(headers)));
    }
});
