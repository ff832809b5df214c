//! HTTP servers: Apache with mod_dav_svn, and Sven, with the same URLs.

use std::fs;
use std::path::{Path, PathBuf};

use super::TestServer;
use super::cluster::{self, ClusterSite};
use super::transport::{Transport, certificate};
use crate::tool::{Side, Tool, scratch, tool_link};

/// Debian's directory of Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// The modules for a Subversion server.
const LOADED: &[&str] = &[
    "mpm_event",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_user",
    "authz_groupfile",
    "authz_host",
    "access_compat",
    "auth_basic",
    "dav",
    "dav_svn",
    "authz_svn",
    "alias",
    "dir",
    "mime",
    "env",
    "proxy",
    "proxy_http",
    "rewrite",
];

/// The additional modules for https.
const LOADED_FOR_TLS: &[&str] = &["socache_shmcb", "ssl"];

/// The users alice (secret), bob (pw) and carol (pw), as `htpasswd -s` writes them.
const USERS: &str = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n\
                     carol:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n";

/// Apache's directives for: everyone reads, logged-in users write.
pub const READ_FREELY: &str = "AuthType Basic\nAuthName repository\nAuthUserFile USERS\n\
                               <LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>\n";

/// The configuration of an HTTP server for all repositories below `parent`, each at `/NAME`.
#[derive(Clone, Copy, Debug)]
pub struct HttpSite<'a> {
    /// The transport; not [`Transport::Svn`].
    pub transport: Transport,
    /// The URL prefix: `/`, or `/svn` and the like.
    pub at: &'a str,
    /// The directory of repositories.
    pub parent: &'a Path,
    /// Lines inside of Apache's `<Location>`; `USERS` stands for the password file.
    pub apache: &'a str,
    /// Lines outside of Apache's `<Location>`.
    pub apache_wide: &'a str,
    /// Lines of Sven's `[[location]]`.
    pub ours: &'a str,
    /// More arguments for `sven serve`.
    pub args: &'a [&'a str],
}

impl<'a> HttpSite<'a> {
    /// Returns a plain `http://` site.
    pub fn plain(parent: &'a Path) -> HttpSite<'a> {
        HttpSite {
            transport: Transport::Http,
            at: "/",
            parent,
            apache: "",
            apache_wide: "",
            ours: "",
            args: &[],
        }
    }
}

impl TestServer {
    /// Serves every repository below `parent` at `http://127.0.0.1:PORT/NAME`. `location` are lines for Apache's
    /// `<Location>` (`USERS` stands for the password file), `args` more arguments for `sven serve`.
    pub fn http(side: Side, parent: &Path, location: &str, args: &[&str]) -> TestServer {
        let site = HttpSite {
            apache: location,
            args,
            ..HttpSite::plain(parent)
        };
        TestServer::http_site(side, &site)
    }

    /// Serves a site.
    pub fn http_site(side: Side, site: &HttpSite<'_>) -> TestServer {
        match side {
            Side::Theirs => TestServer::apache(site),
            Side::Ours => TestServer::sven(site),
        }
    }

    /// Starts Apache with these lines of configuration and with `files` in a directory of its own. In the lines
    /// `@FOLDER` stands for that directory and `@PORT` for the port.
    pub fn apache_with(lines: &str, files: &[(&str, &str)]) -> TestServer {
        TestServer::start("apache2", |port| {
            let dir = scratch();
            let at = |name: &str| dir.path().join(name).display().to_string();
            let mut conf = format!(
                "ServerRoot \"{}\"\nPidFile \"{}\"\nListen 127.0.0.1:{port}\nServerName localhost\nErrorLog \"{}\"\n\
                 LogLevel crit\nTypesConfig /etc/mime.types\nMaxKeepAliveRequests 0\n",
                dir.path().display(),
                at("pid"),
                at("error.log"),
            );
            conf.push_str(&modules(&[]));
            conf.push_str(&with_placeholders(lines, dir.path(), port));
            write(dir.path(), files, ("httpd.conf", &conf));
            let tool = Tool::new("/usr/sbin/apache2")
                .args(["-X", "-f"])
                .arg(dir.path().join("httpd.conf"));
            (tool, Some(dir))
        })
    }

    /// Starts Sven with the configuration that `sven import-config` makes of the same lines.
    pub fn imported(lines: &str, files: &[(&str, &str)]) -> TestServer {
        TestServer::start("sven serve", |port| {
            let dir = scratch();
            let conf = format!(
                "Listen 127.0.0.1:{port}\n{}",
                with_placeholders(lines, dir.path(), port)
            );
            write(dir.path(), files, ("httpd.conf", &conf));
            let imported = Tool::new(tool_link("sven"))
                .args(["import-config", "--apache"])
                .arg(dir.path().join("httpd.conf"))
                .ok();
            write(dir.path(), &[], ("sven.toml", &imported.out()));
            let tool = Tool::new(tool_link("sven"))
                .args(["serve", "--config"])
                .arg(dir.path().join("sven.toml"));
            (tool, Some(dir))
        })
    }

    /// Returns Sven's configuration file.
    pub fn configuration(&self) -> String {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        fs::read_to_string(dir.path().join("sven.toml")).unwrap_or_default()
    }

    /// Returns the request lines in the access log, without the version. Both servers write a line after they have
    /// sent the response, which may be after the client has received all of it.
    /// For a cluster these are the requests of clients: nodes log those that they pass on as well.
    pub fn requests(&self) -> Vec<String> {
        if let Some(cluster) = &self.cluster {
            return cluster.request_lines();
        }
        let log = fs::read_to_string(self.access_log()).unwrap_or_default();
        let asked = |line: &str| Some(line.split_once('"')?.1.split_once(" HTTP/")?.0.to_owned());
        log.lines().filter_map(asked).collect()
    }

    /// Returns the path of the access log.
    pub fn access_log(&self) -> PathBuf {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        dir.path().join("access.log")
    }

    /// Returns the path of the operational log. Apache's lines have only user, repository and operation.
    pub fn operational_log(&self) -> PathBuf {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        dir.path().join("operations.log")
    }

    fn sven(site: &HttpSite<'_>) -> TestServer {
        if cluster::is_chosen() {
            let dir = scratch();
            let configuration = configuration(site, dir.path(), "@ROOT");
            let cluster = ClusterSite {
                transport: site.transport,
                root: site.parent,
                configuration: &configuration,
                args: site.args,
            };
            return TestServer::cluster(&cluster, Some(dir));
        }
        TestServer::start("sven serve", |port| {
            let dir = scratch();
            let scheme = site.transport.scheme();
            let parent = site.parent.display().to_string();
            let conf = format!(
                "[listen]\n{scheme} = \"127.0.0.1:{port}\"\n{}",
                configuration(site, dir.path(), &parent)
            );
            fs::write(dir.path().join("sven.toml"), conf).expect("because the folder is ours");
            let tool = Tool::new(tool_link("sven"))
                .args(["serve", "--config"])
                .arg(dir.path().join("sven.toml"))
                .args(site.args);
            (tool, Some(dir))
        })
    }

    fn apache(site: &HttpSite<'_>) -> TestServer {
        TestServer::start("apache2", |port| {
            let dir = scratch();
            let at = |name: &str| dir.path().join(name).display().to_string();
            let mut conf = format!(
                "ServerRoot \"{}\"\nPidFile \"{}\"\nListen 127.0.0.1:{port}\nServerName localhost\n\
                 ErrorLog \"{}\"\nLogLevel crit\nTypesConfig /etc/mime.types\nMaxKeepAliveRequests 0\n",
                dir.path().display(),
                at("pid"),
                at("error.log"),
            );
            let (modules, lines) = match site.transport {
                Transport::Https => (LOADED_FOR_TLS, tls(&at("session-cache"))),
                Transport::HttpV1 => (&[][..], "SVNAdvertiseV2Protocol off\n".to_owned()),
                Transport::Http | Transport::Svn => (&[][..], String::new()),
            };
            conf.push_str(&self::modules(modules));
            let (tls, v1) = match site.transport {
                Transport::Https => (lines.as_str(), ""),
                _ => ("", lines.as_str()),
            };
            conf.push_str(&format!(
                "{tls}{}\nSVNUseUTF8 on\nLogFormat \"%u %{{SVN-REPOS-NAME}}e %{{SVN-ACTION}}e\" svn\nCustomLog \"{}\" svn env=SVN-ACTION\n\
                 CustomLog \"{}\" \"%h %l %u %t \\\"%r\\\" %>s %b\"\n<Location {}>\nDAV svn\n\
                 SVNParentPath \"{}\"\n{v1}{}</Location>\n",
                site.apache_wide,
                at("operations.log"),
                at("access.log"),
                site.at,
                site.parent.display(),
                site.apache.replace("USERS", &at("users")),
            ));
            for (name, text) in [("httpd.conf", conf.as_str()), ("users", USERS)] {
                fs::write(dir.path().join(name), text).expect("because the folder is ours");
            }
            let tool = Tool::new("/usr/sbin/apache2")
                .args(["-X", "-f"])
                .arg(dir.path().join("httpd.conf"));
            (tool, Some(dir))
        })
    }
}

/// Returns Sven's configuration of a site without `[listen]`, and writes the file of users to `dir`.
fn configuration(site: &HttpSite<'_>, dir: &Path, parent: &str) -> String {
    let at = |name: &str| dir.join(name).display().to_string();
    let mut conf = format!(
        "[log]\naccess = '{}'\noperational = '{}'\n",
        at("access.log"),
        at("operations.log")
    );
    if site.transport == Transport::Https {
        let pair = certificate();
        let (certificate, key) = (pair.certificate.display(), pair.key.display());
        conf.push_str(&format!("[tls]\ncertificate = '{certificate}'\nkey = '{key}'\n"));
    }
    conf.push_str(&format!(
        "[[location]]\npath = '{}'\nparent = '{parent}'\n",
        site.at
    ));
    if site.transport == Transport::HttpV1 {
        conf.push_str("advertise-v2 = false\n");
    }
    conf.push_str(&site.ours.replace("USERS", &at("users")));
    fs::write(dir.join("users"), USERS).expect("because the folder is ours");
    conf
}

/// Returns lines that load the modules for a Subversion server, and `more`.
fn modules(more: &[&str]) -> String {
    let mut lines = String::new();
    for module in LOADED.iter().chain(more) {
        let file = format!("{MODULES}/mod_{module}.so");
        // A module without a file is built in.
        if Path::new(&file).exists() {
            lines.push_str(&format!("LoadModule {module}_module {file}\n"));
        }
    }
    lines
}

fn with_placeholders(lines: &str, folder: &Path, port: u16) -> String {
    lines
        .replace("@FOLDER", &folder.display().to_string())
        .replace("@PORT", &port.to_string())
}

fn write(folder: &Path, files: &[(&str, &str)], conf: (&str, &str)) {
    for (name, text) in files.iter().chain([&conf]) {
        fs::write(folder.join(name), text).expect("because the folder is ours");
    }
}

fn tls(cache: &str) -> String {
    let pair = certificate();
    format!(
        "SSLRandomSeed startup builtin\nSSLSessionCache \"shmcb:{cache}(512000)\"\nSSLEngine on\nSSLCertificateFile \"{}\"\n\
         SSLCertificateKeyFile \"{}\"\n",
        pair.certificate.display(),
        pair.key.display()
    )
}
