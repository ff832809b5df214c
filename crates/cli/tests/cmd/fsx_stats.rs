//! `sven fsx stats`: its numbers, compared with what Subversion's tools print of the same repository and with the sizes of its files.

use std::collections::BTreeSet;

use testkit::repo::When;
use testkit::{Repo, Side, Spec, Tool, build, history, sample};

/// Returns the numbers in front of a text, in the order of lines.
fn numbers(printed: &str, text: &str) -> Vec<u64> {
    let lines = printed.lines().filter(|line| line.ends_with(text));
    lines
        .flat_map(|line| {
            let words = line.split_whitespace().map(|word| word.replace(',', ""));
            words.filter_map(|word| word.parse().ok()).collect::<Vec<u64>>()
        })
        .collect()
}

fn stats(repo: &Repo) -> String {
    let tool = Side::Ours.tool("sven").args(["fsx", "stats", "-q"]);
    tool.arg(repo.path()).ok().out()
}

#[test]
fn counts_are_those_of_other_tools() {
    let small = Spec::fsx().with(history::small()).shard(50);
    let cases = [
        (
            Spec::fsx().shard(7).pack(When::After).busy().named("fsx-packed"),
            true,
        ),
        (Spec::fsx().shard(50).busy().named("fsx"), false),
        (small.named("fsx-small"), false),
    ];
    for (spec, is_packed) in sample(2, cases) {
        let repo = build(&spec);
        let printed = stats(&repo);
        let look = |args: &[&str]| Tool::new("svnlook").args(args).arg(repo.path()).ok().out();
        let youngest = repo.youngest();
        assert_eq!(numbers(&printed, " revisions")[0], youngest + 1);
        // Each node-revision is in the tree of the revision that made it.
        let (mut dirs, mut files) = (BTreeSet::new(), BTreeSet::new());
        for rev in 0..=youngest {
            let rev = rev.to_string();
            for line in look(&["tree", "--show-ids", "-r", &rev]).lines() {
                let (path, id) = line.trim().rsplit_once(" <").expect("because it has an ID");
                let list = if path.ends_with('/') {
                    &mut dirs
                } else {
                    &mut files
                };
                list.insert(id.to_owned());
            }
        }
        let log = Tool::new("svn").args(["log", "-q", "-v"]).arg(repo.url());
        let log = log.ok().out();
        let changed = log.lines().filter(|line| line.starts_with("   ")).count() as u64;
        assert_eq!(
            numbers(&printed, " node-revisions of directories"),
            [dirs.len() as u64]
        );
        assert_eq!(
            numbers(&printed, " node-revisions of files"),
            [files.len() as u64]
        );
        assert_eq!(numbers(&printed, " changed paths"), [changed]);
        // Every byte of the files belongs to an item, an index or the padding.
        let on_disk = Tool::new("sh")
            .args([
                "-c",
                "find db/revs -type f '(' -name 'r[0-9]*' -o -name pack ')' -printf '%s\\n'",
            ])
            .dir(repo.path())
            .ok()
            .out();
        let on_disk: Vec<u64> = on_disk.lines().filter_map(|line| line.parse().ok()).collect();
        let [pack_files, revision_files] =
            [" pack files", " revision files"].map(|text| numbers(&printed, text));
        assert_eq!(pack_files[0] + revision_files[0], on_disk.iter().sum());
        assert_eq!(pack_files[1] + revision_files[1], on_disk.len() as u64);
        let (_, items) = printed.split_once("\nItems:\n").expect("because it is printed");
        let (items, contained) = items
            .split_once("\nItems in containers:\n")
            .expect("because it is printed");
        let items: Vec<Vec<u64>> = items
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| numbers(line, ""))
            .collect();
        let bytes: u64 = items.iter().map(|item| item[0]).sum();
        let rest =
            [" bytes of indexes and footers", " bytes of padding"].map(|text| numbers(&printed, text)[0]);
        assert_eq!(bytes + rest[0] + rest[1], pack_files[0] + revision_files[0]);
        // Node-revisions are alone or in containers.
        let alone = printed
            .lines()
            .filter(|line| line.ends_with(" node-revisions") && !line.contains("containers"));
        let alone: u64 = alone.map(|line| numbers(line, "")[1]).sum();
        assert_eq!(alone, (dirs.len() + files.len()) as u64);
        assert_eq!(
            numbers(contained.lines().nth(1).unwrap_or_default(), "")[1] > 0,
            is_packed
        );
    }
}

#[test]
fn what_it_does_not_read_is_refused() {
    let fsfs = build(&Spec::small("1.14").named("small-f8"));
    let sven = |args: &[&str]| {
        Side::Ours
            .tool("sven")
            .arg("fsx")
            .args(args)
            .dir(fsfs.path())
            .run()
    };
    for (args, error) in [
        (
            &["stats", "."][..],
            "The repository is not one of fsx, but of fsfs",
        ),
        (&["stats", "nowhere"], "E000002"),
        (&["stats"], "Give the one repository"),
        (&["pack", "."], "Give the subcommand 'stats'"),
        (&[], "Give the subcommand 'stats'"),
        (&["stats", "--wrong", "."], "invalid option: --wrong"),
    ] {
        let ran = sven(args);
        assert!(ran.code == 1 && ran.err().contains(error), "{args:?} {ran:?}");
    }
    assert!(
        sven(&["--help"])
            .expect_ok()
            .out()
            .starts_with("usage: sven fsx stats")
    );
}
