//! What connections of all protocols share: settings, logs, counters and limits.
//!
//! Settings can be replaced while the server runs. Sessions and requests that have begun keep the ones that they began with,
//! as far as each accessor says.
//!
//! This module knows no protocol, no user and no repository: `service` adds those.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base::{Error, Result};
use parking_lot::RwLock;

use crate::config::{HttpOptions, Options, TlsOptions};
use crate::log::{AccessLog, OneLine, OperationLog, Origin};
use crate::metrics::{MetricSample, Metrics};
use crate::net::Quota;
use crate::net::tls::Tls;
use crate::response_cache::ResponseCache;

/// Settings, logs, counters and limits of the process. Shared by all threads.
pub(crate) struct ServerContext {
    options: RwLock<Arc<Options>>,
    http_options: RwLock<Arc<HttpOptions>>,
    tls: RwLock<Option<Arc<Tls>>>,
    access_log: RwLock<Option<Arc<AccessLog>>>,
    /// The operational log, if there is one.
    pub(crate) log: Option<Arc<OperationLog>>,
    pub(crate) metrics: Metrics,
    pub(crate) responses: ResponseCache,
    /// The ID of the process, and the number of the next request over HTTP.
    process: u32,
    next_request: AtomicU64,
    pub(crate) limits: ResourceLimits,
    /// The server stops: sessions end after their current command.
    pub(crate) stopping: AtomicBool,
    storage: OnceLock<Arc<dyn SharedStorage>>,
}

/// Storage that this machine shares with others.
pub trait SharedStorage: Send + Sync {
    /// Returns why this machine should get no clients; `None` if it should get some. Must not wait for the storage.
    fn not_ready(&self) -> Option<String>;

    /// Returns numbers for the metrics.
    fn samples(&self) -> Vec<MetricSample>;

    /// Answers the request of another machine for a part of the storage, of which it has sent the query of the URL and a seal. `None` if no
    /// machine of the storage has sealed it, or there is no such part.
    ///
    /// # Errors
    /// Those of the storage.
    fn block(&self, query: &str, seal: &str) -> Result<Option<SealedBlock>>;
}

/// A part of shared storage for another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBlock {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Proves to the other machine that these are the bytes it has asked for.
    pub seal: String,
}

/// Limits on what peers hold together.
pub(crate) struct ResourceLimits {
    /// Bytes of requests in memory.
    pub(crate) request_memory: Arc<Quota>,
    /// Bytes of the reports of working copies over svn://, which wait in temporary files for their ends.
    pub(crate) reports: Arc<Quota>,
    /// Connections.
    pub(crate) connections: Arc<Quota>,
    /// The highest number of connections of all protocols.
    max_connections: AtomicU64,
}

impl ServerContext {
    /// Makes a context with default HTTP options and neither TLS nor an access log.
    pub(crate) fn new(
        options: Options,
        log: Option<Arc<OperationLog>>,
        responses: ResponseCache,
    ) -> Arc<ServerContext> {
        let context = ServerContext {
            options: RwLock::new(Arc::new(options)),
            http_options: RwLock::new(Arc::new(HttpOptions::default())),
            tls: RwLock::default(),
            access_log: RwLock::default(),
            log,
            metrics: Metrics::default(),
            responses,
            process: std::process::id(),
            next_request: AtomicU64::new(0),
            limits: ResourceLimits {
                request_memory: Quota::new(REQUEST_MEMORY, REQUEST_MEMORY / 4),
                reports: Quota::new(REPORTS, REPORTS / 4),
                connections: Quota::new(u64::MAX, u64::MAX),
                max_connections: u64::MAX.into(),
            },
            stopping: AtomicBool::new(false),
            storage: OnceLock::new(),
        };
        let memory = context.limits.request_memory.clone();
        context.metrics.watch(move || {
            vec![MetricSample::gauge(
                "request_bytes",
                "Memory that requests hold, of those that are longer than a few kilobytes",
                memory.held(),
            )]
        });
        Arc::new(context)
    }

    /// Adds the state of shared storage to the metrics and to the answer whether the server is ready. The first one stays.
    pub(crate) fn set_storage(&self, storage: Arc<dyn SharedStorage>) {
        if self.storage.set(storage.clone()).is_ok() {
            self.metrics.watch(move || storage.samples());
        }
    }

    /// The storage that this machine shares with others, if it does.
    pub(crate) fn storage(&self) -> Option<&dyn SharedStorage> {
        self.storage.get().map(|storage| &**storage)
    }

    /// Returns why the storage is not ready for clients; `None` if it is.
    pub(crate) fn storage_not_ready(&self) -> Option<String> {
        self.storage.get()?.not_ready()
    }

    /// Replaces the options of svn:// sessions. The limits on message size and stall time stay as they were for sessions that have
    /// begun, and for the thread that watches parked sessions.
    pub(crate) fn set_options(&self, options: Options) {
        *self.options.write() = Arc::new(options);
    }

    /// Returns the current options of svn:// sessions.
    pub(crate) fn options(&self) -> Arc<Options> {
        self.options.read().clone()
    }

    /// Replaces the options of HTTP. Requests that run keep theirs.
    pub(crate) fn set_http_options(&self, options: HttpOptions) {
        let memory = options.limits.request_memory;
        self.limits.request_memory.resize(memory, memory / 4);
        let report = match options.limits.longest_report() {
            0 => u64::MAX,
            bytes => bytes,
        };
        self.limits.reports.resize(report.saturating_mul(4), report);
        *self.http_options.write() = Arc::new(options);
        self.resize_connections();
    }

    /// Returns the options for a request that begins now.
    pub(crate) fn http_options(&self) -> Arc<HttpOptions> {
        self.http_options.read().clone()
    }

    /// Returns the two parts of the ID of a new request over HTTP: the ID of the process, and a number.
    pub(crate) fn next_request(&self) -> (u32, u64) {
        (self.process, self.next_request.fetch_add(1, Ordering::Relaxed))
    }

    /// Sets the highest number of connections.
    pub(crate) fn limit_connections(&self, max: u64) {
        self.limits.max_connections.store(max, Ordering::Relaxed);
        self.resize_connections();
    }

    fn resize_connections(&self) {
        let max = self.limits.max_connections.load(Ordering::Relaxed);
        let each = match self.http_options().limits.connections_per_address {
            0 => max / 2,
            each => each as u64,
        };
        self.limits.connections.resize(max, each);
    }

    /// Reads the certificates that `options` name, for connections that begin from now on.
    ///
    /// # Errors
    /// As of [`Tls::load`]; then nothing changes.
    pub(crate) fn set_tls(&self, options: TlsOptions) -> Result<()> {
        let tls = Arc::new(Tls::load(options)?);
        *self.tls.write() = Some(tls);
        Ok(())
    }

    /// Returns the TLS settings for a connection that begins now; `None` if there are none.
    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.read().clone()
    }

    /// Reads certificates again if their files have changed, or if `always`. A failure goes to the log, and the old ones stay.
    pub(crate) fn refresh_tls(&self, always: bool) {
        match self.tls().map(|tls| tls.refresh(always)) {
            Some(Err(error)) => self.log_server_error(&error),
            Some(Ok(true)) => tracing::info!("Certificates were read anew"),
            Some(Ok(false)) | None => {}
        }
    }

    /// Replaces the access log; `None` ends it.
    pub(crate) fn set_access_log(&self, log: Option<AccessLog>) {
        *self.access_log.write() = log.map(Arc::new);
    }

    /// Returns the current access log.
    pub(crate) fn access_log(&self) -> Option<Arc<AccessLog>> {
        self.access_log.read().clone()
    }

    /// Opens the log files again. A failure goes to the log, and the old file stays.
    pub(crate) fn reopen_logs(&self) {
        if let Some(Err(error)) = self.log.as_ref().map(|log| log.reopen()) {
            self.log_server_error(&error);
        }
        if let Some(Err(error)) = self.access_log().map(|log| log.reopen()) {
            self.log_server_error(&error);
        }
    }

    /// Logs an error that no client has caused.
    fn log_server_error(&self, error: &Error) {
        tracing::error!("{}", OneLine(error.message()));
        if let Some(log) = &self.log {
            log.error(Origin::default(), error);
        }
    }
}

/// Bytes of requests in memory, until HTTP options set another limit.
const REQUEST_MEMORY: u64 = 512 << 20;
/// Bytes of the reports of working copies, until HTTP options set another limit.
const REPORTS: u64 = 1 << 30;
