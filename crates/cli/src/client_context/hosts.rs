//! The options of sessions that depend on the host: the sections of `servers`, and tunnels.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::Duration;

use base::{Code, Error, Result, Url};
use client::config::{RuntimeConfig, ServerConfig, Tristate};
use ra::{AuthMechanism, BulkUpdates, HttpOptions, Password, Proxy, Tunnels};

/// The most connections of one session.
const MOST_CONNECTIONS: i64 = 8;
/// The longest time that a server may be silent by default.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Checks the options of a host about the storage of credentials.
///
/// # Errors
/// `BAD_CONFIG_VALUE`.
pub fn check_storage(config: &RuntimeConfig, url: &Url) -> Result<()> {
    let server = config.server(url.host());
    for server in [server.without_group(), server] {
        server.flag("store-passwords", true)?;
        server.tristate("store-plaintext-passwords", "ask")?;
        server.flag("store-ssl-client-cert-pp", true)?;
        server.tristate("store-ssl-client-cert-pp-plaintext", "ask")?;
        server.flag("store-auth-creds", true)?;
    }
    Ok(())
}

/// Returns how HTTP is spoken with the host of a URL. The settings are read in the incumbent's order, so that of several wrong ones the same
/// one is the error.
///
/// # Errors
/// `BAD_CONFIG_VALUE`, `INCORRECT_PARAMS` and `RA_ILLEGAL_URL` for wrong values.
pub fn http_options(config: &RuntimeConfig, url: &Url) -> Result<HttpOptions> {
    let server = config.server(url.host());
    let defaults = HttpOptions::default();
    switches(&server.without_group(), &defaults)?;
    let options = switches(&server, &defaults)?;
    let timeout = timeout(&server)?;
    let proxy = proxy(&server)?;
    let mechanisms = match server.text("http-auth-types")? {
        Some(words) => mechanisms(&words)?,
        None => defaults.mechanisms,
    };
    let files = server.text("ssl-authority-files")?.unwrap_or_default();
    let files = files.split(';').map(str::trim).filter(|file| !file.is_empty());
    Ok(HttpOptions {
        proxy,
        authority_files: files.map(PathBuf::from).collect(),
        mechanisms,
        timeout: Some(timeout),
        ..options
    })
}

/// Returns the options that are switches or numbers.
fn switches(server: &ServerConfig<'_>, defaults: &HttpOptions) -> Result<HttpOptions> {
    let compression = server.tristate("http-compression", "auto")? != Tristate::No;
    let trust_default_authorities = server.flag("ssl-trust-default-ca", true)?;
    let bulk_updates = match server.tristate("http-bulk-updates", "auto")? {
        Tristate::Yes => BulkUpdates::Always,
        Tristate::No => BulkUpdates::Never,
        Tristate::Unknown => BulkUpdates::Auto,
    };
    let connections = match server.number("http-max-connections", i64::MIN, i64::MAX)? {
        Some(number) => usize::try_from(number.clamp(1, MOST_CONNECTIONS)).unwrap_or(1),
        None => defaults.connections,
    };
    // Every server takes a body with a length, so `auto` needs no request to find out whether this one takes chunks.
    let chunked_requests = server.tristate("http-chunked-requests", "auto")? == Tristate::Yes;
    Ok(HttpOptions {
        compression,
        trust_default_authorities,
        bulk_updates,
        connections,
        chunked_requests,
        ..defaults.clone()
    })
}

fn timeout(server: &ServerConfig<'_>) -> Result<Duration> {
    let seconds = server.number("http-timeout", 0, i64::MAX).map_err(|error| {
        let message = "invalid config: bad value for 'http-timeout' option";
        error.wrap(Code::BAD_CONFIG_VALUE, message)
    })?;
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Ok(seconds
        .filter(|seconds| *seconds > 0)
        .map_or(TIMEOUT, Duration::from_secs))
}

fn proxy(server: &ServerConfig<'_>) -> Result<Option<Proxy>> {
    // A wrong one is an error without a proxy too.
    let port = server.proxy_port()?;
    let host = server
        .proxy_text("http-proxy-host")?
        .filter(|host| !host.is_empty());
    let Some(host) = host else {
        return Ok(None);
    };
    let user = server.proxy_text("http-proxy-username")?;
    let secret = server.proxy_text("http-proxy-password")?;
    Ok(Some(Proxy {
        host,
        port,
        password: user.map(|user| Password {
            user,
            password: secret.unwrap_or_default(),
        }),
    }))
}

/// Parses `http-auth-types`. Mechanisms that are not built in are known and never used.
fn mechanisms(words: &str) -> Result<Vec<AuthMechanism>> {
    let mut allowed = Vec::new();
    for word in words.split(';').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            "basic" => allowed.push(AuthMechanism::Basic),
            "digest" => allowed.push(AuthMechanism::Digest),
            "ntlm" | "negotiate" => {}
            _ => {
                let message = format!("Invalid config: unknown http-auth-types '{word}'");
                return Err(Error::new(Code::BAD_CONFIG_VALUE, message));
            }
        }
    }
    // The stronger one first.
    allowed.sort_by_key(|mechanism| *mechanism == AuthMechanism::Basic);
    allowed.dedup();
    Ok(allowed)
}

/// Returns the commands of tunnels, and the environment variables that they name.
///
/// # Errors
/// `BAD_CONFIG_VALUE` for references that expand too far.
pub fn tunnels(config: &RuntimeConfig) -> Result<Tunnels> {
    let commands: BTreeMap<String, String> = config.tunnels()?.into_iter().collect();
    let named = commands.values().filter_map(|command| {
        let rest = command.strip_prefix('$')?;
        rest.split(' ').next().map(str::to_owned)
    });
    let variables = named
        .chain(["SVN_SSH".to_owned()])
        .filter_map(|name| env::var(&name).ok().map(|value| (name, value)))
        .collect();
    Ok(Tunnels { commands, variables })
}
