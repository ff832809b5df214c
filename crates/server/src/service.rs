//! What all conversations of a server share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::{Error, Result};
use parking_lot::{Mutex, RwLock};
use repos::Cache;
use repos::config::ConfigCache;

use crate::access_log::AccessLog;
use crate::auth::Keeper;
use crate::dav::{Recent, Told, Transactions};
use crate::http::{HttpOptions, Tls, TlsOptions};
use crate::log::{OneLine, OperationLog, Origin};
use crate::metrics::{Look, Metrics};
use crate::options::Options;
use crate::repositories::Repositories;
use crate::shares::{Shares, Turns};
use crate::stream::Stream;
use crate::svn::{Served, Session};

/// Serves conversations; shared by all threads.
pub struct Service {
    /// Replaced when the configuration is read anew, as is what follows.
    options: RwLock<Arc<Options>>,
    http: RwLock<Arc<HttpOptions>>,
    /// How connections over `https` are encrypted.
    tls: RwLock<Option<Arc<Tls>>>,
    access_log: RwLock<Option<Arc<AccessLog>>>,
    /// Knows names and passwords.
    pub(crate) keeper: Keeper,
    pub(crate) metrics: Metrics,
    /// Bytes of requests in memory.
    pub(crate) request_memory: Arc<Shares>,
    /// Connections.
    pub(crate) connections: Arc<Shares>,
    /// Most connections of all protocols.
    most_connections: AtomicU64,
    /// Passwords whose hashes are made.
    pub(crate) password_turns: Turns,
    /// Passwords that directories are asked about.
    pub(crate) directory_turns: Turns,
    /// Pages for people that take long to make.
    pub(crate) page_turns: Turns,
    /// Where requests over HTTP have led a moment ago.
    pub(crate) recent: Recent,
    /// Which digests clients were told a moment ago.
    pub(crate) told: Told,
    /// What others know, for whoever asks for metrics.
    looks: Mutex<Vec<Box<dyn Fn() -> Look + Send>>>,
    cache: Arc<Cache>,
    pub(crate) repositories: Repositories,
    /// What is being committed over HTTP.
    pub(crate) transactions: Arc<Transactions>,
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
            tls: RwLock::default(),
            access_log: RwLock::default(),
            keeper: Keeper::default(),
            metrics: Metrics::default(),
            request_memory: Shares::new(MEMORY, MEMORY / 4),
            connections: Shares::new(u64::MAX, u64::MAX),
            most_connections: u64::MAX.into(),
            password_turns: Turns::of_processors(PASSWORDS),
            directory_turns: Turns::new(PASSWORDS, DIRECTORY_QUESTIONS),
            page_turns: Turns::of_processors(PAGES),
            recent: Recent::default(),
            told: Told::default(),
            looks: Mutex::default(),
            cache: cache.clone(),
            repositories: Repositories::new(cache),
            transactions: Arc::default(),
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
        let memory = options.limits.request_memory;
        self.request_memory.resize(memory, memory / 4);
        *self.http.write() = Arc::new(options);
        self.resize_connections();
    }

    /// From now on there are at most so many connections.
    pub(crate) fn limit_connections(&self, most: u64) {
        self.most_connections.store(most, Ordering::Relaxed);
        self.resize_connections();
    }

    fn resize_connections(&self) {
        let most = self.most_connections.load(Ordering::Relaxed);
        let each = match self.http().limits.connections_per_address {
            0 => most / 2,
            each => each as u64,
        };
        self.connections.resize(most, each);
    }

    /// What holds for a request that begins now.
    pub(crate) fn http(&self) -> Arc<HttpOptions> {
        self.http.read().clone()
    }

    /// Encrypts connections that begin from now on as `options` say.
    ///
    /// # Errors
    /// Those of reading certificates; then everything stays as it was.
    pub fn set_tls(&self, options: TlsOptions) -> Result<()> {
        let tls = Arc::new(Tls::load(options)?);
        *self.tls.write() = Some(tls);
        Ok(())
    }

    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.read().clone()
    }

    /// From now on requests over HTTP are written down there, or nowhere.
    pub fn set_access_log(&self, log: Option<AccessLog>) {
        *self.access_log.write() = log.map(Arc::new);
    }

    pub(crate) fn access_log(&self) -> Option<Arc<AccessLog>> {
        self.access_log.read().clone()
    }

    /// Opens logs anew, reads certificates again and forgets which passwords were right, as administrators expect of SIGHUP.
    /// What fails stays as it was and is told to the log.
    pub fn hang_up(&self) {
        self.keeper.forget();
        if let Some(Err(error)) = self.log.as_ref().map(|log| log.reopen()) {
            self.complain(&error);
        }
        if let Some(Err(error)) = self.access_log().map(|log| log.reopen()) {
            self.complain(&error);
        }
        self.refresh_tls(true);
    }

    /// Reads certificates again if their files have changed.
    pub(crate) fn refresh_tls(&self, always: bool) {
        match self.tls().map(|tls| tls.refresh(always)) {
            Some(Err(error)) => self.complain(&error),
            Some(Ok(true)) => tracing::info!("Certificates were read anew"),
            Some(Ok(false)) | None => {}
        }
    }

    /// From now on metrics tell what `look` sees.
    pub(crate) fn watch(&self, look: impl Fn() -> Look + Send + 'static) {
        self.looks.lock().push(Box::new(look));
    }

    /// Metrics, as Prometheus reads them.
    pub(crate) fn metrics_text(&self) -> String {
        let mut looks: Vec<Look> = self.looks.lock().iter().map(|look| look()).collect();
        let counts = self.cache.counts();
        looks.push(Look {
            name: "cache_lookups",
            help: "Questions to the cache: what was there, what was loaded, what somebody else was loading",
            grows: true,
            label: "result",
            values: vec![
                ("hit", counts.hits),
                ("miss", counts.misses),
                ("wait", counts.waits),
            ],
        });
        looks.push(Look {
            name: "delta_windows",
            help: "Windows of deltas: passed on as stored, as the cache had them, or made",
            grows: true,
            label: "origin",
            values: vec![
                ("stored", counts.stored_windows),
                ("cache", counts.cached_windows),
                ("made", counts.made_windows),
            ],
        });
        looks.push(Look {
            name: "request_bytes",
            help: "Memory that requests hold, of those that are longer than a few kilobytes",
            grows: false,
            label: "",
            values: vec![("", self.request_memory.held())],
        });
        looks.push(Look {
            name: "cache_bytes",
            help: "Memory that the cache holds",
            grows: false,
            label: "",
            values: vec![("", self.cache.used())],
        });
        self.metrics.text(&looks)
    }

    /// Tells the administrator what is odd about configuration files that were loaded.
    pub(crate) fn tell_notices(&self, origin: Origin<'_>) {
        for notice in self.config.take_notices() {
            tracing::warn!("{}", OneLine(notice.message()));
            if let Some(log) = &self.log {
                log.warning(origin, &notice);
            }
        }
    }

    /// Tells the administrator of something that no client caused.
    fn complain(&self, error: &Error) {
        tracing::error!("{}", OneLine(error.message()));
        if let Some(log) = &self.log {
            log.error(Origin::default(), error);
        }
    }

    /// Holds one whole conversation and returns when it is over, with what ended it if that was not the peer's leaving
    /// between two commands.
    pub fn converse(self: &Arc<Self>, stream: Stream) -> Option<Error> {
        let mut session = Session::new(self.clone(), stream);
        while session.serve(Duration::MAX) != Served::Ended {}
        session.ended_by()
    }

    /// The directory that URLs start from.
    pub(crate) fn root(&self) -> PathBuf {
        self.options().root.clone()
    }
}

/// Bytes of requests in memory, for a server that is not told how many.
const MEMORY: u64 = 512 << 20;
/// Most requests whose passwords wait to be checked, by us or by directories.
const PASSWORDS: u64 = 256;
/// Most questions that directories are asked at the same time.
const DIRECTORY_QUESTIONS: usize = 16;
/// Most pages for people that wait to be made.
const PAGES: u64 = 32;

/// Microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
