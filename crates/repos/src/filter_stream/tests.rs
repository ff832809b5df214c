//! What the filter writes, for small streams. Comparisons with the incumbent are in the tests of `sven`.

use base::Cancel;

use super::*;
use crate::dump::FilterRule;

/// Collects the calls of the observer.
#[derive(Default)]
struct Calls(Vec<String>);

impl FilterObserver for Calls {
    fn committed(&mut self, original: i64, actual: i64) {
        self.0.push(format!("{original}={actual}"));
    }

    fn skipped(&mut self, original: i64) {
        self.0.push(format!("{original} skipped"));
    }

    fn dropped_node(&mut self, path: &[u8]) {
        self.0.push(String::from_utf8_lossy(path).into_owned());
    }
}

fn options(exclude: &str) -> FilterOptions {
    FilterOptions {
        nodes: Filter {
            rule: FilterRule::Exclude,
            patterns: vec![exclude.to_owned()],
            glob: false,
        },
        drop_revisions: DropRevisions::Emptied,
        renumber: true,
        skip_missing_merge_sources: false,
        preserve_revprops: false,
    }
}

fn filter(input: impl BufRead, out: &mut impl Write, calls: &mut Calls) -> Result<FilterSummary> {
    run(
        DumpReader::open(input)?,
        out,
        &options("/a"),
        calls,
        &Cancel::new(),
    )
}

const STREAM: &str = "SVN-fs-dump-format-version: 2\n\n\
    Revision-number: 1\n\n\
    Node-path: a\nNode-kind: dir\nNode-action: add\n\n\n\
    Revision-number: 2\nX: y\nProp-content-length: 24\nContent-length: 24\n\nK 1\nb\nV 1\n1\nK 1\na\nV 1\n2\n\n\
    Node-path: b\nNode-action: add\nFoo: x\nNode-kind: file\nText-content-length: 3\n\nabc\n\n\
    Revision-number: 3\n\n\
    Node-path: c\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 2\nNode-copyfrom-path: b\n\n";

#[test]
fn nodes_are_left_out_and_revisions_renumbered() {
    let (mut out, mut calls) = (Vec::new(), Calls::default());
    let summary = filter(STREAM.as_bytes(), &mut out, &mut calls).expect("a stream");
    assert_eq!(calls.0, ["/a", "1 skipped", "2=1", "3=2"]);
    assert_eq!(summary.dropped_revisions, 1);
    let mappings = [
        (3, RevisionMapping::Written(2)),
        (2, RevisionMapping::Written(1)),
        (1, RevisionMapping::Dropped(None)),
    ];
    assert_eq!(summary.renumbered.as_deref(), Some(&mappings[..]));
    assert_eq!(
        String::from_utf8(out).expect("text"),
        "SVN-fs-dump-format-version: 2\n\n\
         Revision-number: 1\nProp-content-length: 34\nX: y\nContent-length: 34\n\n\
         K 1\na\nV 1\n2\nK 1\nb\nV 1\n1\nPROPS-END\n\n\
         Node-path: b\nNode-kind: file\nNode-action: add\nFoo: x\nText-content-length: 3\nContent-length: 3\n\nabc\n\n\
         Revision-number: 2\n\n\n\
         Node-path: c\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 1\nNode-copyfrom-path: b\nContent-length: 0\n\n\n\n"
    );
}

/// A writer that keeps nothing, and fails when a write is longer than a buffer should be.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        assert!(bytes.len() <= 1 << 20, "texts pass in parts");
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn large_texts_pass_in_parts() {
    use std::io::Read as _;
    const LENGTH: u64 = 3 << 30;
    let head = format!(
        "SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n\n\
         Node-path: b\nNode-kind: file\nNode-action: add\nText-content-length: {LENGTH}\n\n"
    );
    let stream = head.as_bytes().chain(std::io::repeat(b'x').take(LENGTH));
    let input = std::io::BufReader::with_capacity(64 << 10, stream);
    let mut out = Counter(0);
    filter(input, &mut out, &mut Calls::default()).expect("a stream");
    assert!(out.0 > LENGTH && out.0 < LENGTH + 500);
}

#[test]
fn too_many_headers_are_refused() {
    let mut stream = String::from("SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n");
    (0..3000).for_each(|number| stream.push_str(&format!("X-{number}: x\n")));
    let error = filter(stream.as_bytes(), &mut Vec::new(), &mut Calls::default());
    assert_eq!(error.expect_err("refused").code(), Code::STREAM_MALFORMED_DATA);
}

proptest::proptest! {
    #[test]
    fn garbage_never_panics(at in 0usize..600, byte in proptest::prelude::any::<u8>(), cut in 0usize..700) {
        let mut stream = STREAM.as_bytes().to_vec();
        if let Some(place) = stream.get_mut(at) {
            *place = byte;
        }
        stream.truncate(cut);
        let _ = filter(&stream[..], &mut Vec::new(), &mut Calls::default());
    }
}
