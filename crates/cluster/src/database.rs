//! Connections to PostgreSQL, for blocking callers.
//!
//! The async client runs on one thread of the process. A caller hands it a closure that uses a connection and waits for the
//! result. A question that fails because the connection was lost is asked again on another one, as long as the settings allow.
//! That is right for reading, and for changes that may be made twice. A change whose outcome must be known runs once
//! ([`Database::run_once`]); its caller finds out what a lost connection has left.

use std::future::Future;
use std::str::FromStr as _;
use std::sync::mpsc::Sender;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use base::{Code, Error, Result};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use futures_util::StreamExt as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    config: Arc<Config>,
    patience: Duration,
}

/// The failure of a step.
#[derive(Debug)]
pub(crate) enum StepError {
    /// The connection was lost or could not be made: the outcome is not known.
    Lost(String),
    /// The database has refused.
    Refused(Error),
}

/// The runtime of all clusters of the process.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("cluster")
        .enable_all()
        .build()
        .ok()
});

/// Waits for `future` on this thread, which may belong to another runtime. Its timers and sockets are those of this module's runtime.
///
/// # Errors
/// `FS_GENERAL` if the runtime could not be started.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> Result<T> {
    match &*RUNTIME {
        Some(runtime) => {
            let _entered = runtime.enter();
            Ok(futures_executor::block_on(future))
        }
        None => Err(Error::new(
            Code::FS_GENERAL,
            "Can't start the runtime of the cluster",
        )),
    }
}

/// Runs `work`, which may wait, on a thread of the runtime.
pub(crate) fn spawn_blocking(work: impl FnOnce() + Send + 'static) {
    if let Some(runtime) = &*RUNTIME {
        drop(runtime.spawn_blocking(work));
    }
}

impl Database {
    /// Makes a pool; connections are made when they are needed.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for text that is no description of a database.
    pub(crate) fn new(text: &str, patience: Duration) -> Result<Database> {
        let bad = |e: &dyn std::fmt::Display| {
            Error::new(
                Code::BAD_CONFIG_VALUE,
                format!("The database of the cluster: {e}"),
            )
        };
        let mut config = Config::from_str(text).map_err(|e| bad(&e))?;
        config.application_name("sven");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(patience);
        if config.get_options().is_none() {
            let limit = patience.as_millis();
            config.options(format!("-c lock_timeout={limit} -c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit}"));
        }
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = match config.get_ssl_mode() {
            SslMode::Disable => Manager::from_config(config.clone(), NoTls, recycling),
            _ => Manager::from_config(config.clone(), tls()?, recycling),
        };
        let pool = Pool::builder(manager)
            .max_size(MAX_CONNECTIONS)
            .build()
            .map_err(|e| bad(&e))?;
        Ok(Database {
            pool,
            config: Arc::new(config),
            patience,
        })
    }

    /// Takes a step on a connection, and again on another one if the connection is lost. `what` is the step in a message:
    /// "Can't … in the database of the cluster".
    ///
    /// # Errors
    /// `FS_GENERAL`, with the database's message.
    pub(crate) fn run<T, F>(&self, what: &str, step: impl Fn(Object) -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.run_once(&step) {
                Ok(value) => return Ok(value),
                Err(StepError::Refused(e)) => {
                    return Err(e.context(format!("Can't {what} in the database of the cluster")));
                }
                Err(StepError::Lost(text)) if begun.elapsed() + pause > self.patience => {
                    return Err(Error::new(
                        Code::FS_GENERAL,
                        format!("Can't {what}: the database of the cluster cannot be reached: {text}"),
                    ));
                }
                Err(StepError::Lost(_)) => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Takes a step once.
    ///
    /// # Errors
    /// Whether the step may have been taken.
    pub(crate) fn run_once<T, F>(&self, step: impl Fn(Object) -> F) -> std::result::Result<T, StepError>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        let taken = wait_for(async {
            let mut is_second = false;
            loop {
                let client = tokio::time::timeout(self.patience, self.pool.get()).await;
                let client = client
                    .map_err(|_| StepError::Lost("no connection is free".to_owned()))?
                    .map_err(|e| StepError::Lost(pool_error(&e)))?;
                let taken = tokio::time::timeout(self.patience, step(client)).await;
                match taken {
                    Ok(Ok(value)) => return Ok(value),
                    // The database may take changes again, but connections from the time when it did not take them refuse them for ever.
                    Ok(Err(e)) if !is_second && e.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
                        is_second = true;
                        self.pool.retain(|_, _| false);
                    }
                    Ok(Err(e)) => return Err(step_error(&e)),
                    Err(_) => return Err(StepError::Lost("it does not answer".to_owned())),
                }
            }
        });
        taken.unwrap_or_else(|e| Err(StepError::Refused(e)))
    }

    /// A connection of its own, outside of the pool.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) async fn connect(&self) -> std::result::Result<tokio_postgres::Client, StepError> {
        let failed = |e: tokio_postgres::Error| step_error(&e);
        match self.config.get_ssl_mode() {
            SslMode::Disable => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(failed)?;
                tokio::spawn(async move { _ = connection.await });
                Ok(client)
            }
            _ => {
                let tls = tls().map_err(StepError::Refused)?;
                let (client, connection) = self.config.connect(tls).await.map_err(failed)?;
                tokio::spawn(async move { _ = connection.await });
                Ok(client)
            }
        }
    }

    /// How to connect.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// How long an unreachable database is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }
}

/// A notification: its channel, and the number of a repository.
pub(crate) type Notice = (String, i64);

/// Listens on channels with a connection of its own, and passes the notifications on. The sender is dropped when the connection ends.
///
/// # Errors
/// `FS_GENERAL` if the connection cannot be made.
pub(crate) fn listen_on(
    config: Config,
    channels: &'static [&'static str],
    sender: Sender<Notice>,
) -> Result<()> {
    let begun = wait_for(async {
        match config.get_ssl_mode() {
            SslMode::Disable => {
                let (client, connection) = config.connect(NoTls).await.map_err(sql_error)?;
                pass_on(client, connection, channels, sender).await
            }
            _ => {
                let (client, connection) = config.connect(tls()?).await.map_err(sql_error)?;
                pass_on(client, connection, channels, sender).await
            }
        }
    });
    begun?
}

/// Reads the repository numbers of notifications.
async fn pass_notifications(
    mut messages: impl futures_util::Stream<Item = std::result::Result<AsyncMessage, tokio_postgres::Error>>
    + Unpin,
    sender: Sender<Notice>,
) {
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(notification) = message
            && let Ok(id) = notification.payload().parse()
            && sender.send((notification.channel().to_owned(), id)).is_err()
        {
            return;
        }
    }
}

async fn pass_on<S, T>(
    client: tokio_postgres::Client,
    mut connection: tokio_postgres::Connection<S, T>,
    channels: &'static [&'static str],
    sender: Sender<Notice>,
) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    tokio::spawn(pass_notifications(messages, sender));
    for channel in channels {
        let listening = client.batch_execute(&format!("LISTEN {channel}")).await;
        listening.map_err(sql_error)?;
    }
    // The connection ends with its client.
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(KEEP_ALIVE).await;
            if client.simple_query("").await.is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// The error of the database in Subversion's form.
pub(crate) fn sql_error(e: tokio_postgres::Error) -> Error {
    Error::new(Code::FS_GENERAL, chain(&e))
}

/// Sorts an error: the connection is lost, or the database has refused.
pub(crate) fn step_error(e: &tokio_postgres::Error) -> StepError {
    let ends_connection = |state: &SqlState| {
        // Class 57: shut down or cancelled by the operator; class 08: connections; 53: too many of them; 25P03: idle for too long.
        [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            SqlState::CONNECTION_FAILURE,
            SqlState::CONNECTION_EXCEPTION,
            SqlState::QUERY_CANCELED,
        ]
        .contains(state)
    };
    match e.code() {
        Some(state) if !ends_connection(state) => StepError::Refused(Error::new(Code::FS_GENERAL, chain(e))),
        _ => StepError::Lost(chain(e)),
    }
}

/// An error with its causes. Some errors have the text of their cause in their own.
fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = e.source();
    }
    text
}

/// Why no connection could be made.
fn pool_error(e: &PoolError) -> String {
    match e {
        PoolError::Backend(e) => chain(e),
        e => chain(e),
    }
}

/// TLS with the certificates that the system trusts.
pub(crate) fn tls() -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        _ = roots.add(certificate);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(Code::FS_GENERAL, e.to_string()))?;
    Ok(MakeRustlsConnect::new(
        config.with_root_certificates(roots).with_no_client_auth(),
    ))
}

/// How often a connection that listens is tried.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Connections of one process at most. A question takes less than a millisecond of one.
const MAX_CONNECTIONS: usize = 16;
