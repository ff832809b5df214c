//! What all conversations of a server share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::Error;
use parking_lot::RwLock;
use repos::Cache;
use repos::config::ConfigCache;

use crate::http::HttpOptions;
use crate::log::OperationLog;
use crate::options::Options;
use crate::repositories::Repositories;
use crate::stream::Stream;
use crate::svn::Session;

/// Serves conversations; shared by all threads.
pub struct Service {
    /// Replaced when the configuration is read anew, as is what follows.
    options: RwLock<Arc<Options>>,
    http: RwLock<Arc<HttpOptions>>,
    pub(crate) repositories: Repositories,
    pub(crate) config: ConfigCache,
    pub(crate) log: Option<Arc<OperationLog>>,
    /// Named in challenges.
    pub(crate) host: String,
    /// Conversations end after the command that they are at.
    pub(crate) stopping: AtomicBool,
}

impl Service {
    /// Starts with no repository open. Texts and indexes of all repositories share `cache`.
    pub fn new(options: Options, cache: Arc<Cache>, log: Option<Arc<OperationLog>>) -> Arc<Service> {
        Arc::new(Service {
            http: RwLock::new(Arc::new(HttpOptions::default())),
            options: RwLock::new(Arc::new(options)),
            repositories: Repositories::new(cache),
            config: ConfigCache::default(),
            log,
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            stopping: AtomicBool::new(false),
        })
    }

    /// From now on conversations over `svn://` are held by these options. How much a peer may send and how long it may keep
    /// silent stays as it was for those that have begun, and where the server looks after quiet ones.
    pub fn set_options(&self, options: Options) {
        *self.options.write() = Arc::new(options);
    }

    /// What holds now.
    pub(crate) fn options(&self) -> Arc<Options> {
        self.options.read().clone()
    }

    /// From now on requests over HTTP are served by these options; those that run keep theirs.
    pub fn set_http(&self, options: HttpOptions) {
        *self.http.write() = Arc::new(options);
    }

    /// What holds for a request that begins now.
    pub(crate) fn http(&self) -> Arc<HttpOptions> {
        self.http.read().clone()
    }

    /// Holds one whole conversation and returns when it is over, with what ended it if that was not the peer's leaving
    /// between two commands.
    pub fn converse(self: &Arc<Self>, stream: Stream) -> Option<Error> {
        let mut session = Session::new(self.clone(), stream);
        while session.serve(Duration::MAX) {}
        session.ended_by()
    }

    /// The directory that URLs start from.
    pub(crate) fn root(&self) -> PathBuf {
        self.options().root.clone()
    }
}

/// Microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
