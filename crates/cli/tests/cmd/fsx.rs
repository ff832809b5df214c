//! FSX repositories of Subversion's `svnadmin`, in each state of packing: `svnadmin` and `svnlook` print what the incumbent
//! prints. `FSX_SEEDS=17` or `FSX_SEEDS=0..1000` sets the seeds of the random histories.

use testkit::history::Random;
use testkit::pair::{AllowedDifference, ToolPair};
use testkit::repo::When;
use testkit::{Repo, Spec, branch_history, build, each_seed, random_history};

use crate::random::one_of;

/// The history of other tests, with locks, an open transaction and late changes of revision properties.
fn repositories() -> Vec<Repo> {
    [
        Spec::fsx().shard(50).busy().named("fsx"),
        Spec::fsx()
            .shard(4)
            .pack(When::Halfway)
            .busy()
            .named("fsx-half-packed"),
        Spec::fsx().shard(7).pack(When::After).busy().named("fsx-packed"),
    ]
    .iter()
    .map(build)
    .collect()
}

#[test]
fn svnadmin_reads_as_the_incumbent_does() {
    for repo in repositories() {
        let pair = ToolPair::new("svnadmin", repo.path());
        for line in [
            "info .",
            "dump . -q",
            "dump . -q --deltas",
            "dump . -r 20:30",
            "dump . -r 36 --deltas",
            "dump . -r 5 --incremental",
            "dump . --exclude /trunk",
            "dump . -r 99",
            "dump-revprops . -q",
            "verify . -q",
            "verify . -q -r 3:9",
            "verify . -r 99",
            "rev-size . -r 3",
            "lstxns . -r HEAD",
        ] {
            pair.same_line(line);
        }
        for line in ["lslocks .", "lslocks . trunk", "lstxns ."] {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            pair.compare(&words, AllowedDifference::OfLines);
        }
        ToolPair::new("svnfsfs", repo.path()).same_line("stats .");
    }
}

#[test]
fn svnlook_reads_as_the_incumbent_does() {
    for repo in repositories() {
        let pair = ToolPair::new("svnlook", repo.path());
        let out = testkit::Tool::new("svnadmin").arg("lstxns").arg(repo.path()).ok();
        let txn = out.out().trim().to_owned();
        let revisions = (0..=repo.youngest())
            .step_by(5)
            .map(|rev| ["-r".to_owned(), rev.to_string()]);
        for [option, place] in revisions.chain([["-t".to_owned(), txn.clone()]]) {
            for command in [
                "changed --copy-info",
                "dirs-changed",
                "diff",
                "info",
                "log",
                "date",
                "author",
                "tree --show-ids",
                "tree --full-paths /trunk",
            ] {
                let mut words: Vec<&str> = command.split_ascii_whitespace().collect();
                words.insert(1, ".");
                words.extend([option.as_str(), &place]);
                pair.same(&words);
            }
            let words = ["proplist", ".", "-v", "--revprop", &option, &place];
            pair.compare(&words, AllowedDifference::OfLines);
        }
        for line in [
            "youngest .",
            "uuid .",
            "history .",
            "history --show-ids . /trunk/hello.txt",
            "history . /trunk/moved.txt",
            "history --show-ids . /branches/b1-moved",
            "cat . /trunk/hello.txt",
            "filesize . /trunk/big.txt",
            "proplist -v . /trunk/hello.txt",
            "propget . svn:mergeinfo /branches/merged",
            "lock . /trunk/big.txt",
            "cat . /nosuch",
            "tree -t nosuch .",
        ] {
            pair.same_line(line);
        }
    }
}

#[test]
fn random_histories() {
    each_seed("FSX_SEEDS", 0..4, |seed| {
        let mut random = Random::new(seed);
        let revisions = 15 + random.below(30) as u64;
        let stream = match random.below(2) {
            0 => branch_history::history(seed, revisions).stream,
            _ => random_history::history(seed, revisions, true).stream,
        };
        let spec = Spec::fsx()
            .with(stream)
            .shard(one_of(&mut random, &[2, 3, 7, 50, 1000]))
            .pack(one_of(&mut random, &[When::Never, When::Halfway, When::After]))
            .named("fsx-random");
        println!("seed {seed}: {:?}, {:?}", spec.shard, spec.pack);
        let repo = build(&spec).copy();
        let pair = ToolPair::new("svnadmin", repo.path());
        for line in [
            "dump . -q",
            "dump . -q --deltas",
            "verify . -q",
            "dump-revprops . -q",
        ] {
            pair.same_line(line);
        }
        let pair = ToolPair::new("svnlook", repo.path());
        for rev in 0..=repo.youngest() {
            for command in ["changed --copy-info", "tree --show-ids"] {
                pair.same_line(&format!("{command} . -r {rev}"));
            }
        }
    });
}

/// The history index is of this project and works for both back ends: with it, the output stays the same.
#[test]
fn histories_with_an_index() {
    let repo = build(
        &Spec::fsx()
            .shard(4)
            .pack(When::Halfway)
            .busy()
            .named("fsx-half-packed"),
    )
    .copy();
    let url = repo.url();
    let log = |side: testkit::Side| {
        let mut text = String::new();
        for path in [
            "",
            "/trunk/hello.txt",
            "/trunk/moved.txt",
            "/branches/b1-moved",
            "/branches/merged",
        ] {
            let log = side
                .tool("svn")
                .args(["log", "-v", "-g"])
                .arg(format!("{url}{path}"));
            text.push_str(&log.ok().out());
        }
        text
    };
    let theirs = log(testkit::Side::Theirs);
    testkit::Side::Ours
        .tool("sven")
        .arg("index")
        .arg(repo.path())
        .ok();
    assert_eq!(log(testkit::Side::Ours), theirs);
    testkit::Side::Ours
        .tool("svnadmin")
        .args(["verify", "-q"])
        .arg(repo.path())
        .ok();
}

#[test]
fn what_is_not_written_yet_is_refused_and_changes_nothing() {
    let repo = build(&Spec::fsx().shard(4).busy().named("fsx-refused")).copy();
    let files = |repo: &Repo| {
        testkit::Tool::new("sh")
            .args([
                "-c",
                "cd db && find . -type f ! -name '*lock*' | sort | xargs sha1sum",
            ])
            .dir(repo.path())
            .ok()
            .out()
    };
    let before = files(&repo);
    let file = repo.path().join("conf/passwd");
    for words in [
        &["pack", "."][..],
        &["hotcopy", ".", "../copy"],
        &["recover", "."],
        &["load", "-q", "."],
        &[
            "setrevprop",
            ".",
            "-r",
            "1",
            "svn:log",
            file.to_str().unwrap_or_default(),
        ],
    ] {
        let stream = testkit::Tool::new("svnadmin")
            .args(["dump", "-q"])
            .arg(repo.path())
            .ok()
            .stdout;
        let ran = testkit::Side::Ours
            .tool("svnadmin")
            .args(words)
            .dir(repo.path())
            .stdin(stream)
            .run();
        assert_eq!(ran.code, 1, "{words:?}");
        assert!(ran.err().contains("E200007"), "{words:?} {}", ran.err());
    }
    assert_eq!(files(&repo), before);
}
