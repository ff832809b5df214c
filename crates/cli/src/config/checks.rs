//! Checks of a parsed configuration: keys that exclude or require each other, and values that the types do not check.
//! The files that it names are not read.

use server::config::Require;

use super::Config;
use super::address::ListenAddress;
use super::file::{AuthTable, ClientAuth, LdapTable, LocationTable, Provider};
use super::keys::Mistake;
use super::resolve::{HTTP_PORT, HTTPS_PORT, METRICS_PORT, SVN_PORT, recursion, redirect};

/// Returns all mistakes, in the order of lines.
pub fn check(config: &Config) -> Vec<Mistake> {
    let mut checks = ConfigChecks {
        config,
        mistakes: Vec::new(),
    };
    checks.serve();
    checks.listen();
    checks.auth("auth", &config.file.auth);
    for (at, location) in config.file.location.iter().enumerate() {
        checks.location(&format!("location[{at}]"), location);
    }
    checks.redirects();
    checks.paths();
    checks.tls();
    checks.cluster();
    checks.numbers();
    checks.mistakes.sort_by_key(|mistake| mistake.line);
    checks.mistakes
}

struct ConfigChecks<'a> {
    config: &'a Config,
    mistakes: Vec<Mistake>,
}

impl ConfigChecks<'_> {
    fn wrong(&mut self, key: &str, text: impl Into<String>) {
        self.mistakes.push(self.config.mistake(key, text));
    }

    fn serve(&mut self) {
        let file = &self.config.file;
        let is_node = file.cluster.database.is_some();
        if file.serve.root.is_none() && file.location.is_empty() && !is_node {
            self.wrong(
                "serve",
                "nothing to serve: give 'root' in [serve], or a [[location]]",
            );
        }
        if let Some(special) = &file.serve.special_uri
            && special.split('/').all(str::is_empty)
        {
            self.wrong("serve.special-uri", "special-uri must not be empty");
        }
    }

    fn listen(&mut self) {
        let file = &self.config.file;
        let mut earlier: Vec<(&str, ListenAddress)> = Vec::new();
        for (key, port, list) in [
            ("listen.svn", SVN_PORT, &file.listen.svn),
            ("listen.http", HTTP_PORT, &file.listen.http),
            ("listen.https", HTTPS_PORT, &file.listen.https),
            ("metrics.listen", METRICS_PORT, &file.metrics.listen),
        ] {
            for text in list.iter().flat_map(|list| &list.0) {
                let address = match ListenAddress::parse(text, port) {
                    Ok(address) => address,
                    Err(error) => {
                        self.wrong(key, error.message());
                        continue;
                    }
                };
                let in_use = earlier.iter().find(|(_, other)| other.excludes(&address));
                if let Some((other_key, other)) = in_use {
                    self.wrong(
                        key,
                        format!("{address} is in use already: '{other_key}' has {other}"),
                    );
                }
                earlier.push((key, address));
            }
        }
        if file.listen.svn.is_some() && file.serve.root.is_none() && file.cluster.database.is_none() {
            self.wrong(
                "listen.svn",
                "svn:// serves what is below 'root' in [serve], which is missing",
            );
        }
    }

    fn location(&mut self, at: &str, location: &LocationTable) {
        let key = |name: &str| format!("{at}.{name}");
        match &location.path {
            None => self.wrong(
                at,
                "a location needs 'path', the beginning of its URLs: path = \"/svn\"",
            ),
            Some(path) if !path.starts_with('/') => {
                self.wrong(&key("path"), format!("path '{path}' must begin with '/'"));
            }
            Some(path) if path.split('/').any(|part| part == "." || part == "..") => {
                self.wrong(&key("path"), format!("path '{path}' must not hold '.' or '..'"));
            }
            Some(_) => {}
        }
        match (&location.parent, &location.repository) {
            (None, None) => self.wrong(
                at,
                "a location needs 'parent' (a folder of repositories) or 'repository'",
            ),
            (Some(_), Some(_)) => {
                self.wrong(&key("repository"), "'parent' and 'repository' exclude each other")
            }
            (None, Some(_)) if location.list == Some(true) => {
                self.wrong(&key("list"), "'list' means something only beside 'parent'");
            }
            _ => {}
        }
        self.authz_files(at, location);
        self.master(at, location);
        self.require(at, location);
        if let Err(text) = recursion(location) {
            self.wrong(&key("refuse-recursive"), text);
        }
        self.auth(&key("auth"), &location.auth);
        let anonymous = location.anonymous.unwrap_or(true);
        let certificates = self.config.file.tls.client_ca.is_some();
        if !anonymous
            && !has_password_provider(&location.auth)
            && !has_password_provider(&self.config.file.auth)
            && !certificates
        {
            let text = "nobody could come in: [auth] names no file and no directory that knows passwords";
            self.wrong(&key("anonymous"), text);
        }
    }

    fn authz_files(&mut self, at: &str, location: &LocationTable) {
        let key = |name: &str| format!("{at}.{name}");
        if location.authz.is_some() && location.repository_authz.is_some() {
            self.wrong(
                &key("repository-authz"),
                "'authz' and 'repository-authz' exclude each other",
            );
        }
        if location.groups.is_some() && location.authz.is_none() && location.repository_authz.is_none() {
            self.wrong(
                &key("groups"),
                "'groups' means something only beside 'authz' or 'repository-authz'",
            );
        }
        if let (Some(groups), Some(_)) = (&location.groups, &location.repository_authz)
            && (groups.starts_with("^/") || groups.contains("://"))
        {
            self.wrong(
                &key("groups"),
                "beside 'repository-authz', 'groups' must be a file",
            );
        }
    }

    fn require(&mut self, at: &str, location: &LocationTable) {
        let general = &self.config.file.auth;
        let has_users = has_password_provider(&location.auth)
            || has_password_provider(general)
            || self.config.file.tls.client_ca.is_some();
        let has_groups = location.auth.group_file.is_some()
            || general.group_file.is_some()
            || [&location.auth, general]
                .iter()
                .filter_map(|auth| auth.ldap.as_ref())
                .any(|ldap| ldap.groups_base.is_some());
        for (name, text) in [
            ("require", &location.require),
            ("require-write", &location.require_write),
        ] {
            let key = format!("{at}.{name}");
            match text.as_ref().map(|text| text.parse::<Require>()) {
                None => {}
                Some(Err(what)) => self.wrong(&key, what),
                Some(Ok(require)) if require.names_groups() && !has_groups => {
                    self.wrong(
                        &key,
                        "nothing says who is in a group: give 'group-file', or 'groups-base' of a directory",
                    );
                }
                Some(Ok(require)) if require.names_users() && !has_users => {
                    self.wrong(
                        &key,
                        "nobody can log in: [auth] names no file and no directory that knows passwords",
                    );
                }
                Some(Ok(_)) => {}
            }
        }
    }

    fn redirects(&mut self) {
        for (at, given) in self.config.file.redirect.iter().enumerate() {
            let key = format!("redirect[{at}]");
            match redirect(given) {
                Err(text) => self.wrong(&key, text),
                Ok(redirect) if redirect.is_circle() => {
                    self.wrong(&key, "'to' begins with 'from': clients would go round in circles");
                }
                Ok(_) => {}
            }
        }
    }

    fn master(&mut self, at: &str, location: &LocationTable) {
        let key = |name: &str| format!("{at}.{name}");
        if let Some(uri) = &location.master_uri {
            let rest = uri
                .strip_prefix("http://")
                .or_else(|| uri.strip_prefix("https://"));
            match rest.map(|rest| rest.split_once('/')) {
                None => self.wrong(
                    &key("master-uri"),
                    format!("'{uri}' is no http:// or https:// URL"),
                ),
                Some(None | Some((_, ""))) => {
                    let text = format!("'{uri}' must name a path on the master, not the whole server");
                    self.wrong(&key("master-uri"), text);
                }
                Some(Some(_)) => {}
            }
        }
        if let Some(version) = &location.master_version {
            let parts: Vec<_> = version.split('.').map(str::parse::<u16>).collect();
            if parts.len() != 3 || parts.iter().any(Result::is_err) {
                self.wrong(
                    &key("master-version"),
                    format!("'{version}' is no version such as 1.14.2"),
                );
            }
            if location.master_uri.is_none() {
                self.wrong(
                    &key("master-version"),
                    "'master-version' means something only beside 'master-uri'",
                );
            }
        }
    }

    fn auth(&mut self, at: &str, auth: &AuthTable) {
        let key = |name: &str| format!("{at}.{name}");
        // A location's own keys override those of the server.
        let general = &self.config.file.auth;
        for provider in auth.providers.iter().flatten() {
            let (there, needed) = match provider {
                Provider::Htpasswd => (
                    auth.htpasswd_file.is_some() || general.htpasswd_file.is_some(),
                    "htpasswd-file",
                ),
                Provider::Passwd => (
                    auth.passwd_file.is_some() || general.passwd_file.is_some(),
                    "passwd-file",
                ),
                Provider::Ldap => (auth.ldap.is_some() || general.ldap.is_some(), "[auth.ldap]"),
                Provider::Certificate => (self.config.file.tls.client_ca.is_some(), "client-ca in [tls]"),
            };
            if !there {
                self.wrong(&key("providers"), format!("this provider needs {needed}"));
            }
        }
        if auth.basic == Some(false) && auth.digest != Some(true) && has_password_provider(auth) {
            self.wrong(&key("basic"), "with neither Basic nor Digest nobody can log in");
        }
        if let Some(ldap) = &auth.ldap {
            self.ldap(&key("ldap"), ldap);
        }
    }

    fn ldap(&mut self, at: &str, ldap: &LdapTable) {
        let key = |name: &str| format!("{at}.{name}");
        match ldap.url.as_deref() {
            None => self.wrong(at, "a directory needs 'url': url = \"ldaps://ldap.example.org\""),
            Some(url) if !url.starts_with("ldap://") && !url.starts_with("ldaps://") => {
                self.wrong(&key("url"), format!("'{url}' is no ldap:// or ldaps:// URL"));
            }
            Some(url) if url.starts_with("ldaps://") && ldap.starttls == Some(true) => {
                self.wrong(&key("starttls"), "an ldaps:// connection is encrypted already");
            }
            Some(_) => {}
        }
        if ldap.base.is_none() {
            self.wrong(at, "a directory needs 'base', where users are looked for");
        }
        if ldap.bind_password.is_some() && ldap.bind_password_file.is_some() {
            self.wrong(
                &key("bind-password-file"),
                "'bind-password' and 'bind-password-file' exclude each other",
            );
        }
        let password = ldap.bind_password.is_some() || ldap.bind_password_file.is_some();
        if ldap.bind_dn.is_some() != password {
            self.wrong(
                &key("bind-dn"),
                "'bind-dn' and 'bind-password' (or 'bind-password-file') need each other",
            );
        }
        for (name, filter) in [("filter", &ldap.filter), ("groups-filter", &ldap.groups_filter)] {
            if let Some(filter) = filter
                && !balanced(filter)
            {
                self.wrong(
                    &key(name),
                    format!("'{filter}' is no filter: its brackets do not match"),
                );
            }
        }
    }

    /// Reports two locations for the same URLs.
    fn paths(&mut self) {
        let locations = &self.config.file.location;
        for (at, location) in locations.iter().enumerate() {
            let Some(path) = &location.path else { continue };
            let same = |other: &&LocationTable| other.path.as_deref().map(segments) == Some(segments(path));
            if locations[..at].iter().any(|other| same(&other)) {
                self.wrong(
                    &format!("location[{at}].path"),
                    format!("there is another location for '{path}'"),
                );
            }
        }
    }

    fn tls(&mut self) {
        let file = &self.config.file;
        let tls = &file.tls;
        if file.listen.https.is_some() && tls.certificate.is_none() {
            self.wrong("listen.https", "https needs 'certificate' and 'key' in [tls]");
        }
        match (&tls.certificate, &tls.key) {
            (Some(_), None) => self.wrong("tls.certificate", "'certificate' needs 'key'"),
            (None, Some(_)) => self.wrong("tls.key", "'key' needs 'certificate'"),
            _ => {}
        }
        let asked = matches!(tls.client_auth, Some(ClientAuth::Optional | ClientAuth::Required));
        if asked && tls.client_ca.is_none() {
            self.wrong("tls.client-auth", "'client-auth' needs 'client-ca'");
        }
        if tls.client_crl.is_some() && tls.client_ca.is_none() {
            self.wrong("tls.client-crl", "'client-crl' needs 'client-ca'");
        }
        if tls.client_crl_check.is_some() && tls.client_crl.is_none() {
            self.wrong("tls.client-crl-check", "'client-crl-check' needs 'client-crl'");
        }
    }

    fn cluster(&mut self) {
        let cluster = &self.config.file.cluster;
        let needed = [
            ("database", cluster.database.is_some()),
            ("objects", cluster.objects.is_some()),
            ("directory", cluster.directory.is_some()),
        ];
        let others = [
            cluster.endpoint.is_some(),
            cluster.region.is_some(),
            cluster.access_key.is_some(),
            cluster.secret_key_file.is_some(),
            cluster.node.is_some(),
            cluster.url.is_some(),
            cluster.cache.is_some(),
            cluster.fetch_from_nodes.is_some(),
            cluster.lease.is_some(),
            cluster.staleness.is_some(),
            cluster.patience.is_some(),
            cluster.pack.is_some(),
            cluster.gc.is_some(),
            cluster.gc_grace.is_some(),
            cluster.scrub.is_some(),
            cluster.job_rate.is_some(),
        ];
        if needed.iter().any(|(_, given)| *given) || others.contains(&true) {
            for (key, _) in needed.iter().filter(|(_, given)| !given) {
                self.wrong("cluster", format!("[cluster] needs '{key}'"));
            }
        }
        if cluster.access_key.is_some() != cluster.secret_key_file.is_some() {
            self.wrong(
                "cluster.access-key",
                "'access-key' and 'secret-key-file' need each other",
            );
        }
        let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !cluster.url.as_ref().is_none_or(is_url) {
            self.wrong("cluster.url", "'url' begins with 'http://' or 'https://'");
        }
    }

    fn numbers(&mut self) {
        let file = &self.config.file;
        if file.compression.level.is_some_and(|level| level > 9) {
            self.wrong("compression.level", "a compression level is between 0 and 9");
        }
        for (name, number) in [
            ("xml-depth", file.limits.xml_depth),
            ("header-count", file.limits.header_count),
            ("connections", file.limits.connections),
            ("threads", file.limits.threads),
        ] {
            if number == Some(0) {
                self.wrong(&format!("limits.{name}"), format!("{name} must be at least 1"));
            }
        }
    }
}

fn has_password_provider(auth: &AuthTable) -> bool {
    auth.htpasswd_file.is_some() || auth.passwd_file.is_some() || auth.ldap.is_some()
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// True if the brackets match and one pair encloses the whole filter.
fn balanced(filter: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in filter.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => {
                depth -= 1;
                if depth == 0 && at + 1 < filter.len() {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth == 0
}

#[cfg(test)]
#[expect(clippy::too_many_lines, reason = "a test reads best as one piece")]
mod tests {
    use super::super::tests::complaints;

    #[test]
    fn conflicting_keys_are_reported_with_their_line() {
        for (text, expected) in [
            ("", "/etc/sven.toml: nothing to serve"),
            (
                "[listen]\nhttp = ':http'\n[serve]\nroot = '/r'\n",
                "/etc/sven.toml:2: Invalid port",
            ),
            (
                "[[location]]\nparent = '/r'\n",
                "/etc/sven.toml:1: a location needs 'path'",
            ),
            (
                "[[location]]\npath = '/'\n",
                "/etc/sven.toml:1: a location needs 'parent'",
            ),
            (
                "[[location]]\npath = '/a/'\nparent = '/r'\n[[location]]\npath = '/a'\nparent = '/s'\n",
                "/etc/sven.toml:5: there is another location for '/a'",
            ),
            (
                "[[location]]\npath = '/a'\nparent = '/r'\nanonymous = false\n",
                "/etc/sven.toml:4: nobody could come in",
            ),
            (
                "[[location]]\npath = '/a'\nparent = '/r'\nmaster-uri = 'http://m/'\n",
                "/etc/sven.toml:4: 'http://m/' must name a path",
            ),
            (
                "[serve]\nroot = '/r'\n[listen]\nhttps = ':443'\n",
                "/etc/sven.toml:4: https needs 'certificate'",
            ),
            (
                "[serve]\nroot = '/r'\n[auth]\nproviders = ['ldap']\n",
                "/etc/sven.toml:4: this provider needs [auth.ldap]",
            ),
            (
                "[serve]\nroot = '/r'\n[auth.ldap]\nurl = 'ldap://x'\nbase = 'dc=x'\nfilter = '(a=b'\n",
                "/etc/sven.toml:6: '(a=b' is no filter",
            ),
            (
                "[[redirect]]\nfrom = '/a'\nto = '/a/b'\n[serve]\nroot = '/r'\n",
                "/etc/sven.toml:1: 'to' begins with 'from'",
            ),
            (
                "[[redirect]]\nfrom = '/a'\n[serve]\nroot = '/r'\n",
                "/etc/sven.toml:1: a redirect needs 'from' and 'to': 'to' is missing",
            ),
            (
                "[[location]]\npath = '/a'\nparent = '/r'\nrequire = 'users x'\n",
                "/etc/sven.toml:4: 'users' is no condition",
            ),
            (
                "[[location]]\npath = '/a'\nparent = '/r'\nrequire-write = 'user x'\n",
                "/etc/sven.toml:4: nobody can log in",
            ),
            (
                "[auth]\nhtpasswd-file = 'x'\n[[location]]\npath = '/a'\nparent = '/r'\nrequire = 'group x'\n",
                "/etc/sven.toml:6: nothing says who is in a group",
            ),
            (
                "[[location]]\npath = '/a'\nparent = '/r'\nrefuse-recursive = ['/tags', 'x']\n",
                "/etc/sven.toml:4: 'x' is no pattern",
            ),
            (
                "[serve]\nroot = '/r'\n[tls]\nclient-crl = 'x'\n",
                "/etc/sven.toml:4: 'client-crl' needs 'client-ca'",
            ),
            (
                "[serve]\nroot = '/r'\n[compression]\nlevel = 10\n",
                "/etc/sven.toml:4: ",
            ),
            (
                "[serve]\nroot = '/r'\n[listen]\nsvn = 'localhost:81'\nhttp = ':81'\n",
                "/etc/sven.toml:5: :81 is in use already: 'listen.svn' has localhost:81",
            ),
        ] {
            let found = complaints(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn several_mistakes_are_reported_at_once() {
        let text = "[listen]\nsvn = ':x'\n[limits]\nthreads = 0\n";
        assert_eq!(complaints(text).lines().count(), 4, "{}", complaints(text));
    }

    #[test]
    fn a_valid_file_has_no_mistakes() {
        let text = "[serve]\nroot = '/srv/svn'\n[listen]\nsvn = ':3690'\nhttp = ['127.0.0.1:80', '[::1]:80']\n\
                    [auth]\nhtpasswd-file = 'htpasswd'\n[[location]]\npath = '/svn'\nparent = '/srv/svn'\nanonymous = false\n";
        assert_eq!(complaints(text), "");
    }
}
