//! What is between a client and its server: forward proxies, and servers that redirect to another one. Both clients go the same way to
//! the servers of both implementations.

use std::path::Path;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::server::transport::Transport;
use testkit::{Side, Spec, Tool, build, normalize, sample_from};

use crate::twins::{Access, TwinClients};
use crate::writing::{USER, write_hook};

/// A proxy for everything, with and without TLS.
const PROXY: &str = "LoadModule proxy_connect_module /usr/lib/apache2/modules/mod_proxy_connect.so\n\
                     ProxyRequests On\nAllowCONNECT 10000-32000\n";
/// A proxy that demands a password.
const LOGIN: &str =
    "<Proxy *>\nAuthType Basic\nAuthName proxy\nAuthUserFile @FOLDER/users\nRequire valid-user\n</Proxy>\n";

/// Sven's servers get a part of the lines: they are not what is between.
fn part<L>(servers: Side, lines: &[L]) -> impl Iterator<Item = &L> {
    lines.iter().step_by(if servers == Side::Ours { 3 } else { 1 })
}

/// Returns the options for a proxy.
fn through(proxy: &TestServer, login: Option<(&str, &str)>) -> String {
    let option =
        |name: &str, value: &str| format!("--config-option servers:global:http-proxy-{name}={value}");
    let mut options = vec![
        option("host", "127.0.0.1"),
        option("port", &proxy.port().to_string()),
    ];
    if let Some((user, password)) = login {
        options.extend([option("username", user), option("password", password)]);
    }
    options.join(" ")
}

#[test]
fn proxies_are_used() {
    let repo = build(&Spec::small("1.14"));
    let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
    let open = TestServer::apache_with(PROXY, &[]);
    let closed = TestServer::apache_with(&format!("{PROXY}{LOGIN}"), &[("users", users)]);
    let dead = testkit::server::free_port();
    for (number, (access, servers)) in [Access::Http, Access::Https]
        .into_iter()
        .flat_map(|access| Side::BOTH.map(|side| (access, side)))
        .enumerate()
    {
        let twins = TwinClients::with_servers(&repo, access, servers);
        for side in Side::BOTH {
            write_hook(&twins, side, "pre-revprop-change", "#!/bin/sh\n");
        }
        let (plain, right, wrong) = (
            through(&open, None),
            through(&closed, Some(("alice", "secret"))),
            through(&closed, Some(("alice", "wrong"))),
        );
        let none = through(&closed, None);
        let dead = format!(
            "--config-option servers:global:http-proxy-host=127.0.0.1 --config-option servers:global:http-proxy-port={dead}"
        );
        let excepted = "--config-option servers:global:http-proxy-exceptions=127.0.0.*,local*";
        let lines = [
            format!("svn list {{URL}}/A {plain}"),
            format!("svn mkdir -m m {{URL}}/plain {USER} {plain}"),
            format!("svn list {{URL}}/A {right}"),
            format!("svn export -q {{URL}} {{DIR}}/exported {right}"),
            format!("svn mkdir -m m {{URL}}/new {USER} {right}"),
            format!("svn lock {{URL}}/iota {USER} {right}"),
            format!("svn unlock {{URL}}/iota {USER} {right}"),
            format!("svn propset --revprop -r 1 p v {{URL}} {USER} {right}"),
            format!(
                "svn mkdir -m m {{URL}}/new --username alice --password wrong --no-auth-cache --non-interactive {right}"
            ),
            format!("svn list {{URL}} {wrong} --non-interactive"),
            format!("svn list {{URL}} {none} --non-interactive"),
            format!("svn list {{URL}} {wrong} {excepted}"),
            format!("svn list {{URL}} {dead}"),
            format!("svn list {{ELSEWHERE}} {right}"),
            format!("svn list {{MOVED}}/A {right}"),
        ];
        for line in sample_from(number / 2, 2, part(servers, &lines)) {
            twins.same(line);
        }
        twins.same_repositories();
    }
}

/// A server that redirects `/theirs/NAME` and `/ours/NAME` to the repositories of both sides, and `/temp-theirs` and so on for now.
struct Redirector {
    url: String,
    _server: TestServer,
}

impl Redirector {
    fn new(twins: &TwinClients, transport: Transport, folder: &Path) -> Redirector {
        let rules = Side::BOTH.map(|side| {
            let root = twins.url(side).trim_end_matches("repo");
            let name = name(side);
            format!(
                "RedirectMatch permanent ^/{name}/(.*)$ {root}$1\nRedirectMatch temp ^/temp-{name}/(.*)$ {root}$1\n"
            )
        });
        let site = HttpSite {
            transport,
            apache_wide: &rules.concat(),
            ..HttpSite::plain(folder)
        };
        let server = TestServer::http_site(Side::Theirs, &site);
        Redirector {
            url: format!("{}://{}:{}", transport.scheme(), transport.host(), server.port()),
            _server: server,
        }
    }

    /// Returns a tool of one side, in whose words `{AWAY}` and `{TEMP}` stand for the repository behind a redirect.
    fn tool(&self, twins: &TwinClients, side: Side, line: &str) -> Tool {
        let (url, name) = (&self.url, name(side));
        let line = line
            .replace("{AWAY}", &format!("{url}/{name}/repo"))
            .replace("{TEMP}", &format!("{url}/temp-{name}/repo"));
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        twins.tool(side, &words)
    }

    fn shape(&self, twins: &TwinClients, side: Side, text: &str) -> String {
        let name = name(side);
        let text = normalize::replace(text, &[(twins.url(side), "{URL}"), (&self.url, "{FROM}")]);
        normalize::mask_uuids(&normalize::mask_dates(&text.replace(name, "{SIDE}")))
    }

    fn same(&self, twins: &TwinClients, line: &str) {
        let [theirs, ours] = Side::BOTH.map(|side| {
            let output = self.tool(twins, side, line).run();
            let text = format!("{}--- stderr\n{}exit {}", output.out(), output.err(), output.code);
            self.shape(twins, side, &text)
        });
        assert!(ours == theirs, "{line}\n--- theirs\n{theirs}\n--- ours\n{ours}");
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Theirs => "theirs",
        Side::Ours => "ours",
    }
}

/// A difference on purpose: no redirect leads from https to http. Another one, that passwords of the options are not sent to the other server, has
/// a test beside those of passwords.
#[test]
fn redirects_lead_to_other_servers() {
    let repo = build(&Spec::small("1.14"));
    let folder = testkit::scratch();
    for (number, (transport, access)) in [
        (Transport::Http, Access::Http),
        (Transport::Http, Access::Https),
        (Transport::Https, Access::Https),
        (Transport::Https, Access::Http),
    ]
    .into_iter()
    .enumerate()
    {
        for servers in sample_from(number, 2, Side::BOTH) {
            let twins = TwinClients::with_servers(&repo, access, servers);
            let from = Redirector::new(&twins, transport, folder.path());
            for side in Side::BOTH {
                crate::twins::trust_test_servers(&twins.home(side));
            }
            if (transport, access.transport()) == (Transport::Https, Some(Transport::Http)) {
                from.tool(&twins, Side::Theirs, "svn list {AWAY}").ok();
                let output = from.tool(&twins, Side::Ours, "svn list {AWAY}").run();
                assert!(output.code == 1 && output.err().contains("E175011"), "{output:?}");
                continue;
            }
            let lines = [
                "svn info {AWAY}/A/mu",
                "svn log -q {AWAY}",
                "svn list {AWAY}/A",
                "svn cat {AWAY}/iota",
                "svn export -q {AWAY}/A exported",
                "svn list {TEMP}",
                "svn list {AWAY}/nosuch",
                "svn mkdir -m m {AWAY}/new --non-interactive",
                "svn lock {AWAY}/iota --non-interactive",
                "svn propset --revprop -r 1 p v {AWAY} --non-interactive",
                "svnmucc -m m rm {AWAY}/iota --non-interactive",
                "svnsync info {AWAY} --non-interactive",
                "svnrdump dump -q {AWAY}",
            ];
            for line in sample_from(number / 2, 2, part(servers, &lines)) {
                from.same(&twins, line);
            }
            twins.same_repositories();
        }
    }
}
