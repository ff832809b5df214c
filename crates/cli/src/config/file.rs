//! The configuration file as typed: one struct for each table, one field for each key, nothing resolved.
//!
//! `docs/CONFIGURATION.md` explains every key; a test holds that page and these types against each other. What is not given
//! is `None`: defaults are filled in by [`super::resolve`].

use std::path::PathBuf;

use serde::Deserialize;

use super::value::{Many, Period, Size};

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct File {
    pub listen: Listen,
    pub serve: Serve,
    pub location: Vec<Location>,
    pub redirect: Vec<Redirect>,
    pub auth: Auth,
    pub tls: Tls,
    pub limits: Limits,
    pub cache: Cache,
    pub compression: Compression,
    pub log: Log,
    pub metrics: Metrics,
    pub web: Web,
}

/// Where clients connect.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Listen {
    pub svn: Option<Many>,
    pub http: Option<Many>,
    pub https: Option<Many>,
}

/// What is served over svn://, and what holds for all locations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Serve {
    pub root: Option<PathBuf>,
    pub read_only: Option<bool>,
    pub virtual_host: Option<bool>,
    pub svnserve_config: Option<PathBuf>,
    pub special_uri: Option<String>,
}

/// One prefix of URLs, and the repositories below it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Location {
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
    pub refuse_recursive: Option<Many>,
    pub refuse_replay: Option<bool>,
    pub auth: Auth,
}

/// A repository, or a whole tree of URLs, that has moved.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Redirect {
    pub from: Option<String>,
    pub to: Option<String>,
    pub permanent: Option<bool>,
}

/// How users prove who they are: for the server, or instead of that for one location.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Auth {
    pub realm: Option<String>,
    pub providers: Option<Vec<Provider>>,
    pub htpasswd_file: Option<PathBuf>,
    pub passwd_file: Option<PathBuf>,
    pub group_file: Option<PathBuf>,
    pub basic: Option<bool>,
    pub digest: Option<bool>,
    pub cache: Option<Period>,
    pub ldap: Option<Ldap>,
}

/// A directory that knows the users.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Ldap {
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
    pub group_attribute: Option<Many>,
    pub group_attribute_is_dn: Option<bool>,
    pub group_name_attribute: Option<String>,
    pub timeout: Option<Period>,
}

/// TLS of all `https` listeners.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Tls {
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub client_ca: Option<PathBuf>,
    pub client_crl: Option<Many>,
    pub client_crl_check: Option<CrlCheck>,
    pub client_auth: Option<ClientAuth>,
    pub min_version: Option<TlsVersion>,
}

/// What a peer may ask of us.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Limits {
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

/// The one cache of the process.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Cache {
    pub memory: Option<Size>,
}

/// What is made smaller on the wire.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Compression {
    pub level: Option<u8>,
    pub gzip: Option<bool>,
}

/// What is written down.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Log {
    pub access: Option<PathBuf>,
    pub operational: Option<PathBuf>,
    pub error: Option<PathBuf>,
    pub level: Option<LogLevel>,
    pub format: Option<LogFormat>,
}

/// Numbers for Prometheus, and health.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Metrics {
    pub listen: Option<Many>,
    pub everywhere: Option<bool>,
}

/// Pages for people with a browser.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Web {
    pub browse: Option<bool>,
    pub highlight_size: Option<Size>,
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
    /// `path-authz`: whether paths inside reports and listings are judged one by one.
    PathAuthz { On = "on", Off = "off", ShortCircuit = "short-circuit", }
}
words! {
    /// `bulk-updates`: whether an update's texts may come inside its report.
    BulkUpdates { On = "on", Off = "off", Prefer = "prefer", }
}
words! {
    /// `force-username-case`.
    UsernameCase { Upper = "upper", Lower = "lower", }
}
words! {
    /// Who knows the users.
    Provider { Htpasswd = "htpasswd", Passwd = "passwd", Ldap = "ldap", Certificate = "certificate", }
}
words! {
    /// How deep below the base of a directory.
    Scope { Subtree = "sub", One = "one", }
}
words! {
    /// `client-auth`.
    ClientAuth { None = "none", Optional = "optional", Required = "required", }
}
words! {
    /// `client-crl-check`.
    CrlCheck { Chain = "chain", Leaf = "leaf", }
}
words! {
    /// `min-version`.
    TlsVersion { V1_2 = "1.2", V1_3 = "1.3", }
}
words! {
    /// `level`: what is worth a line.
    LogLevel { Error = "error", Warn = "warn", Info = "info", Debug = "debug", }
}
words! {
    /// `format` of the error log.
    LogFormat { Text = "text", Json = "json", }
}
