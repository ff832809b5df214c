//! The configuration area, credentials and questions, beside Subversion's client: the same transcripts on a terminal, and the same
//! files in the configuration area afterwards.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::server::transport::{Transport, certificate};
use testkit::{Side, Tool, normalize, sample, scratch};

use crate::terminal;

/// Apache's directives for: only users, by Basic.
const LOGIN: &str = "AuthType Basic\nAuthName repository\nAuthUserFile USERS\nRequire valid-user\n";

/// Without stores of passwords. With one that does not take a passphrase, Subversion's client does not offer it to the file; with Digest and
/// a wrong password among the options it asks no question.
pub const NO_STORES: &str = "--config-option=config:auth:password-stores=";

/// Subversion's servers for one repository with the file `iota`. Each is started when a test needs it.
pub struct Servers {
    folder: TempDir,
    svn: OnceCell<TestServer>,
    basic: OnceCell<TestServer>,
    digest: OnceCell<TestServer>,
    tls: OnceCell<TestServer>,
    client_tls: OnceCell<TestServer>,
}

impl Servers {
    pub fn new() -> Servers {
        let folder = scratch();
        let repository = folder.path().join("r");
        Tool::new("svnadmin").arg("create").arg(&repository).ok();
        fs::write(folder.path().join("iota"), "text\n").expect("the folder is new");
        Tool::new("svn")
            .args(["import", "-q", "-m", ""])
            .arg(folder.path().join("iota"))
            .arg(format!("file://{}/iota", repository.display()))
            .ok();
        let write = |name: &str, text: &str| fs::write(repository.join(name), text).expect("it was made");
        write(
            "conf/svnserve.conf",
            "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\nrealm = My realm\n",
        );
        write("conf/passwd", "[users]\nalice = secret\nbob = pw\n");
        Servers {
            folder,
            svn: OnceCell::new(),
            basic: OnceCell::new(),
            digest: OnceCell::new(),
            tls: OnceCell::new(),
            client_tls: OnceCell::new(),
        }
    }

    /// The directory of all repositories.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The repository with `iota`.
    pub fn repository(&self) -> PathBuf {
        self.root().join("r")
    }

    fn svn(&self) -> &TestServer {
        self.svn
            .get_or_init(|| TestServer::svnserve(Side::Theirs, self.root(), &["-T"]))
    }

    /// Returns the name of the file of svnserve's realm.
    fn realm_file(&self) -> String {
        Md5::of(self.realm().as_bytes()).to_string()
    }

    /// The realm of svnserve.
    pub fn realm(&self) -> String {
        format!("<svn://127.0.0.1:{}> My realm", self.svn().port())
    }

    pub fn site(&self, transport: Transport, apache: &str, apache_wide: &str) -> TestServer {
        let site = HttpSite {
            transport,
            apache,
            apache_wide,
            ..HttpSite::plain(self.root())
        };
        TestServer::http_site(Side::Theirs, &site)
    }

    fn client_tls(&self) -> TestServer {
        let pair = certificate().certificate.display().to_string();
        let demanding = format!("SSLVerifyClient require\nSSLCACertificateFile \"{pair}\"\n");
        Tool::new("openssl")
            .args(["pkcs12", "-export", "-passout", "pass:geheim"])
            .args(["-in", &pair, "-inkey", &pair, "-out"])
            .arg(self.pkcs12())
            .ok();
        self.site(Transport::Https, "", &demanding)
    }

    /// A client certificate with the passphrase `geheim`.
    fn pkcs12(&self) -> PathBuf {
        self.root().join("own.p12")
    }

    /// Replaces the name of a server or a file: `{SVN}`, `{BASIC}`, `{DIGEST}`, `{TLS}`, `{TLS-IP}`, `{CLIENT-TLS}` and `{FILE}` are URLs of
    /// `iota`.
    fn expand(&self, word: &str) -> String {
        let Some((before, rest)) = word.split_once('{') else {
            return word.to_owned();
        };
        let (name, after) = rest.split_once('}').expect("a name has an end");
        let http = |scheme: &str, host: &str, server: &TestServer| {
            format!("{scheme}://{host}:{}/r/iota", server.port())
        };
        let basic = || {
            let server = self.basic.get_or_init(|| self.site(Transport::Http, LOGIN, ""));
            http("http", "localhost", server)
        };
        let tls = |host: &str| {
            let server = self.tls.get_or_init(|| self.site(Transport::Https, "", ""));
            http("https", host, server)
        };
        let value = match name {
            "SVN" => self.svn().url("r/iota"),
            "BASIC" => basic(),
            "BASIC-ROOT" => basic().trim_end_matches("/iota").to_owned(),
            "DIGEST" => {
                let server = self.digest.get_or_init(|| digest_server(self.root()));
                http("http", "localhost", server)
            }
            "TLS" => tls("localhost"),
            "TLS-IP" => tls("0x7f000001"),
            "CLIENT-TLS" => {
                let server = self.client_tls.get_or_init(|| self.client_tls());
                http("https", "localhost", server)
            }
            "FILE" => format!("file://{}/iota", self.repository().display()),
            "P12" => self.pkcs12().display().to_string(),
            "PEM" => certificate().certificate.display().to_string(),
            other => panic!("no server is called {other}"),
        };
        format!("{before}{value}{}", self.expand(after))
    }

    /// Runs the same steps for both sides, and compares what they return and the files.
    pub fn same(&self, name: &str, mut steps: impl FnMut(&Home<'_>) -> String) {
        let [theirs, ours] = Side::BOTH.map(|side| {
            let home = Home::new(self, side);
            let shown = steps(&home);
            (shown, home.files())
        });
        assert!(
            theirs.0 == ours.0,
            "{name}\n--- theirs\n{}\n--- ours\n{}",
            theirs.0,
            ours.0
        );
        assert!(
            theirs.1 == ours.1,
            "{name}: the files differ\n--- theirs\n{:#?}\n--- ours\n{:#?}",
            theirs.1,
            ours.1
        );
    }
}

fn digest_server(root: &Path) -> TestServer {
    let hash = Md5::of(b"alice:digested:secret");
    let users = format!("alice:digested:{hash}\n");
    let lines = format!(
        "LoadModule auth_digest_module /usr/lib/apache2/modules/mod_auth_digest.so\n<Location />\nDAV svn\n\
         SVNParentPath \"{}\"\nAuthType Digest\nAuthName digested\nAuthUserFile \"@FOLDER/digests\"\nRequire valid-user\n\
         </Location>\n",
        root.display()
    );
    TestServer::apache_with(&lines, &[("digests", &users)])
}

/// A home directory of one side.
pub struct Home<'s> {
    pub servers: &'s Servers,
    pub side: Side,
    pub dir: TempDir,
}

impl<'s> Home<'s> {
    /// Makes an empty home directory.
    pub fn new(servers: &'s Servers, side: Side) -> Home<'s> {
        Home {
            servers,
            side,
            dir: scratch(),
        }
    }

    /// The configuration area.
    pub fn area(&self) -> PathBuf {
        self.dir.path().join(".subversion")
    }

    /// Makes the area with this text of `servers`.
    pub fn configure(&self, servers: &str) {
        fs::create_dir_all(self.area()).expect("the home is writable");
        fs::write(self.area().join("servers"), servers).expect("the area is there");
    }

    /// Returns a tool. Words are separated by blanks, and the first one is the tool.
    pub fn tool(&self, line: &str) -> Tool {
        let mut words = line
            .split_ascii_whitespace()
            .map(|word| self.servers.expand(word));
        let program = words.next().unwrap_or_default();
        let tool = self.side.tool(&program).args(words);
        tool.env("HOME", self.dir.path()).dir(self.dir.path())
    }

    /// Runs a command on a terminal; returns the transcript.
    pub fn ask(&self, line: &str, answers: &[&str]) -> String {
        let output = terminal::run(&self.tool(line), answers);
        format!("{}[exit {}]", self.shape(&output.out()), output.code)
    }

    /// Runs a command without a terminal.
    pub fn run(&self, line: &str, stdin: &str) -> String {
        let output = self.tool(line).stdin(stdin).run();
        let (out, err) = (self.shape(&output.out()), self.shape(&output.err()));
        format!("{out}--- stderr\n{err}[exit {}]", output.code)
    }

    /// Replaces the path of the home directory.
    pub fn shape(&self, text: &str) -> String {
        normalize::replace(text, &[(&self.dir.path().to_string_lossy(), "{HOME}")])
    }

    /// Returns the paths of the area with their modes, and the texts of credentials. A file with a secret has a stricter mode here.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(self.dir.path(), self.dir.path(), &mut files);
        files
    }
}

fn collect(root: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be read").path();
        // Made by libraries of the desktop, if they are installed.
        if path.ends_with(".cache") {
            continue;
        }
        let mode = fs::metadata(&path).expect("it exists").permissions().mode() & 0o777;
        let name = path
            .strip_prefix(root)
            .expect("it is below")
            .display()
            .to_string();
        if path.is_dir() {
            files.insert(name, format!("{mode:o}"));
            collect(root, &path, files);
        } else if name.contains("/auth/") {
            let text = String::from_utf8_lossy(&fs::read(&path).expect("it can be read")).into_owned();
            let is_secret = text.contains("passtype");
            let mode = if is_secret {
                "secret".to_owned()
            } else {
                format!("{mode:o}")
            };
            files.insert(name, format!("{mode}\n{text}"));
        } else {
            files.insert(name, format!("{mode:o}"));
        }
    }
}

#[test]
fn passwords_are_asked_for_and_stored() {
    let servers = Servers::new();
    let cases = [
        ("svn cat {SVN} --username alice", &["secret", "no"][..]),
        ("svn cat {SVN} --username alice", &["secret", "maybe", "", "YES"]),
        ("svn cat {SVN}", &["wrong", "bob", "pw", "y"]),
        ("svn cat {SVN}", &["a", "b", "c", "d", "e", "f"]),
        (
            "svn cat {SVN} --username alice",
            &["se\x7f\x08\x08\x7fsecret\t", "n"],
        ),
        (
            "svn cat {SVN}",
            &["x", "é€\x7f\x7f\x7f\x7f\x7falice", "secret", "no"],
        ),
        ("svn cat {SVN}", &["^D"]),
        ("svn cat {SVN}", &["^C"]),
        ("svn cat {SVN}", &["^\\"]),
        ("svn cat {SVN}", &["\x1aalice\x1a", "secret", "^\\"]),
        ("svn cat {SVN} --username alice", &["secret", "^D"]),
        ("svn cat {SVN} --username alice", &["secret", "^C"]),
        (
            "svn cat {SVN} --config-option config:auth:password-stores=",
            &["x", "alice", "secret", "^D"],
        ),
        (
            "svn cat {SVN} --username alice --password wrong",
            &["a", "b", "c", "d"],
        ),
        ("svn cat {SVN} --password secret", &["alice", "secret", "no"]),
        ("svn cat {SVN} --username alice --password secret", &["no"]),
        ("svn cat {SVN} --username alice --no-auth-cache", &["secret"]),
        ("svn cat {BASIC} --username alice", &["secret", "yes"]),
        ("svn cat {BASIC}", &["a", "b", "c", "d", "e", "f"]),
        ("svn cat {DIGEST} --username alice", &["secret", "yes"]),
        (
            "svn cat {DIGEST} --username alice --password wrong",
            &["a", "b", "c", "d"],
        ),
        ("svn cat {FILE} --username x", &[]),
    ];
    for (line, answers) in sample(2, cases) {
        let stores = if line.contains("{DIGEST}") { NO_STORES } else { "" };
        servers.same(line, |home| home.ask(&format!("{line} {stores}"), answers));
    }
}

#[test]
fn the_configuration_decides_what_is_stored() {
    let servers = Servers::new();
    let line = "svn cat {SVN} --username alice --password secret --config-option";
    for (option, answers) in [
        ("servers:global:store-plaintext-passwords=yes", &[][..]),
        ("servers:global:store-plaintext-passwords=no", &[]),
        ("servers:global:store-plaintext-passwords=ASK", &["no"]),
        ("servers:global:store-plaintext-passwords=maybe", &[]),
        ("servers:global:store-passwords=no", &[]),
        ("servers:global:store-passwords=x", &[]),
        ("servers:global:store-auth-creds=no", &[]),
        ("config:auth:store-passwords=no", &[]),
        ("config:auth:store-auth-creds=no", &[]),
        ("config:auth:store-auth-creds=x", &[]),
    ] {
        servers.same(option, |home| home.ask(&format!("{line} {option}"), answers));
    }
}

#[test]
fn stored_passwords_are_used_and_replaced() {
    let servers = Servers::new();
    const YES: &str = "[global]\nstore-plaintext-passwords = yes\n";
    for (line, answers) in [
        ("svn cat {SVN}", &[][..]),
        ("svn cat {SVN} --username bob", &["pw"]),
        ("svn cat {SVN} --username bob --password pw", &[]),
        ("svn cat {SVN} --password wrong", &["x", "y"]),
        ("svn cat {SVN} --no-auth-cache", &[]),
    ] {
        servers.same(line, |home| {
            home.configure(YES);
            home.run("svn cat {SVN} --username alice --password secret", "") + &home.ask(line, answers)
        });
    }
    // A record without the password: it was not to be stored.
    for (line, answers) in [
        ("svn cat {SVN} --username alice --password secret", &["no"][..]),
        ("svn cat {SVN} --password secret", &["no"]),
        ("svn cat {SVN} --username alice", &["secret", "no"]),
        ("svn cat {SVN} --username bob --password pw", &["no"]),
    ] {
        servers.same(line, |home| {
            let first = home.run(
                "svn cat {SVN} --username alice --password secret --non-interactive",
                "",
            );
            first + &home.ask(line, answers)
        });
    }
    // The other side's client reads what one side has stored.
    for side in Side::BOTH {
        let home = Home::new(&servers, side);
        home.configure(YES);
        home.run("svn cat {SVN} --username alice --password secret", "");
        home.run("svn cat {BASIC} --username alice --password secret", "");
        let other = if side == Side::Ours {
            Side::Theirs
        } else {
            Side::Ours
        };
        let reader = Home {
            servers: &servers,
            side: other,
            dir: home.dir,
        };
        for url in ["{SVN}", "{BASIC}"] {
            let shown = reader.run(&format!("svn cat {url} --non-interactive"), "");
            assert_eq!(shown, "text\n--- stderr\n[exit 0]", "{side:?} stored it");
        }
    }
    // A password that is wrong now.
    for answers in [&["secret"][..], &["bad", "bob", "pw"], &["a", "b", "c", "d", "e"]] {
        servers.same("a changed password", |home| {
            home.configure(YES);
            home.run("svn cat {SVN} --username alice --password secret", "");
            let file = home.area().join("auth/svn.simple").join(servers.realm_file());
            let text = fs::read_to_string(&file).expect("it was stored");
            fs::write(&file, text.replace("secret", "zecret")).expect("it can be written");
            home.run("svn cat {SVN} --non-interactive", "") + &home.ask("svn cat {SVN}", answers)
        });
    }
}

#[test]
fn groups_of_hosts_have_their_own_options() {
    let servers = Servers::new();
    for text in [
        "[groups]\ng = 127.*, other\nh = LOCALHOST\n[g]\nusername = alice\n[h]\nusername = carol\n",
        "[GROUPS]\nA=127.*\n[a]\nUserName=alice\n",
        "[groups]\nzz=*\nb=127.0.0.1\na=127.*\n[a]\nusername=ua\n[b]\nusername=ub\n[zz]\nusername=uc\n",
        "[groups]\nb = 127.0.0.1:13700\n[b]\nusername=ub\n[global]\nusername=%(x)s y\nx=1\n",
        "[groups]\ng=127*\n[g]\nstore-passwords=x\n",
    ] {
        servers.same(text, |home| {
            home.configure(text);
            home.ask("svn cat {SVN}", &["secret", "no"])
        });
    }
}

#[test]
fn options_of_servers_have_the_incumbents_errors() {
    let servers = Servers::new();
    let line = "svn cat {BASIC} --non-interactive --username alice --password secret --config-option servers:global:";
    for option in [
        "http-timeout=x",
        "http-timeout=-1",
        "http-compression=x",
        "http-auth-types=x",
        "http-auth-types=digest",
        "http-auth-types=",
        "http-auth-types=Basic;digest",
        "http-bulk-updates=x",
        "http-max-connections=x",
        "http-max-connections=0",
        "http-chunked-requests=x",
        "http-library=neon",
        "http-proxy-host=nosuch.invalid",
        "http-proxy-hots=x",
        "ssl-verify=x",
    ] {
        servers.same(option, |home| home.run(&format!("{line}{option}"), ""));
    }
    for port in [
        "x",
        "99999",
        "-5",
        "1",
        "",
        "-0",
        "99999999999999999999",
        "-99999999999999999999",
        "0x1",
        "+1",
    ] {
        let options =
            format!("http-proxy-host=localhost --config-option servers:global:http-proxy-port={port}");
        servers.same(&options, |home| home.run(&format!("{line}{options}"), ""));
        let exceptions = format!("{options} --config-option servers:global:http-proxy-exceptions=x,local*");
        servers.same(&exceptions, |home| home.run(&format!("{line}{exceptions}"), ""));
    }
    let line = "svn cat {TLS} --non-interactive --config-option servers:global:";
    for option in [
        "ssl-authority-files={PEM}",
        "ssl-authority-files={PEM}.none",
        "ssl-authority-files=/etc/hosts",
        "ssl-trust-default-ca=x",
    ] {
        servers.same(option, |home| home.run(&format!("{line}{option}"), ""));
    }
    // The files of authorities are read when the address of the host is known.
    for url in [
        "https://nosuch.invalid/r",
        "https://127.0.0.1:1/r",
        "http://127.0.0.1:1/r",
    ] {
        let line = format!(
            "svn cat {url} --non-interactive --config-option servers:global:ssl-authority-files={{PEM}}.none"
        );
        servers.same(url, |home| home.run(&line, ""));
    }
}

#[test]
fn options_of_config_have_the_incumbents_errors() {
    let servers = Servers::new();
    for text in [
        "[miscellany]\nmemory-cache-size = x\n",
        "[miscellany]\nmemory-cache-size =\n",
        "[miscellany]\nmemory-cache-size = -1\n",
        "[miscellany]\nmemory-cache-size = +5\n",
        "[miscellany]\nmemory-cache-size = 0\n",
        "[miscellany]\nmemory-cache-size = 9223372036854775808\n",
        "[miscellany]\ninteractive-conflicts = x\n",
        "[miscellany]\ninteractive-conflicts = x\n[auth]\nstore-passwords = y\n",
        "[miscellany]\nuse-commit-times = x\nno-unlock = x\n[working-copy]\nbusy-timeout = x\nexclusive-locking = x\n",
        "[auth]\npassword-stores = gnome-keyring, kwallet nonsense\n",
        "[auth]\npassword-stores = %(x)s\n[DEFAULT]\nx = gpg-agent\n",
        "[DEFAULT]\nmemory-cache-size = x\n[miscellany]\nno-unlock = no\n",
        "[DEFAULT]\nmemory-cache-size = x\n[miscellany]\n",
        "[miscellany]\nno-unlock = no\nmemory-cache-size = 1\n[DEFAULT]\nmemory-cache-size = x\n",
    ] {
        servers.same(text, |home| {
            home.configure("");
            fs::write(home.area().join("config"), text).expect("the area is there");
            [
                "svn cat {FILE}",
                "svn cat",
                "svn diff -r0:1 {FILE}",
                "svnrdump dump -q {FILE} -r0",
                "svn cat {SVN} --non-interactive",
            ]
            .map(|line| home.run(line, ""))
            .concat()
        });
    }
    for option in [
        "servers:global:x:y=z",
        "config:auth:x=a:b",
        "a:b:c=",
        "CONFIG:auth:x=1",
        "config:a =b",
        "config:a:=b",
    ] {
        let words = format!("svn cat {{FILE}} --config-option {option} --config-option {option}");
        servers.same(option, |home| home.run(&words, ""));
    }
}

#[test]
fn access_options_are_checked_in_the_incumbents_order() {
    let servers = Servers::new();
    for words in [
        "cat",
        "cat --non-interactive --force-interactive",
        "foo --non-interactive --force-interactive",
        "cat -r x:y --non-interactive --force-interactive",
        "cat --force-interactive --password-from-stdin --trust-server-cert",
        "cat --force-interactive --password-from-stdin",
        "cat --trust-server-cert-failures=unknown-ca,foo",
        "cat --config-option x",
        "cat --config-option servers::x=1",
        "cat {FILE} --config-option foo:x:y=1",
        "cat {FILE} --config-option config:helpes:y=1",
        "cat {FILE} --config-option servers:global:user=1",
        "cat --config-option config:auth:store-passwords=x",
        "cat --config-option servers:global:store-passwords=x",
        "cat {FILE} --config-option servers:global:store-passwords=x",
        "auth --remove",
    ] {
        servers.same(words, |home| home.run(&format!("svn {words}"), ""));
    }
    for failures in [
        "unknown-ca expired",
        "unknown-ca , expired",
        "\texpired\n other\r",
        "unknown-ca x",
        "x y,z",
        "expired\u{b}x",
        "expired\u{c}other",
        "expired\u{a0}other",
    ] {
        servers.same(failures, |home| {
            let line = "svn cat {FILE} --non-interactive --trust-server-cert-failures";
            let output = home.tool(line).arg(failures).run();
            format!("{}{}", output.out(), output.err())
        });
    }
    for (words, answers) in [
        ("cat {FILE} --trust-server-cert", &[][..]),
        ("cat {FILE} --password-from-stdin", &[]),
        (
            "cat {FILE} --config-option config:auth:ssl-client-cert-file-prompt=x",
            &[],
        ),
    ] {
        servers.same(words, |home| home.ask(&format!("svn {words}"), answers));
    }
    for stdin in ["secret", "secret\nmore", "secret\r\nmore", "sec\0ret", "", "\n"] {
        let line = "svn cat {SVN} --username alice --password-from-stdin";
        servers.same(stdin, |home| home.run(line, stdin));
    }
}

#[test]
fn without_a_terminal_answers_are_lines_of_standard_input() {
    let servers = Servers::new();
    for stdin in [
        "secret\nno\n",
        "secret\nyes\n",
        "secret",
        "",
        "x\r\nalice\r\nsecret\r\nyes\n",
        "x\nalice\nsecret\nfoo\n",
    ] {
        servers.same(stdin, |home| {
            let tool = home.tool("svn cat {SVN} --username alice --force-interactive");
            // A session of its own has no terminal.
            let mut alone = Tool::new("setsid").args(["-w"]);
            let command = tool.command();
            alone = alone.arg(command.get_program()).args(command.get_args());
            let output = alone.env("HOME", home.dir.path()).stdin(stdin).run();
            format!(
                "{}--- stderr\n{}[exit {}]",
                output.out(),
                home.shape(&output.err()),
                output.code
            )
        });
    }
}

#[test]
fn certificates_are_judged_and_stored() {
    let servers = Servers::new();
    for (line, answers) in [
        ("svn cat {TLS}", &["p"][..]),
        ("svn cat {TLS}", &["T"]),
        ("svn cat {TLS}", &["r"]),
        ("svn cat {TLS}", &[""]),
        ("svn cat {TLS-IP}", &["t"]),
        ("svn cat {TLS-IP}", &["x"]),
        (
            "svn cat {TLS-IP} --config-option servers:global:ssl-authority-files={PEM}",
            &["P"],
        ),
        ("svn cat {TLS} --no-auth-cache", &["p"]),
        (
            "svn cat {TLS} --config-option servers:global:store-auth-creds=no",
            &["p"],
        ),
        ("svn cat {TLS}", &["^C"]),
    ] {
        servers.same(line, |home| home.ask(line, answers));
    }
    for line in [
        "svn cat {TLS} --non-interactive",
        "svn cat {TLS} --non-interactive --trust-server-cert",
        "svn cat {TLS-IP} --non-interactive --trust-server-cert",
        "svn cat {TLS-IP} --non-interactive --trust-server-cert-failures=unknown-ca,cn-mismatch",
        "svn cat {TLS-IP} --non-interactive --trust-server-cert-failures=other,expired",
    ] {
        servers.same(line, |home| home.run(line, ""));
    }
    servers.same("a stored decision", |home| {
        let stored = home.ask("svn cat {TLS}", &["p"]);
        stored + &home.run("svn cat {TLS} --non-interactive", "") + &home.ask("svn cat {TLS-IP}", &["r"])
    });
}

#[test]
fn client_certificates_are_found_and_opened() {
    let servers = Servers::new();
    let begin = format!("svn cat {{CLIENT-TLS}} {NO_STORES} --config-option");
    let line = format!("{begin} config:auth:ssl-client-cert-file-prompt=yes");
    let all = [
        &["t", "{P12}", "geheim", "no"][..],
        &["t", "{P12}", "geheim", "yes"],
        &["t", "{P12}", "bad"],
        &["t", "nofile", "nofile", "nofile"],
        &["t", "nofile", "{P12}", "geheim", "no"],
        &["t", "^D"],
    ];
    for answers in sample(2, all) {
        let answers: Vec<String> = answers.iter().map(|answer| servers.expand(answer)).collect();
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        // A certificate error at the end of the input has another error of Subversion's beside it.
        servers.same(&answers.join(" "), |home| home.ask(&line, &answers));
    }
    let line = format!("{begin} servers:global:ssl-client-cert-file=");
    let cases = [
        ("{P12}", &["t", "geheim", "yes"][..]),
        (
            "{P12} --config-option servers:global:ssl-client-cert-password=geheim",
            &["t"],
        ),
        (
            "{P12} --config-option servers:global:ssl-client-cert-password=bad",
            &["t"],
        ),
        (
            "{P12} --config-option servers:global:store-ssl-client-cert-pp=no",
            &["t", "geheim"],
        ),
        (
            "{P12} --config-option servers:groups:all=* --config-option servers:all:ssl-client-cert-password=geheim",
            &["t"],
        ),
        (
            "{P12} --config-option servers:groups:all=* --config-option servers:all:store-ssl-client-cert-pp=no",
            &["t", "geheim"],
        ),
        (
            "{P12} --config-option servers:global:store-ssl-client-cert-pp-plaintext=yes",
            &["t", "geheim"],
        ),
        ("/nonexistent", &["t"]),
    ];
    for (rest, answers) in sample(2, cases) {
        servers.same(rest, |home| home.ask(&format!("{line}{rest}"), answers));
    }
    servers.same("a stored passphrase", |home| {
        let first = home.ask(&format!("{line}{{P12}}"), &["p", "geheim", "yes"]);
        first + &home.run(&format!("{line}{{P12}} --non-interactive"), "")
    });
}

#[test]
fn areas_are_made_where_they_can_be() {
    let servers = Servers::new();
    servers.same("a new area", |home| home.run("svn cat {FILE}", ""));
    for dir in ["new", "no/parent", ".", "new/../new2", "./new//", "/dev/null"] {
        servers.same(dir, |home| home.run(&format!("svn auth --config-dir={dir}"), ""));
    }
    servers.same("a home that cannot be written", |home| {
        fs::set_permissions(home.dir.path(), fs::Permissions::from_mode(0o555)).expect("it is ours");
        let tool = home.tool("svn cat {SVN} --non-interactive --username alice --password secret");
        let output = tool.bound_by_permissions().run();
        fs::set_permissions(home.dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        format!("{}{}{}", output.out(), output.err(), output.code)
    });
    for name in ["servers", ""] {
        servers.same("an unreadable file", |home| {
            home.configure("[global]\nusername = alice\n");
            let closed = home.area().join(name);
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("it is ours");
            let output = home.tool("svn cat {FILE}").bound_by_permissions().run();
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).expect("it is ours");
            format!("{}{}{}", output.out(), home.shape(&output.err()), output.code)
        });
    }
    for (file, text) in [("servers", "x\n"), ("config", "[a\n"), ("servers", " x=1\n")] {
        servers.same(text, |home| {
            home.configure("");
            fs::write(home.area().join(file), text).expect("the area is there");
            home.run("svn cat {FILE}", "") + &home.run("svn auth", "")
        });
    }
}

#[test]
fn a_program_with_several_sessions_asks_once() {
    let servers = Servers::new();
    let line = "svn export -q {BASIC-ROOT} out --username alice";
    servers.same(line, |home| {
        let shown = home.ask(line, &["secret", "yes"]);
        fs::remove_dir_all(home.dir.path().join("out")).expect("it was exported");
        shown
    });
}

#[test]
fn users_of_repositories_on_disk_are_remembered() {
    let servers = Servers::new();
    servers.same("svn.username", |home| {
        let path = home.dir.path().join("repo");
        Tool::new("svnadmin").arg("create").arg(&path).ok();
        let uuid = "09eb9f85-0bbb-4456-90e7-0a25be4a0d29";
        Tool::new("svnadmin").arg("setuuid").arg(&path).arg(uuid).ok();
        let url = format!("file://{}", path.display());
        let mut shown = String::new();
        for (name, user) in [("a", "--username=zoe"), ("b", ""), ("c", "--username=")] {
            shown += &home.run(&format!("svn mkdir -q -m x {url}/{name} {user}"), "");
            shown += &Tool::new("svnlook").arg("author").arg(&path).ok().out();
        }
        shown += &home.run(
            &format!("svn mkdir -q -m x {url}/d --username yan --no-auth-cache"),
            "",
        );
        shown += &Tool::new("svnlook").arg("author").arg(&path).ok().out();
        fs::remove_dir_all(path).expect("it was made");
        shown
    });
}

#[test]
fn tunnels_are_those_of_the_configuration() {
    let servers = Servers::new();
    for (text, variable) in [
        ("x = /bin/sh tunnel.sh", ""),
        ("x = $MY_TUNNEL /bin/false", "/bin/sh tunnel.sh"),
        ("x = $MY_TUNNEL /bin/sh tunnel.sh", ""),
        ("x = $MY_TUNNEL", ""),
        ("ssh = /bin/sh tunnel.sh", ""),
    ] {
        servers.same(text, |home| {
            home.configure("");
            let config = format!("[tunnels]\n{text}\n");
            fs::write(home.area().join("config"), config).expect("the area is there");
            let script = "echo \"$@\" > words\nexec svnserve -t\n";
            fs::write(home.dir.path().join("tunnel.sh"), script).expect("the home is writable");
            let mut tool = home
                .tool("svn cat")
                .arg(format!("svn+x://me@host{}/iota", servers.repository().display()));
            if !variable.is_empty() {
                tool = tool.env("MY_TUNNEL", variable);
            }
            let output = tool.run();
            let words = fs::read_to_string(home.dir.path().join("words")).unwrap_or_default();
            format!("{}{}{words}{}", output.out(), output.err(), output.code)
        });
    }
}

/// A difference on purpose: a password of the options is not sent to a host to which a server redirects.
#[test]
fn passwords_of_options_are_for_the_host_of_the_url() {
    let servers = Servers::new();
    let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
    let lines = format!(
        "Redirect permanent /moved http://localhost:@PORT/svn\n<Location /svn>\nDAV svn\nSVNParentPath \"{}\"\nAuthType Basic\n\
         AuthName repository\nAuthUserFile \"@FOLDER/users\"\nRequire valid-user\n</Location>\n",
        servers.root().display()
    );
    let server = TestServer::apache_with(&lines, &[("users", users)]);
    let url = |host: &str| format!("http://{host}:{}/moved/r/iota", server.port());
    let options = "--non-interactive --username alice --password secret";
    // The host is the same one, only the path is another.
    let line = format!("svn cat {} {options}", url("localhost"));
    servers.same("the same host", |home| home.run(&line, ""));
    let ours = Home::new(&servers, Side::Ours);
    let shown = ours.run(&format!("svn cat {} {options}", url("127.0.0.1")), "");
    assert!(shown.contains("E215004") && !shown.contains("text"), "{shown}");
    // The user may type it, who sees the realm.
    let line = format!("svn cat {} --username alice", url("127.0.0.1"));
    servers.same("another host", |home| home.ask(&line, &["secret", "no"]));
}

/// The bytes of a file of credentials.
fn dump(attributes: &[(&str, &str)]) -> Vec<u8> {
    let mut text = Vec::new();
    let entries = attributes
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    hashdump::write(&mut text, entries, Terminator::End);
    text
}

fn put(home: &Home<'_>, kind: &str, attributes: &[(&str, &str)]) {
    let realm = attributes.iter().find(|(name, _)| *name == "svn:realmstring");
    let name = Md5::of(realm.map_or("", |(_, realm)| realm).as_bytes()).to_string();
    let dir = home.area().join("auth").join(kind);
    fs::create_dir_all(&dir).expect("the home is writable");
    fs::write(dir.join(name), dump(attributes)).expect("the directory is there");
}

/// The blocks of `svn auth`, sorted: Subversion's order changes from run to run.
fn sorted(text: &str) -> String {
    const LINE: &str = "------------------------------------------------------------------------\n";
    let (blocks, rest) = match text.rfind("\n\n") {
        Some(end) => text.split_at(end + 2),
        None => ("", text),
    };
    let mut blocks: Vec<&str> = blocks.split(LINE).collect();
    blocks.sort_unstable();
    let (lines, summary) = rest.rsplit_once('\n').unwrap_or(("", rest));
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    format!("{}{}\n{summary}", blocks.join(LINE), lines.join("\n"))
}

#[test]
fn stored_credentials_are_listed_and_removed() {
    let servers = Servers::new();
    let fill = |home: &Home<'_>| {
        home.run("svn auth", "");
        let simple = "svn.simple";
        put(
            home,
            simple,
            &[
                ("passtype", "gpg-agent"),
                ("svn:realmstring", "r1"),
                ("username", "u"),
            ],
        );
        put(
            home,
            simple,
            &[
                ("password", "p"),
                ("svn:realmstring", "r2"),
                ("username", "alice"),
            ],
        );
        put(
            home,
            simple,
            &[
                ("aaa", "2"),
                ("passtype", "simple"),
                ("password", "é\nb"),
                ("svn:realmstring", "rü"),
                ("zzz", "VV"),
            ],
        );
        put(
            home,
            "svn.username",
            &[("svn:realmstring", "uuid"), ("username", "alice")],
        );
        put(
            home,
            "svn.ssl.client-cert",
            &[("cert_file", "/f"), ("svn:realmstring", "https://x")],
        );
        put(
            home,
            "svn.ssl.client-passphrase",
            &[
                ("passphrase", "PP"),
                ("passtype", "simple"),
                ("svn:realmstring", "/x"),
            ],
        );
        put(home, simple, &[("username", "without a realm")]);
        let latin1 = b"K 15\nsvn:realmstring\nV 3\n<\xe9>\nK 8\nusername\nV 1\n\xe9\nEND\n";
        fs::write(home.area().join("auth/svn.simple/latin1"), latin1).expect("the directory is there");
        let garbage = home
            .area()
            .join("auth/svn.simple/0123456789abcdef0123456789abcdef");
        fs::write(garbage, "garbage").expect("the directory is there");
    };
    let words = [
        "",
        "--show-passwords",
        "alice",
        "ALICE",
        "ali*e",
        "r[12]",
        "alice uuid",
        "alice nosuch",
        "PP",
        "VV",
        "svn.ssl",
        "gpg",
        "--remove alice",
        "--remove nosuch",
        "--remove <*>",
        "--remove --show-passwords svn",
    ];
    for words in sample(3, words) {
        servers.same(words, |home| {
            fill(home);
            sorted(&home.run(&format!("svn auth {words}"), "")) + &sorted(&home.run("svn auth", ""))
        });
    }
    let failures = [
        "0",
        "1",
        "2",
        "15",
        "16",
        "1073741839",
        "x",
        "",
        "-1",
        "99999999999",
    ];
    for failures in sample(3, failures) {
        servers.same(failures, |home| {
            put(
                home,
                "svn.ssl.server",
                &[
                    ("ascii_cert", "xxx"),
                    ("failures", failures),
                    ("svn:realmstring", "https://y"),
                ],
            );
            home.run("svn auth", "") + &home.run("svn auth svn", "")
        });
    }
    for words in sample(
        3,
        ["", "localhost", "rcgen*", "2026", "MII", "CN=", "--remove https"],
    ) {
        servers.same(words, |home| {
            home.ask("svn cat {TLS}", &["p"]);
            home.run(&format!("svn auth {words}"), "")
        });
    }
}

/// Damaged files of the cache count as missing, for both clients.
#[test]
fn damaged_credentials_are_as_good_as_none() {
    let servers = Servers::new();
    testkit::each_seed("CONTEXT_SEEDS", 0..6, |seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let realm = servers.realm();
        let mut text = dump(&[
            ("passtype", "simple"),
            ("password", "secret"),
            ("svn:realmstring", &realm),
            ("username", "alice"),
        ]);
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..text.len());
            match rng.random_range(0..4) {
                0 => text.truncate(at.max(1)),
                1 => text[at] = rng.random_range(32..127),
                2 => text.insert(at, b'9'),
                _ => drop(text.remove(at)),
            }
        }
        servers.same(
            &format!("seed {seed}: {}", String::from_utf8_lossy(&text)),
            |home| {
                home.run("svn auth", "");
                let file = home.area().join("auth/svn.simple").join(servers.realm_file());
                fs::write(file, &text).expect("the area is there");
                home.run("svn auth --show-passwords", "") + &home.run("svn cat {SVN} --non-interactive", "")
            },
        );
    });
}
