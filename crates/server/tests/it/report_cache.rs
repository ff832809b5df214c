//! The report of a checkout is cached for the next one: it must be the same as a new one.

use server::config::AccessRules;
use testkit::Tool;

use super::site::{TestSite, request};

/// Returns a report without texts on the whole tree, for a client that has nothing.
fn report(rev: u64, entry: &str) -> String {
    let body = format!(
        "<S:update-report xmlns:S=\"svn:\"><S:include-props>yes</S:include-props><S:src-path>/repo</S:src-path>\
         <S:target-revision>{rev}</S:target-revision><S:depth>unknown</S:depth>\
         <S:entry rev=\"{rev}\" {entry}></S:entry></S:update-report>"
    );
    let length = format!("Content-Length: {}\r\nConnection: close\r\n", body.len());
    request("REPORT", "/repo/!svn/me", &length) + &body
}

const NOTHING: &str = "depth=\"infinity\" start-empty=\"true\"";

fn ask(site: &TestSite, rev: u64, entry: &str) -> String {
    let response = site.exchange(report(rev, entry));
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{response}");
    assert!(
        response.trim_end().ends_with("</S:update-report>") || response.ends_with("0\r\n\r\n"),
        "{response}"
    );
    // A response that is not cached may be sent in chunks.
    let lines = body.lines().filter(|line| line.starts_with('<'));
    lines.collect::<Vec<_>>().join("\n")
}

fn commit(site: &TestSite, name: &str) {
    Tool::new("svnmucc")
        .args(["-m", "another", "-U"])
        .arg(format!("file://{}", site.path("repos/repo").display()))
        .args(["put", "/dev/null", name])
        .ok();
}

fn set(site: &TestSite, rev: u64, name: &str, value: &str) {
    let file = site.path("value");
    std::fs::write(&file, value).expect("written");
    Tool::new("svnadmin")
        .args(["setrevprop", "-r", &rev.to_string()])
        .arg(site.path("repos/repo"))
        .arg(name)
        .arg(&file)
        .ok();
}

#[test]
fn a_second_report_is_the_same_and_has_later_changes() {
    let site = TestSite::plain();
    let first = ask(&site, 1, NOTHING);
    assert!(
        first.contains("<S:add-file name=\"a.txt\"") && first.contains("<S:add-file name=\"b.txt\""),
        "{first}"
    );
    for _ in 0..2 {
        assert_eq!(ask(&site, 1, NOTHING), first);
    }
    set(&site, 1, "svn:author", "somebody else");
    let renamed = ask(&site, 1, NOTHING);
    assert!(
        renamed.contains("somebody else") && !first.contains("somebody else"),
        "{renamed}"
    );
    assert_eq!(ask(&site, 1, NOTHING), renamed);
    set(&site, 1, "svn:date", "2001-02-03T04:05:06.000000Z");
    let dated = ask(&site, 1, NOTHING);
    assert!(dated.contains("2001-02-03T04:05:06"), "{dated}");
    assert_eq!(ask(&site, 1, NOTHING), dated);
    // Another request gets another response.
    commit(&site, "trunk/c.txt");
    assert_eq!(ask(&site, 1, NOTHING), dated);
    let second = ask(&site, 2, NOTHING);
    assert!(second.contains("c.txt") && !dated.contains("c.txt"), "{second}");
    let shallow = ask(&site, 2, "depth=\"empty\" start-empty=\"true\"");
    assert!(!shallow.contains("trunk"), "{shallow}");
    assert!(!ask(&site, 2, "depth=\"infinity\"").contains("add-directory"));
    assert_eq!(ask(&site, 2, NOTHING), second);
}

/// If no property has changed for a while, only the times of the directories are checked. They show every change
/// except a write into the existing file, which is noticed within a second.
#[test]
fn changes_of_old_revision_properties_are_seen() {
    let site = TestSite::plain();
    let dir = site.path("repos/repo/db/revprops/0");
    let rest = || {
        let hour = std::time::Duration::from_secs(3600);
        let dir = std::fs::File::open(&dir).expect("a directory");
        dir.set_modified(std::time::SystemTime::now() - hour)
            .expect("ours");
    };
    for round in 0..5 {
        rest();
        for _ in 0..3 {
            ask(&site, 1, NOTHING);
        }
        let name = format!("author {round}");
        set(&site, 1, "svn:author", &name);
        let renamed = ask(&site, 1, NOTHING);
        assert!(renamed.contains(&name), "{renamed}");
    }
    rest();
    for _ in 0..3 {
        assert!(ask(&site, 1, NOTHING).contains("author 4"));
    }
    let file = dir.join("1");
    let list = std::fs::read_to_string(&file).expect("a list");
    std::fs::write(&file, list.replace("author 4", "writer 4")).expect("written");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(ask(&site, 1, NOTHING).contains("writer 4"));
}

/// A user who may not read everything gets no cached report of a user who may.
#[test]
fn only_users_who_may_read_all_get_a_cached_report() {
    let rules = |folder: &std::path::Path, text: &str| {
        std::fs::write(folder.join("authz"), text).expect("written");
    };
    let site = TestSite::new(|plan, folder| {
        rules(folder, "[/]\n* = r\n");
        plan.access = Some(AccessRules {
            authz: Some(repos::config::AuthzFiles {
                authz: repos::authz::Source::File(folder.join("authz")),
                groups: None,
            }),
            ..AccessRules::default()
        });
    });
    for _ in 0..2 {
        assert!(ask(&site, 1, NOTHING).contains("b.txt"));
    }
    rules(site.folder.path(), "[/]\n* = r\n[/trunk/private]\n* =\n");
    for _ in 0..2 {
        let narrow = ask(&site, 1, NOTHING);
        assert!(narrow.contains("a.txt") && !narrow.contains("b.txt"), "{narrow}");
    }
    rules(site.folder.path(), "[/]\n* = r\n");
    assert!(ask(&site, 1, NOTHING).contains("b.txt"));
}
