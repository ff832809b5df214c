//! What the requests of one connection have in common: their repository, and the rules for it.
//!
//! A checkout is thousands of requests, one behind the other, nearly all about one repository. To find it, and to see whether it and
//! the files of its rules are still the same, takes longer than to answer a short one. So what was found holds a few
//! milliseconds for the same connection; as Apache remembers an access file for a whole connection, nobody can rely on less.
//! What is in the repository is always looked at anew.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Result, Revnum};
use parking_lot::Mutex;
use repos::tree::Tree;
use wire::dav::uri;

use super::access::Rules;
use super::place::Place;
use crate::http::HttpOptions;

/// How long what was found holds.
const FRESH: Duration = Duration::from_millis(5);

/// What the last request of a connection has found.
#[derive(Default)]
pub(crate) struct Known(Mutex<Option<Last>>);

struct Last {
    since: Instant,
    http: Arc<HttpOptions>,
    place: Arc<Place>,
    rules: Option<Arc<Rules>>,
    /// The tree that was looked at: it knows where the last node was.
    tree: Option<Tree>,
}

impl Known {
    /// The repository that `path` leads to, if the last request was about the same one, and the rest of the path.
    pub(super) fn place<'p>(&self, http: &Arc<HttpOptions>, path: &'p str) -> Option<(Arc<Place>, &'p str)> {
        let known = self.0.lock();
        let last = known.as_ref()?;
        let rest = path.strip_prefix(last.place.base.root())?;
        let fits = (rest.is_empty() || rest.starts_with('/'))
            && last.since.elapsed() < FRESH
            && Arc::ptr_eq(&last.http, http);
        fits.then(|| (last.place.clone(), rest))
    }

    /// Remembers where a request has led, unless the path of another location goes on below.
    pub(super) fn remember_place(&self, http: &Arc<HttpOptions>, place: &Arc<Place>, components: &[String]) {
        let is_below = |location: &Arc<crate::http::Location>| {
            let prefix = uri::split(&location.prefix);
            prefix.is_none_or(|(prefix, _)| prefix.len() > components.len() && prefix.starts_with(components))
        };
        let last = Last {
            since: Instant::now(),
            http: http.clone(),
            place: place.clone(),
            rules: None,
            tree: None,
        };
        *self.0.lock() = (!http.locations.iter().any(is_below)).then_some(last);
    }

    /// The rules for `place`, if the last request has asked for them.
    pub(super) fn rules(&self, place: &Arc<Place>) -> Option<Arc<Rules>> {
        let known = self.0.lock();
        let last = known.as_ref().filter(|last| Arc::ptr_eq(&last.place, place))?;
        // They were asked for later than the place: they are as fresh.
        last.rules.clone()
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub(super) fn tree(&self, place: &Arc<Place>, rev: Revnum) -> Result<Tree> {
        let mut known = self.0.lock();
        let mut last = known.as_mut().filter(|last| Arc::ptr_eq(&last.place, place));
        if let Some(tree) = last.as_ref().and_then(|last| last.tree.as_ref())
            && tree.revision() == Some(rev)
        {
            return Ok(tree.clone());
        }
        let tree = place.repository.tree(rev)?;
        if let Some(last) = &mut last {
            last.tree = Some(tree.clone());
        }
        Ok(tree)
    }

    /// Remembers the rules for `place`.
    pub(super) fn remember_rules(&self, place: &Arc<Place>, rules: &Arc<Rules>) {
        let mut known = self.0.lock();
        if let Some(last) = known.as_mut().filter(|last| Arc::ptr_eq(&last.place, place)) {
            last.rules = Some(rules.clone());
        }
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}
