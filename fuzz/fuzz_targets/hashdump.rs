//! Hash dumps: entries that were read are written and read again; the first byte chooses terminator and deletions.

#![no_main]

use base::hashdump::{self, Reader, Terminator};
use libfuzzer_sys::fuzz_target;

type Entries = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn read(input: &[u8], terminator: Terminator, incremental: bool) -> Option<Entries> {
    let mut reader = Reader::new(input, terminator, incremental);
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().ok()? {
        entries.push((entry.key.to_vec(), entry.value.map(<[u8]>::to_vec)));
        assert!(reader.consumed() <= input.len());
    }
    Some(entries)
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, input)) = data.split_first() else {
        return;
    };
    let terminator = [Terminator::End, Terminator::PropsEnd, Terminator::Eof][usize::from(kind % 3)];
    let incremental = kind & 4 != 0;
    let _ = hashdump::read_props(input);
    let Some(entries) = read(input, terminator, incremental) else {
        return;
    };
    let mut out = Vec::new();
    for (key, value) in &entries {
        match value {
            Some(value) => hashdump::write_entry(&mut out, key, value),
            None => hashdump::write_delete(&mut out, key),
        }
    }
    match terminator {
        Terminator::End => out.extend_from_slice(b"END\n"),
        Terminator::PropsEnd => out.extend_from_slice(b"PROPS-END\n"),
        Terminator::Eof => {}
    }
    assert_eq!(read(&out, terminator, incremental), Some(entries));
});
