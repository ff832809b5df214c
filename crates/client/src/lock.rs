//! Locks files for their user, and unlocks them. All are of one repository.

use std::collections::BTreeSet;

use base::hash_order::hash_order;
use base::{Code, Error, Lock, RelPath, Result, Url};
use ra::{LockTarget, Session, UnlockTarget};

use crate::url_commit::common_parent;

/// Opens a session.
pub type Open<'a> = &'a dyn Fn(&Url) -> Result<Box<dyn Session>>;

/// Checks the comment of a lock, which must be text that XML can have.
///
/// # Errors
/// `XML_UNESCAPABLE_DATA`.
pub fn check_comment(comment: &str) -> Result<()> {
    let is_bad = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t');
    if comment.bytes().any(is_bad) {
        let message = "Lock comment contains illegal characters";
        return Err(Error::new(Code::XML_UNESCAPABLE_DATA, message));
    }
    Ok(())
}

/// Locks files; with `steal`, those that another user has locked too. `outcome` gets the result for each.
///
/// # Errors
/// Those that concern all files.
pub fn lock(
    open: Open<'_>,
    urls: &[Url],
    comment: Option<&str>,
    steal: bool,
    outcome: &mut dyn FnMut(&Url, Result<Lock>) -> Result<()>,
) -> Result<()> {
    let (base, paths) = below_common_parent(urls)?;
    let mut session = open(&base)?;
    let targets: Vec<LockTarget> = paths
        .into_iter()
        .map(|path| LockTarget { path, rev: None })
        .collect();
    session.lock(&targets, comment, steal, &mut |path, result| {
        outcome(&base.join(path), result)
    })
}

/// Unlocks files. Without `force`, the tokens of the locks are fetched first, and each must be the user's.
///
/// # Errors
/// `CLIENT_MISSING_LOCK_TOKEN` for a file that is not locked; those that concern all files.
pub fn unlock(
    open: Open<'_>,
    urls: &[Url],
    force: bool,
    outcome: &mut dyn FnMut(&Url, Result<()>) -> Result<()>,
) -> Result<()> {
    let (base, paths) = below_common_parent(urls)?;
    let mut session = open(&base)?;
    let mut targets = Vec::new();
    for path in paths {
        let mut token = None;
        if !force {
            let held = session.get_lock(&path)?;
            let missing = || {
                let message = format!("'{path}' is not locked");
                Error::new(Code::CLIENT_MISSING_LOCK_TOKEN, message)
            };
            token = Some(held.ok_or_else(missing)?.token);
        }
        targets.push(UnlockTarget { path, token });
    }
    session.unlock(&targets, force, &mut |path, result| {
        outcome(&base.join(path), result)
    })
}

/// Returns the deepest URL that is above all, and the paths below it, each once, without those below others.
fn below_common_parent(urls: &[Url]) -> Result<(Url, Vec<RelPath>)> {
    let disjoint = |_| {
        let message = "No common parent found, unable to operate on disjoint arguments";
        Error::new(Code::UNSUPPORTED_FEATURE, message)
    };
    let base = common_parent(urls).map_err(disjoint)?;
    let paths: BTreeSet<RelPath> = urls.iter().filter_map(|url| url.relative_to(&base)).collect();
    let mut sorted: Vec<RelPath> = paths.into_iter().collect();
    sorted.sort_by(RelPath::cmp_tree);
    sorted.dedup_by(|path, above| path.relative_to(above).is_some());
    if base.scheme() == "file" {
        return Ok((base, sorted));
    }
    // The incumbent sends them in the order of a hash table.
    let order = hash_order(sorted.iter().map(|path| path.as_str().as_bytes()));
    let paths = order.into_iter().map(|at| sorted[at as usize].clone());
    Ok((base, paths.collect()))
}
