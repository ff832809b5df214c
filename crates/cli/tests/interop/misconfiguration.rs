//! Configuration files with mistakes: clients get the same errors from both servers, and the logs have the same
//! explanation. Sven's log also has line numbers and warnings about unusual values.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use testkit::server::TestServer;
use testkit::{Side, Tool, runs_all_cases, sample, scratch};

use crate::pair::{compare, without_line};
use crate::serve::without_place;

/// Files in `conf/` and their texts. `svnserve.conf` is [`GENERAL`] unless it is in the list.
const CASES: [(&str, &str); 70] = [
    ("svnserve.conf", "[general]\nanon-access = bogus\n"),
    ("svnserve.conf", "[general\n"),
    ("svnserve.conf", "anon-access = none\n"),
    ("svnserve.conf", " [general]\n"),
    ("svnserve.conf", "[general]\n anon-access = none\n"),
    ("svnserve.conf", "[general]\nanon-access\n"),
    ("svnserve.conf", "[general]\n  # indented\n"),
    ("svnserve.conf", "[general]\nanon-access = none\nrealm = %(x)s\n"),
    ("svnserve.conf", "[general]\npassword-db = nosuch\n"),
    ("svnserve.conf", "[general]\npassword-db =\n"),
    ("svnserve.conf", "[general]\npassword-db = authz\n"),
    ("svnserve.conf", "[general]\nauthz-db = nosuch\n"),
    ("svnserve.conf", "[general]\nauthz-db =\n"),
    ("svnserve.conf", "[general]\nauthz-db = ../db\n"),
    ("svnserve.conf", "[general]\nauthz-db = ^/nosuch\n"),
    ("svnserve.conf", "[general]\nauthz-db = ^/\n"),
    ("svnserve.conf", "[general]\nauthz-db = file:///nosuch/x\n"),
    ("svnserve.conf", "[general]\nauthz-db = file://elsewhere/x\n"),
    ("svnserve.conf", "[general]\nauthz-db = http://elsewhere/x\n"),
    (
        "svnserve.conf",
        "[general]\nauthz-db = authz\ngroups-db = nosuch\n",
    ),
    ("svnserve.conf", "[general]\ngroups-db = nosuch\n"),
    ("svnserve.conf", "[general]\nhooks-env = nosuch\n"),
    ("svnserve.conf", "[general]\nanon-access = None\n"),
    (
        "svnserve.conf",
        "[general]\npassword-db = passwd\nauth-access = READ\n",
    ),
    (
        "svnserve.conf",
        "[general]\npassword-db = passwd\nforce-username-case = middle\n",
    ),
    (
        "svnserve.conf",
        "[general]\nanon-access = none\n[general]\nanon-access = read\n",
    ),
    ("svnserve.conf", "[GENERAL]\nANON-ACCESS = none\n"),
    ("svnserve.conf", "\u{feff}[general]\nanon-access = none\n"),
    ("svnserve.conf", "[general]\r\nanon-access = none\r\n"),
    ("svnserve.conf", "[sasl]\nuse-sasl = maybe\n"),
    ("svnserve.conf", "[]\n[general]\nanon-access: none\n"),
    ("passwd", "junk\n"),
    ("passwd", "[users\n"),
    ("passwd", "[users]\nalice\n"),
    ("passwd", "[users]\n alice = secret\n"),
    ("passwd", "[user]\nalice = secret\n"),
    ("passwd", ""),
    ("passwd", "[users]\nalice = %(alice)s\n"),
    ("authz", "[/]\n* = x\n"),
    ("authz", "# one\n\n[/]\n* = r\n@nobody = r\n"),
    ("authz", "[groups]\ng = @g\n"),
    ("authz", "[groups]\ng = @h\nh = a,\n  @g\n[/]\n* = r\n"),
    ("authz", "[groups]\ng = &x\n[/]\n* = r\n"),
    ("authz", "[groups]\ne =\n[/]\n@e = r\n* = r\n"),
    ("authz", "[groups]\n@g = a\n"),
    ("authz", "[groups]\ng = a\ng = b\n"),
    ("authz", "[aliases]\n&a = x\n"),
    ("authz", "[/]\n&x = r\n"),
    ("authz", "[/a/]\n* = r\n"),
    ("authz", "[/a//b]\n* = r\n"),
    ("authz", "[/../b]\n* = r\n"),
    ("authz", "[x]\n"),
    ("authz", "[/a]\n[:glob:/a]\n"),
    ("authz", "[:blob:/a]\n"),
    ("authz", "[:/a]\n"),
    ("authz", "[/]\n~~a = r\n"),
    ("authz", "[/]\n~* = r\n"),
    ("authz", "[/]\n$foo = r\n"),
    ("authz", "[/]\n* = w\n"),
    ("authz", "[/]\n* = r\n[/]\n"),
    ("../format", "99\n"),
    ("authz", "* = r\n"),
    (
        "svnserve.conf",
        "[DEFAULT]\nanon-access = none\n[general]\nrealm = x\n",
    ),
    ("svnserve.conf", "[DEFAULT]\nanon-access = none\n[general]\n"),
    (
        "svnserve.conf",
        "[DEFAULT]\nrealm = %(x)s\nx = 1\n[general]\npassword-db = passwd\nx = 2\n",
    ),
    (
        "svnserve.conf",
        "[general]\nrealm = x\n[DEFAULT]\nauthz-db = authz\nanon-access = none\n",
    ),
    (
        "svnserve.conf",
        "[DEFAULT]\nanon-access = read\n[general]\nrealm = x\nanon-access = none\n",
    ),
    ("passwd", "[DEFAULT]\nalice = secret\n[users]\nbob = x\n"),
    ("passwd", "[DEFAULT]\nalice = secret\n"),
    (
        "passwd",
        "[DEFAULT]\nalice = x\n[users]\nbob = x\nalice = secret\n",
    ),
];

const GENERAL: &str = "[general]\npassword-db = passwd\nauthz-db = authz\n";

#[test]
fn clients_get_equal_errors_and_the_log_has_details() {
    let root = scratch();
    let model = root.path().join("model");
    testkit::create_repository(&model);
    for (file, text) in [
        ("svnserve.conf", GENERAL),
        ("passwd", "[users]\nalice = secret\n"),
        ("authz", "[/]\n* = r\nalice = rw\n"),
    ] {
        replace(&model.join("conf").join(file), text);
    }
    let cases: Vec<&(&str, &str)> = sample(3, &CASES).collect();
    for (number, (file, text)) in cases.iter().enumerate() {
        let path = root.path().join(number.to_string());
        Tool::new("cp").arg("-r").arg(&model).arg(&path).ok();
        replace(&path.join("conf").join(file), text);
    }
    let [theirs, ours] = Side::BOTH.map(|side| responses_and_log(side, root.path(), cases.len()));
    let pairs = cases.iter().zip(theirs.0.iter().zip(&ours.0));
    let differ: Vec<_> = pairs.filter(|(_, (theirs, ours))| theirs != ours).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let (added, shared): (Vec<String>, Vec<String>) = ours
        .1
        .into_iter()
        .partition(|line| line.contains(" counts as 'none': "));
    let placed = shared.iter().filter(|line| line.contains(" (line ")).count();
    match runs_all_cases() {
        true => assert_eq!((added.len(), placed), (4, 42), "{added:#?}"),
        false => assert!(!added.is_empty() && placed > 0, "{placed} {added:#?}"),
    }
    // The last log line of a client may be written after the next client connects. Whether a client has read
    // everything before it disconnects is random; if not, the server gets a reset.
    let sorted = |mut lines: Vec<String>| {
        lines.retain(|line| !line.ends_with("Connection reset by peer"));
        lines.sort_unstable();
        lines.join("\n")
    };
    let unplaced = shared.iter().map(|line| without_line(line)).collect();
    compare(&sorted(theirs.1), &sorted(unplaced));
}

/// No user can log in with either server. Sven logs the reason, once.
#[test]
fn an_unreadable_password_file() {
    let root = scratch();
    let repository = root.path().join("repo");
    testkit::create_repository(&repository);
    replace(
        &repository.join("conf/svnserve.conf"),
        "[general]\nanon-access = read\npassword-db = passwd\n",
    );
    let passwords = repository.join("conf/passwd");
    replace(&passwords, "[users]\nalice = secret\n");
    let readable =
        |mode| fs::set_permissions(&passwords, fs::Permissions::from_mode(mode)).expect("it is ours");
    let [theirs, ours] = Side::BOTH.map(|side| {
        let log = root.path().join(format!("{side:?}.log"));
        let logged = log.display().to_string();
        readable(0o000);
        let server =
            TestServer::svnserve_bound_by_permissions(side, root.path(), &["-T", "--log-file", &logged]);
        let url = server.url("repo");
        let reported = || {
            let svn = || Tool::new("svn").args(["--non-interactive", "--no-auth-cache"]);
            let anonymous = svn().arg("list").arg(&url).run();
            let alice = svn()
                .args(["mkdir", "-m", "", "--username", "alice", "--password", "secret"])
                .arg(format!("{url}/new"))
                .run();
            let removed = Tool::new("svn")
                .args([
                    "rm",
                    "-q",
                    "-m",
                    "",
                    "--username",
                    "alice",
                    "--password",
                    "secret",
                ])
                .args(["--non-interactive", "--no-auth-cache"])
                .arg(format!("{url}/new"))
                .run();
            [anonymous.code, alice.code, removed.code]
                .map(|code| code.to_string())
                .join(" ")
                + &alice.err()
        };
        let closed = (reported(), reported());
        readable(0o600);
        let open = reported();
        readable(0o000);
        let again = reported();
        (closed, open, again, complete_log(&log))
    });
    assert_eq!((&theirs.0, &theirs.1, &theirs.2), (&ours.0, &ours.1, &ours.2));
    assert!(
        ours.0.0.starts_with("0 1 1") && ours.1.starts_with("0 0 0"),
        "{ours:?}"
    );
    let notices = |log: &str| log.matches("Nobody can log in with a password").count();
    assert_eq!((notices(&theirs.3), notices(&ours.3)), (0, 2), "{}", ours.3);
}

/// Returns the responses for each of the cases, and the log.
fn responses_and_log(side: Side, root: &Path, cases: usize) -> (Vec<String>, Vec<String>) {
    let log = root.join(format!("{side:?}.log"));
    let logged = log.display().to_string();
    let server = TestServer::svnserve(side, root, &["-T", "--log-file", &logged]);
    let port = format!(":{}", server.port());
    let output_text = (0..cases).map(|number| {
        let anonymous = anonymous(server.port(), number);
        let alice = Tool::new("svn")
            .args(["list", "--non-interactive", "--no-auth-cache"])
            .args(["--username", "alice", "--password", "secret"])
            .arg(server.url(&number.to_string()))
            .run();
        without_number(&format!("{anonymous}\n{}", alice.err()).replace(&port, ""))
    });
    let output_text: Vec<String> = output_text.collect();
    let logged = complete_log(&log);
    let lines = logged.lines().map(|line| without_number(&without_place(line)));
    // A refused client disconnects.
    let lines = lines.filter(|line| !line.contains(" 210002 "));
    (output_text, lines.collect())
}

/// Returns the log when it no longer grows.
fn complete_log(log: &Path) -> String {
    let mut last = String::new();
    loop {
        let now = fs::read_to_string(log).expect("because it logs");
        if now == last {
            return now;
        }
        last = now;
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Returns the responses to an anonymous client that requests the youngest revision and a directory.
fn anonymous(port: u16, number: usize) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because it listens");
    let url = format!("svn://127.0.0.1:{port}/{number}");
    let words = format!(
        "( 2 ( edit-pipeline svndiff1 depth ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) \
         ( get-latest-rev ( ) ) ( get-dir ( 0: ( ) false true ( kind ) false ) ) ",
        url.len()
    );
    // The server may have closed the connection before everything was sent.
    _ = stream.write_all(words.as_bytes());
    _ = stream.shutdown(Shutdown::Write);
    let mut responses_and_log = Vec::new();
    _ = stream.read_to_end(&mut responses_and_log);
    String::from_utf8_lossy(&responses_and_log).into_owned()
}

/// Removes the number of `line N`, because Subversion does not count section headers.
fn without_number(text: &str) -> String {
    let mut parts = text.split("line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str("line ");
        out.push_str(rest);
    }
    out
}

/// Replaces a file that may be read-only.
pub fn replace(path: &Path, text: &str) {
    drop(fs::remove_file(path));
    fs::write(path, text).expect("because it was just removed");
}
