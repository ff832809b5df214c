//! The open transactions and their properties.
//!
//! Each open transaction is a directory in `db/transactions`. Another process may commit or abort it at any moment: then it does
//! not exist any more.

use std::io;
use std::sync::Arc;

use base::number::{parse_base36, push_base36};
use base::{Code, Error, Props, Result, Revnum};

use crate::format::fs_format::BackEnd;
use crate::format::id::TxnId;
use crate::store::shared::{SharedNodes, TxnOwner};
use crate::tree::Fs;

impl Fs {
    /// Returns the names of the open transactions, oldest base first.
    ///
    /// # Errors
    /// The system's, if `db/transactions` cannot be read.
    pub fn list_txns(&self) -> Result<Vec<String>> {
        let dir = self.layout().transactions();
        let names = self
            .disk()
            .list(&dir)
            .map_err(|e| Error::io("Can't open directory", &dir, &e))?;
        let mut txns: Vec<(Option<TxnId>, String)> = Vec::new();
        for name in names {
            // Other names are no transactions.
            if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(TXN_SUFFIX)) {
                txns.push((self.parse_txn_name(name).ok(), name.to_owned()));
            }
        }
        txns.sort();
        Ok(txns.into_iter().map(|(_, name)| name).collect())
    }

    /// Returns the properties of a transaction, with those that Subversion uses as flags.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`, `MALFORMED_FILE`, the system's.
    pub fn txn_props(&self, txn: &str) -> Result<Props> {
        if let Some(tree) = self.open_txns().tree(self.check_txn(txn)?) {
            return Ok(Props::clone(&tree.txn_props()));
        }
        self.stored_txn_props(txn)
    }

    /// Parses the name of a transaction and checks that it exists.
    pub(crate) fn check_txn(&self, name: &str) -> Result<TxnId> {
        let txn = self.parse_txn_name(name)?;
        let path = self.layout().txn(name);
        match self.disk().metadata(&path) {
            Ok(meta) if meta.is_dir => Ok(txn),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::io("Can't check path", &path, &e))
            }
            _ => Err(Error::new(
                Code::FS_NO_SUCH_TRANSACTION,
                format!("No such transaction '{name}'"),
            )),
        }
    }

    /// Returns the machine that has a transaction of this name open, where several share the filesystem. A name that is none is
    /// this machine's.
    ///
    /// # Errors
    /// Those of the shared storage.
    pub fn txn_owner(&self, name: &str) -> Result<TxnOwner> {
        match (self.shared_fs(), TxnId::parse(name.as_bytes())) {
            (Some(shared), Ok(txn)) => shared.nodes.txn_owner(txn.number),
            _ => Ok(TxnOwner::This),
        }
    }

    /// The machines of a shared filesystem; `None` for a filesystem of files.
    pub fn shared_nodes(&self) -> Option<&Arc<dyn SharedNodes>> {
        self.shared_fs().map(|shared| &shared.nodes)
    }

    /// Returns the name of a transaction.
    pub(super) fn txn_name(&self, base: Revnum, number: u64) -> String {
        let mut name = match self.format().back_end {
            BackEnd::Fsfs => format!("{base}-"),
            BackEnd::Fsx => String::new(),
        };
        push_base36(&mut name, number);
        name
    }

    /// Parses the name of a transaction.
    pub(super) fn parse_txn_name(&self, name: &str) -> Result<TxnId> {
        match self.format().back_end {
            BackEnd::Fsfs => TxnId::parse(name.as_bytes())
                .map_err(|_| Error::new(Code::FS_MALFORMED_TXN_ID, format!("malformed txn id '{name}'"))),
            BackEnd::Fsx => {
                let is_base36 = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
                if name.is_empty() || !name.bytes().all(is_base36) {
                    let text = format!("Malformed TXN name '{name}'");
                    return Err(Error::new(Code::INCORRECT_PARAMS, text));
                }
                let number = parse_base36(name.as_bytes()).filter(|&number| number < i64::MAX as u64);
                number.map(TxnId::of_fsx).ok_or_else(|| {
                    let text = format!("No such transaction '{name}'");
                    Error::new(Code::FS_NO_SUCH_TRANSACTION, text)
                })
            }
        }
    }

    /// Reads the properties of a transaction from its file.
    pub(super) fn stored_txn_props(&self, txn: &str) -> Result<Props> {
        let path = self.layout().txn(txn).join("props");
        let text = self
            .disk()
            .read_small(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))?;
        let props = self.format().back_end.parse_txn_props(&text);
        self.in_txn_file(props, &path)
    }
}

const TXN_SUFFIX: &str = ".txn";
