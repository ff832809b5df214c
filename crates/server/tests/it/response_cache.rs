//! Cached responses: they are sent again unchanged, and only to users who may read them.

use std::time::Duration;

use repos::authz::Source;
use repos::config::AuthzFiles;
use server::config::{AccessRules, Provider};
use testkit::{Repo, Tool};

use super::auth::basic;
use super::site::{RawClient, TestSite, request};

/// Sizes of texts that are copied into the response, sent from the cache, and too long to be cached.
const LENGTHS: [usize; 5] = [0, 11, 3000, 120_000, 300_000];

fn text(length: usize) -> Vec<u8> {
    testkit::history::noise(3, length)
}

/// The path of a file in revision 2, with its revision.
fn get(length: usize) -> String {
    request("GET", &format!("/repo/!svn/ver/2/texts/{length}"), "")
}

fn fill(site: &TestSite) {
    let tree = site.path("texts");
    std::fs::create_dir_all(&tree).expect("a new folder");
    for length in LENGTHS {
        std::fs::write(tree.join(length.to_string()), text(length)).expect("written");
    }
    let into = Repo::at(&site.path("repos/repo")).url();
    let import = Tool::new("svn").args(["import", "-q", "-m", "texts"]);
    import.arg(&tree).arg(format!("{into}/texts")).ok();
}

/// The lines of a head, except for those that differ each time.
fn stable_lines(head: &str) -> Vec<&str> {
    let new = |line: &&str| !line.starts_with("x-request-id: ") && !line.starts_with("date: ");
    let mut lines: Vec<&str> = head.lines().filter(new).collect();
    lines.sort_unstable();
    lines
}

/// Requests are sent alone, pipelined, between requests of other kinds, and split at any byte.
#[test]
fn a_cached_response_is_sent_in_order() {
    let site = TestSite::plain();
    fill(&site);
    let mut client = site.connect();
    let mut heads: Vec<String> = Vec::new();
    for round in 0..4 {
        for (at, length) in LENGTHS.into_iter().enumerate() {
            client.send(get(length));
            let (head, body) = client.answer();
            assert!(head.starts_with("http/1.1 200") && body == text(length), "{head}");
            assert!(head.contains("\r\ndate: "), "{head}");
            match round {
                0 => heads.push(head),
                _ => assert_eq!(stable_lines(&head), stable_lines(&heads[at])),
            }
        }
    }
    let question = "<propfind xmlns=\"DAV:\"><prop><resourcetype/></prop></propfind>";
    let length = format!("Depth: 0\r\nContent-Length: {}\r\n", question.len());
    let propfind = request("PROPFIND", "/repo/trunk/", &length) + question;
    let others = [
        (propfind, " 207 "),
        (request("GET", "/repo/trunk/a.txt", ""), " 200 "),
        (request("GET", "/repo/!svn/ver/2/nothing", ""), " 404 "),
        (
            request("GET", "/repo/!svn/ver/2/texts/11", "Range: bytes=2-4\r\n"),
            " 206 ",
        ),
        (
            request(
                "GET",
                "/repo/!svn/ver/2/texts/11",
                "If-None-Match: \"2//texts/11\"\r\n",
            ),
            " 304 ",
        ),
    ];
    let mut all = String::new();
    let mut wanted = Vec::new();
    for (at, length) in LENGTHS.iter().cycle().take(60).enumerate() {
        all.push_str(&get(*length));
        wanted.push((" 200 ", Some(*length)));
        if at % 3 == 2 {
            let (other, status) = &others[at / 3 % others.len()];
            all.push_str(other);
            wanted.push((status, None));
        }
    }
    for step in [all.len(), 4096, 1000, 333, 17] {
        let mut sending = RawClient {
            socket: client.socket.try_clone().expect("a socket"),
        };
        let all = all.clone();
        let sender =
            std::thread::spawn(move || all.as_bytes().chunks(step).for_each(|part| sending.send(part)));
        for (status, length) in &wanted {
            let (head, body) = client.answer();
            assert!(head.contains(status), "by {step}: {head}");
            if let Some(length) = length {
                assert!(body == text(*length), "by {step}: {head}");
            }
        }
        sender.join().expect("all was sent");
    }
}

/// Users differ, rules differ and change, and the repository is replaced by another one.
#[test]
fn users_without_the_right_to_read_get_no_cached_response() {
    let site = TestSite::new(|plan, folder| {
        std::fs::write(folder.join("users"), "[users]\nalice = a\nbob = b\n").expect("written");
        std::fs::write(folder.join("authz"), "[/]\nalice = r\n[/trunk]\n* = r\n").expect("written");
        plan.access = Some(AccessRules {
            providers: [Provider::Passwd(folder.join("users"))].into(),
            authz: Some(AuthzFiles {
                authz: Source::File(folder.join("authz")),
                groups: None,
            }),
            anonymous: true,
            ..AccessRules::default()
        });
    });
    fill(&site);
    let mut client = site.connect();
    let mut ask = |who: &str, path: &str| {
        client.send(request("GET", &format!("/repo/!svn/ver/{path}"), who));
        client.answer().0.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let (alice, bob, wrong) = (basic("alice", "a"), basic("bob", "b"), basic("alice", "b"));
    for _ in 0..5 {
        for _ in 0..3 {
            assert_eq!(ask(&alice, "2/texts/11"), "200");
            assert_eq!(ask("", "1/trunk/a.txt"), "200");
        }
        assert_eq!(ask(&bob, "2/texts/11"), "403");
        assert_eq!(ask("", "2/texts/11"), "401");
        assert_eq!(ask(&wrong, "2/texts/11"), "401");
        assert_eq!(ask(&bob, "1/trunk/a.txt"), "200");
        let twice = format!("{bob}{alice}");
        assert_eq!(ask(&twice, "2/texts/11"), "403");
    }
    std::fs::write(site.path("authz"), "[/]\nbob = r\n").expect("written");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(ask(&alice, "2/texts/11"), "403");
    for _ in 0..3 {
        assert_eq!(ask(&bob, "2/texts/11"), "200");
    }
    let there = site.path("repos/repo");
    std::fs::remove_dir_all(&there).expect("removed");
    Tool::new("svnadmin").arg("create").arg(&there).ok();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(ask(&bob, "2/texts/11"), "404");
}

/// A path without a revision has the same text until the next commit, and the same date until that is changed.
#[test]
fn a_path_without_a_revision_is_the_youngest_one() {
    let site = TestSite::plain();
    fill(&site);
    let repository = Repo::at(&site.path("repos/repo"));
    let mut client = site.connect();
    let mut ask = |query: &str| {
        let mut answers = Vec::new();
        for _ in 0..4 {
            client.send(request("GET", &format!("/repo/texts/11{query}"), ""));
            let (head, body) = client.answer();
            let modified = head.lines().find(|line| line.starts_with("last-modified: "));
            answers.push((modified.map(str::to_owned), body));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    };
    for round in 0..5 {
        let new = format!("text of round {round}");
        let file = site.path("new");
        std::fs::write(&file, &new).expect("written");
        let put = Tool::new("svnmucc")
            .args(["-m", "new", "-U"])
            .arg(repository.url());
        put.arg("put").arg(&file).arg("texts/11").ok();
        let (first, body) = ask("");
        assert_eq!(body, new.as_bytes());
        assert!(first.is_some());
        let pegged = format!("?p={}", 3 + 2 * round);
        assert_eq!(ask(&pegged), (first.clone(), body));
        // A commit to another file does not change the response.
        let put = Tool::new("svnmucc")
            .args(["-m", "new", "-U"])
            .arg(repository.url());
        put.arg("put").arg(&file).arg(format!("texts/other{round}")).ok();
        assert_eq!(ask("").0, first);
        let date = format!("20{:02}-02-03T04:05:06.000000Z", 10 + round);
        std::fs::write(&file, date).expect("written");
        let revision = (3 + 2 * round).to_string();
        let set = Tool::new("svnadmin").args(["setrevprop", "-r", &revision]);
        set.arg(site.path("repos/repo")).arg("svn:date").arg(&file).ok();
        let (later, body) = ask("");
        assert_eq!(body, new.as_bytes());
        assert!(later.is_some_and(|date| date.contains(&format!("feb 20{:02} 04:05:06", 10 + round))));
    }
}

/// Each request is logged with its own user name.
#[test]
fn cached_responses_are_logged() {
    let site = TestSite::plain();
    fill(&site);
    let path = site.path("access.log");
    let log = server::AccessLog::open(&path).expect("a log");
    site.service.set_access_log(Some(log));
    let mut client = site.connect();
    let target = "/repo/!svn/ver/2/texts/3000";
    let asked = request("GET", target, "User-Agent: a test\r\n");
    for _ in 0..3 {
        client.send(asked.repeat(20));
        for _ in 0..20 {
            client.answer();
        }
    }
    let mut names = std::collections::HashSet::new();
    let lines = || std::fs::read_to_string(&path).unwrap_or_default();
    for _ in 0..200 {
        if lines().lines().count() == 60 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for line in lines().lines() {
        let middle = format!("] \"GET {target} HTTP/1.1\" 200 3000 \"-\" \"a test\" ");
        let (start, end) = line.split_once(&middle).expect("the same request");
        assert!(start.starts_with("127.0.0.1 - - ["), "{line}");
        names.insert(end.split(' ').nth(1).expect("a name").to_owned());
    }
    assert_eq!(names.len(), 60);
}
