//! `svnfsfs` compared with the incumbent's: the same statistics and tables, and indexes that the incumbent reads.

use testkit::{Repo, Side, Spec, Tool, build, sample};

use testkit::pair::ToolPair;

#[test]
fn stats_are_equal() {
    for spec in sample(2, testkit::repo::matrix()) {
        let repo = build(&spec);
        let folder = repo.path().parent().expect("because it is below target");
        let name = repo.path().file_name().expect("because it has a name");
        ToolPair::new("svnfsfs", folder).same(&["stats".as_ref(), name]);
    }
}

#[test]
fn dump_index_tables_are_equal() {
    let lines = [
        "dump-index .",
        "dump-index . -r 3",
        "dump-index . -r 41:2",
        "dump-index -r 99999 .",
    ];
    let specs = testkit::repo::matrix();
    // One or two lines for each layout.
    let cases = specs.iter().flat_map(|spec| lines.map(|line| (spec, line)));
    for (spec, line) in sample(3, cases) {
        ToolPair::new("svnfsfs", build(spec).path()).same_line(line);
    }
}

#[test]
fn svnfsfs_argument_errors_are_equal() {
    let repo = build(&Spec::new("1.14"));
    let pair = ToolPair::new("svnfsfs", repo.path());
    for line in [
        "",
        "nosuch",
        "stats",
        "stats nosuch",
        "stats svn://x/y",
        "stats --x .",
        "stats -r 1 .",
        "stats -q .",
        "stats -M x .",
        "dump-index",
        "dump-index -r",
        "dump-index -r x .",
        "dump-index -r -1 .",
        "dump-index -r 1 -r 2 .",
        "dump-index . extra -r 1 -M 1",
        "load-index",
        "load-index nosuch",
        "load-index .",
        "load-index . -M 1",
        "load-index -r 1 .",
        "help nosuch",
        "--version -q",
    ] {
        pair.same_line(line);
    }
}

/// Loads a table; returns exit code and standard error.
fn load(side: Side, repo: &Repo, table: &str) -> (i32, String) {
    let done = side
        .tool("svnfsfs")
        .arg("load-index")
        .arg(repo.path())
        .stdin(table)
        .run();
    (done.code, done.err())
}

fn dump(side: Side, repo: &Repo, rev: &str) -> String {
    side.tool("svnfsfs")
        .args(["dump-index", "-r", rev])
        .arg(repo.path())
        .ok()
        .out()
}

#[test]
fn load_index_makes_indexes_from_tables() {
    let spec = Spec::new("1.14").shard(16).pack(testkit::repo::When::Halfway);
    let repo = build(&spec).copy();
    for rev in ["0", "20", "70"] {
        let table = dump(Side::Theirs, &repo, rev);
        let mut lines: Vec<&str> = table.lines().collect();
        lines.reverse();
        let without_checksums: String = lines
            .iter()
            .map(|line| format!("{}\r\n\n", &line[..line.len() - 8]))
            .collect();
        // Wrong types first, which the next table corrects.
        let wrong = table.replace("drep", "frep");
        assert_eq!(load(Side::Ours, &repo, &wrong), (0, String::new()), "r{rev}");
        assert_eq!(dump(Side::Theirs, &repo, rev), wrong, "r{rev}");
        assert_eq!(
            load(Side::Ours, &repo, &without_checksums),
            (0, String::new()),
            "r{rev}"
        );
        assert_eq!(dump(Side::Theirs, &repo, rev), table, "r{rev}");
    }
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

#[test]
fn load_index_rejects_invalid_tables() {
    let repo = build(&Spec::new("1.14").named("tables")).copy();
    let table = dump(Side::Theirs, &repo, "5");
    let cut: String = table.split_inclusive('\n').take(3).collect();
    let twice = format!("{table}{}", table.lines().last().unwrap_or_default());
    let other = table.replace(" 5 ", " 4 ");
    for table in [
        cut.as_str(),
        twice.as_str(),
        other.as_str(),
        "",
        "garbage",
        "Start anything",
        "0 1b frep x 3",
        "0 1b frep -1 3",
        "0 1b frep 99999 3",
        "0 1b foo 5 3",
        "0 1b frep 5 3k",
        "0 1b frep 5",
        "zz 1b frep 5 3",
        "0 ffffffffffffffffff frep 5 3",
        "5 1b frep 5 3",
    ] {
        assert_eq!(
            // Subversion ignores a last line without a line feed; Sven reads it.
            load(Side::Ours, &repo, &format!("{table}\n")),
            load(Side::Theirs, &repo, &format!("{table}\n")),
            "{table:?}"
        );
    }
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}
