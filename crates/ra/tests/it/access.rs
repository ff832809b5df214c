//! The kinds of access to a repository: Subversion's servers, a tunnel, the disk, and our server over HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Url;
use ra::{BulkUpdates, FixedPassword, HttpOptions, OpenOptions, Password, Session, Tunnels};
use testkit::Side;
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::Transport;

/// The user of all sessions, and the password.
pub const USER: (&str, &str) = ("alice", "secret");

/// The names of the kinds. Those with `fetch` get texts by requests of their own.
pub const KINDS: [&str; 8] = [
    "disk",
    "svnserve",
    "tunnel",
    "apache",
    "apache-fetch",
    "apache-v1",
    "apache-v1-fetch",
    "ours",
];

/// A server of one folder of repositories.
pub struct Access {
    root: PathBuf,
    svnserve: TestServer,
    apache: TestServer,
    apache_v1: TestServer,
    ours: TestServer,
}

impl Access {
    pub fn start(root: &Path) -> Access {
        let site = HttpSite {
            apache: READ_FREELY,
            ours: "[location.auth]\nhtpasswd-file = 'USERS'\n",
            ..HttpSite::plain(root)
        };
        let v1 = HttpSite {
            transport: Transport::HttpV1,
            ..site
        };
        Access {
            root: root.to_owned(),
            svnserve: TestServer::svnserve(Side::Theirs, root, &["-T"]),
            apache: TestServer::http_site(Side::Theirs, &site),
            apache_v1: TestServer::http_site(Side::Theirs, &v1),
            ours: TestServer::http_site(Side::Ours, &site),
        }
    }

    /// Opens a session at a path below the folder.
    pub fn open(&self, kind: &str, path: &str) -> Box<dyn Session> {
        let root = self.root.display();
        let http = |server: &TestServer| format!("http://127.0.0.1:{}/{path}", server.port());
        let text = match kind.trim_end_matches("-fetch") {
            "svnserve" => self.svnserve.url(path),
            "tunnel" => format!("svn+local://host{root}/{path}"),
            "apache" => http(&self.apache),
            "apache-v1" => http(&self.apache_v1),
            "ours" => http(&self.ours),
            _ => format!("file://{root}/{path}"),
        };
        let url = Url::canonicalize(&text).expect("a URL");
        let mut options = options();
        if kind.ends_with("-fetch") {
            options.http.bulk_updates = BulkUpdates::Never;
        }
        ra::open(&url, &options).unwrap_or_else(|error| panic!("{kind}: {error}"))
    }
}

/// The options of all sessions.
pub fn options() -> OpenOptions {
    let mut tunnels = Tunnels::default();
    // The host is an argument that the shell ignores. The tunnel prints something before the server does.
    let command = format!("sh -c 'echo Welcome; exec svnserve -t --tunnel-user {}'", USER.0);
    tunnels.commands.insert("local".to_owned(), command);
    OpenOptions {
        credentials: Arc::new(FixedPassword(password(USER.1))),
        tunnels,
        http: HttpOptions::default(),
        ..OpenOptions::default()
    }
}

/// A password of [`USER`].
pub fn password(password: &str) -> Password {
    Password {
        user: USER.0.to_owned(),
        password: password.to_owned(),
    }
}

/// Lets everyone read, and [`USER`] write.
pub fn configure(repository: &Path) {
    let write = |name: &str, text: &str| {
        std::fs::write(repository.join(name), text).expect("a repository can be written");
    };
    write(
        "conf/svnserve.conf",
        "[general]\nanon-access = read\nauth-access = write\npassword-db = passwd\n",
    );
    write("conf/passwd", &format!("[users]\n{} = {}\n", USER.0, USER.1));
}
