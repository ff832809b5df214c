//! Merges in a working copy, the client's output about it, and commits of the results.

use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind;

use super::questions::MergeGenerator;

/// Successive runs of the client.
pub type Steps = Vec<Vec<String>>;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Checks out a tree; `None` if the last revision has none.
pub fn checkout(maker: &mut MergeGenerator<'_>) -> Option<(String, Steps)> {
    let last = maker.history.trees.last()?;
    let trees: Vec<&String> = last
        .iter()
        .filter(|(path, kind)| {
            **kind == RecordKind::Dir && (path.matches('/').count() == 1 || *path == "trunk")
        })
        .map(|(path, _)| path)
        .collect();
    let root = trees.get(maker.random.below(trees.len().max(1)))?.to_string();
    let url = format!("URL/{root}");
    Some((root, vec![words(&["checkout", "-q", &url, "wc"])]))
}

/// Returns a merge into the working copy of `root`, requests about it, and its commit or revert.
pub fn merge(maker: &mut MergeGenerator<'_>, root: &str) -> Steps {
    let target = inside(maker, root);
    let mut args = words(&["merge"]);
    let mut add = |more: &[&str]| args.extend(words(more));
    let accept = maker.one_of(&["postpone", "postpone", "mine-full", "theirs-full", "working"]);
    add(&["--accept", accept]);
    for option in ["--ignore-ancestry", "--record-only", "--force", "--dry-run"] {
        if maker.one_in(8) {
            add(&[option]);
        }
    }
    if maker.one_in(8) {
        add(&["--depth", maker.one_of(&["empty", "files", "immediates"])]);
    }
    // Merges of related trees: the same path below another tree.
    let below = target.strip_prefix("wc").unwrap_or_default().to_owned();
    let source = |maker: &mut MergeGenerator<'_>| {
        let (path, rev) = maker.node(Some(RecordKind::Dir));
        let (path, rev) = match maker.random.below(3) {
            0 => (path, rev),
            _ => {
                let roots = ["trunk", "branches/b1", "branches/b2", "branches/b3", "tags/t1"];
                let rev = if maker.one_in(2) {
                    maker.youngest
                } else {
                    maker.rev()
                };
                let from = maker.one_of(&roots).to_owned();
                (format!("{from}{below}"), rev)
            }
        };
        // For a missing path a merge only reports that.
        let tree = &maker.history.trees[rev.min(maker.history.trees.len() - 1)];
        match tree.contains_key(&path) {
            true => format!("URL/{path}@{rev}"),
            false => format!("URL/trunk@{}", maker.youngest),
        }
    };
    match maker.random.below(12) {
        0..=3 => add(&[&source(maker)]),
        4..=5 => {
            let mut changes = Vec::new();
            for _ in 0..1 + maker.random.below(3) {
                let sign = if maker.one_in(4) { "-" } else { "" };
                changes.push(format!("{sign}{}", maker.rev()));
            }
            add(&["-c", &changes.join(","), &source(maker)]);
        }
        6..=8 => {
            let ranges = maker.ranges();
            add(&["-r", &ranges, &source(maker)]);
        }
        9 => add(&["--reintegrate", &source(maker)]),
        _ => {
            let (one, other) = (source(maker), source(maker));
            add(&[&one, &other]);
        }
    }
    add(&[&target]);
    let mut steps = vec![
        args,
        words(&["status", "wc"]),
        words(&["diff", "wc"]),
        words(&["propget", "-R", "svn:mergeinfo", "wc"]),
    ];
    if maker.one_in(3) {
        steps.push(words(&[
            "mergeinfo",
            "--show-revs",
            "eligible",
            "URL/trunk",
            "wc",
        ]));
    }
    if maker.one_in(2) {
        steps.push(words(&["resolve", "-q", "-R", "--accept", "working", "wc"]));
        steps.push(words(&["commit", "-m", "merged", "wc"]));
        steps.push(words(&["update", "-q", "wc"]));
    }
    steps.push(words(&["revert", "-q", "-R", "wc"]));
    steps.push(words(&["cleanup", "-q", "--remove-unversioned", "wc"]));
    steps
}

/// Returns a directory or a file in the working copy of `root`.
fn inside(maker: &mut MergeGenerator<'_>, root: &str) -> String {
    if maker.one_in(2) {
        return "wc".to_owned();
    }
    let below = format!("{root}/");
    let last = last_tree(maker.history);
    let all: Vec<&str> = last.keys().filter_map(|path| path.strip_prefix(&below)).collect();
    match all.is_empty() {
        true => "wc".to_owned(),
        false => format!("wc/{}", all[maker.random.below(all.len())]),
    }
}

fn last_tree(history: &RandomHistory) -> &std::collections::BTreeMap<String, RecordKind> {
    history.trees.last().expect("because there is revision 0")
}
