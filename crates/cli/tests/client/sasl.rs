//! Servers that ask for passwords through Cyrus SASL (`use-sasl`): each client against each server, with each mechanism and each
//! security layer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::{Repo, Side, Spec, Tool, build, scratch};

/// Mechanisms that prove a password, alone and in lists.
const MECHANISMS: [&str; 14] = [
    "",
    "SCRAM-SHA-512",
    "SCRAM-SHA-384",
    "SCRAM-SHA-256",
    "SCRAM-SHA-224",
    "SCRAM-SHA-1",
    "DIGEST-MD5",
    "CRAM-MD5",
    "PLAIN",
    "LOGIN",
    "PLAIN LOGIN",
    "ANONYMOUS PLAIN",
    "GSSAPI PLAIN",
    "plain CRAM-MD5 digest-md5",
];

#[test]
fn passwords_are_proven_by_each_mechanism() {
    let site = Site::new();
    for mechanisms in MECHANISMS {
        site.configure(mechanisms, "max-encryption = 0");
        for (user, password) in [
            ("alice", "secret"),
            ("älice", "secrét"),
            ("alice", "wrong"),
            ("alice", ""),
            ("bob", "secret"),
        ] {
            let args = ["info", "--show-item=revision", "svn+sasl://h/repo"];
            let output = site.in_all_ways(user, password, &args);
            let is_right = password.starts_with("secr") && user != "bob";
            assert_eq!(
                output.starts_with("0 "),
                is_right,
                "{mechanisms}, {user} {password}: {output}"
            );
        }
    }
}

/// Long texts in both directions, below each layer. The strength of a layer tells which one it is.
#[test]
fn security_layers_protect_long_texts() {
    let site = Site::new();
    let text: Vec<u8> = (0..150_000u32)
        .flat_map(|i| i.wrapping_mul(i).to_le_bytes())
        .collect();
    fs::write(site.path("text"), &text).expect("because the folder is ours");
    let text = site.path("text").display().to_string();
    for (at, strength) in [0, 1, 40, 55, 56, 112, 128].into_iter().enumerate() {
        let bounds = format!("min-encryption = {strength}\nmax-encryption = {strength}");
        site.configure("DIGEST-MD5", &bounds);
        for server in Side::BOTH {
            // Debian's library offers 3des, and cannot use it.
            let [committer, reader] = match strength {
                112 => [Side::Ours; 2],
                _ => [Side::BOTH[at % 2], Side::BOTH[(at + 1) % 2]],
            };
            if strength == 112 && server == Side::Theirs {
                continue;
            }
            let url = format!("svn+sasl://h/repo/{strength}-{server:?}");
            let import = ["import", "-q", "-m", "x", &text, &url];
            let committed = site.run(committer, server, "alice", "secret", &import);
            assert_eq!(committed, "0 ", "{strength}, {committer:?} to {server:?}");
            let copy = site.path("copy").display().to_string();
            let export = ["export", "-q", "--force", &url, &copy];
            let read = site.run(reader, server, "alice", "secret", &export);
            assert_eq!(read, "0 ", "{strength}, {reader:?} from {server:?}");
            assert!(fs::read(&copy).ok() == fs::read(&text).ok(), "{strength}");
        }
    }
}

/// Without a layer as strong as the server demands, no client gets in. The strongest is 128 bits.
#[test]
fn a_demanded_layer_cannot_be_avoided() {
    let site = Site::new();
    let args = ["info", "--show-item=revision", "svn+sasl://h/repo"];
    for (mechanisms, bounds, is_accepted) in [
        ("DIGEST-MD5 PLAIN", "min-encryption = 128", true),
        ("DIGEST-MD5 PLAIN", "min-encryption = 129", false),
        ("PLAIN SCRAM-SHA-256", "min-encryption = 1", false),
        ("EXTERNAL", "", false),
    ] {
        site.configure(mechanisms, bounds);
        let output = site.in_all_ways("alice", "secret", &args);
        assert_eq!(
            output.starts_with("0 "),
            is_accepted,
            "{mechanisms} {bounds}: {output}"
        );
    }
}

/// The daemon decides on PLAIN and LOGIN, and is asked in the same words.
#[test]
fn saslauthd_checks_passwords() {
    let site = Site::new();
    let listener = UnixListener::bind(site.path("mux")).expect("because the folder is ours");
    let daemon = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let question = b"\0\x05carol\0\x06secret\0\x03svn\0\x04here";
        loop {
            let (mut stream, _) = listener.accept().expect("because the socket is open");
            let mut asked = vec![0; 64];
            let length = stream.read(&mut asked).expect("a question");
            asked.truncate(length);
            if asked == b"end" {
                return;
            }
            let response: &[u8] = match asked == question {
                true => b"\0\x02OK",
                false => b"\0\x02NO",
            };
            stream.write_all(response).expect("the server reads it");
        }
    });
    for mechanism in ["PLAIN", "LOGIN"] {
        site.configure(mechanism, "");
        site.configure_checks("saslauthd", mechanism);
        for (password, is_right) in [("secret", true), ("wrong", false)] {
            let args = ["info", "--show-item=revision", "svn+sasl://h/repo"];
            let output = site.in_all_ways("carol", password, &args);
            assert_eq!(
                output.starts_with("0 "),
                is_right,
                "{mechanism} {password}: {output}"
            );
        }
    }
    let mut stream = std::os::unix::net::UnixStream::connect(site.path("mux")).expect("it listens");
    std::io::Write::write_all(&mut stream, b"end").expect("it reads");
    daemon.join().expect("no panic");
}

/// A repository, an area of SASL's configuration, and tunnels to both servers.
struct Site {
    repo: Repo,
    folder: TempDir,
}

impl Site {
    fn new() -> Site {
        let (repo, folder) = (build(&Spec::small("1.14")).copy(), scratch());
        let site = Site { repo, folder };
        let users = site.path("users");
        for (user, password) in [("alice", "secret"), ("älice", "secrét")] {
            Tool::new("/usr/sbin/saslpasswd2")
                .args(["-p", "-c", "-u", "here", user, "-f"])
                .arg(&users)
                .stdin(password)
                .ok();
        }
        let root = site
            .repo
            .path()
            .parent()
            .expect("it has one")
            .display()
            .to_string();
        for server in Side::BOTH {
            let svnserve = server.tool("svnserve");
            let agent = format!(
                "#!/bin/sh\nSASL_CONF_PATH={} exec {svnserve} -i -r {root} 2>/dev/null\n",
                site.folder.path().display()
            );
            let path = site.agent(server);
            fs::write(&path, agent).expect("because the folder is ours");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("because it is ours");
        }
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn agent(&self, server: Side) -> PathBuf {
        self.path(&format!("agent-{server:?}"))
    }

    /// Sets the list of mechanisms (all if it is empty), and lines of `[sasl]`.
    fn configure(&self, mechanisms: &str, bounds: &str) {
        let conf =
            format!("[general]\nanon-access = none\nrealm = here\n[sasl]\nuse-sasl = true\n{bounds}\n");
        fs::write(self.repo.path().join("conf/svnserve.conf"), conf).expect("because it is a copy");
        self.configure_checks("auxprop", mechanisms);
    }

    fn configure_checks(&self, method: &str, mechanisms: &str) {
        let list = match mechanisms {
            "" => String::new(),
            list => format!("mech_list: {list}\n"),
        };
        let shown = |path: &Path| path.display().to_string();
        let text = format!(
            "pwcheck_method: {method}\nauxprop_plugin: sasldb\nsasldb_path: {}\nsaslauthd_path: {}\n{list}",
            shown(&self.path("users")),
            shown(&self.path("mux")),
        );
        fs::write(self.path("svn.conf"), text).expect("because the folder is ours");
    }

    /// Returns the exit status and the output of a client with a server.
    fn run(&self, client: Side, server: Side, user: &str, password: &str, args: &[&str]) -> String {
        let tunnel = format!("config:tunnels:sasl={}", self.agent(server).display());
        let svn = client.tool("svn").args(args).args(["--username", user]);
        let svn = svn.args(["--non-interactive", "--no-auth-cache"]);
        let svn = svn.args(["--config-option", &tunnel, "--password", password]);
        let output = svn.env("HOME", self.folder.path()).env("LC_ALL", "C.UTF-8").run();
        format!("{} {}{}", output.code, output.out(), output.err())
    }

    /// Returns the output, which must be the same of each client with each server.
    fn in_all_ways(&self, user: &str, password: &str, args: &[&str]) -> String {
        let expected = self.run(Side::Theirs, Side::Theirs, user, password, args);
        for (client, server) in [
            (Side::Theirs, Side::Ours),
            (Side::Ours, Side::Theirs),
            (Side::Ours, Side::Ours),
        ] {
            let output = self.run(client, server, user, password, args);
            assert_eq!(output, expected, "{client:?} with {server:?}, {user} {password}");
        }
        expected
    }
}
