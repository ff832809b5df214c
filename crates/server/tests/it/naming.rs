//! Every spelling of a repository's name, over svn:// (with and without virtual hosts) and HTTP: only repositories
//! below the root are opened, with the authz rules of the canonical name.
//!
//! Each repository below the root has a section that grants nothing, while `[/]` grants everything, so a spelling for
//! which the section is not found can read; repositories outside of the root have no section. `NAMES=100000
//! NAMES_SEED=7 cargo test -p sven-server --test it names` tries more names.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use repos::authz::Source as AuthzSource;
use repos::config::AuthzFiles;
use server::config::{AccessRules, HttpOptions, Location, Source};
use server::{Listener, MemoryBudget, Options, Server, Service, Stop, Threads};
use tempfile::TempDir;
use testkit::Tool;
use testkit::history::Random;

/// Repositories below the root, each with a section that grants nothing.
const CLOSED: &[&str] = &[
    "host/ok",
    "host/other",
    "top",
    "deep/er/repo",
    "h.x/ok",
    "Host/ok",
];
/// Repositories below the root, without a section.
const OPEN: &[&str] = &["host/free", "free"];
/// Repositories next to the root.
const OUTSIDE: &[&str] = &["outside/r", "rootx/r", "host/ok", "ok"];

struct NamingSite {
    folder: TempDir,
    svn: SocketAddr,
    virtual_hosts: SocketAddr,
    http: SocketAddr,
    outside: Vec<String>,
    stop: Stop,
    running: Vec<JoinHandle<()>>,
}

impl NamingSite {
    fn new() -> NamingSite {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let inside = CLOSED.iter().chain(OPEN).map(|name| format!("root/{name}"));
        for name in inside.chain(OUTSIDE.iter().map(|name| (*name).to_owned())) {
            fs::create_dir_all(at(&name).parent().expect("it has one")).expect("a new folder");
            Tool::new("svnadmin").arg("create").arg(at(&name)).ok();
        }
        let uuid = |name: &&str| {
            let uuid = Tool::new("svnlook").arg("uuid").arg(at(name)).ok();
            uuid.out().trim().to_owned()
        };
        let outside = OUTSIDE.iter().map(uuid).collect();
        let sections = CLOSED.iter().map(|name| format!("[{name}:/]\n* =\n"));
        let rules = sections.fold("[/]\n* = rw\n".to_owned(), |all, one| all + &one);
        fs::write(at("authz"), rules).expect("written");
        let conf = format!(
            "[general]\nanon-access = write\nauthz-db = {}\n",
            at("authz").display()
        );
        fs::write(at("conf"), conf).expect("written");
        let stop = Stop::new().expect("two sockets");
        let mut running = Vec::new();
        let mut start = |virtual_host: bool| {
            let options = Options {
                root: at("root"),
                virtual_host,
                config_file: Some(at("conf")),
                ..Options::default()
            };
            let service = Service::new(options, MemoryBudget::new(4 << 20, true), None);
            service.set_http(web(folder.path()));
            let here = || Listener::bind(Some("127.0.0.1"), 0, false).expect("a free port");
            let (svn, http) = (here(), here());
            let addresses = (svn.address().expect("bound"), http.address().expect("bound"));
            let server = Server::new(service, vec![svn], Threads::default()).with_http(vec![http]);
            let stopped = stop.clone();
            running.push(std::thread::spawn(move || server.run(&stopped).expect("it runs")));
            addresses
        };
        let ((svn, http), (virtual_hosts, _)) = (start(false), start(true));
        NamingSite {
            folder,
            svn,
            virtual_hosts,
            http,
            outside,
            stop,
            running,
        }
    }

    /// Returns the server's messages to a client that opens `url` and lists its directory.
    fn open(&self, at: SocketAddr, url: &[u8]) -> String {
        let mut request = format!("( 2 ( edit-pipeline ) {}:", url.len()).into_bytes();
        request.extend_from_slice(url);
        request.extend_from_slice(b" 1:t ( ) ) ( ANONYMOUS ( 0: ) ) ( get-dir ( 0: ( ) false true ( ) ) ) ");
        exchange(at, &request, true)
    }

    fn propfind(&self, path: &[u8]) -> String {
        let mut request = b"PROPFIND ".to_vec();
        request.extend_from_slice(path);
        request.extend_from_slice(b" HTTP/1.1\r\nHost: x\r\nDepth: 0\r\nConnection: close\r\n\r\n");
        exchange(self.http, &request, false)
    }

    /// Panics if a response shows what it must not; true if a repository was opened.
    fn check_response(&self, how: &str, name: &[u8], answer: &str, free: bool) -> bool {
        let name = String::from_utf8_lossy(name);
        let outside = self.outside.iter().find(|uuid| answer.contains(*uuid));
        assert!(outside.is_none(), "{how} {name:?} leaves the root: {answer}");
        let reads = answer.contains("( success ( 0 ( ) ( ) ) )") || answer.contains(" 207 ");
        assert!(!reads || free, "{how} {name:?} passes by the rules: {answer}");
        reads || answer.contains("( mergeinfo )") || answer.contains(" 401 ") || answer.contains(" 403 ")
    }
}

impl Drop for NamingSite {
    fn drop(&mut self) {
        self.stop.stop();
        for one in self.running.drain(..) {
            _ = one.join();
        }
    }
}

fn web(folder: &Path) -> HttpOptions {
    let mut location = Location::new("", Source::Parent(folder.join("root")));
    location.access = Some(AccessRules {
        authz: Some(AuthzFiles {
            authz: AuthzSource::File(folder.join("authz")),
            groups: None,
        }),
        ..AccessRules::default()
    });
    HttpOptions {
        locations: vec![location.into()],
        ..HttpOptions::default()
    }
}

/// Sends `request` and returns the response; if `ends`, the sending side is then closed.
fn exchange(at: SocketAddr, request: &[u8], ends: bool) -> String {
    let mut socket = TcpStream::connect(at).expect("the server listens");
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a socket");
    _ = socket.write_all(request);
    if ends {
        _ = socket.shutdown(Shutdown::Write);
    }
    let mut response = Vec::new();
    // A reset may cut off the server's last bytes.
    _ = socket.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

/// True if a response has the UUID of a repository without a section.
fn is_free(answer: &str, uuids: &[String]) -> bool {
    uuids.iter().any(|uuid| answer.contains(uuid))
}

/// Random spellings of names, as a hostile client would try them.
struct Speller(Random);

const PARTS: &[&str] = &[
    "host",
    "ok",
    "other",
    "top",
    "deep",
    "er",
    "repo",
    "free",
    "root",
    "outside",
    "r",
    "rootx",
    "..",
    ".",
    "",
    "...",
    "%2e",
    "%2e%2e",
    ".%2E",
    "%2f",
    "..%2f..",
    "..%5c..",
    "..\\..",
    "%00",
    "ok%00",
    "%c0%ae%c0%ae",
    "%ff",
    "ok%ff",
    "ok.",
    "ok%20",
    "ok;x",
    "ok?x",
    "ok%3fx",
    "ok#x",
    "ok:",
    "[ok]",
    "host/ok:",
    "!svn",
    "!svn/rvr/0",
    "db",
    "..;",
    "%252e%252e",
    "%e2%80%ae",
];
const AUTHORITIES: &[&str] = &[
    "",
    ".",
    "..",
    "host",
    "HOST",
    "hOst",
    "host:3690",
    "host:",
    ":3690",
    "..:3690",
    ".:",
    "u@host",
    "@host",
    "host@",
    "..@host",
    "u:p@..",
    "%2e%2e",
    "%2e",
    "h%6fst",
    "host%2fok",
    "host%2f..",
    "..%2froot",
    "..%2foutside",
    "h.x",
    "root",
    "[::1]",
    "host\\..",
    "host%00",
    "host%5c",
    "%68%6f%73%74",
    "host.",
    "host%2e",
    "host%20",
    "localhost",
];

impl Speller {
    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.0.below(all.len())]
    }

    /// The name of a repository, spelled in another way.
    fn alternative_spelling(&mut self, name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in name.bytes() {
            match (byte, self.0.below(14)) {
                (b'/', 0) => out.extend_from_slice(b"//"),
                (b'/', 1) => out.extend_from_slice(b"/./"),
                (b'/', 2) => out.extend_from_slice(b"/x/../"),
                (b'/', 3) => out.extend_from_slice(b"%2f"),
                (b'/', 4) => out.extend_from_slice(b"/%2e/"),
                (b'/', 5) => out.extend_from_slice(b"\\"),
                (b'/', 6) => out.extend_from_slice(b"/%2e%2e/root/"),
                (b'/', 7) => out.extend_from_slice(b"/../root/"),
                (byte, 8 | 9) => out.extend_from_slice(format!("%{byte:02x}").as_bytes()),
                (byte, 10) => out.push(byte.to_ascii_uppercase()),
                (byte, _) => out.push(byte),
            }
        }
        let tail = self.one_of(&[
            "",
            "",
            "",
            "/",
            "//",
            "/.",
            "/%2e",
            ".",
            "%20",
            "/..",
            "/x/..",
            "/!svn/rvr/0",
            "%00",
        ]);
        out.extend_from_slice(tail.as_bytes());
        out
    }

    /// Any name, not necessarily that of a repository.
    fn any_name(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for at in 0..=self.0.below(5) {
            if at > 0 {
                let between = self.one_of(&["/", "/", "/", "//", "%2f", "\\", "/./"]);
                out.extend_from_slice(between.as_bytes());
            }
            let part = self.one_of(PARTS);
            out.extend_from_slice(part.as_bytes());
        }
        if self.0.below(12) == 0 {
            let at = self.0.below(out.len() + 1);
            out.insert(at, [0, 0xff, b'\n', b'\t', 0x80][self.0.below(5)]);
        }
        out
    }

    fn name(&mut self) -> Vec<u8> {
        let name = match self.0.below(3) {
            0 => return self.any_name(),
            1 => self.one_of(CLOSED).to_owned(),
            _ => {
                let up = self.one_of(&[
                    "../", "../root/", "./", "/", "x/../", "%2e%2e/", "..%2f", "host/../",
                ]);
                format!("{up}{}", self.one_of(&[CLOSED, OUTSIDE].concat()))
            }
        };
        self.alternative_spelling(&name)
    }
}

#[test]
fn names_open_only_the_named_repository() {
    let site = NamingSite::new();
    let uuid = |name: &&str| {
        let at = site.folder.path().join("root").join(name);
        Tool::new("svnlook")
            .arg("uuid")
            .arg(at)
            .ok()
            .out()
            .trim()
            .to_owned()
    };
    let free: Vec<String> = OPEN.iter().map(uuid).collect();
    // The canonical names: the repository without a section can be read.
    for (at, url) in [
        (site.svn, "svn://x/host/free"),
        (site.svn, "svn://x/free"),
        (site.virtual_hosts, "svn://host/free"),
        (site.virtual_hosts, "svn://free"),
        (site.virtual_hosts, "svn://HOST:3690/free"),
    ] {
        let answer = site.open(at, url.as_bytes());
        assert!(answer.contains("( success ( 0 ( ) ( ) ) )"), "{url}: {answer}");
    }
    assert!(site.propfind(b"/host/free").contains(" 207 "));
    for (url, code) in [
        ("svn://../outside/r", "125001"),
        ("svn://../root/host/ok", "125001"),
        ("svn://./host/ok", "125001"),
        ("svn:///host/ok", "125001"),
        ("svn://:3690/host/ok", "125001"),
        ("svn://%2e%2e/outside/r", "125001"),
        ("svn://host%2fok", "125001"),
        ("svn://u@host/ok", "210005"),
        ("svn://host/o%ffk", "210005"),
    ] {
        let answer = site.open(site.virtual_hosts, url.as_bytes());
        assert!(
            answer.contains(&format!("( failure ( ( {code} ")),
            "{url}: {answer}"
        );
    }

    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    let (seed, count) = (number("NAMES_SEED", 1), number("NAMES", 250));
    let mut speller = Speller(Random::new(seed));
    let mut opened = [0; 3];
    for at in 0..count {
        let name = speller.name();
        let svn = [b"svn://x/", &name[..]].concat();
        let authority = speller.one_of(AUTHORITIES);
        let with_host = [b"svn://", authority.as_bytes(), b"/", &name[..]].concat();
        let as_host = [b"svn://", &name[..]].concat();
        for (how, at_svn, url) in [
            ("svn", site.svn, &svn),
            ("host", site.virtual_hosts, &with_host),
            ("host", site.virtual_hosts, &as_host),
        ] {
            let answer = site.open(at_svn, url);
            let is_open = site.check_response(
                &format!("{seed}/{at} {how}"),
                url,
                &answer,
                is_free(&answer, &free),
            );
            opened[usize::from(how == "host")] += u64::from(is_open);
        }
        let path = [b"/", &name[..]].concat();
        let answer = site.propfind(&path);
        let is_open = site.check_response(
            &format!("{seed}/{at} http"),
            &path,
            &answer,
            answer.contains("/free"),
        );
        opened[2] += u64::from(is_open);
    }
    // Many spellings must open a repository, or the test would be pointless.
    assert!(
        opened.iter().all(|opened| *opened > count / 20),
        "{opened:?} of {count}"
    );
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_another_name() {
    // As with svnserve and Apache, a link gives the repository a second name, with rules of its own.
    let site = NamingSite::new();
    let root = site.folder.path().join("root");
    std::os::unix::fs::symlink("host", root.join("link")).expect("a link");
    std::os::unix::fs::symlink("../../outside/r", root.join("host/away")).expect("a link");
    let reads = "( success ( 0 ( ) ( ) ) )";
    assert!(site.open(site.svn, b"svn://x/link/ok").contains(reads));
    assert!(site.open(site.virtual_hosts, b"svn://link/ok").contains(reads));
    assert!(site.open(site.svn, b"svn://x/host/away").contains(reads));
    assert!(site.propfind(b"/link/ok").contains(" 207 "));
    assert!(site.propfind(b"/host/away").contains(" 207 "));
    assert!(!site.open(site.svn, b"svn://x/link/../host/ok").contains(reads));
}
