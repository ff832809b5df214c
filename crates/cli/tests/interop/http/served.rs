//! Two servers of equal repositories, Apache and Sven, for raw requests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::normalize::{mask_dates, mask_uuids};
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, Tool, scratch};

use super::raw_http::{HttpResponse, send_request};
use super::webdav_clients::ALICE;

pub(super) const APACHE: &str = "AuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\n";
pub(super) const OURS: &str = "anonymous = false\n[location.auth]\nhtpasswd-file = 'USERS'\n";
pub(super) const AGENT: (&str, &str) = ("User-Agent", "SVN/1.14.2 (x) serf/1.3.9");
pub(super) const SKEL: (&str, &str) = ("Content-Type", "application/vnd.svn-skel");
/// The time limit of a request, also on a busy machine.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// A server with its repository.
pub(super) struct Served {
    pub(super) server: TestServer,
    pub(super) repository: PathBuf,
    _root: TempDir,
}

impl Served {
    fn new(side: Side, template: &Path, apache: &str, ours: &str) -> Served {
        let root = scratch();
        let repository = root.path().join("r");
        Tool::new("cp").arg("-a").arg(template).arg(&repository).ok();
        let site = HttpSite {
            apache,
            ours,
            ..HttpSite::plain(root.path())
        };
        Served {
            server: TestServer::http_site(side, &site),
            repository,
            _root: root,
        }
    }

    pub(super) fn send_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        let begun = Instant::now();
        let headers = [&[AGENT][..], headers].concat();
        let response = send_request(self.server.port(), method, path, &headers, body);
        assert!(
            begun.elapsed() < LONGEST,
            "{method} {path} took {:?}",
            begun.elapsed()
        );
        response
    }

    /// Begins a transaction; returns its name.
    pub(super) fn begin(&self) -> String {
        let mut response = self.send_request("POST", "/r/!svn/me", &[SKEL, ALICE], "( create-txn )");
        assert_eq!(response.status, 201);
        let name = response.headers.remove("svn-txn-name");
        name.expect("because it names the transaction").remove(0)
    }

    pub(super) fn merge(&self, txn: &str) -> HttpResponse {
        let body = format!(
            "<D:merge xmlns:D='DAV:'><D:source><D:href>/r/!svn/txn/{txn}</D:href></D:source></D:merge>"
        );
        self.send_request("MERGE", "/r", &[ALICE], &body)
    }

    /// Returns a dump of the revisions from `from` on.
    pub(super) fn dump(&self, from: usize) -> String {
        self.server.storage().bring_back(&self.repository);
        let dump = Tool::new("svnadmin")
            .args(["dump", "-q", "--incremental", "-r"])
            .arg(format!("{from}:HEAD"))
            .arg(&self.repository)
            .run();
        mask_dates(&mask_uuids(&dump.out()))
    }

    pub(super) fn youngest(&self) -> usize {
        let storage = self.server.storage();
        let output_text = storage
            .tool(Side::Theirs, "svnlook", &["youngest"], &self.repository)
            .ok();
        output_text.out().trim().parse().expect("a number")
    }
}

/// Starts two servers of two equal repositories.
pub(super) fn twins() -> [Served; 2] {
    twins_with("", "")
}

/// As [`twins`], with more lines for Apache's `<Location>` and for Sven's configuration.
pub(super) fn twins_with(apache: &str, ours: &str) -> [Served; 2] {
    let (apache, ours) = (format!("{APACHE}{apache}"), format!("{ours}{OURS}"));
    let root = scratch();
    let template = root.path().join("template");
    testkit::create_repository(&template);
    let url = format!("file://{}", template.display());
    fs::write(root.path().join("text"), "first\n").expect("because the folder is ours");
    let mut made = Tool::new("svnmucc").args(["-m", "made", "-U", &url]);
    for path in ["a", "a/b"] {
        made = made.args(["mkdir", path]);
    }
    for path in ["f", "a/g", "a/b/h"] {
        made = made.arg("put").arg(root.path().join("text")).arg(path);
    }
    made.ok();
    Side::BOTH.map(|side| Served::new(side, &template, &apache, &ours))
}

/// Returns the Subversion error number in a response.
pub(super) fn code(response: &HttpResponse) -> String {
    let body = String::from_utf8_lossy(&response.body);
    let number = body
        .split_once("errcode=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    number.map_or(String::new(), |(number, _)| number.to_owned())
}

/// Returns status and error number.
pub(super) fn status_and_code(response: &HttpResponse) -> String {
    format!("{} {}", response.status, code(response))
}

/// Compares the revisions of both servers after `seen`; `seeds` are those of the sequences since then. Returns the
/// youngest revision.
pub(super) fn compare_trees(twins: &[Served; 2], seen: usize, seeds: &str) -> usize {
    let [theirs, ours] = twins.each_ref().map(|served| served.dump(seen + 1));
    if theirs != ours {
        eprintln!("trees differ after seeds {seeds}");
        crate::pair::compare(&theirs, &ours);
    }
    twins[0].youngest()
}

/// Verifies Sven's repository with the incumbent's tool.
pub(super) fn verify([_, ours]: &[Served; 2]) {
    ours.server.storage().bring_back(&ours.repository);
    let verify = Tool::new("svnadmin").args(["verify", "-q"]);
    verify.arg(&ours.repository).ok();
}
