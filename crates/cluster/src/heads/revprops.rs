//! Revision properties: lists in rows, and those in memory that are known to be current.
//!
//! The row of the repository has a version that grows with each change, and a table says which revision each version is about. A
//! node that sees a new version forgets the lists of these revisions, and no others.

use std::collections::HashMap;
use std::sync::Arc;

use base::{Code, Error, Result, Revnum};
use fsfs::shared::{Outcome, SharedHeads as _};
use parking_lot::Mutex;

use super::{DONE, Heads, NO_REVISION, OUTDATED, missing};
use crate::database::{StepError, sql_error};

/// The lists in memory.
#[derive(Default)]
pub(super) struct RevpropCache(Mutex<CachedLists>);

#[derive(Default)]
struct CachedLists {
    /// The version up to which changes were taken into account.
    version: u64,
    lists: HashMap<Revnum, Arc<[u8]>>,
    /// Bytes of `lists`.
    bytes: usize,
}

impl RevpropCache {
    /// Returns the list of a revision, if it is in memory and current at this version.
    pub(super) fn get(&self, rev: Revnum, version: u64) -> Option<Arc<[u8]>> {
        let cached = self.0.lock();
        match cached.version >= version {
            true => cached.lists.get(&rev).cloned(),
            false => None,
        }
    }

    pub(super) fn version(&self) -> u64 {
        self.0.lock().version
    }

    /// Takes changes into account: the lists of `revs` changed after `from` and up to `to`.
    fn forget(&self, from: u64, to: u64, revs: &[Revnum]) {
        let mut cached = self.0.lock();
        if cached.version >= to {
            return;
        }
        if cached.version < from {
            cached.lists.clear();
            cached.bytes = 0;
        }
        for rev in revs {
            if let Some(list) = cached.lists.remove(rev) {
                cached.bytes -= list.len() + OVERHEAD;
            }
        }
        cached.version = to;
    }

    /// Takes lists that were read when the version was `version` or later. Lists that were read before a later change may be old.
    pub(super) fn insert(&self, version: u64, lists: &[(Revnum, Arc<[u8]>)]) {
        let mut cached = self.0.lock();
        if cached.version != version {
            return;
        }
        if cached.bytes > MAX_BYTES {
            cached.lists.clear();
            cached.bytes = 0;
        }
        for (rev, list) in lists {
            cached.bytes += list.len() + OVERHEAD;
            if let Some(old) = cached.lists.insert(*rev, list.clone()) {
                cached.bytes -= old.len() + OVERHEAD;
            }
        }
    }
}

impl Heads {
    pub(super) fn read_revprops(&self, revs: &[Revnum]) -> Vec<Result<Arc<[u8]>>> {
        let failed = |e: &Error| revs.iter().map(|_| Err(e.clone())).collect();
        let version = match self.current_revprops_version() {
            Ok(version) => version,
            Err(e) => return failed(&e),
        };
        let mut found: HashMap<Revnum, Arc<[u8]>> = HashMap::new();
        let mut wanted = Vec::new();
        for rev in revs {
            match self.0.revprops.get(*rev, version) {
                Some(list) => _ = found.insert(*rev, list),
                None => wanted.push(*rev),
            }
        }
        for some in wanted.chunks(LISTS_PER_QUESTION) {
            match self.select(some) {
                Ok(lists) => {
                    self.0.revprops.insert(version, &lists);
                    found.extend(lists);
                }
                Err(e) => return failed(&e),
            }
        }
        let list = |rev: &Revnum| {
            let list = found.get(rev).cloned();
            list.ok_or_else(|| no_such_revision(*rev))
        };
        revs.iter().map(list).collect()
    }

    /// Brings the memory up to date, and returns the version that it has.
    fn current_revprops_version(&self) -> Result<u64> {
        let head = self.recent_head()?;
        let known = self.0.revprops.version();
        if known >= head.revprops_version {
            return Ok(known);
        }
        let (id, from) = (self.0.id, i64::try_from(known).unwrap_or(i64::MAX));
        let to = i64::try_from(head.revprops_version).unwrap_or(i64::MAX);
        let rows =
            self.0
                .cluster
                .database
                .run("read changes of revision properties", |client| async move {
                    let statement = client.prepare_cached(SELECT_CHANGES).await?;
                    client.query(&statement, &[&id, &from, &to, &MAX_CHANGES]).await
                })?;
        let mut revs = Vec::with_capacity(rows.len());
        for row in &rows {
            let rev: i64 = row.try_get(0).map_err(sql_error)?;
            revs.push(Revnum(u64::try_from(rev).unwrap_or_default()));
        }
        // With more changes than are worth reading, nothing in memory is trusted.
        let from = match revs.len() as i64 >= MAX_CHANGES {
            true => head.revprops_version,
            false => known,
        };
        self.0.revprops.forget(from, head.revprops_version, &revs);
        Ok(head.revprops_version)
    }

    fn select(&self, revs: &[Revnum]) -> Result<Vec<(Revnum, Arc<[u8]>)>> {
        let id = self.0.id;
        let numbers: Vec<i64> = revs
            .iter()
            .map(|rev| i64::try_from(rev.0).unwrap_or(i64::MAX))
            .collect();
        let rows = self
            .0
            .cluster
            .database
            .run("read revision properties", |client| {
                let numbers = numbers.clone();
                async move {
                    let statement = client.prepare_cached(SELECT_LISTS).await?;
                    client.query(&statement, &[&id, &numbers]).await
                }
            })?;
        rows.iter()
            .map(|row| {
                let rev: i64 = row.try_get(0).map_err(sql_error)?;
                let list: Vec<u8> = row.try_get(1).map_err(sql_error)?;
                Ok((Revnum(u64::try_from(rev).unwrap_or_default()), list.into()))
            })
            .collect()
    }

    pub(super) fn replace(&self, rev: Revnum, old: &[u8], new: &[u8]) -> Result<Outcome> {
        let version = self.current_revprops_version()?;
        let (id, from) = (self.0.id, i64::try_from(version).unwrap_or(i64::MAX));
        let target = i64::try_from(rev.0).unwrap_or(i64::MAX);
        let (old, new) = (old.to_vec(), new.to_vec());
        let change = uuid::Uuid::new_v4();
        let changed = self.0.cluster.database.run_once(|client| {
            let (old, new) = (old.clone(), new.clone());
            async move {
                let statement = client.prepare_cached(REPLACE).await?;
                let row = client
                    .query_one(&statement, &[&id, &from, &target, &old, &new, &change])
                    .await?;
                row.try_get::<_, i32>(0)
            }
        });
        let result = match changed {
            Ok(result) => result,
            Err(StepError::Refused(e)) => return Err(e),
            Err(StepError::Lost(_)) => match self.settle(RAISE_REVPROPS_VERSION, change)? {
                Outcome::Done => DONE,
                Outcome::Outdated => OUTDATED,
            },
        };
        match result {
            DONE => {
                self.wait_for_old_states();
                Ok(Outcome::Done)
            }
            OUTDATED => {
                // The next attempt is to see the version that has refused this one.
                self.head(std::time::Duration::ZERO)?;
                Ok(Outcome::Outdated)
            }
            NO_REVISION => Err(no_such_revision(rev)),
            _ => Err(missing(self.0.instance)),
        }
    }

    /// Waits until no node uses a state from before now.
    pub(super) fn wait_for_old_states(&self) {
        std::thread::sleep(self.0.cluster.settings.staleness());
    }
}

fn no_such_revision(rev: Revnum) -> Error {
    Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}"))
}

const SELECT_CHANGES: &str =
    "SELECT rev FROM sven_revprop_change WHERE repository = $1 AND version > $2 AND version <= $3 LIMIT $4";
const SELECT_LISTS: &str = "SELECT rev, props FROM sven_revision WHERE repository = $1 AND rev = ANY ($2)";
const REPLACE: &str = "SELECT sven_replace_props_1($1, $2, $3, $4, $5, $6)";
const RAISE_REVPROPS_VERSION: &str =
    "UPDATE sven_repository SET revprops_version = revprops_version + 1 WHERE id = $1";

/// Changes that are read one by one at most.
const MAX_CHANGES: i64 = 10_000;
/// Lists in one question.
const LISTS_PER_QUESTION: usize = 1000;
/// Bytes of lists in memory, for one repository.
const MAX_BYTES: usize = 16 << 20;
/// Bytes that a list takes besides its own.
const OVERHEAD: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Arc<[u8]> {
        text.as_bytes().into()
    }

    #[test]
    fn lists_that_may_be_old_are_not_kept() {
        let cache = RevpropCache::default();
        cache.forget(0, 3, &[]);
        cache.insert(3, &[(Revnum(1), list("a")), (Revnum(2), list("b"))]);
        assert_eq!(cache.get(Revnum(1), 3), Some(list("a")));
        assert_eq!(cache.get(Revnum(1), 4), None, "version 4 may have changed it");
        cache.forget(3, 4, &[Revnum(1)]);
        assert_eq!(
            (cache.get(Revnum(1), 4), cache.get(Revnum(2), 4)),
            (None, Some(list("b")))
        );
        // Read before the change that is known by now.
        cache.insert(3, &[(Revnum(1), list("a"))]);
        assert_eq!(cache.get(Revnum(1), 4), None);
        // A gap in the known changes.
        cache.forget(6, 7, &[]);
        assert_eq!(cache.get(Revnum(2), 7), None);
    }
}
