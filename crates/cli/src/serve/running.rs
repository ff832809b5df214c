//! A running server: started with its settings, which SIGHUP replaces.
//!
//! New locations, access rules, limits of requests, certificates and logs apply to the requests and connections that
//! begin after the reload. The settings that cannot change are compared with those at the start. A difference is
//! logged, so that an administrator learns why, for example, a new port is not served.

use std::sync::Arc;

use base::Result;
use server::{AccessLog, MemoryBudget, OperationLog, Server, Service, SharedStorage, Signals, Stop};
use tracing_subscriber::filter::LevelFilter;

use super::error_log::ErrorLog;
use super::listeners::Listeners;
use super::notify::Notifier;
use crate::args::option::default_budget;
use crate::config::resolve::Settings;

/// A function that reads the settings from the configuration file again.
pub type ReloadSettings = Box<dyn Fn() -> Result<Settings> + Send>;

/// Serves until a signal, or the caller by `stop`, stops the server. `storage` is the state of shared storage, if repositories are there. With `reload`, SIGHUP loads new settings. Without it SIGHUP stops the
/// server, unless there are log files to reopen.
///
/// # Errors
/// If the server cannot start.
pub fn run(
    settings: Settings,
    listeners: Listeners,
    storage: Option<Arc<dyn SharedStorage>>,
    reload: Option<ReloadSettings>,
    stop: &Stop,
) -> Result<()> {
    // Without a configuration file the log goes to a terminal, where only warnings and errors are useful.
    let default_level = match reload {
        Some(_) => LevelFilter::INFO,
        None => LevelFilter::WARN,
    };
    let error_log = ErrorLog::start(&settings.log, default_level)?;
    let operations = match &settings.log.operational {
        Some(path) => Some(Arc::new(OperationLog::open(path)?)),
        None => None,
    };
    let has_http = !(listeners.http.is_empty() && listeners.https.is_empty());
    let memory = MemoryBudget::new(settings.memory.unwrap_or_else(default_budget), has_http);
    let service = Service::new(settings.options.clone(), memory, operations);
    service.set_http(settings.web.clone());
    if let Some(storage) = storage {
        service.set_storage(storage);
    }
    service.create_history_indexes(settings.creates_history_indexes);
    if let Some(tls) = &settings.tls {
        service.set_tls(tls.clone())?;
    }
    if let Some(path) = &settings.log.access {
        service.set_access_log(Some(AccessLog::open(path)?));
    }
    let notify = Notifier::from_env();
    let server = Server::new(service.clone(), listeners.svn, settings.threads)
        .with_http(listeners.http)
        .with_https(listeners.https)
        .with_status(listeners.metrics);
    let status = listeners.status;
    let running = RunningServer {
        service,
        settings,
        error_log,
        default_level,
        notify: notify.clone(),
        status: status.clone(),
    };
    let hang_up = reload.map(|reload| running.hang_up_handler(reload));
    Signals::listen_with(stop, hang_up)?;
    notify.ready(&status);
    let outcome = server.run(stop);
    notify.stopping();
    outcome
}

struct RunningServer {
    service: Arc<Service>,
    /// The settings in use.
    settings: Settings,
    error_log: ErrorLog,
    default_level: LevelFilter,
    notify: Notifier,
    status: String,
}

impl RunningServer {
    /// Returns the function that runs on SIGHUP.
    fn hang_up_handler(mut self, reload: ReloadSettings) -> impl FnMut() + Send + 'static {
        move || {
            self.notify.reloading();
            match reload() {
                Ok(settings) => self.apply(settings),
                Err(error) => {
                    let all: Vec<String> = error.links().map(|link| link.text()).collect();
                    tracing::error!("The configuration stays as it was: {}", all.join(": "));
                }
            }
            self.notify.ready(&self.status);
        }
    }

    fn apply(&mut self, mut settings: Settings) {
        if let Err(error) = self.error_log.switch(&settings.log, self.default_level) {
            tracing::error!("The error log stays where it was: {}", error.message());
        }
        // Opens the log files again, and reads certificates whose file names have not changed.
        self.service.hang_up();
        if self.settings.log.access != settings.log.access {
            match settings.log.access.as_deref().map(AccessLog::open).transpose() {
                Ok(log) => self.service.set_access_log(log),
                Err(error) => {
                    tracing::error!("The access log stays where it was: {}", error.message());
                    settings.log.access = self.settings.log.access.clone();
                }
            }
        }
        if let Some(tls) = settings
            .tls
            .as_ref()
            .filter(|tls| self.settings.tls.as_ref() != Some(tls))
            && let Err(error) = self.service.set_tls(tls.clone())
        {
            tracing::error!("Certificates stay as they were: {}", error.message());
            // The next reload tries the new certificates again.
            settings.tls = self.settings.tls.clone();
        }
        for what in self.unchangeable_differences(&settings) {
            tracing::warn!("{what} cannot change while the server runs: restart it");
        }
        self.service.set_options(settings.options.clone());
        self.service.set_http(settings.web.clone());
        self.service
            .create_history_indexes(settings.creates_history_indexes);
        // The settings that cannot change keep their values from the start.
        let started = &self.settings;
        self.settings = Settings {
            svn: started.svn.clone(),
            http: started.http.clone(),
            https: started.https.clone(),
            metrics: started.metrics.clone(),
            threads: started.threads,
            memory: started.memory,
            cluster: started.cluster.clone(),
            ..settings
        };
        tracing::info!("The configuration was read anew");
    }

    /// Returns the names of the settings that differ in `new` and cannot change while the server runs.
    fn unchangeable_differences(&self, new: &Settings) -> Vec<&'static str> {
        let old = &self.settings;
        let differing = [
            (old.svn != new.svn, "'svn' in [listen]"),
            (old.http != new.http, "'http' in [listen]"),
            (old.https != new.https, "'https' in [listen]"),
            (old.metrics != new.metrics, "'listen' in [metrics]"),
            (old.threads.max != new.threads.max, "'threads' in [limits]"),
            (
                old.web.limits.connections != new.web.limits.connections,
                "'connections' in [limits]",
            ),
            (old.memory != new.memory, "'memory' in [cache]"),
            (
                old.log.operational != new.log.operational,
                "'operational' in [log]",
            ),
            (old.log.json != new.log.json, "'format' in [log]"),
            (old.cluster != new.cluster, "[cluster]"),
        ];
        differing
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, what)| what)
            .collect()
    }
}
