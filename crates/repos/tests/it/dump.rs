//! Dumps, byte for byte against `svnadmin dump` of the installed Subversion.

use base::{Cancel, Revnum};
use repos::dump::{self, DumpOptions, Filter, FilterRule};
use repos::{Cache, Repository};
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Output, Repo, Side, Spec, build};

/// The progress messages as `svnadmin` prints them on its standard error.
#[derive(Default)]
struct ProgressLines(String);

impl dump::DumpObserver for ProgressLines {
    fn dumped(&mut self, rev: Revnum) {
        self.0.push_str(&format!("* Dumped revision {rev}.\n"));
    }

    fn warning(&mut self, number: u16, text: &str) {
        self.0.push_str(&format!("WARNING 0x{number:04x}: {text}\n"));
    }
}

/// The result of a dump: stream, progress messages, and the error number if it failed.
#[derive(PartialEq, Eq)]
struct DumpResult {
    stream: Vec<u8>,
    progress: String,
    failed: Option<i32>,
}

fn open(repo: &Repo) -> Repository {
    Repository::open(repo.path(), &Cache::new(64 << 20)).expect("a repository")
}

fn ours(repo: &Repository, args: &[&str]) -> DumpResult {
    ours_with(repo, args, DumpOptions::default())
}

/// Numbers of threads and limits of memory. With all but the first, even small revisions exceed the limit.
fn settings() -> [DumpOptions; 4] {
    let setting = |jobs, share| DumpOptions {
        jobs,
        share,
        ..DumpOptions::default()
    };
    [setting(1, 0), setting(3, 1), setting(4, 2500), setting(2, 40_000)]
}

fn ours_with(repo: &Repository, args: &[&str], mut options: DumpOptions) -> DumpResult {
    let mut filter = Filter {
        rule: FilterRule::Exclude,
        patterns: Vec::new(),
        glob: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("because the option has a value");
        match *arg {
            "-r" => {
                let range = value();
                let (start, end) = range.split_once(':').unwrap_or((range, range));
                options.start = Revnum::parse(start.as_bytes());
                options.end = Revnum::parse(end.as_bytes());
            }
            "--incremental" => options.incremental = true,
            "--deltas" => options.deltas = true,
            "--pattern" => filter.glob = true,
            "--include" => {
                filter.rule = FilterRule::Include;
                filter.patterns.push((*value()).to_owned());
            }
            "--exclude" => filter.patterns.push((*value()).to_owned()),
            other => panic!("{other} is no option of a dump"),
        }
    }
    options.filter = (!filter.patterns.is_empty()).then_some(filter);
    let (mut stream, mut lines) = (Vec::new(), ProgressLines::default());
    let result = dump::dump(repo, &options, &mut stream, &mut lines, &Cancel::new());
    DumpResult {
        stream,
        progress: lines.0,
        failed: result.err().map(|error| error.code().0),
    }
}

fn theirs(repo: &Repo, args: &[&str]) -> DumpResult {
    let output: Output = Side::Theirs
        .tool("svnadmin")
        .arg("dump")
        .arg(repo.path())
        .args(args)
        .run();
    let progress = output.err();
    let lines = progress.lines().filter(|line| !line.starts_with("svnadmin: "));
    DumpResult {
        progress: lines.map(|line| format!("{line}\n")).collect(),
        failed: (output.code != 0).then(|| output.error_codes()[0]),
        stream: output.stdout,
    }
}

fn assert_equal(name: &str, repo: &Repo, args: &[&str]) {
    let theirs = theirs(repo, args);
    // Each of the other settings is tried on some of the repositories: all on every one would take long.
    let another = &settings()[args.len() % settings().len()];
    for setting in [&DumpOptions::default(), another] {
        assert_same(
            name,
            args,
            &theirs,
            &ours_with(&open(repo), args, setting.clone()),
        );
    }
}

fn assert_same(name: &str, args: &[&str], theirs: &DumpResult, ours: &DumpResult) {
    if theirs == ours {
        return;
    }
    let lines = |bytes: &[u8]| -> Vec<String> {
        let lines = bytes.split(|b| *b == b'\n');
        lines
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    };
    let (a, b) = (lines(&theirs.stream), lines(&ours.stream));
    let at = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let show = |lines: &[String]| {
        let from = at.saturating_sub(12).min(lines.len());
        lines[from..lines.len().min(at + 12)].join("\n")
    };
    panic!(
        "{name} {args:?}\n== theirs, line {at}\n{}\n== ours\n{}\n== their progress ({:?})\n{}\n== ours ({:?})\n{}",
        show(&a),
        show(&b),
        theirs.failed,
        theirs.progress,
        ours.failed,
        ours.progress,
    );
}

#[test]
fn every_kind_of_repository() {
    let options = [
        &[][..],
        &["--deltas"],
        &["-r", "9:40"],
        &["-r", "30:50", "--incremental", "--deltas"],
    ];
    // Each with every other one of them, beginning with another one than the repository before.
    for (at, spec) in testkit::repo::matrix().iter().enumerate() {
        let repo = build(spec);
        for args in testkit::sample(2, options.iter().cycle().skip(at % 4).take(4)) {
            assert_equal(&spec.name, &repo, args);
        }
    }
}

#[test]
fn every_option() {
    for compatible in ["1.3", "1.14"] {
        let spec = Spec::new(compatible);
        let repo = build(&spec);
        let youngest = repo.youngest().to_string();
        for args in [
            &["-r", "0"][..],
            &["-r", "0:0", "--incremental"],
            &["-r", "1"],
            &["-r", "1", "--deltas"],
            &["-r", "1:5", "--deltas"],
            &["-r", "26", "--incremental"],
            &["-r", "26"],
            &["-r", "29:40", "--incremental"],
            &["-r", "36:45"],
            &["-r", "38:45", "--incremental"],
            &["-r", &youngest],
            &["-r", &youngest, "--incremental", "--deltas"],
            &["-r", "44:60", "--deltas"],
            &["--exclude", "/trunk"],
            &["--exclude", "/trunk", "--deltas"],
            &["--exclude", "/branches/b1", "--exclude", "/trunk/many"],
            &["--include", "/trunk"],
            &["--include", "/branches"],
            &["--include", "/"],
            &["--exclude", "/"],
            &["--include", "trunk"],
            &["--include", "/trunk/"],
            &["--exclude", "/trunk/hello.txt", "-r", "20:30"],
            &["--include", "/trunk", "-r", "20:30"],
            &["--include", "/branches", "-r", "20:30", "--incremental"],
            &["--exclude", "*/hello*", "--pattern"],
            &["--include", "/t*", "--include", "/b*", "--pattern"],
            &["--exclude", "/branches/b[12]", "--pattern"],
            &["--exclude", "*.txt", "--pattern", "-r", "25:50"],
            &["--exclude", "/branches/b?/inner", "--pattern", "--deltas"],
        ] {
            assert_equal(compatible, &repo, args);
        }
    }
}

#[test]
fn dumps_of_special_histories() {
    for (name, history) in [
        ("small", testkit::history::small()),
        ("orphans", testkit::history::orphans()),
    ] {
        for compatible in ["1.4", "1.8", "1.14"] {
            let repo = build(&Spec::new(compatible).named(name).with(history.clone()));
            for args in [
                &[][..],
                &["--deltas"],
                &["-r", "2:3"],
                &["-r", "2:3", "--incremental"],
            ] {
                assert_equal(name, &repo, args);
            }
        }
    }
}

/// Copies with every kind of change below them.
pub fn expanded_copies_stream() -> DumpStream {
    let mut s = DumpStream::new("0d5c7f1e-1111-4222-8333-000000000010");
    s.rev("Start")
        .mkdirs(["from", "to", "other", "from/d1", "from/d1/d2", "from/dd"]);
    for name in ["zz", "a", "mm", "bb", "quux", "kk2", "l1", "l2", "foo", "bar"] {
        s.file(&format!("from/{name}"), name);
    }
    s.file("from/d1/x", "x")
        .file("from/d1/d2/y", "y")
        .file("from/dd/z", "z");
    s.file("other/o", "o");
    s.rev("Plain copy").copy(RecordKind::Dir, "to/c1", 1, "from");
    s.rev("Copy and change below")
        .copy(RecordKind::Dir, "to/c2", 1, "from")
        .edit("to/c2/mm", "more")
        .delete("to/c2/bb")
        .replace(RecordKind::File, "to/c2/foo", Content::text("new foo"))
        .file("to/c2/new", "new")
        .file("to/c2/d1/aaa", "aaa")
        .change(RecordKind::Dir, "to/c2/d1/d2", Content::props(&[("p", b"v")]))
        .change(RecordKind::File, "to/c2/d1/x", Content::props(&[("p", b"v")]))
        .replace_by_copy(RecordKind::File, "to/c2/l1", 1, "from/a")
        .replace_by_copy(RecordKind::Dir, "to/c2/dd", 1, "from/d1")
        .change(
            RecordKind::Dir,
            "to/c2",
            Content::props(&[("root", b"of the copy")]),
        );
    s.rev("Copy of the copy")
        .copy(RecordKind::Dir, "other/c3", 3, "to/c2")
        .delete("other/c3/d1/x");
    s.rev("Replace by a copy")
        .replace_by_copy(RecordKind::Dir, "to/c1", 3, "from");
    s.rev("Properties at the top")
        .change(RecordKind::Dir, "", Content::props(&[("top", b"1")]));
    s.rev("Delete")
        .delete("to/c1")
        .delete("to/c2/d1")
        .delete("from/zz");
    s
}

/// Copies that a filter turns into additions, with every kind of change below them.
#[test]
fn expanded_copies() {
    for compatible in ["1.6", "1.14"] {
        let repo = build(
            &Spec::new(compatible)
                .named("expanded")
                .with(expanded_copies_stream()),
        );
        for args in [
            &["--exclude", "/from"][..],
            &["--exclude", "/from", "--deltas"],
            &["--exclude", "/from/d1"],
            &["--exclude", "/from", "--exclude", "/to/c2/d1"],
            &["--exclude", "/to"],
            &["--include", "/to"],
            &["--include", "/to/c2"],
            &["--include", "/other"],
            &["--exclude", "/from", "-r", "3:5"],
            &["--exclude", "/from", "-r", "3:5", "--incremental"],
            &["-r", "6:7"],
            &["-r", "7"],
            &["-r", "6", "--incremental", "--deltas"],
        ] {
            assert_equal(compatible, &repo, args);
        }
    }
}

/// Mergeinfo that names revisions from before the dump, and property values that are not valid mergeinfo.
#[test]
fn warnings() {
    let mut s = DumpStream::new("0d5c7f1e-1111-4222-8333-000000000011");
    let mergeinfo =
        |value: &'static [u8]| -> [(&'static str, &'static [u8]); 1] { [("svn:mergeinfo", value)] };
    s.rev("1").mkdirs(["a", "b"]);
    s.rev("2").mkdirs(["tr", "trunk"]);
    s.rev("3").mkdirs(["c"]);
    s.rev("4")
        .change(RecordKind::Dir, "a", Content::props(&mergeinfo(b"/b:3-4")));
    s.rev("5").change(
        RecordKind::Dir,
        "a",
        Content::props(&[("svn:mergeinfo", b"/b:3-4"), ("x", b"y")]),
    );
    s.rev("6")
        .change(RecordKind::Dir, "a", Content::props(&mergeinfo(b"/b:4")))
        .change(RecordKind::Dir, "b", Content::props(&mergeinfo(b"/a:5-6")));
    s.rev("7")
        .change(RecordKind::Dir, "a", Content::props(&mergeinfo(b"")))
        .add(RecordKind::Dir, "d", Content::props(&mergeinfo(b"/a:1\n/b:2")));
    s.rev("8")
        .copy(RecordKind::Dir, "e", 2, "trunk")
        .copy(RecordKind::Dir, "f", 7, "d");
    let repo = build(&Spec::new("1.14").named("warnings").with(s));
    for start in 1..=8 {
        let range = format!("{start}:8");
        assert_equal("warnings", &repo, &["-r", &range]);
        assert_equal("warnings", &repo, &["-r", &range, "--incremental"]);
        assert_equal("warnings", &repo, &["-r", &range, "--incremental", "--deltas"]);
    }
    assert_equal("warnings", &repo, &["--exclude", "/tr"]);
}

#[test]
fn dumps_of_revision_properties() {
    for spec in testkit::repo::matrix() {
        let repo = build(&spec);
        let output = Side::Theirs
            .tool("svnadmin")
            .args(["dump-revprops", "-r", "3:50"])
            .arg(repo.path())
            .ok();
        let options = DumpOptions {
            start: Some(Revnum(3)),
            end: Some(Revnum(50)),
            ..DumpOptions::default()
        };
        let (mut stream, mut lines) = (Vec::new(), ProgressLines::default());
        dump::dump_revprops(&open(&repo), &options, &mut stream, &mut lines, &Cancel::new()).expect("a dump");
        assert!(stream == output.stdout, "{}", spec.name);
        assert_eq!(lines.0, output.err(), "{}", spec.name);
    }
}

#[test]
fn missing_ranges_are_errors() {
    let repo = open(&build(&Spec::small("1.14")));
    for (start, end) in [(5, 3), (0, 99)] {
        let options = DumpOptions {
            start: Some(Revnum(start)),
            end: Some(Revnum(end)),
            ..DumpOptions::default()
        };
        let error = dump::dump(
            &repo,
            &options,
            &mut Vec::new(),
            &mut ProgressLines::default(),
            &Cancel::new(),
        );
        assert_eq!(
            error.expect_err("no such range").code(),
            base::Code::REPOS_BAD_ARGS
        );
    }
}

/// A revision that is larger than its share of memory is dumped by another code path; the stream is the same.
#[test]
fn revisions_larger_than_memory_allows() {
    let mut s = DumpStream::new("0d5c7f1e-1111-4222-8333-000000000012");
    let long = testkit::history::noise(5, 5 << 20);
    s.rev("Long").file("long.bin", &long).file("short", "short");
    s.rev("Short").edit("short", "other");
    s.rev("Longer")
        .file("longer.bin", [&long[..1 << 20], &long[..]].concat());
    s.rev("Edited")
        .edit("long.bin", &long[1 << 20..])
        .copy(RecordKind::File, "copy.bin", 1, "long.bin");
    let repo = build(&Spec::new("1.14").named("long").with(s));
    for args in [
        &[][..],
        &["--deltas"],
        &["-r", "1"],
        &["-r", "2:4", "--incremental"],
    ] {
        assert_equal("long", &repo, args);
    }
}

/// A failure of the storage or of the output ends the stream at the same byte, whichever thread writes it.
#[test]
fn failures_occur_at_the_same_byte() {
    let mut s = DumpStream::new("0d5c7f1e-1111-4222-8333-000000000013");
    s.rev("Import").mkdirs(["dir"]);
    for n in 0..80 {
        let text = testkit::history::noise(n, 300 + 40 * n as usize);
        s.file(&format!("dir/file-{n:02}"), text);
    }
    s.rev("More").edit("dir/file-40", "other").delete("dir/file-41");
    let repo = build(&Spec::new("1.8").with(s).named("import")).copy();
    testkit::Tool::new("chmod")
        .args(["-R", "u+w"])
        .arg(repo.path())
        .ok();
    let path = repo.db().join("revs/0/1");
    let good = std::fs::read(&path).expect("because the copy is ours");
    let mut random = testkit::history::Random::new(5);
    let mut failures = std::collections::BTreeSet::new();
    for n in 0..30 {
        let mut bad = good.clone();
        if n > 0 {
            bad[random.below(good.len())] ^= 1 << random.below(8);
        }
        std::fs::write(&path, &bad).expect("because the copy is ours");
        for args in [&[][..], &["--deltas"], &["-r", "1:2", "--deltas"]] {
            let [one, results @ ..] = settings().map(|setting| ours_with(&open(&repo), args, setting));
            failures.insert((one.failed, one.stream.len()));
            for result in results {
                assert_same(&format!("import, flip {n}"), args, &one, &result);
            }
        }
    }
    assert!(failures.len() > 10, "only {failures:?}");
    std::fs::write(&path, &good).expect("because the copy is ours");

    let repo = open(&repo);
    let whole = ours(&repo, &[]).stream;
    for setting in settings() {
        let mut short = vec![0; whole.len() / 2];
        let (mut out, cancel) = (&mut short[..], Cancel::new());
        let result = dump::dump(&repo, &setting, &mut out, &mut ProgressLines::default(), &cancel);
        assert!(result.is_err());
        assert!(short == whole[..short.len()], "another stream before the end");
    }
}

/// Sets the cancel flag after a number of bytes was written.
struct CancellingWriter<'a> {
    left: usize,
    after: usize,
    cancel: &'a Cancel,
}

impl std::io::Write for CancellingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() {
            self.after += bytes.len();
        }
        self.left = self.left.saturating_sub(bytes.len());
        if self.left == 0 {
            self.cancel.cancel();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn cancellation_stops_dump_within_a_revision() {
    let mut s = DumpStream::new("0d5c7f1e-1111-4222-8333-000000000014");
    s.rev("Long")
        .file("long.bin", testkit::history::noise(6, 6 << 20))
        .file("next.bin", testkit::history::noise(7, 1 << 20));
    let repo = open(&build(&Spec::new("1.14").named("flag").with(s)));
    for setting in settings() {
        let cancel = Cancel::new();
        let mut out = CancellingWriter {
            left: 500_000,
            after: 0,
            cancel: &cancel,
        };
        let error = dump::dump(&repo, &setting, &mut out, &mut ProgressLines::default(), &cancel);
        assert_eq!(error.expect_err("stopped").code(), base::Code::CANCELLED);
        assert!(out.after < 200_000, "{} bytes after the flag", out.after);
    }
}

#[test]
fn cancellation_stops_the_dump() {
    let repo = open(&build(&Spec::small("1.14")));
    let cancel = Cancel::new();
    cancel.cancel();
    let result = dump::dump(
        &repo,
        &DumpOptions::default(),
        &mut Vec::new(),
        &mut ProgressLines::default(),
        &cancel,
    );
    assert_eq!(result.expect_err("stopped").code(), base::Code::CANCELLED);
}
