//! Changing a revision's properties, as clients and administrators may.

use base::{Code, Error, Result, Revnum};

use crate::access::Readable;
use crate::hooks::Hooks;
use crate::repo::Repository;

/// One change of a revision property.
#[derive(Clone, Copy, Debug)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub rev: Revnum,
    /// The property.
    pub name: &'a str,
    /// The value that it must have now (`Some(None)`: it must not be set); `None` is any.
    pub expected: Option<Option<&'a [u8]>>,
    /// The new value; `None` deletes.
    pub value: Option<&'a [u8]>,
    /// Who does it.
    pub user: Option<&'a str>,
}

impl Repository {
    /// Changes a revision property. `pre` and `post` are the hooks to run before and after; `None` bypasses them.
    ///
    /// # Errors
    /// `AUTHZ_UNREADABLE` unless all of the revision may be read; those of [`crate::props_rules::validate`];
    /// `REPOS_DISABLED_FEATURE` and `REPOS_HOOK_FAILURE` of the hooks (of the last one: although the change is done);
    /// `FS_PROP_BASEVALUE_MISMATCH`.
    pub fn change_revprop(
        &self,
        change: &RevpropChange<'_>,
        pre: Option<&Hooks>,
        post: Option<&Hooks>,
        readable: &dyn Readable,
    ) -> Result<()> {
        let _ = (change, pre, post, readable);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }
}
