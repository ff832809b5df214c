//! Exports write the same trees as the incumbent's, with the same messages, over each kind of access.
//!
//! `EXPORT_SEEDS=A..B` runs other histories.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use base::{Cancel, Date, Depth, Error, Result, Revnum, Url};
use client::export::{ExportEvent, ExportOptions, Source, export};
use client::locate::Revision;
use client::translate::LineEnd;
use ra::OpenOptions;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, Tool, scratch, seeds};

/// The end of 2022: commits of the histories are before, exports are after.
const FIRST_YEARS: i64 = 1_672_531_200;

/// Exports of one history.
const ROUNDS: u32 = 25;

/// A choice of one export.
struct Case {
    path: String,
    peg: Option<u64>,
    rev: Option<u64>,
    depth: Option<&'static str>,
    force: bool,
    ignore_externals: bool,
    ignore_keywords: bool,
    native_eol: Option<&'static str>,
    /// What is at the target before: nothing, an empty directory, a directory with `d0` as a file, a file.
    before: usize,
}

const DIRECTORIES: [&str; 9] = [
    "",
    "d0",
    "d1",
    "d 2",
    "d0/a",
    "d0/b",
    "d0/a/x",
    "d0/a/x/ü",
    "d1/a%b",
];
const DEPTHS: [&str; 4] = ["empty", "files", "immediates", "infinity"];
const ENDS: [&str; 3] = ["LF", "CR", "CRLF"];

fn one_of<'a, T: ?Sized>(random: &mut ChaCha8Rng, of: &[&'a T]) -> &'a T {
    of[random.random_range(0..of.len())]
}

/// Returns a text with keywords and line ends of all kinds; sometimes a long one.
fn text(random: &mut ChaCha8Rng) -> Vec<u8> {
    const PIECES: [&str; 16] = [
        "a",
        "bc\n",
        "\r\n",
        "\r",
        "\n",
        "$Id$",
        "$Rev: 5 $",
        "$Date$",
        "$",
        "$URL$",
        "$Header::      $",
        "$Own$",
        "link ",
        "\n\n",
        "$Author$\n",
        "\0\u{1}",
    ];
    let count = match random.random_range(0..12) {
        0 => 0,
        1 => 300_000,
        _ => random.random_range(1..40),
    };
    (0..count).flat_map(|_| one_of(random, &PIECES).bytes()).collect()
}

fn properties(random: &mut ChaCha8Rng) -> Vec<(&'static str, Vec<u8>)> {
    let mut props: Vec<(&str, Vec<u8>)> = Vec::new();
    if random.random_bool(0.5) {
        let styles = ["native", "native", "LF", "CR", "CRLF", "", "Native", "native "];
        props.push(("svn:eol-style", one_of(random, &styles).into()));
    }
    if random.random_bool(0.5) {
        let names = [
            "Id Rev",
            "Date Author\nHeader",
            "LastChangedRevision id",
            "Own=%u%_%P%r %D",
            "x",
            "",
        ];
        props.push(("svn:keywords", one_of(random, &names).into()));
    }
    if random.random_bool(0.2) {
        props.push(("svn:executable", Vec::new()));
    }
    if random.random_bool(0.1) {
        props.push(("svn:mime-type", b"application/octet-stream".to_vec()));
    }
    if random.random_bool(0.1) {
        props.push(("svn:needs-lock", b"*".to_vec()));
    }
    props
}

/// Returns a value of `svn:externals`. All directories are those of revision 1, where none has externals: otherwise one could
/// contain itself.
fn externals(random: &mut ChaCha8Rng) -> Vec<u8> {
    const LINES: [&str; 16] = [
        "^/d1@1 e1",
        "^/d0/f0 e2",
        "-r1 ^/d0/b e3",
        "../d1@1 e4",
        "# no",
        "^/none e5",
        "^/d1/f1 e6/deep/er",
        "e7 -r 1 ^/d1",
        "//localhost:1/x e8",
        "\"^/d 2@1\" 'e 9'",
        "^/d1@1 e1/d9",
        "-r{2020-02-29} ^/d1@1 e10",
        "^/d0/a@1 f0",
        "^/d0/f1 a",
        "^/d1@1 .hidden//x/",
        "/x/y e11",
    ];
    let count = random.random_range(1..4);
    let lines: Vec<&str> = (0..count).map(|_| one_of(random, &LINES)).collect();
    (lines.join("\n") + "\n").into_bytes()
}

/// Returns a history of directories with all kinds of files, whose properties were not checked.
fn history(random: &mut ChaCha8Rng) -> DumpStream {
    let mut stream = DumpStream::new(&format!(
        "1e720ca1-2b3c-4d4e-8f50-{:012x}",
        random.random::<u32>()
    ));
    stream.rev("tree").mkdirs(DIRECTORIES.into_iter().skip(1));
    for directory in DIRECTORIES {
        for number in 0..random.random_range(0..4) {
            let path = format!("{directory}/f{number}");
            let path = path.trim_start_matches('/');
            let mut props = properties(random);
            let mut text = text(random);
            if random.random_bool(0.2) {
                props.push(("svn:special", Vec::new()));
                text = one_of(
                    random,
                    &["link ../x", "link f0", "link d0", "link", "no", "link /etc"],
                )
                .into();
            }
            let props: Vec<_> = props.iter().map(|(name, value)| (*name, &value[..])).collect();
            stream.add(RecordKind::File, path, Content::both(&props, &text));
        }
    }
    for revision in 0..5 {
        stream.rev("edit");
        let directory = DIRECTORIES[revision + 1];
        let value = externals(random);
        match random.random_range(0..4) {
            0 if random.random_bool(0.4) => {
                let props: [(&str, &[u8]); 1] = [("svn:externals", &value)];
                stream.change(RecordKind::Dir, directory, Content::props(&props));
            }
            1 => {
                _ = stream.copy(
                    RecordKind::Dir,
                    &format!("copy{revision}"),
                    stream.youngest() - 1,
                    directory,
                )
            }
            2 => _ = stream.file(&format!("{directory}/new{revision}"), text(random)),
            _ => _ = stream.mkdirs([format!("{directory}/more{revision}").as_str()]),
        }
    }
    stream
}

fn case(random: &mut ChaCha8Rng) -> Case {
    let paths = [
        "", "d0", "d0/a", "d1", "d0/f0", "d1/f1", "none", "copy1", "d 2", "d1/a%b", "copy2", "copy3",
    ];
    let rev = |random: &mut ChaCha8Rng| random.random_bool(0.3).then(|| random.random_range(0..8));
    Case {
        path: one_of(random, &paths).to_owned(),
        peg: rev(random),
        rev: rev(random),
        depth: random.random_bool(0.2).then(|| one_of(random, &DEPTHS)),
        force: random.random_bool(0.4),
        ignore_externals: random.random_bool(0.5),
        ignore_keywords: random.random_bool(0.2),
        native_eol: random.random_bool(0.3).then(|| one_of(random, &ENDS)),
        before: random.random_range(0..8),
    }
}

impl Case {
    fn arguments(&self) -> Vec<String> {
        let mut out = Vec::new();
        out.extend(self.rev.map(|rev| format!("-r{rev}")));
        out.extend(self.depth.map(|depth| format!("--depth={depth}")));
        out.extend(self.force.then(|| "--force".to_owned()));
        out.extend(self.ignore_externals.then(|| "--ignore-externals".to_owned()));
        out.extend(self.ignore_keywords.then(|| "--ignore-keywords".to_owned()));
        out.extend(self.native_eol.map(|end| format!("--native-eol={end}")));
        out
    }

    /// Puts what is there before into a new folder. Returns the target.
    fn prepare(&self, folder: &Path) -> std::path::PathBuf {
        let target = folder.join("out");
        match self.before {
            0 => std::fs::create_dir(&target),
            1 => std::fs::create_dir(&target).and_then(|()| std::fs::write(target.join("d0"), "old")),
            2 => std::fs::write(&target, "old"),
            _ => Ok(()),
        }
        .expect("the folder is ours");
        target
    }
}

/// Returns the messages of the incumbent for the same export, and whether it fails.
fn theirs(case: &Case, url: &str, target: &Path) -> (String, String) {
    let peg = case.peg.map_or(String::new(), |peg| peg.to_string());
    let output = Tool::new("svn")
        .args(["export", "--non-interactive"])
        .args(case.arguments())
        .arg(format!("{url}@{peg}"))
        .arg(target)
        .run();
    (output.out(), output.err())
}

/// Does the export with this crate, with the same messages.
fn ours(case: &Case, url: &str, target: &Path, sessions: usize) -> (String, String) {
    let open = |url: &Url| ra::open(url, &OpenOptions::default());
    let options = ExportOptions {
        depth: case
            .depth
            .map_or(Depth::Infinity, |word| Depth::from_word(word.as_bytes())),
        force: case.force,
        ignore_externals: case.ignore_externals,
        ignore_keywords: case.ignore_keywords,
        native_line_end: case
            .native_eol
            .and_then(|name| LineEnd::parse(name.as_bytes()))
            .unwrap_or(LineEnd::Lf),
        sessions,
        writers: 2,
        has_time: &|| true,
        alone_for: std::time::Duration::ZERO,
        open: &open,
        long_date: &base::keywords::long_date,
        parse_date: &|text| Date::parse(format!("{text}T00:00:00.000000Z").as_bytes()).ok(),
        file_name: &|name, _| Ok(OsString::from(name)),
        absolute_target: target,
        received: &AtomicU64::new(0),
        cancel: &Cancel::new(),
    };
    let (mut out, mut err) = (String::new(), String::new());
    let mut notify = |event: ExportEvent<'_>| -> Result<()> {
        _ = match event {
            ExportEvent::Added(path) => writeln!(out, "A    {}", path.display()),
            ExportEvent::External(path) => {
                writeln!(out, "\nFetching external item into '{}':", path.display())
            }
            ExportEvent::ExternalFailed(error) => {
                writeln!(err, "svn: warning: W{:06}: {}", error.code().0, error.message())
            }
            ExportEvent::Completed {
                rev: None,
                is_external: false,
            } => writeln!(out, "Export complete."),
            ExportEvent::Completed { rev: None, .. } => writeln!(out, "External export complete."),
            ExportEvent::Completed {
                rev: Some(rev),
                is_external: false,
            } => writeln!(out, "Exported revision {rev}."),
            ExportEvent::Completed { rev: Some(rev), .. } => {
                writeln!(out, "Exported external at revision {rev}.")
            }
            ExportEvent::ExternalEnd => writeln!(out),
        };
        Ok(())
    };
    let revision = |rev: Option<u64>, default| rev.map_or(default, |rev| Revision::Number(Revnum(rev)));
    let peg = revision(case.peg, Revision::Head);
    let outcome = Url::canonicalize(url).and_then(|url| {
        let rev = revision(case.rev, peg);
        export(&Source { url, peg, rev }, target, &options, &mut notify)
    });
    if let Err(error) = outcome {
        err += &chain(&error);
    }
    (out, err)
}

fn chain(error: &Error) -> String {
    error
        .links()
        .map(|link| format!("svn: {}: {}\n", link.code(), link.text()))
        .collect()
}

/// Describes a tree on disk: kinds, modes, times of files, and contents.
fn tree(top: &Path) -> Vec<String> {
    let mut out = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(path) = folders.pop() {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        let name = path
            .strip_prefix(top)
            .expect("below the top")
            .display()
            .to_string();
        let mode = found.permissions().mode() & 0o7777;
        if found.is_symlink() {
            out.push(format!("{name} -> {:?}", path.read_link().expect("a link")));
        } else if found.is_dir() {
            out.push(format!("{name}/ {mode:o}"));
            let entries = path.read_dir().expect("a directory");
            folders.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            let text = std::fs::read(&path).expect("a file");
            let digest = base::checksum::Md5::of(&text);
            // A file without the time of its revision has that of its export.
            let is_new = found.mtime() > FIRST_YEARS;
            let time = if is_new { 0 } else { found.mtime() };
            out.push(format!("{name} {mode:o} {time} {} {digest}", text.len()));
        }
    }
    out.sort();
    out
}

/// Sorts the lines between other messages: servers choose the order of the entries of a directory. Names of temporary files differ.
fn normalized((out, err): &(String, String), folder: &Path) -> (Vec<String>, String) {
    let folder = folder.display().to_string();
    let mut lines: Vec<String> = out.lines().map(|line| line.replace(&folder, "T")).collect();
    lines.sort();
    let mut err = err.replace(&folder, "T");
    while let Some(at) = err.find("/svn-").filter(|at| !err[*at..].starts_with("/svn-XX")) {
        let end = at + 11;
        err.replace_range(at + 1..end.min(err.len()), "TEMPORARY");
    }
    (lines, err)
}

#[test]
fn exports_equal_the_incumbents() {
    let mut failed = Vec::new();
    for seed in seeds("EXPORT_SEEDS", 0..4) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let folder = scratch();
        let repository = folder.path().join("r");
        Tool::new("svnadmin").arg("create").arg(&repository).ok();
        let stream = history(&mut random).bytes();
        let load = Tool::new("svnadmin").args(["load", "-q", "--bypass-prop-validation"]);
        load.arg(&repository).stdin(stream).ok();
        let svnserve = TestServer::svnserve(Side::Theirs, folder.path(), &[]);
        let our_svn = TestServer::svnserve(Side::Ours, folder.path(), &[]);
        let apache = TestServer::http_site(Side::Theirs, &HttpSite::plain(folder.path()));
        for round in 0..ROUNDS {
            let case = case(&mut random);
            let root = match random.random_range(0..4) {
                0 => format!("file://{}", repository.display()),
                1 => svnserve.url("r"),
                2 => our_svn.url("r"),
                _ => apache.url("r").replacen("svn://", "http://", 1),
            };
            let path = case.path.replace('%', "%25").replace(' ', "%20");
            let url = format!("{root}/{path}");
            let sessions = if random.random_bool(0.5) { 4 } else { 1 };
            let (left, right) = (scratch(), scratch());
            let (their_target, our_target) = (case.prepare(left.path()), case.prepare(right.path()));
            let expected = theirs(&case, &url, &their_target);
            let got = ours(&case, &url, &our_target, sessions);
            let mut expected_all = (normalized(&expected, left.path()), tree(&their_target));
            let mut got_all = (normalized(&got, right.path()), tree(&our_target));
            if !expected.1.is_empty() && (root.starts_with("http") || sessions > 1) {
                // How far an export comes that fails depends on time: theirs fetches files ahead over HTTP.
                for all in [&mut expected_all, &mut got_all] {
                    all.0.0.clear();
                    all.1.clear();
                }
            }
            if expected_all != got_all {
                failed.push(format!(
                    "seed {seed} round {round}: {url}@{:?} {:?} before {} sessions {sessions}\n--- theirs\n{expected_all:#?}\n--- ours\n{got_all:#?}",
                    case.peg,
                    case.arguments(),
                    case.before,
                ));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} exports differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}
