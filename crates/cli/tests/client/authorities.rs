//! Users, hosts and ports of URLs that are odd, beside Subversion's client: the canonical URL in messages, the number of the error, and the
//! words that a tunnel gets.
//!
//! Each authority has one scheme or two, and each command one URL; with `AUTHORITY_SCHEMES=all` they have all of them.

use std::net::TcpListener;

use testkit::server::TestServer;
use testkit::server::transport::certificate;
use testkit::{Side, Spec, Tool, build, sample_from};

use crate::terminal;
use crate::tunnels::{Tunnels, check};

/// What is between `://` and the path.
const AUTHORITIES: &[&str] = &[
    // Hosts that are empty, or are no names.
    "",
    "u@",
    "@",
    ":",
    ":22",
    "@:22",
    ":1",
    "u:@h.invalid",
    ":@h.invalid",
    ".",
    "..",
    "...",
    "u@..",
    "..@h.invalid",
    "..:1",
    "h.invalid.",
    "H.Invalid",
    "127.0.0.1.:1",
    "127.0.0.1:1",
    "LOCALHOST:1",
    "localhost",
    // Users.
    "U@127.0.0.1:1",
    "a@b@127.0.0.1:1",
    "A@B@LOCALHOST:1",
    "u@h.invalid@",
    "u:p@127.0.0.1:1",
    "u%41@127.0.0.1:1",
    "u%40x@127.0.0.1:1",
    "U é@127.0.0.1:1",
    "[H]@127.0.0.1:1",
    // Addresses in brackets.
    "[::1]:1",
    "[::1]",
    "[FE80::A]:1",
    "[fe80::a]:",
    "[::1]:x",
    "[::1]:1:1",
    "[::1",
    "::1",
    "[::]:1",
    "[]",
    "[::g]",
    "[H]:1",
    "[A:G%41]:1",
    "[::1%25lo]:1",
    "[v1.x]",
    "U@[H]",
    "%5b::1%5d:1",
    "h[x",
    "hx]",
    // Escapes, and characters that need one.
    "h%20x.invalid",
    "h x.invalid",
    "127.0.0.1 :1",
    "é.invalid",
    "h%C3%A9.invalid",
    "127%2e0.0.1:1",
    "%6cocalhost:1",
    "h%2fx",
    "h%zz",
    "h%",
    "h%3ax",
    "%2e%2e",
    "h;x.invalid",
    "h\"<>\\^`{|}",
    "h?q",
    "h#f",
    "127.0.0.1:1?q",
    // Ports.
    "127.0.0.1:",
    "127.0.0.1:0",
    "127.0.0.1:01",
    "127.0.0.1:00001",
    "127.0.0.1:65536",
    "127.0.0.1:65537",
    "127.0.0.1:99999999999999999999",
    "127.0.0.1:-65535",
    "127.0.0.1:+1",
    "127.0.0.1:x",
    "127.0.0.1:1x",
    "127.0.0.1:0x1",
    "127.0.0.1:%31",
    "127.0.0.1: 1",
    "127.0.0.1:1 ",
    "127.0.0.1:1:1",
    "127.0.0.1::1",
    "127.0.0.1:1:3690",
    "127.0.0.1:3690:",
    "127.0.0.1:..",
    "127.0.0.1:X%41",
];

#[test]
fn odd_authorities_are_read_alike() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    tunnels.set_script("exit 0\n");
    let has_all = std::env::var_os("AUTHORITY_SCHEMES").is_some();
    let mut differences = Vec::new();
    for (number, authority) in AUTHORITIES.iter().enumerate() {
        // A server may be at the default port.
        let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&authority.trim_end_matches(':'));
        let schemes = ["svn+ssh", "svn", "http", "https", "file"];
        let (chosen, count) = match has_all {
            true => ((0..5).collect(), 1),
            // In a plain run, one of the two in turn.
            false => (vec![0, 1 + number / 2 % 4], 2),
        };
        for at in sample_from(number, count, chosen) {
            if !(is_local && (1..4).contains(&at)) {
                let scheme = schemes[at];
                let url = format!("{scheme}://{authority}/x");
                differences.push(tunnels.run(&["svn", "info", "--non-interactive", &url], "", None));
            }
        }
    }
    check(differences);
}

/// Each program refuses a URL that names no server.
#[test]
fn no_program_uses_a_url_without_a_server() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    tunnels.set_script("exit 0\n");
    let lines = [
        "svn cat U/y",
        "svn list U/y",
        "svn log U/y",
        "svn blame U/y",
        "svn propget a U/y",
        "svn export U/y",
        "svn diff U/y@1 U/y",
        "svn mergeinfo U/y U/y",
        "svn mkdir -m x U/y",
        "svn rm -m x U/y",
        "svn cp -m x U/y U/z",
        "svn cp -m x file://{REPO}/A U/z",
        "svn import -m x tools U/y",
        "svn lock U/y",
        "svn unlock U/y",
        "svn propset --revprop -r1 a b U/y",
        "svnmucc -m x rm U/y",
        "svnsync init U/y file://{REPO}",
        "svnsync init file://{REPO} U/y",
        "svnrdump dump U/y",
        "svnrdump load U/y",
    ];
    let urls = [
        "svn://h:x",
        "svn+ssh://h::1",
        "http://h:+",
        "file://localhost:x",
        "foo://h:x",
    ];
    let has_all = std::env::var_os("AUTHORITY_SCHEMES").is_some();
    check(lines.iter().enumerate().flat_map(|(number, line)| {
        let urls = urls.iter().enumerate();
        let chosen = urls.filter(move |(at, _)| has_all || *at == number % 5);
        chosen.map(|(_, url)| {
            let line = line.replace('U', url);
            let words: Vec<&str> = line.split(' ').collect();
            tunnels.run(&words, "", None)
        })
    }));
}

/// Realms name an IPv6 address without brackets, so that each client finds what the other has stored.
#[test]
fn realms_have_addresses_without_brackets() {
    if TcpListener::bind("[::1]:0").is_err() {
        println!("there is no IPv6");
        return;
    }
    let folder = testkit::scratch();
    Tool::new("svnadmin")
        .arg("create")
        .arg(folder.path().join("r"))
        .ok();
    let tls = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nSSLEngine on\n";
    let pair = certificate().certificate.display();
    let tls = format!("{tls}SSLCertificateFile \"{pair}\"\n");
    let login = "AuthType Basic\nAuthName realm\nAuthUserFile \"@FOLDER/users\"\nRequire valid-user\n";
    for (scheme, lines, login, answers) in [
        ("http", "", login, &["secret", "no"][..]),
        ("https", &tls, "Require all granted\n", &["p"]),
    ] {
        let lines = format!(
            "Listen [::1]:@PORT\n{lines}<Location />\nDAV svn\nSVNParentPath \"{}\"\n{login}</Location>\n",
            folder.path().display()
        );
        let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
        let server = TestServer::apache_with(&lines, &[("users", users)]);
        let url = format!("{scheme}://[::1]:{}/r", server.port());
        let [theirs, ours] = Side::BOTH.map(|side| {
            let home = testkit::scratch();
            let tool = |words: &[&str]| side.tool("svn").args(words).env("HOME", home.path());
            let asked = terminal::run(
                &tool(&["info", "--show-item=url", &url, "--username=alice"]),
                answers,
            );
            let text = asked.out() + &tool(&["auth"]).ok().out();
            text.replace(&home.path().display().to_string(), "{HOME}")
        });
        assert!(theirs == ours, "--- theirs\n{theirs}\n--- ours\n{ours}");
    }
}
