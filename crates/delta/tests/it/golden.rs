//! Bytes that Subversion 1.14 itself wrote.

use delta::svndiff::{self, Codec, EncodedWindow, Parsed};
use delta::window::{Op, Window};

fn check(document: &[u8], source: &[u8], target: &[u8], ops: &[Op]) {
    let mut codec = Codec::new();
    let version = document[3];
    assert_eq!(svndiff::parse_header(document), Ok(Parsed::Complete(version)));
    let Ok(Parsed::Complete(stored)) = EncodedWindow::parse(version, &document[4..]) else {
        panic!("no window");
    };
    assert_eq!(stored.raw.len() + 4, document.len());
    let window = stored.decode(&mut codec).unwrap();
    assert_eq!(window.ops, ops);
    let mut made = Vec::new();
    stored.apply(source, &mut made, &mut codec).unwrap();
    assert_eq!(made, target);
    let mut again = Vec::new();
    svndiff::write_header(version, &mut again);
    svndiff::write_window(&window, version, 5, &mut codec, &mut again);
    assert_eq!(again, document);
}

#[test]
fn a_short_text_in_all_versions() {
    let text = b"Hello, world!\n";
    let ops = [Op::New { len: 14 }];
    check(b"SVN\x00\x00\x00\x0e\x01\x0e\x8eHello, world!\n", b"", text, &ops);
    check(
        b"SVN\x01\x00\x00\x0e\x02\x0f\x01\x8e\x0eHello, world!\n",
        b"",
        text,
        &ops,
    );
    check(
        b"SVN\x02\x00\x00\x0e\x02\x0f\x01\x8e\x0eHello, world!\n",
        b"",
        text,
        &ops,
    );
}

#[test]
fn four_bytes_changed_in_a_long_text() {
    let source: Vec<u8> = (0..6245u32).map(|i| (i % 251) as u8).collect();
    let mut target = source.clone();
    target[97..101].copy_from_slice(b"LINE");
    let ops = [
        Op::Source { offset: 0, len: 97 },
        Op::New { len: 4 },
        Op::Source {
            offset: 101,
            len: 6144,
        },
    ];
    let document = b"SVN\x02\x00\xb0\x65\xb0\x65\x09\x05\x08\x00\x61\x00\x84\x00\xb0\x00\x65\x04LINE";
    check(document, &source, &target, &ops);
}

#[test]
fn an_empty_text_has_no_window() {
    let mut document = Vec::new();
    svndiff::write_header(2, &mut document);
    assert_eq!(document, b"SVN\x02");
    let mut decoder = svndiff::Decoder::new();
    decoder.push(&document, |_| panic!("no window expected")).unwrap();
    decoder.finish().unwrap();
}

#[test]
fn an_empty_window_is_taken() {
    // `svnadmin load` takes a window that makes nothing.
    let Ok(Parsed::Complete(stored)) = EncodedWindow::parse(0, &[0; 5]) else {
        panic!("no window");
    };
    assert_eq!(stored.decode(&mut Codec::new()).unwrap(), Window::default());
}
