//! A server that runs: started from its settings, and given new ones on SIGHUP.
//!
//! What can change, changes for what begins afterwards: locations, rules, limits of requests, certificates, logs. What cannot
//! is compared with what the server was started with, and logged, so that an administrator knows why a new port is not served.

use std::sync::Arc;

use base::Result;
use server::{AccessLog, MemoryBudget, OperationLog, Server, Service, Signals, Stop};
use tracing_subscriber::filter::LevelFilter;

use super::error_log::ErrorLog;
use super::listeners::Listeners;
use super::notify::Notify;
use crate::args::option::default_budget;
use crate::config::resolve::Settings;

/// Reads the settings anew.
pub type Again = Box<dyn Fn() -> Result<Settings> + Send>;

/// Serves until it is told to stop. With `again`, SIGHUP takes new settings; without it and without log files it stops.
///
/// # Errors
/// What keeps it from starting.
pub fn run(settings: Settings, listeners: Listeners, again: Option<Again>) -> Result<()> {
    // Who has no file to log to reads what is on the terminal: nothing but what is wrong.
    let least = match again {
        Some(_) => LevelFilter::INFO,
        None => LevelFilter::WARN,
    };
    let error_log = ErrorLog::begin(&settings.log, least)?;
    let operations = match &settings.log.operational {
        Some(path) => Some(Arc::new(OperationLog::open(path)?)),
        None => None,
    };
    let has_http = !(listeners.http.is_empty() && listeners.https.is_empty());
    let memory = MemoryBudget::new(settings.memory.unwrap_or_else(default_budget), has_http);
    let service = Service::new(settings.options.clone(), memory, operations);
    service.set_http(settings.web.clone());
    if let Some(tls) = &settings.tls {
        service.set_tls(tls.clone())?;
    }
    if let Some(path) = &settings.log.access {
        service.set_access_log(Some(AccessLog::open(path)?));
    }
    let notify = Notify::from_env();
    let stop = Stop::new()?;
    let server = Server::new(service.clone(), listeners.svn, settings.threads)
        .with_http(listeners.http)
        .with_https(listeners.https)
        .with_status(listeners.metrics);
    let status = listeners.status;
    let running = Running {
        service,
        settings,
        error_log,
        least,
        notify: notify.clone(),
        status: status.clone(),
    };
    let hang_up = again.map(|again| running.on_hang_up(again));
    Signals::listen_with(&stop, hang_up)?;
    notify.ready(&status);
    let outcome = server.run(&stop);
    notify.stopping();
    outcome
}

struct Running {
    service: Arc<Service>,
    /// What the server runs with.
    settings: Settings,
    error_log: ErrorLog,
    least: LevelFilter,
    notify: Notify,
    status: String,
}

impl Running {
    /// What SIGHUP does.
    fn on_hang_up(mut self, again: Again) -> impl FnMut() + Send + 'static {
        move || {
            self.notify.reloading();
            match again() {
                Ok(settings) => self.take(settings),
                Err(error) => {
                    let all: Vec<String> = error.links().map(|link| link.text()).collect();
                    tracing::error!("The configuration stays as it was: {}", all.join(": "));
                }
            }
            self.notify.ready(&self.status);
        }
    }

    fn take(&mut self, mut settings: Settings) {
        if let Err(error) = self.error_log.change(&settings.log, self.least) {
            tracing::error!("The error log stays where it was: {}", error.message());
        }
        // Log files, and certificates whose files are the same.
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
            // So that the next time they are tried again.
            settings.tls = self.settings.tls.clone();
        }
        for what in self.fixed(&settings) {
            tracing::warn!("{what} cannot change while the server runs: restart it");
        }
        self.service.set_options(settings.options.clone());
        self.service.set_http(settings.web.clone());
        // What could not change is still what the server was started with.
        let started = &self.settings;
        self.settings = Settings {
            svn: started.svn.clone(),
            http: started.http.clone(),
            https: started.https.clone(),
            metrics: started.metrics.clone(),
            threads: started.threads,
            memory: started.memory,
            ..settings
        };
        tracing::info!("The configuration was read anew");
    }

    /// What is different in `new` and cannot change.
    fn fixed(&self, new: &Settings) -> Vec<&'static str> {
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
        ];
        differing
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, what)| what)
            .collect()
    }
}
