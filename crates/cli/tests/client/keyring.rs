//! gnome-keyring as the store of passwords, beside Subversion's client: the same transcripts, the same records of the cache and the same
//! items in the keyring. Each side has a session bus and a keyring of its own.
//!
//! The test is skipped where gnome-keyring, `secret-tool` or D-Bus is not installed. Another one has scripts in their place, for Sven alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use testkit::{Side, Tool, normalize};

use crate::context::{Home, Servers};
use crate::desktop::{DesktopSession, are_installed};
use crate::terminal;

/// A session with an unlocked keyring.
struct Keyring(DesktopSession);

const SERVICE: &str = "org.freedesktop.secrets";
/// The keyring of new items.
const DEFAULT: &str = "/org/freedesktop/secrets/aliases/default";
/// Starts the keyring, and unlocks it. A request that comes too early starts another one, which is locked and then replaced.
pub const START: &str = "for attempt in 1 2 3 4 5 6 7 8; do \
    printf key | gnome-keyring-daemon --replace --unlock --components=secrets > /dev/null; sleep 1; \
    dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets/aliases/default \
    org.freedesktop.DBus.Properties.Get string:org.freedesktop.Secret.Collection string:Locked \
    | grep -q 'boolean false' && break; done";
/// The attribute that all items have, with what it is for them.
const SCHEMA: [&str; 2] = ["xdg:schema", "org.gnome.keyring.NetworkPassword"];

impl Keyring {
    fn start() -> Keyring {
        let keyring = Keyring(DesktopSession::start(START));
        keyring.0.wait_until("a keyring", || is_unlocked(&keyring.0));
        keyring
    }

    fn within(&self, tool: Tool) -> Tool {
        self.0.within(tool)
    }

    fn lock(&self) {
        let what = format!("array:objpath:{DEFAULT}");
        let method = "org.freedesktop.Secret.Service.Lock";
        self.0.send(SERVICE, &["/org/freedesktop/secrets", method, &what]);
        assert!(!is_unlocked(&self.0));
    }

    /// Stores a secret.
    fn put(&self, user: &str, domain: &str, secret: &str) {
        let attributes = [&["--label=l", "user", user, "domain", domain], &SCHEMA[..]].concat();
        let tool = Tool::new("secret-tool").arg("store").args(attributes);
        self.within(tool.stdin(secret)).ok();
    }

    /// Returns the lines about all items, sorted: the items have no order. Dates and the numbers of items are left out.
    fn items(&self) -> String {
        let tool = Tool::new("secret-tool").args(["search", "--all"]);
        let output = self.within(tool.args(SCHEMA)).run();
        let differs = |line: &&str| {
            ["created", "modified", "["]
                .iter()
                .any(|begin| line.starts_with(begin))
        };
        let text = output.out() + &output.err();
        let mut lines: Vec<&str> = text.lines().filter(|line| !differs(line)).collect();
        lines.sort_unstable();
        lines.join("\n")
    }
}

/// True if the keyring of a session is open.
pub fn is_unlocked(session: &DesktopSession) -> bool {
    let property = ["string:org.freedesktop.Secret.Collection", "string:Locked"];
    let get = [DEFAULT, "org.freedesktop.DBus.Properties.Get"];
    let reply = session.send(SERVICE, &[get, property].concat());
    reply.contains("boolean false")
}

/// A command on a terminal with answers, or without one.
struct Case {
    line: &'static str,
    answers: Option<&'static [&'static str]>,
    /// What the keyring has as the password of `alice` before.
    secret: Option<&'static str>,
    /// There is no session bus.
    without_bus: bool,
}

const fn case(line: &'static str) -> Case {
    Case {
        line,
        answers: None,
        secret: None,
        without_bus: false,
    }
}

const fn asked(line: &'static str, answers: &'static [&'static str]) -> Case {
    Case {
        answers: Some(answers),
        ..case(line)
    }
}

const fn without_bus(case: Case) -> Case {
    Case {
        without_bus: true,
        ..case
    }
}

const fn with_secret(secret: &'static str, case: Case) -> Case {
    Case {
        secret: Some(secret),
        ..case
    }
}

/// They follow each other, with the keyring and the cache of the case before.
const CASES: &[Case] = &[
    case("svn ls {SVN} --username alice --password secret"),
    case("svn ls {SVN}"),
    case("svn ls {SVN} --no-auth-cache"),
    case("svn auth --show-passwords"),
    case("svn ls {SVN} --username bob"),
    case("svn ls {SVN} --username bob --password pw"),
    case("svn ls {SVN}"),
    case("svn ls {SVN} --username alice"),
    case("svn ls {SVN} --username alice --password wrong"),
    with_secret("wrong", case("svn ls {SVN}")),
    with_secret("", case("svn ls {SVN}")),
    with_secret("secret\n", case("svn ls {SVN}")),
    with_secret("wrong", asked("svn ls {SVN}", &["secret"])),
    with_secret("wrong", asked("svn ls {SVN}", &["a", "b", "c", "d", "e", "f"])),
    with_secret("secret", asked("svn ls {SVN}", &[])),
    asked("svn ls {SVN} --username bob --password pw", &[]),
    asked(
        "svn ls {SVN} --username alice --no-auth-cache --config-option config:auth:password-stores=x",
        &["secret"],
    ),
    case("svn ls {SVN} --config-option config:auth:password-stores="),
    case("svn ls {SVN} --config-option config:auth:password-stores=gpg-agent"),
    case("svn ls {SVN} --config-option config:auth:password-stores=kwallet,gnome-keyring"),
    without_bus(case("svn ls {SVN}")),
    without_bus(asked("svn ls {SVN}", &["pw", "no"])),
    asked("svn ls {SVN} --username alice", &["secret"]),
    case("svn auth --remove alice"),
    asked(
        "svn ls {SVN} --username alice --config-option config:auth:password-stores=GNOME-KEYRING",
        &["secret", "no"],
    ),
    asked(
        "svn ls {SVN} --username alice --config-option config:auth:password-stores=,gpg-agent,gnome-keyring",
        &["secret"],
    ),
    asked(
        "svn ls {SVN} --username bob --config-option servers:global:store-passwords=no",
        &["pw"],
    ),
    case(
        "svn ls {SVN} --username bob --password pw --config-option servers:global:store-plaintext-passwords=no",
    ),
    case("svn ls {SVN} --username älice --password söcret"),
    case("svn ls {SVN} --username -h --password dash"),
    case("svn ls {SVN}"),
];

/// With a keyring that is locked, and nothing that could ask for its key.
const LOCKED: &[Case] = &[
    case("svn ls {SVN}"),
    asked("svn ls {SVN} --username alice", &["secret", "no"]),
    case("svn ls {SVN} --username bob --password pw"),
    case(
        "svn ls {SVN} --username bob --password pw --config-option servers:global:store-plaintext-passwords=yes",
    ),
];

/// For passphrases.
const CERTIFICATES: &[Case] = &[
    asked(
        "svn ls {CLIENT-TLS} --config-option servers:global:ssl-client-cert-file={P12}",
        &["t", "geheim"],
    ),
    asked(
        "svn ls {CLIENT-TLS} --config-option servers:global:ssl-client-cert-file={P12}",
        &["t"],
    ),
    asked(
        "svn ls {CLIENT-TLS} --config-option servers:global:ssl-client-cert-file={P12} --config-option config:auth:password-stores=",
        &["t", "^C"],
    ),
    case("svn auth --show-passwords"),
];

/// The programs that these tests need.
pub const PROGRAMS: [&str; 4] = [
    "gnome-keyring-daemon",
    "secret-tool",
    "dbus-run-session",
    "dbus-send",
];

/// Runs a case; returns the transcript, the files and the items.
fn run(home: &Home<'_>, keyring: &Keyring, case: &Case) -> String {
    if let Some(secret) = case.secret {
        keyring.put("alice", &home.servers.realm(), secret);
    }
    let interaction = match case.answers {
        Some(_) => "",
        None if case.line.starts_with("svn auth") => "",
        None => " --non-interactive",
    };
    let tool = home.tool(&format!("{}{interaction}", case.line));
    let tool = match case.without_bus {
        true => tool.env("DBUS_SESSION_BUS_ADDRESS", ""),
        false => keyring.within(tool),
    };
    let output = match case.answers {
        Some(answers) => terminal::run(&tool, answers),
        None => tool.run(),
    };
    let shown = format!("{}{}[exit {}]", output.out(), output.err(), output.code);
    format!("{}\n{:#?}\n{}", home.shape(&shown), home.files(), keyring.items())
}

#[test]
fn passwords_are_kept_by_the_keyring() {
    if !are_installed(&PROGRAMS) {
        return;
    }
    let servers = Servers::new();
    let passwd = servers.repository().join("conf/passwd");
    fs::write(
        passwd,
        "[users]\nalice = secret\nbob = pw\nälice = söcret\n-h = dash\n",
    )
    .expect("because the repository is ours");
    let keyrings = Side::BOTH.map(|_| Keyring::start());
    let homes = Side::BOTH.map(|side| Home::new(&servers, side));
    let mut failed = Vec::new();
    let mut compare = |cases: &[Case]| {
        for case in cases {
            let [theirs, ours] = [0, 1].map(|at| run(&homes[at], &keyrings[at], case));
            if theirs != ours {
                let line = case.line;
                failed.push(format!("{line}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
            }
        }
    };
    compare(CASES);
    compare(CERTIFICATES);
    // Each client finds what the other one has stored.
    for at in [0, 1] {
        let login = case("svn ls {SVN} --username alice --password secret");
        run(&homes[at], &keyrings[at], &login);
        let tool = homes[at].tool("svn ls {SVN} --non-interactive");
        let mut other = Side::BOTH[1 - at].tool("svn");
        other = other.args(tool.command().get_args());
        other = other.env("HOME", homes[at].dir.path());
        let found = keyrings[at].within(other).run();
        assert_eq!(found.code, 0, "{found:?}");
    }
    for keyring in &keyrings {
        keyring.lock();
    }
    compare(LOCKED);
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
    let shown = normalize::replace(&keyrings[1].items(), &[(&servers.realm(), "REALM")]);
    assert!(shown.contains("attribute.domain = REALM"), "{shown}");
}

/// In place of `secret-tool` and `dbus-send`: they note their arguments, and keep one secret in a file.
const SECRET_TOOL: &str =
    "#!/bin/sh\necho \"$@\" >> words\ncase $1 in\nstore) cat > secret;;\nlookup) cat secret;;\nesac\n";
const UNLOCKED: &str = "#!/bin/sh\necho '   variant       boolean false'\n";
const LOCKED_REPLY: &str = "#!/bin/sh\necho '   variant       boolean true'\n";

#[test]
fn secrets_are_not_in_arguments() {
    let servers = Servers::new();
    let home = Home::new(&servers, Side::Ours);
    let tools = home.dir.path().join("tools");
    fs::create_dir(&tools).expect("because the home is new");
    let install = |name: &str, script: &str| {
        let path = tools.join(name);
        fs::write(&path, script).expect("because the directory is there");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("because it is there");
    };
    install("secret-tool", SECRET_TOOL);
    install("dbus-send", UNLOCKED);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    let list = |options: &str| {
        let line = format!("svn ls {{SVN}} --non-interactive {options}");
        home.tool(&line).env("PATH", &path).run().code
    };
    let noted = || {
        let words = fs::read_to_string(home.dir.path().join("words")).unwrap_or_default();
        normalize::replace(&words, &[(&servers.realm(), "REALM")])
    };
    assert_eq!(list("--username alice --password secret"), 0);
    assert_eq!(list(""), 0);
    let words = "store --label=network password -- user alice domain REALM xdg:schema org.gnome.keyring.NetworkPassword\n\
                 lookup -- user alice domain REALM\n";
    assert_eq!(noted(), words);
    let record = home.files().into_values().collect::<String>();
    assert!(
        record.contains("gnome-keyring") && !record.contains("V 6\nsecret"),
        "{record}"
    );
    // A locked keyring is not asked, as it would ask the user.
    install("dbus-send", LOCKED_REPLY);
    assert_eq!(list(""), 1);
    assert_eq!(list("--username bob --password pw"), 0);
    assert_eq!(noted(), words);
    // The keyring has a wrong one.
    install("dbus-send", UNLOCKED);
    fs::write(home.dir.path().join("secret"), "wrong").expect("because it can be written");
    assert_eq!(list("--username alice"), 1);
    // A program that fails, is missing or prints much is as good as none.
    for script in ["#!/bin/sh\nexit 1\n", "", "#!/bin/sh\nyes\n"] {
        install("secret-tool", script);
        assert_eq!(list("--username alice --password secret"), 0, "{script}");
        assert_eq!(list("--username alice"), 1, "{script}");
    }
}
