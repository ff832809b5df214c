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

use base::{FsPath, Result, Revnum};
use parking_lot::Mutex;
use repos::authz::{Required, UserRights};
use repos::config::Access;
use repos::tree::Tree;
use wire::dav::uri;

use super::access::Rules;
use super::place::Place;
use crate::auth::same;
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
    /// Who was let in.
    admitted: Option<Arc<Admitted>>,
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

/// Somebody who was let in, by rules that hold for the place.
pub(crate) struct Admitted {
    /// How the request said who it is.
    pub(super) authorization: Option<Box<[u8]>>,
    pub(super) user: Option<String>,
    /// What rules for all of the repository let them do.
    pub(super) access: Access,
    /// What rules for its paths grant them, if there are any.
    pub(super) rights: Option<Arc<UserRights>>,
}

/// What holds for requests that are like the connection's last one.
pub(crate) struct Standing {
    pub(crate) http: Arc<HttpOptions>,
    pub(crate) place: Arc<Place>,
    pub(crate) admitted: Arc<Admitted>,
}

impl Admitted {
    /// True if a request that says in this way who it is comes from the same client, and that may read this very path.
    pub(crate) fn lets_in(&self, authorization: Option<&[u8]>, path: &FsPath) -> bool {
        let is_same = match (&self.authorization, authorization) {
            (None, None) => true,
            (Some(known), Some(said)) => same(known, said),
            _ => false,
        };
        let may = |rights: &Arc<UserRights>| rights.allows(path, Required::Read, false);
        is_same && self.access >= Access::Read && self.rights.as_ref().is_none_or(may)
    }

    /// Their name, if they have proved one.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
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
            *last = Last {
                find,
                admitted: None,
                tree: None,
            };
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
        *self.0.lock() = Some(Last {
            find,
            admitted: None,
            tree: None,
        });
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

    /// What the last request went by, as long as it holds. Who came without a name goes by what others have found.
    pub(crate) fn standing(&self, recent: &Recent, http: &Arc<HttpOptions>) -> Option<Standing> {
        let mut known = self.0.lock();
        let last = known.as_mut()?;
        if !last.find.is_fresh(http) {
            let is_nobody =
                |admitted: &Arc<Admitted>| admitted.authorization.is_none() && admitted.user.is_none();
            last.admitted.as_ref().filter(|admitted| is_nobody(admitted))?;
            let others = recent.0.lock().get(last.find.place.base.root()).cloned();
            let find = others.filter(|find| find.is_fresh(http))?;
            let admitted = find.rules.get()?.nobody()?;
            *last = Last {
                find,
                admitted: Some(Arc::new(admitted)),
                tree: None,
            };
        }
        Some(Standing {
            http: http.clone(),
            place: last.find.place.clone(),
            admitted: last.admitted.clone()?,
        })
    }

    /// Remembers who was let in at `place`.
    pub(super) fn remember_admitted(&self, place: &Arc<Place>, admitted: impl FnOnce() -> Admitted) {
        let mut known = self.0.lock();
        let last = known.as_mut().filter(|last| Arc::ptr_eq(&last.find.place, place));
        if let Some(last) = last.filter(|last| last.admitted.is_none()) {
            last.admitted = Some(Arc::new(admitted()));
        }
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
