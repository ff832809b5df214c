//! Commits as lists of steps that both implementations make: ours with a transaction, the incumbent with `svnmucc`.

use base::{Date, FsPath, Result, Revnum};
use fsfs::{Committed, Fs, Txn, TxnOptions};

use crate::incumbent::{Repository, arg};

/// One step of a commit; paths without leading slash.
#[derive(Clone, Debug)]
pub enum CommitStep {
    Mkdir(&'static str),
    Put(&'static str, Vec<u8>),
    Rm(&'static str),
    /// Revision (0: the youngest), source, destination.
    Cp(u64, &'static str, &'static str),
    Propset(&'static str, &'static str, &'static str),
    Propdel(&'static str, &'static str),
}

pub fn path(text: &str) -> FsPath {
    FsPath::canonicalize(text).unwrap()
}

/// A fixed time.
pub fn now() -> Date {
    Date(1_700_000_000_123_456)
}

/// Begins a transaction on the youngest revision.
pub fn begin(fs: &Fs) -> Txn {
    let mut txn = fs
        .begin_txn(fs.youngest().unwrap(), TxnOptions::default(), now())
        .unwrap();
    txn.set_prop("svn:log", Some(b"change")).unwrap();
    txn.set_prop("svn:author", Some(b"root")).unwrap();
    txn
}

/// Makes the steps in the transaction.
pub fn apply(fs: &Fs, txn: &mut Txn, ops: &[CommitStep]) -> Result<()> {
    for op in ops {
        match op {
            CommitStep::Mkdir(dir) => txn.make_dir(&path(dir))?,
            CommitStep::Put(file, text) => {
                if txn.root()?.try_node(&path(file))?.is_none() {
                    txn.make_file(&path(file))?;
                }
                let mut writer = txn.apply_text(&path(file), None)?;
                writer.write(text)?;
                writer.finish(txn)?;
            }
            CommitStep::Rm(node) => txn.delete(&path(node))?,
            CommitStep::Cp(rev, from, to) => {
                let rev = match rev {
                    0 => fs.youngest()?,
                    rev => Revnum(*rev),
                };
                txn.copy(&fs.root(rev)?, &path(from), &path(to))?;
            }
            CommitStep::Propset(node, name, value) => {
                txn.change_prop(&path(node), name, Some(value.as_bytes()))?
            }
            CommitStep::Propdel(node, name) => txn.change_prop(&path(node), name, None)?,
        }
    }
    Ok(())
}

/// Makes a commit with our implementation.
pub fn ours(fs: &Fs, ops: &[CommitStep]) -> Result<Committed> {
    let mut txn = begin(fs);
    match apply(fs, &mut txn, ops) {
        Ok(()) => txn.commit(&now),
        Err(e) => {
            txn.abort()?;
            Err(e)
        }
    }
}

/// Makes the same commit with the incumbent.
pub fn theirs(repository: &Repository, ops: &[CommitStep]) {
    let mut args: Vec<String> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let words: Vec<String> = match op {
            CommitStep::Mkdir(dir) => vec!["mkdir".into(), (*dir).into()],
            CommitStep::Put(file, text) => {
                let source = repository.file(&format!("text{at}"), text);
                vec!["put".into(), source, (*file).into()]
            }
            CommitStep::Rm(node) => vec!["rm".into(), (*node).into()],
            CommitStep::Cp(rev, from, to) => {
                let rev = if *rev == 0 {
                    "HEAD".to_owned()
                } else {
                    rev.to_string()
                };
                vec!["cp".into(), rev, (*from).into(), (*to).into()]
            }
            CommitStep::Propset(node, name, value) => {
                vec!["propset".into(), (*name).into(), (*value).into(), (*node).into()]
            }
            CommitStep::Propdel(node, name) => vec!["propdel".into(), (*name).into(), (*node).into()],
        };
        args.extend(words);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    repository.mucc(&args);
}

/// A copy of a repository.
pub fn copy_of(repository: &Repository) -> Repository {
    let copy = Repository {
        dir: tempfile::tempdir().unwrap(),
    };
    crate::incumbent::run("cp", &["-a", arg(&repository.path()), arg(&copy.path())]);
    copy
}

/// Checks that the incumbent's `verify` finds no damage.
pub fn verify(repository: &Repository) {
    crate::incumbent::run("svnadmin", &["verify", "-q", arg(&repository.path())]);
}
