//! Random configurations of Apache, imported: the access rights are the same on both servers.
//!
//! Each round makes a configuration with many locations, with random `Require` lines and sections, authz files,
//! `Satisfy` and `<Limit>`. Apache reads it, `sven import-config` translates it, and every user requests every path
//! with several methods. The default run is short; `SVEN_ALL_CASES=1 RULES=100 RULES_SEED=7 cargo test -p sven --test interop
//! random_configurations` runs more.

use std::fmt::Write as _;

use testkit::history::Random;
use testkit::server::TestServer;
use testkit::{Tool, sample, scratch};

use super::raw_http::send_request;

const USERS: &[(&str, &str)] = &[
    ("", ""),
    ("alice", "secret"),
    ("bob", "pw"),
    ("carol", "pw"),
    ("alice", "wrong"),
    ("mallory", "pw"),
];

const FILES: &[(&str, &str)] = &[
    (
        "users",
        "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbob:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n\
         carol:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=\n",
    ),
    ("members", "dev: alice bob\nops: carol\nempty:\n"),
    (
        "open",
        "[/]\n* = r\nalice = rw\n[/shut]\n* =\nalice = rw\n[/carol]\n* =\ncarol = rw\nalice = r\n",
    ),
    (
        "closed",
        "[groups]\ndev = alice, bob\n[/]\n$authenticated = r\n[/shut]\n@dev = rw\n~@dev =\n[r:/carol]\ncarol = rw\n* = r\n",
    ),
];

const ASKED: &[(&str, &str)] = &[
    ("GET", "/r/open/"),
    ("GET", "/r/shut/"),
    ("GET", "/r/carol/"),
    ("PROPFIND", "/r/shut"),
    ("OPTIONS", "/r/open"),
    ("MKCOL", "/r/open/x"),
    ("MKCOL", "/r/shut/x"),
    ("MKCOL", "/r/carol/x"),
    ("PUT", "/r/open/x"),
    ("PROPPATCH", "/r/carol"),
    ("MERGE", "/r"),
    ("LOCK", "/r/shut/x"),
    // The location itself, a path that is no repository, and a path in none.
    ("GET", ""),
    ("GET", "/"),
    ("PROPFIND", "/"),
    ("GET", "/none"),
    ("GET", "/none/x"),
    ("PROPFIND", "/none/!svn/vcc/default"),
    ("OPTIONS", "/none"),
    ("MKCOL", "/none/x"),
    ("GET", "/r/none"),
    ("GET", "/r/shut/none"),
    ("GET", "/r/!svn/rvr/1/shut"),
    ("PROPFIND", "/r/!svn/vcc/default"),
];

/// A generator of locations.
struct LocationGenerator {
    random: Random,
    /// True for no condition that is true without a user: with `Satisfy Any` and `AuthzSVNAnonymous Off` Apache then
    /// skips the authz file, which Sven always evaluates.
    users_only: bool,
    /// True for all directives, including those without a counterpart.
    is_free: bool,
}

impl LocationGenerator {
    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len())]
    }

    fn chance(&mut self, of: usize) -> bool {
        self.random.below(of) == 0
    }

    fn positive(&mut self) -> String {
        const USERS: &[&str] = &[
            "valid-user",
            "user alice",
            "user bob carol",
            "group dev",
            "group ops empty",
        ];
        const ALL: &[&str] = &[
            "valid-user",
            "valid-user",
            "user alice",
            "user bob carol",
            "group dev",
            "group ops empty",
            "ip 127.0.0.1",
            "ip 127",
            "ip 10.0.0.0/8",
            "ip 127.0.0.0/255.0.0.0 10.1",
            "all granted",
            "all denied",
            "local",
        ];
        const FREE: &[&str] = &[
            "host localhost",
            "method GET PROPFIND",
            "env UNSET",
            "expr true",
            "all granted",
            "forward-dns localhost",
        ];
        let condition = match self.is_free && self.chance(4) {
            true => self.one_of(FREE),
            false => self.one_of(if self.users_only { USERS } else { ALL }),
        };
        format!("Require {condition}\n")
    }

    /// Returns a section that may grant access.
    fn branch(&mut self, depth: u32) -> String {
        match self.random.below(if depth == 0 { 1 } else { 4 }) {
            0 | 1 => self.positive(),
            2 => {
                let mut text = String::from("<RequireAny>\n");
                for _ in 0..=self.random.below(3) {
                    text += &self.branch(depth - 1);
                }
                text + "</RequireAny>\n"
            }
            _ => {
                let mut text = String::from("<RequireAll>\n");
                for _ in 0..=self.random.below(2) {
                    text += &self.branch(depth - 1);
                }
                match self.random.below(if self.users_only { 1 } else { 4 }) {
                    _ if self.users_only => {}
                    0 => {
                        text += self.one_of(&[
                            "Require not user bob\n",
                            "Require not group dev ops\n",
                            "Require not ip 10.0.0.0/8\n",
                            "Require not ip 127.0.0.1\n",
                        ])
                    }
                    1 => {
                        text += "<RequireNone>\n";
                        for _ in 0..=self.random.below(2) {
                            text += self.one_of(&[
                                "Require user carol\n",
                                "Require group dev\n",
                                "Require ip 10.1\n",
                                "Require user alice bob\n",
                            ]);
                        }
                        text += "</RequireNone>\n";
                    }
                    _ => {}
                }
                text + "</RequireAll>\n"
            }
        }
    }

    /// Returns lines of mod_access_compat, some for a few methods only.
    fn addresses(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.random.below(4) {
            let line = match self.random.below(3) {
                0 => self.one_of(&[
                    "Order allow,deny",
                    "Order deny,allow",
                    "Order mutual-failure",
                    "Order Deny,Allow",
                ]),
                1 => self.one_of(&[
                    "Allow from all",
                    "Allow from 127.0.0.1",
                    "Allow from 10.0.0.0/8 127",
                    "Allow from 10.1 192.168.0.0/255.255.0.0",
                    "Allow from example.com",
                    "Allow from env=UNSET",
                ]),
                _ => self.one_of(&[
                    "Deny from all",
                    "Deny from 127.0.0.0/8",
                    "Deny from 10.1 10.2.0.0/16",
                    "Deny from ::1",
                ]),
            };
            match self.chance(4) {
                true => {
                    let section = self.one_of(&["Limit", "LimitExcept"]);
                    _ = writeln!(
                        text,
                        "<{section} GET PROPFIND OPTIONS REPORT>\n{line}\n</{section}>"
                    );
                }
                false => _ = writeln!(text, "{line}"),
            }
        }
        text
    }

    /// Returns the lines of a location.
    fn location(&mut self) -> String {
        // In rules, the repository has the same name both ways.
        let repositories = match self.chance(4) {
            true => "SVNPath REPOSITORIES/r",
            false => "SVNParentPath REPOSITORIES",
        };
        let mut text = format!(
            "DAV svn\n{repositories}\nAuthType Basic\nAuthName x\nAuthUserFile \"@FOLDER/users\"\n\
             AuthGroupFile \"@FOLDER/members\"\n",
        );
        self.users_only = false;
        if self.chance(2) {
            let file = self.one_of(&["open", "closed"]);
            _ = writeln!(text, "AuthzSVNAccessFile \"@FOLDER/{file}\"");
            if self.chance(8) {
                text += "AuthzSVNAnonymous Off\n";
                self.users_only = !self.is_free;
            }
        }
        // With both Apache admits everyone and skips the authz file.
        if !self.users_only && self.chance(7) {
            text += "Satisfy Any\n";
            self.users_only = !self.is_free;
        }
        // Where a login or an address is enough, Sven requires a login beside an authz file.
        let is_stricter = !self.is_free && text.contains("AccessFile") && text.contains("Satisfy Any");
        if self.chance(3) && !is_stricter {
            text += &self.addresses();
        }
        if !self.users_only && self.chance(4) {
            let section = self.one_of(&["Limit", "LimitExcept"]);
            _ = writeln!(text, "<{section} GET PROPFIND OPTIONS REPORT>");
            text += &self.positive();
            _ = writeln!(text, "</{section}>");
            if self.chance(2) {
                return text;
            }
        }
        for _ in 0..=self.random.below(2) {
            text += &self.branch(2);
        }
        text
    }
}

/// Returns sections for a part of the location at `/lN`.
fn parts(maker: &mut LocationGenerator, at: usize) -> String {
    let path = maker.one_of(&["/r/shut", "/r/carol", "/none", "/r", "/r/open/x", "/r/!svn", ""]);
    let (begin, end) = match maker.random.below(10) {
        0 => (format!("<LocationMatch \"^/l{at}{path}\">"), "</LocationMatch>"),
        1 => (format!("<Location ~ \"^/l{at}/.*a\">"), "</Location>"),
        2 => (format!("<Location \"/l{at}{path}*\">"), "</Location>"),
        3 => return format!("Redirect gone /l{at}{path}\n"),
        4 => {
            return format!(
                "RedirectMatch {} \"^/l{at}{path}\"\n",
                maker.one_of(&["403", "410", "gone"])
            );
        }
        5 => {
            let flags = maker.one_of(&["F", "G", "L,F", "forbidden", "gone,L", "R=403"]);
            return format!("RewriteEngine On\nRewriteRule \"^/l{at}{path}\" - [{flags}]\n");
        }
        6 => {
            // Inside of its location, because elsewhere it closes all locations.
            let condition =
                maker.one_of(&["%{REQUEST_URI} =~ m#/shut#", "%{REQUEST_METHOD} == 'GET'", "true"]);
            let other = maker.one_of(&["", "<Else>\nRequire all denied\n</Else>\n"]);
            let lines = maker.branch(1);
            return format!("<Location /l{at}>\n<If \"{condition}\">\n{lines}</If>\n{other}</Location>\n");
        }
        _ => (format!("<Location /l{at}{path}>"), "</Location>"),
    };
    let lines = match maker.random.below(3) {
        0 => maker.addresses(),
        1 => format!(
            "AuthzSVNAccessFile \"@FOLDER/{}\"\n",
            maker.one_of(&["open", "closed"])
        ),
        _ => maker.branch(1),
    };
    format!("{begin}\n{lines}{end}\n")
}

fn authorization(user: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("Basic ");
    for three in format!("{user}:{password}").as_bytes().chunks(3) {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// Returns the differences; with `is_free` only requests that Sven allows and Apache refuses.
fn round(seed: u64, count: usize, is_free: bool) -> Vec<String> {
    let folder = scratch();
    let parent = folder.path();
    testkit::create_repository(&parent.join("r"));
    let urls = ["open", "shut", "carol"].map(|name| format!("file://{}/r/{name}", parent.display()));
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "made for a test"])
        .args(&urls)
        .ok();
    let mut maker = LocationGenerator {
        random: Random::new(seed),
        users_only: false,
        is_free,
    };
    let locations: Vec<String> = (0..count).map(|_| maker.location()).collect();
    let mut lines = String::new();
    for (at, location) in locations.iter().enumerate() {
        let below = if location.contains("SVNPath ") { "/r" } else { "" };
        let location = location.replace("REPOSITORIES", &parent.display().to_string());
        _ = write!(lines, "<Location /l{at}{below}>\n{location}</Location>\n");
        if is_free && maker.chance(2) {
            lines += &parts(&mut maker, at);
        }
    }
    let theirs = TestServer::apache_with(&lines, FILES);
    let ours = TestServer::imported(&lines, FILES);
    let mut wrong = Vec::new();
    let all = locations.iter().enumerate();
    let all = all.flat_map(|location| USERS.iter().map(move |user| (location, user)));
    let all = all.flat_map(|(location, user)| ASKED.iter().map(move |asked| (location, user, asked)));
    // A step without common divisors with the numbers of users and of requests.
    for ((at, location), (user, password), (method, path)) in sample(7, all) {
        // What is outside of the location has no rules, and Apache takes its own URL for such a place.
        if location.contains("SVNPath ") && !path.starts_with("/r/") {
            continue;
        }
        let proof = authorization(user, password);
        let mut headers = Vec::new();
        if *method == "PROPFIND" {
            headers.push(("Depth", "0"));
        }
        if !user.is_empty() {
            headers.push(("Authorization", &proof));
        }
        let path = format!("/l{at}{path}");
        let [theirs, ours] = [&theirs, &ours].map(|server| {
            let status = send_request(server.port(), method, &path, &headers, "").status;
            match (*method, status) {
                ("GET" | "PROPFIND" | "OPTIONS", _) | (_, 401 | 403 | 500) => status,
                // An allowed request gets an error about its content, which is not compared.
                _ => 0,
            }
        });
        let is_closed = |status| [401, 403].contains(&status);
        let differs = match is_free {
            true => (is_closed(theirs) || theirs == 410) && !is_closed(ours),
            false => theirs != ours,
        };
        // Requests that Apache cannot process.
        if differs && theirs != 500 {
            wrong.push(format!(
                "seed {seed}: {user}:{password} {method} {path}: theirs {theirs}, ours {ours}\n{location}{}",
                section(&lines, at)
            ));
        }
    }
    if std::env::var_os("RULES_ALL").is_some() {
        wrong.iter().for_each(|one| eprintln!("{one}"));
    }
    if !wrong.is_empty() {
        wrong.push(ours.configuration());
    }
    wrong
}

/// Returns a section with `lines` for a part of the location at `/lN`.
fn section(lines: &str, at: usize) -> String {
    let end = lines
        .split_once(&format!("<Location /l{at}>\n"))
        .or_else(|| lines.split_once(&format!("<Location /l{at}/r>\n")))
        .and_then(|(_, rest)| {
            let rest = rest.split_once("</Location>\n")?.1;
            rest.split(&format!("<Location /l{}>\n", at + 1)).next()
        });
    end.unwrap_or_default().to_owned()
}

/// Compares random configurations; with `is_loose` only that Sven refuses what Apache refuses.
fn compare(is_loose: bool) {
    let (first, rounds) = asked_for();
    for seed in first..first + rounds {
        let wrong = round(seed, if rounds > 1 { 100 } else { 25 }, is_loose);
        assert!(
            wrong.is_empty(),
            "{} differ, such as\n{}\n{}",
            wrong.len() - 1,
            wrong[0],
            wrong[wrong.len() - 1]
        );
    }
}

#[test]
fn random_configurations_never_allow_what_apache_refuses() {
    compare(true);
}

#[test]
fn random_configurations_have_the_same_access_rights() {
    compare(false);
}

/// Returns the first seed and the number of seeds.
fn asked_for() -> (u64, u64) {
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    (number("RULES_SEED", 1), number("RULES", 1))
}
