//! Round trips through all versions, both decoders and re-framing.

use delta::svndiff::{self, Codec, Decoder, EncodedWindow, Parsed, WindowHeader};
use delta::window::{Op, WINDOW_SIZE, Window};
use proptest::prelude::*;

use crate::arbitrary;

fn encode(window: &Window, version: u8, level: u8) -> Vec<u8> {
    let mut out = Vec::new();
    svndiff::write_window(window, version, level, &mut Codec::new(), &mut out);
    out
}

fn parse(version: u8, bytes: &[u8]) -> EncodedWindow<'_> {
    match EncodedWindow::parse(version, bytes) {
        Ok(Parsed::Complete(window)) => window,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn a_window_survives_every_version((source, window) in arbitrary::window(), level in 0u8..10) {
        let mut codec = Codec::new();
        let naive_result = arbitrary::naive_result(&source, &window);
        prop_assert_eq!(window.validate(), Ok(()));
        let mut target = b"before".to_vec();
        window.apply(&source, &mut target).unwrap();
        prop_assert_eq!(&target[6..], &naive_result[..]);
        for version in 0..=2 {
            let bytes = encode(&window, version, level);
            let stored = parse(version, &bytes);
            prop_assert_eq!(stored.raw, &bytes[..]);
            prop_assert_eq!(&stored.decode(&mut codec).unwrap(), &window);
            prop_assert_eq!(stored.has_source_ops(&mut codec).unwrap(), window.has_source_ops());
            target.truncate(6);
            stored.apply(&source, &mut target, &mut codec).unwrap();
            prop_assert_eq!(&target[6..], &naive_result[..]);
        }
    }

    #[test]
    fn every_prefix_is_incomplete_and_says_how_much_is_missing((_, window) in arbitrary::window()) {
        let bytes = encode(&window, 1, 5);
        let mut have = 0;
        loop {
            match EncodedWindow::parse(1, &bytes[..have]).unwrap() {
                Parsed::Incomplete { need } => {
                    prop_assert!(need > have && need <= bytes.len());
                    have = need;
                }
                Parsed::Complete(stored) => {
                    prop_assert_eq!((have, stored.raw.len()), (bytes.len(), bytes.len()));
                    break;
                }
            }
        }
    }

    #[test]
    fn reframing_keeps_the_meaning((_, window) in arbitrary::window(), from in 0u8..3, to in 0u8..3) {
        let mut codec = Codec::new();
        let bytes = encode(&window, from, 5);
        let mut out = b"x".to_vec();
        parse(from, &bytes).write_as(to, 5, &mut codec, &mut out).unwrap();
        prop_assert_eq!(&parse(to, &out[1..]).decode(&mut codec).unwrap(), &window);
        if from == 0 || from == to {
            prop_assert_eq!(&out[1..], &encode(&window, to, 5)[..]);
        }
    }

    #[test]
    fn a_stream_in_pieces_gives_the_same_windows(
        windows in proptest::collection::vec(arbitrary::window(), 0..5),
        version in 0u8..3,
        cuts in proptest::collection::vec(1usize..400, 1..20),
    ) {
        let mut document = Vec::new();
        svndiff::write_header(version, &mut document);
        let mut ends = vec![document.len()];
        for (_, window) in &windows {
            let forward = Window { source_offset: 0, source_len: 700, ..window.clone() };
            document.extend(encode(&forward, version, 5));
            ends.push(document.len());
        }
        let mut codec = Codec::new();
        let mut got = Vec::new();
        let mut decoder = Decoder::new();
        let mut rest = &document[..];
        for cut in cuts.iter().cycle() {
            let (piece, more) = rest.split_at((*cut).min(rest.len()));
            decoder.push(piece, |stored| { got.push(stored.decode(&mut codec)?); Ok(()) }).unwrap();
            rest = more;
            if rest.is_empty() { break; }
        }
        decoder.finish().unwrap();
        prop_assert_eq!(got.len(), windows.len());
        for (got, (_, window)) in got.iter().zip(&windows) {
            prop_assert_eq!((&got.ops, &got.new_data), (&window.ops, &window.new_data));
        }
        // A document may end after any window and nowhere else.
        for end in 0..document.len() {
            let mut decoder = Decoder::new();
            decoder.push(&document[..end], |_| Ok(())).unwrap();
            prop_assert_eq!(decoder.finish().is_ok(), ends.contains(&end));
        }
    }

    #[test]
    fn any_bytes_make_an_error_or_a_sound_window(version in 0u8..3, bytes: Vec<u8>, source in arbitrary::text(0..300)) {
        let mut codec = Codec::new();
        if let Ok(Parsed::Complete(stored)) = EncodedWindow::parse(version, &bytes) {
            let mut target = Vec::new();
            let applied = stored.apply(&source, &mut target, &mut codec);
            if let Ok(window) = stored.decode(&mut codec) {
                prop_assert_eq!(window.validate(), Ok(()));
                if source.len() >= window.source_len as usize {
                    prop_assert_eq!(applied, Ok(()));
                    prop_assert_eq!(&target, &arbitrary::naive_result(&source, &window));
                }
            }
        }
    }
}

#[test]
fn a_full_insertion_is_written_by_the_short_way_with_the_same_bytes() {
    let text: Vec<u8> = (0..WINDOW_SIZE).map(|i| (i / 7 % 251) as u8).collect();
    for len in [0, 1, 63, 64, 511, 512, 5_000, WINDOW_SIZE] {
        let window = Window::insertion(&text[..len]);
        for (version, level) in [(0, 5), (1, 5), (2, 5), (1, 0), (2, 0)] {
            let mut short = Vec::new();
            svndiff::write_insertion(&text[..len], version, level, &mut Codec::new(), &mut short);
            assert_eq!(short, encode(&window, version, level));
            assert!(level > 0 || short.len() >= len, "nothing is compressed");
            let mut made = Vec::new();
            parse(version, &short)
                .apply(&[], &mut made, &mut Codec::new())
                .unwrap();
            assert_eq!(made, &text[..len]);
        }
    }
}

#[test]
fn sections_are_compressed_where_subversion_compresses_them() {
    let header_and_sections = |window: &Window, version, level| {
        let bytes = encode(window, version, level);
        let stored = parse(version, &bytes);
        (stored.instructions.len(), stored.new_data.len())
    };
    let short = Window::insertion(&[b'x'; 511]);
    let long = Window::insertion(&[b'x'; 512]);
    // Two bytes of length prefix, then the text itself.
    assert_eq!(header_and_sections(&short, 1, 5), (4, 513));
    assert_eq!(header_and_sections(&long, 1, 0), (4, 514));
    assert!(header_and_sections(&long, 1, 5).1 < 30);
    // LZ4 has no lower limit.
    assert!(header_and_sections(&short, 2, 5).1 < 30);
    assert!(header_and_sections(&Window::insertion(&[b'x'; 40]), 2, 5).1 < 30);
    // Sections that compression does not make smaller stay uncompressed.
    let mut noise = Vec::new();
    for at in 0u32..125 {
        noise.extend(base::checksum::Md5::of(&at.to_be_bytes()).0);
    }
    assert_eq!(header_and_sections(&Window::insertion(&noise), 1, 9).1, 2 + 2_000);
    assert_eq!(header_and_sections(&Window::insertion(&noise), 2, 9).1, 2 + 2_000);
}

#[test]
fn many_instructions_are_compressed_too() {
    let mut window = Window {
        source_len: 1_000,
        ..Window::default()
    };
    for _ in 0..1_000 {
        window.ops.push(Op::Source { offset: 3, len: 10 });
    }
    window.target_len = 10_000;
    for version in 1..=2 {
        let bytes = encode(&window, version, 5);
        assert!(bytes.len() < 60, "{}", bytes.len());
        assert_eq!(parse(version, &bytes).decode(&mut Codec::new()).unwrap(), window);
    }
}

#[test]
fn headers_can_be_skipped_without_their_sections() {
    let bytes = encode(&Window::insertion(&[7; 3_000]), 0, 0);
    let Ok(Parsed::Complete(header)) = WindowHeader::parse(&bytes[..20]) else {
        panic!("no header");
    };
    assert_eq!(header.window_len(), bytes.len());
    assert_eq!(header.target_len, 3_000);
    assert_eq!(EncodedWindow::with_header(0, &header, &bytes[..20]), None);
    assert!(EncodedWindow::with_header(0, &header, &bytes).is_some());
}

#[test]
fn zlib_blocks_of_packed_revision_properties() {
    let mut codec = Codec::new();
    for len in [0usize, 1, 511, 512, 300_000] {
        let text: Vec<u8> = (0..len).map(|i| (i / 3) as u8).collect();
        for level in [0, 5, 9] {
            let mut block = Vec::new();
            codec.write_zlib_block(&text, level, &mut block);
            assert_eq!(codec.read_zlib_block(&block, len).unwrap(), text);
            assert!(len == 0 || codec.read_zlib_block(&block, len - 1).is_err());
        }
    }
}
