//! Settings that change what a request needs, or its response.

use std::io::Read as _;

use flate2::read::GzDecoder;
use server::config::{AccessRules, Provider};
use testkit::Tool;

use super::auth::basic;
use super::site::{RawClient, TestSite, request, status_of};

/// A site whose password file has alice (`secret`) and whose rules let all users read.
fn open_to_readers(unproved: bool) -> TestSite {
    TestSite::new(|plan, folder| {
        let file = folder.join("htpasswd");
        Tool::new("htpasswd")
            .arg("-bcs")
            .arg(&file)
            .args(["alice", "secret"])
            .ok();
        plan.access = Some(AccessRules {
            providers: [Provider::Htpasswd(file)].into(),
            no_auth_when_anonymous: unproved,
            ..AccessRules::default()
        });
    })
}

#[test]
fn unneeded_logins_can_be_unchecked() {
    let wrong = basic("alice", "wrong");
    let usual = open_to_readers(false);
    assert_eq!(usual.ask("OPTIONS", "/repo", "").0, 200);
    assert_eq!(usual.ask("OPTIONS", "/repo", &wrong).0, 401);
    assert_eq!(usual.ask("OPTIONS", "/repo", &basic("alice", "secret")).0, 200);
    let lenient = open_to_readers(true);
    assert_eq!(lenient.ask("OPTIONS", "/repo", "").0, 200);
    assert_eq!(lenient.ask("OPTIONS", "/repo", &wrong).0, 200);
    // A request that anonymous users may not make needs the right password.
    assert_eq!(lenient.ask("MKCOL", "/repo/new", "").0, 401);
    assert_eq!(lenient.ask("MKCOL", "/repo/new", &wrong).0, 401);
    assert_ne!(
        lenient.ask("MKCOL", "/repo/new", &basic("alice", "secret")).0,
        401
    );
}

#[test]
fn a_location_may_name_the_realm_of_repositories_that_keep_their_own_users() {
    let challenge = |realm: Option<&str>| {
        let site = TestSite::new(|plan, folder| {
            let conf = folder.join("repos/repo/conf");
            let text = "[general]\nanon-access = none\npassword-db = passwd\nrealm = its own\n";
            std::fs::write(conf.join("svnserve.conf"), text).expect("written");
            plan.realm = realm.map(str::to_owned);
        });
        let (status, text) = site.ask("OPTIONS", "/repo", "");
        assert_eq!(status, 401);
        text
    };
    assert!(challenge(None).contains("Basic realm=\"its own\""));
    assert!(challenge(Some("ours")).contains("Basic realm=\"ours\""));
}

#[test]
fn long_responses_are_compressed_on_request() {
    let site = TestSite::new(|plan, _| plan.options.gzip = Some(5));
    std::fs::write(site.path("long"), "The same line again and again.\n".repeat(400)).expect("written");
    Tool::new("svn")
        .args(["import", "-q", "-m", "m"])
        .arg(site.path("long"))
        .arg(format!(
            "file://{}/trunk/long.txt",
            site.path("repos/repo").display()
        ))
        .ok();
    let get = |path: &str, more: &str| {
        let mut client = RawClient::to(site.plain);
        client.send(request("GET", path, &format!("Connection: close\r\n{more}")));
        let mut all = Vec::new();
        client.socket.read_to_end(&mut all).expect("an answer");
        let end = all
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        (head, all.split_off(end + 4))
    };
    let (plain, whole) = get("/repo/trunk/long.txt", "");
    assert!(
        !plain.contains("content-encoding") && plain.contains("content-length: 12400"),
        "{plain}"
    );
    let (head, body) = get("/repo/trunk/long.txt", "Accept-Encoding: gzip\r\n");
    assert!(
        head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"),
        "{head}"
    );
    assert!(head.contains("-gzip\"") && !plain.contains("-gzip\""), "{head}");
    let body = if head.contains("chunked") {
        unchunked(&body)
    } else {
        body
    };
    assert!(body.len() < whole.len() / 10);
    let mut text = Vec::new();
    GzDecoder::new(&body[..])
        .read_to_end(&mut text)
        .expect("a whole stream");
    assert_eq!(text, whole);
    let refused = get("/repo/trunk/long.txt", "Accept-Encoding: gzip;q=0\r\n");
    assert_eq!(refused.1, whole);
    // Short responses are not compressed, and no response is where compression is off.
    assert!(
        !get("/repo/trunk/a.txt", "Accept-Encoding: gzip\r\n")
            .0
            .contains("content-encoding")
    );
    let off = TestSite::plain();
    let (_, text) = off.ask("GET", "/repo/trunk/", "Accept-Encoding: gzip\r\n");
    assert!(!text.to_lowercase().contains("content-encoding"), "{text}");
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok();
        let size = size
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .unwrap_or(0);
        if size == 0 {
            break;
        }
        out.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    out
}

#[test]
fn copies_between_repositories_are_refused() {
    let site = TestSite::new(|plan, folder| {
        let conf = folder.join("repos/repo/conf/svnserve.conf");
        std::fs::write(conf, "[general]\nanon-access = write\n").expect("written");
        plan.autoversioning = true;
    });
    for destination in [
        "http://test/other/new",
        "http://test/repository/new",
        "/repo/../../new",
        "relative",
        "ftp://test/repo/new",
        "http://test/repo/%zz",
        "http://test/repo/!svn/bad",
        "",
    ] {
        for method in ["COPY", "MOVE"] {
            let (status, text) = site.ask(
                method,
                "/repo/trunk/a.txt",
                &format!("Destination: {destination}\r\n"),
            );
            assert!(
                [400, 404, 502].contains(&status),
                "{method} {destination}: {text}"
            );
        }
    }
    let (status, text) = site.ask(
        "COPY",
        "/repo/trunk/a.txt",
        "Destination: http://test/repo/trunk/new.txt\r\n",
    );
    assert_eq!(status, 201, "{text}");
    assert_eq!(status_of(&site.ask("GET", "/repo/trunk/new.txt", "").1), 200);
    // Behind a proxy the server does not know its public host name.
    let outside = "Destination: https://outside.example:8443/repo/trunk/newer.txt\r\n";
    assert_eq!(site.ask("COPY", "/repo/trunk/a.txt", outside).0, 201);
    assert_eq!(site.ask("GET", "/repo/trunk/newer.txt", "").0, 200);
}
