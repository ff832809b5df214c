//! The known differences, which docs/KNOWN-DIFFERENCES.md lists.

use std::collections::BTreeSet;

use testkit::probe::{Probe, ProbeItem, list, word};

use super::drive::EditFacts;
use super::questions::ReadRequest;
use super::response::{self, ResponseItems, ResponseShape};

/// True if Subversion sometimes crashes on this request.
pub fn may_die(question: &ReadRequest, ours: &ResponseItems) -> bool {
    match question.kind {
        // For a file without read access, oldest revision first.
        "file-revs" | "file-revs-g" => is_failure(ours, 220_001),
        // Oldest first, it uses freed memory.
        "log-g" => true,
        _ => question.deadly,
    }
}

/// True for a known difference of the responses.
pub fn is_known(
    theirs_again: &mut Probe,
    question: &ReadRequest,
    theirs: &ResponseItems,
    ours: &ResponseItems,
) -> bool {
    match question.kind {
        "mergeinfo" => is_told_twice(theirs, ours) || is_leak(theirs_again, theirs, ours),
        // Ranges that end after HEAD; later ranges of several sources that end together.
        "log-g" => {
            let same_end = theirs.last() == ours.last();
            (same_end || is_failure(theirs, 160_006)) && revisions(ours).is_superset(&revisions(theirs))
        }
        // Ranges that end after HEAD; sources that are below a file.
        "file-revs-g" => is_failure(theirs, 160_006) || is_failure(theirs, 160_016),
        // Report entries below a switched operand.
        _ => question.deadly && (is_failure(theirs, 160_013) || is_failure(theirs, 160_016)),
    }
}

fn is_failure(response: &ResponseItems, code: u64) -> bool {
    let Some([name, ProbeItem::List(links)]) = response.last().map(ProbeItem::items) else {
        return false;
    };
    let first = links.first().and_then(|link| link.items().first());
    *name == word("failure") && first == Some(&ProbeItem::Number(code))
}

fn revisions(log: &ResponseItems) -> BTreeSet<ProbeItem> {
    let entries = log.iter().filter(|item| item.items().len() > 2);
    entries.map(|entry| entry.items()[1].clone()).collect()
}

/// Returns the mergeinfo in a response.
fn catalog(response: &ResponseItems) -> Option<Vec<ProbeItem>> {
    let params = response.get(1)?.items().get(1)?;
    Some(params.items().first()?.items().to_vec())
}

/// True if Subversion sends the mergeinfo of paths that are requested twice, or below other requested paths, in each
/// role, and Sven only in the later one.
fn is_told_twice(theirs: &ResponseItems, ours: &ResponseItems) -> bool {
    let (Some(theirs), Some(ours)) = (catalog(theirs), catalog(ours)) else {
        return false;
    };
    let set = |entries: &[ProbeItem]| entries.iter().cloned().collect::<BTreeSet<ProbeItem>>();
    let path = |entry: &ProbeItem| entry.items().first().cloned();
    let paths = |entries: &[ProbeItem]| entries.iter().map(path).collect::<BTreeSet<_>>();
    set(&theirs).is_superset(&set(&ours))
        && paths(&theirs) == paths(&ours)
        && paths(&ours).len() == ours.len()
}

/// True if Subversion sends the mergeinfo of descendants without read access.
fn is_leak(theirs_again: &mut Probe, theirs: &ResponseItems, ours: &ResponseItems) -> bool {
    let (Some(theirs), Some(mut ours)) = (catalog(theirs), catalog(ours)) else {
        return false;
    };
    let hidden = |entry: &&ProbeItem| {
        let Some(path) = entry.items().first() else {
            return false;
        };
        let mut words = Vec::new();
        list([
            word("check-path"),
            list([path.clone(), list([ProbeItem::Number(0)])]),
        ])
        .write(&mut words);
        let words = String::from_utf8_lossy(&words).into_owned();
        let response =
            response::read_response(theirs_again, &words, ResponseShape::Single, &EditFacts::default());
        response
            .iter()
            .any(|item| item.items().first() == Some(&word("failure")))
    };
    ours.extend(theirs.iter().filter(hidden).cloned());
    ours.sort();
    theirs == ours
}
