//! A user's lock as the tools describe it.

use base::Lock;

use crate::when;

/// Token, owner, dates and comment, a line each.
pub fn describe(lock: &Lock) -> String {
    let comment = lock.comment.as_deref().unwrap_or_default();
    let lines = comment.matches('\n').count() + 1;
    format!(
        "UUID Token: {}\nOwner: {}\nCreated: {}\nExpires: {}\nComment ({lines} line{}):\n{comment}\n",
        lock.token,
        lock.owner,
        when::human(lock.created),
        lock.expires.map(when::human).unwrap_or_default(),
        if lines == 1 { "" } else { "s" },
    )
}
