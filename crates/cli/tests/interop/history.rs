//! History: log, blame, diff, mergeinfo.

use testkit::{Repo, Spec, Tool};

use crate::pair::{ScenarioClient, ServerPair};
use crate::twins::Twins;

fn rich() -> ServerPair {
    ServerPair::of(
        &Spec::new("1.14")
            .shard(4)
            .pack(testkit::repo::When::Halfway)
            .packed_revprops(1, true)
            .busy()
            .named("f8-half-packed"),
    )
}

#[test]
fn log() {
    rich().same(logs);
}

/// The requests of [`log`].
pub fn logs(c: &mut ScenarioClient) {
    let lines = [
        "log URL",
        "log -v URL",
        "log -q -r 1:HEAD URL",
        "log -v -r 10:30 URL/trunk",
        "log -v -r 30:10 URL/trunk",
        "log -v -l 3 URL/branches",
        "log -v -l 3 -r 0:HEAD URL/branches",
        "log -v URL/trunk/hello.txt",
        "log -v URL/trunk/moved.txt",
        "log -v --stop-on-copy URL/trunk/moved.txt",
        "log -v URL/branches/b1-moved",
        "log -v --stop-on-copy URL/branches/b1-moved",
        "log -v -g URL/trunk",
        "log -v -g -r 1:HEAD URL/trunk",
        "log -v -g -l 4 URL/trunk",
        "log -v -g URL/trunk/moved.txt",
        "log -v -g URL/branches/merged",
        "log --xml -v --with-all-revprops -l 30 URL",
        "log --xml --with-revprop custom:blob --with-revprop svn:author -l 30 URL",
        "log --with-no-revprops -q -l 3 URL",
        "log -v URL/branches/b2/inner/hello.txt@22",
        "log -v URL/trunk/empty.txt",
        "log -v URL trunk/big.txt branches/b3",
        "log URL/nosuch",
        "log -r 9999 URL",
        "log -r 5:9999 URL",
        "log -v -r 12 URL/trunk/hello.txt",
        "log -r 0 URL",
        "log --search alice -l 3 URL",
        "log -v --diff -r 14:17 URL",
        "log -v URL/trunk/deep@HEAD",
        "log -v -c 17,20,25-27 URL",
    ];
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.all(&lines);
}

/// The successive mergeinfo of a directory: of `gone`, which was deleted in r2, `kept` and `other`.
const MERGES: [&[&str]; 6] = [
    // The same requests again, oldest first.
    &["/gone:1-3", "/gone:1-3\n/other:2-3", ""],
    &["/gone:1-3", "/gone:2-3"],
    // The same revisions are merged and reverted in one revision.
    &["/other:1-3", "/kept:1-3"],
    &["/kept:1-3", "/other:1-2"],
    &["/kept:1-2", "/other:1-3"],
    &["/other:1,3", "/kept:1,3", "/kept:3\n/other:1"],
];

#[test]
fn log_of_merged_and_reverted_revisions() {
    let repo = Repo::create("1.14");
    let url = format!("file://{}", repo.path().display());
    let commit = |actions: &[&str]| {
        let tool = Tool::new("svnmucc").args(["-m", "m", "-U", &url]);
        tool.args(actions).ok();
    };
    let null = "/dev/null";
    commit(&["put", null, "gone", "put", null, "kept", "put", null, "other"]);
    commit(&["rm", "gone"]);
    commit(&["propset", "p", "v", "other"]);
    for (at, values) in MERGES.iter().enumerate() {
        let folder = format!("t{at}");
        commit(&["mkdir", &folder]);
        for value in *values {
            commit(&["propset", "svn:mergeinfo", value, &folder]);
        }
    }
    ServerPair::serving(&repo, &[]).same(|c| {
        for at in 0..MERGES.len() {
            let of = format!("URL/t{at}");
            c.all(&[&format!("log -g -q {of}"), &format!("log -g -q -r 1:HEAD {of}")]);
        }
    });
}

#[test]
fn blame() {
    rich().same(blames);
}

/// The requests of [`blame`].
pub fn blames(c: &mut ScenarioClient) {
    let lines = [
        "blame URL/trunk/hello.txt",
        "blame -v URL/trunk/hello.txt",
        "blame URL/trunk/big.txt",
        "blame -g URL/trunk/big.txt",
        "blame -r 5:15 URL/trunk/big.txt@15",
        "blame -r 15:5 URL/trunk/big.txt@15",
        "blame --force URL/trunk/w-.bin",
        "blame URL/trunk/logo.bin",
        "blame URL/trunk/moved.txt",
        "blame -g URL/trunk/moved.txt",
        "blame URL/trunk/c11.txt",
        "blame --xml URL/trunk/hello-copy.txt",
        "blame URL/trunk",
        "blame URL/nosuch",
        "blame -r 1:9999 URL/trunk/hello.txt",
        "blame URL/branches/b1-moved/hello.txt",
        "blame URL/trunk/empty.txt",
        "blame URL/trunk/a.b",
    ];
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.all(&lines);
}

#[test]
fn diff() {
    rich().same(diffs);
}

/// The requests of [`diff`].
pub fn diffs(c: &mut ScenarioClient) {
    // The later revisions change less.
    for rev in c.part(4, 1..45).chain(c.part(8, 45..95)) {
        c.svn_by_file(&["diff", "-c", &rev.to_string(), "URL"]);
    }
    let lines = [
        "diff -r 1:HEAD URL/trunk",
        "diff -r HEAD:1 URL/trunk",
        "diff -r 20:16 URL/branches",
        "diff --notice-ancestry -r 20:30 URL",
        "diff URL/trunk@30 URL/branches/b2@30",
        "diff URL/trunk/hello.txt@3 URL/trunk/moved.txt@30",
        "diff --old=URL/branches/b1@18 --new=URL/branches/b1-moved",
        "diff --show-copies-as-adds -r 15:18 URL",
        "diff --git -r 15:30 URL",
        "diff --depth files -r 1:HEAD URL/trunk",
        "diff --properties-only -r 1:40 URL",
        "diff -r 5:6 URL/nosuch",
        "diff -r 1:9999 URL/trunk",
        "diff URL/trunk/hello.txt@3 URL/trunk@30",
    ];
    for line in c.part(2, lines) {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_by_file(&args);
    }
    for line in [
        "diff --summarize -r 1:HEAD URL/trunk",
        "diff --summarize -r 40:20 URL",
        "diff --summarize URL/trunk@30 URL/branches/b2@30",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
}

#[test]
fn mergeinfo() {
    rich().same(merges);
}

/// The requests of [`mergeinfo`].
pub fn merges(c: &mut ScenarioClient) {
    let lines = [
        "mergeinfo --show-revs merged URL/branches/b1-moved URL/trunk",
        "mergeinfo --show-revs eligible URL/branches/b1-moved URL/trunk",
        "mergeinfo --show-revs merged URL/branches/b2 URL/trunk",
        "mergeinfo --show-revs eligible URL/trunk URL/branches/b3",
        "mergeinfo --show-revs eligible -R URL/trunk URL/branches/merged",
        "mergeinfo URL/trunk URL/branches/b3",
        "mergeinfo --log --show-revs eligible URL/trunk URL/branches/b3",
        "mergeinfo --show-revs merged URL/nosuch URL/trunk",
    ];
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.all(&lines);
    c.svn(&["checkout", "-q", "URL/branches/b3", "wc"]);
    c.svn_sorted(&[
        "merge",
        "--non-interactive",
        "--accept",
        "postpone",
        "URL/trunk",
        "wc",
    ]);
    c.svn_sorted(&["status", "wc"]);
    c.svn_sorted(&["propget", "-R", "svn:mergeinfo", "wc"]);
    c.note_tree("wc");
}

/// The merged revisions of a file's revision follow from the mergeinfo at the same path before. For a file that did
/// not exist there are none.
#[test]
fn merges_of_added_files() {
    let twins = Twins::greek();
    twins.same(|c| {
        c.lines(
            r"
            for i in 1 2 3 4; do echo text $i > t$i; done
            mucc -m m mkdir d put t1 d/f put t2 src put t2 g
            mucc -m m put t3 src
            mucc -m m put t4 src
            mucc -m m cp 4 d/f f1 propset svn:mergeinfo /src:3-4 f1; svn blame -g $U/f1
            mucc -m m cp 4 d d2 propset svn:mergeinfo /src:3-4 d2/f; svn blame -g $U/d2/f
            mucc -m m propset svn:mergeinfo /src:3-4 d/f; svn blame -g $U/d/f
            mucc -m m cp 7 d/f f2 propset svn:mergeinfo /src:3 f2; svn blame -g $U/f2
            mucc -m m rm g cp 4 d/f g propset svn:mergeinfo /src:3-4 g; svn blame -g $U/g
            mucc -m m put t4 new propset svn:mergeinfo /src:3-4 new; svn blame -g $U/new
            mucc -m m rm d2 cp 4 d d2 propset svn:mergeinfo /src:3-4 d2/f; svn blame -g $U/d2/f
            mucc -m m rm new put t3 new propset svn:mergeinfo /src:3-4 new; svn blame -g $U/new
            mucc -m m mkdir P put t1 P/f propset svn:mergeinfo /src:3 P; svn blame -g $U/P/f
            mucc -m m rm P/f cp 7 d/f P/f propset svn:mergeinfo /src:3-4 P; svn blame -g $U/P/f
            mucc -m m rm P cp 7 d P propset svn:mergeinfo /src:3 P; svn blame -g $U/P/f
            mucc -m m put t3 P/f propset svn:mergeinfo /src:3-4 P; svn blame -g $U/P/f
            ",
        );
    });
}
