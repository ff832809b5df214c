//! Responses before and after a login, for existing and missing resources: every method, every kind of URL, every
//! state of the login, compared with Apache.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, Tool, sample_from, scratch};

use super::raw_http::{HttpResponse, send_request};

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

/// The paths; `REPO` is the name of an existing or a missing repository.
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

/// The logins in base64: without a password, with a wrong one, without rights, a reader, a writer.
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

/// Serves a repository `r` with write access for alice, read access for bob and none for carol.
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
    testkit::create_repository(&repository);
    let url = format!("file://{}", repository.display());
    let authz = parent.join("../authz");
    fs::write(&authz, "[r:/]\nbob = r\nalice = rw\n").expect("because the folder is ours");
    Tool::new("svnmucc")
        .args(["-m", "made", "-U", &url, "mkdir", "d", "put"])
        .arg(&authz)
        .arg("f")
        .ok();
}

fn request(server: &TestServer, method: &str, path: &str, login: &str) -> HttpResponse {
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
    send_request(port, method, path, &headers, body)
}

/// True for known differences (docs/KNOWN-DIFFERENCES.md).
fn is_known(method: &str, path: &str, login: &str) -> bool {
    let is_special = |what: &[&str]| what.iter().any(|what| path.contains(&format!("!svn/{what}")));
    match method {
        // Resources without a text.
        "HEAD" => is_special(&["me", "rev", "vcc", "txn", "act"]),
        // The location itself, for logged-in users: 405 where Subversion fails.
        _ if path.trim_end_matches('/') == "/svn" => login != "nobody" && login != "wrong",
        // Two errors apply; the servers report different ones.
        "CHECKOUT" => is_special(&["vcc"]),
        _ => false,
    }
}

/// The number of cases of which a short run has one. It has no common divisor with the numbers of methods and of paths.
const STEP: usize = 9;

/// Returns statuses and error numbers of the requests of a sample that begins at `first`. With `writes` every user may write.
fn table(server: &TestServer, writes: bool, first: usize) -> String {
    let mut reported = String::new();
    let locations = ["/svn".to_owned(), "/svn/".to_owned()].into_iter();
    let repositories = ["r", "none"].into_iter();
    let below = repositories.flat_map(|repo| BELOW.map(|below| format!("/svn/{repo}{below}")));
    let paths: Vec<String> = locations.chain(below).collect();
    let methods = LOGINS
        .iter()
        .flat_map(|login| METHODS.map(|method| (login, method)));
    let cases = methods.flat_map(|(login, method)| paths.iter().map(move |path| (*login, method, path)));
    for ((name, login), method, path) in sample_from(first, STEP, cases) {
        // A write would change the results of the next requests.
        let reads = matches!(method, "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT");
        let has_name = !["nobody", "wrong"].contains(&name);
        if !reads && (name == "alice" || writes && has_name) || is_known(method, path, name) {
            continue;
        }
        let response = request(server, method, path, login);
        let body = String::from_utf8_lossy(&response.body);
        let code = body
            .split_once("errcode=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        let code = code.map_or("", |(code, _)| code);
        _ = writeln!(reported, "{name} {method} {path}: {} {code}", response.status);
    }
    reported
}

/// The list has no access file where each repository has its own; it shows the repositories that the user may read.
#[test]
fn the_list_of_repositories_with_access_files_of_their_own() {
    let root = scratch();
    let parent = root.path().join("repos");
    fs::create_dir(&parent).expect("because the folder is empty");
    for (name, rules) in [("open", "[/]\n* = r\n"), ("closed", "[/]\nbob = r\n")] {
        let repository = parent.join(name);
        testkit::create_repository(&repository);
        fs::write(repository.join("conf/authz"), rules).expect("because the folder is ours");
    }
    let [theirs, ours] = Side::BOTH.map(|side| {
        let site = HttpSite {
            at: "/svn",
            apache: "AuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\nSatisfy Any\n\
                     AuthzSVNReposRelativeAccessFile authz\nSVNListParentPath on\n",
            ours: "repository-authz = 'authz'\n[location.auth]\nrealm = 'r'\nhtpasswd-file = 'USERS'\n",
            ..HttpSite::plain(&parent)
        };
        let server = TestServer::http_site(side, &site);
        let mut reported = String::new();
        for (name, login) in LOGINS.iter().filter(|(name, _)| *name != "wrong") {
            for path in ["/svn/", "/svn/open/", "/svn/closed/"] {
                let response = request(&server, "GET", path, login);
                let body = String::from_utf8_lossy(&response.body);
                let names = ["open", "closed"].map(|name| body.contains(&format!("href=\"{name}/\"")));
                _ = writeln!(reported, "{name} {path}: {} {names:?}", response.status);
            }
        }
        reported
    });
    assert!(theirs.contains("nobody /svn/: 200 [true, false]"), "{theirs}");
    assert_eq!(ours, theirs);
}

#[test]
fn statuses_before_and_after_a_login() {
    let root = scratch();
    let parent = root.path().join("repos");
    repository(&parent);
    let configurations = [
        (true, false, false),
        (false, false, false),
        (true, false, true),
        (true, true, false),
    ];
    for (first, (access, anonymous, list)) in configurations.into_iter().enumerate() {
        let [theirs, ours] = thread_each(|side| {
            let server = serve(side, &parent, access, anonymous, list);
            table(&server, !access, first)
        });
        crate::pair::compare(&theirs, &ours);
    }
}

/// Runs a function for both sides at the same time.
fn thread_each(reported: impl Fn(Side) -> String + Sync) -> [String; 2] {
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| reported(Side::Theirs));
        let ours = reported(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    })
}

#[test]
fn unreadable_and_missing_paths_get_equal_responses() {
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
                // Resources without a path are readable for every user, as with the incumbent: they contain nothing
                // that rules protect.
                if *name == "carol" && below.contains("!svn/") {
                    continue;
                }
                let shown = |repository: &str| {
                    let response = request(&server, method, &format!("/svn/{repository}{below}"), login);
                    let mut headers = response.headers;
                    headers.retain(|header, _| !["date", "x-request-id"].contains(&header.as_str()));
                    let body = String::from_utf8_lossy(&response.body).into_owned();
                    // Each response has another request ID.
                    let body: Vec<String> = body
                        .lines()
                        .map(|line| line.split("Request ").next().unwrap_or_default().to_owned())
                        .collect();
                    (response.status, headers, body)
                };
                let (there, missing) = (shown("r"), shown("none"));
                assert_eq!(there, missing, "{name} {method} {below}");
                let expected = if *name == "carol" { 403 } else { 401 };
                assert_eq!(there.0, expected, "{name} {method} {below}");
            }
        }
    }
}
