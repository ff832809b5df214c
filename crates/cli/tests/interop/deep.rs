//! Trees so deep that recursion would overflow a stack or the machine's memory, and histories of merges that are as
//! deep.
//!
//! The tree is a chain of directories with names of one character. It is made by copies, which costs little: any
//! committer can make it, and any reader can request all of it. `$SVEN_DEEP_LEVELS` sets the number of levels.

mod combs;
mod writing;

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use testkit::probe::read_some;
use testkit::server::TestServer;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, Tool, runs_all_cases};

/// The number of levels of the directory that is copied.
const UNIT: usize = 250;

/// The number of levels: too many for a recursion on a stack of 1 MiB.
const LEVELS: usize = 4_000;

/// The number of levels where not all cases run. Most tests take quadratic time.
const FEWER_LEVELS: usize = 2_000;

fn levels() -> usize {
    let set = std::env::var("SVEN_DEEP_LEVELS").ok();
    let default = if runs_all_cases() { LEVELS } else { FEWER_LEVELS };
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A repository `r` with the directory `/d` and `levels` nested directories below it. The deepest one has mergeinfo
/// and a file.
struct DeepRepository {
    folder: TempDir,
    /// The deepest directory, without a leading slash.
    deepest: String,
    youngest: u64,
}

impl DeepRepository {
    fn new(levels: usize) -> DeepRepository {
        DeepRepository::with(levels, false)
    }

    /// Makes the repository. With `is_comb` each level has a file with a property and mergeinfo.
    fn with(levels: usize, is_comb: bool) -> DeepRepository {
        let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a01");
        let add = |stream: &mut DumpStream, dirs: &[String]| {
            for dir in dirs {
                stream.mkdirs([dir.as_str()]);
                if is_comb {
                    let props: [(&str, &[u8]); 2] = [("p", b"v"), ("svn:mergeinfo", b"/x:1")];
                    stream.add(
                        RecordKind::File,
                        &format!("{dir}/t"),
                        Content::both(&props, "tooth\n"),
                    );
                }
            }
        };
        let chain = |top: &str, length: usize| {
            let dirs = (1..=length).map(|length| format!("{top}{}", "/a".repeat(length - 1)));
            dirs.collect::<Vec<_>>()
        };
        let unit = chain("u", UNIT);
        add(stream.rev("a piece"), &unit);
        let rest = chain("c0", levels - levels / UNIT * UNIT + UNIT);
        add(&mut stream, &rest);
        let last = rest.last().expect("because it is not empty");
        let mergeinfo: (&str, &[u8]) = ("svn:mergeinfo", b"/x:1");
        stream.change(RecordKind::Dir, last, Content::props(&[mergeinfo]));
        stream.file(&format!("{last}/f"), "text\n");
        let copies = levels / UNIT - 1;
        for at in 0..copies {
            let (old, new) = (format!("c{at}"), format!("c{}", at + 1));
            let before = stream.youngest();
            stream.rev("deeper").copy(RecordKind::Dir, &new, before, "u");
            let below = format!("{new}{}", "/a".repeat(UNIT));
            stream.copy(RecordKind::Dir, &below, before, &old).delete(&old);
        }
        let before = stream.youngest();
        stream
            .rev("in place")
            .copy(RecordKind::Dir, "d", before, &format!("c{copies}"))
            .delete(&format!("c{copies}"))
            .delete("u");
        let folder = testkit::tool::scratch();
        let repository = folder.path().join("r");
        create(&repository, stream.bytes());
        DeepRepository {
            folder,
            deepest: format!("d{}", "/a".repeat(levels - 1)),
            youngest: stream.youngest(),
        }
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("r")
    }
}

/// Makes a repository with Sven's tools, with write access for everyone.
fn create(repository: &Path, stream: Vec<u8>) {
    testkit::create_by(Side::Ours, "1.14", repository);
    let load = Side::Ours.tool("svnadmin").args(["load", "-q"]).arg(repository);
    load.stdin(stream).ok();
    let conf = repository.join("conf/svnserve.conf");
    std::fs::write(conf, "[general]\nanon-access = write\n").expect("because it is ours");
}

/// Runs a tool of Sven with a small stack. It may fail, but a signal must not end it.
fn runs(tool: Tool) -> Vec<u8> {
    // Too little for a recursion whose frames have more than 2 KiB, as the usual 8 MiB are for 4,000 levels.
    let stack = (levels() * 2048).min(8 << 20);
    let output = tool.under("prlimit", &[&format!("--stack={stack}")]).run();
    assert!(
        output.code >= 0,
        "{} was killed: {}",
        output.command,
        output.err()
    );
    output.stdout
}

/// The end of an edit, to which the client responds.
const EDIT_END: &str = "( close-edit ( ) ) ";

/// The raw connections of a client.
struct RawClient {
    port: u16,
    youngest: u64,
}

impl RawClient {
    /// Sends a command, reads up to `end` and responds to the edit. Returns the number of received bytes, at least up
    /// to the response to the next command.
    fn send_request(&self, command: &str, end: Option<&str>) -> usize {
        let mut stream = self.connect();
        stream
            .write_all(command.as_bytes())
            .expect("because the server reads");
        let mut count = 0;
        if let Some(end) = end {
            count += read_to(&mut stream, end, command);
            if end == EDIT_END {
                stream
                    .write_all(b"( success ( ) ) ")
                    .expect("because the server reads");
            }
        }
        stream
            .write_all(b"( get-latest-rev ( ) ) ")
            .expect("because the server reads");
        count
            + read_to(
                &mut stream,
                &format!("( success ( {} ) ) ", self.youngest),
                command,
            )
    }

    /// Opens a connection and sends the greeting.
    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("because it listens");
        let patience = Duration::from_secs(300);
        stream
            .set_read_timeout(Some(patience))
            .expect("because it is a socket");
        let url = format!("svn://127.0.0.1:{}/r", self.port);
        let hello = format!(
            "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) {}:{url} 4:test ( ) ) \
             ( ANONYMOUS ( 0: ) ) ",
            url.len()
        );
        stream
            .write_all(hello.as_bytes())
            .expect("because the server reads");
        stream
    }
}

fn read_to(stream: &mut TcpStream, end: &str, command: &str) -> usize {
    let mut tail = Vec::new();
    let mut count = 0;
    let mut piece = vec![0; 1 << 20];
    loop {
        let length = read_some(stream, &mut piece).expect("because the server answers");
        assert!(length > 0, "the server is gone after {:.60}", command);
        count += length;
        tail.extend_from_slice(&piece[..length]);
        if tail.ends_with(end.as_bytes()) {
            return count;
        }
        tail.drain(..tail.len().saturating_sub(end.len()));
    }
}

#[test]
fn a_deep_tree_is_read_over_svn() {
    let deep = DeepRepository::new(levels());
    let server = TestServer::svnserve(Side::Ours, deep.folder.path(), &[]);
    let client = RawClient {
        port: server.port(),
        youngest: deep.youngest,
    };
    let rev = deep.youngest;
    let string = |text: &str| format!("{}:{text}", text.len());
    let url = |below: &str| string(&format!("svn://127.0.0.1:{}/r{below}", server.port()));
    let (dir, file) = (string(&deep.deepest), string(&format!("{}/f", deep.deepest)));
    let all = levels() * levels();
    for (command, least) in [
        (format!("( list ( 0: ( {rev} ) infinity ( kind ) ) ) "), all),
        (
            format!("( list ( 0: ( {rev} ) infinity ( kind ) ( 1:f ) ) ) "),
            levels(),
        ),
        (
            format!("( get-mergeinfo ( ( 0: ) ( {rev} ) inherited true ) ) "),
            levels(),
        ),
        (
            format!("( get-mergeinfo ( ( {dir} ) ( {rev} ) nearest-ancestor true ) ) "),
            0,
        ),
        (format!("( stat ( {dir} ( {rev} ) ) ) "), 0),
        (
            format!("( get-dir ( {dir} ( {rev} ) true true ( kind ) true ) ) "),
            0,
        ),
        (format!("( get-file ( {file} ( {rev} ) true true true ) ) "), 0),
        (format!("( get-iprops ( {dir} ( {rev} ) ) ) "), 0),
        (
            format!("( log ( ( {dir} ) ( {rev} ) ( 0 ) true false 0 false revprops ( ) ) ) "),
            levels(),
        ),
        (
            format!("( log ( ( {dir} ) ( {rev} ) ( 0 ) true false 0 true revprops ( ) ) ) "),
            levels(),
        ),
        (
            format!("( get-file-revs ( {file} ( 0 ) ( {rev} ) true ) ) "),
            levels(),
        ),
        // In that revision the tree had less than three units more.
        (format!("( get-locations ( {dir} {rev} ( 1 2 3 ) ) ) "), UNIT),
        (
            format!("( get-location-segments ( {dir} ( {rev} ) ( {rev} ) ( 0 ) ) ) "),
            levels(),
        ),
        (format!("( get-deleted-rev ( {dir} 1 {rev} ) ) "), 0),
        ("( get-locks ( 0: ( infinity ) ) ) ".into(), 0),
        (format!("( get-lock ( {file} ) ) "), 0),
    ] {
        assert!(client.send_request(&command, None) > least, "{command:.60}");
    }
    let empty = format!("( set-path ( 0: {rev} true ( ) infinity ) ) ( finish-report ( ) ) ");
    let old = "( set-path ( 0: 1 false ( ) infinity ) ) ( finish-report ( ) ) ";
    let end = Some(EDIT_END);
    for (command, least) in [
        (
            format!("( update ( ( {rev} ) 0: true infinity true true ) ) {empty}"),
            all,
        ),
        (
            format!("( update ( ( {rev} ) 0: true infinity true true ) ) {old}"),
            all,
        ),
        (
            format!(
                "( switch ( ( {rev} ) 0: true {} infinity true true ) ) {old}",
                url("/d")
            ),
            all,
        ),
        (format!("( status ( 0: true ( {rev} ) infinity ) ) {old}"), all),
        (
            format!(
                "( diff ( ( {rev} ) 0: true false {} true infinity ) ) {old}",
                url("")
            ),
            all,
        ),
    ] {
        assert!(client.send_request(&command, end) > least, "{command:.60}");
    }
    let end = Some("( finish-replay ( ) ) ( success ( ) ) ");
    let (whole, last) = (0, rev - 1);
    assert!(client.send_request(&format!("( replay ( {last} {whole} true ) ) "), end) > levels());
    // Copies from before the low water mark are sent as whole trees.
    assert!(client.send_request(&format!("( replay ( {last} {last} true ) ) "), end) > all);
}

/// Sends a request over HTTP. Returns the status and the number of bytes of the response.
fn request(port: u16, method: &str, path: &str, accept: &str, body: &str) -> (u16, usize) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because it listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: {accept}\r\nDepth: 1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all([head.as_bytes(), body.as_bytes()].concat().as_slice())
        .expect("because the server reads");
    let mut begin = Vec::new();
    let mut count = 0;
    let mut piece = vec![0; 1 << 20];
    loop {
        let length = read_some(&mut stream, &mut piece).expect("because the server answers");
        if length == 0 {
            break;
        }
        count += length;
        begin.extend_from_slice(&piece[..length.min(64 - begin.len().min(64))]);
    }
    let begin = String::from_utf8_lossy(&begin).into_owned();
    let status = begin.split(' ').nth(1).and_then(|word| word.parse().ok());
    (
        status.unwrap_or_else(|| panic!("no answer to {method} {path:.60}")),
        count,
    )
}

#[test]
fn a_deep_tree_is_read_over_http() {
    let deep = DeepRepository::new(levels());
    let server = TestServer::http(Side::Ours, deep.folder.path(), "", &[]);
    let port = server.port();
    let (rev, last) = (deep.youngest, deep.youngest - 1);
    let space = "xmlns:S=\"svn:\" xmlns:D=\"DAV:\"";
    let all = levels() * levels() / 2;
    let at = format!("/r/!svn/rvr/{rev}/");
    let update = |send_all: &str| {
        format!(
            "<S:update-report send-all=\"{send_all}\" {space}><S:src-path>http://127.0.0.1:{port}/r</S:src-path>\
             <S:target-revision>{rev}</S:target-revision><S:depth>infinity</S:depth>\
             <S:entry rev=\"{rev}\" start-empty=\"true\" depth=\"infinity\"></S:entry></S:update-report>"
        )
    };
    for (path, body, least) in [
        (
            at.as_str(),
            format!(
                "<S:list-report {space}><S:path></S:path><S:revision>{rev}</S:revision>\
                 <S:depth>infinity</S:depth></S:list-report>"
            ),
            all,
        ),
        (
            &at,
            format!(
                "<S:mergeinfo-report {space}><S:revision>{rev}</S:revision><S:inherit>inherited</S:inherit>\
                 <S:path></S:path><S:include-descendants>yes</S:include-descendants></S:mergeinfo-report>"
            ),
            levels(),
        ),
        (
            &at,
            format!(
                "<S:log-report {space}><S:start-revision>{rev}</S:start-revision><S:end-revision>0</S:end-revision>\
                 <S:discover-changed-paths/><S:path>{}</S:path></S:log-report>",
                deep.deepest
            ),
            levels(),
        ),
        ("/r/!svn/me", update("true"), all),
        ("/r/!svn/me", update("false"), all),
        (
            "/r",
            format!(
                "<S:replay-report {space}><S:revision>{last}</S:revision><S:low-water-mark>{last}</S:low-water-mark>\
                 <S:send-deltas>1</S:send-deltas></S:replay-report>"
            ),
            all,
        ),
    ] {
        let (status, length) = request(port, "REPORT", path, "*/*", &body);
        assert_eq!(status, 200, "{body:.60}");
        assert!(length > least, "{body:.60}");
    }
    // A path of 100,000 bytes may be too long for a request line; Apache's limit is 8,190.
    for (method, accept) in [
        ("PROPFIND", "*/*"),
        ("GET", "*/*"),
        ("GET", "text/html"),
        ("HEAD", "*/*"),
    ] {
        let (status, length) = request(port, method, &format!("/r/{}/", deep.deepest), accept, "");
        assert!((200..500).contains(&status), "{method}: {status}");
        assert!(length < 100 * levels(), "{method}: {length} bytes");
    }
    let url = format!("http://127.0.0.1:{port}/r");
    let client = |args: &[&str]| {
        let svn = Tool::new("svn").args(["--non-interactive", "-m", "x"]);
        svn.args(args).ok();
    };
    client(&["copy", &format!("{url}/d"), &format!("{url}/e")]);
    client(&["delete", &format!("{url}/e")]);
    for page in ["", "?view=revision", "?view=revision&p=1", "?view=log"] {
        let (status, _) = request(port, "GET", &format!("/r/{page}"), "text/html", "");
        assert_eq!(status, 200, "{page}");
    }
}

#[test]
fn tools_process_a_deep_tree() {
    let deep = DeepRepository::new(levels());
    let repository = deep.repository();
    let admin = |args: &[&str]| runs(Side::Ours.tool("svnadmin").args(args).arg(&repository));
    let dump = admin(&["dump", "-q"]);
    let deltas = admin(&["dump", "-q", "--deltas"]);
    let youngest = deep.youngest.to_string();
    assert!(admin(&["dump", "-q", "-r", &youngest]).len() > levels() * levels());
    for args in [
        &["verify", "-q"][..],
        &["recover"],
        &["upgrade"],
        &["pack"],
        &["lslocks"],
        &["lstxns"],
        &["build-repcache"],
    ] {
        admin(args);
    }
    for (name, dump) in [("whole", dump), ("deltas", deltas)] {
        let copy = deep.folder.path().join(name);
        create(&copy, dump);
        let tree = |repository: &Path| runs(Side::Ours.tool("svnlook").arg("tree").arg(repository));
        assert!(tree(&copy) == tree(&repository), "{name}");
    }
    let hotcopy = deep.folder.path().join("hotcopy");
    runs(
        Side::Ours
            .tool("svnadmin")
            .arg("hotcopy")
            .args([&repository, &hotcopy]),
    );
    for command in ["changed", "dirs-changed", "diff", "history", "info", "tree"] {
        for rev in ["1", &youngest] {
            let look = Side::Ours.tool("svnlook").arg(command).arg(&repository);
            match command {
                // These begin at the youngest revision.
                "history" | "tree" if rev == "1" => {}
                "history" | "tree" => _ = runs(look),
                _ => _ = runs(look.args(["-r", rev])),
            }
        }
    }
    for command in ["history", "proplist", "tree"] {
        let look = Side::Ours.tool("svnlook").arg(command).arg(&repository);
        // An argument has at most 128 KiB.
        let path = &deep.deepest[..deep.deepest.len().min(99_999)];
        runs(look.arg(path));
    }
    let look = Side::Ours
        .tool("svnlook")
        .args(["proplist", "--show-inherited-props"]);
    runs(
        look.arg(&repository)
            .arg(&deep.deepest[..deep.deepest.len().min(99_999)]),
    );
}

#[test]
fn authz_rules_apply_to_deep_paths() {
    let deep = DeepRepository::new(levels());
    let repository = deep.repository();
    let rules = format!(
        "[groups]\nall = alice\n[/]\n* = r\n[/{0}]\n* =\n@all = rw\n[:glob:/**/{0}/**]\nbob = rw\n",
        deep.deepest
    );
    let authz = repository.join("conf/authz");
    std::fs::write(&authz, rules).expect("because it is ours");
    runs(Side::Ours.tool("svnauthz").arg("validate").arg(&authz));
    let conf = repository.join("conf/svnserve.conf");
    std::fs::write(conf, "[general]\nanon-access = read\nauthz-db = authz\n").expect("because it is ours");
    let server = TestServer::svnserve(Side::Ours, deep.folder.path(), &[]);
    let client = RawClient {
        port: server.port(),
        youngest: deep.youngest,
    };
    let rev = deep.youngest;
    assert!(
        client.send_request(&format!("( list ( 0: ( {rev} ) infinity ( kind ) ) ) "), None)
            > levels() * levels()
    );
    let report = format!("( set-path ( 0: {rev} true ( ) infinity ) ) ( finish-report ( ) ) ");
    let update = format!("( update ( ( {rev} ) 0: true infinity true true ) ) {report}");
    assert!(client.send_request(&update, Some(EDIT_END)) > levels() * levels());
}

/// Two branches that are merged into each other in turns, so that each merge includes the one before.
#[test]
fn logs_follow_deeply_nested_merges() {
    let depth = (levels() / 2).max(FEWER_LEVELS);
    let folder = testkit::tool::scratch();
    let repository = folder.path().join("r");
    let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a02");
    stream.rev("begin").mkdirs(["a", "b"]);
    for rev in 2..depth {
        let (to, from) = if rev % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let merged = if rev == 2 {
            "1".into()
        } else {
            format!("1-{}", rev - 1)
        };
        let value = format!("/{from}:{merged}");
        let mergeinfo: (&str, &[u8]) = ("svn:mergeinfo", value.as_bytes());
        stream
            .rev("merge")
            .change(RecordKind::Dir, to, Content::props(&[mergeinfo]));
    }
    create(&repository, stream.bytes());
    let server = TestServer::svnserve(Side::Ours, folder.path(), &[]);
    let rev = stream.youngest();
    let client = RawClient {
        port: server.port(),
        youngest: rev,
    };
    let log = format!("( log ( ( 1:a ) ( {rev} ) ( 0 ) false false 0 true revprops ( ) ) ) ");
    assert!(client.send_request(&log, None) > depth);
}
