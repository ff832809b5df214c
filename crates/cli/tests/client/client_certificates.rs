//! Certificates of clients, beside Subversion's client: which files can be used, what is asked, and when a passphrase is stored.
//!
//! All servers trust the root's certificates for clients.

use std::fs;
use std::path::{Path, PathBuf};

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use testkit::server::certified_hosts::{
    CertifiedHost, CertifiedHosts, SignedCertificate, certificate_params,
};
use testkit::{Side, Tool, normalize, sample, scratch};

use crate::context::NO_STORES;
use crate::terminal;

/// The lines of the servers: TLS 1.2 and 1.3, one that does without a certificate, and one that demands a password too.
const SERVERS: [&str; 4] = [
    "SSLProtocol TLSv1.2\nSSLVerifyClient require\n",
    "SSLProtocol TLSv1.3\nSSLVerifyClient require\n",
    "SSLVerifyClient optional\n",
    "SSLVerifyClient require\n<Location />\nAuthType Basic\nAuthName realm\nAuthUserFile \"@FOLDER/users\"\nRequire valid-user\n</Location>\n",
];
const TLS12: usize = 0;
const TLS13: usize = 1;
const OPTIONAL: usize = 2;
const LOGIN: usize = 3;

struct Site(CertifiedHosts);

impl Site {
    fn new() -> Site {
        let hosts = SERVERS.iter().enumerate().map(|(number, lines)| CertifiedHost {
            file: server_file(number),
            lines: format!("SSLCACertificateFile \"@CERTIFICATES/root.pem\"\nSSLVerifyDepth 3\n{lines}"),
        });
        let hosts: Vec<CertifiedHost> = hosts.collect();
        let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
        Site(CertifiedHosts::new(
            &hosts,
            &[("users", users)],
            write_certificates,
        ))
    }

    /// Runs `svn info` in a new home. Returns the transcript, and what is stored.
    fn run(&self, side: Side, case: &Case) -> String {
        let home = scratch();
        let file = |name: &str| self.0.folder().join(name).display().to_string();
        let path = if case.options.contains("nosuch") {
            "nosuch"
        } else {
            "r"
        };
        let url = self.0.url(case.server, path);
        let global = |setting: String| format!("--config-option=servers:global:{setting}");
        let own = match case.file {
            "" => "--config-option=config:auth:ssl-client-cert-file-prompt=yes".to_owned(),
            name => global(format!("ssl-client-cert-file={}", file(name))),
        };
        let tool = side
            .tool("svn")
            .args(["info", "--show-item", "kind", &url, &own])
            .arg(global(format!("ssl-authority-files={}", file("root.pem"))))
            .arg(NO_STORES)
            .args(
                case.options
                    .split_ascii_whitespace()
                    .filter(|word| *word != "nosuch"),
            )
            .env("HOME", home.path())
            .dir(self.0.folder());
        if !case.stored.is_empty() {
            store_passphrase(home.path(), &file(case.file), case.stored);
        }
        let output = terminal::run(&tool, case.answers);
        // Subversion's client complains about files that it cannot read.
        let shown = output.out();
        let lines = shown
            .lines()
            .filter(|line| !line.starts_with("OpenSSL cert error"));
        let mut shown: String = lines.map(|line| format!("{line}\n")).collect();
        shown += &format!("[exit {}]\n", output.code);
        for path in stored_files(home.path()) {
            shown += &String::from_utf8_lossy(&fs::read(path).unwrap_or_default());
        }
        let names = [(home.path(), "{HOME}"), (self.0.folder(), "{SITE}")];
        let names = names.map(|(path, name)| (path.display().to_string(), name));
        let names: Vec<(&str, &str)> = names.iter().map(|(path, name)| (path.as_str(), *name)).collect();
        normalize::replace(&shown, &names)
    }
}

/// What a client has, and who is asked.
#[derive(Clone, Copy, Debug)]
struct Case {
    server: usize,
    /// The file of the configuration; empty for one that the user names.
    file: &'static str,
    /// Options, and `nosuch` for a repository that does not exist.
    options: &'static str,
    answers: &'static [&'static str],
    /// The passphrase in the cache, if there is one.
    stored: &'static str,
}

const fn case(server: usize, file: &'static str, answers: &'static [&'static str]) -> Case {
    Case {
        server,
        file,
        options: "",
        answers,
        stored: "",
    }
}

const fn with(options: &'static str, case: Case) -> Case {
    Case { options, ..case }
}

const fn stored(passphrase: &'static str, case: Case) -> Case {
    Case {
        stored: passphrase,
        ..case
    }
}

const GIVEN: &str = "--config-option=servers:global:ssl-client-cert-password=geheim";
const GIVEN_WRONG: &str = "--config-option=servers:global:ssl-client-cert-password=bad";
const YES: &str = "--config-option=servers:global:store-ssl-client-cert-pp-plaintext=yes";

const CASES: &[Case] = &[
    case(TLS12, "own.p12", &["geheim", "yes"]),
    case(TLS13, "own.p12", &["geheim", "yes"]),
    case(TLS13, "own.p12", &["geheim", "no"]),
    case(OPTIONAL, "own.p12", &["geheim", "yes"]),
    with("nosuch", case(TLS12, "own.p12", &["geheim", "yes"])),
    // The server refuses them.
    case(TLS12, "stranger.p12", &["geheim", "yes"]),
    case(TLS13, "stranger.p12", &["geheim", "yes"]),
    with(YES, case(TLS12, "stranger.p12", &["geheim"])),
    with(YES, case(TLS13, "stranger.p12", &["geheim"])),
    case(TLS12, "nosuch.p12", &[]),
    case(TLS13, "nosuch.p12", &[]),
    with("--non-interactive", case(TLS13, "stranger.p12", &[])),
    // Passphrases.
    case(TLS12, "own.p12", &["bad", "geheim", "yes"]),
    case(OPTIONAL, "own.p12", &["bad", "bad", "bad", "geheim"]),
    case(TLS12, "empty.p12", &["geheim"]),
    with(GIVEN, case(TLS13, "own.p12", &["no"])),
    with(GIVEN_WRONG, case(TLS12, "own.p12", &["geheim"])),
    with(GIVEN_WRONG, case(OPTIONAL, "own.p12", &["geheim"])),
    with("--non-interactive", case(TLS12, "own.p12", &[])),
    with("--non-interactive", case(OPTIONAL, "own.p12", &[])),
    with("--no-auth-cache", case(TLS13, "own.p12", &["geheim"])),
    with("--non-interactive", stored("geheim", case(TLS13, "own.p12", &[]))),
    with("--non-interactive", stored("bad", case(TLS13, "own.p12", &[]))),
    stored("bad", case(TLS12, "own.p12", &["geheim", "yes"])),
    stored("geheim", case(TLS13, "stranger.p12", &["geheim", "yes"])),
    // A "no" in `config` counts before the other file; both files must allow that a passphrase is stored.
    with(
        "--config-option=config:auth:store-auth-creds=no --config-option=servers:global:store-auth-creds=yes",
        case(TLS13, "own.p12", &["geheim", "yes"]),
    ),
    with(
        "--config-option=config:auth:store-passwords=no --config-option=servers:global:store-passwords=yes",
        case(TLS13, "own.p12", &["geheim", "yes"]),
    ),
    with(
        "--config-option=servers:global:store-passwords=no",
        case(TLS12, "own.p12", &["geheim", "yes"]),
    ),
    with(
        "--config-option=servers:global:store-ssl-client-cert-pp=no",
        case(TLS12, "own.p12", &["geheim", "yes"]),
    ),
    with(
        "--config-option=config:auth:store-ssl-client-cert-pp=no",
        case(TLS12, "own.p12", &["geheim", "yes"]),
    ),
    with(
        "--config-option=servers:global:store-ssl-client-cert-pp-plaintext=no",
        case(TLS12, "own.p12", &["geheim", "yes"]),
    ),
    // Files that are no PKCS#12.
    case(OPTIONAL, "own.der", &["geheim"]),
    case(TLS12, "own.der", &["geheim"]),
    case(OPTIONAL, "certificate.pem", &["geheim"]),
    case(OPTIONAL, "nosuch.p12", &["geheim"]),
    case(OPTIONAL, ".", &["geheim"]),
    // Files that the user names.
    case(TLS13, "", &["own.p12", "geheim", "yes"]),
    case(
        TLS12,
        "",
        &["own.der", "certificate.pem", "own.p12", "geheim", "no"],
    ),
    case(TLS12, "", &["nosuch", "own.der", "nosuch"]),
    case(OPTIONAL, "", &["stranger.p12", "geheim", "yes"]),
    // Then a password.
    with(
        "--username alice",
        case(LOGIN, "own.p12", &["geheim", "secret", "no", "yes"]),
    ),
    with(
        "--username alice",
        case(
            LOGIN,
            "own.p12",
            &["geheim", "bad", "alice", "secret", "yes", "no"],
        ),
    ),
    with(
        "--username alice",
        case(LOGIN, "own.p12", &["geheim", "bad", "a", "b", "c", "d"]),
    ),
];

#[test]
fn certificates_and_passphrases_are_asked_for_alike() {
    let site = Site::new();
    let mut wrong = Vec::new();
    for case in sample(3, CASES) {
        let [theirs, ours] = Side::BOTH.map(|side| site.run(side, case));
        if theirs != ours {
            wrong.push(format!("{case:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// A difference on purpose: Subversion's client sends no certificate but its own, and does not read PEM.
#[test]
fn chains_and_pem_work() {
    let site = Site::new();
    for (file, answers) in [
        ("chain.p12", &["geheim", "yes"][..]),
        ("chain.pem", &[]),
        ("own.pem", &[]),
    ] {
        for server in [TLS12, TLS13] {
            let shown = site.run(Side::Ours, &case(server, file, answers));
            assert!(shown.contains("dir\n[exit 0]"), "{file}: {shown}");
            assert_eq!(
                shown.contains("passphrase\n"),
                file == "chain.p12",
                "{file}: {shown}"
            );
        }
    }
}

/// Writes a passphrase to the cache of a configuration area.
fn store_passphrase(home: &Path, file: &str, passphrase: &str) {
    let folder = home.join(".subversion/auth/svn.ssl.client-passphrase");
    fs::create_dir_all(&folder).expect("because the home is ours");
    let entries = [
        ("passphrase", passphrase),
        ("passtype", "simple"),
        ("svn:realmstring", file),
    ];
    let entries = entries
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mut text = Vec::new();
    hashdump::write(&mut text, entries, Terminator::End);
    let name = Md5::of(file.as_bytes()).to_string();
    fs::write(folder.join(name), text).expect("because the directory is there");
}

fn stored_files(home: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.join(".subversion/auth"))
        .into_iter()
        .flatten()
        .flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    files
}

/// Writes the certificates of the authorities, the servers and the clients to a folder.
fn write_certificates(folder: &Path) {
    let write = |name: &str, text: &[u8]| {
        fs::write(folder.join(name), text).expect("because the folder is ours");
    };
    let authority = |name: &str, issuer: Option<&SignedCertificate>| {
        SignedCertificate::authority(certificate_params(name), issuer)
    };
    let root = authority("root", None);
    let middle = authority("middle", Some(&root));
    let foreign = authority("foreign", None);
    write("root.pem", root.pem().as_bytes());
    write("middle.pem", middle.pem().as_bytes());
    let issue = |name: &str, issuer: &SignedCertificate| {
        let signed = SignedCertificate::new(certificate_params(name), Some(issuer));
        let text = signed.pem() + &signed.key_pem();
        write(&format!("{name}.pem"), text.as_bytes());
        (signed, text)
    };
    for number in 0..SERVERS.len() {
        issue(&CertifiedHosts::address(number), &root);
    }
    let (own, _) = issue("own", &root);
    write("own.der", own.certificate.der());
    write("certificate.pem", own.pem().as_bytes());
    issue("stranger", &foreign);
    let (_, text) = issue("chain", &middle);
    write("chain.pem", (text + &middle.pem()).as_bytes());
    for (name, source, passphrase) in [
        ("own", "own", "geheim"),
        ("empty", "own", ""),
        ("stranger", "stranger", "geheim"),
        ("chain", "chain", "geheim"),
    ] {
        let at = |name: &str, end: &str| folder.join(format!("{name}.{end}"));
        let mut tool = Tool::new("openssl")
            .args([
                "pkcs12",
                "-export",
                "-passout",
                &format!("pass:{passphrase}"),
                "-in",
            ])
            .arg(at(source, "pem"))
            .arg("-out")
            .arg(at(name, "p12"));
        if name == "chain" {
            tool = tool.arg("-certfile").arg(folder.join("middle.pem"));
        }
        tool.ok();
    }
}

/// Returns the file with the certificate of a server.
fn server_file(number: usize) -> String {
    format!("{}.pem", CertifiedHosts::address(number))
}
