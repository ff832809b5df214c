//! Pages for browsers: their content, access rights, and that no data of a repository becomes markup.

use std::fs;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::{Repo, Side, Tool, scratch};

use super::raw_http::{HttpResponse, send_request};

/// Names, texts, messages and properties with scripts.
const SCRIPT: &str = r##"
svn() { command svn --non-interactive --no-auth-cache "$@"; }
svn mkdir -q -m 'Begin <script>alert(1)</script>' --username 'ev<b>il' $U/trunk $U/secret
svn co -q $U wc; cd wc/trunk
printf 'fn main() {}\n// <script>alert(2)</script>\n' > main.rs
printf '<script>alert(3)</script>\n' > page.html
printf 'one\ntwo\nthree\n' > lines.txt
printf 'a\0b' > data.bin; mkdir '<img src=x onerror=alert(4)>'; echo x > '<img src=x onerror=alert(4)>/q"uote&.txt'
echo s > ../secret/hidden.txt; svn add -q --force . ../secret
svn ps -q '<b>' '<script>alert(5)</script>' lines.txt 2> /dev/null || svn ps -q note '<script>alert(5)</script>' lines.txt
svn ps -q svn:mime-type text/html page.html
svn ci -q -m r2 --username alice ..
printf 'one\n2 <script>\nthree\n' > lines.txt; svn ci -q -m 'Second <i>' --username bob
svn up -q; svn mv -q lines.txt moved.txt; printf 'one\n2 <script>\nthree\nfour\n' > moved.txt; svn ci -q -m moved --username carol
"##;

struct BrowsedSite {
    server: TestServer,
    _root: TempDir,
}

impl BrowsedSite {
    fn new() -> BrowsedSite {
        let repo = Repo::create("1.14");
        let script = format!("set -e\nU={}\n{SCRIPT}", repo.url());
        let dir = scratch();
        Tool::new("bash").args(["-c", &script]).dir(dir.path()).ok();
        let conf = repo.path().join("conf");
        let rules = "[/]\n* = r\n[/secret]\n* =\n";
        fs::write(conf.join("authz"), rules).expect("because the repository is ours");
        let settings = "[general]\nanon-access = read\nauthz-db = authz\n";
        fs::write(conf.join("svnserve.conf"), settings).expect("because the repository is ours");
        let root = scratch();
        let copy = root.path().join("repo");
        repo.copy_to(&copy);
        BrowsedSite {
            server: TestServer::http(Side::Ours, root.path(), "", &[]),
            _root: root,
        }
    }
    fn browse(&self, path: &str) -> HttpResponse {
        let headers = [("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")];
        send_request(self.server.port(), "GET", &format!("/repo{path}"), &headers, "")
    }

    fn page(&self, path: &str) -> String {
        let response = self.browse(path);
        let text = String::from_utf8(response.body).expect("because pages are UTF-8");
        assert_eq!(response.status, 200, "{path}: {text}");
        let kind = response.headers.get("content-type").map(|all| all[0].as_str());
        assert_eq!(kind, Some("text/html; charset=utf-8"), "{path}");
        let policy = response
            .headers
            .get("content-security-policy")
            .map(|all| all.join(" "));
        let policy = policy.unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        for markup in ["<script", "<img src=x", "<i>", "<b>", "onerror=\"", "javascript:"] {
            assert!(!text.contains(markup), "{path} has {markup}");
        }
        text
    }
}

#[test]
fn pages_show_content_and_contain_no_scripts() {
    let site = BrowsedSite::new();
    let listing = site.page("/trunk/");
    assert!(
        listing.contains("main.rs") && listing.contains("view=file"),
        "{listing}"
    );
    assert!(site.page("/trunk/main.rs?view=file").contains("alert(2)"));
    assert!(site.page("/trunk/data.bin?view=file").contains("A binary file."));
    assert!(site.page("/trunk/lines.txt?view=file&p=2").contains("alert(5)"));
    let deep = "/trunk/%3Cimg%20src=x%20onerror=alert(4)%3E/";
    assert!(site.page(deep).contains("q&#34;uote&#38;.txt"));
    let log = site.page("/?view=log");
    assert!(
        log.contains("<strong>r4</strong>") && log.contains("Second &#60;i&#62;"),
        "{log}"
    );
    let blame = site.page("/trunk/moved.txt?view=blame");
    for label in ["2 alice", "3   bob", "4 carol"] {
        assert!(blame.contains(label), "{label}: {blame}");
    }
    let revision = site.page("/?view=revision&p=3");
    assert!(
        revision.contains("-two") && revision.contains("+2 &#60;script&#62;"),
        "{revision}"
    );
    let copied = site.page("/?view=revision&p=4");
    assert!(
        copied.contains("from /trunk/lines.txt@") && copied.contains("+four"),
        "{copied}"
    );
    assert!(
        !copied.contains("+three"),
        "a copy is compared with its source: {copied}"
    );
}

#[test]
fn pages_hide_unreadable_paths() {
    let site = BrowsedSite::new();
    assert!(!site.page("/").contains("secret"));
    assert!(!site.page("/?view=revision&p=2").contains("hidden.txt"));
    assert!(!site.page("/?view=log").contains("secret"));
    for path in ["/secret/", "/secret/hidden.txt?view=file", "/secret/?view=log"] {
        assert_eq!(site.browse(path).status, 403, "{path}");
    }
}

#[test]
fn files_are_sent_unchanged_and_old_revisions_are_found() {
    let site = BrowsedSite::new();
    let port = site.server.port();
    let raw = site.browse("/trunk/main.rs");
    assert_eq!(raw.body, b"fn main() {}\n// <script>alert(2)</script>\n");
    let html = site.browse("/trunk/page.html");
    assert_eq!(html.body, b"<script>alert(3)</script>\n");
    let policy = html
        .headers
        .get("content-security-policy")
        .map(|all| all.join(" "));
    assert!(
        policy.is_some_and(|policy| policy.contains("sandbox")),
        "a page out of a repository runs nothing"
    );
    let kept = site.browse("/trunk/page.html?view=download");
    assert!(kept.headers["content-disposition"][0].starts_with("attachment"));
    let found = site.browse("/trunk/moved.txt?view=file&p=4&r=2");
    assert_eq!(found.status, 302);
    assert_eq!(found.headers["location"], ["/repo/trunk/lines.txt?view=file&p=2"]);
    // Subversion's clients and scripts get the plain responses.
    let plain = send_request(port, "GET", "/repo/trunk/", &[], "");
    assert!(String::from_utf8_lossy(&plain.body).contains("<li><a href=\"main.rs\">main.rs</a></li>"));
    for (path, status) in [("/nope/", 404), ("/?p=99", 404), ("/trunk/?view=log&p=99", 404)] {
        assert_eq!(site.browse(path).status, status, "{path}");
    }
}
