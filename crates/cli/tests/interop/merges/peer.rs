//! A server with its repository, and the stock client.

use std::path::PathBuf;

use tempfile::TempDir;
use testkit::normalize::{mask_dates, mask_uuids, sorted_lines};
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::server::transport::Transport;
use testkit::{Output, Repo, Side, Tool, scratch};

use crate::pair::{attributes_sorted, url};

/// A server, its repository and a directory for working copies.
pub struct MergePeer {
    pub transport: Transport,
    pub repository: PathBuf,
    pub server: std::sync::Arc<TestServer>,
    root: TempDir,
}

impl MergePeer {
    /// Serves a copy of `repo` with write access for everyone. The incumbent runs without caches, because it confuses
    /// mergeinfo of different kinds in them.
    pub fn new(side: Side, transport: Transport, repo: &Repo) -> MergePeer {
        let root = scratch();
        let repositories = root.path().join("repos");
        std::fs::create_dir_all(root.path().join("config")).expect("because the folder is ours");
        std::fs::create_dir(&repositories).expect("because the folder is ours");
        let repository = repositories.join("repo");
        repo.copy_to(&repository);
        let conf = repository.join("conf/svnserve.conf");
        std::fs::write(conf, "[general]\nanon-access = write\n").expect("because it is a copy");
        let server = match (transport, side) {
            (Transport::Svn, Side::Theirs) => TestServer::svnserve(side, &repositories, &["-M", "0"]),
            (Transport::Svn, Side::Ours) => TestServer::svnserve(side, &repositories, &[]),
            _ => TestServer::http_site(
                side,
                &HttpSite {
                    transport,
                    apache_wide: "SVNInMemoryCacheSize 0",
                    ours: "list = false\n",
                    ..HttpSite::plain(&repositories)
                },
            ),
        };
        MergePeer {
            transport,
            repository,
            server: std::sync::Arc::new(server),
            root,
        }
    }

    pub fn url(&self) -> String {
        url(self.transport, self.server.port(), "repo")
    }

    /// Runs the client in the directory of working copies. `URL` in an argument stands for the repository's.
    pub fn svn(&self, args: &[String]) -> Output {
        let url = self.url();
        // Subversion's server sometimes neither responds to `log -g` nor ends.
        let tool = Tool::new("timeout").args(["-s", "KILL", "8", "svn"]);
        let tool = tool.args(args.iter().map(|arg| arg.replace("URL", &url)));
        let config = self.root.path().join("config");
        tool.arg("--non-interactive")
            .arg("--config-dir")
            .arg(config)
            .env(
                "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS",
                "yes",
            )
            .dir(self.root.path())
            .run()
    }

    /// Returns the client's output without the parts that may differ; sorted unless `is_ordered`.
    pub fn shown(&self, output: &Output, is_ordered: bool) -> String {
        let (out, err) = (self.masked(&output.out()), self.masked(&output.err()));
        let out = match is_ordered {
            true => out,
            false => sorted_lines(&out).join("\n"),
        };
        format!("{out}\n~{err}=> {}", output.code)
    }

    fn masked(&self, text: &str) -> String {
        let root = self.root.path().display().to_string();
        let text = attributes_sorted(text)
            .replace(&self.url(), "URL")
            .replace(&root, "ROOT");
        mask_dates(&mask_uuids(&text))
    }

    /// Returns the incumbent's dump of the repository.
    pub fn dump(&self) -> String {
        self.server.storage().bring_back(&self.repository);
        let dump = Tool::new("svnadmin")
            .args(["dump", "-q"])
            .arg(&self.repository)
            .ok();
        mask_dates(&mask_uuids(&String::from_utf8_lossy(&dump.stdout)))
    }
}
