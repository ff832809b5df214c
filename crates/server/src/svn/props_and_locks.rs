//! Revision properties and locks, as far as they are read.

use base::{Code, Date, Depth, Error, Result, Revnum};
use repos::config::Access;
use wire::svn::response::write_lock;

use crate::svn::session::Talk;
use crate::svn::url::encoded;

impl Talk {
    pub(crate) fn get_dated_rev(&mut self, date: &str) -> Result<()> {
        self.log_operation(|| format!("get-dated-rev {date}"));
        self.trivial();
        let date = Date::parse(date.as_bytes())?;
        let rev = self.place.repository.dated_revision(date)?;
        self.success(|w| _ = w.number(rev.0));
        Ok(())
    }

    pub(crate) fn rev_proplist(&mut self, rev: Revnum) -> Result<()> {
        self.log_operation(|| format!("rev-proplist r{rev}"));
        self.trivial();
        let props = self.place.repository.revprops(rev, &*self.readable())?;
        self.success(|w| _ = w.proplist(&props));
        Ok(())
    }

    pub(crate) fn rev_prop(&mut self, rev: Revnum, name: &str) -> Result<()> {
        self.log_operation(|| format!("rev-prop r{rev} {}", encoded(name)));
        self.trivial();
        let value = self.place.repository.revprop(rev, name, &*self.readable())?;
        self.success(|w| _ = w.maybe_string(value));
        Ok(())
    }

    pub(crate) fn get_lock(&mut self, path: &str) -> Result<()> {
        let path = self.path(path)?;
        self.require(Access::Read, Some(&path), false)?;
        self.log_operation(|| format!("get-lock {}", encoded(&path)));
        let lock = self.place.repository.get_lock(&path)?;
        self.success(|w| {
            w.open();
            if let Some(lock) = &lock {
                w.open();
                write_lock(w, lock);
                w.close();
            }
            w.close();
        });
        Ok(())
    }

    pub(crate) fn get_locks(&mut self, path: &str, depth: Option<Depth>) -> Result<()> {
        let path = self.path(path)?;
        let depth = depth.unwrap_or(Depth::Infinity);
        if depth < Depth::Empty {
            let error = Error::new(
                Code::INCORRECT_PARAMS,
                "Invalid 'depth' specified in get-locks request",
            );
            self.log_error(&error);
            return Err(error);
        }
        self.log_operation(|| format!("get-locks {}", encoded(&path)));
        self.trivial();
        let locks = self.place.repository.locks(&path, depth, &*self.readable())?;
        self.success(|w| {
            w.open();
            for lock in &locks {
                w.open();
                write_lock(w, lock);
                w.close();
            }
            w.close();
        });
        Ok(())
    }
}
