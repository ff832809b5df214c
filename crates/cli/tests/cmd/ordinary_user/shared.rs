//! A repository shared by two users of one group, each through a tunnel. The steps use Subversion and Sven in turns.
//! Neither may leave a file that prevents the other user or the other program from working.
//!
//! `SHARED_LONG` compares all umasks and formats.
//!
//! `SHARED_LONG` compares all umasks and formats.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use testkit::tool::tool_link;
use testkit::{Side, Tool, sample, scratch};

use super::{GROUP, can_run, sh};

/// The user IDs of the two users: `nobody` and `www-data`.
const USERS: [&str; 2] = ["65534", "33"];

/// The steps; `U` is the URL, `R` the repository. Lines that begin with `svn` use the tunnel.
const STEPS: &str = "\
mucc -m text -U U -- put - same1
mucc -m text -U U -- put - same2
mucc -m text -U U -- put - same3
mucc -m text -U U -- put - same4
mucc -m text -U U propset name value same1 mkdir folder
svn lock -m text U/same1 U/same2
svn unlock --force U/same1
svn lock --force -m text U/same2
mucc -m text -U U -- put - same5
svn propset --revprop -r 1 name value1 U
svn propset --revprop -r 1 name value2 U
svnadmin lock R /same4 root T opaquelocktoken:of-admin
svnadmin rmlocks R /same4
svnadmin pack -q R
svnadmin pack -q R
svn propset --revprop -r 1 name value3 U
svn propset --revprop -r 1 name a-much-longer-value-than-that-before U
mucc -m text -U U -- put - same6
mucc -m text -U U -- put - same7
svnadmin setlog --bypass-hooks -r 2 R T
svnadmin delrevprop -r 2 R svn:author
svnadmin setuuid R 11111111-2222-4333-8444-555555555555
svnadmin setuuid R 11111111-2222-4333-8444-666666666666
svnadmin upgrade R
svnadmin upgrade R
svnadmin recover R
svnadmin recover R
svnadmin verify -q R
svnadmin verify -q R
mucc -m text -U U -- put - same8
mucc -m text -U U -- put - same9";

/// The order of programs whose results the others must have.
const BASELINE: &[Side] = &[Side::Theirs];

/// The other orders. The users alternate, so with an odd number of programs each user runs both.
const ORDERS: [&[Side]; 3] = [
    &[Side::Theirs, Side::Ours, Side::Ours],
    &[Side::Ours],
    &[Side::Ours, Side::Theirs, Side::Theirs],
];

/// Makes the repository `repo`, which belongs to the group.
fn make(root: &Path, version: &str) {
    let repo = root.join("repo");
    Tool::new("svnadmin")
        .args(["create", "--compatible-version", version])
        .arg(&repo)
        .ok();
    sh(&format!(
        "chmod 755 {root}; cd {repo}; sed -i 's/sharded 1000/sharded 2/' db/format; \
         printf '[general]\\nanon-access = write\\n' > conf/svnserve.conf; \
         printf '#!/bin/sh\\n' > hooks/pre-revprop-change; chmod +x hooks/pre-revprop-change; printf text > {root}/text; \
         chgrp -R {GROUP} .; chmod -R g+rwX,o-rwx .; find . -type d | xargs chmod g+s",
        root = root.display(),
        repo = repo.display(),
    ));
}

/// Returns the exit codes of all steps, and modes and groups of all files.
fn share(version: &str, umask: &str, order: &[Side]) -> (String, String) {
    let folder = scratch();
    let root = folder.path();
    let repo = root.join("repo");
    make(root, version);
    let mut codes = String::new();
    for (number, step) in STEPS.lines().enumerate() {
        let (user, side) = (USERS[number % 2], order[number % order.len()]);
        let output = run_step(root, umask, user, side, step);
        codes.push_str(&format!(
            "{number} {step} => {} {:?}\n",
            output.code,
            output.error_codes()
        ));
    }
    let verified = Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).run();
    assert!(verified.code == 0, "{order:?}: {verified:?}");
    let listed = Tool::new("find")
        .arg(&repo)
        .args(["-printf", "%M %g %P\n"])
        .ok()
        .out();
    // `upgrade` does not change its permissions.
    let mut lines: Vec<&str> = listed.lines().filter(|line| !line.ends_with("format")).collect();
    lines.sort_by_key(|line| line.rsplit(' ').next());
    (codes, lines.join("\n"))
}

fn run_step(root: &Path, umask: &str, user: &str, side: Side, step: &str) -> testkit::Output {
    let program = |name: &str| match side {
        Side::Theirs => name.to_owned(),
        Side::Ours => tool_link(name).display().to_string(),
    };
    let become_user = format!("umask {umask}; exec setpriv --reuid {user} --regid {user} --groups {GROUP}");
    let tunnel = root.join(format!("tunnel-{user}-{side:?}"));
    let text = format!(
        "#!/bin/sh\n{become_user} {} -t --tunnel-user u{user} -r {}\n",
        program("svnserve"),
        root.display()
    );
    std::fs::write(&tunnel, text).expect("because the folder is ours");
    std::fs::set_permissions(&tunnel, Permissions::from_mode(0o755)).expect("because the folder is ours");
    let words = step.split(' ').map(|word| match word {
        "R" => root.join("repo").display().to_string(),
        "T" => root.join("text").display().to_string(),
        word => match word.strip_prefix('U') {
            Some(below) if below.is_empty() || below.starts_with('/') => {
                format!("svn+ssh://host/repo{below}")
            }
            _ => word.to_owned(),
        },
    });
    let words: Vec<String> = words.collect();
    let command = match words[0].as_str() {
        "svnadmin" => format!("{become_user} {} \"$@\"", program("svnadmin")),
        "mucc" => "exec svnmucc --non-interactive \"$@\"".to_owned(),
        _ => "exec svn --non-interactive \"$@\"".to_owned(),
    };
    Tool::new("sh")
        .args(["-c", &command, "sh"])
        .args(&words[1..])
        .env("SVN_SSH", tunnel)
        .stdin("a text that all files share\n".repeat(200))
        .run()
}

/// Compares every `step`-th of the other orders with the first.
fn compare(version: &str, umask: &str, step: usize) {
    let theirs = share(version, umask, BASELINE);
    for order in sample(step, ORDERS) {
        let (codes, files) = &share(version, umask, order);
        for (theirs, ours) in [(&theirs.0, codes), (&theirs.1, files)] {
            let only = |one: &str, other: &str| -> String {
                let other: Vec<&str> = other.lines().collect();
                let lines = one.lines().filter(|line| !other.contains(line));
                lines.map(|line| format!("    {line}\n")).collect()
            };
            assert!(
                theirs == ours,
                "{version}, umask {umask}, {order:?}\n  with theirs alone\n{}  here\n{}",
                only(theirs, ours),
                only(ours, theirs)
            );
        }
    }
}

#[test]
fn two_users_of_a_group_share_a_repository() {
    if !can_run() {
        return;
    }
    if std::env::var_os("SHARED_LONG").is_none() {
        return compare("1.14", "002", ORDERS.len());
    }
    for version in ["1.3", "1.5", "1.6", "1.8", "1.14"] {
        for umask in ["000", "002", "022", "027"] {
            compare(version, umask, 1);
        }
    }
}

/// Files that a failed commit of one user has left do not prevent commits of another user, whatever their
/// permissions.
#[test]
fn files_left_by_another_user_do_not_prevent_commits() {
    if !can_run() {
        return;
    }
    for mode in ["600", "644"] {
        let folder = scratch();
        let root = folder.path();
        make(root, "1.14");
        let first = run_step(root, "077", USERS[0], Side::Ours, "mucc -m text -U U mkdir first");
        assert!(first.code == 0, "{first:?}");
        sh(&format!(
            "cd {}/repo/db/revs; mkdir -p 1; chgrp {GROUP} 1; chmod 2775 1; echo text > 1/2; : > 1/svn-after-1; \
             chown {}:{GROUP} 1/*; chmod {mode} 1/*",
            root.display(),
            USERS[0]
        ));
        let second = run_step(
            root,
            "002",
            USERS[1],
            Side::Ours,
            "mucc -m text -U U mkdir second",
        );
        assert!(second.code == 0, "{mode}: {second:?}");
        let third = run_step(
            root,
            "002",
            USERS[0],
            Side::Theirs,
            "mucc -m text -U U mkdir third",
        );
        assert!(third.code == 0, "{mode}: {third:?}");
        let repo = root.join("repo");
        let verified = Tool::new("svnadmin").args(["verify", "-q"]).arg(repo).run();
        assert!(verified.code == 0, "{mode}: {verified:?}");
    }
}
