//! KWallet as the store of passwords, beside Subversion's client: the same transcripts, the same records of the cache and the same entries of
//! the wallets. Each side has a session bus and a KWallet of its own.
//!
//! The tests are skipped where KWallet or D-Bus is not installed. The wallets are open without a question, as those that the login of a
//! desktop has opened.

use std::fs;

use testkit::{Side, Tool, normalize};

use crate::context::{Home, Servers};
use crate::desktop::{DesktopSession, are_installed};
use crate::{keyring, terminal};

/// The programs that these tests need.
const PROGRAMS: [&str; 4] = ["kwalletd5", "kwallet-query", "dbus-run-session", "dbus-send"];
const SERVICE: &str = "org.kde.kwalletd5";
const OBJECT: &str = "/modules/kwalletd5";
/// The user's wallet, and another one.
const WALLETS: [&str; 2] = ["kdewallet", "second"];
/// Starts KWallet without its questions. The bus gets a second path, the one that sessions of systemd have.
const START: &str = "mkdir -p \"$XDG_CONFIG_HOME\"; \
    printf '[Wallet]\\nFirst Use=false\\nPrompt on Open=false\\nLeave Open=true\\n' > \"$XDG_CONFIG_HOME/kwalletrc\"; \
    bus=\"${DBUS_SESSION_BUS_ADDRESS#unix:path=}\"; ln \"${bus%%,*}\" \"$XDG_RUNTIME_DIR/bus\"; \
    { QT_QPA_PLATFORM=offscreen kwalletd5 > /dev/null 2>&1 & }";

/// A session with KWallet.
struct Wallets(DesktopSession);

impl Wallets {
    /// Starts a session with KWallet, after other commands.
    fn start(before: &str) -> Wallets {
        let wallets = Wallets(DesktopSession::start(&format!("{before}{START}")));
        let owner = ["/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner"];
        let owner = [&owner[..], &["string:org.kde.kwalletd5"]].concat();
        let is_there = || {
            let reply = wallets.0.send("org.freedesktop.DBus", &owner);
            reply.contains("boolean true")
        };
        wallets.0.wait_until("KWallet", is_there);
        for wallet in WALLETS {
            wallets.0.wait_until("a wallet", || {
                wallets.open(wallet);
                wallets.is_open(wallet)
            });
        }
        wallets
    }

    fn call(&self, method: &str, arguments: &[&str]) -> String {
        let method = format!("org.kde.KWallet.{method}");
        self.0
            .send(SERVICE, &[&[OBJECT, method.as_str()][..], arguments].concat())
    }

    fn is_open(&self, wallet: &str) -> bool {
        let reply = self.call("isOpen", &[&format!("string:{wallet}")]);
        reply.contains("boolean true")
    }

    /// Opens a wallet as the login of a desktop does: with the hash of its password. There is no window.
    fn open(&self, wallet: &str) {
        let hash = format!("array:byte:{}", ["65"; 56].join(","));
        self.call("pamOpen", &[&format!("string:{wallet}"), &hash, "int32:0"]);
    }

    fn close(&self, wallet: &str) {
        self.call("close", &[&format!("string:{wallet}"), "boolean:true"]);
        assert!(!self.is_open(wallet));
    }

    /// Adds lines to the configuration.
    fn configure(&self, lines: &str) {
        let path = self.0.path().join("config/kwalletrc");
        let text = fs::read_to_string(&path).expect("because the session writes it");
        fs::write(path, text + lines).expect("because it can be written");
        self.call("reconfigure", &[]);
    }

    fn query(&self, action: &str, entry: Option<&str>, wallet: &str, input: &str) -> String {
        let tool = Tool::new("kwallet-query")
            .args(["-f", "Subversion", action])
            .args(entry);
        let tool = tool.arg(wallet).env("QT_QPA_PLATFORM", "offscreen").stdin(input);
        self.0.within(tool).run().out()
    }

    /// Replaces the secret of an entry that is there.
    fn put(&self, entry: &str, secret: &str) {
        self.query("-w", Some(entry), WALLETS[0], secret);
        let read = self.query("-r", Some(entry), WALLETS[0], "");
        assert_eq!(read.trim_end_matches('\n'), secret.trim_end_matches('\n'));
    }

    /// Returns the entries of both wallets, as far as they are open, with their secrets.
    fn entries(&self) -> String {
        let mut shown = String::new();
        for wallet in WALLETS {
            if !self.is_open(wallet) {
                shown.push_str(&format!("{wallet} is closed\n"));
                continue;
            }
            let list = self.query("-l", None, wallet, "");
            let mut entries: Vec<&str> = list.lines().collect();
            entries.sort_unstable();
            for entry in entries {
                let secret = self.query("-r", Some(entry), wallet, "");
                shown.push_str(&format!("{wallet}: {entry} = {secret}"));
            }
        }
        shown
    }
}

/// A command on a terminal with answers, or without one.
struct Case {
    line: &'static str,
    answers: Option<&'static [&'static str]>,
    /// What the wallet has as the password of `alice` before.
    secret: Option<&'static str>,
    bus: Bus,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bus {
    Session,
    /// There is no session bus.
    None,
    /// It is where a session has it, and no variable has its address.
    InRuntimeDir,
}

const fn case(line: &'static str) -> Case {
    Case {
        line,
        answers: None,
        secret: None,
        bus: Bus::Session,
    }
}

const fn asked(line: &'static str, answers: &'static [&'static str]) -> Case {
    Case {
        answers: Some(answers),
        ..case(line)
    }
}

const fn with_bus(bus: Bus, case: Case) -> Case {
    Case { bus, ..case }
}

const fn with_secret(secret: &'static str, case: Case) -> Case {
    Case {
        secret: Some(secret),
        ..case
    }
}

/// They follow each other, with the wallets and the cache of the case before.
const CASES: &[Case] = &[
    case("svn ls {SVN} --username alice --password secret"),
    case("svn ls {SVN}"),
    case("svn ls {SVN} --no-auth-cache"),
    case("svn ls {SVN} --config-option config:auth:kwallet-svn-application-name-with-pid=yes"),
    case("svn ls {SVN} --config-option config:auth:kwallet-wallet="),
    case("svn ls {SVN} --config-option config:auth:kwallet-wallet=second"),
    case("svn auth --show-passwords"),
    case("svn ls {SVN} --username bob"),
    case("svn ls {SVN} --username bob --password pw"),
    case("svn ls {SVN}"),
    case("svn ls {SVN} --username alice"),
    case("svn ls {SVN} --username alice --password wrong"),
    case("svn ls {SVN} --username alice --password secret"),
    with_secret("wrong", case("svn ls {SVN}")),
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
    case("svn ls {SVN} --config-option config:auth:password-stores=gnome-keyring,kwallet"),
    with_bus(Bus::None, case("svn ls {SVN}")),
    with_bus(Bus::InRuntimeDir, case("svn ls {SVN}")),
    with_bus(Bus::None, asked("svn ls {SVN}", &["pw", "no"])),
    asked("svn ls {SVN} --username alice", &["secret"]),
    case("svn auth --remove alice"),
    asked(
        "svn ls {SVN} --username alice --config-option config:auth:password-stores=KWALLET",
        &["secret", "no"],
    ),
    asked(
        "svn ls {SVN} --username alice --config-option config:auth:password-stores=,gpg-agent,kwallet --config-option config:auth:kwallet-wallet=second",
        &["secret"],
    ),
    asked(
        "svn ls {SVN} --username bob --config-option servers:global:store-passwords=no",
        &["pw"],
    ),
    case(
        "svn ls {SVN} --username bob --password pw --config-option servers:global:store-plaintext-passwords=no",
    ),
    case("svn ls {SVN} --username älice --password ascii"),
    case("svn ls {SVN}"),
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

/// With a wallet that is closed, and nothing that could ask for its key.
const CLOSED: &[Case] = &[
    case("svn ls {SVN}"),
    case("svn ls {SVN} --username bob --password pw"),
    case(
        "svn ls {SVN} --username bob --password pw --config-option servers:global:store-plaintext-passwords=yes",
    ),
    case("svn ls {SVN} --username alice --password secret --config-option config:auth:kwallet-wallet=second"),
    case("svn ls {SVN} --config-option config:auth:kwallet-wallet=second"),
];

/// With a wallet that the client may not use, and then without one.
const REFUSED: &[Case] = &[
    case("svn ls {SVN}"),
    asked("svn ls {SVN}", &["^C"]),
    asked("svn ls {SVN} --username bob", &["pw", "no"]),
    case("svn ls {SVN} --username alice --password secret"),
];

/// Runs a case; returns the transcript, the files and the entries.
fn run(home: &Home<'_>, wallets: &Wallets, case: &Case) -> String {
    if let Some(secret) = case.secret {
        wallets.put(&format!("alice@{}", home.servers.realm()), secret);
    }
    let interaction = match case.answers {
        Some(_) => "",
        None if case.line.starts_with("svn auth") => "",
        None => " --non-interactive",
    };
    let tool = home.tool(&format!("{}{interaction}", case.line));
    let tool = wallets.0.within(tool);
    let tool = match case.bus {
        Bus::Session => tool,
        Bus::None => tool
            .env("DBUS_SESSION_BUS_ADDRESS", "")
            .env("XDG_RUNTIME_DIR", home.dir.path()),
        Bus::InRuntimeDir => tool.env("DBUS_SESSION_BUS_ADDRESS", ""),
    };
    let output = match case.answers {
        Some(answers) => terminal::run(&tool, answers),
        None => tool.run(),
    };
    let shown = format!("{}{}[exit {}]", output.out(), output.err(), output.code);
    format!(
        "{}\n{:#?}\n{}",
        home.shape(&shown),
        home.files(),
        wallets.entries()
    )
}

#[test]
fn passwords_are_kept_by_kwallet() {
    if !are_installed(&PROGRAMS) {
        return;
    }
    let servers = Servers::new();
    let passwd = servers.repository().join("conf/passwd");
    fs::write(
        passwd,
        "[users]\nalice = secret\nbob = pw\nälice = ascii\nbob2 = söcret\n",
    )
    .expect("because the repository is ours");
    let wallets = Side::BOTH.map(|_| Wallets::start(""));
    let homes = Side::BOTH.map(|side| {
        let home = Home::new(&servers, side);
        home.configure("");
        let stores = "[auth]\npassword-stores = kwallet\n";
        fs::write(home.area().join("config"), stores).expect("because the area is there");
        home
    });
    let mut failed = Vec::new();
    let mut compare = |cases: &[Case]| {
        for case in cases {
            let [theirs, ours] = [0, 1].map(|at| run(&homes[at], &wallets[at], case));
            if theirs != ours {
                let line = case.line;
                failed.push(format!("{line}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
            }
        }
    };
    compare(CASES);
    compare(CERTIFICATES);
    let login_of_alice = case("svn ls {SVN} --username alice --password secret");
    let log_in_everywhere = || {
        // Each client finds what the other one has stored.
        for at in [0, 1] {
            run(&homes[at], &wallets[at], &login_of_alice);
            let tool = homes[at].tool("svn ls {SVN} --non-interactive");
            let mut other = Side::BOTH[1 - at].tool("svn");
            other = other.args(tool.command().get_args());
            other = other.env("HOME", homes[at].dir.path());
            let found = wallets[at].0.within(other).run();
            assert_eq!(found.code, 0, "{found:?}");
        }
    };
    log_in_everywhere();
    // Subversion's client stores such a password, and reads another one.
    let login = case("svn ls {SVN} --username bob2 --password söcret");
    compare(&[login]);
    let found = wallets[1]
        .0
        .within(homes[1].tool("svn ls {SVN} --non-interactive"));
    found.ok();
    for wallets in &wallets {
        wallets.close(WALLETS[0]);
    }
    compare(CLOSED);
    for wallets in &wallets {
        wallets.open(WALLETS[0]);
    }
    log_in_everywhere();
    let shown = normalize::replace(&wallets[1].entries(), &[(&servers.realm(), "REALM")]);
    assert!(shown.contains("kdewallet: alice@REALM = secret\n"), "{shown}");
    for wallets in &wallets {
        wallets.configure("[Auto Deny]\nkdewallet=subversion\n");
    }
    compare(REFUSED);
    for wallets in &wallets {
        wallets.configure("[Wallet]\nEnabled=false\n");
    }
    compare(REFUSED);
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn the_keyring_comes_before_kwallet_and_an_agent_after_it() {
    if !are_installed(&PROGRAMS) || !are_installed(&keyring::PROGRAMS) || !are_installed(&["gpg-agent"]) {
        return;
    }
    let servers = Servers::new();
    let before = format!("{}; ", keyring::START);
    let agent = "gpg-agent --daemon --homedir \"$HOME\" > /dev/null; ";
    for begin in [before.as_str(), agent] {
        servers.same(begin, |home| {
            let wallets = Wallets::start(begin);
            if begin == before {
                let is_unlocked = || keyring::is_unlocked(&wallets.0);
                wallets.0.wait_until("a keyring", is_unlocked);
            }
            let stores = [
                "",
                " --config-option config:auth:password-stores=kwallet,gnome-keyring,gpg-agent",
                " --config-option config:auth:password-stores=gpg-agent,kwallet,gnome-keyring",
            ];
            let shown = stores.map(|option| {
                let line =
                    format!("svn ls {{SVN}} --username alice --password secret --non-interactive{option}");
                let socket = wallets.0.path().join("S.gpg-agent");
                let info = format!("{}:1:1", socket.display());
                let tool = wallets.0.within(home.tool(&line)).env("GPG_AGENT_INFO", info);
                let output = tool.run();
                let files = home.files();
                _ = fs::remove_dir_all(home.area().join("auth"));
                let shown = format!("{}{}{}", output.out(), output.err(), output.code);
                format!("{shown}\n{files:#?}\n{}", wallets.entries())
            });
            let stop = Tool::new("gpgconf").args(["--kill", "gpg-agent"]);
            stop.env("GNUPGHOME", wallets.0.path()).run();
            normalize::replace(
                &shown.join("\n"),
                &[
                    (&wallets.0.path().to_string_lossy(), "{SESSION}"),
                    (&home.dir.path().to_string_lossy(), "{HOME}"),
                ],
            )
        });
    }
}
