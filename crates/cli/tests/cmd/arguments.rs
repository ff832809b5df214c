//! Argument lists: the errors, their messages, and which error is reported first.

use testkit::{Repo, Side, Spec, Tool, build, scratch, tool::sven_binary};

use testkit::pair::ToolPair;

fn empty() -> Repo {
    Repo::create("1.14")
}

fn all(tool: &str, lines: &[&str]) {
    let repo = empty();
    let folder = repo.path().parent().expect("because it is in a scratch folder");
    let pair = ToolPair::new(tool, folder);
    for line in lines {
        pair.same_line(line);
    }
}

/// Messages of a tool started as `sven TOOL` begin with the command as typed; otherwise they equal the tool's.
#[test]
fn messages_begin_with_the_command_as_typed() {
    let folder = scratch();
    for (tool, word) in [("svnadmin", "admin"), ("svnlook", "look"), ("svnauthz", "authz")] {
        for typed in [tool, word] {
            for args in [
                &[][..],
                &["foo"],
                &["--bad"],
                &["info", "nowhere"],
                &["accessof", "nowhere"],
            ] {
                let link = Side::Ours.tool(tool).args(args).dir(folder.path()).run();
                let ours = Tool::new(sven_binary())
                    .arg(typed)
                    .args(args)
                    .dir(folder.path())
                    .run();
                let expected = link.err().replace(tool, &format!("sven {typed}"));
                assert_eq!((ours.err(), ours.code), (expected, link.code));
                assert!(ours.err().contains(&format!("sven {typed}")), "{ours:?}");
            }
        }
    }
}

#[test]
fn every_command_explains_itself_and_names_the_program_once() {
    let own = ["serve", "check-config", "import-config", "index", "install-links"];
    for args in own.iter().map(|name| [name, "--help"]) {
        let help = Tool::new(sven_binary()).args(args).ok();
        assert!(
            help.out().starts_with(&format!("usage: sven {}", args[0])),
            "{help:?}"
        );
    }
    for tool in ["svnadmin", "svnlook", "svnauthz", "svnfsfs"] {
        let general = Side::Ours.tool(tool).arg("help").ok().out();
        for name in general.lines().filter_map(|line| line.strip_prefix("   ")) {
            let name = name.split(' ').next().unwrap_or_default();
            let help = Side::Ours.tool(tool).args(["help", name]).ok();
            assert!(help.out().contains(&format!("{tool} {name} ")), "{help:?}");
            assert!(!help.out().contains(&format!("{tool} {tool}")), "{help:?}");
        }
    }
    let refused = Tool::new(sven_binary()).args(["install-links", "--bad"]).run();
    assert!(
        refused.code == 1 && refused.err().contains("invalid option: --bad"),
        "{refused:?}"
    );
}

#[test]
fn svnadmin_reports_the_same_argument_errors() {
    all(
        "svnadmin",
        &[
            "",
            "foo",
            "--bad",
            "-Z",
            "-r",
            "--revision",
            "verify -r foo --bad",
            "verify --bad -r foo",
            "verify -r 0 -r 1 repo",
            "verify -r 1:2:3 repo",
            "verify -r 5 repo",
            "verify -r -1 repo",
            "verify -r BASE repo",
            "verify -r r0:r0 repo -q",
            "-q -r0 verify repo",
            "verify -qZ",
            "verify -- repo -q",
            "verify --revision= repo",
            "verify -t x -r 0 repo",
            "verify -t x repo",
            "verify -t 0-0 repo",
            "verify -M x repo",
            "verify -M -1 repo",
            "verify -M +1 -q repo",
            "verify -M 18446744073709551616 repo",
            "info",
            "info repo x",
            "info /nosuch",
            "info http://a/b",
            "info -r1 repo",
            "info -q repo",
            "info --quiet=1 repo",
            "info --help=3",
            "info -",
            "-",
            "-q",
            "help -q",
            "help nosuch",
            "--version -q",
            "--version --bad",
            "--version -r 0",
            "--version foo",
            "--version info repo",
            "info --version repo",
            "-h -r foo",
            "rev-size repo",
            "rev-size repo -r 0:0",
            "rev-size repo -r HEAD",
            "rev-size repo -r 9",
            "rev-size repo x -r 0",
            "rev-size -q repo -r 0",
            "rev-size /nosuch",
            "lstxns repo x",
            "lstxns repo -r 9",
            "lstxns repo -r 0:0",
            "lstxns repo -r PREV",
            "lslocks repo x y",
            "lslocks repo nosuch",
            "lslocks repo ../x",
            "dump repo x",
            "dump repo -r 9",
            "dump repo -r 0:9",
            "dump repo -F /nosuch/x",
            "dump repo --include a --exclude b",
            "dump-revprops repo -r 3",
            "dump-revprops repo x",
            "dump -q repo -r {2020-13-01}",
            "dump -q repo -r {2020-01-01}",
        ],
    );
}

#[test]
fn svnlook_reports_the_same_argument_errors() {
    all(
        "svnlook",
        &[
            "",
            "foo",
            "--bad",
            "-t",
            "-q",
            "--help -q",
            "--version -q",
            "--version -q -r 0",
            "--version -q repo",
            "author",
            "author -q",
            "author repo -q",
            "author repo x",
            "author /nosuch",
            "author http://x",
            "author /nosuch x",
            "author -r x repo",
            "author -r HEAD repo",
            "author -r 0:0 repo",
            "author -r r0 repo",
            "author -r -1 repo",
            "author -r +0 repo",
            "author -r 3 repo",
            "author -r 99999999999999999999 repo",
            "author -r 0 -r 0 repo",
            "author -t x repo",
            "author -t 0-0 repo",
            "author -t x -r 0 repo",
            "foo -t x -r 0",
            "-t x -r 0",
            "help -t x -r 0",
            "youngest repo -r 0",
            "youngest repo x",
            "youngest repo --no-newline",
            "uuid repo x",
            "cat repo",
            "cat repo a b",
            "filesize repo",
            "filesize repo x y",
            "lock repo",
            "lock repo x",
            "lock repo x y",
            "tree repo x y",
            "tree repo nosuch",
            "tree repo -M x",
            "history repo x y",
            "history repo nosuch",
            "history repo -l 0",
            "history repo -l x",
            "history repo -l -3",
            "history repo -l 99999999999",
            "history repo -t x",
            "propget repo",
            "propget repo a",
            "propget repo a b c",
            "propget --revprop repo",
            "propget --revprop repo a b",
            "propget --revprop repo svn:log",
            "proplist repo",
            "proplist --revprop repo a",
            "proplist repo a b",
            "proplist --revprop --show-inherited-props repo",
            "proplist --revprop --show-inherited-props repo a b",
            "propget --revprop --show-inherited-props repo",
            "propget --revprop --show-inherited-props repo a b",
            "changed repo x",
            "dirs-changed repo x",
            "diff repo x",
            "diff repo",
            "log repo x",
            "date repo x",
            "info repo x",
            "info repo",
            "info --no-newline repo",
        ],
    );
}

#[test]
fn arguments_that_are_not_utf8_are_errors_in_both() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = empty();
    let folder = repo.path().parent().expect("because it is in a scratch folder");
    let bad = std::ffi::OsStr::from_bytes(b"ab\xff\xfe");
    ToolPair::new("svnlook", folder).same(&["cat".as_ref(), "repo".as_ref(), bad]);
}

#[test]
fn dates_are_resolved_in_the_local_time_zone() {
    let repo = build(&Spec::new("1.14"));
    for zone in ["UTC", "America/New_York", "Asia/Kolkata", "CET-1CEST"] {
        let env = [("TZ", zone)];
        let pair = ToolPair {
            env: &env,
            ..ToolPair::new("svnadmin", repo.path())
        };
        for range in [
            "{2020-02-29T03:00}:{2020-02-29T09:00}",
            "{20200229T0400Z}",
            "{2020-03-01}",
            "{3 days ago}",
        ] {
            pair.same(&["dump-revprops", ".", "-r", range]);
        }
    }
}
