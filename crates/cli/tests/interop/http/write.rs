//! Writes: the outputs of the stock clients and the resulting repositories equal those with Apache.

use testkit::Repo;
use testkit::server::http::READ_FREELY;

use crate::twins::{CONF, Twins, greek_repo};
use crate::{writing, writing_programs};

fn empty() -> Twins {
    Twins::over_http(&Repo::create("1.14"), &[("svnserve.conf", CONF)], READ_FREELY)
}

#[test]
fn edits_of_every_kind() {
    Twins::greek_over_http().same(writing::edits);
}

#[test]
fn urls_alone() {
    Twins::greek_over_http().same(writing::urls);
}

#[test]
fn refused_commits() {
    Twins::greek_over_http().same(writing::refusals);
}

#[test]
fn revision_properties_and_messages() {
    writing::revision_properties(&Twins::greek_over_http());
}

#[test]
fn svnmucc() {
    Twins::greek_over_http().same(writing_programs::sequences);
}

#[test]
fn svnsync_into_it() {
    writing_programs::sync_into(&empty());
}

#[test]
fn svnrdump_load_into_it() {
    writing_programs::rdump_into(&empty());
}

#[test]
fn git_svn_dcommit() {
    let conf = [("svnserve.conf", "[general]\nanon-access = write\n")];
    writing_programs::dcommit(&Twins::over_http(&greek_repo(), &conf, ""));
}
