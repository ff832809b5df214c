//! Changes revision properties, for clients and administrators.
//!
//! Revision properties are not versioned: the old value is lost. So a change needs a hook that allows it, and a user
//! who may read the whole revision.

use base::{Code, Error, Result, Revnum};

use crate::access::Readable;
use crate::hooks::{Hooks, RevpropAction};
use crate::props_rules::validate;
use crate::repo::{Repository, RevisionAccess};

/// One change of a revision property.
#[derive(Clone, Copy, Debug)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub rev: Revnum,
    /// The property.
    pub name: &'a str,
    /// The value that the property must have now (`Some(None)`: it must not be set); `None` accepts any that it has when the change
    /// begins, before the hook.
    pub expected: Option<Option<&'a [u8]>>,
    /// The new value; `None` deletes.
    pub value: Option<&'a [u8]>,
    /// The user who changes it.
    pub user: Option<&'a str>,
}

impl Repository {
    /// Changes a revision property. `pre` and `post` are the hooks to run before and after; `None` bypasses them.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`; `AUTHZ_UNREADABLE` unless all of the revision may be read; those of [`validate`];
    /// `REPOS_DISABLED_FEATURE` and `REPOS_HOOK_FAILURE` of the hooks (of the last one: although the change is done);
    /// `FS_PROP_BASEVALUE_MISMATCH`.
    pub fn change_revprop(
        &self,
        change: &RevpropChange<'_>,
        pre: Option<&Hooks>,
        post: Option<&Hooks>,
        readable: &dyn Readable,
    ) -> Result<()> {
        let RevpropChange {
            rev,
            name,
            expected,
            value,
            user,
        } = *change;
        // Under access rules, a revision that does not exist is noticed here, before the value is judged.
        if self.revision_access(rev, readable)? != RevisionAccess::Full {
            return Err(Error::new(
                Code::AUTHZ_UNREADABLE,
                format!("Write denied:  not authorized to read all of revision {rev}"),
            ));
        }
        validate(name, value)?;
        let current = self.fs().revprops(rev)?;
        // The hooks get the value that the client expects, if it sent one.
        let old = expected.unwrap_or_else(|| current.get(name));
        let action = match (value, old) {
            (None, _) => RevpropAction::Delete,
            (Some(_), None) => RevpropAction::Add,
            (Some(_), Some(_)) => RevpropAction::Modify,
        };
        if let Some(hooks) = pre {
            hooks.pre_revprop_change(rev, user, name, action, value)?;
        }
        // The hook has allowed the change of this value: another one, which it or another user has set meanwhile, is not lost.
        let old = self.fs().change_revprop(rev, name, Some(old), value)?;
        if let Some(hooks) = post {
            hooks.post_revprop_change(rev, user, name, action, old.as_deref())?;
        }
        Ok(())
    }
}
