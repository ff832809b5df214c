//! `svn cat`.

use testkit::{Spec, build};

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
            "svn cat {URL}/P/f@1",
            "svn cat -r 1 {URL}/P/f",
            "svn cat -r 9999 {URL}/P/f",
            "svn cat ^/P/f {URL}/P/dos",
            "svn cat {URL}/P/f foo",
        ]);
    }
}
