//! `sven index`, and the history index beside the incumbent's tools, which ignore it.

use std::path::Path;

use testkit::repo::{Repo, When, build};
use testkit::tool::sven_binary;
use testkit::{Output, Side, Spec, Tool, sample};

const DIRECTORY: &str = "db/sven-history-index";

fn index(args: &[&str], repo: &Path) -> Output {
    Tool::new(sven_binary()).arg("index").arg(repo).args(args).run()
}

/// Checks that the index covers all revisions and is equal to what the repository says.
fn check(repo: &Path) {
    let youngest = Repo::at(repo).youngest();
    let checked = index(&["--check"], repo);
    let expected = format!("The history index agrees with revisions 0 to {youngest}.\n");
    assert_eq!((checked.out(), checked.err()), (expected, String::new()));
}

fn admin(side: Side, words: &[&str], repo: &Path) -> Output {
    side.tool("svnadmin")
        .arg(words[0])
        .arg(repo)
        .args(&words[1..])
        .ok()
}

/// Compares `svnlook history` of both sides, for every `step`-th of some paths.
fn same_histories(repo: &Path, step: usize) {
    let tree = Side::Theirs
        .tool("svnlook")
        .args(["tree", "--full-paths"])
        .arg(repo)
        .ok();
    for path in sample(step, tree.out().lines().step_by(9)) {
        let [theirs, ours] =
            Side::BOTH.map(|side| side.tool("svnlook").arg("history").arg(repo).arg(path).ok().out());
        assert_eq!(ours, theirs, "{path}");
    }
}

#[test]
fn it_is_built_described_checked_and_removed() {
    let repo = build(&Spec::small("1.14")).copy();
    let line = |args: &[&str]| index(args, repo.path()).out();
    assert_eq!(line(&["--status"]), "There is no history index.\n");
    let missing = index(&["--check"], repo.path());
    assert!(missing.code == 1 && missing.err().contains("There is no history index"));
    let built = line(&[]);
    assert!(
        built.starts_with("The history index covers all revisions up to 11: "),
        "{built}"
    );
    assert_eq!(line(&["--status"]), built);
    assert_eq!(line(&[]), built);
    assert_eq!(line(&["-q", "--rebuild"]), "");
    assert_eq!(line(&["--status"]), built);
    check(repo.path());
    same_histories(repo.path(), 1);
    assert_eq!(line(&["--remove"]), "");
    assert!(!repo.path().join(DIRECTORY).exists());
    assert_eq!(line(&["--status"]), "There is no history index.\n");
    for (args, message) in [
        (
            &["--check", "--remove"][..],
            "Give one of --rebuild, --check, --status and --remove.",
        ),
        (&["other"], "Give the one repository."),
        (&["--bad"], "invalid option: --bad"),
    ] {
        let refused = index(args, repo.path());
        assert!(
            refused.code == 1 && refused.err().contains(message),
            "{refused:?}"
        );
    }
}

#[test]
fn the_incumbents_tools_ignore_it() {
    let forms = [
        Spec::new("1.14").shard(16).named("index-8"),
        Spec::new("1.8").shard(7).pack(When::Halfway).named("index-6"),
        Spec::new("1.5").shard(5).named("index-3"),
        Spec::new("1.4").named("index-2"),
    ];
    for spec in forms {
        let can_pack = !["1.5", "1.4"].contains(&spec.compatible);
        let repo = build(&spec).copy();
        let path = repo.path();
        assert_eq!(index(&["-q"], path).err(), "");
        check(path);
        let verified = admin(Side::Theirs, &["verify"], path);
        assert!(verified.out().contains("* Verified revision 1."), "{verified:?}");
        if can_pack {
            admin(Side::Theirs, &["pack", "-q"], path);
            check(path);
        }
        for side in Side::BOTH {
            let copy = path.with_file_name(format!("copy-{side:?}"));
            let to = copy.to_str().expect("UTF-8");
            admin(side, &["hotcopy", to], path);
            assert!(!copy.join(DIRECTORY).exists(), "a hot copy has no index");
            index(&["-q"], &copy);
            check(&copy);
            if can_pack {
                admin(side, &["hotcopy", "--incremental", to], path);
                check(&copy);
            }
        }
        admin(Side::Theirs, &["recover"], path);
        admin(Side::Theirs, &["rmtxns"], path);
        check(path);
        admin(Side::Theirs, &["upgrade"], path);
        check(path);
        same_histories(path, 7);
        admin(Side::Theirs, &["setuuid"], path);
        let status = index(&["--status"], path).out();
        assert!(
            status.contains("covers no revision") && status.contains("are not used"),
            "{status}"
        );
        same_histories(path, 13);
        assert!(index(&[], path).out().contains("covers all revisions"));
        check(path);
    }
}

#[test]
fn verify_warns_of_a_wrong_index() {
    let repo = build(&Spec::small("1.14")).copy();
    let before = admin(Side::Ours, &["verify"], repo.path());
    index(&["-q"], repo.path());
    let good = admin(Side::Ours, &["verify"], repo.path());
    assert_eq!(good.out(), before.out() + "* Verifying the history index ...\n");
    assert_eq!(good.err(), before.err());
    let file = repo.path().join(DIRECTORY).join("0-11");
    let mut bytes = std::fs::read(&file).expect("is there");
    bytes[20] ^= 1;
    std::fs::write(&file, bytes).expect("is writable");
    let bad = admin(Side::Ours, &["verify"], repo.path());
    assert_eq!(bad.out(), good.out());
    assert!(
        bad.err().contains("warning: W160004: History index segment"),
        "{bad:?}"
    );
    same_histories(repo.path(), 1);
}
