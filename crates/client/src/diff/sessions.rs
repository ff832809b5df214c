//! The sessions of comparisons. A log with differences makes one comparison for each revision: it uses the same sessions for all.

use std::cell::RefCell;

use base::{Result, Url};
use ra::Session;

/// Opens sessions, and keeps those that are not used for the next comparison.
pub struct Sessions<'a> {
    open: &'a dyn Fn(&Url) -> Result<Box<dyn Session>>,
    unused: RefCell<Vec<Box<dyn Session>>>,
}

impl<'a> Sessions<'a> {
    /// `open` opens a session at a URL.
    pub fn new(open: &'a dyn Fn(&Url) -> Result<Box<dyn Session>>) -> Sessions<'a> {
        Sessions {
            open,
            unused: RefCell::new(Vec::new()),
        }
    }

    /// Returns a session at a URL: one that is not used, or a new one.
    ///
    /// # Errors
    /// Those of opening and moving a session.
    pub(super) fn take(&self, url: &Url) -> Result<Box<dyn Session>> {
        let mut unused = self.unused.borrow_mut();
        let at = unused
            .iter()
            .position(|session| url.relative_to(session.root_url()).is_some());
        let Some(at) = at else {
            return (self.open)(url);
        };
        let mut session = unused.swap_remove(at);
        if session.url() != url {
            session.reparent(url)?;
        }
        Ok(session)
    }

    /// Keeps a session that is not used any more.
    pub(super) fn put(&self, session: Box<dyn Session>) {
        if session.is_usable() {
            self.unused.borrow_mut().push(session);
        }
    }
}
