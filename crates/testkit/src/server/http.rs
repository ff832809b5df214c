//! Servers that speak HTTP: Apache with mod_dav_svn, and ours, with the same URLs.

use std::fs;
use std::path::{Path, PathBuf};

use super::Server;
use super::transport::{Transport, certificate};
use crate::tool::{Side, Tool, personality, scratch};

/// Where Debian keeps Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// The modules that a server for Subversion takes.
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

/// What https takes as well.
const LOADED_FOR_TLS: &[&str] = &["socache_shmcb", "ssl"];

/// alice (secret), bob (pw) and carol (pw), as `htpasswd -s` writes them.
const USERS: &str = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n\
                     carol:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n";

/// All users read; users with a password write.
pub const READ_FREELY: &str = "AuthType Basic\nAuthName repository\nAuthUserFile USERS\n\
                               <LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>\n";

/// What a server that speaks HTTP serves, and how: every repository below `parent`, at `/NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Not [`Transport::Svn`].
    pub transport: Transport,
    /// The beginning of URLs: `/`, or `/svn` and the like.
    pub at: &'a str,
    /// The folder of repositories.
    pub parent: &'a Path,
    /// Lines inside of Apache's `Location`; `USERS` stands for its password file.
    pub apache: &'a str,
    /// Lines outside of Apache's `Location`.
    pub apache_wide: &'a str,
    /// Lines of our `[[location]]`.
    pub ours: &'a str,
    /// More arguments for `sven serve`.
    pub args: &'a [&'a str],
}

impl<'a> Site<'a> {
    /// Over `http://`, with nothing special said.
    pub fn plain(parent: &'a Path) -> Site<'a> {
        Site {
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

impl Server {
    /// Serves every repository below `parent` at `http://127.0.0.1:PORT/NAME`. Theirs gets `location` inside of its `Location`
    /// (`USERS` stands for its password file), ours more arguments for `sven serve`.
    pub fn http(side: Side, parent: &Path, location: &str, args: &[&str]) -> Server {
        let site = Site {
            apache: location,
            args,
            ..Site::plain(parent)
        };
        Server::site(side, &site)
    }

    /// Serves what `site` says.
    pub fn site(side: Side, site: &Site<'_>) -> Server {
        match side {
            Side::Theirs => Server::apache(site),
            Side::Ours => Server::sven(site),
        }
    }

    /// Apache with these lines of configuration, and beside its own files those in `files`, whose folder is `@FOLDER` in the lines.
    /// `@PORT` is where it listens.
    pub fn apache_with(lines: &str, files: &[(&str, &str)]) -> Server {
        Server::started("apache2", |port| {
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
            conf.push_str(&placed(lines, dir.path(), port));
            write(dir.path(), files, ("httpd.conf", &conf));
            let tool = Tool::new("/usr/sbin/apache2")
                .args(["-X", "-f"])
                .arg(dir.path().join("httpd.conf"));
            (tool, Some(dir))
        })
    }

    /// Ours, with what `sven import-config` makes of the same lines.
    pub fn imported(lines: &str, files: &[(&str, &str)]) -> Server {
        Server::started("sven serve", |port| {
            let dir = scratch();
            let conf = format!("Listen 127.0.0.1:{port}\n{}", placed(lines, dir.path(), port));
            write(dir.path(), files, ("httpd.conf", &conf));
            let imported = Tool::new(personality("sven"))
                .args(["import-config", "--apache"])
                .arg(dir.path().join("httpd.conf"))
                .ok();
            write(dir.path(), &[], ("sven.toml", &imported.out()));
            let tool = Tool::new(personality("sven"))
                .args(["serve", "--config"])
                .arg(dir.path().join("sven.toml"));
            (tool, Some(dir))
        })
    }

    /// The configuration file of ours.
    pub fn configuration(&self) -> String {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        fs::read_to_string(dir.path().join("sven.toml")).unwrap_or_default()
    }

    /// The requests that a server which speaks HTTP has answered: one line each, which begins with the method. Both servers
    /// write a line when the answer has gone, which may be after the client has seen its end.
    pub fn requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.access()).unwrap_or_default();
        let asked = |line: &str| Some(line.split_once('"')?.1.split_once(" HTTP/")?.0.to_owned());
        log.lines().filter_map(asked).collect()
    }

    /// Where a server that speaks HTTP writes what was asked.
    pub fn access(&self) -> PathBuf {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        dir.path().join("access.log")
    }

    /// Where a server that speaks HTTP writes what was done, in Subversion's words: Apache only user, repository and words in
    /// each line.
    pub fn operations(&self) -> PathBuf {
        let dir = self.dir.as_ref().expect("because only svnserve has none");
        dir.path().join("operations.log")
    }

    fn sven(site: &Site<'_>) -> Server {
        Server::started("sven serve", |port| {
            let dir = scratch();
            let at = |name: &str| dir.path().join(name).display().to_string();
            let scheme = site.transport.scheme();
            let mut conf = format!(
                "[listen]\n{scheme} = \"127.0.0.1:{port}\"\n[log]\naccess = '{}'\noperational = '{}'\n",
                at("access.log"),
                at("operations.log")
            );
            if site.transport == Transport::Https {
                let pair = certificate();
                let (certificate, key) = (pair.certificate.display(), pair.key.display());
                conf.push_str(&format!("[tls]\ncertificate = '{certificate}'\nkey = '{key}'\n"));
            }
            conf.push_str(&format!(
                "[[location]]\npath = '{}'\nparent = '{}'\n",
                site.at,
                site.parent.display()
            ));
            if site.transport == Transport::HttpV1 {
                conf.push_str("advertise-v2 = false\n");
            }
            conf.push_str(&site.ours.replace("USERS", &at("users")));
            for (name, text) in [("sven.toml", conf.as_str()), ("users", USERS)] {
                fs::write(dir.path().join(name), text).expect("because the folder is ours");
            }
            let tool = Tool::new(personality("sven"))
                .args(["serve", "--config"])
                .arg(dir.path().join("sven.toml"))
                .args(site.args);
            (tool, Some(dir))
        })
    }

    fn apache(site: &Site<'_>) -> Server {
        Server::started("apache2", |port| {
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

/// Lines that load what a server for Subversion takes, and `more`.
fn modules(more: &[&str]) -> String {
    let mut lines = String::new();
    for module in LOADED.iter().chain(more) {
        let file = format!("{MODULES}/mod_{module}.so");
        // What is no file is built in.
        if Path::new(&file).exists() {
            lines.push_str(&format!("LoadModule {module}_module {file}\n"));
        }
    }
    lines
}

fn placed(lines: &str, folder: &Path, port: u16) -> String {
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
