//! The configuration file as written: one struct for each table, one field for each key, nothing resolved.
//!
//! `docs/CONFIGURATION.md` explains every key; a test compares that page with these types. A key that is not in the
//! file is `None`: [`super::resolve`] fills in the defaults.

use std::path::PathBuf;

use serde::Deserialize;

use super::value::{OneOrMany, Period, Size};

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct ConfigFile {
    pub listen: ListenTable,
    pub serve: ServeTable,
    pub location: Vec<LocationTable>,
    pub redirect: Vec<RedirectTable>,
    pub auth: AuthTable,
    pub tls: TlsTable,
    pub limits: LimitsTable,
    pub cache: CacheTable,
    pub compression: CompressionTable,
    pub log: LogTable,
    pub metrics: MetricsTable,
    pub web: WebTable,
    pub cluster: ClusterTable,
}

/// `[listen]`: the addresses that clients connect to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct ListenTable {
    pub svn: Option<OneOrMany>,
    pub http: Option<OneOrMany>,
    pub https: Option<OneOrMany>,
}

/// `[serve]`: what is served over svn://, and settings of all locations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct ServeTable {
    pub root: Option<PathBuf>,
    pub read_only: Option<bool>,
    pub virtual_host: Option<bool>,
    pub svnserve_config: Option<PathBuf>,
    pub special_uri: Option<String>,
}

/// `[[location]]`: a URL prefix, the repositories below it and their settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct LocationTable {
    pub path: Option<String>,
    pub parent: Option<PathBuf>,
    pub repository: Option<PathBuf>,
    pub name: Option<String>,
    pub list: Option<bool>,
    pub read_only: Option<bool>,
    pub index_xslt: Option<String>,
    pub autoversioning: Option<bool>,
    pub path_authz: Option<PathAuthz>,
    pub master_uri: Option<String>,
    pub master_version: Option<String>,
    pub activities_db: Option<PathBuf>,
    pub bulk_updates: Option<BulkUpdates>,
    pub advertise_v2: Option<bool>,
    pub hooks_env: Option<PathBuf>,
    pub authz: Option<String>,
    pub repository_authz: Option<String>,
    pub groups: Option<String>,
    pub require: Option<String>,
    pub require_write: Option<String>,
    pub anonymous: Option<bool>,
    pub no_auth_when_anonymous_allowed: Option<bool>,
    pub force_username_case: Option<UsernameCase>,
    pub refuse_recursive: Option<OneOrMany>,
    pub refuse_replay: Option<bool>,
    pub auth: AuthTable,
}

/// `[[redirect]]`: a URL prefix that has moved.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct RedirectTable {
    pub from: Option<String>,
    pub to: Option<String>,
    pub permanent: Option<bool>,
}

/// `[auth]` for the server, and `[location.auth]`, which overrides it for a location: how users log in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct AuthTable {
    pub realm: Option<String>,
    pub providers: Option<Vec<Provider>>,
    pub htpasswd_file: Option<PathBuf>,
    pub passwd_file: Option<PathBuf>,
    pub group_file: Option<PathBuf>,
    pub basic: Option<bool>,
    pub digest: Option<bool>,
    pub cache: Option<Period>,
    pub ldap: Option<LdapTable>,
}

/// `[auth.ldap]`: an LDAP directory with the users.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct LdapTable {
    pub url: Option<String>,
    pub base: Option<String>,
    pub user_attribute: Option<String>,
    pub scope: Option<Scope>,
    pub filter: Option<String>,
    pub bind_dn: Option<String>,
    pub bind_password: Option<String>,
    pub bind_password_file: Option<PathBuf>,
    pub starttls: Option<bool>,
    pub ca: Option<PathBuf>,
    pub groups_base: Option<String>,
    pub groups_filter: Option<String>,
    pub group_attribute: Option<OneOrMany>,
    pub group_attribute_is_dn: Option<bool>,
    pub group_name_attribute: Option<String>,
    pub timeout: Option<Period>,
}

/// `[tls]`: TLS of all `https` listeners.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct TlsTable {
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub client_ca: Option<PathBuf>,
    pub client_crl: Option<OneOrMany>,
    pub client_crl_check: Option<CrlCheck>,
    pub client_auth: Option<ClientAuth>,
    pub min_version: Option<TlsVersion>,
}

/// `[limits]`: what a peer may use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct LimitsTable {
    pub xml_body: Option<Size>,
    pub update_body: Option<Size>,
    pub xml_depth: Option<usize>,
    pub body: Option<Size>,
    pub header_bytes: Option<Size>,
    pub header_count: Option<usize>,
    pub header_timeout: Option<Period>,
    pub body_timeout: Option<Period>,
    pub body_rate: Option<Size>,
    pub request_memory: Option<Size>,
    pub keep_alive_timeout: Option<Period>,
    pub body_silence: Option<Period>,
    pub stall_timeout: Option<Period>,
    pub connections: Option<usize>,
    pub connections_per_address: Option<usize>,
    pub threads: Option<usize>,
    pub request: Option<Size>,
    pub response: Option<Size>,
}

/// `[cache]`: the cache of the process.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct CacheTable {
    pub memory: Option<Size>,
    pub history_index: Option<HistoryIndexMode>,
}

/// `[compression]`: compression of responses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct CompressionTable {
    pub level: Option<u8>,
    pub gzip: Option<bool>,
}

/// `[log]`: the log files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct LogTable {
    pub access: Option<PathBuf>,
    pub operational: Option<PathBuf>,
    pub error: Option<PathBuf>,
    pub level: Option<LogLevel>,
    pub format: Option<LogFormat>,
}

/// `[metrics]`: the listener for Prometheus and health checks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct MetricsTable {
    pub listen: Option<OneOrMany>,
    pub everywhere: Option<bool>,
}

/// `[web]`: the pages for browsers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct WebTable {
    pub browse: Option<bool>,
    pub highlight_size: Option<Size>,
}

/// `[cluster]`: repositories that several machines share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a table")]
pub struct ClusterTable {
    pub database: Option<String>,
    pub objects: Option<String>,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key: Option<String>,
    pub secret_key_file: Option<PathBuf>,
    pub directory: Option<PathBuf>,
    pub node: Option<String>,
    pub url: Option<String>,
    pub cache: Option<Size>,
    pub fetch_from_nodes: Option<bool>,
    pub lease: Option<Period>,
    pub staleness: Option<Period>,
    pub patience: Option<Period>,
    pub pack: Option<bool>,
    pub gc: Option<Period>,
    pub gc_grace: Option<Period>,
    pub scrub: Option<Period>,
    pub job_rate: Option<Size>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }
    };
}

words! {
    /// `path-authz`: whether each path inside reports and listings is checked for access.
    PathAuthz { On = "on", Off = "off", ShortCircuit = "short-circuit", }
}
words! {
    /// `bulk-updates`: whether the response to an update report may contain the files' texts.
    BulkUpdates { On = "on", Off = "off", Prefer = "prefer", }
}
words! {
    /// `force-username-case`: the case that user names are converted to before authz rules apply.
    UsernameCase { Upper = "upper", Lower = "lower", }
}
words! {
    /// `providers`: what checks passwords or certificates.
    Provider { Htpasswd = "htpasswd", Passwd = "passwd", Ldap = "ldap", Certificate = "certificate", }
}
words! {
    /// `scope`: how deep below `base` the LDAP search for users goes.
    Scope { Subtree = "sub", One = "one", }
}
words! {
    /// `client-auth`: whether clients present a certificate.
    ClientAuth { None = "none", Optional = "optional", Required = "required", }
}
words! {
    /// `client-crl-check`: the certificates of a client's chain that are checked for revocation.
    CrlCheck { Chain = "chain", Leaf = "leaf", }
}
words! {
    /// `min-version`: the oldest accepted version of TLS.
    TlsVersion { V1_2 = "1.2", V1_3 = "1.3", }
}
words! {
    /// `history-index`: whether the server makes history indexes, or only extends those that exist.
    HistoryIndexMode { Keep = "keep", Build = "build", }
}
words! {
    /// `level`: the least severity that the error log records.
    LogLevel { Error = "error", Warn = "warn", Info = "info", Debug = "debug", }
}
words! {
    /// `format`: the format of the error log.
    LogFormat { Text = "text", Json = "json", }
}
