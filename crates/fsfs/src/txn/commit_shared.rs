//! Making a transaction the next revision of a filesystem that several machines share.
//!
//! The transaction and its proto-revision file belong to this machine. The revision is prepared from the youngest revision that is
//! known, as the revision after it, and published from that state ([`SharedHeads::publish`]). If another machine was faster, the
//! publication changes nothing, and the revision is merged and prepared again. After several such attempts the other machines are
//! kept from publishing until this commit is done.
//!
//! A crash before the publication leaves an open transaction in the directory of this machine, which goes with it. A crash after
//! it leaves the revision, and the files of its transaction.
//!
//! The write lock of the machine is held from the first attempt on, so commits of one machine wait for each other in turn and do
//! not outdate each other.
//!
//! [`SharedHeads::publish`]: crate::store::shared::SharedHeads::publish

use base::hashdump::{self, Terminator};
use base::{Date, Error, Result, Revnum};

use super::commit::{ActiveCommit, CommitMode, PreparedRevision, Verify};
use super::commit_files::revprops;
use super::edit::{Committed, Txn, TxnStatus};
use crate::store::PreparedFiles;
use crate::store::guard::WriteLock;
use crate::store::shared::{NewRevision, Outcome, SharedFs};

impl Txn {
    /// Merges with what was committed since the transaction began, and publishes it as the next revision if `verify` accepts it.
    ///
    /// # Errors
    /// As [`Txn::commit`]; those of the shared storage.
    pub(super) fn commit_shared(
        &mut self,
        shared: &SharedFs,
        now: &dyn Fn() -> Date,
        verify: Verify<'_>,
    ) -> Result<Committed> {
        let fs = self.fs.clone();
        let active = ActiveCommit::begin(&fs);
        let mut prepared = None;
        if active.is_only_one() {
            self.merge_with(fs.last_youngest())?;
            prepared = Some(self.prepare(SHARED)?);
        }
        let mut lock = fs.write_lock()?;
        if lock.youngest() < fs.last_youngest() {
            lock.read_head(&fs)?;
        }
        let (mut hold, mut outdated_attempts) = (None, 0);
        loop {
            let current = match prepared.take() {
                Some(prepared) if prepared.rev == lock.youngest().next() => prepared,
                outdated => {
                    drop(outdated);
                    self.merge_with(lock.youngest())?;
                    self.prepare(SHARED)?
                }
            };
            if let Some(rev) = self.publish_shared(shared, &lock, current, now, verify)? {
                return Ok(Committed {
                    rev,
                    post_commit_error: None,
                    set_aside: Vec::new(),
                });
            }
            outdated_attempts += 1;
            if outdated_attempts >= ATTEMPTS_WITHOUT_HOLD && hold.is_none() {
                hold = Some(shared.heads.hold()?);
            }
            lock.read_head(&fs)?;
        }
    }

    /// Publishes a prepared revision from the state of `lock`; `None` if that state is outdated.
    fn publish_shared(
        &mut self,
        shared: &SharedFs,
        lock: &WriteLock,
        prepared: PreparedRevision,
        now: &dyn Fn() -> Date,
        verify: Verify<'_>,
    ) -> Result<Option<Revnum>> {
        let fs = self.fs.clone();
        let PreparedRevision {
            rev, proto, written, ..
        } = prepared;
        let state_lock = self.state.clone();
        let state = state_lock.read_recursive();
        if state.checks_locks() {
            self.check_changed_paths(&state)?;
        }
        let mut props = Vec::new();
        hashdump::write_props(&mut props, &revprops(&state, now), Terminator::End);
        if fs.conf().verify_before_commit {
            let view = fs.prepared_view(PreparedFiles {
                rev,
                file: proto.path().to_owned(),
                props: props.clone(),
            });
            verify(&view, rev)?;
        }
        let head = lock.head().ok_or_else(|| {
            Error::new(
                base::Code::FS_GENERAL,
                "The write lock has no state of the shared storage",
            )
        })?;
        let revision = NewRevision {
            rev,
            file: proto.finished_file()?,
            props,
            reps: self.sharing.rows().to_vec(),
        };
        if shared.heads.publish(head, &[revision])? == Outcome::Outdated {
            return Ok(None);
        }
        proto.give_up();
        fs.set_youngest(rev);
        self.status = TxnStatus::Ended;
        let is_small = state.has_only_root_on_disk();
        drop(state);
        self.remove_committed(is_small);
        written.fill_cache(&fs);
        Ok(Some(rev))
    }
}

/// The proto-revision file need not be durable: a crash of the machine loses its transactions.
const SHARED: CommitMode<'static> = CommitMode::Grouped("");

/// The number of outdated attempts after which other machines are kept from publishing.
const ATTEMPTS_WITHOUT_HOLD: u32 = 3;
