//! Inline responses must be the same as those of a worker thread, and changed rules must take effect.

use std::io::Write as _;
use std::time::Duration;

use super::site::{RawClient, TestSite, request, status_of};
use testkit::history::noise;
use testkit::{Repo, Tool};

/// Sizes of files around the limits from which texts are sent in pieces, or not inline.
const LENGTHS: [usize; 6] = [0, 1, 102_400, 102_401, 256 << 10, (256 << 10) + 1];

fn fill(site: &TestSite) {
    let tree = site.path("sizes");
    std::fs::create_dir_all(&tree).expect("a new folder");
    for length in LENGTHS {
        std::fs::write(tree.join(length.to_string()), noise(7, length)).expect("written");
    }
    let into = Repo::at(&site.path("repos/repo")).url();
    Tool::new("svn")
        .args(["import", "-q", "-m", "sizes"])
        .arg(&tree)
        .arg(format!("{into}/sizes"))
        .ok();
}

fn get(length: usize) -> String {
    request("GET", &format!("/repo/sizes/{length}"), "")
}

/// The first request caches the texts, the second is answered from the cache, and then all are requested pipelined.
#[test]
fn texts_are_the_same_uncached_cached_and_pipelined() {
    let site = TestSite::plain();
    fill(&site);
    let mut client = site.connect();
    let check = |client: &mut RawClient, length: usize| {
        let (head, body) = client.answer();
        assert!(head.starts_with("http/1.1 200"), "{length}: {head}");
        assert!(body == noise(7, length), "{length}: {head}");
    };
    for _ in 0..3 {
        for length in LENGTHS {
            client.send(get(length));
            check(&mut client, length);
        }
    }
    let all: String = LENGTHS.iter().map(|length| get(*length)).collect();
    client.send(all.repeat(4));
    for length in LENGTHS.repeat(4) {
        check(&mut client, length);
    }
}

/// A body that arrives at once, one that arrives soon, one that arrives late, and one that never arrives completely.
#[test]
fn bodies_of_reading_requests_may_be_late_but_not_incomplete() {
    let site = TestSite::plain();
    let body = "<propfind xmlns=\"DAV:\"><prop><resourcetype/></prop></propfind>";
    let head = request(
        "PROPFIND",
        "/repo/trunk/",
        &format!("Depth: 0\r\nContent-Length: {}\r\n", body.len()),
    );
    for pause in [0, 5, 100] {
        let mut client = site.connect();
        let (first, second) = body.split_at(9);
        client.send(format!("{head}{first}"));
        std::thread::sleep(Duration::from_millis(pause));
        client.send(second);
        let (answered, _) = client.answer();
        assert!(answered.starts_with("http/1.1 207"), "{pause}: {answered}");
    }
    let mut client = site.connect();
    client.send(&head.as_bytes()[..head.len()]);
    client.send(&body.as_bytes()[..20]);
    client
        .socket
        .shutdown(std::net::Shutdown::Write)
        .expect("a socket");
    assert_ne!(status_of(&client.rest()), 207, "half of a question is none");
}

/// On an open connection: rules and revisions that were changed a moment ago, and paths that lead out of the
/// repository of the previous request.
#[test]
fn an_open_connection_sees_changes() {
    let site = TestSite::new(|plan, folder| {
        std::fs::write(folder.join("authz"), "[/]\n* = r\n").expect("written");
        plan.access = Some(server::config::AccessRules {
            authz: Some(repos::config::AuthzFiles {
                authz: repos::authz::Source::File(folder.join("authz")),
                groups: None,
            }),
            ..server::config::AccessRules::default()
        });
    });
    let mut client = site.connect();
    let mut ask = |target: &str| {
        client.send(request("GET", target, ""));
        client.answer().0
    };
    assert!(ask("/repo/trunk/a.txt").contains(" 200 "));
    assert!(ask("/repo/trunk/a.txt").contains(" 200 "));
    assert!(ask("/repo/trunk/../../repo/trunk/a.txt").contains(" 200 "));
    assert!(ask("/repo/../../etc/passwd").contains(" 404 "));
    assert!(ask("/repo/../nothing/trunk/a.txt").contains(" 404 "));
    assert!(ask("/repository/trunk/a.txt").contains(" 404 "));
    assert!(ask("/repo/sizes/1").contains(" 404 "));
    fill(&site);
    assert!(ask("/repo/sizes/1").contains(" 200 "));
    let mut rules = std::fs::File::create(site.path("authz")).expect("written");
    rules.write_all(b"[/]\n* = r\n[/trunk]\n* =\n").expect("written");
    drop(rules);
    std::thread::sleep(Duration::from_millis(20));
    let refused = ask("/repo/trunk/a.txt");
    assert!(
        refused.contains(" 403 ") || refused.contains(" 401 "),
        "{refused}"
    );
    assert!(ask("/repo/sizes/1").contains(" 200 "));
}
