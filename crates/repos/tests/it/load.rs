//! Loading with renumbered revisions: mergeinfo is changed as `svnadmin load` 1.14.2 changes it.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Date, FsPath, Result, Revnum};
use repos::load::{self, LoadEvent, LoadObserver};
use repos::{Cache, CreateOptions, OpenOptions, Repository};

struct SilentLoadObserver;

impl LoadObserver for SilentLoadObserver {
    fn event(&mut self, _: LoadEvent) -> Result<()> {
        Ok(())
    }
}

fn load(path: &Path, stream: Vec<u8>, options: &load::LoadOptions) -> Result<()> {
    let open = OpenOptions {
        no_flush: true,
        ..OpenOptions::default()
    };
    let repository = Repository::open_with(path, &Cache::new(8 << 20), open)?;
    let clock: load::Clock = Arc::new(|| Date(0));
    let input = Cursor::new(stream);
    load::run(
        &repository,
        input,
        options,
        &mut SilentLoadObserver,
        &Cancel::new(),
        &clock,
    )
}

const HEAD: &str = "SVN-fs-dump-format-version: 2\n\nUUID: 11111111-1111-1111-1111-111111111111\n\n";

fn revision(number: u64) -> String {
    format!(
        "Revision-number: {number}\nProp-content-length: 56\nContent-length: 56\n\n\
         K 8\nsvn:date\nV 27\n2020-01-01T00:00:00.000000Z\nPROPS-END\n\n"
    )
}

fn directory(path: &str, mergeinfo: Option<&str>) -> String {
    let props =
        mergeinfo.map(|value| format!("K 13\nsvn:mergeinfo\nV {}\n{value}\nPROPS-END\n", value.len()));
    let props = props.unwrap_or_default();
    let length = match props.len() {
        0 => String::new(),
        length => format!("Prop-content-length: {length}\n"),
    };
    format!(
        "Node-path: {path}\nNode-kind: dir\nNode-action: add\n{length}Content-length: {}\n\n{props}\n\n",
        props.len()
    )
}

/// Loads revisions with the numbers `numbers` into a repository with `before` revisions; the last one adds `m` with
/// this mergeinfo. Returns the mergeinfo that was stored.
fn stored(before: u64, numbers: &[u64], mergeinfo: &str, options: &load::LoadOptions) -> Result<String> {
    let scratch = testkit::scratch();
    let path = scratch.path().join("r");
    repos::create(&path, &CreateOptions::default(), Date(0))?;
    if before > 0 {
        let revisions = (1..=before).map(|n| revision(n) + &directory(&format!("p{n}"), None));
        let stream = HEAD.to_owned() + &revisions.collect::<String>();
        load(&path, stream.into_bytes(), &load::LoadOptions::default())?;
    }
    let mut stream = HEAD.to_owned();
    for (at, number) in numbers.iter().enumerate() {
        stream += &revision(*number);
        stream += &match at + 1 == numbers.len() {
            true => directory("m", Some(mergeinfo)),
            false => directory(&format!("d{number}"), None),
        };
    }
    load(&path, stream.into_bytes(), options)?;
    let repository = Repository::open(&path, &Cache::new(8 << 20))?;
    let fs = repository.fs();
    let root = fs.root(fs.youngest()?)?;
    let at = FsPath::root().join(&options.parent_dir.join(&base::RelPath::canonicalize("m")?));
    let props = root.node(&at)?.props()?;
    let value = props.get(base::props::MERGEINFO).cloned().unwrap_or_default();
    Ok(String::from_utf8_lossy(&value).into_owned())
}

#[test]
fn mergeinfo_follows_the_revisions() {
    for (before, numbers, cases) in RENUMBERED {
        for (mergeinfo, expected) in *cases {
            let stored = stored(*before, numbers, mergeinfo, &load::LoadOptions::default());
            assert_eq!(
                stored.as_deref(),
                Ok(*expected),
                "{before} {numbers:?} {mergeinfo:?}"
            );
        }
    }
}

/// The incumbent turns these values into mergeinfo that it then refuses itself.
#[test]
fn mergeinfo_that_the_incumbent_rejects() {
    for (before, numbers, mergeinfo, expected) in [
        (2, &[5, 6, 8, 9][..], "/a:8", "/a:5"),
        (9, &[5, 6, 8, 9], "/a:5-7,9", "/a:10-11,13"),
        (1, &[3, 9, 12], "a:3\r\n/b:9\r\n", "/a:2\n/b:3"),
        (1, &[3, 9, 12], "/a:9\n/a:3", "/a:2-3"),
        (5, &[5, 6], "/a:6", "/a:7"),
    ] {
        let stored = stored(before, numbers, mergeinfo, &load::LoadOptions::default());
        assert_eq!(
            stored.as_deref(),
            Ok(expected),
            "{before} {numbers:?} {mergeinfo:?}"
        );
    }
}

#[test]
fn a_revision_without_a_number_leaves_those_before_it() -> Result<()> {
    let scratch = testkit::scratch();
    let path = scratch.path().join("r");
    repos::create(&path, &CreateOptions::default(), Date(0))?;
    let stream = [
        HEAD,
        &revision(1),
        &directory("a", None),
        "Revision-number: x\n\n",
    ]
    .concat();
    let error =
        load(&path, stream.into_bytes(), &load::LoadOptions::default()).expect_err("because x is no number");
    assert_eq!(error.code(), base::Code::INCORRECT_PARAMS);
    let repository = Repository::open(&path, &Cache::new(8 << 20))?;
    assert_eq!(repository.youngest()?, Revnum(1));
    Ok(())
}

#[test]
fn mergeinfo_moves_with_its_directory() {
    let below = load::LoadOptions {
        parent_dir: base::RelPath::canonicalize("p1").expect("because it is plain"),
        ..load::LoadOptions::default()
    };
    assert_eq!(
        stored(2, &[3, 4], "/a:3\r\nb:1", &below).as_deref(),
        Ok("/p1/a:3")
    );
    let refused = stored(1, &[3, 9, 12], "junk", &load::LoadOptions::default());
    assert_eq!(
        refused.map_err(|e| e.code()),
        Err(base::Code::MERGEINFO_PARSE_ERROR)
    );
    let lenient = load::LoadOptions {
        validate_props: false,
        ..load::LoadOptions::default()
    };
    assert_eq!(stored(2, &[3, 4], "junk", &lenient).as_deref(), Ok("junk"));
}

#[test]
fn a_merge_source_can_be_renumbered() {
    // Revision 5 of the stream becomes revision 1; earlier ones are not in the stream.
    for (before, expected) in [(0, true), (9, true)] {
        let scratch = testkit::scratch();
        let path = scratch.path().join("r");
        repos::create(&path, &CreateOptions::default(), Date(0)).expect("because the place is free");
        if before > 0 {
            let revisions = (1..=before).map(revision).collect::<String>();
            load(
                &path,
                (HEAD.to_owned() + &revisions).into_bytes(),
                &load::LoadOptions::default(),
            )
            .expect("because it is plain");
        }
        let copy = "Node-path: e\nNode-kind: dir\nNode-action: add\nNode-copyfrom-rev: 5\nNode-copyfrom-path: d\n\n\n";
        let stream = [HEAD, &revision(5), &directory("d", None), &revision(6), copy].concat();
        let loaded = load(&path, stream.into_bytes(), &load::LoadOptions::default());
        assert_eq!(loaded.is_ok(), expected, "{loaded:?}");
        let repository = Repository::open(&path, &Cache::new(8 << 20)).expect("a repository");
        assert_eq!(repository.youngest(), Ok(Revnum(before + 2)));
        testkit::Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&path)
            .ok();
    }
}

/// The number of revisions before the load, the numbers in the stream, and the mergeinfo of the last one as it was
/// stored.
const RENUMBERED: &[(u64, &[u64], Cases)] = &[
    (0, &[1, 2, 3, 4], &[("/a:1-2", "/a:1-2")]),
    (
        2,
        &[5, 6, 8, 9],
        &[
            ("/a:5-6", "/a:3-4"),
            ("/a:6-7", "/a:4-6"),
            ("/a:7", "/a:5-6"),
            ("/a:4-5", "/a:3"),
            ("/a:3", ""),
            ("/a:1-9", "/a:3-9"),
            ("/a:9", "/a:6-9"),
            ("/a:10-12", "/a:10-12"),
            ("/a:8-12", "/a:7-12"),
            ("/a:2,5*,7-8\n/b:1", "/a:3*,5"),
        ],
    ),
    (
        9,
        &[5, 6, 8, 9],
        &[
            ("/a:1-4", "/a:5-8"),
            ("/a:3-5", "/a:7-8,10"),
            ("/a:1-20", "/a:5-8,10-20"),
        ],
    ),
    (
        0,
        &[5, 6, 8, 9],
        &[
            ("/a:1-20", "/a:1-20"),
            ("/a:3-4", ""),
            ("/a:4-5", "/a:1"),
            ("/a:3-6", "/a:1-2"),
            ("/a:5-6", "/a:1-2"),
            ("/a:6-8", "/a:2-3"),
            ("/a:7-8", "/a:3"),
        ],
    ),
    (0, &[3, 9], &[("/a:5-8", "/a:5-8"), ("/a:2-8", "/a:1-8")]),
    (1, &[3, 9], &[("/a:3-9", "/a:2-9")]),
    (1, &[3, 9, 12], &[("/a:3-9,10,11-12", "/a:2-12"), ("", "")]),
    (
        3,
        &[5, 6, 7, 8],
        &[
            ("/a:4", "/a:3"),
            ("/a:3-4", "/a:2-3"),
            ("/a:2", ""),
            ("/a:2-3", ""),
            ("/a:1-4", ""),
            ("/a:1-5", "/a:4"),
        ],
    ),
    (
        2,
        &[5, 6, 7, 8],
        &[("/a:4", "/a:2"), ("/a:3-4", ""), ("/a:3", "")],
    ),
    (
        1,
        &[5, 6, 7, 8],
        &[("/a:4", ""), ("/a:4-5", "/a:2"), ("/a:3-5", "/a:2")],
    ),
    (4, &[5, 6, 7, 8], &[("/a:1-5", "/a:5")]),
    (
        5,
        &[5, 6, 7, 8],
        &[
            ("/a:1-5", "/a:2-6"),
            ("/a:1,3*,4-5,7", "/a:2,4-6,8"),
            ("/a:1-2,4*", "/a:2-3,5"),
            ("/a:1-3*", "/a:2-4"),
            ("/a:1,2*", "/a:2-3"),
            ("/a:1*,2,4*,5*,6", "/a:2-3,5-7"),
            ("/a:4*,5,6*", "/a:5-7"),
            ("/a:4,5*", "/a:5,6*"),
            ("/a:4-5*", "/a:5,6*"),
        ],
    ),
    (
        5,
        &[5],
        &[("/a:1-4", "/a:2-5"), ("/a:5", "/a:5"), ("/a:4-6", "/a:5-6")],
    ),
    (5, &[5, 6], &[("/a:5-6", "/a:6")]),
    (5, &[3, 4], &[("/a:2-3*", "/a:5,6*")]),
    (
        2,
        &[3, 4, 5, 6],
        &[
            ("/a:3-4,5", "/a:3-5"),
            ("/a:3-4*,5", "/a:3-5"),
            ("/a:3,5\n/b:1-2,4", "/a:3,5\n/b:4"),
        ],
    ),
    (
        2,
        &[3, 4, 5, 6, 7, 8, 9],
        &[
            ("/a:3*,4", "/a:3-4"),
            ("/a:3,4*", "/a:3-4"),
            ("/a:3-4*,5-6", "/a:3-6"),
            ("/a:3-4,5-6*", "/a:3-6"),
            ("/a:3-4*,6", "/a:3-4*,6"),
            ("/a:3*,4,5*", "/a:3-5"),
            ("/a:3*,5*", "/a:3*,5*"),
            ("/a:3,5*,6", "/a:3,5-6"),
            ("/a:3,4*,6*,7", "/a:3-4,6-7"),
        ],
    ),
];

/// Mergeinfo in the stream, and as it was stored.
type Cases = &'static [(&'static str, &'static str)];
