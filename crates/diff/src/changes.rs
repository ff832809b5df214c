//! Which lines changed.
//!
//! Of several equally small differences Subversion always chooses the same one, and readers expect it. Three rules
//! decide, all found by comparing with its output: the choice at equal reach in the walk ([`crate::lcs`]); equal
//! bytes at both ends are set aside before lines are compared; and of the equal end fifty lines are put back, and one
//! line less is set aside if the comparison stopped at the very beginning of a line.

use std::ops::Range;

use crate::lcs;
use crate::lines::Lines;

/// A run of lines of the old text that was replaced by a run of lines of the new one; either may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Lines of the old text.
    pub old: Range<usize>,
    /// Lines of the new text.
    pub new: Range<usize>,
}

impl Change {
    /// Counts lines from `lines` before the first one.
    pub(crate) fn shift(&mut self, lines: usize) {
        for range in [&mut self.old, &mut self.new] {
            *range = range.start + lines..range.end + lines;
        }
    }
}

/// Finds the changes, in order; between two of them there is at least one line in common.
pub fn changes(lines: &Lines<'_>) -> Vec<Change> {
    changes_while(lines, &|| true).unwrap_or_default()
}

/// As [`changes`]; `None` as soon as `go_on`, which is called at intervals, returns false.
pub fn changes_while(lines: &Lines<'_>, go_on: &dyn Fn() -> bool) -> Option<Vec<Change>> {
    let (head, tail) = equal_ends(&lines.old, &lines.new);
    let (old_end, new_end) = (lines.old.len() - tail, lines.new.len() - tail);
    let (old, new) = (&lines.old_ids[head..old_end], &lines.new_ids[head..new_end]);
    let mut changes = between(&lcs::matches(old, new, go_on)?, old.len(), new.len());
    for change in &mut changes {
        change.shift(head);
    }
    Some(changes)
}

/// Finds the changes between two sequences of numbers of lines, from which the equal ends were removed.
pub(crate) fn changes_of_numbers(old: &[u32], new: &[u32]) -> Vec<Change> {
    let found = lcs::matches(old, new, &|| true).unwrap_or_default();
    between(&found, old.len(), new.len())
}

/// Returns what lies between the matches of two sequences of these lengths.
fn between(matches: &[lcs::Match], old_len: usize, new_len: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut old, mut new) = (0, 0);
    for m in matches {
        add(&mut changes, old..m.old, new..m.new);
        (old, new) = (m.old + m.len, m.new + m.len);
    }
    add(&mut changes, old..old_len, new..new_len);
    changes
}

fn add(changes: &mut Vec<Change>, old: Range<usize>, new: Range<usize>) {
    if !old.is_empty() || !new.is_empty() {
        changes.push(Change { old, new });
    }
}

/// Returns the number of lines to set aside at the beginning and at the end.
fn equal_ends(old: &[&[u8]], new: &[&[u8]]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let equal = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let before = |lines: &[&[u8]]| {
        lines[..lines.len() - equal]
            .last()
            .and_then(|line| line.last().copied())
    };
    // The comparison runs backwards byte by byte and then forwards to where the next line begins. If it
    // stopped between two lines, that is one line later.
    let between_lines = match (before(old), before(new)) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    };
    (head, equal.saturating_sub(usize::from(between_lines) + KEPT))
}

/// Equal lines at the end that are compared nevertheless.
pub(crate) const KEPT: usize = 50;
