//! The repositories of a server and the users who may use them, below the protocols.
//!
//! [`Service`] is what svn:// sessions and HTTP requests share: open repositories, the cache, configuration files,
//! authentication, and the [`ServerContext`]. [`access_files`] reads the files with access rules.
//!
//! This module knows no protocol. The state of HTTP requests (open transactions, recent lookups) is in `site`.

pub(crate) mod access_files;
mod dirents;
mod repositories;

use std::hash::RandomState;
use std::path::PathBuf;
use std::sync::Arc;

use base::Result;
use repos::Cache;
use repos::config::ConfigCache;

pub(crate) use self::dirents::{dirent_fields, wire_dirent};
use self::repositories::Repositories;
use crate::auth::Authenticator;
use crate::config::{HttpOptions, Options, TlsOptions};
use crate::context::{ServerContext, SharedStorage};
use crate::log::{AccessLog, OneLine, OperationLog, Origin};
use crate::metrics::MetricSample;
use crate::net::ConcurrencyLimit;
use crate::response_cache::{MemoryBudget, ResponseCache};

/// What sessions and requests of all protocols share. Shared by all threads.
pub struct Service {
    pub(crate) context: Arc<ServerContext>,
    pub(crate) repositories: Repositories,
    pub(crate) config: ConfigCache,
    pub(crate) authenticator: Authenticator,
    /// Bounds the web pages that take long to make.
    pub(crate) page_limit: ConcurrencyLimit,
    /// The host name, for authentication challenges.
    pub(crate) host: String,
    /// The keys of the realms of missing repositories.
    pub(crate) realm_keys: [RandomState; 2],
}

impl Service {
    /// Makes a service with no repository open. Its caches have the budget `memory`.
    pub fn new(options: Options, memory: MemoryBudget, log: Option<Arc<OperationLog>>) -> Arc<Service> {
        let context = ServerContext::new(options, log, ResponseCache::new(memory.responses));
        let cache = Cache::new(memory.repositories);
        let (counted, weak) = (cache.clone(), Arc::downgrade(&context));
        context.metrics.watch(move || match weak.upgrade() {
            Some(context) => cache_samples(&counted, &context.responses),
            None => Vec::new(),
        });
        let service = Arc::new(Service {
            context,
            repositories: Repositories::new(cache),
            config: ConfigCache::default(),
            authenticator: Authenticator::default(),
            page_limit: ConcurrencyLimit::of_processors(MAX_WAITING_PAGES),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            realm_keys: Default::default(),
        });
        let weak = Arc::downgrade(&service);
        service.context.metrics.watch(move || {
            let service = weak.upgrade();
            let lag = service.and_then(|service| service.repositories.index_lag());
            vec![index_lag_sample(lag.unwrap_or(0))]
        });
        service
    }

    /// Makes a history index for each repository that is opened from now on, if `creates`. Indexes that exist are always extended.
    pub fn create_history_indexes(&self, creates: bool) {
        self.repositories.create_indexes(creates);
    }

    /// Replaces the options of svn:// sessions. The limits on message size and stall time stay as they were for sessions that have
    /// begun, and for the thread that watches parked sessions.
    pub fn set_options(&self, options: Options) {
        self.context.set_options(options);
    }

    /// Replaces the options of HTTP. Requests that run keep theirs.
    pub fn set_http(&self, options: HttpOptions) {
        self.context.set_http_options(options);
    }

    /// Encrypts connections that begin from now on as `options` say.
    ///
    /// # Errors
    /// Those of reading certificates; then nothing changes.
    pub fn set_tls(&self, options: TlsOptions) -> Result<()> {
        self.context.set_tls(options)
    }

    /// Replaces the access log of HTTP; `None` ends it.
    pub fn set_access_log(&self, log: Option<AccessLog>) {
        self.context.set_access_log(log);
    }

    /// Adds the state of storage that several machines share to the metrics, and to the answer whether the server is ready. Other machines get
    /// parts of it.
    pub fn set_storage(&self, storage: Arc<dyn SharedStorage>) {
        self.context.set_storage(storage);
    }

    /// Opens logs again, reads certificates again and forgets verified passwords, as administrators expect of SIGHUP.
    /// What fails is logged and stays as it was.
    pub fn hang_up(&self) {
        self.authenticator.forget();
        self.context.reopen_logs();
        self.context.refresh_tls(true);
    }

    /// Logs the warnings about configuration files that were read.
    pub(crate) fn log_config_warnings(&self, origin: Origin<'_>) {
        for notice in self.config.take_notices() {
            tracing::warn!("{}", OneLine(notice.message()));
            if let Some(log) = &self.context.log {
                log.warning(origin, &notice);
            }
        }
    }

    /// Returns the directory that stands for `/` in svn:// URLs.
    pub(crate) fn root(&self) -> PathBuf {
        self.context.options().root.clone()
    }
}

fn cache_samples(cache: &Cache, responses: &ResponseCache) -> Vec<MetricSample> {
    let counts = cache.counts();
    let mut samples = vec![
        MetricSample {
            name: "cache_lookups",
            help: "Questions to the cache: what was there, what was loaded, what somebody else was loading",
            grows: true,
            label: "result",
            values: vec![
                ("hit", counts.hits),
                ("miss", counts.misses),
                ("wait", counts.waits),
            ],
        },
        MetricSample {
            name: "delta_windows",
            help: "Windows of deltas: passed on as stored, as the cache had them, or made",
            grows: true,
            label: "origin",
            values: vec![
                ("stored", counts.stored_windows),
                ("cache", counts.cached_windows),
                ("made", counts.made_windows),
            ],
        },
        MetricSample {
            name: "history_index_steps",
            help: "Steps through histories: those that a history index answered, and those that an index lacked",
            grows: true,
            label: "result",
            values: vec![("hit", counts.index_steps), ("miss", counts.index_misses)],
        },
        MetricSample::gauge(
            "cache_bytes",
            "Memory that the cache holds",
            cache.used() + responses.used(),
        ),
    ];
    samples.extend(responses.samples());
    samples
}

fn index_lag_sample(lag: u64) -> MetricSample {
    MetricSample::gauge(
        "history_index_lag",
        "The most revisions that a history index in use lacks",
        lag,
    )
}

/// The highest number of web pages that wait to be made.
const MAX_WAITING_PAGES: u64 = 32;
