//! Authorization: the same requests to this server and to Apache with `mod_authz_svn`.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use repos::authz::Source;
use repos::config::{AuthzFiles, UsernameCase};
use server::config::{AccessRules, Provider};
use testkit::Tool;

use super::auth::basic;
use super::site::{RawClient, SitePlan, TestSite, status_of};

/// A running Apache, stopped on drop.
struct Apache {
    child: Child,
    address: SocketAddr,
}

/// One configuration of authentication: Apache's directives and our settings.
type AccessConfiguration = (&'static str, &'static str, fn(&mut AccessRules));

const CONFIGURATIONS: [AccessConfiguration; 5] = [
    ("every user must log in", "Require valid-user", |rules| {
        rules.anonymous = false
    }),
    (
        "login where it is needed",
        "Satisfy Any\nRequire valid-user",
        |_| (),
    ),
    ("no authentication", "", |rules| rules.providers = [].into()),
    (
        "anonymous is off",
        "AuthzSVNAnonymous Off\nRequire valid-user",
        |rules| {
            rules.anonymous = false;
        },
    ),
    (
        "user names in capitals",
        "AuthzForceUsernameCase Upper\nRequire valid-user",
        |rules| {
            rules.anonymous = false;
            rules.username_case = UsernameCase::Upper;
        },
    ),
];

const RULES: [&str; 4] = [
    "[/]\n* = r\nalice = rw\n[/trunk/private]\n* =\nalice = r\nbob = rw\n",
    "[groups]\ndev = alice\n[/]\n@dev = rw\n$anonymous = r\n[repo:/trunk]\nbob = r\nALICE = rw\n[repo:/trunk/private]\n@dev =\n",
    "[repo:/trunk/private]\n$authenticated = rw\n",
    "[/]\nbob = rw\n[repo:/]\n* = r\n~bob = rw\n[/trunk]\n* =\n",
];

const METHODS: [&str; 15] = [
    "OPTIONS",
    "GET",
    "PROPFIND",
    "REPORT",
    "POST",
    "PUT",
    "MKCOL",
    "DELETE",
    "PROPPATCH",
    "CHECKOUT",
    "MKACTIVITY",
    "LOCK",
    "UNLOCK",
    "COPY",
    "MOVE",
];

const PATHS: [&str; 8] = [
    "/repo/trunk",
    "/repo/trunk/a.txt",
    "/repo/trunk/private/b.txt",
    "/repo/nowhere/at/all",
    "/repo/!svn/me",
    "/repo/!svn/rvr/1/trunk/private",
    "/repo/!svn/vcc/default",
    "/repo/!svn/act/some-activity",
];

#[test]
fn responses_equal_apaches() {
    let mut different = String::new();
    let mut asked = 0;
    for rules in RULES {
        let sites: Vec<TestSite> = CONFIGURATIONS
            .iter()
            .map(|configuration| site(configuration, rules))
            .collect();
        let apache = Apache::start(&sites[0]);
        for (at, configuration) in CONFIGURATIONS.iter().enumerate() {
            let mut ours = RawClient::to(sites[at].plain);
            let users = [
                ("nobody", String::new()),
                ("alice", basic("alice", "a")),
                ("bob", basic("bob", "b")),
                ("a liar", basic("alice", "b")),
            ];
            let requests = users.iter().flat_map(|user| {
                let with_method = move |path| METHODS.map(move |method| (user, path, method));
                PATHS.into_iter().flat_map(with_method)
            });
            let requests: Vec<_> = requests.collect();
            // Each configuration begins with another one, so that its sample is another one.
            let rotated = requests.iter().cycle().skip(at).take(requests.len());
            for &((who, header), path, method) in testkit::sample(7, rotated) {
                let destination = match method {
                    "COPY" | "MOVE" => "/repo/trunk/private/new",
                    _ => "",
                };
                let our = ask(&mut ours, sites[at].plain, "", method, path, destination, header);
                let mut client = RawClient::to(apache.address);
                let prefix = format!("/way{at}");
                let theirs = ask(
                    &mut client,
                    apache.address,
                    &prefix,
                    method,
                    path,
                    destination,
                    header,
                );
                // Where no login is required, Apache fails at requests with credentials.
                if theirs == 500 && configuration.1.is_empty() && !header.is_empty() {
                    continue;
                }
                asked += 1;
                if verdict(our) != verdict(theirs) {
                    _ = writeln!(
                        different,
                        "{}: {who}: {method} {path}: {our} instead of {theirs}",
                        configuration.0
                    );
                }
            }
        }
        if !different.is_empty() {
            _ = writeln!(different, "under\n{rules}");
            break;
        }
    }
    assert!(different.is_empty(), "of {asked}:\n{different}");
}

/// Returns the result of authorization: 401, 403 or neither.
fn verdict(status: u16) -> &'static str {
    match status {
        401 => "who are you?",
        403 => "no",
        _ => "come in",
    }
}

fn ask(
    client: &mut RawClient,
    address: SocketAddr,
    prefix: &str,
    method: &str,
    path: &str,
    destination: &str,
    headers: &str,
) -> u16 {
    let destination = match destination {
        "" => String::new(),
        path => format!("Destination: http://{address}{prefix}{path}\r\n"),
    };
    client.send(format!(
        "{method} {prefix}{path} HTTP/1.1\r\nHost: {address}\r\nDepth: 0\r\nContent-Length: 0\r\nConnection: close\r\n\
         {destination}{headers}\r\n"
    ));
    let status = status_of(&client.rest());
    // Each request has a connection of its own.
    *client = RawClient::to(address);
    status
}

fn site(configuration: &AccessConfiguration, rules: &str) -> TestSite {
    TestSite::new(|plan: &mut SitePlan, folder: &Path| {
        std::fs::write(folder.join("authz"), rules).expect("written");
        let htpasswd = folder.join("htpasswd");
        for (user, password, create) in [("alice", "a", "-bcs"), ("bob", "b", "-bs")] {
            Tool::new("htpasswd")
                .arg(create)
                .arg(&htpasswd)
                .args([user, password])
                .ok();
        }
        let mut access = AccessRules {
            providers: [Provider::Htpasswd(htpasswd)].into(),
            realm: Some("test".into()),
            authz: Some(AuthzFiles {
                authz: Source::File(folder.join("authz")),
                groups: None,
            }),
            ..AccessRules::default()
        };
        configuration.2(&mut access);
        plan.access = Some(access);
    })
}

impl Apache {
    /// Serves the repositories of a site at `/wayN` for each configuration.
    fn start(site: &TestSite) -> Apache {
        let folder = site.folder.path();
        Tool::new("chmod").args(["-R", "a+rwX"]).arg(folder).ok();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        drop(listener);
        let modules = [
            "mpm_event",
            "authn_core",
            "authn_file",
            "authz_core",
            "authz_user",
            "access_compat",
            "auth_basic",
            "dav",
            "dav_svn",
            "authz_svn",
        ];
        let mut conf = format!(
            "ServerName test\nServerRoot {0}\nPidFile {0}/httpd.pid\nErrorLog {0}/httpd.log\nListen {address}\n",
            folder.display()
        );
        for module in modules {
            _ = writeln!(
                conf,
                "LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so"
            );
        }
        conf.push_str("User nobody\nGroup nogroup\nKeepAlive Off\n");
        for (at, (_, words, _)) in CONFIGURATIONS.iter().enumerate() {
            _ = write!(
                conf,
                "<Location /way{at}>\nDAV svn\nSVNParentPath {0}/repos\nAuthzSVNAccessFile {0}/authz\n\
                 AuthType Basic\nAuthName test\nAuthUserFile {0}/htpasswd\n{words}\n</Location>\n",
                folder.display()
            );
        }
        std::fs::write(folder.join("httpd.conf"), conf).expect("written");
        let child = Command::new("/usr/sbin/apache2")
            .arg("-f")
            .arg(folder.join("httpd.conf"))
            .arg("-DFOREGROUND")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Apache is installed");
        let apache = Apache { child, address };
        for _ in 0..300 {
            if std::net::TcpStream::connect(address).is_ok() {
                return apache;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(folder.join("httpd.log"));
        panic!("Apache does not start: {log:?}");
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        // With TERM its child processes end too.
        _ = Command::new("kill").arg(self.child.id().to_string()).status();
        _ = self.child.wait();
    }
}
