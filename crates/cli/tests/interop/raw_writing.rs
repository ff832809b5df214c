//! Raw svn:// locks of logged-in users, and the order of log lines.

use std::sync::Arc;
use std::time::Duration;

use testkit::normalize::{mask_dates, mask_uuids};
use testkit::probe::{Probe, ProbeItem, flag, list, optional, text, word};
use testkit::server::TestServer;
use testkit::{Side, Tool, greek, scratch};

use crate::serve::without_place;
use crate::twins::sort_paths;

/// Returns the responses and the log of one side.
fn conversation(side: Side) -> (String, Vec<String>) {
    let root = scratch();
    let repo = root.path().join("repo");
    testkit::create_repository(&repo);
    let tree = scratch();
    greek::write(tree.path());
    let import = Tool::new("svn").args(["import", "-q", "-m", "The Greek tree"]);
    import
        .arg(tree.path())
        .arg(format!("file://{}", repo.display()))
        .ok();
    let write = |name: &str, text: &str| {
        std::fs::write(repo.join("conf").join(name), text).expect("because it was just made");
    };
    write("svnserve.conf", crate::twins::CONF);
    write("passwd", "[users]\nalice = secret\nbob = pw\n");
    let log = root.path().join("log").display().to_string();
    let threads = if side == Side::Theirs { &["-T"][..] } else { &[] };
    let args = [&["--log-file", &log], threads].concat();
    let server = Arc::new(TestServer::svnserve(side, root.path(), &args));
    let login = |name, password| {
        let url = server.url("repo");
        Probe::connect_as(Arc::clone(&server), url, Some((name, password)))
    };
    let mut received = String::new();
    run_sessions(login("alice", "secret"), login("bob", "pw"), &mut received);
    // A line may be written after the response.
    let read = || std::fs::read_to_string(&log).expect("because it logs");
    let mut logged = read();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(150));
        let before = std::mem::replace(&mut logged, read());
        if before == logged {
            break;
        }
    }
    let port = format!(":{}", server.port());
    let normalized = |line: &str| {
        let line = without_place(line).replace(&port, ":PORT");
        mask_dates(&mask_uuids(&line)).replace(&repo.display().to_string(), "REPO")
    };
    let lines = logged.lines().map(normalized);
    // Lines about closed connections have no defined order. Some connections only tested whether the server is up.
    let lines = lines.filter(|line| {
        [" 210002 ", " ERR 104 ", " - - ERR "]
            .iter()
            .all(|gone| !line.contains(gone))
    });
    let received = mask_dates(&mask_uuids(&received)).replace(&port, ":PORT");
    (
        received.replace(&repo.display().to_string(), "REPO"),
        lines.collect(),
    )
}

/// Returns the token of a lock.
fn token(response: &ProbeItem) -> ProbeItem {
    fn find(item: &ProbeItem) -> Option<ProbeItem> {
        match item {
            ProbeItem::Text(bytes) if bytes.starts_with(b"opaquelocktoken:") => Some(item.clone()),
            item => item.items().iter().find_map(find),
        }
    }
    find(response).unwrap_or_else(|| text("opaquelocktoken:none"))
}

fn run_sessions(mut alice: Probe, mut bob: Probe, received: &mut String) {
    let mut record =
        |what: &str, response: &dyn std::fmt::Debug| received.push_str(&format!("{what}: {response:?}\n"));
    let comment = || optional(Some(text("why <not>")));
    let none = || list([]);
    let lock = |path: &str, force: bool| vec![text(path), comment(), flag(force), none()];
    let many = |paths: &[&str], force: bool| {
        let targets = paths.iter().map(|path| list([text(path), none()]));
        vec![comment(), flag(force), list(targets)]
    };

    let taken = alice.request("lock", lock("iota", false));
    record("lock", &taken);
    record("again", &alice.request("lock", lock("iota", false)));
    record("by another", &bob.request("lock", lock("iota", false)));
    record("get-lock", &bob.request("get-lock", vec![text("iota")]));
    record("nothing there", &alice.request("lock", lock("nope", false)));
    record("a folder", &alice.request("lock", lock("A", false)));
    let old = vec![text("A/mu"), none(), flag(false), list([ProbeItem::Number(0)])];
    record("out of date", &alice.request("lock", old));
    let unlock =
        |path: &str, token: Option<ProbeItem>, force: bool| vec![text(path), optional(token), flag(force)];
    record(
        "wrong token",
        &alice.request("unlock", unlock("iota", Some(text("opaquelocktoken:x")), false)),
    );
    record("no token", &alice.request("unlock", unlock("iota", None, false)));
    record(
        "another's",
        &bob.request("unlock", unlock("iota", Some(token(&taken)), false)),
    );
    let stolen = bob.request("lock", lock("iota", true));
    record("stolen", &stolen);
    record(
        "gone",
        &alice.request("unlock", unlock("iota", Some(token(&taken)), false)),
    );
    record(
        "unlock",
        &bob.request("unlock", unlock("iota", Some(token(&stolen)), false)),
    );
    record("not locked", &bob.request("unlock", unlock("iota", None, true)));

    let several = alice.stream("lock-many", many(&["A/B/lambda", "A/mu", "A/nope", "A/D"], false));
    record("lock-many", &several);
    record(
        "by another",
        &bob.stream("lock-many", many(&["A/B/lambda", "A/mu", "iota"], false)),
    );
    let tokens: Vec<ProbeItem> = several.0.iter().map(token).collect();
    let targets = [
        ("A/mu", &tokens[1]),
        ("A/B/lambda", &tokens[1]),
        ("A/D/gamma", &tokens[0]),
    ];
    let targets = targets.map(|(path, token)| list([text(path), optional(Some(token.clone()))]));
    record(
        "unlock-many",
        &alice.stream("unlock-many", vec![flag(false), list(targets)]),
    );
    let targets = ["A/B/lambda", "iota"].map(|path| list([text(path), none()]));
    record(
        "broken",
        &alice.stream("unlock-many", vec![flag(true), list(targets)]),
    );
    record("get-locks", &bob.request("get-locks", vec![text("")]));

    // The lines of one connection are in order, including commits and refused commits.
    for (name, is_new) in [("new", true), ("new", false), ("newer", true)] {
        let props = list([list([text("svn:log"), text(name)])]);
        record(
            "commit",
            &alice.request("commit", vec![text(name), none(), word("false"), props]),
        );
        alice.send_text(&format!(
            "( open-root ( ( ) 1:r ) ) ( add-dir ( {}:{name} 1:r 1:a ( ) ) ) ( close-dir ( 1:a ) ) ( close-dir ( 1:r ) ) ( close-edit ( ) ) ",
            name.len()
        ));
        record("edit", &alice.read());
        if is_new {
            record("auth", &alice.read());
            record("news", &alice.read());
        } else {
            alice.send_text("( abort-edit ( ) ) ");
            record("abort", &alice.read());
        }
        record("youngest", &alice.request("get-latest-rev", vec![]));
        record("stat", &alice.request("check-path", vec![text(name), none()]));
    }
    let change = vec![ProbeItem::Number(1), text("svn:log"), optional(Some(text("x")))];
    record("no hook", &alice.request("change-rev-prop", change));
}

#[test]
fn locks_of_named_users_and_the_order_of_log_lines() {
    let [theirs, ours] = Side::BOTH.map(conversation);
    crate::pair::compare(&theirs.0, &ours.0);
    assert!(ours.1.len() > 20, "{:?}", ours.1);
    let [theirs, ours] = [theirs.1, ours.1].map(|mut lines| {
        lines.iter_mut().for_each(sort_paths);
        // The lines of each session are compared separately, because the order between two sessions is undefined.
        lines.sort_by_key(|line| line.split(' ').nth(1).map(str::to_owned));
        lines.join("\n")
    });
    crate::pair::compare(&theirs, &ours);
}
