//! A server that asks for passwords through Cyrus SASL, as svnserve does with `use-sasl`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use testkit::{Side, Spec, Tool, build, scratch};

/// Each mechanism alone, and lists of them, with a right and a wrong password.
#[test]
fn passwords_are_proven_by_each_mechanism() {
    let (repo, folder) = (build(&Spec::small("1.14")).copy(), scratch());
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| fs::write(path(name), text).expect("because the folder is ours");
    fs::write(
        repo.path().join("conf/svnserve.conf"),
        "[general]\nanon-access = none\nrealm = here\n[sasl]\nuse-sasl = true\nmax-encryption = 0\n",
    )
    .expect("because the repository is a copy");
    Tool::new("/usr/sbin/saslpasswd2")
        .args(["-p", "-c", "-u", "here", "alice", "-f"])
        .arg(path("users"))
        .stdin("secret")
        .ok();
    let root = repo.path().parent().expect("it has one").display();
    let agent = format!(
        "#!/bin/sh\nSASL_CONF_PATH={} exec svnserve -i -r {root} 2>/dev/null\n",
        folder.path().display()
    );
    write("agent", &agent);
    fs::set_permissions(path("agent"), fs::Permissions::from_mode(0o755)).expect("because it is ours");
    let tunnel = format!("config:tunnels:sasl={}", path("agent").display());
    for mechanisms in [
        "CRAM-MD5",
        "PLAIN",
        "LOGIN",
        "PLAIN LOGIN",
        "ANONYMOUS PLAIN",
        "GSSAPI PLAIN",
    ] {
        write(
            "svn.conf",
            &format!(
                "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {}\nmech_list: {mechanisms}\n",
                path("users").display()
            ),
        );
        for password in ["secret", "wrong", ""] {
            let [theirs, ours] = Side::BOTH.map(|side| {
                let svn = side
                    .tool("svn")
                    .args(["info", "--show-item=revision", "svn+sasl://h/repo"]);
                let svn = svn.args(["--username=alice", "--non-interactive", "--no-auth-cache"]);
                let svn = svn.args(["--config-option", &tunnel, "--password", password]);
                let output = svn.env("HOME", folder.path()).run();
                format!("{} {}{}", output.code, output.out(), output.err())
            });
            assert_eq!(theirs, ours, "{mechanisms}, password '{password}'");
            assert_eq!(ours.starts_with("0 "), password == "secret", "{ours}");
        }
    }
}
