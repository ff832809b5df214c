//! `svn cat`.

use testkit::{Spec, build};

use crate::twins::{Access, TwinClients};

#[test]
fn texts_and_errors() {
    let repo = build(&Spec::small("1.14"));
    for access in Access::ALL {
        let twins = TwinClients::new(&repo, access);
        twins.same("svn cat");
        twins.same("svn cat -r PREV {URL}");
        twins.same("svn cat {URL}/iota {URL}/A/mu@2");
        twins.same("svn cat -r 1 {URL}/iota");
    }
}
