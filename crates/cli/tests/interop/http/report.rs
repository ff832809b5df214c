//! Reports of the stock client over HTTP, about history and working copies, in each of its modes.

use testkit::{Spec, runs_all_cases, sample};

use crate::pair::{ScenarioClient, ServerPair};
use crate::{checkout, history, listing, mirror};

fn pair() -> ServerPair {
    ServerPair::over_http(&Spec::new("1.14").busy().named("f8"), "")
}

/// Runs a scenario whose client requests all texts in one response with every second command. With `SVEN_ALL_CASES` the client also
/// does so with no command, and with every command.
fn same_in_both_modes(scenario: fn(&mut ScenarioClient)) {
    let pair = pair();
    for step in sample(3, [2, usize::MAX, 1]) {
        pair.same(|c| {
            c.set_options_of_every(step, &["--config-option", "servers:global:http-bulk-updates=yes"]);
            scenario(c);
        });
    }
}

#[test]
fn updates() {
    same_in_both_modes(checkout::updates);
}

#[test]
fn switches() {
    same_in_both_modes(checkout::switches);
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
    // In every run git-svn clones over HTTP before it commits (`write::git_svn_dcommit`), and a history over svn://.
    if runs_all_cases() {
        ServerPair::over_http(&Spec::small("1.14").named("small-f8"), "").same(mirror::cloned);
    }
}
