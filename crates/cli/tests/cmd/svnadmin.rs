//! The reading subcommands of `svnadmin`, on repositories of every format.

use std::ffi::OsStr;

use testkit::{Repo, Spec, build, sample};

use testkit::pair::{AllowedDifference, ToolPair};

#[test]
fn info_and_sizes_in_every_format() {
    let specs = testkit::repo::matrix();
    let commands = [
        &["info"][..],
        &["rev-size", "-r", "2"],
        &["rev-size", "-r", "41"],
        &["dump-revprops"],
    ];
    // One or two commands for each format.
    let cases = specs
        .iter()
        .flat_map(|spec| commands.map(|command| (spec, command)));
    for (spec, command) in sample(3, cases) {
        let repo = build(spec);
        let folder = repo.path().parent().expect("because it is below target");
        let name = repo.path().file_name().expect("because it has a name");
        let words: Vec<&OsStr> = command.iter().map(OsStr::new).chain([name]).collect();
        ToolPair::new("svnadmin", folder).same(&words);
    }
}

#[test]
fn dumps_with_all_options() {
    let repo = build(&Spec::new("1.14").busy());
    let pair = ToolPair::new("svnadmin", repo.path());
    for line in [
        "dump .",
        "dump . --deltas -q",
        "dump . -r 20:30",
        "dump . -r 36 --deltas",
        "dump . -r 5 --incremental",
        "dump . -r 5:4",
        "dump . --exclude /trunk",
        "dump . --include /trunk -q",
        "dump . --exclude /t* --pattern",
        "dump . -r 0:3 --exclude trunk/",
        "dump . -r 5 --exclude /",
        "dump-revprops . -r 3:5",
        "dump-revprops . -q -r HEAD",
        // A file without room, named by the error.
        "dump . -q -F /dev/full",
        "dump-revprops . -q -F /dev/full",
    ] {
        pair.same_line(line);
    }
}

#[test]
fn listing_locks_and_transactions() {
    let repo = build(&Spec::new("1.14").busy());
    let pair = ToolPair::new("svnadmin", repo.path());
    for line in [
        "lslocks .",
        "lslocks . trunk",
        "lslocks . /trunk/many/",
        "lstxns .",
        "lstxns . -r 72",
        "lstxns . -r HEAD",
    ] {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        pair.compare(&words, AllowedDifference::OfLines);
    }
}

#[test]
fn verify_reports_the_same() {
    // Without a rep-cache the progress of both is equal line by line.
    let repo = build(&Spec::new("1.3").named("f1"));
    let pair = ToolPair::new("svnadmin", repo.path());
    for line in [
        "verify .",
        "verify . -q",
        "verify . -r 3:9",
        "verify . --metadata-only",
        "verify . -r 2:1",
    ] {
        pair.same_line(line);
    }
    let busy = build(&Spec::new("1.14").busy());
    let pair = ToolPair::new("svnadmin", busy.path());
    for line in ["verify . -q", "verify . -q --keep-going", "verify . -r 99"] {
        pair.same_line(line);
    }
}

#[test]
fn every_instruction_set_gives_the_same() {
    let repo = build(&Spec::new("1.14").busy());
    let expected = testkit::Side::Theirs
        .tool("svnadmin")
        .args(["dump", "-q"])
        .arg(repo.path())
        .ok();
    for set in ["portable", "avx2", "avx512"] {
        let run = |words: &[&str]| {
            let tool = testkit::Side::Ours.tool("svnadmin");
            let tool = tool.env("SVEN_INSTRUCTION_SET", set);
            tool.args(words).arg(repo.path()).run()
        };
        let dump = run(&["dump", "-q"]);
        if dump.err().contains("This processor has no") {
            assert_ne!(set, "portable");
            continue;
        }
        assert!(dump.expect_ok().stdout == expected.stdout, "{set}");
        assert_eq!(run(&["verify", "-q"]).expect_ok().err(), "", "{set}");
    }
    let unknown = testkit::Side::Ours
        .tool("svnadmin")
        .env("SVEN_INSTRUCTION_SET", "sse9");
    let unknown = unknown.args(["--version"]).run();
    assert_eq!(unknown.code, 1);
    assert_eq!(
        unknown.err(),
        "sven: SVEN_INSTRUCTION_SET: 'sse9' is none of portable, avx2 and avx512\n"
    );
}

#[test]
fn damage_ends_with_an_error() {
    let repo = build(&Spec::new("1.3").named("f1")).copy();
    let rev = repo.db().join("revs/3");
    let mut bytes = std::fs::read(&rev).expect("because the revision is there");
    bytes[5] ^= 0x20;
    drop(std::fs::remove_file(&rev));
    std::fs::write(&rev, bytes).expect("because it was just removed");
    for words in [&["verify"][..], &["verify", "--keep-going"]] {
        let run = |side: testkit::Side| side.tool("svnadmin").args(words).arg(repo.path()).run();
        let (theirs, ours) = (run(testkit::Side::Theirs), run(testkit::Side::Ours));
        assert_eq!(ours.code, 1, "{ours:?}");
        let first = |text: String| text.lines().next().map(str::to_owned);
        assert_eq!(first(ours.err()), first(theirs.err()));
        assert_eq!(
            ours.out().contains("-----Summary of corrupt revisions-----"),
            theirs.out().contains("-----Summary of corrupt revisions-----")
        );
    }
}

#[test]
fn a_closed_pipe_ends_the_program_without_a_message() {
    let repo: Repo = build(&Spec::new("1.14"));
    let closed = testkit::Tool::new("bash")
        .args([
            "-c",
            "\"$0\" dump -q \"$1\" | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}",
        ])
        .arg(testkit::tool::tool_link("svnadmin"))
        .arg(repo.path())
        .run();
    assert_eq!((closed.code, closed.err().as_str()), (1, ""));
}
