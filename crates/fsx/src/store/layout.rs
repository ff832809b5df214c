//! The paths of all files below `db/`. Source: section 2 of the description of FSX.

use std::path::{Path, PathBuf};

use base::Revnum;
use base::number::push_base36;

/// The names below `db/`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    db: PathBuf,
    shard_size: u64,
}

impl Layout {
    pub(crate) fn new(db: &Path, shard_size: u64) -> Self {
        Layout {
            db: db.to_owned(),
            shard_size,
        }
    }

    /// `db/` itself.
    pub(crate) fn db(&self) -> &Path {
        &self.db
    }

    /// The number of revisions in a shard.
    pub(crate) fn shard_size(&self) -> u64 {
        self.shard_size
    }

    /// The first revision of the shard of a revision.
    pub(crate) fn first_of_shard(&self, rev: Revnum) -> Revnum {
        Revnum(rev.0 - rev.0 % self.shard_size)
    }

    /// A file directly in `db/`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.db.join(name)
    }

    /// The file of one unpacked revision.
    pub(crate) fn rev(&self, rev: Revnum) -> PathBuf {
        self.db.join(format!("revs/{}/r{rev}", rev.0 / self.shard_size))
    }

    /// The properties of one unpacked revision.
    pub(crate) fn revprops(&self, rev: Revnum) -> PathBuf {
        self.db.join(format!("revs/{}/p{rev}", rev.0 / self.shard_size))
    }

    /// A file of the packed shard of a revision: `pack`, `manifest`, a pack of revision properties, or `p0`.
    pub(crate) fn packed(&self, rev: Revnum, name: &str) -> PathBuf {
        self.db
            .join(format!("revs/{}.pack/{name}", rev.0 / self.shard_size))
    }

    /// The directory with all transactions.
    pub(crate) fn transactions(&self) -> PathBuf {
        self.db.join("transactions")
    }

    /// A file of a transaction.
    pub(crate) fn txn_file(&self, txn: u64, name: &str) -> PathBuf {
        self.db.join(format!("transactions/{}.txn/{name}", txn_name(txn)))
    }

    /// The texts of a transaction.
    pub(crate) fn proto_rev(&self, txn: u64) -> PathBuf {
        self.db.join(format!("txn-protorevs/{}.rev", txn_name(txn)))
    }
}

/// The name of a transaction.
pub(crate) fn txn_name(txn: u64) -> String {
    let mut name = String::new();
    push_base36(&mut name, txn);
    name
}
