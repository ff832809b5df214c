//! Users of an LDAP directory. The directory here is a minimal LDAP server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use repos::authz::Source;
use repos::config::AuthzFiles;
use server::config::{AccessRules, Ldap, LdapGroups, LdapScope, Provider, Secret};

use super::auth::basic;
use super::site::TestSite;

/// A directory with `alice` (password `secret`), a member of `dev`, and `bob` (`other`), who is in no group.
struct FakeLdapServer {
    address: SocketAddr,
    binds: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let len = u16::try_from(body.len()).expect("short").to_be_bytes();
    [&[tag, 0x82][..], &len, &body].concat()
}

fn result(tag: u8, code: u8) -> Vec<u8> {
    element(tag, &[&[0x0a, 1, code, 4, 0, 4, 0]])
}

fn entry(dn: &str, attributes: &[(&str, &str)]) -> Vec<u8> {
    let one = |(name, value): &(&str, &str)| {
        let values = element(0x31, &[&element(4, &[value.as_bytes()])]);
        element(0x30, &[&element(4, &[name.as_bytes()]), &values])
    };
    let all: Vec<Vec<u8>> = attributes.iter().map(one).collect();
    let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    element(0x64, &[&element(4, &[dn.as_bytes()]), &element(0x30, &all)])
}

/// One whole message: its number, and the tag and bytes of its operation.
fn message(socket: &mut TcpStream) -> Option<(Vec<u8>, u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).ok()?;
    let mut len = usize::from(head[1]);
    if len > 0x80 {
        let mut bytes = vec![0; len - 0x80];
        socket.read_exact(&mut bytes).ok()?;
        len = bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
    }
    let mut body = vec![0; len];
    socket.read_exact(&mut body).ok()?;
    let id = body[..2 + usize::from(body[1])].to_vec();
    let asked = body[id.len()];
    Some((id.clone(), asked, body[id.len()..].to_vec()))
}

fn has(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

impl FakeLdapServer {
    fn start() -> FakeLdapServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let directory = FakeLdapServer {
            address: listener.local_addr().expect("it is bound"),
            binds: Arc::default(),
            connections: Arc::default(),
        };
        let (binds, connections) = (directory.binds.clone(), directory.connections.clone());
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let binds = binds.clone();
                std::thread::spawn(move || serve(socket, &binds));
            }
        });
        directory
    }

    fn ldap(&self) -> Ldap {
        Ldap {
            url: format!("ldap://{}", self.address),
            base: "ou=people".into(),
            user_attribute: "uid".into(),
            scope: LdapScope::Subtree,
            filter: Some("(objectClass=person)".into()),
            bind_dn: Some("cn=server".into()),
            bind_password: Some(Secret::new("known")),
            starttls: false,
            ca: None,
            groups: Some(LdapGroups {
                base: "ou=groups".into(),
                filter: None,
                member_attributes: vec!["member".into(), "uniqueMember".into()],
                members_are_dns: true,
                name_attribute: "cn".into(),
            }),
            timeout: Duration::from_secs(5),
        }
    }
}

fn serve(mut socket: TcpStream, binds: &AtomicUsize) {
    while let Some((id, asked, body)) = message(&mut socket) {
        let mut answers = Vec::new();
        match asked {
            0x60 => {
                binds.fetch_add(1, Ordering::SeqCst);
                let right = [
                    ("cn=server", "known"),
                    ("uid=alice", "secret"),
                    ("uid=bob", "other"),
                ]
                .iter()
                .any(|(dn, password)| has(&body, dn) && has(&body, password));
                answers.push(result(0x61, if right { 0 } else { 49 }));
            }
            0x63 if !has(&body, "ou=groups") => {
                assert!(has(&body, "objectClass"));
                for user in ["alice", "bob"] {
                    // The whole value, with its length before it.
                    let typed = body.to_ascii_lowercase();
                    if has(&typed, &format!("{}{user}", char::from(user.len() as u8))) {
                        answers.push(entry(&format!("uid={user},ou=people"), &[("UID", user)]));
                    }
                }
                answers.push(result(0x65, 0));
            }
            0x63 => {
                let is_member = has(&body, "uid=alice,ou=people") && has(&body, "uniqueMember");
                if is_member && !has(&body, "elsewhere") {
                    answers.push(entry("cn=dev,ou=groups", &[("cn", "dev")]));
                    answers.push(entry("cn=unheard,ou=groups", &[("cn", "unheard of")]));
                }
                answers.push(result(0x65, 0));
            }
            _ => return,
        }
        for answer in answers {
            if socket.write_all(&element(0x30, &[&id, &answer])).is_err() {
                return;
            }
        }
    }
}

fn site(directory: &FakeLdapServer) -> TestSite {
    TestSite::new(|plan, folder| {
        let rules = "[/]\n$authenticated = r\n[/trunk/private]\n* =\n@dev = rw\n";
        std::fs::write(folder.join("authz"), rules).expect("written");
        plan.access = Some(AccessRules {
            providers: [Provider::Ldap(Box::new(directory.ldap()))].into(),
            anonymous: false,
            authz: Some(AuthzFiles {
                authz: Source::File(folder.join("authz")),
                groups: None,
            }),
            ..AccessRules::default()
        });
    })
}

#[test]
fn users_and_groups_are_those_of_the_directory() {
    let directory = FakeLdapServer::start();
    let site = site(&directory);
    let ask = |user: &str, password: &str, path: &str| site.ask("OPTIONS", path, &basic(user, password)).0;
    assert_eq!(ask("alice", "secret", "/repo/trunk"), 200);
    assert_eq!(ask("alice", "secret", "/repo/trunk/private"), 200, "by her group");
    assert_eq!(ask("bob", "other", "/repo/trunk"), 200);
    assert_eq!(ask("bob", "other", "/repo/trunk/private"), 403);
    for (user, password) in [
        ("alice", "other"),
        ("alice", ""),
        ("carol", "secret"),
        ("", ""),
        ("*", "secret"),
        ("alice)(uid=*", "secret"),
    ] {
        assert_eq!(ask(user, password, "/repo/trunk"), 401, "{user}");
    }
    let before = directory.binds.load(Ordering::SeqCst);
    for _ in 0..20 {
        assert_eq!(ask("alice", "secret", "/repo/trunk/private"), 200);
    }
    assert_eq!(
        directory.binds.load(Ordering::SeqCst),
        before,
        "what was right is remembered"
    );
    assert!(
        directory.connections.load(Ordering::SeqCst) <= 2,
        "connections are kept"
    );
}

#[test]
fn each_location_uses_its_own_groups() {
    let directory = FakeLdapServer::start();
    let site = TestSite::new(|plan, folder| {
        std::fs::write(folder.join("authz"), "[/]\n@dev = rw\n").expect("written");
        let rules = |groups_filter: &str| {
            let mut ldap = directory.ldap();
            let groups = ldap.groups.as_mut().expect("it has some");
            groups.filter = Some(groups_filter.to_owned());
            AccessRules {
                providers: [Provider::Ldap(Box::new(ldap))].into(),
                anonymous: false,
                authz: Some(AuthzFiles {
                    authz: Source::File(folder.join("authz")),
                    groups: None,
                }),
                ..AccessRules::default()
            }
        };
        plan.access = Some(rules("(objectClass=group)"));
        let parent = server::config::Source::Parent(folder.join("repos"));
        let mut other = server::config::Location::new("/other", parent);
        other.access = Some(rules("(objectClass=elsewhere)"));
        plan.options.locations.push(other.into());
    });
    let ask = |path: &str| site.ask("OPTIONS", path, &basic("alice", "secret")).0;
    for _ in 0..2 {
        assert_eq!(ask("/repo/trunk"), 200, "she is in dev there");
        assert_eq!(ask("/other/repo/trunk"), 403, "and here she is not");
    }
    // Settings may have changed with SIGHUP: the directory is asked again.
    let before = directory.binds.load(Ordering::SeqCst);
    assert_eq!(ask("/repo/trunk"), 200);
    assert_eq!(directory.binds.load(Ordering::SeqCst), before);
    site.service.hang_up();
    assert_eq!(ask("/repo/trunk"), 200);
    assert!(directory.binds.load(Ordering::SeqCst) > before);
}

#[test]
fn rules_use_the_directorys_spelling_of_names() {
    let directory = FakeLdapServer::start();
    let site = TestSite::new(|plan, folder| {
        let rules = "[/]\n$authenticated = rw\n[/trunk/private]\nalice =\n";
        std::fs::write(folder.join("authz"), rules).expect("written");
        plan.access = Some(AccessRules {
            providers: [Provider::Ldap(Box::new(directory.ldap()))].into(),
            anonymous: false,
            authz: Some(AuthzFiles {
                authz: Source::File(folder.join("authz")),
                groups: None,
            }),
            ..AccessRules::default()
        });
    });
    for _ in 0..2 {
        for name in ["alice", "ALICE", "Alice"] {
            let ask = |path: &str| site.ask("OPTIONS", path, &basic(name, "secret")).0;
            assert_eq!(ask("/repo/trunk"), 200, "{name}");
            assert_eq!(ask("/repo/trunk/private"), 403, "{name}");
        }
    }
    for name in ["al\nice", "alice\r\n", "alice\u{85}", "\talice", "alice\0"] {
        assert_eq!(
            site.ask("OPTIONS", "/repo/trunk", &basic(name, "secret")).0,
            401,
            "{name:?}"
        );
    }
}

#[test]
fn an_unreachable_directory_is_not_a_wrong_password() {
    let directory = FakeLdapServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let away = FakeLdapServer { address, ..directory };
    let site = site(&away);
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("alice", "secret")).0, 500);
}
