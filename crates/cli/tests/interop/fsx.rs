//! FSX repositories behind both servers: what clients read, over svn:// and HTTP.

use testkit::Spec;
use testkit::repo::When;

use crate::pair::ServerPair;
use crate::{history, listing, mirror};

/// A repository with packed and unpacked shards.
fn half_packed() -> Spec {
    Spec::fsx()
        .shard(4)
        .pack(When::Halfway)
        .busy()
        .named("fsx-half-packed")
}

fn pairs() -> [ServerPair; 2] {
    let packed = Spec::fsx().shard(7).pack(When::After).busy().named("fsx-packed");
    [ServerPair::of(&half_packed()), ServerPair::over_http(&packed, "")]
}

#[test]
fn histories() {
    for pair in pairs() {
        pair.same(history::logs);
        pair.same(history::blames);
        pair.same(history::merges);
    }
    ServerPair::of(&half_packed()).same(history::diffs);
}

#[test]
fn lists_and_texts() {
    for pair in pairs() {
        pair.same(listing::lists);
        pair.same(listing::texts);
        pair.same(listing::infos);
        pair.same(|c| {
            c.svn_sorted(&["export", "-q", "URL", "head"]);
            c.note_tree("head");
        });
    }
}

#[test]
fn working_copies_and_mirrors() {
    let unpacked = Spec::fsx().shard(50).busy().named("fsx");
    ServerPair::of(&half_packed()).same(mirror::synchronized);
    ServerPair::over_http(&unpacked, "").same(|c| {
        c.svn(&["checkout", "-q", "-r", "1", "URL", "wc"]);
        for rev in [2, 20, 5, 44, 12, 0, 90] {
            c.svn_sorted(&["update", "-r", &rev.to_string(), "wc"]);
        }
        c.note_tree("wc");
        c.svn_sorted(&["status", "-v", "wc"]);
    });
}
