//! Translates the settings of the whole server: addresses, TLS, limits, the cache, logs.

use std::path::Path;

use super::draft::{TableDraft, quoted};
use super::hosts::{ApacheHost, ApacheServer, LocationContext};
use super::location::absolute_name;
use super::syntax::Directive;
use crate::config::value::Size;

/// Returns `[listen]`: the addresses on which Apache serves repositories, with and without encryption.
pub fn listen(server: &ApacheServer<'_>) -> TableDraft {
    let mut table = TableDraft::new("[listen]");
    let Addresses {
        http,
        https,
        is_guessed,
    } = addresses(server);
    if is_guessed {
        table
            .remark("Nothing says where Apache listens: these are the ports of its hosts, or the usual one.");
    }
    if !http.is_empty() {
        table.texts("http", &http);
    }
    if !https.is_empty() {
        table.texts("https", &https);
    }
    table
}

/// Returns those addresses at which Apache does not serve a location: they belong to other hosts.
pub fn not_served_at(server: &ApacheServer<'_>, context: &LocationContext<'_>) -> Vec<String> {
    let Some(host) = context.host.map(|at| &server.hosts[at]) else {
        return Vec::new();
    };
    let Addresses { http, https, .. } = addresses(server);
    let mut all = [http, https].concat();
    all.retain(|address| !host.answers_at(address));
    all
}

/// The addresses on which Apache serves repositories.
struct Addresses {
    http: Vec<String>,
    https: Vec<String>,
    /// There is no `Listen`.
    is_guessed: bool,
}

fn addresses(server: &ApacheServer<'_>) -> Addresses {
    let (mut http, mut https): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let listens = server.global.settings.iter().filter(|d| d.is("Listen"));
    let mut addresses: Vec<(String, bool)> = listens
        .map(|d| (d.arg(0).to_owned(), d.arg(1).eq_ignore_ascii_case("https")))
        .collect();
    let is_guessed = addresses.is_empty();
    if is_guessed {
        // The file of a site alone has no `Listen`: its hosts have the ports.
        let hosts = server.hosts.iter().flat_map(|host| &host.addresses);
        addresses = hosts
            .map(|address| {
                (
                    port_of(address).map_or(":80".to_owned(), |p| format!(":{p}")),
                    false,
                )
            })
            .collect();
        if addresses.is_empty() {
            addresses.push((":80".to_owned(), false));
        }
    }
    for (address, is_https) in addresses {
        let port = port_of(&address).unwrap_or(80);
        let hosts: Vec<&ApacheHost<'_>> = server.hosts.iter().filter(|host| host.is_at(port)).collect();
        let served = hosts.iter().any(|host| server.serves_in(host));
        let elsewhere =
            !server.global.locations.is_empty() && hosts.is_empty() && server.serves_in(&server.global);
        if !served && !elsewhere {
            continue;
        }
        let encrypted = is_https || hosts.iter().any(|host| is_on(host.setting("SSLEngine")));
        let address = match address.contains([':', '.']) {
            true => address,
            false => format!(":{address}"),
        };
        let list = if encrypted { &mut https } else { &mut http };
        let serving = hosts.iter().filter(|host| server.serves_in(host));
        let own: Vec<&str> = serving.flat_map(|host| host.addresses_at(port)).collect();
        // Hosts at addresses of their own do not answer at the others of the machine.
        let narrowed = match is_any_address(&address) && own.iter().all(|own| is_number(address_of(own))) {
            true if !own.is_empty() => own
                .iter()
                .map(|own| format!("{}:{port}", address_of(own)))
                .collect(),
            _ => vec![address],
        };
        for address in narrowed {
            if !list.contains(&address) {
                list.push(address);
            }
        }
    }
    Addresses {
        http,
        https,
        is_guessed,
    }
}

/// Returns `[tls]`, from the first encrypted host with repositories.
pub fn tls(server: &ApacheServer<'_>, root: &Path) -> TableDraft {
    let mut table = TableDraft::new("[tls]");
    let all = || std::iter::once(&server.global).chain(&server.hosts);
    let encrypted = |host: &&ApacheHost<'_>| is_on(host.setting("SSLEngine")) && server.serves_in(host);
    let Some(host) = all().find(encrypted) else {
        return table;
    };
    let setting = |name: &str| host.setting(name).or(server.global.setting(name));
    let file = |directive: &Directive| absolute_name(directive.arg(0), root);
    if let Some(certificate) = setting("SSLCertificateFile") {
        table.text("certificate", file(certificate));
        table.text(
            "key",
            setting("SSLCertificateKeyFile").map_or(file(certificate), file),
        );
    }
    client_certificates(&setting, root, &mut table);
    if setting("SSLProtocol").is_some_and(is_tls_1_3_only) {
        table.text("min-version", "1.3");
    }
    for other in all().filter(encrypted) {
        if let (Some(theirs), Some(ours)) =
            (other.setting("SSLCertificateFile"), setting("SSLCertificateFile"))
            && theirs.args != ours.args
        {
            table.remark(format!(
                "{}: {}: there is one certificate for all names here",
                theirs.at,
                theirs.shown()
            ));
        }
    }
    table
}

/// Translates the directives about certificates of clients.
fn client_certificates<'a>(
    setting: &dyn Fn(&str) -> Option<&'a Directive>,
    root: &Path,
    table: &mut TableDraft,
) {
    let file = |directive: &Directive| absolute_name(directive.arg(0), root);
    if let Some(authority) = setting("SSLCACertificateFile") {
        table.text("client-ca", file(authority));
        let asked = setting("SSLVerifyClient").map_or("none".to_owned(), |d| d.arg(0).to_ascii_lowercase());
        let word = match asked.as_str() {
            "require" => "required",
            "optional" | "optional_no_ca" => "optional",
            _ => "none",
        };
        if let Some(list) = setting("SSLCARevocationFile") {
            let check =
                setting("SSLCARevocationCheck").map_or("none".to_owned(), |d| d.arg(0).to_ascii_lowercase());
            match check.as_str() {
                "none" => {
                    let why = format!("{}: SSLCARevocationCheck is not on", list.at);
                    table.idle("client-crl", quoted(&file(list)), why);
                }
                check => {
                    table.text("client-crl", file(list));
                    table.text("client-crl-check", check);
                }
            }
        }
        table.text("client-auth", word);
    }
}

/// True if an `SSLProtocol` allows TLS 1.3 and not TLS 1.2.
fn is_tls_1_3_only(protocols: &Directive) -> bool {
    let words: Vec<String> = protocols
        .args
        .iter()
        .map(|word| word.to_ascii_lowercase())
        .collect();
    let named: Vec<&str> = words.iter().map(|word| word.trim_start_matches('+')).collect();
    match named.contains(&"all") {
        true => named.contains(&"-tlsv1.2"),
        false => named.contains(&"tlsv1.3") && !named.contains(&"tlsv1.2"),
    }
}

/// Returns `[limits]`, with Apache's limits where they are larger than the defaults.
pub fn limits(context: &LocationContext<'_>) -> TableDraft {
    let mut table = TableDraft::new("[limits]");
    let ours = server::config::Limits::default();
    let number = |name: &str| {
        context
            .last(name)
            .and_then(|d| d.arg(0).parse::<u64>().ok().map(|n| (d, n)))
    };
    if let Some((directive, bytes)) = number("LimitXMLRequestBody") {
        match bytes {
            0 => table.set("xml-body", quoted("2 GiB")),
            bytes if bytes > ours.xml_body => table.text("xml-body", Size(bytes).to_string()),
            bytes => {
                let value = quoted(&Size(bytes).to_string());
                table.idle("xml-body", value, format!("{}; ours is larger", directive.at));
            }
        }
    }
    if let Some((_, bytes)) = number("LimitRequestBody").filter(|(_, bytes)| *bytes > 0) {
        table.text("body", Size(bytes).to_string());
    }
    if let Some((_, count)) = number("LimitRequestFields").filter(|(_, n)| *n > ours.header_lines as u64) {
        table.number("header-count", count);
    }
    for (name, key, default) in [
        ("KeepAliveTimeout", "keep-alive-timeout", ours.keep_alive),
        ("Timeout", "body-silence", ours.body_silence),
    ] {
        if let Some((_, seconds)) = number(name).filter(|(_, seconds)| *seconds != default.as_secs()) {
            table.text(key, format!("{seconds}s"));
        }
    }
    table
}

/// Returns `[cache]` and `[compression]`.
pub fn performance(context: &LocationContext<'_>) -> [TableDraft; 2] {
    let (mut cache, mut compression) = (TableDraft::new("[cache]"), TableDraft::new("[compression]"));
    if let Some(directive) = context.last("SVNInMemoryCacheSize")
        && let Ok(kilobytes) = directive.arg(0).parse::<u64>()
    {
        let bytes = Size(kilobytes.saturating_mul(1024));
        let why = format!(
            "{}, for each process; by default a quarter of the memory, at most 1 GiB, for all",
            directive.at
        );
        cache.idle("memory", quoted(&bytes.to_string()), why);
    }
    if let Some(level) = context
        .last("SVNCompressionLevel")
        .and_then(|d| d.arg(0).parse::<u64>().ok())
    {
        compression.number("level", level.min(9));
    }
    [cache, compression]
}

/// Returns `[log]`.
pub fn logs(server: &ApacheServer<'_>, context: &LocationContext<'_>, root: &Path) -> TableDraft {
    let mut table = TableDraft::new("[log]");
    let host = context.host.map_or(&server.global, |at| &server.hosts[at]);
    let mut all: Vec<&Directive> = server.global.settings.clone();
    all.extend(&host.settings);
    for directive in all {
        let log = directive.is("CustomLog") || directive.is("TransferLog");
        let name = directive.arg(0);
        if (log || directive.is("ErrorLog")) && (name.starts_with('|') || name.starts_with("syslog")) {
            table.remark(format!(
                "{}: {}: logs are files here",
                directive.at,
                directive.shown()
            ));
        } else if log && directive.args.iter().any(|word| word.contains("SVN-ACTION")) {
            table.text("operational", absolute_name(name, root));
        } else if log {
            table.text("access", absolute_name(name, root));
        } else if directive.is("ErrorLog") {
            table.text("error", absolute_name(name, root));
        } else if directive.is("LogLevel") {
            let level = match directive.arg(0).to_ascii_lowercase().as_str() {
                "emerg" | "alert" | "crit" | "error" => "error",
                "warn" => "warn",
                "notice" | "info" => "info",
                _ => "debug",
            };
            table.text("level", level);
        }
    }
    if table.has_keys() {
        table.remark(
            "These are Apache's files: give the server's user the right to write them, or name others.",
        );
    }
    table
}

/// Returns `special-uri` for `[serve]`.
pub fn special_uri(context: &LocationContext<'_>) -> Option<String> {
    context
        .last("SVNSpecialURI")
        .map(|d| d.arg(0).trim_matches('/').to_owned())
}

fn is_on(setting: Option<&Directive>) -> bool {
    setting.is_some_and(Directive::on)
}

impl ApacheHost<'_> {
    /// True if the host is on `port`.
    fn is_at(&self, port: u16) -> bool {
        !self.addresses_at(port).is_empty()
    }

    /// Returns the host's addresses with `port`.
    fn addresses_at(&self, port: u16) -> Vec<&str> {
        let at = |address: &&str| port_of(address).is_none_or(|own| own == port);
        self.addresses.iter().copied().filter(at).collect()
    }

    /// True if the host answers at each address that this one of `[listen]` stands for.
    fn answers_at(&self, listened: &str) -> bool {
        let own = self.addresses_at(port_of(listened).unwrap_or(80));
        // The numbers behind names are not looked up.
        own.iter()
            .any(|own| !is_number(address_of(own)) || address_of(own) == address_of(listened))
    }
}

/// The address without its port.
fn address_of(address: &str) -> &str {
    match address.rsplit_once(':') {
        Some((host, _)) if !host.contains(':') || host.ends_with(']') => host,
        Some(_) => address,
        None if address.parse::<u16>().is_ok() => "",
        None => address,
    }
}

/// True for an address that stands for all of the machine.
fn is_any_address(address: &str) -> bool {
    ["", "*", "0.0.0.0", "[::]"].contains(&address_of(address))
}

/// True for an IP address of one network interface.
fn is_number(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<std::net::IpAddr>()
        .is_ok_and(|address| !address.is_unspecified())
}

/// Returns the port of `80`, `*:80`, `[::1]:80`; `*` and a name alone have none.
fn port_of(address: &str) -> Option<u16> {
    match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => port.parse().ok(),
        _ => address.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_addresses() {
        for (address, port) in [
            ("80", Some(80)),
            ("*:443", Some(443)),
            ("[::]:8080", Some(8080)),
            ("_default_:443", Some(443)),
            ("10.0.0.1:81", Some(81)),
            ("*", None),
            ("example.org", None),
            ("*:*", None),
        ] {
            assert_eq!(port_of(address), port, "{address}");
        }
    }
}
