//! Servers that send edits which an export must refuse: nothing is written outside of the target.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use base::{Cancel, Code, Date, Depth, Result, Url};
use client::export::{ExportOptions, Source, export};
use client::locate::Revision;
use client::translate::LineEnd;
use ra::OpenOptions;
use testkit::scratch;

const GREETING: &str = "( success ( 2 2 ( ) ( edit-pipeline svndiff1 ) ) ) ";
const NO_AUTH: &str = "( success ( ( ) 0: ) ) ";

/// Exports from a server that sends `edit` as the tree. Files and directories that exist are overwritten.
fn export_from(edit: &[u8], target: &Path) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let root = format!("svn://127.0.0.1:{port}");
    let head = format!(
        "{GREETING}{NO_AUTH}( success ( 1:u {}:{root} ( ) ) ) {NO_AUTH}( success ( 1 ) ) {NO_AUTH}( success ( dir ) ) {NO_AUTH}{NO_AUTH}",
        root.len()
    );
    let bytes = [head.as_bytes(), edit].concat();
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a client");
        // The client may have gone already.
        _ = peer.write_all(&bytes);
        _ = peer.shutdown(Shutdown::Write);
        _ = peer.read_to_end(&mut Vec::new());
    });
    let open = |url: &Url| ra::open(url, &OpenOptions::default());
    let options = ExportOptions {
        depth: Depth::Infinity,
        force: true,
        ignore_externals: true,
        ignore_keywords: false,
        native_line_end: LineEnd::Lf,
        sessions: 1,
        writers: 2,
        has_time: &|| true,
        alone_for: std::time::Duration::ZERO,
        open: &open,
        long_date: &base::keywords::long_date,
        parse_date: &|text| Date::parse(text.as_bytes()).ok(),
        file_name: &|name, _| Ok(OsString::from(name)),
        absolute_target: target,
        received: &AtomicU64::new(0),
        cancel: &Cancel::new(),
    };
    let source = Source {
        url: Url::canonicalize(&root).expect("a URL"),
        peg: Revision::Head,
        rev: Revision::Head,
    };
    let outcome = export(&source, target, &options, &mut |_| Ok(()));
    server.join().expect("it ends");
    outcome
}

/// Returns the commands that add a file with a text, and a digest if it is given.
fn file(path: &str, props: &str, text: &[u8], digest: &str) -> Vec<u8> {
    // svndiff version 0: one window of one instruction, which inserts all of it.
    let len = u8::try_from(text.len()).expect("a short text");
    assert!((1..64).contains(&len), "one instruction");
    let mut out = format!("( add-file ( {}:{path} 1:d 1:f ( ) ) ) ", path.len()).into_bytes();
    for name in props.split_ascii_whitespace() {
        out.extend(format!("( change-file-prop ( 1:f {}:{name} ( 1:* ) ) ) ", name.len()).bytes());
    }
    let window = [&b"SVN\0"[..], &[0, 0, len, 1, len, 0x80 | len], text].concat();
    out.extend(b"( apply-textdelta ( 1:f ( ) ) ) ");
    out.extend(format!("( textdelta-chunk ( 1:f {}:", window.len()).bytes());
    out.extend(window);
    out.extend(b" ) ) ( textdelta-end ( 1:f ) ) ");
    let digest = match digest {
        "" => String::new(),
        digest => format!(" {}:{digest} ", digest.len()),
    };
    out.extend(format!("( close-file ( 1:f ( {digest} ) ) ) ").bytes());
    out
}

fn directory(path: &str) -> Vec<u8> {
    format!("( add-dir ( {}:{path} 1:d 1:d ( ) ) ) ", path.len()).into_bytes()
}

fn edit(parts: &[Vec<u8>]) -> Vec<u8> {
    let begin = b"( target-rev ( 1 ) ) ( open-root ( ( 1 ) 1:d ) ) ".to_vec();
    let end = b"( close-dir ( 1:d ) ) ( close-edit ( ) ) ( success ( ) ) ".to_vec();
    [vec![begin], parts.to_vec(), vec![end]].concat().concat()
}

#[test]
fn names_are_components() {
    for name in ["..", "../x", "/x", "a/../../x", "", ".", "a//x", "a/x"] {
        for part in [directory(name), file(name, "", b"text", "")] {
            let folder = scratch();
            let target = folder.path().join("target");
            let outcome = export_from(&edit(&[part]), &target);
            // A slash at the beginning is dropped, as everywhere in the protocol.
            let is_relative = name == "/x";
            assert!(outcome.is_err() || is_relative, "{name:?}");
            let entries: Vec<_> = folder.path().read_dir().expect("a folder").collect();
            assert!(entries.len() <= 1, "{name:?}: {entries:?}");
            let inside = target.read_dir().map_or(0, Iterator::count);
            assert_eq!(inside, usize::from(is_relative), "{name:?}");
        }
    }
}

#[test]
fn links_are_not_followed() {
    let folder = scratch();
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).expect("new");
    let link = format!("link {}", outside.display());
    let parts = [
        vec![
            file("a", "svn:special", link.as_bytes(), ""),
            directory("a"),
            file("a/x", "", b"text", ""),
        ],
        vec![
            file("a", "svn:special", link.as_bytes(), ""),
            file("a/x", "", b"text", ""),
        ],
        // A link that was there before.
        vec![directory("old"), file("old/x", "", b"text", "")],
    ];
    for parts in parts {
        let target = folder.path().join("target");
        std::fs::create_dir(&target).expect("new");
        std::os::unix::fs::symlink(&outside, target.join("old")).expect("new");
        assert!(export_from(&edit(&parts), &target).is_err());
        assert_eq!(outside.read_dir().expect("it is there").count(), 0);
        std::fs::remove_dir_all(&target).expect("it was made");
    }
}

#[test]
fn a_wrong_digest_leaves_no_file() {
    let folder = scratch();
    let target = folder.path().join("target");
    let good = file("good", "", b"text", "1cb251ec0d568de6a929b520c4aed8d1");
    let bad = file("bad", "", b"text", "2cb251ec0d568de6a929b520c4aed8d1");
    let error = export_from(&edit(&[good, bad]), &target).expect_err("a wrong digest");
    assert!(error.has(Code::CHECKSUM_MISMATCH), "{error:?}");
    let names: Vec<_> = target
        .read_dir()
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["good"]);
}

#[test]
fn files_that_are_never_closed_are_bounded() {
    let folder = scratch();
    let target = folder.path().join("target");
    let many: Vec<Vec<u8>> = (0..5000)
        .map(|number| {
            let (path, token) = (format!("f{number}"), format!("t{number}"));
            let (path, token) = (
                format!("{}:{path}", path.len()),
                format!("{}:{token}", token.len()),
            );
            format!("( add-file ( {path} 1:d {token} ( ) ) ) ").into_bytes()
        })
        .collect();
    assert!(export_from(&edit(&many), &target).is_err());
    assert_eq!(target.read_dir().expect("a directory").count(), 0);
}

#[test]
fn an_edit_that_ends_early_leaves_no_partial_file() {
    let folder = scratch();
    let target = folder.path().join("target");
    let whole = edit(&[file("a", "", b"text", ""), file("b", "", b"more text", "")]);
    let at = whole
        .windows(6)
        .rposition(|part| part == b"close-")
        .expect("an end");
    for end in (0..at).step_by(7) {
        _ = std::fs::remove_dir_all(&target);
        assert!(export_from(&whole[..end], &target).is_err(), "{end}");
        for entry in target.read_dir().expect("a directory") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read(&path).expect("a file");
            assert!(text == b"text" || text == b"more text", "{end}: {path:?}");
        }
    }
}
