//! Two repositories behind one server, for programs that copy from one to the other.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::Transport;
use testkit::{Output, Repo, Side, Tool, normalize};

use crate::twins::{Access, trust_test_servers};

/// A directory of repositories, which Subversion's server serves: `source`, and any that [`Mirrors::create`] makes.
pub struct Mirrors {
    scratch: TempDir,
    access: Access,
    server: Option<TestServer>,
    /// The port of a proxy in front of the server.
    proxy: Option<u16>,
}

/// Everyone may write.
const SVNSERVE_CONF: &str = "[general]\nanon-access = write\nauth-access = write\n";

impl Mirrors {
    /// Copies `repo` and serves it.
    pub fn new(repo: &Repo, access: Access) -> Mirrors {
        let scratch = testkit::scratch();
        let root = scratch.path();
        Tool::new("cp")
            .arg("-r")
            .arg(repo.path())
            .arg(root.join("source"))
            .ok();
        std::fs::write(root.join("source/conf/svnserve.conf"), SVNSERVE_CONF).expect("because it was copied");
        let transport = access.transport();
        if transport == Some(Transport::Https) {
            trust_test_servers(root);
        }
        let server = match transport {
            None => None,
            Some(Transport::Svn) => Some(TestServer::svnserve(Side::Theirs, root, &["-T"])),
            Some(transport) => {
                let site = HttpSite {
                    apache: READ_FREELY,
                    transport,
                    ..HttpSite::plain(root)
                };
                Some(TestServer::http_site(Side::Theirs, &site))
            }
        };
        Mirrors {
            scratch,
            access,
            server,
            proxy: None,
        }
    }

    /// Lets URLs name the port of a proxy, or of the server again.
    pub fn through(&mut self, proxy: Option<u16>) {
        self.proxy = proxy;
    }

    /// Returns the address of the server. Panics if there is none.
    pub fn addr(&self) -> SocketAddr {
        self.server
            .as_ref()
            .expect("because access is over a network")
            .addr()
    }

    /// Makes an empty repository whose revision properties can be changed.
    pub fn create(&self, name: &str) {
        let path = self.path(name);
        Tool::new("svnadmin").arg("create").arg(&path).ok();
        std::fs::write(path.join("conf/svnserve.conf"), SVNSERVE_CONF).expect("because it is new");
        self.hook(name, "pre-revprop-change", "exit 0");
    }

    /// Writes a hook of a repository.
    pub fn hook(&self, name: &str, hook: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name).join("hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("because the repository is there");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("because it was written");
    }

    /// Returns the path of a repository.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Returns the directory of the repositories.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the URL of a repository.
    pub fn url(&self, name: &str) -> String {
        let (Some(server), Some(transport)) = (&self.server, self.access.transport()) else {
            return format!("file://{}", self.path(name).display());
        };
        let port = self.proxy.unwrap_or(server.port());
        format!("{}://{}:{port}/{name}", transport.scheme(), transport.host())
    }

    /// Returns a tool with arguments, in which `{NAME}` stands for the URL of a repository, and the options to log in.
    pub fn tool(&self, side: Side, tool: &str, line: &str) -> Tool {
        let mut made = side.tool(tool);
        for word in line.split_ascii_whitespace() {
            let word = match word.strip_prefix('{').and_then(|word| word.split_once('}')) {
                Some((name, rest)) => format!("{}{rest}", self.url(name)),
                None => word.to_owned(),
            };
            made = made.arg(word);
        }
        if !matches!(self.access, Access::Disk | Access::Svn) {
            made = made.args(["--username", "alice", "--password", "secret"]);
        }
        made.args(["--non-interactive", "--no-auth-cache"])
            .env("HOME", self.dir())
    }

    /// Runs a tool and returns what it printed, with the names of `mirror` replaced by `mirror`.
    pub fn run(&self, side: Side, tool: &str, line: &str, mirror: &str) -> String {
        self.shape(&self.tool(side, tool, line).run(), mirror)
    }

    /// Returns the output of a tool without what differs between mirrors.
    pub fn shape(&self, output: &Output, mirror: &str) -> String {
        let text = format!(
            "{}\n--- stderr\n{}\n--- exit {}",
            output.out(),
            output.err(),
            output.code
        );
        let dir = self.dir().to_string_lossy().into_owned();
        let text = normalize::replace(&text, &[(mirror, "mirror"), (&dir, "{DIR}")]);
        normalize::mask_uuids(&text)
    }

    /// Returns the dump of a repository, without its UUID.
    pub fn dump(&self, name: &str) -> String {
        let tool = Tool::new("svnadmin").args(["dump", "-q"]).arg(self.path(name));
        let dump = String::from_utf8_lossy(&tool.ok().stdout).into_owned();
        normalize::mask_uuids(&dump)
    }

    /// Returns the dump of a repository from revision 1 on, without its UUID.
    pub fn dump_of_revisions(&self, name: &str) -> String {
        let dump = self.dump(name);
        let at = dump.find("\nRevision-number: 1\n").unwrap_or(dump.len());
        dump[at..].to_owned()
    }
}
