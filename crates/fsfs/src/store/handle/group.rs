//! Handles that see revisions which are not current yet: those of an open group of commits, or one that is about to be published.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base::Revnum;
use base::checksum::Sha1;
use parking_lot::Mutex;

use super::{Store, StoreState};
use crate::store::cache::SharedInstance;
use crate::store::history_index::HistoryIndexSlot;
use crate::store::rep_cache::{RepCacheConnection, RepCacheRow};
use crate::store::replaced::ReplacementDetector;

/// Revisions that are written already and become current together. Only the handle that writes them sees them.
#[derive(Clone, Default)]
pub(super) struct OpenGroup {
    /// The youngest revision of the group.
    pub(super) youngest: Arc<AtomicU64>,
    /// The youngest revision whose file has its final name, see [`Store::rev_path`].
    pub(super) named: Arc<AtomicU64>,
    /// The contents of these revisions that later ones may share.
    pub(super) rows: UnsharedRows,
    /// The directory of a committed transaction, which the next one takes over.
    pub(super) spare_txn_dir: Arc<Mutex<Option<PathBuf>>>,
    /// The prepared revision of a shared filesystem that is verified before it is published.
    pub(super) prepared: Option<Arc<PreparedFiles>>,
}

/// A revision that is complete in the files of its transaction.
pub(crate) struct PreparedFiles {
    pub(crate) rev: Revnum,
    /// The proto-revision file.
    pub(crate) file: PathBuf,
    /// Its property list, in the form of a file in `db/revprops`.
    pub(crate) props: Vec<u8>,
}

/// Rows that are added to the rep-cache once their revisions are current.
pub(crate) type UnsharedRows = Arc<Mutex<HashMap<Sha1, RepCacheRow>>>;

impl Store {
    /// Returns a handle that also sees the revisions up to `youngest`, which are written but not current. It shares
    /// no cached value with other handles, because these revisions may be discarded and other ones get their numbers.
    pub(crate) fn group_view(&self, youngest: Revnum) -> Store {
        let (named, prepared) = match &self.shared.group {
            Some(group) => (
                Revnum(group.named.load(Ordering::Acquire)),
                group.prepared.clone(),
            ),
            None => (youngest, None),
        };
        self.view(named, prepared, youngest)
    }

    pub(super) fn view(
        &self,
        named: Revnum,
        prepared: Option<Arc<PreparedFiles>>,
        youngest: Revnum,
    ) -> Store {
        let group = OpenGroup {
            prepared,
            ..OpenGroup::default()
        };
        group.youngest.store(youngest.0, Ordering::Release);
        group.named.store(named.0, Ordering::Release);
        let inner = &self.shared;
        Store::of(StoreState {
            disk: inner.disk.clone(),
            shared_fs: inner.shared_fs.clone(),
            layout: inner.layout.clone(),
            format: inner.format,
            conf: inner.conf,
            uuid: inner.uuid.clone(),
            instance: SharedInstance::new(inner.cache.unnamed_instance()),
            instance_name: String::new(),
            replacement: ReplacementDetector::default(),
            cache: inner.cache.clone(),
            min_unpacked_rev: AtomicU64::new(inner.min_unpacked_rev.load(Ordering::Relaxed)),
            youngest: AtomicU64::new(youngest.0),
            rep_cache: RepCacheConnection::default(),
            history_index: HistoryIndexSlot::default(),
            committing: AtomicUsize::new(0),
            group: Some(group),
        })
    }

    /// The file of an unpacked revision. Revisions of an open group have temporary names: a file with the name of a
    /// revision would count as one in `recover` and after a crash.
    pub(crate) fn rev_path(&self, rev: Revnum) -> PathBuf {
        match (self.has_final_name(rev), self.prepared(rev)) {
            (true, _) => self.layout().rev(rev),
            (false, Some(prepared)) => prepared.file.clone(),
            (false, None) => self.group_path(rev),
        }
    }

    /// The files of a revision, if this is a handle for its verification.
    pub(crate) fn prepared(&self, rev: Revnum) -> Option<&PreparedFiles> {
        let prepared = self.shared.group.as_ref()?.prepared.as_deref()?;
        (prepared.rev == rev).then_some(prepared)
    }

    /// Returns a handle that also sees one prepared revision of a shared filesystem, the one after the youngest.
    pub(crate) fn prepared_view(&self, prepared: PreparedFiles) -> Store {
        let rev = prepared.rev;
        let youngest = self.last_youngest();
        self.view(youngest, Some(Arc::new(prepared)), rev)
    }

    /// True for a revision whose file has its final name.
    pub(crate) fn has_final_name(&self, rev: Revnum) -> bool {
        match &self.shared.group {
            Some(group) => rev.0 <= group.named.load(Ordering::Acquire),
            None => true,
        }
    }

    /// True for a handle that sees an open group with a revision: the group holds the write lock then.
    pub(crate) fn has_open_group(&self) -> bool {
        let youngest = |group: &OpenGroup| Revnum(group.youngest.load(Ordering::Acquire));
        let youngest = self.shared.group.as_ref().map(youngest);
        youngest.is_some_and(|youngest| !self.has_final_name(youngest))
    }

    /// The temporary file of a revision of an open group.
    pub(crate) fn group_path(&self, rev: Revnum) -> PathBuf {
        self.layout().file(&format!("{GROUP_PREFIX}{rev}"))
    }

    /// The file with the property list of an unpacked revision. Those of an open group have temporary names too: the incumbent
    /// writes the list of an FSX revision into the file that is there, without making it shorter first.
    pub(crate) fn revprops_path(&self, rev: Revnum) -> PathBuf {
        match self.has_final_name(rev) {
            true => self.layout().revprops(rev),
            false => self.group_revprops_path(rev),
        }
    }

    /// The temporary file with the property list of a revision of an open group.
    pub(crate) fn group_revprops_path(&self, rev: Revnum) -> PathBuf {
        self.layout().file(&format!("{GROUP_PREFIX}revprops-{rev}"))
    }

    /// Records that the files of all revisions up to `rev` have their final names.
    pub(crate) fn set_named(&self, rev: Revnum) {
        if let Some(group) = &self.shared.group {
            group.named.store(rev.0, Ordering::Release);
        }
    }

    /// True for a handle that sees an open group: no other process writes to its transactions.
    pub(crate) fn is_group_view(&self) -> bool {
        self.shared.group.is_some()
    }

    /// The contents of an open group's revisions; `None` for a handle that sees no group.
    pub(crate) fn unshared_rows(&self) -> Option<UnsharedRows> {
        self.shared.group.as_ref().map(|group| group.rows.clone())
    }

    /// Keeps the directory of a committed transaction for the next one; `None` keeps none. Returns the directory that
    /// was kept before. Handles that see no group keep none.
    pub(crate) fn replace_spare_txn_dir(&self, dir: Option<PathBuf>) -> Option<PathBuf> {
        let group = self.shared.group.as_ref()?;
        std::mem::replace(&mut *group.spare_txn_dir.lock(), dir)
    }
}

/// How the names of the files of an open group begin, as those of all temporary files in `db/` do.
pub(crate) const GROUP_PREFIX: &str = "svn-group-";
