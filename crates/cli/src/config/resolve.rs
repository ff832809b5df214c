//! Converts a configuration file into the server's settings: fills in defaults and makes file names absolute.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::Result;
use cluster::ClusterSettings;
use repos::Repository;
use repos::authz::Source as AuthzSource;
use repos::config::AuthzFiles;
use server::config::{
    AccessRules, Bulk, ClientCertificates, HttpOptions, Ldap, LdapGroups, LdapScope, Limits, Location,
    Master, PathAuthz, Provider, Recursion, Redirect, Require, Secret, Source, TlsOptions, TlsVersion, Web,
};
use server::{Options, Threads};

use super::address::ListenAddress;
use super::keys::Mistake;
use super::value::{OneOrMany, Period};
use super::{Config, Mistakes, file};
use crate::sasl_folders::sasl_folders;

/// The default ports of addresses in the configuration file.
pub const SVN_PORT: u16 = 3690;
pub const HTTP_PORT: u16 = 80;
pub const HTTPS_PORT: u16 = 443;
pub const METRICS_PORT: u16 = 9690;

/// All settings that a server starts with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub svn: Vec<ListenAddress>,
    pub http: Vec<ListenAddress>,
    pub https: Vec<ListenAddress>,
    pub metrics: Vec<ListenAddress>,
    /// The repository or directory of repositories that is served over svn://, and over HTTP if there are no
    /// locations.
    pub root: Option<PathBuf>,
    pub options: Options,
    pub web: HttpOptions,
    pub tls: Option<TlsOptions>,
    pub threads: Threads,
    /// The size of the cache in bytes; `None` for the default.
    pub memory: Option<u64>,
    /// True to make a history index for each repository.
    pub creates_history_indexes: bool,
    pub log: Logs,
    pub cluster: Option<ClusterSettings>,
}

/// The log files and their format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    pub access: Option<PathBuf>,
    pub operational: Option<PathBuf>,
    pub error: Option<PathBuf>,
    pub level: Option<file::LogLevel>,
    pub json: bool,
}

impl Config {
    /// Returns the settings that the file describes.
    ///
    /// # Errors
    /// If the file with the LDAP password cannot be read, or a value is invalid.
    pub fn resolve(&self) -> Result<Settings, Mistakes> {
        let file = &self.file;
        let read_only = file.serve.read_only.unwrap_or(false);
        let cluster = self.cluster()?;
        let root = self.optional(&file.serve.root);
        let root = root.or(cluster.as_ref().map(ClusterSettings::repositories));
        let options = self.service_options(root.as_deref(), read_only);
        let locations = self.locations(root.as_deref(), read_only)?;
        let mut redirects = Vec::new();
        for (at, given) in file.redirect.iter().enumerate() {
            let made = redirect(given)
                .map_err(|text| self.wrong(vec![self.mistake(&format!("redirect[{at}]"), text)]))?;
            redirects.push(made);
        }
        let threads = Threads {
            max: file.limits.threads.unwrap_or(DEFAULT_THREADS),
            ..Threads::default()
        };
        Ok(Settings {
            svn: self.svn_addresses(),
            http: addresses(file.listen.http.as_ref(), HTTP_PORT),
            https: addresses(file.listen.https.as_ref(), HTTPS_PORT),
            metrics: addresses(file.metrics.listen.as_ref(), METRICS_PORT),
            root,
            web: HttpOptions {
                locations,
                redirects,
                compression: options.compression,
                gzip: file.compression.gzip.unwrap_or(true).then_some(GZIP),
                limits: self.limits(),
                web: Web {
                    browse: file.web.browse.unwrap_or(Web::default().browse),
                    highlight: file
                        .web
                        .highlight_size
                        .map_or(Web::default().highlight, |size| size.0),
                    ..Web::default()
                },
                status: file.metrics.everywhere.unwrap_or(false),
            },
            options,
            tls: self.tls(),
            threads,
            memory: file.cache.memory.map(|size| size.0),
            creates_history_indexes: file.cache.history_index == Some(file::HistoryIndexMode::Build),
            log: Logs {
                access: self.optional(&file.log.access),
                operational: self.optional(&file.log.operational),
                error: self.optional(&file.log.error),
                level: file.log.level,
                json: file.log.format == Some(file::LogFormat::Json),
            },
            cluster,
        })
    }

    /// Returns the addresses for svn://: every address if no other listener is configured.
    fn svn_addresses(&self) -> Vec<ListenAddress> {
        let listen = &self.file.listen;
        let is_default = listen.svn.is_none()
            && listen.http.is_none()
            && listen.https.is_none()
            && (self.file.serve.root.is_some() || self.file.cluster.database.is_some());
        match is_default {
            true => addresses(Some(&OneOrMany(vec![String::new()])), SVN_PORT),
            false => addresses(listen.svn.as_ref(), SVN_PORT),
        }
    }

    fn service_options(&self, root: Option<&Path>, read_only: bool) -> Options {
        let (file, limits, default) = (&self.file, &self.file.limits, Options::default());
        let stall_timeout = limits.stall_timeout.map(|period| period.0);
        Options {
            root: root.unwrap_or(Path::new("/")).to_owned(),
            read_only,
            config_file: self.optional(&file.serve.svnserve_config),
            virtual_host: file.serve.virtual_host.unwrap_or(false),
            compression: file.compression.level.unwrap_or(default.compression),
            always_compress: file.compression.level.is_some(),
            max_request: limits.request.map_or(default.max_request, |size| size.0),
            max_response: limits.response.map_or(0, |size| size.0),
            stall_timeout: stall_timeout.unwrap_or(default.stall_timeout),
            tunnel: None,
            sasl_folders: sasl_folders(),
        }
    }

    /// Returns the locations of the file, or without any the default location for `root`.
    fn locations(&self, root: Option<&Path>, read_only: bool) -> Result<Vec<Arc<Location>>, Mistakes> {
        let mut locations = Vec::new();
        for (at, location) in self.file.location.iter().enumerate() {
            let resolved = self.location(&format!("location[{at}]"), location, read_only);
            locations.push(Arc::new(resolved.map_err(|mistake| self.wrong(vec![mistake]))?));
        }
        if let (true, Some(root)) = (locations.is_empty(), root) {
            let mut location = at_root(root, read_only);
            let access = self.access("auth", None);
            location.access = access.map_err(|mistake| self.wrong(vec![mistake]))?;
            locations.push(Arc::new(location));
        }
        Ok(locations)
    }

    fn optional(&self, name: &Option<PathBuf>) -> Option<PathBuf> {
        name.as_deref().map(|name| self.absolute_path(name))
    }

    fn limits(&self) -> Limits {
        let (given, default) = (&self.file.limits, Limits::default());
        let bytes = |size: super::value::Size| usize::try_from(size.0).unwrap_or(usize::MAX);
        Limits {
            xml_body: given.xml_body.map_or(default.xml_body, |size| size.0),
            update_body: given.update_body.map_or(default.update_body, |size| size.0),
            xml_depth: given.xml_depth.unwrap_or(default.xml_depth),
            body: given.body.map_or(default.body, |size| size.0),
            header_bytes: given.header_bytes.map_or(default.header_bytes, bytes),
            header_lines: given.header_count.unwrap_or(default.header_lines),
            header_timeout: given
                .header_timeout
                .map_or(default.header_timeout, duration_or_forever),
            body_timeout: given
                .body_timeout
                .map_or(default.body_timeout, duration_or_forever),
            body_rate: given.body_rate.map_or(default.body_rate, |size| size.0),
            request_memory: given.request_memory.map_or(default.request_memory, |size| size.0),
            keep_alive: given
                .keep_alive_timeout
                .map_or(default.keep_alive, duration_or_forever),
            body_silence: given
                .body_silence
                .map_or(default.body_silence, duration_or_forever),
            stall: given.stall_timeout.map_or(default.stall, duration_or_forever),
            connections: given.connections.unwrap_or(default.connections),
            connections_per_address: given
                .connections_per_address
                .unwrap_or(default.connections_per_address),
        }
    }

    fn location(&self, at: &str, given: &file::LocationTable, read_only: bool) -> Result<Location, Mistake> {
        let source = match (&given.repository, &given.parent) {
            (Some(path), _) => Source::Repository(self.absolute_path(path)),
            (None, parent) => Source::Parent(self.absolute_path(parent.as_deref().unwrap_or(Path::new(".")))),
        };
        let path = given.path.as_deref().unwrap_or("/");
        let default = Location::new(prefix(path), source);
        let special = self.file.serve.special_uri.as_deref().map(without_empty_segments);
        Ok(Location {
            name: given.name.clone(),
            list: given.list.unwrap_or(default.list),
            special: special.unwrap_or_else(|| default.special.clone()),
            index_xslt: given.index_xslt.clone(),
            autoversioning: given.autoversioning.unwrap_or(default.autoversioning),
            path_authz: match given.path_authz {
                Some(file::PathAuthz::Off) => PathAuthz::Off,
                // `on` and `short-circuit` are the same here: rules are always evaluated directly.
                Some(file::PathAuthz::On | file::PathAuthz::ShortCircuit) | None => PathAuthz::On,
            },
            master: given.master_uri.as_ref().map(|url| Master {
                url: url.clone(),
                version: given.master_version.as_deref().and_then(version),
            }),
            activities: self.optional(&given.activities_db),
            bulk: match given.bulk_updates {
                Some(file::BulkUpdates::Off) => Bulk::Off,
                Some(file::BulkUpdates::Prefer) => Bulk::Prefer,
                Some(file::BulkUpdates::On) | None => Bulk::On,
            },
            advertise_v2: given.advertise_v2.unwrap_or(default.advertise_v2),
            hooks_env: self.optional(&given.hooks_env),
            recursion: recursion(given)
                .map_err(|text| self.mistake(&format!("{at}.refuse-recursive"), text))?,
            access: self.access(&format!("{at}.auth"), Some(given))?,
            realm: given.auth.realm.clone().or_else(|| self.file.auth.realm.clone()),
            read_only: read_only || given.read_only.unwrap_or(false),
            ..default
        })
    }

    /// Returns the access rules of a location, or `None` if the file has no key about users and access.
    fn access(
        &self,
        at: &str,
        location: Option<&file::LocationTable>,
    ) -> Result<Option<AccessRules>, Mistake> {
        let none = file::LocationTable::default();
        let general = &self.file.auth;
        let location = location.unwrap_or(&none);
        let own = &location.auth;
        if !has_auth_keys(own) && !has_auth_keys(general) && !has_access_keys(location) {
            return Ok(None);
        }
        let default = AccessRules::default();
        let source = |name: &String| AuthzSource::new(name.as_bytes(), self.folder());
        let groups = location.groups.as_ref().map(source);
        let location_at = at.strip_suffix(".auth").unwrap_or(at);
        let require = |key: &str, text: &Option<String>| {
            let parsed = text.as_ref().map(|text| text.parse::<Require>());
            let wrong = |text| self.mistake(&format!("{location_at}.{key}"), text);
            parsed.transpose().map_err(wrong)
        };
        let authz = location.authz.as_ref().map(|name| AuthzFiles {
            authz: source(name),
            groups: groups.clone(),
        });
        let apart = match groups {
            Some(AuthzSource::File(path)) if authz.is_none() => Some(path),
            _ => None,
        };
        Ok(Some(AccessRules {
            providers: self.providers(at, own)?.into(),
            realm: own.realm.clone().or_else(|| general.realm.clone()),
            basic: own.basic.or(general.basic).unwrap_or(default.basic),
            digest: own.digest.or(general.digest).unwrap_or(default.digest),
            remember: own
                .cache
                .or(general.cache)
                .map_or(default.remember, duration_or_forever),
            group_file: own
                .group_file
                .as_ref()
                .or(general.group_file.as_ref())
                .map(|name| self.absolute_path(name)),
            require: require("require", &location.require)?,
            require_write: require("require-write", &location.require_write)?,
            anonymous: location.anonymous.unwrap_or(default.anonymous),
            no_auth_when_anonymous: location
                .no_auth_when_anonymous_allowed
                .unwrap_or(default.no_auth_when_anonymous),
            authz,
            repository_authz: location.repository_authz.clone(),
            groups: apart,
            username_case: match location.force_username_case {
                Some(file::UsernameCase::Upper) => repos::config::UsernameCase::Upper,
                Some(file::UsernameCase::Lower) => repos::config::UsernameCase::Lower,
                None => repos::config::UsernameCase::AsIs,
            },
        }))
    }

    /// Returns the providers that `providers` lists, or without that key all that are configured.
    fn providers(&self, at: &str, own: &file::AuthTable) -> Result<Vec<Provider>, Mistake> {
        let general = &self.file.auth;
        let file_of = |own: &Option<PathBuf>, general: &Option<PathBuf>| {
            let name = own.as_ref().or(general.as_ref());
            name.map(|name| self.absolute_path(name))
        };
        let wanted = own.providers.as_ref().or(general.providers.as_ref());
        let all = [
            file::Provider::Htpasswd,
            file::Provider::Passwd,
            file::Provider::Ldap,
            file::Provider::Certificate,
        ];
        let mut providers = Vec::new();
        for kind in wanted.map_or(&all[..], |list| &list[..]) {
            providers.extend(match kind {
                file::Provider::Htpasswd => {
                    file_of(&own.htpasswd_file, &general.htpasswd_file).map(Provider::Htpasswd)
                }
                file::Provider::Passwd => {
                    file_of(&own.passwd_file, &general.passwd_file).map(Provider::Passwd)
                }
                file::Provider::Ldap => match (&own.ldap, &general.ldap) {
                    (Some(ldap), _) => Some(self.ldap(&format!("{at}.ldap"), ldap)?),
                    (None, Some(ldap)) => Some(self.ldap("auth.ldap", ldap)?),
                    (None, None) => None,
                },
                file::Provider::Certificate => {
                    self.file.tls.client_ca.as_ref().map(|_| Provider::Certificate)
                }
            });
        }
        Ok(providers)
    }

    fn ldap(&self, at: &str, given: &file::LdapTable) -> Result<Provider, Mistake> {
        let password = match (&given.bind_password, &given.bind_password_file) {
            (Some(password), _) => Some(password.clone()),
            (None, Some(name)) => {
                let path = self.absolute_path(name);
                let text = std::fs::read_to_string(&path).map_err(|e| {
                    let error = base::Error::io("Can't read file", &path, &e);
                    self.mistake(&format!("{at}.bind-password-file"), error.message())
                })?;
                Some(text.lines().next().unwrap_or_default().to_owned())
            }
            (None, None) => None,
        };
        let members = given.group_attribute.as_ref().map(|list| list.0.clone());
        Ok(Provider::Ldap(Box::new(Ldap {
            url: given.url.clone().unwrap_or_default(),
            base: given.base.clone().unwrap_or_default(),
            user_attribute: given.user_attribute.clone().unwrap_or_else(|| "uid".to_owned()),
            scope: match given.scope {
                Some(file::Scope::One) => LdapScope::One,
                Some(file::Scope::Subtree) | None => LdapScope::Subtree,
            },
            filter: given.filter.clone(),
            bind_dn: given.bind_dn.clone(),
            bind_password: password.map(Secret::new),
            starttls: given.starttls.unwrap_or(false),
            ca: self.optional(&given.ca),
            groups: given.groups_base.as_ref().map(|base| LdapGroups {
                base: base.clone(),
                filter: given.groups_filter.clone(),
                member_attributes: members
                    .unwrap_or_else(|| vec!["member".to_owned(), "uniqueMember".to_owned()]),
                members_are_dns: given.group_attribute_is_dn.unwrap_or(true),
                name_attribute: given
                    .group_name_attribute
                    .clone()
                    .unwrap_or_else(|| "cn".to_owned()),
            }),
            timeout: given.timeout.map_or(LDAP_TIMEOUT, duration_or_forever),
        })))
    }

    fn tls(&self) -> Option<TlsOptions> {
        let given = &self.file.tls;
        let client = match (given.client_auth, &given.client_ca) {
            (Some(file::ClientAuth::None), _) | (None, None) => ClientCertificates::No,
            (Some(file::ClientAuth::Optional), _) | (None, Some(_)) => ClientCertificates::Optional,
            (Some(file::ClientAuth::Required), _) => ClientCertificates::Required,
        };
        Some(TlsOptions {
            certificate: self.absolute_path(given.certificate.as_deref()?),
            key: self.absolute_path(given.key.as_deref()?),
            client_ca: self.optional(&given.client_ca),
            client_crls: given
                .client_crl
                .iter()
                .flat_map(|list| &list.0)
                .map(|name| self.absolute_path(Path::new(name)))
                .collect(),
            check_whole_chain: given.client_crl_check != Some(file::CrlCheck::Leaf),
            client,
            oldest: match given.min_version {
                Some(file::TlsVersion::V1_3) => TlsVersion::V1_3,
                Some(file::TlsVersion::V1_2) | None => TlsVersion::V1_2,
            },
        })
    }
}

fn has_auth_keys(auth: &file::AuthTable) -> bool {
    auth.providers.is_some()
        || auth.htpasswd_file.is_some()
        || auth.passwd_file.is_some()
        || auth.ldap.is_some()
}

fn has_access_keys(location: &file::LocationTable) -> bool {
    location.authz.is_some()
        || location.repository_authz.is_some()
        || location.anonymous.is_some()
        || location.require.is_some()
        || location.require_write.is_some()
}

/// Converts a redirect.
///
/// # Errors
/// The message of the mistake.
pub fn redirect(given: &file::RedirectTable) -> Result<Redirect, String> {
    let needed = |key: &Option<String>, name: &str| {
        let missing = || format!("a redirect needs 'from' and 'to': '{name}' is missing");
        key.clone().ok_or_else(missing)
    };
    let (from, to) = (needed(&given.from, "from")?, needed(&given.to, "to")?);
    Redirect::new(&from, &to, given.permanent.unwrap_or(true))
}

/// Converts the keys for recursive actions that a location refuses.
///
/// # Errors
/// The message of the mistake.
pub fn recursion(given: &file::LocationTable) -> Result<Option<Recursion>, String> {
    let replay = given.refuse_replay.unwrap_or(false);
    let none = OneOrMany::default();
    let patterns = given.refuse_recursive.as_ref().unwrap_or(&none);
    if patterns.0.is_empty() && !replay {
        return Ok(None);
    }
    Recursion::new(&patterns.0, replay).map(Some)
}

/// Returns the default location, at the top of the URL space.
pub fn at_root(root: &Path, read_only: bool) -> Location {
    let source = match Repository::is_repository(root) {
        true => Source::Repository(root.to_owned()),
        false => Source::Parent(root.to_owned()),
    };
    let mut location = Location::new("", source);
    location.read_only = read_only;
    location
}

/// The gzip level: higher levels take more processor time than the smaller responses save.
const GZIP: u32 = 4;
/// The highest number of threads that work on requests and commands, where none is configured.
const DEFAULT_THREADS: usize = 1024;
/// The default time limit of an LDAP request.
const LDAP_TIMEOUT: Duration = Duration::from_secs(10);
/// The duration that stands for `never`.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

fn duration_or_forever(period: Period) -> Duration {
    period.0.unwrap_or(FOREVER)
}

/// Parses addresses that were checked before.
pub fn addresses(list: Option<&OneOrMany>, port: u16) -> Vec<ListenAddress> {
    let texts = list.into_iter().flat_map(|list| &list.0);
    texts
        .filter_map(|text| ListenAddress::parse(text, port).ok())
        .collect()
}

/// Returns the prefix in the server's form: `/svn` for `/svn/`, and the empty string for `/`.
fn prefix(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.fold(String::new(), |all, part| all + "/" + part)
}

fn without_empty_segments(text: &str) -> String {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}
