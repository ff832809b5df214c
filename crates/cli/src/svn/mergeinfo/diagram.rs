//! The picture of the merges between two branches, in characters.
//!
//! Two lines are the branches, the source above the target. The branch on which both had their common ancestor begins at the left edge.
//! Diagonals between the lines are the copy that made the other branch, and the last full merge.

use base::Revnum;
use client::mergeinfo::Summary;

/// Returns the picture. A branch is its path in the repository and the revision of its tip.
pub fn draw(summary: &Summary, source: (&str, Revnum), target: (&str, Revnum)) -> String {
    let common = summary.common_path.rel_str();
    let is_trunk = [source.0 == common, source.0 != common && target.0 == common];
    let line = |is_trunk: bool, path: &str| {
        let start = if is_trunk {
            "  -------| |--"
        } else {
            "       --| |--"
        };
        format!("{start}----------         {path}\n")
    };
    let base = |is_below: bool| summary.base.filter(|_| summary.is_reverse == is_below);
    let (left, merge) = (diagonal(is_trunk), merge(summary));
    let mut text = String::from(HEADER);
    text.push_str(&numbers(Some(summary.common_rev), base(false), source.1));
    text.push_str(&line(is_trunk[0], source.0));
    for row in [0, 1] {
        text.push_str(&format!("{:<15}{:<16}\n", left[row], merge[row]));
    }
    text.push_str(&line(is_trunk[1], target.0));
    text.push_str(&numbers_below(base(true), target.1));
    text
}

const HEADER: &str = "    youngest common ancestor
    |         last full merge
    |         |        tip of branch
    |         |        |         repository path

";

/// Returns the two rows of the copy. `is_trunk` says whether the source and the target are the branch of the ancestor.
fn diagonal(is_trunk: [bool; 2]) -> [&'static str; 2] {
    match is_trunk {
        [true, _] => ["     \\", "      \\"],
        [false, true] => ["      /", "     /"],
        [false, false] => ["  ... /", "      \\"],
    }
}

/// Returns the two rows of the last full merge, from its first column on.
fn merge(summary: &Summary) -> [&'static str; 2] {
    match (summary.base, summary.is_reverse) {
        (None, _) => ["", ""],
        (Some(_), false) => ["\\", " \\"],
        (Some(_), true) => [" /", "/"],
    }
}

/// Returns the rows of revisions above the source.
fn numbers(common: Option<Revnum>, base: Option<Revnum>, tip: Revnum) -> String {
    let text = |rev: Option<Revnum>| rev.map(|rev| rev.to_string()).unwrap_or_default();
    let bar = |rev: Option<Revnum>| if rev.is_some() { "|" } else { "" };
    format!(
        "    {:<10}{:<9}{:<8}\n    {:<10}{:<9}{:<8}\n",
        text(common),
        text(base),
        tip,
        bar(common),
        bar(base),
        "|"
    )
}

/// Returns the rows of revisions below the target.
fn numbers_below(base: Option<Revnum>, tip: Revnum) -> String {
    let rows = numbers(None, base, tip);
    let (first, second) = rows.split_once('\n').unwrap_or((&rows, ""));
    format!("{second}{first}\n")
}
