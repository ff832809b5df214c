//! The repository and the rules that a connection's last request has used, for its next requests.
//!
//! A checkout is thousands of requests, nearly all for one repository. To find it, and to check that it and the files of its rules
//! are unchanged, takes longer than to answer a short request. So a look-up is valid for a few milliseconds on the same connection.
//! Apache caches an access file for a whole connection, so no client can rely on less. The contents of the repository are always
//! read again.
//!
//! With many connections each has too few requests for that. So a connection whose last request was for a repository uses the
//! look-up of any other connection within the same few milliseconds ([`RecentLookups`]). The first request of a connection always
//! looks for itself: a client that connects after a change of rules sees the new ones.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base::{FsPath, Result, Revnum};
use parking_lot::Mutex;
use repos::Repository;
use repos::authz::{Required, UserRights};
use repos::config::Access;
use repos::tree::Tree;
use wire::dav::uri;

use super::mount::MountedRepository;
use super::rules::RepositoryRules;
use crate::auth::same;
use crate::config::HttpOptions;
use crate::http::CachedAuth;

/// How long a look-up is valid.
const LIFETIME: Duration = Duration::from_millis(5);

/// The highest number of repositories in [`RecentLookups`].
const MAX_RECENT: usize = 64;

/// The look-up of a connection's last request.
#[derive(Default)]
pub(crate) struct ConnectionCache {
    last: Mutex<Option<LastLookup>>,
    /// The client has begun a session on this connection: an OPTIONS request.
    has_begun_session: AtomicBool,
    /// The client has got an update report on this connection.
    has_report: AtomicBool,
}

/// The last look-up of each repository on any connection, by the path of its URL.
#[derive(Default)]
pub(crate) struct RecentLookups(Mutex<HashMap<String, Arc<RepositoryLookup>>>);

struct LastLookup {
    lookup: Arc<RepositoryLookup>,
    /// The user of the last request, if that user was admitted.
    admitted: Option<Arc<AdmittedUser>>,
    /// The tree that was read last: it remembers where its last node was.
    tree: Option<Tree>,
}

/// A repository, found under some options, and its rules.
struct RepositoryLookup {
    since: Instant,
    options: Arc<HttpOptions>,
    mount: Arc<MountedRepository>,
    /// Read after the repository was found, and valid as long.
    rules: OnceLock<Arc<RepositoryRules>>,
}

/// A user, or anonymous users, who may use a repository.
pub(crate) struct AdmittedUser {
    /// The `Authorization` value of the request.
    pub(super) authorization: Option<Box<[u8]>>,
    pub(super) user: Option<String>,
    /// The access to the whole repository.
    pub(super) access: Access,
    /// The rights that path-based rules grant, if there are such rules.
    pub(super) rights: Option<Arc<UserRights>>,
}

/// The user and the rights of a connection's last request.
pub(crate) struct ConnectionAuth {
    mount: Arc<MountedRepository>,
    admitted: Arc<AdmittedUser>,
}

impl AdmittedUser {
    /// Returns whether a request with this `Authorization` value is from the same user, and may read `path`.
    fn may_read(&self, authorization: Option<&[u8]>, path: &FsPath) -> bool {
        let is_same = match (&self.authorization, authorization) {
            (None, None) => true,
            (Some(last), Some(now)) => same(last, now),
            _ => false,
        };
        let may = |rights: &Arc<UserRights>| rights.allows(path, Required::Read, false);
        is_same && self.access >= Access::Read && self.rights.as_ref().is_none_or(may)
    }
}

impl CachedAuth for ConnectionAuth {
    fn repository(&self) -> &Repository {
        &self.mount.repository
    }

    fn root(&self) -> &str {
        self.mount.base.root()
    }

    fn may_read(&self, authorization: Option<&[u8]>, path: &FsPath) -> bool {
        self.admitted.may_read(authorization, path)
    }

    fn user(&self) -> Option<&str> {
        self.admitted.user.as_deref()
    }
}

impl RepositoryLookup {
    /// Returns whether the look-up is recent and was made under the same options.
    fn is_fresh(&self, options: &Arc<HttpOptions>) -> bool {
        self.since.elapsed() < LIFETIME && Arc::ptr_eq(&self.options, options)
    }
}

impl ConnectionCache {
    /// Notes an OPTIONS request, with which a client begins a session.
    pub(crate) fn begin_session(&self) {
        self.has_begun_session.store(true, Ordering::Relaxed);
    }

    /// Notes an update report.
    pub(crate) fn note_report(&self) {
        self.has_report.store(true, Ordering::Relaxed);
    }

    /// Returns whether requests for texts here may be those of an update: its report came on this connection, or the client has
    /// opened the connection beside others, without a session of its own.
    pub(crate) fn may_be_of_update(&self) -> bool {
        self.has_report.load(Ordering::Relaxed) || !self.has_begun_session.load(Ordering::Relaxed)
    }

    /// Returns the repository of `path` and the rest of the path, if the last request was for the same repository.
    pub(super) fn mount<'p>(
        &self,
        recent: &RecentLookups,
        options: &Arc<HttpOptions>,
        path: &'p str,
    ) -> Option<(Arc<MountedRepository>, &'p str)> {
        let mut last = self.last.lock();
        let last = last.as_mut()?;
        let root = last.lookup.mount.base.root();
        let rest = path.strip_prefix(root)?;
        if !(rest.is_empty() || rest.starts_with('/')) {
            return None;
        }
        if !last.lookup.is_fresh(options) {
            let others = recent.0.lock().get(root).cloned();
            let lookup = others.filter(|lookup| lookup.is_fresh(options))?;
            *last = LastLookup {
                lookup,
                admitted: None,
                tree: None,
            };
        }
        Some((last.lookup.mount.clone(), rest))
    }

    /// Stores the repository of a request, unless another location is below it.
    pub(super) fn store_mount(
        &self,
        recent: &RecentLookups,
        options: &Arc<HttpOptions>,
        mount: &Arc<MountedRepository>,
        components: &[String],
    ) {
        let is_below = |location: &Arc<crate::config::Location>| {
            let prefix = uri::split(&location.prefix);
            prefix.is_none_or(|(prefix, _)| prefix.len() > components.len() && prefix.starts_with(components))
        };
        if options.locations.iter().any(is_below) {
            *self.last.lock() = None;
            return;
        }
        let lookup = Arc::new(RepositoryLookup {
            since: Instant::now(),
            options: options.clone(),
            mount: mount.clone(),
            rules: OnceLock::new(),
        });
        let mut all = recent.0.lock();
        if all.len() >= MAX_RECENT {
            all.clear();
        }
        all.insert(mount.base.root().to_owned(), lookup.clone());
        drop(all);
        *self.last.lock() = Some(LastLookup {
            lookup,
            admitted: None,
            tree: None,
        });
    }

    /// Returns the rules for `mount`, if they have been read.
    pub(super) fn rules(&self, mount: &Arc<MountedRepository>) -> Option<Arc<RepositoryRules>> {
        let last = self.last.lock();
        let last = last
            .as_ref()
            .filter(|last| Arc::ptr_eq(&last.lookup.mount, mount))?;
        last.lookup.rules.get().cloned()
    }

    /// Returns the tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub(super) fn tree(&self, mount: &Arc<MountedRepository>, rev: Revnum) -> Result<Tree> {
        let mut last = self.last.lock();
        let mut last = last
            .as_mut()
            .filter(|last| Arc::ptr_eq(&last.lookup.mount, mount));
        if let Some(tree) = last.as_ref().and_then(|last| last.tree.as_ref())
            && tree.revision() == Some(rev)
        {
            return Ok(tree.clone());
        }
        let tree = mount.repository.tree(rev)?;
        if let Some(last) = &mut last {
            last.tree = Some(tree.clone());
        }
        Ok(tree)
    }

    /// Returns the user and the rights of the last request while they are valid. Requests without a user may use the look-ups of other
    /// connections.
    pub(crate) fn auth(&self, recent: &RecentLookups, options: &Arc<HttpOptions>) -> Option<ConnectionAuth> {
        let mut last = self.last.lock();
        let last = last.as_mut()?;
        if !last.lookup.is_fresh(options) {
            let is_anonymous =
                |admitted: &Arc<AdmittedUser>| admitted.authorization.is_none() && admitted.user.is_none();
            last.admitted.as_ref().filter(|admitted| is_anonymous(admitted))?;
            let others = recent.0.lock().get(last.lookup.mount.base.root()).cloned();
            let lookup = others.filter(|lookup| lookup.is_fresh(options))?;
            let admitted = lookup.rules.get()?.anonymous_user()?;
            *last = LastLookup {
                lookup,
                admitted: Some(Arc::new(admitted)),
                tree: None,
            };
        }
        Some(ConnectionAuth {
            mount: last.lookup.mount.clone(),
            admitted: last.admitted.clone()?,
        })
    }

    /// Stores the admitted user of a request for `mount`.
    pub(super) fn store_user(&self, mount: &Arc<MountedRepository>, admitted: impl FnOnce() -> AdmittedUser) {
        let mut last = self.last.lock();
        let last = last
            .as_mut()
            .filter(|last| Arc::ptr_eq(&last.lookup.mount, mount));
        if let Some(last) = last.filter(|last| last.admitted.is_none()) {
            last.admitted = Some(Arc::new(admitted()));
        }
    }

    /// Stores the rules for `mount`.
    pub(super) fn store_rules(&self, mount: &Arc<MountedRepository>, rules: &Arc<RepositoryRules>) {
        let last = self.last.lock();
        if let Some(last) = last
            .as_ref()
            .filter(|last| Arc::ptr_eq(&last.lookup.mount, mount))
        {
            // If another connection has stored them first, they are the same.
            _ = last.lookup.rules.set(rules.clone());
        }
    }
}

impl std::fmt::Debug for ConnectionCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConnectionCache")
    }
}
