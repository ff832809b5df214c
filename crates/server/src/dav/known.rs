//! What the requests of one connection have in common: their repository, and the rules for it.
//!
//! A checkout is thousands of requests, one behind the other, nearly all about one repository. To find it, and to see whether it and
//! the files of its rules are still the same, takes longer than to answer a short one. So what was found holds a few
//! milliseconds for the same connection; as Apache remembers an access file for a whole connection, nobody can rely on less.
//! What is in the repository is always looked at anew.
//!
//! Of many connections each would ask just too seldom for that. So one whose last request was about a repository goes by what any
//! other has found there within the same few milliseconds ([`Recent`]). The first request of a connection looks for itself:
//! whoever changes rules and connects then sees the new ones.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
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

/// Repositories of which it is remembered what was found last.
const MOST: usize = 64;

/// What the last request of a connection has found.
#[derive(Default)]
pub(crate) struct Known(Mutex<Option<Last>>);

/// What connections have found last, by the path at which a repository stands.
#[derive(Default)]
pub(crate) struct Recent(Mutex<HashMap<String, Arc<Find>>>);

struct Last {
    find: Arc<Find>,
    /// The tree that was looked at: it knows where the last node was.
    tree: Option<Tree>,
}

struct Find {
    since: Instant,
    http: Arc<HttpOptions>,
    place: Arc<Place>,
    /// They are asked for later than the place: they are as fresh.
    rules: OnceLock<Arc<Rules>>,
}

impl Find {
    fn is_fresh(&self, http: &Arc<HttpOptions>) -> bool {
        self.since.elapsed() < FRESH && Arc::ptr_eq(&self.http, http)
    }
}

impl Known {
    /// The repository that `path` leads to, if the last request was about the same one, and the rest of the path.
    pub(super) fn place<'p>(
        &self,
        recent: &Recent,
        http: &Arc<HttpOptions>,
        path: &'p str,
    ) -> Option<(Arc<Place>, &'p str)> {
        let mut known = self.0.lock();
        let last = known.as_mut()?;
        let root = last.find.place.base.root();
        let rest = path.strip_prefix(root)?;
        if !(rest.is_empty() || rest.starts_with('/')) {
            return None;
        }
        if !last.find.is_fresh(http) {
            let others = recent.0.lock().get(root).cloned();
            let find = others.filter(|find| find.is_fresh(http))?;
            *last = Last { find, tree: None };
        }
        Some((last.find.place.clone(), rest))
    }

    /// Remembers where a request has led, unless the path of another location goes on below.
    pub(super) fn remember_place(
        &self,
        recent: &Recent,
        http: &Arc<HttpOptions>,
        place: &Arc<Place>,
        components: &[String],
    ) {
        let is_below = |location: &Arc<crate::http::Location>| {
            let prefix = uri::split(&location.prefix);
            prefix.is_none_or(|(prefix, _)| prefix.len() > components.len() && prefix.starts_with(components))
        };
        if http.locations.iter().any(is_below) {
            *self.0.lock() = None;
            return;
        }
        let find = Arc::new(Find {
            since: Instant::now(),
            http: http.clone(),
            place: place.clone(),
            rules: OnceLock::new(),
        });
        let mut all = recent.0.lock();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(place.base.root().to_owned(), find.clone());
        drop(all);
        *self.0.lock() = Some(Last { find, tree: None });
    }

    /// The rules for `place`, if somebody has asked for them.
    pub(super) fn rules(&self, place: &Arc<Place>) -> Option<Arc<Rules>> {
        let known = self.0.lock();
        let last = known
            .as_ref()
            .filter(|last| Arc::ptr_eq(&last.find.place, place))?;
        last.find.rules.get().cloned()
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub(super) fn tree(&self, place: &Arc<Place>, rev: Revnum) -> Result<Tree> {
        let mut known = self.0.lock();
        let mut last = known.as_mut().filter(|last| Arc::ptr_eq(&last.find.place, place));
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
        let known = self.0.lock();
        if let Some(last) = known.as_ref().filter(|last| Arc::ptr_eq(&last.find.place, place)) {
            // Whoever was first has found the same.
            _ = last.find.rules.set(rules.clone());
        }
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}
