//! Reports of the stock client over HTTP, about history and working copies, in each of its modes.

use testkit::Spec;

use crate::pair::{ScenarioClient, ServerPair};
use crate::{checkout, history, listing, mirror};

fn pair() -> ServerPair {
    ServerPair::over_http(&Spec::new("1.14").busy().named("f8"), "")
}

/// Makes the client request all texts in one response.
fn in_one_answer(c: &mut ScenarioClient) {
    c.set_options(&["--config-option", "servers:global:http-bulk-updates=yes"]);
}

#[test]
fn updates() {
    let pair = pair();
    pair.same(checkout::updates);
    pair.same(|c| {
        in_one_answer(c);
        checkout::updates(c);
    });
}

#[test]
fn switches() {
    let pair = pair();
    pair.same(checkout::switches);
    pair.same(|c| {
        in_one_answer(c);
        checkout::switches(c);
    });
}

#[test]
fn depths_and_local_changes() {
    let pair = pair();
    pair.same(checkout::every_depth);
    pair.same(checkout::local_changes);
    pair.same(checkout::impossible);
}

#[test]
fn logs_and_blames() {
    let pair = pair();
    pair.same(history::logs);
    pair.same(history::blames);
}

#[test]
fn diffs_and_merges() {
    let pair = pair();
    pair.same(history::diffs);
    pair.same(history::merges);
}

#[test]
fn listings_and_properties() {
    let pair = pair();
    pair.same(listing::lists);
    pair.same(listing::texts);
    pair.same(listing::infos);
    pair.same(listing::all_properties);
}

#[test]
fn mirrors() {
    let pair = pair();
    pair.same(mirror::synchronized);
    pair.same(mirror::folders);
    pair.same(mirror::dumped);
    ServerPair::over_http(&Spec::small("1.14").named("small-f8"), "").same(mirror::cloned);
}
