//! Servers that speak HTTP: Apache with mod_dav_svn, and ours, with the same URLs.

use std::fs;
use std::path::Path;

use super::{Server, free_port};
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
    "auth_basic",
    "dav",
    "dav_svn",
    "authz_svn",
    "alias",
    "dir",
    "mime",
    "env",
];

/// alice (secret), bob (pw) and carol (pw), as `htpasswd -s` writes them.
const USERS: &str = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n\
                     carol:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n";

/// Anybody reads, those who have a password write.
pub const READ_FREELY: &str = "AuthType Basic\nAuthName repository\nAuthUserFile USERS\n\
                               <LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>\n";

impl Server {
    /// Serves every repository below `parent` at `http://127.0.0.1:PORT/NAME`. Theirs gets `location` inside of its `Location`
    /// (`USERS` stands for its password file), ours more arguments for `sven serve`.
    pub fn http(side: Side, parent: &Path, location: &str, args: &[&str]) -> Server {
        match side {
            Side::Theirs => Server::apache(parent, location),
            Side::Ours => Server::started("sven serve", |port| {
                let tool = Tool::new(personality("sven"))
                    .arg("serve")
                    .arg("--svn")
                    .arg(format!("127.0.0.1:{}", free_port()))
                    .arg("--http")
                    .arg(format!("127.0.0.1:{port}"))
                    .args(args)
                    .arg(parent);
                (tool, None)
            }),
        }
    }

    fn apache(parent: &Path, location: &str) -> Server {
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
            for module in LOADED {
                let file = format!("{MODULES}/mod_{module}.so");
                // What is no file is built in.
                if Path::new(&file).exists() {
                    conf.push_str(&format!("LoadModule {module}_module {file}\n"));
                }
            }
            conf.push_str(&format!(
                "LogFormat \"%{{SVN-ACTION}}e\" svn\nCustomLog \"{}\" svn env=SVN-ACTION\n<Location />\nDAV svn\n\
                 SVNParentPath \"{}\"\n{}</Location>\n",
                at("svn.log"),
                parent.display(),
                location.replace("USERS", &at("users")),
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
