//! The paths of all files below `db/`, in the linear or sharded layout.
//!
//! Pure computation on names. Whether a revision is packed is not part of it, because that changes while the
//! filesystem is open (see `rev_file`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base::Revnum;

use crate::format::fs_format::{BackEnd, FsFormat};
use crate::format::fsx::id::FsxId;
use crate::format::id::{IdPart, NodeRevId, TxnId};

/// The names below `db/`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    db: PathBuf,
    format: FsFormat,
}

impl Layout {
    pub(crate) fn new(db: &Path, format: FsFormat) -> Self {
        Layout {
            db: db.to_owned(),
            format,
        }
    }

    /// `db/` itself.
    pub(crate) fn db(&self) -> &Path {
        &self.db
    }

    /// A file or directory directly in `db/`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.db.join(name)
    }

    /// The directory of the history index.
    pub(crate) fn history_index(&self) -> PathBuf {
        self.db.join("sven-history-index")
    }

    /// The shard of a revision; `None` in the linear layout.
    pub(crate) fn shard(&self, rev: Revnum) -> Option<u64> {
        rev.0.checked_div(self.format.shard_size)
    }

    /// The file of one unpacked revision.
    pub(crate) fn rev(&self, rev: Revnum) -> PathBuf {
        match self.format.back_end {
            BackEnd::Fsfs => self.revision_file("revs", "", rev),
            BackEnd::Fsx => self.revision_file("revs", "r", rev),
        }
    }

    /// The pack file of a shard.
    pub(crate) fn pack(&self, shard: u64) -> PathBuf {
        self.db.join(format!("revs/{shard}.pack/pack"))
    }

    /// The manifest of a packed shard (physical addressing).
    pub(crate) fn manifest(&self, shard: u64) -> PathBuf {
        self.db.join(format!("revs/{shard}.pack/manifest"))
    }

    /// The file with the properties of one unpacked revision.
    pub(crate) fn revprops(&self, rev: Revnum) -> PathBuf {
        match self.format.back_end {
            BackEnd::Fsfs => self.revision_file("revprops", "", rev),
            BackEnd::Fsx => self.revision_file("revs", "p", rev),
        }
    }

    /// The directory with the packed properties of a shard.
    pub(crate) fn revprops_pack_dir(&self, shard: u64) -> PathBuf {
        match self.format.back_end {
            BackEnd::Fsfs => self.db.join(format!("revprops/{shard}.pack")),
            BackEnd::Fsx => self.db.join(format!("revs/{shard}.pack")),
        }
    }

    /// The directory with all transactions.
    pub(crate) fn transactions(&self) -> PathBuf {
        self.db.join("transactions")
    }

    /// The directory of one transaction.
    pub(crate) fn txn(&self, txn: &str) -> PathBuf {
        self.db.join(format!("transactions/{txn}.txn"))
    }

    /// The file of an uncommitted node-revision.
    pub(crate) fn txn_node(&self, txn: TxnId, node: IdPart, copy: IdPart) -> PathBuf {
        self.txn_node_file(txn, node, copy, "")
    }

    /// The entries of a directory that a transaction has changed.
    pub(crate) fn txn_children(&self, txn: TxnId, node: IdPart, copy: IdPart) -> PathBuf {
        self.txn_node_file(txn, node, copy, ".children")
    }

    /// The property list of a node that a transaction has changed.
    pub(crate) fn txn_node_props(&self, txn: TxnId, node: IdPart, copy: IdPart) -> PathBuf {
        self.txn_node_file(txn, node, copy, ".props")
    }

    fn txn_node_file(&self, txn: TxnId, node: IdPart, copy: IdPart, suffix: &str) -> PathBuf {
        let name = match self.format.back_end {
            BackEnd::Fsfs => format!("node.{node}.{copy}{suffix}"),
            BackEnd::Fsx => format!("node.{}{suffix}", NodeRevId::of_txn_item(txn, node.number())),
        };
        self.txn(&txn.to_string()).join(name)
    }

    /// The uncommitted node-revision that a file of a transaction's directory is; `None` for any other file.
    pub(crate) fn txn_node_of_file(&self, txn: TxnId, name: &str) -> Option<(IdPart, IdPart)> {
        let rest = name.strip_prefix("node.")?;
        match self.format.back_end {
            BackEnd::Fsfs => {
                // `node.<node-id>.<copy-id>`; a further dot marks children or properties.
                let (node, copy) = rest.split_once('.')?;
                Some((IdPart::parse(node.as_bytes())?, IdPart::parse(copy.as_bytes())?))
            }
            BackEnd::Fsx => {
                let id = FsxId::parse(rest.as_bytes()).ok()?.noderev_id();
                (id.txn() == Some(txn)).then_some((id.node, id.copy))
            }
        }
    }

    /// The proto-revision file, which becomes the revision file.
    pub(crate) fn proto_rev(&self, txn: TxnId) -> PathBuf {
        if self.format.has_protorevs_dir() {
            self.db.join(format!("txn-protorevs/{txn}.rev"))
        } else {
            self.txn(&txn.to_string()).join("rev")
        }
    }

    /// The lock file that a writer of the proto-revision file must hold.
    pub(crate) fn proto_rev_lock(&self, txn: TxnId) -> PathBuf {
        if self.format.has_protorevs_dir() {
            self.db.join(format!("txn-protorevs/{txn}.rev-lock"))
        } else {
            self.txn(&txn.to_string()).join("rev-lock")
        }
    }

    /// `kind` is the directory with all shards, `prefix` how the name of the file begins.
    fn revision_file(&self, kind: &str, prefix: &str, rev: Revnum) -> PathBuf {
        // Every walk makes two paths for each revision: this makes one allocation for a path.
        let mut path = PathBuf::with_capacity(self.db.as_os_str().len() + 48);
        path.push(&self.db);
        let name = path.as_mut_os_string();
        name.push("/");
        name.push(kind);
        if let Some(shard) = self.shard(rev) {
            name.push("/");
            push_number(name, shard);
        }
        name.push("/");
        name.push(prefix);
        push_number(name, rev.0);
        path
    }
}

/// Appends a number.
fn push_number(name: &mut OsString, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut at, mut rest) = (digits.len(), number);
    while rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name.push(str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_and_packs() {
        let sharded = FsFormat {
            number: 8,
            shard_size: 4,
            logical: true,
            ..FsFormat::MISSING_FILE
        };
        let layout = Layout::new(Path::new("/r/db"), sharded);
        assert_eq!(layout.rev(Revnum(7)), Path::new("/r/db/revs/1/7"));
        assert_eq!(layout.pack(1), Path::new("/r/db/revs/1.pack/pack"));
        let linear = Layout::new(
            Path::new("/r/db"),
            FsFormat {
                shard_size: 0,
                ..sharded
            },
        );
        assert_eq!(linear.rev(Revnum(7)), Path::new("/r/db/revs/7"));
        assert_eq!(linear.revprops(Revnum(0)), Path::new("/r/db/revprops/0"));
        assert_eq!(
            linear.rev(Revnum(u64::MAX)),
            Path::new("/r/db/revs/18446744073709551615")
        );
        assert_eq!(linear.shard(Revnum(7)), None);
        let txn = TxnId::parse(b"7-1b").expect("a name");
        let node = layout.txn_children(txn, IdPart::temporary(4), IdPart::ROOT);
        assert_eq!(node, Path::new("/r/db/transactions/7-1b.txn/node._4.0.children"));
        assert_eq!(layout.proto_rev(txn), Path::new("/r/db/txn-protorevs/7-1b.rev"));
        let old = Layout::new(
            Path::new("/r/db"),
            FsFormat {
                number: 2,
                ..FsFormat::MISSING_FILE
            },
        );
        assert_eq!(old.proto_rev(txn), Path::new("/r/db/transactions/7-1b.txn/rev"));
    }

    #[test]
    fn files_of_fsx() {
        let layout = Layout::new(Path::new("/r/db"), FsFormat::fsx(4));
        assert_eq!(layout.rev(Revnum(7)), Path::new("/r/db/revs/1/r7"));
        assert_eq!(layout.revprops(Revnum(7)), Path::new("/r/db/revs/1/p7"));
        assert_eq!(layout.revprops_pack_dir(1), Path::new("/r/db/revs/1.pack"));
        let txn = TxnId::of_fsx(96);
        let node = layout.txn_children(txn, IdPart::temporary(2), IdPart::ABSENT);
        assert_eq!(node, Path::new("/r/db/transactions/2o.txn/node.2-2q.children"));
        assert_eq!(layout.proto_rev(txn), Path::new("/r/db/txn-protorevs/2o.rev"));
        let node_of = |name| layout.txn_node_of_file(txn, name);
        assert_eq!(node_of("node.2-2q"), Some(txn.root()));
        for other in ["node.2-2r", "node.2+2", "node.2-2q.children", "changes"] {
            assert_eq!(node_of(other), None);
        }
    }
}
