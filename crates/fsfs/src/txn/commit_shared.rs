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
//! The write lock of the machine is held from the publication on, and over later attempts, so commits of one machine wait for each
//! other in turn and do not outdate each other. A long revision file is uploaded before the lock is taken; if it is outdated, the
//! lock is released and the next one uploaded, until the last attempt.
//!
//! [`SharedHeads::publish`]: crate::store::shared::SharedHeads::publish

use std::sync::Arc;

use base::hashdump::{self, Terminator};
use base::{Date, Error, Result, Revnum};

use super::commit::{ActiveCommit, CommitMode, PreparedRevision, Verify};
use super::commit_files::revprops;
use super::edit::{Committed, Txn, TxnStatus};
use crate::store::PreparedFiles;
use crate::store::disk::DiskFile;
use crate::store::guard::WriteLock;
use crate::store::shared::{NewRevision, Outcome, SharedFs, Uploaded};

/// A prepared revision, and where the shared storage has its file already.
struct PreparedShared {
    prepared: PreparedRevision,
    file: Arc<dyn DiskFile>,
    uploaded: Option<Uploaded>,
}

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
        let is_long = shared.blobs.is_uploaded_ahead(self.proto.length());
        let (mut held, mut hold, mut outdated_attempts) = (None, None, 0);
        loop {
            let mut ahead = None;
            if held.is_none() && (is_long || active.is_only_one()) {
                self.merge_with(fs.last_youngest())?;
                ahead = Some(self.prepare_shared(shared)?);
            }
            let lock = match &mut held {
                Some(lock) => lock,
                none => none.insert(fs.write_lock()?),
            };
            if lock.youngest() < fs.last_youngest() {
                lock.read_head(&fs)?;
            }
            let next = lock.youngest().next();
            let is_current = ahead.as_ref().is_some_and(|ahead| ahead.prepared.rev == next);
            if is_current || !is_long || hold.is_some() {
                let current = match ahead {
                    Some(ahead) if is_current => ahead,
                    outdated => {
                        drop(outdated);
                        self.merge_with(lock.youngest())?;
                        self.prepare_shared(shared)?
                    }
                };
                if let Some(rev) = self.publish_shared(shared, lock, current, now, verify)? {
                    return Ok(Committed {
                        rev,
                        post_commit_error: None,
                        set_aside: Vec::new(),
                    });
                }
                lock.read_head(&fs)?;
            }
            outdated_attempts += 1;
            if outdated_attempts >= ATTEMPTS_WITHOUT_HOLD && hold.is_none() {
                hold = Some(shared.heads.hold()?);
                lock.read_head(&fs)?;
            } else if is_long && hold.is_none() {
                held = None;
            }
        }
    }

    /// Writes the whole revision file, and uploads it if it is long.
    fn prepare_shared(&mut self, shared: &SharedFs) -> Result<PreparedShared> {
        let prepared = self.prepare(SHARED)?;
        let file = prepared.proto.finished_file()?;
        let uploaded = shared.blobs.upload_ahead(prepared.rev, &*file)?;
        Ok(PreparedShared {
            prepared,
            file,
            uploaded,
        })
    }

    /// Publishes a prepared revision from the state of `lock`; `None` if that state is outdated.
    fn publish_shared(
        &mut self,
        shared: &SharedFs,
        lock: &WriteLock,
        prepared: PreparedShared,
        now: &dyn Fn() -> Date,
        verify: Verify<'_>,
    ) -> Result<Option<Revnum>> {
        let fs = self.fs.clone();
        let PreparedShared {
            prepared,
            file,
            uploaded,
        } = prepared;
        let PreparedRevision {
            rev, proto, written, ..
        } = prepared;
        let state_lock = self.state.clone();
        let state = state_lock.read_recursive();
        self.check_changed_paths(&state)?;
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
            file,
            props,
            reps: self.sharing.rows().to_vec(),
            uploaded,
        };
        if shared.heads.publish(head, &[revision])? == Outcome::Outdated {
            return Ok(None);
        }
        proto.give_up();
        fs.set_youngest(rev);
        self.status = TxnStatus::Ended;
        let is_small = state.has_only_root_on_disk();
        drop(state);
        // The revision has a copy of it. As in `remove_committed`, a failure to remove it is no failure of the commit.
        _ = fs.disk().remove_file(&fs.layout().proto_rev(self.id));
        self.remove_committed(is_small);
        written.fill_cache(&fs);
        Ok(Some(rev))
    }
}

/// The proto-revision file need not be durable: a crash of the machine loses its transactions.
const SHARED: CommitMode<'static> = CommitMode::Grouped("");

/// The number of outdated attempts after which other machines are kept from publishing.
const ATTEMPTS_WITHOUT_HOLD: u32 = 3;
