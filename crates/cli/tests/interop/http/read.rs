//! Reads over HTTP: PROPFIND, GET, and clients.

use std::fs;
use std::path::Path;
use std::thread;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::READ_FREELY;
use testkit::{Repo, Side, Tool, sample, sample_from, scratch};

use super::raw_http::{HttpResponse, send_request};
use crate::pair::{ScenarioClient, compare};

/// Both servers on one repository with copies, deletions, unusual names, properties of all kinds and locks.
struct ReadServers {
    theirs: TestServer,
    ours: TestServer,
    _root: TempDir,
}

/// The script that fills the repository; `$U` is its URL.
const SCRIPT: &str = r##"
svn() { command svn --non-interactive --no-auth-cache "$@"; }
svn mkdir -q -m start --username jrandom $U/trunk $U/branches
svn co -q $U wc; cd wc/trunk
echo hello > a.txt; printf 'a\0b\n' > bin.dat; mkdir -p sub/deep secret gone; echo one > 'sub/b file&é.txt'
echo p > 'sub/100%;x.txt'; echo '<html><script>alert(1)</script></html>' > page.html; : > empty; echo x > noext; echo j > x.json
printf '$Rev$ $URL$ $Id$ $Author:: x     $ $Date$\n' > kw.txt; echo s > secret/s.txt
svn add -q --force .
svn ps -q svn:mime-type application/octet-stream bin.dat; svn ps -q svn:mime-type text/html page.html
svn ps -q svn:keywords 'Rev URL Id Author' kw.txt; svn ps -q my:prop 'colon <&> value' a.txt
printf 'a\001b' > ../v; svn ps -q -F ../v binprop a.txt; printf 'line1\r\nline2\n\n' > ../v; svn ps -q -F ../v crprop a.txt
svn ps -q empty '' a.txt; svn ps -q svn:ignore '*.o
' .
svn ci -q -m 'r2 <add> & é' --username 'jo <x>&' ..
svn cp -q $U/trunk $U/branches/b1 -m branch --username alice; cd ..; svn up -q
echo change >> branches/b1/a.txt; svn ci -q -m r4 --username bob
echo more >> trunk/a.txt; svn ps -q color blue trunk/sub; svn ci -q -m r5 --username bob
svn mv -q trunk/noext trunk/moved; svn rm -q trunk/gone; svn ci -q -m r6 --username bob
svn up -q; echo again >> trunk/a.txt; svn ci -q -m r7 --username bob
svn ps -q --revprop -r 7 custom:x 'y z' $U; svn pd -q --revprop -r 4 svn:author $U
svn lock -q -m 'lock <c> & é' $U/trunk/a.txt --username alice; svn lock -q $U/trunk/bin.dat --username bob
"##;

/// Makes the repository and starts the servers.
fn both() -> ReadServers {
    let repo = Repo::create("1.14");
    let hook = repo.path().join("hooks/pre-revprop-change");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("because the repository is ours");
    Tool::new("chmod").arg("+x").arg(&hook).ok();
    let conf = "[general]\nanon-access = read\n";
    fs::write(repo.path().join("conf/svnserve.conf"), conf).expect("because the repository is ours");
    let script = format!("set -e\nU={}\n{SCRIPT}", repo.url());
    let dir = scratch();
    Tool::new("bash").args(["-c", &script]).dir(dir.path()).ok();
    let root = scratch();
    let copy = root.path().join("repo");
    repo.copy_to(&copy);
    let location = format!("SVNListParentPath on\n{READ_FREELY}");
    let start = |side| TestServer::http(side, root.path(), &location, &[]);
    ReadServers {
        theirs: start(Side::Theirs),
        ours: start(Side::Ours),
        _root: root,
    }
}

/// The header lines that clients use.
const HEADERS: &[&str] = &[
    "content-type",
    "etag",
    "cache-control",
    "last-modified",
    "location",
    "vary",
    "x-svn-vr-base",
    "accept-ranges",
    "x-svn-lock-owner",
    "x-svn-creation-date",
];

impl ReadServers {
    fn send_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> [HttpResponse; 2] {
        [&self.theirs, &self.ours].map(|server| send_request(server.port(), method, path, headers, body))
    }

    fn same(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let [theirs, ours] = self.send_request(method, path, headers, body).map(|response| {
            // The content type of an error page does not matter.
            let page = response.status >= 300
                && response
                    .headers
                    .get("content-type")
                    .is_some_and(|kind| kind[0].starts_with("text/html"));
            let headers: Vec<&str> = HEADERS
                .iter()
                .copied()
                .filter(|name| !(page && *name == "content-type"))
                .collect();
            response.shown(&headers)
        });
        assert_eq!(theirs, ours, "{method} {path} {headers:?} {body}");
    }

    /// Runs `scenario` through both servers and compares the transcripts.
    fn same_clients(&self, scenario: impl Fn(&mut ScenarioClient) + Sync) {
        let run = |server: &TestServer| {
            let mut client = ScenarioClient::new(server.port(), "repo");
            client.url = format!("http://127.0.0.1:{}/repo", server.port());
            scenario(&mut client);
            client.into_transcript()
        };
        let (theirs, ours) = thread::scope(|scope| {
            let theirs = scope.spawn(|| run(&self.theirs));
            let ours = run(&self.ours);
            (theirs.join().expect("because Apache serves it"), ours)
        });
        compare(&theirs, &ours);
    }
}

const NODES: &[&str] = &[
    "/",
    "/trunk",
    "/trunk/",
    "/trunk/a.txt",
    "/trunk/sub/",
    "/trunk/sub/b%20file&%C3%A9.txt",
    "/trunk/sub/100%25;x.txt",
    "/trunk/page.html",
    "/trunk/empty",
    "/branches/b1",
    "/branches/b1/a.txt",
    "/branches/b1/sub/deep",
    "/trunk/moved",
    "/trunk/gone",
    "/trunk/x.json",
    "/nope",
    "/trunk/x.json/below",
];

const SOME: &str = "<propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/><nope xmlns=\"foo:\"/>\
    <color xmlns=\"http://subversion.tigris.org/xmlns/custom/\"/>\
    <deadprop-count xmlns=\"http://subversion.tigris.org/xmlns/dav/\"/>\
    <C:my:prop xmlns:C=\"http://subversion.tigris.org/xmlns/custom/\"/><nons xmlns=\"\"/><checked-in/>\
    <creator-displayname/><version-name/><creationdate/><getetag/></prop></propfind>";
const NAMES: &str = "<propfind xmlns=\"DAV:\"><propname/></propfind>";

const LOG: &str = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>4</S:start-revision>\
    <S:end-revision>4</S:end-revision><S:path></S:path></S:log-report>";

#[test]
fn responses_equal_apaches() {
    let both = both();
    encodings_are_apaches(&both);
    propfind_says_what_apache_says(&both);
    get_sends_what_apache_sends(&both);
    conditions_and_deltas_are_apaches(&both);
    parts_of_files_are_sent(&both);
    nothing_in_a_repository_runs_in_a_browser(&both);
}

fn propfind_says_what_apache_says(both: &ReadServers) {
    let trees = ["", "/!svn/rvr/2", "/!svn/rvr/5", "/!svn/bc/7", "/!svn/rvr/99"];
    let nodes = trees
        .iter()
        .flat_map(|tree| NODES.iter().map(move |node| (tree, node)));
    let requests = [("0", ""), ("0", SOME), ("0", NAMES), ("1", SOME)];
    let all = nodes.flat_map(|node| requests.map(|request| (node, request)));
    for ((tree, node), (depth, body)) in sample(3, all) {
        // Apache adds header lines about the lock of the last entry.
        if depth == "1" && node.starts_with("/trunk") && node.len() <= 7 {
            continue;
        }
        // For a locked path Apache reports a node in revisions that do not have it.
        let path = format!("/repo{tree}{node}");
        both.same("PROPFIND", &path, &[("Depth", depth)], body);
    }
    for special in [
        "vcc/default",
        "me",
        "bln/4",
        "bln/7",
        "rev/7",
        "rev/99",
        "act/x",
        "wrk/x/y",
        "nothing",
    ] {
        for body in ["", SOME, NAMES] {
            both.same(
                "PROPFIND",
                &format!("/repo/!svn/{special}"),
                &[("Depth", "0")],
                body,
            );
        }
    }
    let baseline = "<propfind xmlns=\"DAV:\"><prop><baseline-collection/><version-name/></prop></propfind>";
    for label in ["4", "x", "99"] {
        let headers = [("Depth", "0"), ("Label", label)];
        both.same("PROPFIND", "/repo/!svn/vcc/default", &headers, baseline);
    }
    for depth in ["infinity", "2"] {
        both.same("PROPFIND", "/repo/trunk", &[("Depth", depth)], "");
    }
    both.same("PROPFIND", "/repo/trunk", &[], "");
    // What is wrong first when several things are.
    for body in ["<x", "<x/>", "<propfind xmlns=\"DAV:\"/>"] {
        both.same("PROPFIND", "/repo/trunk", &[("Depth", "0")], body);
        both.same("PROPFIND", "/repo/trunk", &[], body);
        both.same("PROPFIND", "/repo/nope", &[("Depth", "0")], body);
        both.same("PROPFIND", "/repo/nope", &[("Depth", "x")], body);
    }
}

fn get_sends_what_apache_sends(both: &ReadServers) {
    let trees = ["", "/!svn/rvr/2", "/!svn/bc/7", "/!svn/rvr/99"];
    let nodes = trees
        .iter()
        .flat_map(|tree| NODES.iter().map(move |node| (tree, node)));
    let methods: [(&str, &[(&str, &str)]); 2] = [("GET", &[]), ("HEAD", &[("User-Agent", "SVN/1.14.2")])];
    let all = nodes.flat_map(|node| methods.map(|method| (node, method)));
    for ((tree, node), (method, headers)) in sample(3, all) {
        both.same(method, &format!("/repo{tree}{node}"), headers, "");
    }
    for path in [
        "/repo",
        "/repo/!svn/me",
        "/repo/!svn/rev/3",
        "/repo/!svn/vcc/default",
        "/repo/!svn/ver/4/branches/b1/a.txt",
        "/nothing/x",
    ] {
        both.same("GET", path, &[], "");
    }
    queries_are_apaches(both);
    for query in ["kw=1", "p=5&kw=1", "kw=0"] {
        both.same("GET", &format!("/repo/trunk/kw.txt?{query}"), &[], "");
    }
}

fn queries_are_apaches(both: &ReadServers) {
    let nodes = [
        "/trunk/a.txt",
        "/trunk/moved",
        "/trunk/sub/",
        "/trunk/sub",
        "/!svn/rvr/7/trunk/a.txt",
    ];
    for (nth, node) in nodes.into_iter().enumerate() {
        let queries = [
            "p=4",
            "p=7&r=5",
            "r=5",
            "p=4&r=5",
            "p=zz",
            "p=99",
            "p=r5",
            "kw=1",
            "r=99",
            "p=",
            "p",
            "p=-1",
            "foo=1",
            "r=1",
            "p=7&r=4&kw=1",
            "p=4;r=1",
            "P=4",
            "p=+4",
            "p=4x",
            "p=4&p=7",
            "r=r+5",
            "p=-0",
            "p=99999999999999999999",
        ];
        // A sample has other queries for each node.
        for query in sample_from(nth, 3, queries) {
            let path = format!("/repo{node}?{query}");
            both.same("GET", &path, &[], "");
            // Apache knows nodes without properties in revision 0, and where there is no number.
            if !matches!(query, "p=" | "p=zz" | "p=-0") {
                both.same("PROPFIND", &path, &[("Depth", "0")], SOME);
                both.same("REPORT", &path, &[], LOG);
                let [theirs, ours] = both.send_request("OPTIONS", &path, &[], "");
                let allows_get = |response: &HttpResponse| {
                    let allow = response.headers.get("allow");
                    allow.map(|allow| allow.join(",").contains("GET"))
                };
                assert_eq!(
                    (theirs.status, allows_get(&theirs)),
                    (ours.status, allows_get(&ours)),
                    "{path}"
                );
            }
        }
    }
}

fn encodings_are_apaches(both: &ReadServers) {
    let resource_type = "<propfind xmlns=\"DAV:\"><prop><resourcetype/></prop></propfind>";
    for (nth, body) in [resource_type, LOG].into_iter().enumerate() {
        let method = if body == LOG { "REPORT" } else { "PROPFIND" };
        let names = [
            "",
            "utf-8",
            "US-ASCII",
            "iso-8859-1",
            "UTF-16",
            "utf-16le",
            "utf-16be",
            "utf8",
            "latin1",
            "x",
        ];
        for (nth_name, name) in names.into_iter().enumerate() {
            let declaration = match name {
                "" => String::new(),
                name => format!("<?xml version=\"1.0\" encoding=\"{name}\"?>"),
            };
            let text = format!("{declaration}{body}");
            let little: String = text.chars().flat_map(|c| [c, '\0']).collect();
            let big: String = text.chars().flat_map(|c| ['\0', c]).collect();
            let texts = [&text, &little, &big, &little[..little.len() - 1]];
            // A sample has other texts for each name.
            for text in sample_from(nth + nth_name, 3, texts) {
                both.same(method, "/repo/trunk/a.txt", &[("Depth", "0")], text);
            }
        }
    }
}

fn conditions_and_deltas_are_apaches(both: &ReadServers) {
    for (name, value) in [
        ("If-None-Match", "\"7//trunk/a.txt\""),
        ("If-None-Match", "W/\"7//trunk/a.txt\""),
        ("If-None-Match", "\"x\""),
        ("If-None-Match", "*"),
        ("If-Match", "\"x\""),
        ("If-Match", "\"7//trunk/a.txt\""),
        ("If-Modified-Since", "Sun, 22 Nov 2099 04:20:01 GMT"),
        ("If-Unmodified-Since", "Sun, 22 Nov 2020 04:20:01 GMT"),
    ] {
        both.same("GET", "/repo/trunk/a.txt", &[(name, value)], "");
        both.same(
            "GET",
            "/repo/!svn/rvr/7/trunk/sub/",
            &[("If-None-Match", value)],
            "",
        );
    }
    let quick = "gzip,svndiff2;q=0.9,svndiff1;q=0.8,svndiff;q=0.7";
    let far = "gzip,svndiff1;q=0.9,svndiff2;q=0.8,svndiff;q=0.7";
    for base in [
        "!svn/rvr/5/trunk/a.txt",
        "!svn/ver/5/trunk/a.txt",
        "!svn/ver/2/trunk/bin.dat",
        "!svn/bc/5/trunk/a.txt",
        "trunk/a.txt",
        "!svn/rvr/5/trunk",
        "!svn/rvr/5/nope",
        "!svn/rvr/99/trunk/a.txt",
    ] {
        let base = format!("/repo/{base}");
        for accepted in ["svndiff", quick, far] {
            let headers = [("X-SVN-VR-Base", base.as_str()), ("Accept-Encoding", accepted)];
            let [theirs, ours] = both.send_request("GET", "/repo/!svn/rvr/7/trunk/a.txt", &headers, "");
            assert_eq!(theirs.status, ours.status, "{headers:?}");
            assert_eq!(theirs.body.get(..4), ours.body.get(..4), "{headers:?}");
            if theirs.status == 200 {
                assert_eq!(theirs.body, ours.body, "{headers:?}");
            }
        }
    }
}

fn parts_of_files_are_sent(both: &ReadServers) {
    let port = both.ours.port();
    let part = |range: &str| {
        let response = send_request(port, "GET", "/repo/trunk/a.txt", &[("Range", range)], "");
        let shown = response
            .headers
            .get("content-range")
            .map(|range| range[0].clone());
        (
            response.status,
            shown,
            String::from_utf8_lossy(&response.body).into_owned(),
        )
    };
    assert_eq!(
        part("bytes=6-9"),
        (206, Some("bytes 6-9/17".into()), "more".into())
    );
    assert_eq!(
        part("bytes=-6"),
        (206, Some("bytes 11-16/17".into()), "again\n".into())
    );
    assert_eq!(part("bytes=0-1,3-4").0, 200);
    let (status, range, _) = part("bytes=17-");
    assert_eq!((status, range), (416, Some("bytes */17".into())));
    let other = [("Range", "bytes=0-1"), ("If-Range", "\"6//trunk/a.txt\"")];
    assert_eq!(
        send_request(port, "GET", "/repo/trunk/a.txt", &other, "").status,
        200
    );
}

fn nothing_in_a_repository_runs_in_a_browser(both: &ReadServers) {
    // A proxy may store the response for one client and send it to another.
    for client in ["Mozilla/5.0", "SVN/1.14.2"] {
        for target in ["/repo/trunk/page.html", "/repo/!svn/rvr/7/trunk/page.html"] {
            let headers = [("User-Agent", client)];
            let response = send_request(both.ours.port(), "GET", target, &headers, "");
            assert_eq!(response.headers["x-content-type-options"], ["nosniff"]);
            assert!(response.headers["content-security-policy"][0].starts_with("sandbox"));
        }
    }
}

#[test]
fn clients_read_equal_data() {
    both().same_clients(|client| {
        client.all(&[
            "ls URL",
            // Apache escapes unusual names of authors twice here.
            "ls -v URL/branches",
            "ls -R URL",
            "ls -R -r 3 URL/branches",
            "ls URL/nope",
            "cat URL/trunk/a.txt",
            "cat -r 2 URL/trunk/a.txt@7",
            "cat URL/trunk/empty",
            "cat URL/trunk/sub",
            "cat URL/trunk/nope",
            "cat -r 4 URL/trunk/moved",
            "info URL",
            "info URL/trunk/a.txt",
            "info URL/trunk/bin.dat",
            "info -r 3 URL/branches/b1/sub",
            "info URL/nope",
            "propget my:prop URL/trunk/a.txt",
            "propget crprop URL/trunk/a.txt",
            "proplist -v URL/trunk/a.txt",
            "proplist -v --revprop -r 7 URL",
            "propget --revprop -r 2 svn:log URL",
            "propget --revprop -r 7 custom:x URL",
            "export -q URL/trunk/a.txt",
            "export -q URL/trunk/sub",
            "proplist --show-inherited-props -v URL/trunk/sub/deep",
        ]);
        client.svn_by_paragraph(&["info", "--depth", "immediates", "URL/trunk/sub"]);
        client.svn(&["cat", "URL/trunk/sub/b file&é.txt"]);
        client.svn_sorted(&["proplist", "-R", "-v", "URL"]);
        client.svn_sorted(&["propget", "-R", "svn:ignore", "URL"]);
        client.note_tree("sub");
        let exported = fs::read(Path::new(client.dir()).join("a.txt")).unwrap_or_default();
        client.note(&String::from_utf8_lossy(&exported));
    });
}
