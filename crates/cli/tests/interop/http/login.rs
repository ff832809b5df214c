//! What is said before and after a login, of what exists and of what does not: every method, on every shape of a URL, in every
//! state of a login, beside Apache.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, Tool, scratch};

use super::ask::{Answer, ask};

const METHODS: [&str; 14] = [
    "OPTIONS",
    "GET",
    "HEAD",
    "PROPFIND",
    "REPORT",
    "POST",
    "PUT",
    "MKCOL",
    "DELETE",
    "COPY",
    "PROPPATCH",
    "MERGE",
    "MKACTIVITY",
    "CHECKOUT",
];

/// What can be asked for; `REPO` is a repository or the name of none.
const BELOW: [&str; 19] = [
    "",
    "/",
    "/d",
    "/d/",
    "/f",
    "/absent",
    "/!svn/me",
    "/!svn/rev/1",
    "/!svn/rev/99",
    "/!svn/rvr/1/f",
    "/!svn/rvr/99/f",
    "/!svn/ver/1/f",
    "/!svn/vcc/default",
    "/!svn/act/none",
    "/!svn/txn/1-1",
    "/!svn/txr/1-1/f",
    "/!svn/wrk/a/f",
    "//f",
    "/./d/../f",
];

/// Users and passwords in base64: without a password, with a wrong one, without rights, who reads, who writes.
const LOGINS: [(&str, &str); 5] = [
    ("nobody", ""),
    ("wrong", "YWxpY2U6YmFk"),
    ("carol", "Y2Fyb2w6cHc="),
    ("bob", "Ym9iOnB3"),
    ("alice", "YWxpY2U6c2VjcmV0"),
];

const PROPPATCH: &str = "<D:propertyupdate xmlns:D='DAV:' xmlns:C='http://subversion.tigris.org/xmlns/custom/'><D:set><D:prop>\
                         <C:color>red</C:color></D:prop></D:set></D:propertyupdate>";
const REPORT: &str = "<S:dated-rev-report xmlns:S='svn:' xmlns:D='DAV:'><D:creationdate>2030-01-01T00:00:00.000000Z</D:creationdate>\
                      </S:dated-rev-report>";

/// A repository `r` that alice writes, bob reads, and carol may not see, served in one of the ways.
fn serve(side: Side, parent: &Path, access: bool, anonymous: bool, list: bool) -> TestServer {
    let authz = parent.join("../authz");
    let mut apache = "AuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\n".to_owned();
    let mut ours = format!("list = {list}\nanonymous = {anonymous}\n");
    if access {
        _ = writeln!(apache, "AuthzSVNAccessFile {}", authz.display());
        _ = writeln!(ours, "authz = '{}'", authz.display());
    }
    if anonymous {
        apache += "Satisfy Any\n";
    }
    if list {
        apache += "SVNListParentPath on\n";
    }
    ours += "[location.auth]\nrealm = 'r'\nhtpasswd-file = 'USERS'\n";
    let site = HttpSite {
        at: "/svn",
        apache: &apache,
        ours: &ours,
        ..HttpSite::plain(parent)
    };
    TestServer::http_site(side, &site)
}

fn repository(parent: &Path) {
    fs::create_dir(parent).expect("because the folder is empty");
    let repository = parent.join("r");
    Tool::new("svnadmin").arg("create").arg(&repository).ok();
    let url = format!("file://{}", repository.display());
    let authz = parent.join("../authz");
    fs::write(&authz, "[r:/]\nbob = r\nalice = rw\n").expect("because the folder is ours");
    Tool::new("svnmucc")
        .args(["-m", "made", "-U", &url, "mkdir", "d", "put"])
        .arg(&authz)
        .arg("f")
        .ok();
}

fn request(server: &TestServer, method: &str, path: &str, login: &str) -> Answer {
    let port = server.port();
    let authorization = format!("Basic {login}");
    let destination = format!("http://127.0.0.1:{port}/svn/r/to");
    let mut headers = vec![("User-Agent", "SVN/1.14.2 (x)"), ("Depth", "0")];
    if !login.is_empty() {
        headers.push(("Authorization", &authorization));
    }
    if method == "COPY" {
        headers.push(("Destination", &destination));
    }
    let body = match method {
        "PROPPATCH" => PROPPATCH,
        "REPORT" => REPORT,
        _ => "",
    };
    ask(port, method, path, &headers, body)
}

/// What both servers answer differently, as docs/KNOWN-DIFFERENCES.md says.
fn is_known(method: &str, path: &str, login: &str) -> bool {
    let is_special = |what: &[&str]| what.iter().any(|what| path.contains(&format!("!svn/{what}")));
    match method {
        // What has no text.
        "HEAD" => is_special(&["me", "rev", "vcc", "txn", "act"]),
        // The location itself, for who has logged in: 405 where theirs breaks.
        _ if path.trim_end_matches('/') == "/svn" => login != "nobody" && login != "wrong",
        // Which of two reasons is told.
        "CHECKOUT" => is_special(&["vcc"]),
        _ => false,
    }
}

/// Statuses and numbers of all questions. `writes`: every user may write.
fn table(server: &TestServer, writes: bool) -> String {
    let mut told = String::new();
    for (name, login) in LOGINS {
        for method in METHODS {
            // Who may write would change what the next one finds.
            let reads = matches!(method, "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT");
            let has_name = !["nobody", "wrong"].contains(&name);
            if !reads && (name == "alice" || writes && has_name) {
                continue;
            }
            let locations = ["/svn".to_owned(), "/svn/".to_owned()].into_iter();
            let repositories = ["r", "none"].into_iter();
            let below = repositories.flat_map(|repo| BELOW.map(|below| format!("/svn/{repo}{below}")));
            for path in locations.chain(below) {
                if is_known(method, &path, name) {
                    continue;
                }
                let answer = request(server, method, &path, login);
                let body = String::from_utf8_lossy(&answer.body);
                let code = body
                    .split_once("errcode=\"")
                    .and_then(|(_, rest)| rest.split_once('"'));
                let code = code.map_or("", |(code, _)| code);
                _ = writeln!(told, "{name} {method} {path}: {} {code}", answer.status);
            }
        }
    }
    told
}

#[test]
fn statuses_before_and_after_a_login() {
    let root = scratch();
    let parent = root.path().join("repos");
    repository(&parent);
    for (access, anonymous, list) in [
        (true, false, false),
        (false, false, false),
        (true, false, true),
        (true, true, false),
    ] {
        let [theirs, ours] = thread_each(|side| {
            let server = serve(side, &parent, access, anonymous, list);
            table(&server, !access)
        });
        crate::pair::compare(&theirs, &ours);
    }
}

/// What both sides say, asked at the same time.
fn thread_each(told: impl Fn(Side) -> String + Sync) -> [String; 2] {
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| told(Side::Theirs));
        let ours = told(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    })
}

#[test]
fn what_may_not_be_read_does_not_differ_from_what_is_not_there() {
    let root = scratch();
    let parent = root.path().join("repos");
    repository(&parent);
    let server = serve(Side::Ours, &parent, true, false, false);
    let shapes = BELOW.iter().chain(&[
        "/!svn",
        "/!svn/",
        "/!svn/bad",
        "/!svn/vcc/x",
        "/!svn/rev/x",
        "/%2e%2e/none/f",
    ]);
    for below in shapes {
        for method in METHODS {
            for (name, login) in &LOGINS[..3] {
                // What has no path may be looked at by every user: as by the incumbent, such answers hold nothing that rules protect.
                if *name == "carol" && below.contains("!svn/") {
                    continue;
                }
                let shown = |repository: &str| {
                    let answer = request(&server, method, &format!("/svn/{repository}{below}"), login);
                    let mut headers = answer.headers;
                    headers.retain(|header, _| !["date", "x-request-id"].contains(&header.as_str()));
                    let body = String::from_utf8_lossy(&answer.body).into_owned();
                    // Every request has its own number.
                    let body: Vec<String> = body
                        .lines()
                        .map(|line| line.split("Request ").next().unwrap_or_default().to_owned())
                        .collect();
                    (answer.status, headers, body)
                };
                let (there, missing) = (shown("r"), shown("none"));
                assert_eq!(there, missing, "{name} {method} {below}");
                let expected = if *name == "carol" { 403 } else { 401 };
                assert_eq!(there.0, expected, "{name} {method} {below}");
            }
        }
    }
}
