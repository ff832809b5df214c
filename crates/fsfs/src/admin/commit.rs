//! Commits with the options of `fsfs.conf`: verification before the commit, and packing after it.

use base::{Cancel, Date, Error, Result, Revnum};

use crate::admin::{pack, verify};
use crate::tree::Fs;
use crate::txn::{CommitGroup, Committed, Txn};

impl Txn {
    /// Merges with what was committed since the transaction began, and makes it the next revision.
    ///
    /// With `verify-before-commit`, a damaged revision is not committed. With `pack-after-commit`, a shard that the revision
    /// completes is packed; an error of that is a `post_commit_error`.
    ///
    /// # Errors
    /// `FS_CONFLICT` with the path; those of locks; the system's. The transaction still exists then.
    pub fn commit(&mut self, now: &dyn Fn() -> Date) -> Result<Committed> {
        let mut committed = self.commit_if(now, &verify_if_configured)?;
        if let Err(e) = pack_if_configured(&self.fs) {
            committed.post_commit_error = Some(match committed.post_commit_error {
                Some(first) => first.compose(e),
                None => e,
            });
        }
        Ok(committed)
    }
}

impl CommitGroup {
    /// Makes a transaction the next revision of the group. With `verify-before-commit`, a damaged revision is not committed.
    ///
    /// # Errors
    /// As [`Txn::commit`]. After any error the group accepts no more commits; those before it can still be flushed.
    pub fn commit(&mut self, txn: Txn, now: &dyn Fn() -> Date) -> Result<Committed> {
        self.commit_if(txn, now, &verify_if_configured)
    }

    /// Makes the group durable and visible. With `pack-after-commit`, the shards that it completes are packed.
    ///
    /// # Errors
    /// As [`CommitGroup::flush`], and those of packing.
    pub fn flush_and_pack(&mut self) -> Result<()> {
        self.flush()?;
        pack_if_configured(self.committed_fs())
    }
}

/// Packs complete shards, if `pack-after-commit` is set.
fn pack_if_configured(fs: &Fs) -> Result<()> {
    match fs.conf().pack_after_commit && !fs.is_shared() {
        true => pack::run(fs, &mut |_| {}, &Cancel::new()),
        false => Ok(()),
    }
}

/// Verifies a revision that `current` does not name yet, if `verify-before-commit` is set.
fn verify_if_configured(fs: &Fs, rev: Revnum) -> Result<()> {
    if !fs.conf().verify_before_commit {
        return Ok(());
    }
    let mut first = FirstError(None);
    verify::run(
        &fs.group_view(rev),
        &verify::VerifyOptions::range(rev, rev),
        &mut first,
    )?;
    match first.0 {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Stops a verification at its first error.
struct FirstError(Option<Error>);

impl verify::VerifyObserver for FirstError {
    fn progress(&mut self, _: verify::VerifyProgress) {}

    fn failed(&mut self, _: Option<Revnum>, error: &Error) -> std::ops::ControlFlow<()> {
        self.0.get_or_insert_with(|| error.clone());
        std::ops::ControlFlow::Break(())
    }

    fn warn(&mut self, _: Revnum, _: &verify::VerifyWarning) {}
}
