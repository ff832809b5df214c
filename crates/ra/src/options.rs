//! How sessions are opened: credentials, tunnels, limits, the clock. Everything that a program reads from its
//! environment, its configuration or its user is passed in here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::{Cancel, Date, Result, Url};

use crate::traffic::Traffic;

/// The parameters of [`crate::open`] besides the URL. Clones share the credentials.
#[derive(Clone)]
pub struct OpenOptions {
    /// Where user names and passwords come from.
    pub credentials: Arc<dyn Credentials>,
    /// The programs that make connections for `svn+NAME://`.
    pub tunnels: Tunnels,
    /// How http:// and https:// are spoken.
    pub http: HttpOptions,
    /// Returns how http:// and https:// are spoken with the host of a URL, in place of `http`. It is called for each host: also for one
    /// to which a server redirects.
    pub http_of: Option<HttpOptionsOf>,
    /// How many permanent redirects are followed when a session is opened. The session's URL is the last one. With 0, a redirect is
    /// `RA_SESSION_URL_MISMATCH`.
    pub redirects: u32,
    /// Is called with each URL to which a server redirects, before that is opened.
    pub redirected: Option<RedirectNotice>,
    /// The name of the calling program, for the server's log.
    pub client_name: Option<String>,
    /// Ends every wait for the server, and long work on a local repository.
    pub cancel: Cancel,
    /// What a server may demand.
    pub limits: Limits,
    /// The budget, in bytes, of the cache of a repository on disk.
    pub cache_bytes: u64,
    /// The current time, for commits and locks in a repository on disk.
    pub clock: Clock,
    /// Counts what is exchanged with servers.
    pub traffic: Traffic,
    /// Whether edits over http:// contain the URL of each file's version as the property `svn:wc:ra_dav:version-url`, as
    /// Subversion's library passes it to its callers.
    pub version_urls: bool,
}

/// Returns how http:// and https:// are spoken with the host of a URL.
pub type HttpOptionsOf = Arc<dyn Fn(&Url) -> Result<HttpOptions> + Send + Sync>;

/// Receives the URL to which a server redirects.
pub type RedirectNotice = Arc<dyn Fn(&Url) -> Result<()> + Send + Sync>;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Date + Send + Sync>;

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            credentials: Arc::new(NoCredentials),
            tunnels: Tunnels::default(),
            http: HttpOptions::default(),
            http_of: None,
            redirects: 3,
            redirected: None,
            client_name: None,
            cancel: Cancel::default(),
            limits: Limits::default(),
            cache_bytes: 16 << 20,
            clock: Arc::new(system_time),
            traffic: Traffic::default(),
            version_urls: false,
        }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("tunnels", &self.tunnels)
            .field("http", &self.http)
            .field("client_name", &self.client_name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

fn system_time() -> Date {
    // A clock before 1970 is wrong; commits have that date then.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Limits for what a server sends, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest time to connect to one address of a host.
    pub connect: Duration,
    /// The longest time in which a server neither sends nor receives anything. Servers are silent while their hooks run.
    pub idle: Duration,
    /// The largest message, in bytes. Texts come in many messages; a directory or a property list is one.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connect: Duration::from_secs(120),
            idle: Duration::from_secs(60 * 60),
            message: 256 << 20,
        }
    }
}

/// How http:// and https:// are spoken: the section of the file `servers` that fits the host.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The proxy of this host. The caller resolves exceptions.
    pub proxy: Option<Proxy>,
    /// Files with certificates of authorities (PEM) that are trusted.
    pub authority_files: Vec<PathBuf>,
    /// Whether the authorities of the system are trusted.
    pub trust_default_authorities: bool,
    /// The mechanisms that may be used, the preferred one first.
    pub mechanisms: Vec<AuthMechanism>,
    /// Whether responses and texts may be compressed.
    pub compression: bool,
    /// Whether an edit contains its texts, or they are fetched one by one.
    pub bulk_updates: BulkUpdates,
    /// The most connections of one session for replays; at least 1. A report has two: one for the edit, one for its texts.
    pub connections: usize,
    /// Whether bodies of requests are sent in chunks to servers of HTTP/1.1. Their lengths are always known, so this is only for the
    /// user who wants it.
    pub chunked_requests: bool,
    /// The longest time in which a server neither sends nor receives anything, in place of [`Limits::idle`].
    pub timeout: Option<Duration>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            proxy: None,
            authority_files: Vec::new(),
            trust_default_authorities: true,
            mechanisms: vec![AuthMechanism::Digest, AuthMechanism::Basic],
            compression: true,
            bulk_updates: BulkUpdates::Auto,
            connections: 4,
            chunked_requests: false,
            timeout: None,
        }
    }
}

/// A proxy for HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The credentials, if the proxy demands any.
    pub password: Option<Password>,
}

/// A mechanism of authentication over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMechanism {
    /// The password itself, in base64.
    Basic,
    /// A digest of the password and the request.
    Digest,
}

/// How the texts of an edit are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BulkUpdates {
    /// Within the edit if the server allows that.
    #[default]
    Auto,
    /// Within the edit; a server may refuse that.
    Always,
    /// By a request for each file, over several connections.
    Never,
}

/// A certificate of a server that no authority vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateProblem {
    /// The host of the URL.
    pub host: String,
    /// `https://host:port`: the key under which the decision can be stored.
    pub realm: String,
    /// The SHA-1 of the certificate: hexadecimal digits with colons.
    pub fingerprint: String,
    /// The beginning of its validity.
    pub valid_from: Option<Date>,
    /// The end of its validity.
    pub valid_until: Option<Date>,
    /// The first common name of its subject.
    pub hostname: Option<String>,
    /// The parts of the issuer's name, from the common name to the country, with the address in parentheses.
    pub issuer: String,
    /// The certificate (DER).
    pub der: Vec<u8>,
    /// What is wrong with it; at least one of them.
    pub failures: CertificateFailures,
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertificateFailures {
    /// Its validity has not begun.
    pub not_yet_valid: bool,
    /// Its validity has ended.
    pub expired: bool,
    /// It is for another host.
    pub other_host: bool,
    /// No authority that is trusted vouches for it.
    pub unknown_issuer: bool,
    /// Anything else.
    pub other: bool,
}

/// A decision about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateTrust {
    /// It is not trusted.
    Reject,
    /// It is trusted by this session.
    Once,
    /// It is trusted by this session; the caller stores the decision.
    Permanently,
}

/// A certificate of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// A file with the certificate, those of its authorities, and its key: PKCS#12, or PEM without a passphrase.
    pub file: PathBuf,
}

/// Returns user names and passwords: from a cache, from options, or by a question to the user. Sessions in several
/// threads may share one.
pub trait Credentials: Send + Sync {
    /// Returns a user name and a password for a realm; `None` to give up.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn password(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>>;

    /// The server has accepted what [`Credentials::password`] returned last for this realm.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn accepted(&self, _realm: &str, _password: &Password) -> Result<()> {
        Ok(())
    }

    /// Decides whether a certificate of a server is trusted that no authority vouches for. A caller that trusts it permanently
    /// stores that itself.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn server_certificate(&self, _problem: &CertificateProblem) -> Result<CertificateTrust> {
        Ok(CertificateTrust::Reject)
    }

    /// Returns the client's certificate for a server that demands one: `realm` is `https://host:port`, `attempt` is the number of files
    /// before that could not be read. `None` to go on without one.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn client_certificate(&self, _realm: &str, _attempt: u32) -> Result<Option<ClientCertificate>> {
        Ok(None)
    }

    /// Returns the passphrase of the client certificate in `file`, for the server of `realm`, as in [`Credentials::client_certificate`].
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn client_passphrase(&self, _realm: &str, _file: &Path) -> Result<Option<String>> {
        Ok(None)
    }

    /// What [`Credentials::client_passphrase`] returned for this file is right, and the server has accepted the certificate. Follows
    /// [`Credentials::accepted`] if the same request has a new password.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn passphrase_accepted(&self, _realm: &str, _file: &Path, _passphrase: &str) -> Result<()> {
        Ok(())
    }

    /// Returns the user who commits to a repository on disk, and who holds locks in it. `None` is anonymous. `realm` is the UUID of
    /// the repository.
    ///
    /// # Errors
    /// Any error ends the request of the session.
    fn local_user(&self, _realm: &str) -> Result<Option<String>> {
        Ok(None)
    }
}

/// A server's demand for a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordRequest<'a> {
    /// The realm, with the server's address: `<svn://host:3690> realm`.
    pub realm: &'a str,
    /// The user name in the URL.
    pub user: Option<&'a str>,
    /// How many passwords the server has refused in this exchange.
    pub attempt: u32,
    /// The server's reason to refuse the last one.
    pub failure: Option<&'a str>,
    /// The host is not that of the caller's URL: another server has redirected the session to it.
    pub redirected: bool,
}

/// A user name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password {
    /// The user name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Password({}, …)", self.user)
    }
}

/// No credentials: only anonymous access.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn password(&self, _request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        Ok(None)
    }
}

/// One user name and password for every realm, as from the options of a command; not for hosts to which a server redirects.
#[derive(Clone, Debug)]
pub struct FixedPassword(pub Password);

impl Credentials for FixedPassword {
    fn password(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        Ok(Some(self.0.clone()).filter(|_| request.attempt == 0 && !request.redirected))
    }

    fn local_user(&self, _realm: &str) -> Result<Option<String>> {
        Ok(Some(self.0.user.clone()))
    }
}

/// The section `[tunnels]` of the configuration, and the environment variables that its commands name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tunnels {
    /// Command by tunnel name: `NAME` of `svn+NAME://`. Without an entry, `ssh` has a default.
    pub commands: BTreeMap<String, String>,
    /// The environment variables, at least those that the commands begin with, and `SVN_SSH`.
    pub variables: BTreeMap<String, String>,
}
