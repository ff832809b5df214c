//! The error log of a running server: to standard error or a file, as text or JSON, from a configured level on.

use std::sync::Arc;

use base::Result;
use server::LogFile;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::file::LogLevel;
use crate::config::resolve::Logs;

/// A handle of the error log, to change its file and level while the server runs.
#[derive(Clone)]
pub struct ErrorLog {
    target: Arc<LogFile>,
    level: reload::Handle<LevelFilter, Registry>,
}

impl ErrorLog {
    /// Starts the log with the settings in `logs`. `default_level` applies if they have no level.
    ///
    /// # Errors
    /// If the file cannot be opened; the error names the file.
    pub fn start(logs: &Logs, default_level: LevelFilter) -> Result<ErrorLog> {
        let target = Arc::new(LogFile::stderr());
        target.turn_to(logs.error.as_deref())?;
        let (filter, level) = reload::Layer::new(logs.level.map_or(default_level, filter_of));
        let writer = target.clone();
        let lines = fmt::layer().with_ansi(false).with_target(false);
        let lines = lines.with_writer(writer);
        let registry = Registry::default().with(filter);
        // This fails only if another logger is installed already. That one stays.
        _ = match logs.json {
            true => tracing::subscriber::set_global_default(registry.with(lines.json())),
            false => tracing::subscriber::set_global_default(registry.with(lines)),
        };
        Ok(ErrorLog { target, level })
    }

    /// Switches to another file and level. The same file is closed and opened again.
    ///
    /// # Errors
    /// If the file cannot be opened. Then the log stays unchanged.
    pub fn switch(&self, logs: &Logs, default_level: LevelFilter) -> Result<()> {
        self.target.turn_to(logs.error.as_deref())?;
        // This fails only without a subscriber.
        _ = self.level.reload(logs.level.map_or(default_level, filter_of));
        Ok(())
    }
}

fn filter_of(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    }
}
