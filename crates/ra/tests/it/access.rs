//! The kinds of access to a repository: Subversion's server, a tunnel, and the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Url;
use ra::{FixedPassword, OpenOptions, Password, Session, Tunnels};
use testkit::Side;
use testkit::server::TestServer;

/// The user of all sessions, and the password.
pub const USER: (&str, &str) = ("alice", "secret");

/// The names of the kinds.
pub const KINDS: [&str; 3] = ["disk", "svnserve", "tunnel"];

/// A server of one folder of repositories.
pub struct Access {
    root: PathBuf,
    server: TestServer,
}

impl Access {
    pub fn start(root: &Path) -> Access {
        Access {
            root: root.to_owned(),
            server: TestServer::svnserve(Side::Theirs, root, &["-T"]),
        }
    }

    /// Opens a session at a path below the folder.
    pub fn open(&self, kind: &str, path: &str) -> Box<dyn Session> {
        let root = self.root.display();
        let text = match kind {
            "svnserve" => self.server.url(path),
            "tunnel" => format!("svn+local://host{root}/{path}"),
            _ => format!("file://{root}/{path}"),
        };
        let url = Url::canonicalize(&text).expect("a URL");
        ra::open(&url, &options()).unwrap_or_else(|error| panic!("{kind}: {error}"))
    }
}

fn options() -> OpenOptions {
    let mut tunnels = Tunnels::default();
    // The host is an argument that the shell ignores. The tunnel prints something before the server does.
    let command = format!("sh -c 'echo Welcome; exec svnserve -t --tunnel-user {}'", USER.0);
    tunnels.commands.insert("local".to_owned(), command);
    OpenOptions {
        credentials: Arc::new(FixedPassword(Password {
            user: USER.0.to_owned(),
            password: USER.1.to_owned(),
        })),
        tunnels,
        ..OpenOptions::default()
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
