//! Where the program's own words go once it serves: standard error or a file, as text or JSON, from a level on.

use std::sync::Arc;

use base::Result;
use server::LogFile;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::file::LogLevel;
use crate::config::resolve::Logs;

/// The log, to change it while it is in use.
#[derive(Clone)]
pub struct ErrorLog {
    target: Arc<LogFile>,
    level: reload::Handle<LevelFilter, Registry>,
}

impl ErrorLog {
    /// Begins to log as `logs` says; what is below `least` is not written unless `logs` asks for it.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn begin(logs: &Logs, least: LevelFilter) -> Result<ErrorLog> {
        let target = Arc::new(LogFile::stderr());
        target.turn_to(logs.error.as_deref())?;
        let (filter, level) = reload::Layer::new(logs.level.map_or(least, filter_of));
        let writer = target.clone();
        let lines = fmt::layer().with_ansi(false).with_target(false);
        let lines = lines.with_writer(writer);
        let registry = Registry::default().with(filter);
        // It fails only if a logger is installed already, which then stays.
        _ = match logs.json {
            true => tracing::subscriber::set_global_default(registry.with(lines.json())),
            false => tracing::subscriber::set_global_default(registry.with(lines)),
        };
        Ok(ErrorLog { target, level })
    }

    /// Takes another file and level, and opens the file anew if it is the same.
    ///
    /// # Errors
    /// The system's; then the log stays what it was.
    pub fn change(&self, logs: &Logs, least: LevelFilter) -> Result<()> {
        self.target.turn_to(logs.error.as_deref())?;
        // It fails only without a subscriber.
        _ = self.level.reload(logs.level.map_or(least, filter_of));
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
