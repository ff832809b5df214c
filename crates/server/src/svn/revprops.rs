//! Revision properties: reading and changing them, and the revision of a date.

use base::{Code, Date, Error, Result, Revnum, bytes_not_utf8};
use repos::change_revprop::RevpropChange;
use repos::config::Access;
use wire::svn::command::ChangeRevProp;
use wire::text::fuzzy;

use crate::percent_encoding::encoded;
use crate::svn::repo_session::RepoSession;

impl RepoSession {
    pub(crate) fn get_dated_rev(&mut self, date: &str) -> Result<()> {
        self.access.log_operation(|| format!("get-dated-rev {date}"));
        self.conn.write_empty_auth_request();
        let date = Date::parse(date.as_bytes())?;
        let rev = self.access.repo.repository.dated_revision(date)?;
        self.conn.success(|w| _ = w.number(rev.0));
        Ok(())
    }

    pub(crate) fn rev_proplist(&mut self, rev: Revnum) -> Result<()> {
        self.access.log_operation(|| format!("rev-proplist r{rev}"));
        self.conn.write_empty_auth_request();
        let props = self
            .access
            .repo
            .repository
            .revprops(rev, &*self.access.readable())?;
        self.conn.success(|w| _ = w.proplist(&props));
        Ok(())
    }

    pub(crate) fn rev_prop(&mut self, rev: Revnum, name: &str) -> Result<()> {
        self.access
            .log_operation(|| format!("rev-prop r{rev} {}", encoded(name)));
        self.conn.write_empty_auth_request();
        let value = self
            .access
            .repo
            .repository
            .revprop(rev, name, &*self.access.readable())?;
        self.conn.success(|w| _ = w.maybe_string(value));
        Ok(())
    }

    pub(crate) fn change_rev_prop(&mut self, change: &ChangeRevProp) -> Result<()> {
        if let Some(expect) = &change.expect
            && expect.dont_care
            && expect.previous.is_some()
        {
            let text = "'previous-value' and 'dont-care' cannot both be set in 'change-rev-prop2' request";
            let error = Error::new(Code::INCORRECT_PARAMS, text);
            self.access.log_error(&error);
            return Err(error);
        }
        self.require(Access::Write, None, false)?;
        check_prop_name(&change.name)?;
        self.access
            .log_operation(|| format!("change-rev-prop r{} {}", change.rev, encoded(&change.name)));
        let expected = match &change.expect {
            Some(expect) if !expect.dont_care => Some(expect.previous.as_deref()),
            _ => None,
        };
        let hooks = self.hooks()?;
        let change = RevpropChange {
            rev: change.rev,
            name: &change.name,
            expected,
            value: change.value.as_deref(),
            user: self.access.user.as_deref(),
        };
        let repository = &self.access.repo.repository;
        repository.change_revprop(&change, Some(&hooks), Some(&hooks), &*self.access.readable())?;
        self.conn.success(|_| ());
        Ok(())
    }
}

/// Refuses the name of a property that is not UTF-8 or has a NUL: no client could read it.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME`.
pub(super) fn check_prop_name(name: &str) -> Result<()> {
    if name.contains('\0') || bytes_not_utf8(name).is_some() {
        let bytes = bytes_not_utf8(name).unwrap_or_else(|| name.as_bytes().to_vec());
        let text = format!("Bad property name: '{}'", fuzzy(&bytes));
        return Err(Error::new(Code::CLIENT_PROPERTY_NAME, text));
    }
    Ok(())
}
