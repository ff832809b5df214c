//! Why this process refuses requests.
//!
//! **The database went back.** Numbers that only grow (revisions, the versions of locks and property lists, epochs) tell that the database was restored to an
//! earlier state, or that a copy took its place that lacks the last changes. What this process has in its caches then belongs to revisions that do not exist, or
//! that are made once more with other contents. It answers no more requests, is not ready, and ends.
//!
//! **Configuration that cannot be written.** Access rules and hooks of a repository have changed in the cluster, and the disk of this machine does not take them. The
//! old ones may allow what the new ones forbid. So the node answers no requests to that repository, and is not ready, until the disk has the new ones.
//!
//! What is absent: the comparison of those numbers, which is where they are read.

use std::collections::HashSet;
use std::sync::OnceLock;

use base::{Code, Error, Result};
use parking_lot::{Mutex, RwLock};

type Callback = Box<dyn Fn() + Send>;

/// The refusals of a process.
#[derive(Default)]
pub(crate) struct Refusals {
    /// What went back in the database.
    went_back: OnceLock<String>,
    /// Called when something has gone back.
    on_went_back: Mutex<Option<Callback>>,
    /// The repositories, by `sven_repository.id`, whose configuration on this machine is older than that of the cluster.
    outdated: RwLock<HashSet<i64>>,
}

impl Refusals {
    /// Checks that requests to a repository may be answered.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn check_repository(&self, id: i64) -> Result<()> {
        self.check()?;
        match self.outdated.read().contains(&id) {
            true => Err(Error::new(
                Code::FS_GENERAL,
                "The configuration of the repository was changed in the cluster, and cannot be written to the disk of this machine, which answers no requests to the \
                 repository until then",
            )),
            false => Ok(()),
        }
    }

    /// Notes the repositories whose configuration cannot be written.
    pub(crate) fn set_outdated(&self, repositories: HashSet<i64>) {
        *self.outdated.write() = repositories;
    }

    /// Checks that requests may be answered.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn check(&self) -> Result<()> {
        match self.went_back.get() {
            Some(what) => Err(went_back(what)),
            None => Ok(()),
        }
    }

    /// Notes that the database went back. `what` is a clause.
    pub(crate) fn note_went_back(&self, what: String) -> Error {
        let error = went_back(&what);
        if self.went_back.set(what).is_ok() {
            tracing::error!("{}", error.message());
            if let Some(call) = &*self.on_went_back.lock() {
                call();
            }
        }
        error
    }

    /// Calls `call` when the database went back; at once if it has.
    pub(crate) fn on_went_back(&self, call: Callback) {
        let mut slot = self.on_went_back.lock();
        if self.went_back.get().is_some() {
            call();
        }
        *slot = Some(call);
    }

    /// Why this node should get no more clients.
    pub(crate) fn why_not_ready(&self) -> Option<&'static str> {
        if self.went_back.get().is_some() {
            return Some(WENT_BACK);
        }
        let is_outdated = !self.outdated.read().is_empty();
        is_outdated.then_some(
            "the configuration of a repository was changed and cannot be written to the disk of this machine",
        )
    }
}

fn went_back(what: &str) -> Error {
    let text = format!("{WENT_BACK}: {what}. This process serves no more: start it again");
    Error::new(Code::FS_GENERAL, text)
}

const WENT_BACK: &str = "The database of the cluster was restored to an earlier state";
