//! The targets of commands: URLs, peg revisions, `^/`, local paths, files of targets.

use testkit::history::Random;

use crate::read_repo;
use crate::twins::{Access, TwinClients};

#[test]
fn spellings_and_errors() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.file("targets", "{URL}\nfoo\n");
    twins.file("broken", b"a\xff\n");
    twins.file("empty", b"");
    twins.all_same(&[
        "svn info {URL}/P/f@",
        "svn info {URL}/P/f@HEAD",
        "svn info {URL}/P/f@head",
        "svn info {URL}/P/f@r7",
        "svn info {URL}/P/f@foo",
        "svn info {URL}/P {URL}/P/f@foo",
        "svn info {URL}/P@1:2",
        "svn info {URL}/@1/x",
        "svn info {URL}/P/f@@",
        "svn info {URL}/P/at@2@",
        "svn info {URL}/P/at%402@",
        "svn info {URL}/P/at%402",
        "svn info {URL}/P%40HEAD",
        "svn info {URL}/P%40foo",
        "svn info {URL}/P@%7b2030-01-01%7d",
        "svn info {URL}/P@%7b2030-01-01}",
        "svn info {URL}/P@{2030-01-01}",
        "svn info {URL}@PREV",
        "svn info -rBASE {URL}",
        "svn info @HEAD",
        "svn info @",
        "svn info foo/@HEAD",
        "svn info foo@bar",
        "svn info ./foo@",
        "svn info ../x/./y//z",
        "svn info /foo/../bar",
        "svn info /",
        "svn info",
        "svn cat .svn",
        "svn cat {URL}/P/f .svn a/.svn .svn@3 .svn/",
        "svn cat {URL}/P/f a/.svn/b",
        "svn info ^/P",
        "svn info ^/P {URL}",
        "svn info {URL}/P/d ^/P/f@ ^//P/./d/",
        "svn info ^/P/sp%20ace {URL}/nosuch",
        "svn info ^/../P {URL}",
        "svn info ^P {URL}",
        "svn info ^ {URL}",
        "svn info ^/P foo",
        "svn info ^/P file:///nosuch",
        "svn info ^/P file:///nosuch {URL}",
        "svn info ^/P foo://x {URL}",
        "svn info ^/P {URL}@foo",
        "svn ls svn+ssh://user@host.invalid",
        "svn ls svn+ssh://user@host.invalid/x@foo",
        "svn ls svn+foo://user@127.0.0.1:1/x",
        "svn ls svn://user@127.0.0.1:1",
        "svn ls foo://bar",
        "svn ls foo:bar",
        "svn ls foo:/bar",
        "svn ls 1://x",
        "svn ls ://x",
        "svn ls a/b://x",
        "svn ls file://foo/bar",
        "svn ls file:///",
        "svn ls file:",
        "svn ls {URL}/x/../P",
        "svn ls {URL}/%",
        "svn ls {URL}/%zz",
        "svn info --targets {DIR}/broken",
        "svn info --targets {DIR}/empty",
        "svn info --targets {DIR}/targets",
        "svn info {URL}/P --targets {DIR}/targets",
    ]);
    twins.same_prepared(&["svn", "info", "é"], |tool| tool.env("LC_ALL", "C"));
    twins.same_prepared(&["svn", "info", "{URL}/é"], |tool| tool.env("LC_ALL", "C"));
    twins.same_prepared(&["svn", "info", "--targets", "-"], |tool| tool.stdin("a b\nc"));
}

#[test]
fn random_spellings() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    testkit::each_seed("READ_TARGET_SEEDS", 0..40, |seed| {
        let mut random = Random::new(seed);
        let mut words = vec!["svn".to_owned(), "info".to_owned()];
        for _ in 0..1 + random.below(2) {
            words.push(spelling(&mut random));
        }
        println!("seed {seed}: {words:?}");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        twins.same_words(&words);
    });
}

/// Returns a target in an odd spelling.
fn spelling(random: &mut Random) -> String {
    const STARTS: &[&str] = &[
        "{URL}",
        "{URL}/P",
        "^",
        "^/P",
        "foo",
        "",
        "{URL}/P/d",
        "svn+ssh://u@h.invalid",
    ];
    const PARTS: &[&str] = &[
        "/",
        "//",
        "/.",
        "/./",
        "P",
        "f",
        "d",
        "@",
        "%40",
        "@HEAD",
        "@2",
        "%20",
        "sp%20ace",
        "sp ace",
        "café",
        "caf%C3%a9",
        "%c3%89",
        "%",
        "%4",
        "%7e",
        "~",
        "+",
        "%2b",
        "#",
        "?",
        "&amp;",
        "\"",
        "\\",
        "[",
        "]",
        "|",
        "^",
        "`",
        "{",
        "}",
        "@{2030-01-01}",
        "@foo",
        "at@2",
        "/.svn",
        ":",
        ";",
        "=",
        "@r3",
        "%2f",
        "*",
        "(",
        "'",
        "/..x",
    ];
    let mut text = STARTS[random.below(STARTS.len())].to_owned();
    for _ in 0..random.below(5) {
        text.push_str(PARTS[random.below(PARTS.len())]);
    }
    text
}
