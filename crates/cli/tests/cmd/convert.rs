//! `sven convert`: repositories of all formats become repositories of others. Subversion's `svnadmin` verifies the results, and
//! prints equal dumps of both sides. `CONVERT_SEEDS=17` or `CONVERT_SEEDS=0..1000` sets the seeds of the random histories.
//!
//! Two things in a dump are the format's and not the history's. FSFS before format 4 stores no SHA-1: these lines are left out. FSX takes
//! equal contents for unchanged, so that its dump has none where one was set to what it was: what becomes FSX is compared with the
//! repository that Subversion's `svnadmin load` makes of the source's dump.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use memchr::memmem;
use testkit::history::Random;
use testkit::repo::{When, matrix};
use testkit::small_disk::SmallDisk;
use testkit::{
    Output, Repo, Side, Spec, Tool, branch_history, build, each_seed, random_history, sample, scratch,
};

use crate::random::{one_of, short_or_all};

pub fn convert(to: &[&str], source: &Path, destination: &Path) -> Output {
    let tool = Side::Ours.tool("sven").args(["convert", "--to"]).args(to);
    tool.arg(source).arg(destination).run()
}

fn dump(repository: &Path, options: &[&str]) -> Vec<u8> {
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).args(options);
    dump.arg(repository).ok().stdout
}

/// Returns a dump without the lines that contain one of these texts.
fn without(texts: &[&str], dump: Vec<u8>) -> Vec<u8> {
    let texts: Vec<_> = texts.iter().map(memmem::Finder::new).collect();
    if texts.is_empty() {
        return dump;
    }
    let mut rest = Vec::with_capacity(dump.len());
    for line in dump.split_inclusive(|byte| *byte == b'\n') {
        if !texts.iter().any(|text| text.find(line).is_some()) {
            rest.extend_from_slice(line);
        }
    }
    rest
}

/// The digests of a format that stores them.
const SHA1: &[&str] = &["-sha1: "];

/// The digests of the empty text: a file that never got a text has none, and `load` gives it one.
const EMPTY: &[&str] = &[
    "-md5: d41d8cd98f00b204e9800998ecf8427e",
    "-sha1: da39a3ee5e6b4b0d3255bfef95601890afd80709",
];

pub fn out(tool: &str, args: &[&str], repository: &Path) -> String {
    Tool::new(tool).args(args).arg(repository).ok().out()
}

/// Compares what both repositories have beside their trees.
fn compare_rest(source: &Path, destination: &Path) {
    assert_eq!(
        out("svnlook", &["uuid"], source),
        out("svnlook", &["uuid"], destination)
    );
    let locks = |repository: &Path| {
        let text = out("svnadmin", &["lslocks"], repository);
        // In no defined order; the last one has no empty line behind it.
        let locks = text.split("\n\n").map(|lock| lock.trim().to_owned());
        let mut locks: Vec<String> = locks.filter(|lock| !lock.is_empty()).collect();
        locks.sort();
        locks
    };
    assert_eq!(locks(source), locks(destination));
    let around = |repository: &Path| {
        let list = "find conf hooks locks README.txt -type f -printf '%p %m\\n' | sort; cat conf/* hooks/*";
        Tool::new("sh").args(["-c", list]).dir(repository).ok().out()
    };
    assert_eq!(around(source), around(destination));
    assert!(!destination.join("sven-convert").exists());
}

/// Verifies the destination with both implementations, and compares the dumps of both sides.
pub fn compare(source: &Path, destination: &Path, has_sha1: bool) {
    compare_rest(source, destination);
    if is_fsx(destination) && !is_fsx(source) {
        let loaded = destination.with_file_name("loaded");
        let create = Tool::new("svnadmin").args(["create", "--fs-type", "fsx"]);
        create.arg(&loaded).ok();
        let load = Tool::new("svnadmin").args(["load", "-q", "--bypass-prop-validation"]);
        load.arg(&loaded).stdin(dump(source, &[])).ok();
        compare_dumps(&loaded, destination, EMPTY);
        fs::remove_dir_all(&loaded).expect("because it is ours");
    } else {
        compare_dumps(source, destination, if has_sha1 { &[] } else { SHA1 });
    }
}

fn is_fsx(repository: &Path) -> bool {
    fs::read_to_string(repository.join("db/fs-type")).expect("because it is there") == "fsx\n"
}

fn compare_dumps(source: &Path, destination: &Path, left_out: &[&str]) {
    for side in Side::BOTH {
        let verify = side.tool("svnadmin").args(["verify", "-q"]).arg(destination);
        verify.under("timeout", &["-s", "KILL", "120"]).ok();
    }
    for options in [&[][..], &["--deltas"]] {
        let dumps = [destination, source].map(|repository| without(left_out, dump(repository, options)));
        assert!(dumps[0] == dumps[1], "{} {options:?}", source.display());
    }
}

/// The destinations: arguments and whether the format stores SHA-1.
const DESTINATIONS: [(&[&str], bool); 7] = [
    (&["fsx"], true),
    (&["fsx", "--shard-size", "7"], true),
    (&["fsfs"], true),
    (&["fsfs", "--shard-size", "0"], true),
    (
        &["fsfs", "--compatible-version", "1.8", "--shard-size", "3"],
        true,
    ),
    (&["fsfs", "--compatible-version=1.5"], false),
    (&["fsfs", "--compatible-version", "1.3"], false),
];

#[test]
fn every_format_becomes_every_other() {
    let fsx = [
        Spec::fsx().shard(50).busy().named("fsx"),
        Spec::fsx()
            .shard(4)
            .pack(When::Halfway)
            .busy()
            .named("fsx-half-packed"),
        Spec::fsx().shard(7).pack(When::After).busy().named("fsx-packed"),
    ];
    let specs = matrix().into_iter().chain(fsx).enumerate();
    // The destinations take turns. FSX has two.
    let cases = specs.flat_map(|(nth, spec)| {
        let ways = if spec.fs_type == "fsx" { 2 } else { 1 };
        (0..ways).map(move |way| (spec.clone(), DESTINATIONS[(nth + 4 * way) % DESTINATIONS.len()]))
    });
    // Every third case still has every destination, and both back ends as sources.
    for (spec, (to, has_sha1)) in sample(3, cases) {
        println!("{} to {to:?}", spec.name);
        let source = build(&spec);
        let had_sha1 = !["1.3", "1.4", "1.5"].contains(&spec.compatible);
        let folder = scratch();
        let destination = folder.path().join("converted");
        let ran = convert(to, source.path(), &destination);
        assert_eq!(ran.code, 0, "{ran:?}");
        let lines: String = (1..=source.youngest())
            .map(|rev| format!("* Converted revision {rev}.\n"))
            .collect();
        assert_eq!((ran.out(), ran.err()), (lines, String::new()));
        compare(source.path(), &destination, had_sha1 && has_sha1);
    }
}

/// Returns a history of branches, or of random changes.
pub fn some_source(random: &mut Random, seed: u64) -> Repo {
    let revisions = 15 + random.below(30) as u64;
    let stream = match random.below(2) {
        0 => branch_history::history(seed, revisions).stream,
        _ => random_history::history(seed, revisions, true).stream,
    };
    let spec = match random.below(2) {
        0 => Spec::fsx(),
        _ => Spec::new(one_of(random, &["1.6", "1.8", "1.9", "1.14"])),
    };
    let spec = spec
        .with(stream)
        .shard(one_of(random, &[2, 3, 7, 1000]))
        .pack(one_of(random, &[When::Never, When::Halfway, When::After]))
        .named("convert-random");
    println!("seed {seed}: {} {:?}, {:?}", spec.fs_type, spec.shard, spec.pack);
    build(&spec).copy()
}

/// To the other back end and back: the last repository is as the first one.
#[test]
fn random_histories_go_to_the_other_back_end_and_back() {
    // The first three have both back ends as sources.
    each_seed("CONVERT_SEEDS", short_or_all(0..3, 0..6), |seed| {
        let mut random = Random::new(seed);
        let source = some_source(&mut random, seed);
        let is_fsx = is_fsx(source.path());
        let [there, back] = ["there", "back"].map(|name| source.path().with_file_name(name));
        let (other, own) = if is_fsx { ("fsfs", "fsx") } else { ("fsx", "fsfs") };
        convert(&[other], source.path(), &there).expect_ok();
        convert(&[own], &there, &back).expect_ok();
        // Our dump: 1.14 reads its own long lists of changed paths wrongly.
        let dump = |repository: &Path| {
            let dump = Side::Ours.tool("svnadmin").args(["dump", "-q"]);
            dump.arg(repository).ok().stdout
        };
        let logs = |repository: &Path| {
            let log = Side::Ours
                .tool("svn")
                .args(["log", "-v", "--xml", "--with-all-revprops"]);
            log.arg(format!("file://{}", repository.display())).ok().stdout
        };
        let expected = logs(source.path());
        for repository in [&there, &back] {
            Tool::new("svnadmin").args(["verify", "-q"]).arg(repository).ok();
            assert!(logs(repository) == expected, "seed {seed}: changed paths");
            compare_rest(source.path(), repository);
        }
        let [first, second, third] = [source.path(), &there, &back].map(dump);
        match is_fsx {
            true => {
                assert!(second == first, "seed {seed}: FSFS");
                assert!(third == first, "seed {seed}: FSX again");
            }
            // Texts that were set to what they were are not in the dump of FSX, and not in what is made from it.
            false => assert!(third == second, "seed {seed}: FSFS again"),
        }
    });
}

/// What is left if a run is killed when files of a revision have their names and `current` does not know it. Does nothing if the
/// conversion is complete, or has not come so far.
fn leave_unfinished_revision(destination: &Path) {
    let db = destination.join("db");
    let current = fs::read_to_string(db.join("current")).unwrap_or_default();
    let youngest = current
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    if let Some::<u64>(youngest) = youngest
        && !destination.join("format").exists()
    {
        let is_fsx = fs::read(db.join("fs-type")).is_ok_and(|kind| kind == b"fsx\n");
        let name = format!("{}{}", if is_fsx { "r" } else { "" }, youngest + 1);
        let path = db.join("revs/0").join(name);
        if !path.exists() {
            fs::write(path, "unfinished").expect("because the folder is ours");
        }
    }
}

/// A run that is killed, at any moment, is continued. Revision properties and locks that were changed meanwhile are those at the end.
#[test]
fn killed_conversions_continue() {
    // The last two have both back ends as destinations.
    each_seed("CONVERT_SEEDS", short_or_all(2..4, 0..4), |seed| {
        let mut random = Random::new(1000 + seed);
        let source = some_source(&mut random, seed);
        let destination = source.path().with_file_name("killed");
        let to = one_of(&mut random, &["fsx", "fsfs"]);
        let mut kills = 0;
        for run in 0..20 {
            // A low rate, so that a run is long enough.
            let tool = Side::Ours
                .tool("sven")
                .args(["convert", "-q", "--max-rate", "300K", "--to", to]);
            let mut command = tool.arg(source.path()).arg(&destination).command();
            let mut child = command
                .stderr(Stdio::piped())
                .spawn()
                .expect("because it is built");
            std::thread::sleep(Duration::from_millis(5 + random.below(120) as u64));
            match child.try_wait().expect("because it is ours") {
                Some(status) => {
                    let output = child.wait_with_output().expect("because it has ended");
                    assert!(status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    break;
                }
                None => {
                    child.kill().expect("because it is ours");
                    child.wait().expect("because it is ours");
                    kills += 1;
                    // It may have been at its end.
                    if destination.join("format").exists() && !destination.join("sven-convert").exists() {
                        break;
                    }
                }
            }
            if run % 3 == 1 {
                leave_unfinished_revision(&destination);
            }
            if run % 3 == 0 {
                source.set_revprop(
                    random.below(9) as u64,
                    "svn:log",
                    format!("run {run}\n").as_bytes(),
                );
            }
        }
        println!("seed {seed}: killed {kills} times");
        leave_unfinished_revision(&destination);
        if !destination.join("format").exists() {
            let ran = convert(&[to, "-q"], source.path(), &destination);
            assert_eq!(
                (ran.code, ran.out(), ran.err()),
                (0, String::new(), String::new())
            );
        }
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&destination)
            .ok();
        let [ours, theirs] = [&destination, source.path()].map(|repository| {
            let revprops = Tool::new("svnadmin")
                .args(["dump-revprops", "-q"])
                .arg(repository);
            (revprops.ok().stdout, out("svnlook", &["tree"], repository))
        });
        assert!(ours == theirs, "seed {seed}");
        compare_rest(source.path(), &destination);
        let names = fs::read_dir(destination.join("db")).expect("because it is complete");
        for name in names.map(|entry| entry.expect("because the folder is ours").file_name()) {
            let is_leftover = name.to_string_lossy().starts_with("svn-stray-");
            assert!(!is_leftover, "seed {seed}: {name:?}");
        }
        let transactions = out("svnadmin", &["lstxns"], &destination);
        assert_eq!(transactions, "", "seed {seed}: left by a run that was killed");
    });
}

#[test]
fn a_full_disk_loses_nothing_that_is_done() {
    let Some(root) = SmallDisk::mount("700k") else {
        return;
    };
    let source = build(&Spec::new("1.14").busy().named("f8"));
    let destination = root.path().join("new");
    let filler = root.path().join("filler");
    fs::write(&filler, vec![1; 300_000]).expect("because there is room for it");
    let ran = convert(&["fsx"], source.path(), &destination);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err().contains("No space left on device"), "{}", ran.err());
    fs::remove_file(&filler).expect("because it is there");
    root.resize("20m");
    let next = convert(&["fsx"], source.path(), &destination).expect_ok();
    let first = ran.out().lines().count() + 1;
    assert!(
        next.out()
            .starts_with(&format!("* Converted revision {first}.\n")),
        "{first}: {}",
        next.out()
    );
    compare(source.path(), &destination, true);
}

/// What is refused leaves nothing behind.
#[test]
fn wrong_arguments() {
    let source = build(&Spec::small("1.14").named("small-f8"));
    let folder = scratch();
    let sven = |args: &[&str]| {
        Side::Ours
            .tool("sven")
            .arg("convert")
            .args(args)
            .dir(folder.path())
            .run()
    };
    let repository = source.path().to_str().expect("because it is UTF-8");
    for (args, error) in [
        (&[repository, "new"][..], "Say what to make"),
        (&["--to", "fsy", repository, "new"], "'fsy' is none of"),
        (&["--to", "fsx", repository], "Give a repository and"),
        (
            &["--to", "fsx", repository, "new", "third"],
            "Give a repository and",
        ),
        (&["--to", "fsx", "--no-such", repository, "new"], "invalid option"),
        (
            &["--to", "fsx", "--compatible-version", "1.8", repository, "new"],
            "1.8.x or earlier",
        ),
        (
            &["--to", "fsfs", "--compatible-version", "x", repository, "new"],
            "E200037",
        ),
        (
            &["--to", "fsfs", "--compatible-version", "1.99", repository, "new"],
            "E200007",
        ),
        (
            &[
                "--to",
                "fsfs",
                "--compatible-version",
                "1.4",
                "--shard-size",
                "5",
                repository,
                "new",
            ],
            "E200007",
        ),
        (
            &["--to", "fsx", "--shard-size", "0", repository, "new"],
            "E200007",
        ),
        (
            &["--to", "fsx", "--shard-size", "many", repository, "new"],
            "'many' is no number",
        ),
        (&["--to", "fsx", "nowhere", "new"], "E000002"),
        (&["--to", "fsx", repository, repository], "E200004"),
        (&["--to", "fsx", repository, "no/new"], "E000002"),
    ] {
        let ran = sven(args);
        assert!(ran.code == 1 && ran.err().contains(error), "{args:?} {ran:?}");
        let left = fs::read_dir(folder.path()).expect("because it is ours").count();
        assert_eq!(left, 0, "{args:?}");
    }
    // A destination that is no conversion of this repository.
    fs::create_dir(folder.path().join("full")).expect("because it is ours");
    fs::write(folder.path().join("full/file"), "x").expect("because it is ours");
    let ran = sven(&["--to", "fsx", repository, "full"]);
    assert!(ran.code == 1 && ran.err().contains("E200011"), "{ran:?}");
    sven(&["-q", "--to", "fsx", repository, "new"]).expect_ok();
    let ran = sven(&["--to", "fsx", repository, "new"]);
    assert!(ran.err().contains("a complete repository"), "{ran:?}");
    let marker = folder.path().join("new/sven-convert");
    fs::remove_file(folder.path().join("new/format")).expect("because it is there");
    fs::write(&marker, "another\nfsx\n8\ndefault\n").expect("because it is ours");
    let ran = sven(&["--to", "fsx", repository, "new"]);
    assert!(
        ran.code == 1 && ran.err().contains("of another repository"),
        "{ran:?}"
    );
    // Another history with the same UUID.
    let uuid = out("svnlook", &["uuid"], source.path());
    fs::write(&marker, format!("{}\nfsx\n8\ndefault\n", uuid.trim())).expect("because it is ours");
    let other = build(&Spec::new("1.14").busy().named("f8")).copy();
    Tool::new("svnadmin")
        .arg("setuuid")
        .arg(other.path())
        .arg(uuid.trim())
        .ok();
    let other = other.path().to_str().expect("because it is UTF-8");
    let ran = sven(&["--to", "fsx", other, "new"]);
    assert!(
        ran.code == 1 && ran.err().contains("is not that of the source"),
        "{ran:?}"
    );
    // Another history with the same paths: another text in the place of the last one.
    let put = |repository: &Path, text: &str| {
        let file = folder.path().join("text");
        fs::write(&file, text).expect("because it is ours");
        let url = format!("file://{}", repository.display());
        Tool::new("svnmucc")
            .args(["-m", "m", "-U", &url, "put"])
            .arg(&file)
            .arg("same")
            .ok();
    };
    let (source, other) = (source.copy(), source.copy());
    let repository = source.path().to_str().expect("because it is UTF-8");
    put(source.path(), "one");
    put(other.path(), "two");
    sven(&["-q", "--to", "fsx", repository, "new"]).expect_ok();
    fs::remove_file(folder.path().join("new/format")).expect("because it is there");
    fs::write(&marker, format!("{}\nfsx\n8\ndefault\n", uuid.trim())).expect("because it is ours");
    let ran = sven(&["--to", "fsx", &other.path().to_string_lossy(), "new"]);
    assert!(
        ran.code == 1 && ran.err().contains("is not that of the source"),
        "{ran:?}"
    );
    // Nothing was changed.
    sven(&["-q", "--to", "fsx", repository, "new"]).expect_ok();
    compare(source.path(), &folder.path().join("new"), true);
}
