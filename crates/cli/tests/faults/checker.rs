//! Does what the clients have seen fit one order of all changes, and real time?
//!
//! Revisions have numbers, and items of a list positions: that is the order. Of two requests of which one has ended before the other
//! began, the later one must not see, or make, less. A change whose outcome is not known may have been made or not, but not twice.
//!
//! Locks have no order of their own. Here it is enough that an acknowledged lock is seen, and keeps others out, until its removal begins, and
//! that a removed one is not seen any more.
//!
//! Revision properties: a node may use a list for a while without asking for changes, and a change is acknowledged after that time. So two
//! *readings* of a list at different nodes have an order only if that time is between them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::history::{Action, Event, Outcome};
use crate::nodes::STALENESS_MS;

/// The history of the repository at the end.
pub struct FinalState {
    /// The revisions with a commit of a client.
    pub revisions: BTreeMap<u64, FinalRevision>,
    /// The youngest revision.
    pub youngest: u64,
    /// The lists.
    pub lists: Vec<Vec<String>>,
}

/// A revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalRevision {
    /// The commit, as the log message says.
    pub id: String,
    /// The file.
    pub path: String,
    /// The commit that has made the text, and the one before it, as the text says.
    pub text: (Option<String>, Option<String>),
}

/// How many changes were checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Acknowledged changes.
    pub done: usize,
    /// Refused changes.
    pub refused: usize,
    /// Changes whose outcome was not known.
    pub unknown: usize,
    /// Those of them that were made: commits and items of lists.
    pub unknown_made: usize,
    /// Readings.
    pub reads: usize,
}

/// Checks the events of a run against its end. Returns what must not be.
pub fn check(events: &[Event], last: &FinalState) -> (Summary, Vec<String>) {
    let mut wrong = Vec::new();
    let revs = check_commits(events, last, &mut wrong);
    check_reads(events, last, &mut wrong);
    for list in 0..last.lists.len() {
        check_list(events, list, &last.lists[list], &mut wrong);
    }
    check_locks(events, &mut wrong);
    let mut summary = Summary::default();
    let positions: HashSet<&String> = last.lists.iter().flatten().collect();
    for event in events {
        let was_made = match &event.action {
            Action::Commit { id, .. } => revs.contains_key(id),
            Action::Append { id, .. } => positions.contains(id),
            Action::Lock { .. } | Action::Unlock { .. } => false,
            _ => {
                summary.reads += 1;
                continue;
            }
        };
        match event.outcome {
            Outcome::Done => summary.done += 1,
            Outcome::Refused(_) => summary.refused += 1,
            Outcome::Unknown(_) => {
                summary.unknown += 1;
                summary.unknown_made += usize::from(was_made);
            }
        }
    }
    (summary, wrong)
}

/// A request with its place in the order.
struct Placed<'a> {
    event: &'a Event,
    position: u64,
    is_change: bool,
}

/// Checks that of two requests the later one has the later place.
fn check_order(placed: &[Placed<'_>], between_reads: Duration, wrong: &mut Vec<String>) {
    let mut by_end: Vec<&Placed<'_>> = placed
        .iter()
        .filter(|one| one.event.outcome == Outcome::Done)
        .collect();
    by_end.sort_by_key(|one| one.event.end);
    let mut by_start: Vec<&Placed<'_>> = placed.iter().collect();
    by_start.sort_by_key(|one| one.event.start);
    let changes: Vec<&Placed<'_>> = by_end.iter().filter(|one| one.is_change).copied().collect();
    let reads: Vec<&Placed<'_>> = by_end.iter().filter(|one| !one.is_change).copied().collect();
    for (earlier, of_reads) in [(changes, false), (reads, true)] {
        for later_is_change in [false, true] {
            let slack = match of_reads && !later_is_change {
                true => between_reads,
                false => Duration::ZERO,
            };
            let mut ended = earlier.iter().peekable();
            let mut highest: Option<&Placed<'_>> = None;
            for later in by_start.iter().filter(|one| one.is_change == later_is_change) {
                while let Some(one) = ended.next_if(|one| one.event.end + slack < later.event.start) {
                    if highest.is_none_or(|highest| highest.position < one.position) {
                        highest = Some(one);
                    }
                }
                let Some(before) = highest else { continue };
                let is_wrong = match later_is_change {
                    true => later.position <= before.position,
                    false => later.position < before.position,
                };
                if is_wrong {
                    wrong.push(format!(
                        "place {} after place {}, which had ended {:?} before:\n  {:?}\n  {:?}",
                        later.position,
                        before.position,
                        later.event.start - before.event.end,
                        before.event,
                        later.event
                    ));
                }
            }
        }
    }
}

/// Checks commits, and the youngest revisions that were read. Returns the revision of each commit.
fn check_commits(events: &[Event], last: &FinalState, wrong: &mut Vec<String>) -> HashMap<String, u64> {
    let mut revs: HashMap<String, u64> = HashMap::new();
    let mut texts: HashMap<&str, &String> = HashMap::new();
    for (rev, made) in &last.revisions {
        if let Some(first) = revs.insert(made.id.clone(), *rev) {
            wrong.push(format!("'{}' was made twice: r{first} and r{rev}", made.id));
        }
        let before = texts.insert(&made.path, &made.id).cloned();
        if made.text != (Some(made.id.clone()), before) {
            wrong.push(format!("r{rev} has another text, or has lost a change: {made:?}"));
        }
    }
    let mut asked = HashSet::new();
    let mut placed = Vec::new();
    for event in events {
        match &event.action {
            Action::Commit { id, path, rev, .. } => {
                asked.insert(id);
                let found = revs.get(id).copied();
                let is_right = match event.outcome {
                    Outcome::Done => {
                        found == *rev && found.is_some_and(|rev| last.revisions[&rev].path == *path)
                    }
                    Outcome::Refused(_) => found.is_none(),
                    Outcome::Unknown(_) => true,
                };
                if !is_right {
                    wrong.push(format!("the history has {found:?} of {event:?}"));
                }
                placed.extend(found.map(|position| Placed {
                    event,
                    position,
                    is_change: true,
                }));
            }
            Action::Youngest(rev)
            | Action::Read {
                rev,
                is_youngest: true,
                ..
            } => placed.push(Placed {
                event,
                position: *rev,
                is_change: false,
            }),
            _ => {}
        }
    }
    for (id, rev) in revs.iter().filter(|(id, _)| !asked.contains(id)) {
        wrong.push(format!("r{rev} is '{id}', for which no client has asked"));
    }
    check_order(&placed, Duration::ZERO, wrong);
    revs
}

/// Checks that each text that was read is that of its revision.
fn check_reads(events: &[Event], last: &FinalState, wrong: &mut Vec<String>) {
    let mut made: HashMap<&str, Vec<(u64, &String)>> = HashMap::new();
    for (rev, revision) in &last.revisions {
        made.entry(&revision.path).or_default().push((*rev, &revision.id));
    }
    for event in events {
        let Action::Read { path, rev, id, .. } = &event.action else {
            continue;
        };
        let changes = made.get(path.as_str()).map_or(&[][..], Vec::as_slice);
        let until = changes.partition_point(|(made, _)| made <= rev);
        let expected = until.checked_sub(1).map(|at| changes[at].1);
        if expected != id.as_ref() || *rev > last.youngest {
            wrong.push(format!(
                "{}: the text is that of {expected:?}: {event:?}",
                event.url
            ));
        }
    }
}

fn check_list(events: &[Event], number: usize, last: &[String], wrong: &mut Vec<String>) {
    let mut positions = HashMap::new();
    for (at, id) in last.iter().enumerate() {
        if positions.insert(id, at as u64 + 1).is_some() {
            wrong.push(format!("'{id}' is twice in list {number}"));
        }
    }
    let mut placed = Vec::new();
    for event in events {
        match &event.action {
            Action::Append { list, id } if *list == number => {
                let found = positions.get(id).copied();
                let is_right = match event.outcome {
                    Outcome::Done => found.is_some(),
                    Outcome::Refused(_) => found.is_none(),
                    Outcome::Unknown(_) => true,
                };
                if !is_right {
                    wrong.push(format!("list {number} has place {found:?} of {event:?}"));
                }
                placed.extend(found.map(|position| Placed {
                    event,
                    position,
                    is_change: true,
                }));
            }
            Action::ReadList { list, ids } if *list == number => {
                if !last.starts_with(ids) {
                    wrong.push(format!("list {number} never had these items: {event:?}"));
                }
                placed.push(Placed {
                    event,
                    position: ids.len() as u64,
                    is_change: false,
                });
            }
            _ => {}
        }
    }
    check_order(&placed, Duration::from_millis(STALENESS_MS), wrong);
}

/// When a lock was there for certain, and when it was gone.
#[derive(Clone, Debug, Default)]
struct LockTimes {
    /// The acknowledgement.
    made: Option<Instant>,
    /// The first attempt to remove it.
    first_removal: Option<Instant>,
    /// The first acknowledged removal.
    removed: Option<Instant>,
}

impl LockTimes {
    /// True if the lock was there during all of the event.
    fn covers(&self, event: &Event) -> bool {
        self.made.is_some_and(|made| made < event.start)
            && self.first_removal.is_none_or(|removal| event.end < removal)
    }
}

fn check_locks(events: &[Event], wrong: &mut Vec<String>) {
    let mut locks: HashMap<(&String, &String), LockTimes> = HashMap::new();
    let mut asked: HashMap<(&String, &String), Instant> = HashMap::new();
    for event in events {
        match &event.action {
            Action::Lock { path, id } => {
                asked.insert((path, id), event.start);
                if event.outcome == Outcome::Done {
                    locks.entry((path, id)).or_default().made = Some(event.end);
                }
            }
            Action::Unlock { path, id }
            | Action::Commit {
                path,
                lock: Some(id),
                unlocks: true,
                ..
            } => {
                let times = locks.entry((path, id)).or_default();
                let first = times.first_removal.get_or_insert(event.start);
                *first = (*first).min(event.start);
                if event.outcome == Outcome::Done && matches!(event.action, Action::Unlock { .. }) {
                    let removed = times.removed.get_or_insert(event.end);
                    *removed = (*removed).min(event.end);
                }
            }
            _ => {}
        }
    }
    let of_path = |wanted: &String| -> Vec<(&String, &LockTimes)> {
        let all = locks.iter().filter(|((path, _), _)| *path == wanted);
        all.map(|((_, id), times)| (*id, times)).collect()
    };
    for event in events {
        match &event.action {
            Action::ReadLock { path, id } => {
                for (lock, times) in of_path(path) {
                    if times.covers(event) && id.as_ref() != Some(lock) {
                        wrong.push(format!("the lock '{lock}' is not seen: {times:?} {event:?}"));
                    }
                }
                let Some(seen) = id else { continue };
                let times = locks.get(&(path, seen)).cloned().unwrap_or_default();
                if times.removed.is_some_and(|removed| removed < event.start) {
                    wrong.push(format!("a removed lock is seen: {times:?} {event:?}"));
                }
                if asked.get(&(path, seen)).is_none_or(|start| event.end < *start) {
                    wrong.push(format!("a lock that was not asked for is seen: {event:?}"));
                }
            }
            Action::Lock { path, id } if event.outcome == Outcome::Done => {
                for (lock, times) in of_path(path) {
                    if times.covers(event) && lock != id {
                        wrong.push(format!("'{lock}' is there and does not prevent {event:?}"));
                    }
                }
            }
            Action::Commit { path, lock: sent, .. } if event.outcome == Outcome::Done => {
                for (lock, times) in of_path(path) {
                    if times.covers(event) && sent.as_ref() != Some(lock) {
                        wrong.push(format!("'{lock}' is there and does not prevent {event:?}"));
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events that take `start..end` milliseconds.
    fn event(start: u64, end: u64, action: Action, outcome: Outcome) -> Event {
        let zero = *ZERO.get_or_init(Instant::now);
        Event {
            start: zero + Duration::from_millis(start),
            end: zero + Duration::from_millis(end),
            url: String::new(),
            action,
            outcome,
        }
    }

    static ZERO: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();

    fn commit(start: u64, end: u64, id: &str, rev: Option<u64>, outcome: Outcome) -> Event {
        let action = Action::Commit {
            id: id.to_owned(),
            path: "f".to_owned(),
            rev,
            lock: None,
            unlocks: false,
        };
        event(start, end, action, outcome)
    }

    fn state(ids: &[&str]) -> FinalState {
        let mut before = None;
        let revision = |(at, id): (usize, &&str)| {
            let made = FinalRevision {
                id: (*id).to_owned(),
                path: "f".to_owned(),
                text: (Some((*id).to_owned()), before.replace((*id).to_owned())),
            };
            (at as u64 + 1, made)
        };
        FinalState {
            revisions: ids.iter().enumerate().map(revision).collect(),
            youngest: ids.len() as u64,
            lists: vec![vec!["x".to_owned(), "y".to_owned()]],
        }
    }

    fn violations(events: &[Event], ids: &[&str]) -> usize {
        check(events, &state(ids)).1.len()
    }

    #[test]
    fn commits_have_one_place_that_fits_real_time() {
        let unknown = || Outcome::Unknown(String::new());
        let a = commit(0, 10, "a", Some(1), Outcome::Done);
        let b = commit(20, 30, "b", Some(2), Outcome::Done);
        assert_eq!(violations(&[a.clone(), b.clone()], &["a", "b"]), 0);
        // Lost; made although it was refused; made twice; not asked for.
        assert_eq!(violations(&[a.clone(), b.clone()], &["a"]), 1);
        let refused = commit(20, 30, "b", None, Outcome::Refused(String::new()));
        assert_eq!(violations(&[a.clone(), refused], &["a", "b"]), 1);
        assert!(violations(std::slice::from_ref(&a), &["a", "a"]) > 0);
        assert_eq!(violations(std::slice::from_ref(&a), &["a", "b"]), 1);
        // In the wrong order.
        let late = commit(20, 30, "a", Some(1), Outcome::Done);
        let early = commit(0, 10, "b", Some(2), Outcome::Done);
        assert_eq!(violations(&[late.clone(), early], &["a", "b"]), 1);
        let early = commit(0, 10, "b", None, unknown());
        assert_eq!(violations(&[late.clone(), early.clone()], &["a", "b"]), 0);
        assert_eq!(violations(&[late, early], &["a"]), 0);
        // Read too little, and too early.
        let read = |start, end, rev| event(start, end, Action::Youngest(rev), Outcome::Done);
        assert_eq!(violations(&[a.clone(), read(11, 12, 0)], &["a"]), 1);
        assert_eq!(violations(&[a.clone(), read(5, 12, 0)], &["a"]), 0);
        let later = commit(20, 30, "a", Some(1), Outcome::Done);
        assert_eq!(violations(&[later, read(11, 12, 1)], &["a"]), 1);
    }

    #[test]
    fn lists_grow() {
        let read = |start, ids: &[&str]| {
            let ids = ids.iter().map(|id| (*id).to_owned()).collect();
            event(start, start + 1, Action::ReadList { list: 0, ids }, Outcome::Done)
        };
        let append = |start, id: &str, outcome| {
            let id = id.to_owned();
            event(start, start + 5, Action::Append { list: 0, id }, outcome)
        };
        let both = [append(0, "x", Outcome::Done), append(10, "y", Outcome::Done)];
        let with = |more: Event| violations(&[&both[..], &[more]].concat(), &[]);
        assert_eq!(with(read(20, &["x", "y"])), 0);
        assert_eq!(with(read(20, &["x"])), 1, "an acknowledged item is not seen");
        assert_eq!(with(read(20, &["y"])), 2);
        assert_eq!(
            with(append(20, "z", Outcome::Done)),
            1,
            "an acknowledged item is lost"
        );
        assert_eq!(
            with(append(10, "y", Outcome::Refused(String::new()))),
            1,
            "it was refused, and is there"
        );
    }

    #[test]
    fn locks_last_until_they_are_removed() {
        let named = |id: &str| ("f".to_owned(), id.to_owned());
        let lock = |start, id: &str| {
            let (path, id) = named(id);
            event(start, start + 5, Action::Lock { path, id }, Outcome::Done)
        };
        let unlock = |start, id: &str, outcome| {
            let (path, id) = named(id);
            event(start, start + 5, Action::Unlock { path, id }, outcome)
        };
        let read = |start, id: Option<&str>| {
            let (path, id) = ("f".to_owned(), id.map(str::to_owned));
            event(start, start + 1, Action::ReadLock { path, id }, Outcome::Done)
        };
        let done = || Outcome::Done;
        assert_eq!(violations(&[lock(0, "a"), read(10, Some("a"))], &[]), 0);
        assert_eq!(violations(&[lock(0, "a"), read(10, None)], &[]), 1);
        assert_eq!(violations(&[lock(0, "a"), lock(10, "b")], &[]), 1);
        let unknown = || Outcome::Unknown(String::new());
        assert_eq!(
            violations(&[lock(0, "a"), unlock(10, "a", unknown()), read(20, None)], &[]),
            0
        );
        let removed = [lock(0, "a"), unlock(10, "a", done()), read(20, Some("a"))];
        assert_eq!(violations(&removed, &[]), 1);
        let through = commit(10, 20, "c", Some(1), done());
        assert_eq!(violations(&[lock(0, "a"), through], &["c"]), 1);
        assert_eq!(violations(&[read(0, Some("z"))], &[]), 1);
    }
}
