//! `svn cat`. `KEYWORD_SEEDS=A..B` sets the seeds of random texts with keywords.

use testkit::history::Random;
use testkit::{Repo, Side, Spec, Tool, build, each_seed, scratch};

use crate::read_repo;
use crate::twins::{Access, TwinClients};

#[test]
fn texts_and_errors() {
    let repo = build(&Spec::small("1.14"));
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        twins.same("svn cat");
        twins.same("svn cat -r PREV {URL}");
        twins.same("svn cat {URL}/iota {URL}/A/mu@2");
        twins.same("svn cat -r 1 {URL}/iota");
    }
}

#[test]
fn keywords_line_ends_and_warnings() {
    let repo = read_repo::repository();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for target in [
            "{URL}/P/f",
            "{URL}/P/dos",
            "{URL}/P/zero",
            "{URL}/P/sp%20ace",
            "{URL}/P/at%402@",
        ] {
            twins.same(&format!("svn cat {target}"));
            twins.same(&format!("svn cat --ignore-keywords {target}"));
        }
        twins.all_same(&[
            "svn cat {URL}",
            "svn cat {URL}/nosuch {URL}/P/f {URL}/P {URL}/P/dos",
            "svn cat {URL}/P {URL}/nosuch {URL}/P",
            "svn cat {URL}/P {URL}/P",
            "svn cat {URL}/P/f@1",
            "svn cat -r 1 {URL}/P/f",
            "svn cat -r 9999 {URL}/P/f",
            "svn cat ^/P/f {URL}/P/dos",
            "svn cat {URL}/P/f foo",
        ]);
    }
}

/// Parts of texts: keywords, what looks like one, and what is in the way of one.
const PARTS: &[&str] = &[
    "$Rev$", "$Id:", "$Author", "$", "$$", " ", "::", ": ", " $", "x", "yy", "$Rev:: ", "   ", "$Foo:x$",
    "$Foo$", "\n", "\r\n", "#$", "$Rev: ", "$Date$",
];

/// Texts of which the longest lines are longer than a keyword may be.
#[test]
fn random_texts_with_keywords() {
    each_seed("KEYWORD_SEEDS", 0..2, |seed| {
        let mut random = Random::new(seed);
        let (repo, folder) = (Repo::create("1.14"), scratch());
        let names: Vec<String> = (0..20).map(|number| format!("f{number}")).collect();
        let mut words = Vec::new();
        for name in &names {
            let mut text = String::new();
            for _ in 0..2 + random.below(60) {
                match random.below(10) {
                    0 => text.push_str(&"z".repeat(random.below(260))),
                    _ => text.push_str(PARTS[random.below(PARTS.len())]),
                }
            }
            std::fs::write(folder.path().join(name), text).expect("because the folder is ours");
            words.extend([
                "put",
                name,
                name,
                "propset",
                "svn:keywords",
                "Rev Id Author Date Foo=",
                name,
            ]);
        }
        let put = Tool::new("svnmucc").args(["-m", "m", "-U", &repo.url()]);
        put.args(&words).dir(folder.path()).ok();
        for name in &names {
            let [theirs, ours] = Side::BOTH.map(|side| {
                let cat = side.tool("svn").arg("cat").arg(format!("{}/{name}", repo.url()));
                cat.ok().stdout
            });
            assert!(
                theirs == ours,
                "{:?}\n{:?}",
                String::from_utf8_lossy(&theirs),
                String::from_utf8_lossy(&ours)
            );
        }
    });
}
