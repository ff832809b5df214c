//! Commits, loads and locks in deep trees.

use std::io::{BufWriter, Write};
use std::net::TcpStream;
use std::path::Path;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, runs_all_cases, sample};

use super::{DeepRepository, RawClient, create, levels, read_to, runs};
use crate::http::raw_http::{HttpConnection, HttpResponse};

/// The length of a path in a request line, which has at most 64 KiB.
const LINE: usize = 29_000;

/// The directory `top` and `levels - 1` nested directories below it.
struct DirectoryChain(String);

impl DirectoryChain {
    fn new(top: &str, levels: usize) -> DirectoryChain {
        DirectoryChain(format!("{top}{}", "/a".repeat(levels - 1)))
    }

    /// Returns the paths, the shortest first.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(at, _)| at);
        ends.chain([self.0.len()]).map(|end| &self.0[..end])
    }
}

/// A commit over svn://. The token of a directory is `d` and its level; the root has level 0.
struct EditWriter(BufWriter<TcpStream>);

impl EditWriter {
    fn send(&mut self, command: std::fmt::Arguments<'_>) {
        self.0.write_fmt(command).expect("because the server reads");
    }

    fn add(&mut self, level: usize, path: &str) {
        let length = path.len();
        self.send(format_args!(
            "( add-dir ( {length}:{path} {} {} ( ) ) ) ",
            Token(level),
            Token(level + 1)
        ));
    }

    fn open(&mut self, level: usize, path: &str, rev: u64) {
        let length = path.len();
        self.send(format_args!(
            "( open-dir ( {length}:{path} {} {} ( {rev} ) ) ) ",
            Token(level),
            Token(level + 1)
        ));
    }

    fn close(&mut self, level: usize) {
        self.send(format_args!("( close-dir ( {} ) ) ", Token(level)));
    }
}

struct Token(usize);

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("d{}", self.0);
        write!(f, "{}:{text}", text.len())
    }
}

/// A commit that is complete except for its end.
struct OpenCommit {
    stream: TcpStream,
    edit: EditWriter,
}

impl RawClient {
    /// Begins a commit on the youngest revision. `edit` writes to the connection.
    fn begin(&self, edit: impl FnOnce(&mut EditWriter)) -> OpenCommit {
        let stream = self.connect();
        let writer = stream.try_clone().expect("because it is a socket");
        let mut writing = EditWriter(BufWriter::with_capacity(1 << 20, writer));
        let rev = self.youngest;
        writing.send(format_args!(
            "( commit ( 1:x ( ) false ( ) ) ) ( open-root ( ( {rev} ) 2:d0 ) ) "
        ));
        edit(&mut writing);
        writing.0.flush().expect("because the server reads");
        OpenCommit {
            stream,
            edit: writing,
        }
    }

    /// Ends a commit, which becomes the next revision.
    fn finish(&mut self, mut open: OpenCommit) {
        open.edit
            .send(format_args!("( close-edit ( ) ) ( get-latest-rev ( ) ) "));
        open.edit.0.flush().expect("because the server reads");
        self.youngest += 1;
        let end = format!("( success ( {} ) ) ", self.youngest);
        read_to(&mut open.stream, &end, "a commit");
    }

    fn commit(&mut self, edit: impl FnOnce(&mut EditWriter)) {
        let open = self.begin(edit);
        self.finish(open);
    }
}

#[test]
fn a_deep_tree_is_written_over_svn() {
    let folder = testkit::tool::scratch();
    let repository = folder.path().join("r");
    create(
        &repository,
        DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a03").bytes(),
    );
    let server = TestServer::svnserve(Side::Ours, folder.path(), &["--threads"]);
    let port = server.port();
    let mut client = RawClient { port, youngest: 0 };
    let levels = levels() / 2;
    let chain = DirectoryChain::new("d", levels);
    let file = format!("{}/f", chain.0);
    let file = format!("{}:{file}", file.len());
    client.commit(|edit| {
        chain
            .paths()
            .enumerate()
            .for_each(|(at, path)| edit.add(at, path));
        edit.send(format_args!(
            "( add-file ( {file} {} 1:f ( ) ) ) ( close-file ( 1:f ( ) ) ) ",
            Token(levels)
        ));
        (0..=levels).rev().for_each(|level| edit.close(level));
    });
    // Closes the deepest file, and every directory above it.
    client.commit(|edit| {
        chain.paths().enumerate().for_each(|(at, path)| edit.open(at, path, 1));
        edit.send(format_args!(
            "( open-file ( {file} {} 1:f ( 1 ) ) ) ( change-file-prop ( 1:f 1:p ( 1:v ) ) ) ( close-file ( 1:f ( ) ) ) ",
            Token(levels)
        ));
        for level in (0..=levels).rev() {
            if level > 0 {
                edit.send(format_args!("( change-dir-prop ( {} 1:p ( 1:v ) ) ) ", Token(level)));
            }
            edit.close(level);
        }
    });
    let url = format!("svn://127.0.0.1:{port}/r/d");
    client.commit(|edit| {
        edit.send(format_args!(
            "( add-dir ( 4:copy 2:d0 2:d1 ( {}:{url} 2 ) ) ) ( close-dir ( 2:d1 ) ) ( close-dir ( 2:d0 ) ) ",
            url.len()
        ));
    });
    let copy = DirectoryChain::new("copy", levels);
    client.commit(|edit| {
        copy.paths()
            .enumerate()
            .for_each(|(at, path)| edit.open(at, path, 3));
        let file = format!("{}/f", copy.0);
        edit.send(format_args!(
            "( delete-entry ( {}:{file} ( 2 ) {} ) ) ",
            file.len(),
            Token(levels)
        ));
        (0..=levels).rev().for_each(|level| edit.close(level));
    });
    // An anonymous user may not lock; the path is still looked up.
    for command in [
        format!("( lock ( {file} ( ) false ( 2 ) ) ) "),
        format!("( lock-many ( ( ) true ( ( {file} ( 2 ) ) ) ) ) "),
        format!("( unlock ( {file} ( ) true ) ) "),
        format!("( unlock-many ( true ( ( {file} ( ) ) ) ) ) "),
    ] {
        assert!(client.send_request(&command, None) > 0, "{command:.30}");
    }
    let check = format!("( check-path ( {file} ( 2 ) ) ) ");
    assert!(client.send_request(&check, None) > 0);
    client.commit(|edit| {
        edit.send(format_args!(
            "( delete-entry ( 1:d ( 2 ) 2:d0 ) ) ( close-dir ( 2:d0 ) ) "
        ));
    });
    verify(&repository);
    let commands = ["changed", "dirs-changed", "diff"];
    let cases = (1..=client.youngest).flat_map(|rev| commands.map(|command| (rev, command)));
    for (rev, command) in sample(4, cases) {
        let look = Side::Ours.tool("svnlook").arg(command).arg(&repository);
        runs(look.args(["-r", &rev.to_string()]));
    }
}

/// Two clients change the deepest directory at the same time: the second commit is merged with the first one.
#[test]
fn deep_changes_are_merged() {
    let deep = DeepRepository::new(levels() / 2);
    let server = TestServer::svnserve(Side::Ours, deep.folder.path(), &[]);
    let mut client = RawClient {
        port: server.port(),
        youngest: deep.youngest,
    };
    let levels = levels() / 2;
    let chain = DirectoryChain::new("d", levels);
    let add = |edit: &mut EditWriter, rev: u64, name: &str| {
        chain
            .paths()
            .enumerate()
            .for_each(|(at, path)| edit.open(at, path, rev));
        let file = format!("{}/{name}", chain.0);
        edit.send(format_args!(
            "( add-file ( {}:{file} {} 1:f ( ) ) ) ( close-file ( 1:f ( ) ) ) ",
            file.len(),
            Token(levels)
        ));
        (0..=levels).rev().for_each(|level| edit.close(level));
    };
    // The first change of a node in a copy gives it a new node ID, which differs between two commits.
    let rev = client.youngest;
    client.commit(|edit| add(edit, rev, "first"));
    let rev = client.youngest;
    let mut other = RawClient {
        port: server.port(),
        youngest: rev,
    };
    let waiting = client.begin(|edit| add(edit, rev, "x"));
    other.commit(|edit| add(edit, rev, "y"));
    client.youngest += 1;
    client.finish(waiting);
    verify(&deep.repository());
}

#[test]
fn a_deep_tree_is_loaded() {
    // The stream is in memory, and its size is quadratic.
    let levels = (levels() / 2).min(20_000);
    let folder = testkit::tool::scratch();
    let repository = folder.path().join("r");
    let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a04");
    let chain = DirectoryChain::new("d", levels);
    stream.rev("add").mkdirs(chain.paths());
    stream.file(&format!("{}/f", chain.0), "text");
    stream.rev("change");
    for path in chain.paths() {
        stream.change(RecordKind::Dir, path, Content::props(&[("p", b"v")]));
    }
    stream.delete(&format!("{}/f", chain.0));
    create(&repository, stream.bytes());
    verify(&repository);
}

fn verify(repository: &Path) {
    let verify = Side::Ours.tool("svnadmin").args(["verify", "-q"]);
    verify.arg(repository).ok();
}

/// One commit over HTTP, and locks.
struct DavCommit {
    connection: HttpConnection,
    /// The URL of the transaction's nodes.
    at: String,
    txn: String,
}

/// alice, secret.
const ALICE: (&str, &str) = ("Authorization", "Basic YWxpY2U6c2VjcmV0");

impl DavCommit {
    fn begin(port: u16) -> DavCommit {
        let mut connection = HttpConnection::new(port);
        let skel = ("Content-Type", "application/vnd.svn-skel");
        let mut begun = connection.send_request("POST", "/r/!svn/me", &[skel, ALICE], "( create-txn )");
        let name = begun.headers.remove("svn-txn-name");
        let name = name.unwrap_or_else(|| panic!("{begun:?}")).remove(0);
        DavCommit {
            connection,
            at: format!("/r/!svn/txr/{name}"),
            txn: format!("/r/!svn/txn/{name}"),
        }
    }

    fn send_request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        let at = format!("{}/{path}", self.at);
        let headers = [headers, &[ALICE]].concat();
        self.connection.send_request(method, &at, &headers, body)
    }

    fn merge(mut self) {
        let body = format!(
            "<D:merge xmlns:D=\"DAV:\"><D:source><D:href>{}</D:href></D:source><D:no-auto-merge/><D:no-checkout/></D:merge>",
            self.txn
        );
        let response = self.connection.send_request("MERGE", "/r", &[ALICE], &body);
        assert_eq!(response.status, 200, "MERGE");
    }
}

#[test]
fn a_deep_tree_is_written_over_http() {
    let deep = DeepRepository::new((levels() / 2).min(LINE));
    let site = HttpSite {
        ours: "[location.auth]\nhtpasswd-file = 'USERS'\n",
        ..HttpSite::plain(deep.folder.path())
    };
    let server = TestServer::http_site(Side::Ours, &site);
    let port = server.port();
    let (rev, bottom) = (deep.youngest, deep.deepest.clone());
    let props = "<D:propertyupdate xmlns:D=\"DAV:\" xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\"><D:set><D:prop>\
                 <C:p>v</C:p></D:prop></D:set></D:propertyupdate>";
    let source = format!("http://127.0.0.1:{port}/r/!svn/rvr/{rev}");
    let mut dav = DavCommit::begin(port);
    let mut expect = |method: &str, path: &str, headers: &[(&str, &str)], body: &str, status: u16| {
        let response = dav.send_request(method, path, headers, body);
        assert_eq!(
            response.status, status,
            "{method} {path:.20}: {:?}",
            response.headers
        );
    };
    expect("MKCOL", &format!("{bottom}/b"), &[], "", 201);
    expect("PUT", &format!("{bottom}/b/g"), &[], "text", 201);
    expect("PUT", &format!("{bottom}/f"), &[], "text", 204);
    expect("PROPPATCH", &bottom, &[], props, 207);
    expect("PROPFIND", &bottom, &[("Depth", "1")], "", 207);
    expect("HEAD", &format!("{bottom}/f"), &[], "", 200);
    expect("GET", &format!("{bottom}/f"), &[], "", 200);
    let copy = format!("http://127.0.0.1:{port}/r/!svn/txr/");
    let to = format!(
        "{copy}{}/{bottom}/c",
        dav.at.rsplit('/').next().unwrap_or_default()
    );
    let from = format!("{source}/d");
    let copied = dav.connection.send_request(
        "COPY",
        from.trim_start_matches(&format!("http://127.0.0.1:{port}")),
        &[ALICE, ("Destination", &to)],
        "",
    );
    assert_eq!(copied.status, 201, "COPY");
    let gone = dav.send_request("DELETE", &format!("{bottom}/f"), &[], "");
    assert_eq!(gone.status, 204, "DELETE");
    dav.merge();
    // Nested directories, one by one.
    let mut dav = DavCommit::begin(port);
    let most = if runs_all_cases() { 1000 } else { 400 };
    for path in DirectoryChain::new("n", (levels() / 2).min(most)).paths() {
        assert_eq!(dav.send_request("MKCOL", path, &[], "").status, 201, "MKCOL");
    }
    dav.merge();
    let mut connection = HttpConnection::new(port);
    let file = format!("/r/{bottom}/b/g");
    let lock = "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>\
                </D:lockinfo>";
    let locked = connection.send_request("LOCK", &file, &[ALICE, ("Timeout", "Infinite")], lock);
    assert_eq!(locked.status, 200, "LOCK");
    let token = locked.headers["lock-token"][0].clone();
    let options = connection.send_request("OPTIONS", &file, &[ALICE], "");
    assert_eq!(options.status, 200, "OPTIONS");
    let unlocked = connection.send_request("UNLOCK", &file, &[ALICE, ("Lock-Token", &token)], "");
    assert_eq!(unlocked.status, 204, "UNLOCK");
    verify(&deep.repository());
}
