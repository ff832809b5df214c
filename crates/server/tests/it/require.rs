//! `require`: the condition for any access, also with cached responses and several users on one connection.

use server::config::{AccessRules, Provider};
use testkit::Tool;

use super::auth::basic;
use super::site::{TestSite, request, status_of};

fn site(change: impl FnOnce(&mut AccessRules)) -> TestSite {
    TestSite::new(|plan, folder| {
        let file = folder.join("users");
        for user in ["alice", "bob"] {
            let create = if file.exists() { "-bs" } else { "-bcs" };
            Tool::new("htpasswd")
                .arg(create)
                .arg(&file)
                .args([user, "pw"])
                .ok();
        }
        std::fs::write(folder.join("groups"), "dev: alice\n").expect("written");
        let mut access = AccessRules {
            providers: [Provider::Htpasswd(file)].into(),
            group_file: Some(folder.join("groups")),
            ..AccessRules::default()
        };
        change(&mut access);
        plan.access = Some(access);
    })
}

#[test]
fn cached_responses_are_not_sent_to_another_user() {
    let site = site(|access| access.require = Some("group dev".parse().expect("a condition")));
    let mut client = site.connect();
    let mut get = |user: Option<&str>| {
        let proof = user.map_or(String::new(), |user| basic(user, "pw"));
        client.send(request("GET", "/repo/trunk/a.txt", &proof));
        status_of(&client.answer().0)
    };
    for _ in 0..3 {
        for _ in 0..3 {
            assert_eq!(get(Some("alice")), 200);
        }
        assert_eq!(get(Some("bob")), 401);
        assert_eq!(get(None), 401);
    }
    // The list of repositories has the same condition.
    for (user, status) in [("alice", 200), ("bob", 401)] {
        assert_eq!(site.ask("GET", "/", &basic(user, "pw")).0, status, "{user}");
    }
    assert_eq!(site.ask("GET", "/", "").0, 401);
    std::fs::write(site.path("groups"), "dev: bob\n").expect("written");
    assert_eq!(site.ask("GET", "/repo/trunk/a.txt", &basic("alice", "pw")).0, 401);
    assert_eq!(site.ask("GET", "/repo/trunk/a.txt", &basic("bob", "pw")).0, 200);
    std::fs::remove_file(site.path("groups")).expect("it is there");
    assert_eq!(site.ask("GET", "/repo/trunk/a.txt", &basic("bob", "pw")).0, 500);
}

#[test]
fn require_write_does_not_grant_reading() {
    let site = site(|access| {
        access.require = Some("user alice".parse().expect("a condition"));
        access.require_write = Some("anyone".parse().expect("a condition"));
    });
    let mut client = site.connect();
    for _ in 0..3 {
        client.send(request("MKCOL", "/repo/trunk/x", ""));
        assert_eq!(
            status_of(&client.answer().0),
            409,
            "let in, and told that this is no way to write"
        );
        client.send(request("GET", "/repo/trunk/a.txt", ""));
        assert_eq!(status_of(&client.answer().0), 401);
    }
}

#[test]
fn conditions_on_addresses_and_logins_can_be_combined() {
    for (require, anonymous, statuses) in [
        ("ip 127.0.0.0/8", true, [200, 200]),
        ("ip 127.0.0.0/8", false, [401, 200]),
        ("ip 10.0.0.0/8", true, [403, 403]),
        ("valid-user and ip 127", true, [401, 200]),
        ("valid-user and ip 10", true, [403, 403]),
        ("nobody", true, [403, 403]),
    ] {
        let site = site(|access| {
            access.anonymous = anonymous;
            access.require = Some(require.parse().expect("a condition"));
        });
        let ask = |proof: &str| site.ask("GET", "/repo/trunk/a.txt", proof).0;
        assert_eq!(
            [ask(""), ask(&basic("bob", "pw"))],
            statuses,
            "{require} {anonymous}"
        );
    }
}
