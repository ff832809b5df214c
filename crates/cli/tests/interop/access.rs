//! Access: passwords, anonymous access, authz files, realms.

use std::fs;

use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, Tool, runs_all_cases, sample, sample_from};

use crate::pair::ServerPair;

const AUTHZ: &str = "\
[groups]
staff = alice, bob
[/]
* = r
[/trunk/many]
* =
@staff = r
[/trunk/deep]
* =
alice = r
[repo:/branches]
* =
bob = r
[/trunk/moved.txt]
* =
[:glob:/tags/*]
* =
alice = r
";

/// Makes a repository with these files in `conf/`.
fn with_conf(files: &[(&str, &str)]) -> Repo {
    let repo = testkit::build(&Spec::new("1.14").busy().named("f8")).copy();
    for (name, text) in files {
        fs::write(repo.path().join("conf").join(name), text).expect("because it is a copy");
    }
    repo
}

const PASSWD: (&str, &str) = ("passwd", "[users]\nalice = secret\nbob = pw\n");

#[test]
fn passwords() {
    let conf = "[general]\nanon-access = none\npassword-db = passwd\nrealm = A Realm\n";
    let repo = with_conf(&[("svnserve.conf", conf), PASSWD]);
    ServerPair::serving(&repo, &["-R"]).same(|c| {
        c.all(&[
            "info URL",
            "info --username alice --password secret URL",
            "info --username alice --password wrong URL",
            "info --username nobody --password x URL",
            "list --username bob --password pw URL/trunk",
        ]);
    });
}

#[test]
fn access_levels() {
    let general = |text: &str| format!("[general]\n{text}");
    let texts = [
        general("anon-access = none\n"),
        general("anon-access = none\nauth-access = none\npassword-db = passwd\n"),
        general("anon-access = read\nauth-access = none\npassword-db = passwd\n"),
        general("anon-access = write\npassword-db = passwd\n"),
        general("anon-access = bogus\npassword-db = passwd\n"),
        general("password-db = nosuch\n"),
        general("authz-db = nosuch\n"),
        general("authz-db = broken\n"),
        "anon-access = none\n".to_owned(),
        general("authz-db = authz\ngroups-db = groups\n"),
        general("authz-db = ^/trunk/hello.txt\n"),
        general("authz-db = ^/nosuch\n"),
        "[sasl]\nuse-sasl = false\n".to_owned(),
    ];
    for text in sample(3, texts) {
        let broken = ("broken", "[/]\nalice = q\n");
        let groups = ("groups", "[groups]\nstaff = bob\n");
        let authz = ("authz", "[/]\n* = r\n");
        let repo = with_conf(&[("svnserve.conf", &text), PASSWD, broken, groups, authz]);
        ServerPair::serving(&repo, &["-R"]).same(|c| {
            c.note(&text);
            c.all(&[
                "info URL",
                "list URL/trunk",
                "info --username alice --password secret URL",
                "mkdir -m x --username alice --password secret URL/new",
            ]);
        });
    }
}

/// Requests that are independent of each other.
const READS: [&str; 20] = [
    "list -R URL",
    "list URL/trunk/many",
    "list URL/branches",
    "list -R URL/tags",
    "cat URL/trunk/moved.txt",
    "cat URL/trunk/many/file-007.txt",
    "info URL/trunk/deep",
    "log -v URL",
    "log -v URL/trunk",
    "log -v URL/branches/b3",
    "log -v URL/trunk/moved.txt",
    "log -v -g URL/trunk",
    "proplist --revprop -v -r 16 URL",
    "proplist --revprop -v -r 45 URL",
    "blame URL/trunk/big.txt",
    "blame URL/trunk/moved.txt",
    "diff --summarize -r 30:HEAD URL",
    "propget -R svn:mergeinfo URL",
    "export URL/tags out",
    "info URL/tags/c3.txt",
];

/// Requests with a working copy, each of which needs the one before it.
const WORKING_COPY: [&str; 5] = [
    "checkout -r 30 URL wc",
    "update wc",
    "status -u wc",
    "switch --ignore-ancestry URL/branches wc",
    "switch --ignore-ancestry URL/trunk wc",
];

#[test]
fn paths() {
    let conf = "[general]\nanon-access = read\npassword-db = passwd\nauthz-db = authz\n";
    let repo = with_conf(&[("svnserve.conf", conf), PASSWD, ("authz", AUTHZ)]);
    ServerPair::serving(&repo, &["-R"]).same(|c| {
        for (nth, user) in [
            &[][..],
            &["--username", "alice", "--password", "secret"],
            &["--username", "bob", "--password", "pw"],
        ]
        .into_iter()
        .enumerate()
        {
            c.set_options(user);
            c.note(&format!("{user:?}"));
            // In a sample each user sends other requests, and one of them, who has some of the rights, has a working copy.
            let reads = sample_from(nth, 3, READS);
            let is_sampled = nth == 1 || runs_all_cases();
            let others = WORKING_COPY.into_iter().filter(|_| is_sampled);
            for line in reads.chain(others) {
                let args: Vec<&str> = line.split(' ').collect();
                c.svn_sorted(&args);
            }
            c.note_tree("wc");
            for copy in ["wc", "out"] {
                // The next user starts with an empty directory.
                if c.dir().join(copy).exists() {
                    fs::remove_dir_all(c.dir().join(copy)).expect("because it is ours");
                }
            }
        }
    });
}

#[test]
fn user_names_change_case_for_authz_only() {
    let conf = "[general]\nanon-access = none\npassword-db = passwd\nauthz-db = authz\nforce-username-case = upper\n";
    let repo = with_conf(&[("svnserve.conf", conf), PASSWD, ("authz", "[/]\nALICE = r\n")]);
    ServerPair::serving(&repo, &["-R"]).same(|c| {
        c.all(&[
            "list --username alice --password secret URL",
            "list --username bob --password pw URL",
        ]);
    });
}

/// Programs that watch a log for refused users read these lines.
#[test]
fn refused_users_are_in_the_log() {
    let commands = [
        "svn mkdir -m m URL/new",
        "svn propset --revprop -r 1 color red URL",
        "svn ls URL/branches",
        "svn cat URL/branches/none",
        "svn rm -m m URL/trunk",
    ];
    let authz = ("authz", "[/]\nalice = r\n[/branches]\nalice =\n");
    for (general, args) in [
        ("anon-access = none", &["-T"][..]),
        ("anon-access = none\nauth-access = read", &["-T"]),
        ("anon-access = none", &["-T", "-R"]),
        ("anon-access = read", &["-T"]),
    ] {
        let conf = format!("[general]\n{general}\npassword-db = passwd\nauthz-db = authz\n");
        let repo = with_conf(&[("svnserve.conf", &conf), PASSWD, authz]);
        let root = repo.path().parent().expect("a repository has a folder");
        let [theirs, ours] = Side::BOTH.map(|side| {
            let log = root.join(format!("{side:?}.log"));
            let shown = log.display().to_string();
            let server = TestServer::svnserve(side, root, &[args, &["--log-file", &shown]].concat());
            let name = repo.path().file_name().expect("it has a name").to_string_lossy();
            let url = format!("svn://127.0.0.1:{}/{name}", server.port());
            let mut reported = String::new();
            for line in commands {
                let words = line.replace("URL", &url);
                let mut words = words.split(' ');
                let tool = Tool::new(words.next().expect("the program"));
                let login = [
                    "--non-interactive",
                    "--no-auth-cache",
                    "--username",
                    "alice",
                    "--password",
                    "secret",
                ];
                let before = fs::read_to_string(&log).unwrap_or_default().len();
                tool.args(words).args(login).run();
                let lines = fs::read_to_string(&log).unwrap_or_default();
                reported.push_str(line);
                reported.push('\n');
                let refused = lines[before..]
                    .lines()
                    .filter_map(|line| line.split_once(" Authorization Failed "));
                refused.for_each(|(_, what)| reported.push_str(&format!("  {what}\n")));
            }
            reported
        });
        assert_eq!(ours, theirs, "{general} {args:?}");
        assert!(theirs.contains("  write /"), "{theirs}");
    }
}
