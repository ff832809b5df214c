//! FSX repositories of Subversion's `svnadmin`, in each state of packing: `svnadmin` and `svnlook` print what the incumbent
//! prints. `FSX_SEEDS=17` or `FSX_SEEDS=0..1000` sets the seeds of the random histories.

use testkit::history::Random;
use testkit::pair::{AllowedDifference, ToolPair};
use testkit::repo::When;
use testkit::stream::DumpStream;
use testkit::{Repo, Side, Spec, Tool, branch_history, build, each_seed, random_history, sample};

use crate::random::{one_of, short_or_all};

const UUID: &str = "4d0f9f0e-3c67-4d6e-9c0b-2a6a1f0f7a11";

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

/// Returns each repository with each line.
fn pairs<'a>(
    repositories: &'a [Repo],
    lines: &'a [&'static str],
) -> impl Iterator<Item = (&'a Repo, &'static str)> {
    repositories
        .iter()
        .flat_map(move |repo| lines.iter().map(move |line| (repo, *line)))
}

#[test]
fn svnadmin_reads_as_the_incumbent_does() {
    let repositories = repositories();
    let lines = [
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
    ];
    // Each line in one of the repositories.
    for (repo, line) in sample(3, pairs(&repositories, &lines)) {
        ToolPair::new("svnadmin", repo.path()).same_line(line);
    }
    for (repo, line) in sample(
        2,
        pairs(&repositories, &["lslocks .", "lslocks . trunk", "lstxns ."]),
    ) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        ToolPair::new("svnadmin", repo.path()).compare(&words, AllowedDifference::OfLines);
    }
    for repo in &repositories {
        ToolPair::new("svnfsfs", repo.path()).same_line("stats .");
    }
}

#[test]
fn svnlook_reads_as_the_incumbent_does() {
    let repositories = repositories();
    for (nth, repo) in repositories.iter().enumerate() {
        let pair = ToolPair::new("svnlook", repo.path());
        let out = Tool::new("svnadmin").arg("lstxns").arg(repo.path()).ok();
        let txn = out.out().trim().to_owned();
        let revisions = (0..=repo.youngest())
            .step_by(5)
            .map(|rev| ["-r".to_owned(), rev.to_string()]);
        let mut places: Vec<[String; 2]> = revisions.chain([["-t".to_owned(), txn]]).collect();
        // Samples of each repository are at other places.
        places.rotate_left(nth);
        let commands = [
            "changed --copy-info",
            "dirs-changed",
            "diff",
            "info",
            "log",
            "date",
            "author",
            "tree --show-ids",
            "tree --full-paths /trunk",
        ];
        let cases = places
            .iter()
            .flat_map(|place| commands.map(|command| (place, command)));
        for ([option, place], command) in sample(7, cases) {
            let mut words: Vec<&str> = command.split_ascii_whitespace().collect();
            words.insert(1, ".");
            words.extend([option.as_str(), place]);
            pair.same(&words);
        }
        for [option, place] in sample(5, &places) {
            let words = ["proplist", ".", "-v", "--revprop", option, place];
            pair.compare(&words, AllowedDifference::OfLines);
        }
    }
    let lines = [
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
        "tree -t 1-1 .",
        "tree -t 99999999999999999999 .",
        "tree . /trunk/hello.txt/x/y",
        "cat . /trunk/hello.txt/x",
    ];
    // Each line in one of the repositories.
    for (repo, line) in sample(3, pairs(&repositories, &lines)) {
        ToolPair::new("svnlook", repo.path()).same_line(line);
    }
}

#[test]
fn random_histories() {
    each_seed("FSX_SEEDS", short_or_all(0..3, 0..4), |seed| {
        let mut random = Random::new(seed);
        let stream = some_history(&mut random, seed);
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
        let commands = ["changed --copy-info", "tree --show-ids"];
        let cases = (0..=repo.youngest()).flat_map(|rev| commands.map(|command| (rev, command)));
        for (rev, command) in sample(5, cases) {
            pair.same_line(&format!("{command} . -r {rev}"));
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
    let log = |side: Side| {
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
    let theirs = log(Side::Theirs);
    Side::Ours.tool("sven").arg("index").arg(repo.path()).ok();
    assert_eq!(log(Side::Ours), theirs);
    Side::Ours
        .tool("svnadmin")
        .args(["verify", "-q"])
        .arg(repo.path())
        .ok();
}

/// Commands that change a repository without a commit: both leave repositories of the same files.
#[test]
fn changes_without_a_commit() {
    let cases = [
        (When::Never, false),
        (When::Halfway, false),
        (When::Halfway, true),
        (When::After, false),
    ];
    for (packed, is_packed_by_both) in sample(2, cases) {
        let spec = Spec::fsx().shard(4).pack(packed).busy().named("fsx-changes");
        let [theirs, ours] = Side::BOTH.map(|side| (build(&spec).copy(), side));
        if is_packed_by_both {
            pack(Side::Theirs, theirs.0.path(), 4);
            pack(Side::Ours, ours.0.path(), 4);
        }
        let txn = Tool::new("svnadmin").arg("lstxns").arg(ours.0.path()).ok().out();
        for line in [
            "lock . /trunk/hello.txt bob conf/authz opaquelocktoken:1",
            "lslocks . /trunk/hello.txt",
            "unlock . /trunk/hello.txt bob opaquelocktoken:1",
            "rmlocks . /trunk/many/file-050.txt",
            "setuuid . 01234567-89ab-4cde-8f01-23456789abcd",
            "setrevprop . -r 2 svn:log conf/authz",
            "setrevprop . -r 9 new conf/passwd",
            "delrevprop . -r 3 svn:author",
            "setlog . --bypass-hooks -r 0 conf/authz",
            &format!("rmtxns . {}", txn.trim()),
            "upgrade .",
            "freeze . -- true",
            "dump-revprops . -q",
            "recover .",
            "lstxns .",
        ] {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [theirs, ours] = [&theirs, &ours].map(|(repo, side)| {
                let ran = side.tool("svnadmin").args(&words).dir(repo.path()).run();
                // A lock was made at the time of its command.
                (ran.code, testkit::normalize::mask_dates(&ran.out()), ran.err())
            });
            assert_eq!(ours, theirs, "{line}");
        }
        let dump = |(repo, _): &(Repo, Side)| {
            Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
            let small = ["current", "txn-current", "revprop-generation", "min-unpacked-rev"];
            let small = small.map(|name| std::fs::read(repo.db().join(name)).expect("because it is there"));
            (
                small,
                Tool::new("svnadmin")
                    .args(["dump", "-q"])
                    .arg(repo.path())
                    .ok()
                    .stdout,
            )
        };
        assert!(dump(&ours) == dump(&theirs));
    }
}

/// A copy, and a copy that is brought up to date after more commits, edits of properties and packing.
#[test]
fn hotcopies() {
    let stream = branch_history::history(11, 40).stream;
    let youngest = stream.youngest();
    for [first_packed, then_packed] in [[false, false], [false, true], [true, true]] {
        let source = build(
            &Spec::fsx()
                .with(DumpStream::new(UUID))
                .shard(4)
                .named("fsx-empty"),
        )
        .copy();
        source.load(stream.part(0, youngest / 2));
        let pack = || pack(Side::Ours, source.path(), 4);
        if first_packed {
            pack();
        }
        let copy = source.path().with_file_name("copy");
        let check = || {
            Side::Ours
                .tool("svnadmin")
                .args(["hotcopy", "-q", "--incremental"])
                .arg(source.path())
                .arg(&copy)
                .ok();
            Tool::new("svnadmin").args(["verify", "-q"]).arg(&copy).ok();
            let files = |repo: &std::path::Path| {
                let list = "find revs fs-type format current min-unpacked-rev txn-current fsx.conf -type f | sort | xargs sha1sum";
                Tool::new("sh")
                    .args(["-c", list])
                    .dir(&repo.join("db"))
                    .ok()
                    .out()
            };
            assert_eq!(files(source.path()), files(&copy));
        };
        check();
        source.load(stream.part(youngest / 2 + 1, youngest));
        if then_packed {
            pack();
        }
        source.set_revprop(5, "svn:log", b"another message");
        check();
        check();
        let more = Tool::new("svn")
            .args(["mkdir", "-qm", "more"])
            .arg(format!("file://{}/new", copy.display()));
        more.ok();
    }
}

/// Dumps a range of revisions.
fn dump(side: Side, repo: &std::path::Path, range: &str) -> Vec<u8> {
    let dump = side.tool("svnadmin").args(["dump", "-q", "-r", range]);
    dump.arg(repo).ok().stdout
}

/// Small blocks and pages: many pages of the indexes, many packs of revision properties.
const SMALL_PAGES: &str =
    "[io]\nblock-size = 4\nl2p-page-size = 8\np2l-page-size = 1\n[packed-revprops]\nrevprop-pack-size = 1\n";

/// Packs, and compares the messages with what is to be packed.
fn pack(side: Side, repo: &std::path::Path, shard: u64) {
    let number = |name: &str| -> u64 {
        let text = std::fs::read_to_string(repo.join("db").join(name)).expect("because it is there");
        text.trim().parse().expect("because it is a number")
    };
    let shards = number("min-unpacked-rev") / shard..(number("current") + 1) / shard;
    let expected: String = shards
        .map(|shard| format!("Packing revisions in shard {shard}...done.\n"))
        .collect();
    let packed = side.tool("svnadmin").arg("pack").arg(repo).ok();
    assert_eq!(packed.out(), expected, "{side:?}");
}

/// Compares dumps, and shows the first difference.
fn assert_same(ours: &[u8], expected: &[u8], what: &str) {
    if ours != expected {
        let at = ours.iter().zip(expected).take_while(|(a, b)| a == b).count();
        let [ours, expected] = [ours, expected].map(|dump| {
            let part = &dump[at.saturating_sub(600).min(dump.len())..(at + 200).min(dump.len())];
            String::from_utf8_lossy(part).into_owned()
        });
        panic!("{what}:\n{ours}\n--- instead of ---\n{expected}");
    }
}

/// Both implementations load the parts of a history, and pack them, in turn. The dumps are those of a repository of 1.14, and the
/// last tree is that of FSFS. (In FSFS, dumps also have texts that were set to what they were before.)
#[test]
fn loads_commits_and_packs_in_turn() {
    each_seed("FSX_SEEDS", short_or_all(0..3, 0..6), |seed| {
        let mut random = Random::new(seed);
        let stream = some_history(&mut random, seed);
        let youngest = stream.youngest();
        let folder = testkit::scratch();
        let [ours, twin, fsfs] = ["ours", "twin", "fsfs"].map(|name| folder.path().join(name));
        Side::Ours
            .tool("svnadmin")
            .args(["create", "--fs-type", "fsx"])
            .arg(&ours)
            .ok();
        let shard = one_of(&mut random, &[1, 2, 3, 4, 7, 1000]);
        println!("seed {seed}: r{youngest}, shards of {shard}");
        Tool::new("svnadmin")
            .args(["create", "--fs-type", "fsx"])
            .arg(&twin)
            .ok();
        for db in [&ours, &twin].map(|repo| repo.join("db")) {
            let format = db.join("format");
            std::fs::remove_file(&format).expect("because it is there");
            std::fs::write(&format, format!("2\nlayout sharded {shard}\n")).expect("because it is new");
        }
        if random.below(3) == 0 {
            std::fs::write(ours.join("db/fsx.conf"), SMALL_PAGES).expect("because it can be replaced");
        }
        Tool::new("svnadmin").arg("create").arg(&fsfs).ok();
        let (mut next, mut side) = (0, Side::Ours);
        while next <= youngest {
            let last = youngest.min(next + random.below(12) as u64);
            let part = stream.part(next, last);
            side.tool("svnadmin")
                .args(["load", "-q"])
                .arg(&ours)
                .stdin(part.clone())
                .ok();
            for repo in [&twin, &fsfs] {
                let load = Tool::new("svnadmin").args(["load", "-q"]).arg(repo);
                load.stdin(part.clone()).ok();
            }
            if random.below(2) == 0 {
                let side = one_of(&mut random, &Side::BOTH);
                // A change of a property list that is packed, or packed next.
                let rev = random.below(last as usize + 1).to_string();
                for (side, repo) in [(side, &ours), (Side::Theirs, &twin)] {
                    let tool = side.tool("svnadmin").args(["setrevprop", "-r", &rev]);
                    let tool = tool.arg(repo).args(["changed", "/dev/stdin"]);
                    tool.stdin(format!("before r{next}")).ok();
                }
                pack(one_of(&mut random, &Side::BOTH), &ours, shard);
            }
            next = last + 1;
            side = match random.below(3) {
                0 => side,
                _ if side == Side::Ours => Side::Theirs,
                _ => Side::Ours,
            };
        }
        // A commit over `file://`, of each implementation.
        for side in Side::BOTH {
            for repo in [&ours, &twin, &fsfs] {
                let url = format!("file://{}", repo.display());
                let new = format!("{url}/new-{side:?}");
                let with_date = [
                    ["propset", "svn:date", "2026-01-02T03:04:05.000000Z"],
                    ["propset", "svn:author", "somebody"],
                ];
                side.tool("svnmucc")
                    .args([
                        "-m", "one more", "-U", &url, "mkdir", &new, "propset", "p", "v", &new,
                    ])
                    .ok();
                let rev = (youngest + 1 + u64::from(side == Side::BOTH[1])).to_string();
                for [_, name, value] in with_date {
                    Tool::new("svnadmin")
                        .args(["setrevprop", "-r", &rev])
                        .arg(repo)
                        .args([name, "/dev/stdin"])
                        .stdin(value)
                        .ok();
                }
            }
        }
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&ours)
            .under("timeout", &["-s", "KILL", "60"])
            .ok();
        Side::Ours.tool("svnadmin").args(["verify", "-q"]).arg(&ours).ok();
        let uuid = |repo: &std::path::Path| Tool::new("svnlook").arg("uuid").arg(repo).ok().out();
        assert_eq!(uuid(&ours), uuid(&twin), "seed {seed}");
        // 1.14 reads its own long lists of changed paths wrongly.
        let [read, expected] = [&ours, &twin].map(|repo| dump(Side::Ours, repo, "0:HEAD"));
        if read != expected {
            // 1.14 writes the same properties in different orders, and shows that as a change.
            for rev in 0..=youngest + 2 {
                let rev = rev.to_string();
                let [tree, expected] = [&ours, &twin].map(|repo| dump(Side::Ours, repo, &rev));
                assert_same(&tree, &expected, &format!("seed {seed}: tree of r{rev}"));
            }
        }
        let theirs = dump(Side::Theirs, &ours, "0:HEAD");
        assert_same(&theirs, &read, &format!("seed {seed}: their dump"));
        let last = dump(Side::Theirs, &fsfs, "HEAD");
        for side in Side::BOTH {
            let what = format!("seed {seed}: last tree, {side:?}");
            assert_same(&dump(side, &ours, "HEAD"), &last, &what);
        }
        // The twin's own lists of changed paths are read rightly once they are packed.
        let [packed, expected] = [&ours, &twin].map(|repo| {
            for side in Side::BOTH {
                pack(side, repo, shard);
            }
            let url = format!("file://{}", repo.display());
            let log = Tool::new("svn").args(["log", "-v", &url]).ok().out();
            let info = Tool::new("svnadmin").arg("info").arg(repo).ok().out();
            (info.replace(&*repo.to_string_lossy(), ""), log)
        });
        assert_eq!(packed, expected, "seed {seed}");
        for side in Side::BOTH {
            let what = format!("seed {seed}: all packed, {side:?}");
            assert_same(&dump(side, &ours, "0:HEAD"), &read, &what);
        }
    });
}

/// A history of branches, or of random changes.
fn some_history(random: &mut Random, seed: u64) -> DumpStream {
    let revisions = 15 + random.below(30) as u64;
    match random.below(2) {
        0 => branch_history::history(seed, revisions).stream,
        _ => random_history::history(seed, revisions, true).stream,
    }
}
