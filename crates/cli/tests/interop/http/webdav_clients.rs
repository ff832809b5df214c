//! Plain WebDAV clients without Subversion's extensions: the test suite litmus, and cadaver.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, Tool, scratch};

use super::raw_http::send_request;

/// All requests need a login, because these programs lock, and locks have owners.
const APACHE: &str = "SVNAutoversioning on\nModMimeUsePathInfo on\nAuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\n";
const OURS: &str = "autoversioning = true\nanonymous = false\n[location.auth]\nhtpasswd-file = 'USERS'\n";

/// A server with an empty repository and autoversioning.
pub(super) struct WebDavServer {
    pub(super) server: TestServer,
    pub(super) repository: PathBuf,
    root: TempDir,
}

impl WebDavServer {
    pub(super) fn new(side: Side) -> WebDavServer {
        let root = scratch();
        let repository = root.path().join("repo");
        testkit::create_repository(&repository);
        let site = HttpSite {
            apache: APACHE,
            ours: OURS,
            ..HttpSite::plain(root.path())
        };
        WebDavServer {
            server: TestServer::http_site(side, &site),
            repository,
            root,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/repo/", self.server.port())
    }
}

/// Returns the numbers of passed and failed checks of each part of litmus.
fn litmus(side: Side) -> Vec<(String, u32, u32)> {
    let place = WebDavServer::new(side);
    let output_text = Tool::new("litmus")
        .args(["-k", &place.url(), "alice", "secret"])
        .dir(place.root.path())
        .run();
    let output_text = output_text.out();
    let number = |text: &str, after: &str| -> u32 {
        let rest = text.split_once(after).map_or("", |(_, rest)| rest).trim_start();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let summaries = output_text.lines().filter(|line| line.contains("<- summary for"));
    let found = summaries.map(|line| {
        let name = line.split(['`', '\'']).nth(1).unwrap_or_default().to_owned();
        (name, number(line, "tests run:"), number(line, "passed,"))
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 5, "{output_text}");
    if side == Side::Ours {
        place.server.storage().bring_back(&place.repository);
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&place.repository)
            .ok();
    }
    eprintln!("{side:?}: {found:?}");
    found
}

#[test]
fn litmus_has_no_more_failures_than_with_apache() {
    let [theirs, ours] = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| litmus(Side::Theirs));
        let ours = litmus(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    });
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs.0, ours.0);
        assert!(
            ours.1 >= theirs.1 && ours.2 <= theirs.2,
            "passed, failed: {theirs:?} {ours:?}"
        );
    }
}

const SESSION: &str = "\
ls
mkcol c
cd c
put up.txt
ls
copy up.txt copy.txt
move copy.txt moved.txt
cat up.txt
propset up.txt color red
propget up.txt color
lock up.txt
put up.txt
unlock up.txt
ls
get moved.txt got.txt
delete moved.txt
mkcol d
rmcol d
delete nothing
cd ..
ls
quit
";

/// Returns cadaver's output without dates, and the resulting tree.
fn cadaver(side: Side) -> String {
    let (place, home) = (WebDavServer::new(side), scratch());
    let login = home.path().join(".netrc");
    fs::write(&login, "machine 127.0.0.1\nlogin alice\npassword secret\n").expect("because it is ours");
    Tool::new("chmod").arg("600").arg(&login).ok();
    fs::write(home.path().join("up.txt"), "hello\n").expect("because it is ours");
    let output_text = Tool::new("cadaver")
        .arg(place.url())
        .env("HOME", home.path())
        .stdin(SESSION)
        .dir(home.path())
        .run();
    let got = fs::read_to_string(home.path().join("got.txt")).unwrap_or_default();
    assert_eq!(got, "hello\n", "{output_text:?}");
    place.server.storage().bring_back(&place.repository);
    let log = Tool::new("svnlook")
        .args(["changed", "-r", "1"])
        .arg(&place.repository)
        .ok();
    let tree = Tool::new("svnlook").arg("tree").arg(&place.repository).ok();
    let mut out = String::new();
    for line in output_text.out().lines() {
        // A listing ends with a date.
        out += match line.split_once("  ") {
            Some((name, rest)) if line.contains('>') || rest.ends_with(|c: char| c.is_ascii_digit()) => name,
            _ => line,
        };
        out.push('\n');
    }
    out.replace(&format!(":{}", place.server.port()), ":PORT") + &log.out() + &tree_without_ids(&tree.out())
}

fn tree_without_ids(tree: &str) -> String {
    let lines = tree.lines().map(|line| line.split(" <").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn cadaver_browses_and_writes() {
    let [theirs, ours] = Side::BOTH.map(cadaver);
    crate::pair::compare(&theirs, &ours);
    assert!(ours.contains("up.txt") && !ours.contains("failed: 5"), "{ours}");
}

/// alice, secret.
pub(super) const ALICE: (&str, &str) = ("Authorization", "Basic YWxpY2U6c2VjcmV0");

pub(super) const LOCK: &str =
    "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>";
pub(super) const PROPPATCH: &str = "<propertyupdate xmlns='DAV:'><set><prop><c xmlns='http://subversion.tigris.org/xmlns/custom/'>v</c>\
                         </prop></set></propertyupdate>";

/// Returns the results of conditional writes to a file, a directory and a missing path.
fn conditional(side: Side) -> String {
    let place = WebDavServer::new(side);
    let port = place.server.port();
    let mut output_text = String::new();
    let mut count = 0;
    for (what, methods) in [
        ("f&", &["PUT", "DELETE", "MOVE", "COPY", "PROPPATCH", "LOCK"][..]),
        ("d/", &["DELETE", "MOVE", "PROPPATCH", "MKCOL"]),
        ("absent", &["PUT", "MKCOL", "LOCK", "DELETE"]),
    ] {
        for method in methods {
            for (name, wanted) in [
                ("If-Match", "\"1//f\""),
                ("If-Match", "its own"),
                ("If-Match", "*"),
                ("If-None-Match", "*"),
                ("If-None-Match", "\"1//f\""),
                ("If-Unmodified-Since", "Sun, 01 Nov 2020 10:00:00 GMT"),
                ("If", "its own"),
            ] {
                // Apache also checks the tag of the destination, and tokens of the parent.
                let moves = ["MOVE", "COPY"].contains(method);
                if moves && wanted == "*" || name == "If" && !["PUT", "PROPPATCH"].contains(method) {
                    continue;
                }
                count += 1;
                let folder = format!("/repo/{count}");
                send_request(port, "MKCOL", &folder, &[ALICE], "");
                match what {
                    "f&" => _ = send_request(port, "PUT", &format!("{folder}/f&"), &[ALICE], "one"),
                    "d/" => _ = send_request(port, "MKCOL", &format!("{folder}/d"), &[ALICE], ""),
                    _ => {}
                }
                let at = format!("{folder}/{what}");
                let tag = send_request(port, "HEAD", &at, &[ALICE], "")
                    .headers
                    .remove("etag");
                let tag = tag.map_or("\"none\"".to_owned(), |mut tag| tag.remove(0));
                let condition = match (name, wanted) {
                    ("If", _) => format!("([{tag}])"),
                    (_, "its own") => tag,
                    _ => wanted.to_owned(),
                };
                let to = format!("http://127.0.0.1:{port}{folder}/to");
                let headers = [ALICE, (name, &condition), ("Destination", &to)];
                let body = match *method {
                    "PUT" => "two",
                    "LOCK" => LOCK,
                    "PROPPATCH" => PROPPATCH,
                    _ => "",
                };
                let status = send_request(port, method, &at, &headers, body).status;
                output_text += &format!("{method} {what} {name} {wanted}: {status}\n");
            }
        }
    }
    output_text
}

#[test]
fn conditional_writes_of_plain_clients_have_apaches_results() {
    let [theirs, ours] = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| conditional(Side::Theirs));
        let ours = conditional(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    });
    crate::pair::compare(&theirs, &ours);
}

/// Returns the responses to methods that a resource does not allow, and whether they name those that it allows. Apache names others.
fn refused_methods(side: Side) -> String {
    let place = WebDavServer::new(side);
    let send = |method: &str, path: &str| {
        let at = format!("/repo/{path}");
        send_request(place.server.port(), method, &at, &[ALICE], "")
    };
    send("PUT", "f");
    send("MKCOL", "d");
    let mut output_text = String::new();
    for (method, path) in [
        ("MKCOL", "d"),
        ("MKCOL", "f"),
        ("PUT", "d"),
        ("SEARCH", "d"),
        ("SEARCH", "f"),
        ("SEARCH", "absent"),
    ] {
        let response = send(method, path);
        let names = response.headers.contains_key("allow");
        output_text += &format!("{method} {path}: {} {names}\n", response.status);
    }
    output_text
}

#[test]
fn refused_methods_name_the_allowed_ones() {
    let [theirs, ours] = Side::BOTH.map(refused_methods);
    crate::pair::compare(&theirs, &ours);
    assert!(ours.contains("SEARCH f: 405 true"), "{ours}");
}

/// Returns the properties of every node and the paths of every revision, without dates.
fn properties(place: &WebDavServer) -> String {
    place.server.storage().bring_back(&place.repository);
    let url = format!("file://{}", place.repository.display());
    let output_text = Tool::new("svn").args(["proplist", "-v", "-R", &url]).ok().out();
    let output_text = output_text.replace(&url, "URL");
    // Nodes have no defined order.
    let mut nodes: Vec<&str> = output_text.split("Properties on ").map(str::trim_end).collect();
    nodes.sort_unstable();
    let log = Tool::new("svn").args(["log", "-v", "-q", &url]).ok().out();
    let log = log
        .lines()
        .map(|line| line.split(" | ").next().unwrap_or_default());
    nodes.join("\n") + "\n" + &log.collect::<Vec<_>>().join("\n")
}

/// Returns the responses to `PROPPATCH`, and the stored properties.
fn foreign_properties(side: Side) -> String {
    let place = WebDavServer::new(side);
    let port = place.server.port();
    let mut output_text = String::new();
    send_request(port, "PUT", "/repo/f", &[ALICE], "text");
    for (path, change) in [
        ("f", "<set><prop><z:color>red</z:color></prop></set>"),
        (
            "f",
            "<set><prop><y:color>blue</y:color><z:size>1</z:size></prop></set>",
        ),
        ("f", "<remove><prop><z:color/></prop></remove>"),
        ("f", "<set><prop><bare xmlns=''>v</bare></prop></set>"),
        ("f", "<set><prop><displayname>name</displayname></prop></set>"),
        ("f", "<set><prop><getetag>tag</getetag></prop></set>"),
        (
            "f",
            "<set><prop><z:other>1</z:other><getetag>tag</getetag></prop></set>",
        ),
        (
            "f",
            "<set><prop><z:nested><z:inner>x</z:inner>y</z:nested></prop></set>",
        ),
        ("f", "<set><prop><z:empty/></prop></set>"),
        ("f", "<set><prop><z:eol-style>x</z:eol-style></prop></set>"),
        (
            "f",
            "<set><prop><s:executable>*</s:executable><c:own>1</c:own></prop></set>",
        ),
        ("f", "<remove><prop><s:executable/><c:none/></prop></remove>"),
        ("", "<set><prop><z:top>x</z:top></prop></set>"),
        ("none", "<set><prop><z:top>x</z:top></prop></set>"),
    ] {
        let body = format!(
            "<propertyupdate xmlns='DAV:' xmlns:z='http://example.com/z' xmlns:y='urn:y' \
             xmlns:c='http://subversion.tigris.org/xmlns/custom/' xmlns:s='http://subversion.tigris.org/xmlns/svn/'>{change}</propertyupdate>"
        );
        let response = send_request(port, "PROPPATCH", &format!("/repo/{path}"), &[ALICE], &body);
        let text = String::from_utf8_lossy(&response.body).into_owned();
        let stati: Vec<&str> = text.lines().filter(|line| line.contains("<D:status>")).collect();
        output_text += &format!("{path} {change}: {} {stati:?}\n", response.status);
    }
    output_text + &properties(&place)
}

#[test]
fn properties_of_other_namespaces_are_stored() {
    let [theirs, ours] = Side::BOTH.map(foreign_properties);
    crate::pair::compare(&theirs, &ours);
    assert!(ours.contains("displayname") && ours.contains("blue"), "{ours}");
}

/// Returns the types of new files.
fn types_by_name(side: Side) -> String {
    let place = WebDavServer::new(side);
    let port = place.server.port();
    let names = "a.png A.PNG b.txt c.html d e.unknown f.tar.gz g.C .png png h.en.html i.html.en j.svg k.json l.js m.css n.xml \
                 o.docx p.sh q.zip r%2etxt s.png.unknown t..png u.";
    for name in names.split(' ') {
        let made = send_request(port, "PUT", &format!("/repo/{name}"), &[ALICE], "text");
        assert_eq!(made.status, 201, "{name}");
    }
    assert_eq!(
        send_request(port, "PUT", "/repo/a.png", &[ALICE], "more").status,
        204
    );
    // A file that a LOCK created has no type until it has a text.
    send_request(port, "LOCK", "/repo/locked.png", &[ALICE], LOCK);
    properties(&place)
}

#[test]
fn new_files_get_a_type_by_their_name() {
    let [theirs, ours] = Side::BOTH.map(types_by_name);
    crate::pair::compare(&theirs, &ours);
    assert!(ours.contains("image/png"), "{ours}");
}

/// A tag is the name of a file as well; a quote would end it.
#[test]
fn entity_tags_match_themselves_whatever_the_name() {
    let names = [
        "q%22x", "b%5cs", "a%26x", "l%3cg%3e", "%27", "%c3%a4", "s%20p", "c,m", "%5bb%5d",
    ];
    let tags = Side::BOTH.map(|side| {
        let place = WebDavServer::new(side);
        names.map(|name| {
            let send = |method: &str, condition: (&str, &str)| {
                let headers = [ALICE, condition];
                send_request(
                    place.server.port(),
                    method,
                    &format!("/repo/{name}"),
                    &headers,
                    "",
                )
            };
            assert_eq!(send("PUT", ("If-None-Match", "*")).status, 201, "{side:?} {name}");
            let tag = send("HEAD", ("Accept", "*/*")).headers["etag"][0].clone();
            let status = |method: &str, line: &str| send(method, (line, &tag)).status;
            assert_eq!(status("GET", "If-None-Match"), 304, "{side:?} {tag}");
            assert_eq!(status("GET", "If-Match"), 200, "{side:?} {tag}");
            assert_eq!(status("DELETE", "If-None-Match"), 412, "{side:?} {tag}");
            let wrong = tag.replace("//", "/");
            let refused = send("PUT", ("If-Match", &wrong));
            assert_eq!(refused.status, 412, "{side:?} {tag}");
            assert_eq!(status("PUT", "If-Match"), 204, "{side:?} {tag}");
            tag
        })
    });
    assert_eq!(tags[0], tags[1]);
    assert!(tags[0][0].contains("//q&quot;x\""), "{tags:?}");
}
