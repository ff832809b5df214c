//! How a commit's transaction begins and ends, for every kind of edit.
//!
//! Hooks run while no lock is held, and the transaction is written to disk before they start; without hooks it never
//! is. Once the revision exists nothing can fail any more: later errors are reported beside it.

use base::{Code, Error, FsPath, Props, Result, Revnum, disk_path, props};
use fsfs::{LockAccess, Txn, TxnOptions};

use super::{Clock, CommitInfo};
use crate::hooks::{Hook, Hooks};
use crate::props_rules::validate;
use crate::repo::Repository;

/// The parameters of a new transaction.
pub(crate) struct TxnStart<'a> {
    /// The client's properties for the revision.
    pub(crate) revprops: Props,
    /// The user who commits; `None` is anonymous.
    pub(crate) author: Option<&'a str>,
    /// The locks that the client holds.
    pub(crate) tokens: Vec<String>,
    /// The client's capabilities, for `start-commit`.
    pub(crate) capabilities: &'a [String],
    /// The repository's hooks.
    pub(crate) hooks: &'a Hooks,
}

/// Begins a transaction on the youngest revision, `youngest`. A refused one is removed.
pub(crate) fn begin(
    repo: &Repository,
    youngest: Revnum,
    beginning: TxnStart<'_>,
    clock: &Clock,
) -> Result<Txn> {
    let options = TxnOptions {
        check_locks: true,
        client_date: false,
        ..TxnOptions::default()
    };
    let mut txn = repo.fs().begin_txn(youngest, options, clock())?;
    match set_up(&mut txn, beginning) {
        Ok(()) => Ok(txn),
        Err(refused) => {
            // `lstxns` lists what cannot be removed now.
            _ = txn.abort();
            Err(refused)
        }
    }
}

fn set_up(txn: &mut Txn, beginning: TxnStart<'_>) -> Result<()> {
    let TxnStart {
        mut revprops,
        author,
        tokens,
        capabilities,
        hooks,
    } = beginning;
    // The author is the authenticated user.
    match author {
        Some(author) => revprops.insert(props::AUTHOR.to_owned(), author.as_bytes().to_vec()),
        None => revprops.remove(props::AUTHOR),
    };
    for (name, value) in &revprops {
        set_prop(txn, name, Some(value))?;
    }
    txn.set_lock_access(LockAccess {
        user: author.map(str::to_owned),
        tokens,
        ignores_locks: false,
    });
    if hooks.is_installed(Hook::StartCommit) {
        around_hook(txn, |name| hooks.start_commit(author, capabilities, name))?;
    }
    Ok(())
}

/// Runs a hook that may read and change the transaction: the transaction is written before and read again after it.
///
/// # Errors
/// Those of the hook; `ENOENT` if it has removed the transaction; the system's.
pub(crate) fn around_hook(txn: &mut Txn, run: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    txn.write_to_disk()?;
    // The hook may write texts.
    txn.hold_lock(false)?;
    let before = txn.fingerprint()?;
    run(txn.name()).map_err(|refused| txn.with_cleanup(refused))?;
    txn.reload(&before)
}

/// Sets or deletes a property that the revision will have.
pub(crate) fn set_prop(txn: &mut Txn, name: &str, value: Option<&[u8]>) -> Result<()> {
    validate(name, value)?;
    if INTERNAL.contains(&name) {
        return Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!("Attempt to modify internal transaction property '{name}'"),
        ));
    }
    txn.set_prop(name, value)
}

/// Makes the revision. `pre-commit` gets the root of the edit and the locks.
pub(crate) fn finish(
    repo: &Repository,
    txn: &mut Txn,
    hooks: &Hooks,
    base_path: Option<&FsPath>,
    lock_tokens: &[(FsPath, String)],
    clock: &Clock,
) -> Result<CommitInfo> {
    if hooks.is_installed(Hook::PreCommit) {
        around_hook(txn, |name| hooks.pre_commit(name, base_path, lock_tokens))?;
    }
    let list = txn.props()?;
    for name in list.keys().filter(|name| name.starts_with(EPHEMERAL)) {
        txn.set_prop(name, None)?;
    }
    let committed = txn.commit(&**clock)?;

    // From here on the revision exists, and no failure may deny that.
    let rev = committed.rev;
    let mut complaints = Vec::new();
    for path in &committed.set_aside {
        complaints.push(format!(
            "A file that was in the way of revision {rev} was renamed to '{}'",
            disk_path::shown(path)
        ));
    }
    if let Some(e) = committed.post_commit_error {
        complaints.push(format!("post commit FS processing had error:\n{}", e.message()));
    }
    if let Err(e) = hooks.post_commit(rev, txn.name()) {
        complaints.push(e.message());
    }
    let list = repo.fs().revprops(rev).unwrap_or_default();
    let text = |name: &str| {
        let value = list.get(name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    Ok(CommitInfo {
        rev,
        date: text(props::DATE),
        author: text(props::AUTHOR),
        post_commit_error: (!complaints.is_empty()).then(|| complaints.join("\n")),
        unlock_errors: Vec::new(),
    })
}

/// Releases the locks that the client holds. Returns the reasons why some stay, in the order of paths, and then the
/// error of `post-unlock`. The revision exists, so none of these fails the commit.
pub(crate) fn release_locks(
    repo: &Repository,
    hooks: &Hooks,
    user: Option<&str>,
    lock_tokens: &[(FsPath, String)],
) -> Vec<Error> {
    if lock_tokens.is_empty() {
        return Vec::new();
    }
    let targets: Vec<_> = lock_tokens
        .iter()
        .map(|(path, token)| (path.clone(), Some(token.clone())))
        .collect();
    match repo.unlock_many(&targets, user, false, Some(hooks)) {
        Ok(outcome) => {
            let failed = outcome.each.into_iter().filter_map(|(_, result)| result.err());
            failed.chain(outcome.post_hook_error).collect()
        }
        Err(error) => vec![error],
    }
}

/// Properties of a transaction that belong to the storage engine.
const INTERNAL: [&str; 3] = ["svn:check-locks", "svn:check-ood", "svn:client-date"];

/// Prefix of properties of a transaction that its hooks may see and its revision does not get.
const EPHEMERAL: &str = "svn:txn-";
