//! Each kind of malformed delta, with the error number (and message) of 1.14: `svnadmin load` was given every
//! document of the table.

use base::Error;
use delta::svndiff::{Codec, Decoder, varint};

fn window(source_offset: u64, source_len: u64, target_len: u64, ops: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in [
        source_offset,
        source_len,
        target_len,
        ops.len() as u64,
        new.len() as u64,
    ] {
        varint::write(value, &mut out);
    }
    [&out, ops, new].concat()
}

fn long(opcode: u8, len: u64) -> Vec<u8> {
    let mut out = vec![opcode];
    varint::write(len, &mut out);
    out
}

fn section(len: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::write(len, &mut out);
    [&out, payload].concat()
}

fn raw(bytes: &[u8]) -> Vec<u8> {
    section(bytes.len() as u64, bytes)
}

/// Reads a document to its end, applying windows to a source of zeros.
fn read(version: u8, windows: &[u8]) -> Result<Vec<u8>, Error> {
    let mut codec = Codec::new();
    let source = vec![0; delta::window::WINDOW_SIZE];
    let mut target = Vec::new();
    let mut decoder = Decoder::new();
    let document = [b"SVN", &[version][..], windows].concat();
    decoder.push(&document, |stored| {
        let decoded = stored.decode(&mut codec).map(|_| ());
        let applied = stored.apply(&source, &mut target, &mut codec);
        assert_eq!(
            decoded.is_ok(),
            applied.is_ok(),
            "decode {decoded:?}, apply {applied:?}"
        );
        Ok(applied?)
    })?;
    decoder.finish()?;
    Ok(target)
}

#[track_caller]
fn fails(version: u8, windows: &[u8], expected: &str) {
    let error = read(version, windows).expect_err(expected);
    assert_eq!(format!("{error}"), expected);
}

#[test]
fn document_headers() {
    fails(3, b"", "E185000: Svndiff has invalid header");
    let mut decoder = Decoder::new();
    decoder.push(b"SV", |_| Ok(())).unwrap();
    let error = decoder.finish().unwrap_err();
    assert_eq!(format!("{error}"), "E185004: Unexpected end of svndiff input");
    let mut decoder = Decoder::new();
    decoder.push(b"SVX", |_| Ok(())).unwrap_err();
    // After a failure every further call fails.
    decoder.push(b"", |_| Ok(())).unwrap_err();
    decoder.finish().unwrap_err();
}

/// Found by the fuzz target `svndiff_stream`: the outcome depended on how the bytes were cut.
#[test]
fn a_bad_document_header_in_pieces() {
    let mut decoder = Decoder::new();
    decoder.push(b"S", |_| Ok(())).unwrap();
    decoder.push(b"V", |_| Ok(())).unwrap();
    decoder.push(b"\x07", |_| Ok(())).unwrap_err();
    let error = decoder.finish().unwrap_err();
    assert_eq!(format!("{error}"), "E185000: Svndiff has invalid header");
}

#[test]
fn window_headers() {
    let too_large = "E185001: Svndiff contains a too-large window";
    fails(
        0,
        &window(0, 0, 102_401, &long(0x80, 102_401), &[1; 102_401]),
        too_large,
    );
    fails(0, &window(0, 102_401, 1, b"\x81", b"x"), too_large);
    fails(0, &window(0, 0, 1, b"\x81", &[1; 102_411]), too_large);
    fails(0, &window(0, 0, 1, &vec![0x81; 2_150_401], b"x"), too_large);
    fails(
        0,
        &window(1 << 63, 0, 1, b"\x81", b"x"),
        "E185001: Svndiff contains corrupt window header",
    );
    fails(
        0,
        &window((1 << 63) - 1, 2, 1, b"\x81", b"x"),
        "E185001: Svndiff contains corrupt window header",
    );
    fails(
        0,
        &[0x80; 60],
        "E185001: Svndiff contains a too-large window header",
    );
    assert_eq!(
        read(0, &[&[0x80; 9][..], b"\x00\x00\x01\x01\x01\x81x"].concat()).unwrap(),
        b"x"
    );
}

#[test]
fn backward_views() {
    let backwards = "E185002: Svndiff has backwards-sliding source views";
    let first = window(10, 5, 1, b"\x81", b"x");
    fails(
        0,
        &[&first[..], &window(9, 5, 1, b"\x81", b"x")].concat(),
        backwards,
    );
    fails(
        0,
        &[&first[..], &window(11, 3, 1, b"\x81", b"x")].concat(),
        backwards,
    );
    let sourceless = window(0, 0, 1, b"\x81", b"x");
    assert_eq!(read(0, &[&first[..], &sourceless].concat()).unwrap(), b"xx");
    // 1.14 aborts with a failed assertion here.
    fails(
        0,
        &[&first[..], &sourceless, &window(3, 1, 1, b"\x81", b"x")].concat(),
        backwards,
    );
}

#[test]
fn instructions() {
    let undecodable = "E185003: Invalid diff stream: insn 0 cannot be decoded";
    fails(0, &window(0, 0, 1, b"\xc1", b""), undecodable);
    fails(0, &window(0, 0, 1, b"\x80", b"x"), undecodable);
    fails(0, &window(0, 10, 1, b"\x01", b""), undecodable);
    fails(
        0,
        &window(0, 0, 1, &[&[0x80; 11][..], &[1]].concat(), b"x"),
        undecodable,
    );
    fails(
        0,
        &window(0, 0, 1, b"\x80\x00", b"x"),
        "E185003: Invalid diff stream: insn 0 has length zero",
    );
    fails(
        0,
        &window(0, 0, 1, b"\x82", b"xx"),
        "E185003: Invalid diff stream: insn 0 overflows the target view",
    );
    let source = "E185003: Invalid diff stream: [src] insn 0 overflows the source view";
    fails(0, &window(0, 0, 1, b"\x01\x00", b""), source);
    fails(0, &window(0, 10, 5, b"\x05\x06", b""), source);
    fails(0, &window(0, 10, 5, b"\x05\x0b", b""), source);
    fails(0, &window(0, 10, 5, b"\x05\x8f\xff\xff\xff\x7f", b""), source);
    fails(
        0,
        &window(0, 10, 5, b"\x05\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00", b""),
        source,
    );
    fails(
        0,
        &window(0, 0, 2, b"\x81\x41\x01", b"x"),
        "E185003: Invalid diff stream: [tgt] insn 1 starts beyond the target view position",
    );
    fails(
        0,
        &window(0, 0, 2, b"\x82", b"x"),
        "E185003: Invalid diff stream: [new] insn 0 overflows the new data section",
    );
    fails(
        0,
        &window(0, 0, 1, b"\x81", b"xx"),
        "E185003: Delta does not contain enough new data",
    );
    fails(
        0,
        &window(0, 0, 2, b"\x81", b"x"),
        "E185003: Delta does not fill the target window",
    );
    fails(
        0,
        &window(0, 0, 1, b"", b""),
        "E185003: Delta does not fill the target window",
    );
    assert_eq!(
        read(0, &window(0, 0, 8, b"\x81\x47\x00", b"y")).unwrap(),
        b"yyyyyyyy"
    );
}

/// Found by the fuzz target `svndiff_decode`: the fast path for full texts accepted it.
#[test]
fn an_insertion_of_nothing() {
    let zero = "E185003: Invalid diff stream: insn 0 has length zero";
    fails(0, &window(0, 0, 0, b"\x80\x00", b""), zero);
    fails(1, &window(0, 0, 0, &raw(b"\x80\x00"), &raw(b"")), zero);
}

#[test]
fn unexpected_ends() {
    let whole = window(0, 0, 2, b"\x82", b"xx");
    for end in 1..whole.len() {
        fails(0, &whole[..end], "E185004: Unexpected end of svndiff input");
    }
    fails(
        0,
        &[&whole[..], b"\0"].concat(),
        "E185004: Unexpected end of svndiff input",
    );
}

#[test]
fn compressed_sections() {
    let x = raw(b"x");
    for (version, name) in [(1, "zlib compressed"), (2, "compressed")] {
        let failed = |why| format!("E185005: Decompression of {name} data failed: {why}");
        fails(version, &window(0, 0, 1, b"", &x), &failed("no size"));
        fails(version, &window(0, 0, 1, b"\x80", &x), &failed("no size"));
        fails(
            version,
            &window(0, 0, 1, &raw(b"\x81"), &section(102_401, b"x")),
            &failed("size too large"),
        );
        fails(
            version,
            &window(0, 0, 1, &section(2_150_401, b"\x81"), &x),
            &failed("size too large"),
        );
    }
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 200];
    let mut deflater = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let len = deflater.zlib_compress(text, &mut out).unwrap();
    out.truncate(len);
    out
}

#[test]
fn zlib_streams() {
    let forty = |payload: &[u8]| window(0, 0, 40, &raw(b"\xa8"), &section(40, payload));
    let zlib_fault = "E140001: zlib (uncompress): corrupt data: Decompression of svndiff data failed";
    let length = "E185005: Size of uncompressed data does not match stored original length";
    let good = zlib(&[b'x'; 40]);
    assert_eq!(read(1, &forty(&good)).unwrap(), [b'x'; 40]);
    assert_eq!(read(1, &forty(&[&good[..], b"zz"].concat())).unwrap(), [b'x'; 40]);
    fails(1, &forty(b"xxx"), zlib_fault);
    fails(1, &forty(&good[..good.len() - 2]), zlib_fault);
    fails(1, &forty(&[&good[..good.len() - 1], b"z"].concat()), zlib_fault);
    fails(1, &forty(&zlib(&[b'x'; 39])), length);
    fails(1, &forty(&zlib(&[b'x'; 41])), length);
    fails(1, &window(0, 0, 0, &raw(b""), &section(0, b"xx")), zlib_fault);
}

#[test]
fn lz4_blocks() {
    let forty = |payload: &[u8]| window(0, 0, 40, &raw(b"\xa8"), &section(40, payload));
    let lz4_fault = "E200046: LZ4 decompression failed";
    assert_eq!(
        read(2, &forty(b"\x1fx\x01\x00\x0f\x50xxxxx")).unwrap(),
        [b'x'; 40]
    );
    fails(2, &forty(b"\xff\xff\xff\xff"), lz4_fault);
    fails(2, &forty(b""), lz4_fault);
    fails(2, &forty(b"xx"), lz4_fault);
    fails(
        2,
        &forty(b"\x50xxxxx"),
        "E185005: Size of uncompressed data does not match stored original length",
    );
    fails(
        2,
        &window(0, 0, 4, &raw(b"\x84"), &section(4, b"\x50xxxxx")),
        lz4_fault,
    );
    fails(2, &window(0, 0, 0, &raw(b""), &section(0, b"xx")), lz4_fault);
}
