//! The compiled tree gives the same rights as the naive evaluation of the rules.

use base::FsPath;
use proptest::prelude::*;
use repos::access::{Readable, Subtree};
use repos::authz::{Authz, Required, Rights, UserRights};

use super::files::{self, File, NAMES, REPOSITORIES, USERS, Wildcards};
use super::naive::{self, Level};

fn level(rights: Rights) -> Level {
    match rights {
        Rights::None => 0,
        Rights::Read => 1,
        Rights::Write => 2,
    }
}

fn path(components: &[&str]) -> FsPath {
    FsPath::canonicalize(&components.join("/")).expect("a path")
}

/// All paths below one, of at most `depth` more components.
fn each_below(at: &mut Vec<&'static str>, depth: usize, ask: &mut dyn FnMut(&[&str])) {
    ask(at);
    if depth > 0 {
        for name in NAMES {
            at.push(name);
            each_below(at, depth - 1, ask);
            at.pop();
        }
    }
}

/// The rights reported for a whole subtree are those of every path in it.
fn check_subtree(rights: &UserRights, at: &[&'static str], exact: bool) {
    let top = path(at);
    let read = rights.allows(&top, Required::Read, true);
    let write = rights.allows(&top, Required::Write, true);
    let subtree = rights.subtree(&top);
    assert_eq!(read, subtree == Subtree::All);
    assert!(!write || read);
    let (mut least, mut most) = (Rights::Write, Rights::None);
    each_below(&mut at.to_vec(), 3, &mut |below| {
        let own = rights.rights(&path(below));
        least = least.min(own);
        most = most.max(own);
    });
    assert!(!read || least >= Rights::Read, "{top:?}: less than All below");
    assert!(!write || least == Rights::Write, "{top:?}: less than write below");
    assert!(
        subtree != Subtree::None || most == Rights::None,
        "{top:?}: more than None below"
    );
    if exact {
        assert_eq!(read, least >= Rights::Read, "{top:?}");
        assert_eq!(write, least == Rights::Write, "{top:?}");
        assert_eq!(subtree == Subtree::None, most == Rights::None, "{top:?}");
    }
}

fn check(file: &File, asked: &[Vec<&'static str>], exact: bool) {
    let text = file.text();
    let authz = Authz::parse(text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for user in USERS {
        for repository in REPOSITORIES {
            let rights = authz.rights(repository, user);
            assert_eq!(
                level(rights.max_rights()),
                naive::max(file, repository, user),
                "{user:?} {repository:?}\n{text}"
            );
            for at in asked {
                assert_eq!(
                    level(rights.rights(&path(at))),
                    naive::rights(file, repository, user, at),
                    "{at:?} {user:?} {repository:?}\n{text}"
                );
                check_subtree(&rights, at, exact);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if testkit::runs_all_cases() { 300 } else { 100 }))]

    #[test]
    fn with_wildcards(file in files::file(7, Wildcards::All), asked in prop::collection::vec(files::path(), 3)) {
        check(&file, &asked, false);
    }

    #[test]
    fn without_wildcards_subtrees_are_exact(
        file in files::file(12, Wildcards::None),
        asked in prop::collection::vec(files::path(), 3),
    ) {
        check(&file, &asked, true);
    }
}

/// Rules that do not apply to a user take no memory in that user's tree.
#[test]
fn repeated_rules_take_no_memory() {
    let mut text = "[/]\n* = r\n".to_owned();
    for n in 0..1000 {
        text += &format!("[/p{n}]\nu{n} = rw\n* = r\n");
    }
    let authz = Authz::parse(text.as_bytes(), None).expect("valid");
    let one = authz.rights(None, Some("u7"));
    let nobody = authz.rights(None, Some("nobody"));
    assert!(
        one.memory() < 1000 && nobody.memory() < one.memory(),
        "{} {}",
        one.memory(),
        nobody.memory()
    );
    assert_eq!(one.rights(&path(&["p7", "x"])), Rights::Write);
    assert_eq!(one.subtree(&path(&[])), Subtree::All);
    assert!(!one.allows(&path(&[]), Required::Write, true));
    assert!(one.allows(&path(&["p7"]), Required::Write, true));
    assert_eq!(nobody.max_rights(), Rights::Read);
}

/// A rule that denies paths below a directory denies the directory as a whole; for `/` the incumbent overlooks the
/// first three.
#[test]
fn denied_patterns_below_deny_the_whole() {
    for (file, at) in [
        ("[/]\nx=rw\n[:glob:/a*/b]\nx=\n", "/"),
        ("[/]\nx=rw\n[:glob:/*a/b]\nx=\n", "/"),
        ("[:glob:/**]\nx=rw\n[:glob:/a/**]\nx=\n", "/"),
        ("[:glob:/t/**]\nx=rw\n[:glob:/**/secret]\nx=\n", "/t"),
    ] {
        let rights = Authz::parse(file.as_bytes(), None)
            .expect("valid")
            .rights(None, Some("x"));
        let at = FsPath::parse(at).expect("a path");
        assert!(rights.allows(&at, Required::Write, false), "{file}");
        assert!(!rights.allows(&at, Required::Read, true), "{file}");
        assert_eq!(rights.subtree(&at), Subtree::Mixed, "{file}");
    }
    // A later rule for everything below takes precedence over all of them.
    let file = "[:glob:/**/secret]\nx=\n[/t/a]\nx=\n[:glob:/t/**]\nx=rw\n";
    let rights = Authz::parse(file.as_bytes(), None)
        .expect("valid")
        .rights(None, Some("x"));
    assert!(rights.allows(&path(&["t"]), Required::Write, true));
    assert!(rights.allows(&path(&["t", "a", "secret"]), Required::Write, true));
}
