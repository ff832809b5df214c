//! `svn list`.

use crate::read_repo;
use crate::twins::{Access, TwinClients};

#[test]
fn listings() {
    let repo = read_repo::repository();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for options in [
            "", "-v", "-R", "-vR", "-vH", "-H", "--xml", "--xml -R", "-v -r 5", "-r0 -v",
        ] {
            twins.same(&format!("svn list {options} {{URL}}"));
        }
        for options in [
            "",
            "-v",
            "--depth empty -v",
            "--depth files",
            "--depth immediates -v",
            "--xml",
        ] {
            twins.same(&format!("svn ls {options} {{URL}}/P"));
        }
        twins.all_same(&[
            "svn ls {URL}/P/f",
            "svn ls -v {URL}/P/f {URL}/P/moved {URL}/P",
            "svn ls -v {URL}/P/long {URL}/P/f {URL}/P",
            "svn ls --xml {URL}/P/f {URL}/P/d/none",
            "svn ls --xml --incremental {URL}/P/d",
            "svn ls --search F* --search *É {URL}/P",
            "svn ls --search U* -R {URL}",
            "svn ls --search d -vR {URL}/P",
            "svn ls --search p --depth empty -v {URL}/P",
            "svn ls {URL}/nosuch {URL}/P/d",
            "svn ls --xml {URL}/nosuch {URL}/P/d",
            "svn ls {URL}/P/f/below",
            "svn ls {URL}/P@3",
            "svn ls -r 1 {URL}/P/moved",
            "svn ls -r 999 {URL}",
            "svn ls -r {2001-01-01} {URL}",
            "svn ls -R --depth empty {URL}/P",
            "svn ls --depth empty -R {URL}/P/d",
        ]);
    }
}

#[test]
fn externals() {
    let repo = read_repo::repository();
    for access in [Access::Disk, Access::Svn] {
        let twins = TwinClients::new(&repo, access);
        for options in ["", "-v", "--depth files", "--xml", "--search G -R"] {
            twins.same(&format!("svn ls --include-externals {options} {{URL}}/P/long"));
        }
        twins.same("svn ls --include-externals -R {URL}/P");
        twins.same("svn ls --include-externals {URL}/P/long {URL}/nosuch");
        twins.same("svn ls --include-externals {URL}/nosuch");
    }
}
