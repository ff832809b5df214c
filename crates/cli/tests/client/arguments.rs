//! The command line of `svn`: options, subcommands, help and version.

use testkit::{Side, Spec, build};

use crate::twins::{Access, TwinClients};

#[test]
fn wrong_command_lines() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.all_same(&[
        "svn",
        "svn -q",
        "svn foo",
        "svn foo --zork",
        "svn cat -Z",
        "svn cat --non",
        "svn cat - {URL}",
        "svn ls -r",
        "svn ls --depth",
        "svn ls --xml=1 {URL}",
        "svn help nosuch",
        "svn help -q",
        "svn help --xml",
        "svn help --version",
        "svn cat --help --xml",
        "svn cat --version",
        "svn --version --xml",
        "svn cat --xml x",
        "svn cat --depth foo x",
        "svn cat --depth empty x",
        "svn cat --set-depth empty x",
        "svn ls -N {URL}",
        "svn ls --search-and x {URL}",
        "svn --non-interactive --force-interactive",
        "svn foo --non-interactive --force-interactive",
        "svn cat --depth empty --non-interactive --force-interactive",
        "svn cat -r1 -r2",
        "svn cat -r1:2",
        "svn cat -r1:2 foo@bar",
        "svn info -r1 -r2",
        "svn propget -r1 -r2",
        "svn mkdir -r1 x",
        "svn log -r1 -c2 {URL}",
        "svn log -c x {URL}",
        "svn log -c 0 {URL}",
        "svn log -c -1-2 {URL}",
        "svn diff -c 1,2 {URL}",
        "svn diff -r1 -c1 {URL}",
        "svn mkdir -m x -F /dev/null",
        "svn cat -F /nosuch",
        "svn cat --targets /nosuch",
        "svn info --targets {DIR}",
        "svn mkdir -m x -F /nosuch -Z",
        "svn mergeinfo --show-revs foo",
        "svn info --show-item foo",
        "svn ls --depth exclude {URL}",
        "svn ls -r {2001-13-01} {URL}",
        "svn ls -r 1:2:3 {URL}",
        "svn ann",
        "svn pget",
        "svn ls --xml -v {URL}",
        "svn ls --incremental {URL}",
        "svn ls -v -v -r1 -R --depth empty {URL}",
    ]);
}

#[test]
fn each_subcommand_has_help_and_its_aliases() {
    let theirs = Side::Theirs.tool("svn").arg("help").ok().out();
    let ours = Side::Ours.tool("svn").arg("help").ok().out();
    let listed = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("   "));
        lines
            .filter(|line| !line.starts_with(' '))
            .map(str::to_owned)
            .collect()
    };
    let known = listed(&theirs);
    for line in listed(&ours) {
        assert!(known.contains(&line), "{line}");
        let (name, aliases) = line.split_once(" (").unwrap_or((&line, ")"));
        let help = Side::Ours.tool("svn").args(["help", name]).ok().out();
        assert!(
            help.starts_with(&format!("{line}: ")) && help.contains("\nusage: "),
            "{help}"
        );
        for alias in aliases
            .trim_end_matches(')')
            .split(", ")
            .filter(|alias| !alias.is_empty())
        {
            assert_eq!(Side::Ours.tool("svn").args(["help", alias]).ok().out(), help);
        }
        let options = |text: &str| -> Vec<String> {
            let lines = text
                .lines()
                .filter(|line| line.starts_with("  -") && line.contains(" : "));
            lines
                .map(|line| line.split(" : ").next().unwrap_or_default().trim().to_owned())
                .collect()
        };
        let mut ours = options(&Side::Ours.tool("svn").args(["help", "-v", name]).ok().out());
        let mut theirs = options(&Side::Theirs.tool("svn").args(["help", "-v", name]).ok().out());
        // Options that only Sven has, and experimental ones of Subversion.
        ours.retain(|option| option != "--progress");
        theirs.retain(|option| !option.starts_with("--x-"));
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn working_copies_are_refused_by_name() {
    for name in [
        "checkout", "co", "update", "commit", "st", "switch", "merge", "patch", "cl",
    ] {
        let output = Side::Ours
            .tool("svn")
            .args([name, "--set-depth", "empty", "x"])
            .run();
        assert_eq!(output.code, 1);
        assert!(
            output.err().contains("working copies are not supported yet"),
            "{}",
            output.err()
        );
    }
}

#[test]
fn the_version_names_the_kinds_of_access() {
    let twins = TwinClients::new(&build(&Spec::small("1.14")), Access::Disk);
    twins.same("svn --version -q");
    twins.same("svn --version --quiet --username x");
    let text = Side::Ours.tool("svn").arg("--version").ok().out();
    for line in [
        "svn, version 1.14.2",
        "* ra_svn : ",
        "* ra_local : ",
        "* ra_serf : ",
        "handles 'https' scheme",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
