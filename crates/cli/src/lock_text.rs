//! The description of a user's lock in `svnadmin lslocks` and `svnlook lock`.

use base::Lock;

use crate::date_text;

/// Returns token, owner, dates and comment of a lock, one line each.
pub fn describe(lock: &Lock) -> String {
    let comment = lock.comment.as_deref();
    let lines = comment.map_or(0, |comment| comment.matches('\n').count() + 1);
    let comment = comment.unwrap_or_default();
    format!(
        "UUID Token: {}\nOwner: {}\nCreated: {}\nExpires: {}\nComment ({lines} line{}):\n{comment}\n",
        lock.token,
        lock.owner,
        date_text::human(lock.created),
        lock.expires.map(date_text::human).unwrap_or_default(),
        if lines == 1 { "" } else { "s" },
    )
}
