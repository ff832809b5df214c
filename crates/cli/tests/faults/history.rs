//! What clients have asked for, when, and what they were answered.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use base::{Code, Error};
use parking_lot::{Condvar, Mutex};
use rand::{RngCore as _, SeedableRng as _};

/// One request, or a few that belong together.
#[derive(Clone, Debug)]
pub struct Event {
    /// Before the request was sent.
    pub start: Instant,
    /// After the answer.
    pub end: Instant,
    /// The URL that the client has opened.
    pub url: String,
    /// What was asked for, with what was read.
    pub action: Action,
    /// What became of it. Reads are `Done`: those that fail are not recorded.
    pub outcome: Outcome,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Done,
    /// It was refused for a reason that excludes that it was made.
    Refused(String),
    /// Another error: it may have been made, or may be made later.
    Unknown(String),
}

/// What was asked for. An `id` names one change of the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A commit of one file.
    Commit {
        /// The log message.
        id: String,
        /// The file.
        path: String,
        /// The revision, if it was acknowledged.
        rev: Option<u64>,
        /// The lock whose token was sent.
        lock: Option<String>,
        /// True if the lock was to be removed.
        unlocks: bool,
    },
    /// The youngest revision was read.
    Youngest(u64),
    /// A file was read, of a revision.
    Read {
        /// The file.
        path: String,
        /// The revision.
        rev: u64,
        /// False if the revision was in the request.
        is_youngest: bool,
        /// The commit that has made the text; `None` for an empty file.
        id: Option<String>,
    },
    /// An item was added to the end of a list, which is a property of revision 0.
    Append {
        /// The number of the list.
        list: usize,
        /// The item.
        id: String,
    },
    /// A list was read.
    ReadList {
        /// The number of the list.
        list: usize,
        /// Its items.
        ids: Vec<String>,
    },
    /// A lock, with `id` as its comment.
    Lock {
        /// The file.
        path: String,
        /// The lock.
        id: String,
    },
    /// The lock was to be removed.
    Unlock {
        /// The file.
        path: String,
        /// The lock.
        id: String,
    },
    /// The lock of a file was read.
    ReadLock {
        /// The file.
        path: String,
        /// Its lock.
        id: Option<String>,
    },
}

/// All events of a run, and how many commits each node has acknowledged.
#[derive(Debug, Default)]
pub struct History {
    events: Mutex<Vec<Event>>,
    commits: Mutex<Vec<u64>>,
    committed: Condvar,
}

impl History {
    /// Records an event.
    pub fn add(&self, event: Event) {
        self.events.lock().push(event);
    }

    /// Notes that a node has acknowledged a commit.
    pub fn note_commit(&self, node: usize) {
        let mut commits = self.commits.lock();
        if commits.len() <= node {
            commits.resize(node + 1, 0);
        }
        commits[node] += 1;
        self.committed.notify_all();
    }

    /// Waits until each of `nodes` nodes has acknowledged `count` more commits. Returns the first that has not after `limit`.
    pub fn wait_for_commits(&self, nodes: usize, count: u64, limit: Duration) -> Result<(), usize> {
        let mut commits = self.commits.lock();
        let known = commits.len();
        commits.resize(nodes.max(known), 0);
        let wanted: Vec<u64> = commits.iter().map(|before| before + count).collect();
        let end = Instant::now() + limit;
        loop {
            let late = commits.iter().zip(&wanted).position(|(have, want)| have < want);
            let Some(late) = late else { return Ok(()) };
            if self.committed.wait_until(&mut commits, end).timed_out() {
                return Err(late);
            }
        }
    }

    /// Returns the events.
    pub fn into_events(self) -> Vec<Event> {
        self.events.into_inner()
    }
}

impl Outcome {
    /// The outcome of an error. `is_once` says that the client has sent the change once: a repeated one may be refused because of the
    /// first.
    pub fn of(error: &Error, is_once: bool) -> Outcome {
        let refusals = [
            Code::FS_CONFLICT,
            Code::FS_TXN_OUT_OF_DATE,
            Code::FS_OUT_OF_DATE,
            Code::RA_OUT_OF_DATE,
            Code::FS_PATH_ALREADY_LOCKED,
            Code::FS_BAD_LOCK_TOKEN,
            Code::FS_NO_LOCK_TOKEN,
            Code::FS_NO_SUCH_LOCK,
            Code::FS_PROP_BASEVALUE_MISMATCH,
        ];
        match is_once && refusals.iter().any(|code| error.has(*code)) {
            true => Outcome::Refused(error.to_string()),
            false => Outcome::Unknown(error.to_string()),
        }
    }
}

/// Returns the text that a commit gives a file whose text before was made by `before`. The number at the end of the name is the
/// number of random bytes.
pub fn text_of(id: &str, before: Option<&str>) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(hasher.finish());
    let length = id.rsplit('-').next().and_then(|length| length.parse().ok());
    let mut bytes = vec![0; length.unwrap_or(0)];
    random.fill_bytes(&mut bytes);
    let mut text = format!("{id}\n{}\n", before.unwrap_or_default()).into_bytes();
    text.extend(bytes);
    text
}

/// Returns the commit that has made a text, and the one before it.
///
/// # Errors
/// If no commit makes such a text.
pub fn made_by(text: &[u8]) -> Result<(Option<String>, Option<String>), String> {
    if text.is_empty() {
        return Ok((None, None));
    }
    let mut lines = text.splitn(3, |byte| *byte == b'\n');
    let mut line = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (id, before) = (line(), Some(line()).filter(|before| !before.is_empty()));
    match text_of(&id, before.as_deref()) == text {
        true => Ok((Some(id), before)),
        false => Err(format!("a text of {} bytes is not that of '{id}'", text.len())),
    }
}
