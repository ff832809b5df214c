//! `sven convert --incremental`: a complete conversion gets what its source has got since. `CONVERT_SEEDS=17` or `CONVERT_SEEDS=0..1000`
//! sets the seeds of the random histories.

use std::fs;
use std::path::Path;

use testkit::history::Random;
use testkit::{Side, Spec, Tool, build, each_seed, scratch};

use crate::convert::{compare, convert, out, some_source};
use crate::random::{one_of, short_or_all};

/// Loads the revisions from `first` to `last` of one repository into the other, whose locks are in the way.
fn load(from: &Path, first: u64, last: u64, into: &Path) {
    let locks = out("svnadmin", &["lslocks"], into);
    for path in locks.lines().filter_map(|line| line.strip_prefix("Path: ")) {
        Tool::new("svnadmin").arg("rmlocks").arg(into).arg(path).ok();
    }
    let range = format!("{first}:{last}");
    let dump = Tool::new("svnadmin").args(["dump", "-q", "--incremental", "-r", &range]);
    let stream = dump.arg(from).ok().stdout;
    let load = Tool::new("svnadmin").args(["load", "-q", "--force-uuid", "--bypass-prop-validation"]);
    load.arg(into).stdin(stream).ok();
}

/// Makes and breaks locks on files that HEAD has.
fn change_locks(random: &mut Random, repository: &Path) {
    let tree = out("svnlook", &["tree", "--full-paths"], repository);
    let files: Vec<&str> = tree.lines().filter(|path| !path.ends_with('/')).collect();
    for _ in 0..3.min(files.len()) {
        let path = files[random.below(files.len())];
        let (lock, unlock) = (["lock", "--bypass-hooks"], ["rmlocks"]);
        // A path that is locked already, or that has no lock, is a failure or a warning.
        match random.below(3) {
            0 => Tool::new("svnadmin").args(unlock).arg(repository).arg(path).run(),
            _ => {
                let tool = Tool::new("svnadmin").args(lock).arg(repository).arg(path);
                tool.arg("alice").arg("/dev/null").run()
            }
        };
    }
}

/// The source grows; so does the conversion, whatever was packed, changed or locked in between.
#[test]
fn a_conversion_grows_with_its_source() {
    each_seed("CONVERT_SEEDS", short_or_all(0..3, 0..6), |seed| {
        let mut random = Random::new(2000 + seed);
        let whole = some_source(&mut random, seed);
        let [source, destination] = ["growing", "grown"].map(|name| whole.path().with_file_name(name));
        let kind = fs::read_to_string(whole.path().join("db/fs-type")).expect("because it is there");
        let create = Tool::new("svnadmin").args(["create", "--fs-type", kind.trim()]);
        create.arg(&source).ok();
        fs::write(source.join("db/fsfs.conf"), "").expect("because it is ours");
        let to = one_of(&mut random, &["fsx", "fsfs"]);
        let (mut next, youngest) = (0, whole.youngest());
        while next <= youngest {
            let last = youngest.min(next + random.below(12) as u64);
            load(whole.path(), next, last, &source);
            change_locks(&mut random, &source);
            let changed = random.below(last as usize + 1).to_string();
            let set = Tool::new("svnadmin").args(["setrevprop", "-r", &changed]);
            let value = scratch();
            let file = value.path().join("log");
            fs::write(&file, format!("at {last}\n")).expect("because the folder is ours");
            set.arg(&source).arg("svn:log").arg(&file).ok();
            fs::write(source.join("hooks/post-commit"), format!("# {last}\n")).expect("because it is ours");
            // The first time there is none, and the option has no effect.
            let ran = convert(&[to, "--incremental"], &source, &destination);
            let lines: String = (next.max(1)..=last)
                .map(|rev| format!("* Converted revision {rev}.\n"))
                .collect();
            assert_eq!(
                (ran.code, ran.out(), ran.err()),
                (0, lines, String::new()),
                "seed {seed}"
            );
            if random.below(2) == 0 {
                Side::BOTH[random.below(2)]
                    .tool("svnadmin")
                    .args(["pack", "-q"])
                    .arg(&destination)
                    .ok();
            }
            next = last + 1;
        }
        // Nothing is new.
        let ran = convert(&[to, "--incremental"], &source, &destination);
        assert_eq!(
            (ran.code, ran.out(), ran.err()),
            (0, String::new(), String::new()),
            "seed {seed}"
        );
        compare(&source, &destination, true);
    });
}

/// Repositories that are no conversions of the source, or have gone on otherwise, are left as they are.
#[test]
fn other_repositories_are_refused() {
    let source = build(&Spec::small("1.14").named("small-f8"));
    let folder = scratch();
    let made = folder.path().join("new");
    convert(&["fsfs", "--shard-size", "5", "-q"], source.path(), &made).expect_ok();
    let state = |repository: &Path| {
        let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(repository).ok();
        (dump.stdout, out("svnlook", &["uuid"], repository))
    };
    let before = state(&made);
    let refuse = |to: &[&str], source: &Path, error: &str| {
        let ran = convert(&[to, &["--incremental"]].concat(), source, &made);
        assert!(ran.code == 1 && ran.err().contains(error), "{to:?} {ran:?}");
    };
    refuse(&["fsx"], source.path(), "another storage engine");
    refuse(
        &["fsfs", "--compatible-version", "1.8"],
        source.path(),
        "another format",
    );
    refuse(&["fsfs", "--shard-size", "6"], source.path(), "another size");
    let other = build(&Spec::new("1.14").busy().named("f8")).copy();
    let uuid = out("svnlook", &["uuid"], source.path());
    let stranger = "00000000-1111-2222-3333-444444444444";
    for (uuid, error) in [
        (stranger, "another UUID"),
        (uuid.trim(), "is not that of the source"),
    ] {
        Tool::new("svnadmin")
            .arg("setuuid")
            .arg(other.path())
            .arg(uuid)
            .ok();
        refuse(&["fsfs"], other.path(), error);
    }
    assert!(state(&made) == before);
    // The conversion was committed to.
    let ahead = format!("file://{}", made.display());
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "m", &format!("{ahead}/own")])
        .ok();
    refuse(&["fsfs"], source.path(), "is not that of the source");
    let source = source.copy();
    let url = format!("file://{}", source.path().display());
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "m", &format!("{url}/other")])
        .ok();
    refuse(&["fsfs"], source.path(), "is not that of the source");
    let url = format!("{ahead}/own");
    Tool::new("svn").args(["list", &url]).ok();
}
