//! Users of a real LDAP directory: OpenLDAP's `slapd`, as an unprivileged process on a port of its own.

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use repos::authz::Source;
use repos::config::AuthzFiles;
use server::config::{AccessRules, Ldap, LdapGroups, LdapScope, Provider, Secret};
use tempfile::TempDir;
use testkit::Tool;

use super::auth::basic;
use super::site::TestSite;
use super::tls::Authority;

/// Debian installs it in `/usr/sbin`, which is not in every user's path.
const SLAPD: &str = "/usr/sbin/slapd";

const TOP: &str = "\
dn: dc=test
objectClass: dcObject
objectClass: organization
o: test
dc: test

dn: cn=server,dc=test
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: server
userPassword: known

";

const GROUPS: &str = "\
dn: cn=dev,ou=groups,dc=test
objectClass: groupOfNames
cn: dev
cn: also called so
member: uid=nobody,dc=test
member: uid=alice,ou=people,dc=test
member: uid=o\\2Cbrien (x),ou=people,dc=test

dn: cn=ops,ou=groups,dc=test
objectClass: groupOfUniqueNames
cn: ops
uniqueMember: uid=bob,ou=people,dc=test

dn: cn=posix,ou=groups,dc=test
objectClass: posixGroup
cn: posix
gidNumber: 1
memberUid: carol

";

/// A running `slapd`, stopped on drop.
struct Slapd {
    child: Option<Child>,
    plain: SocketAddr,
    secure: SocketAddr,
    folder: TempDir,
}

impl Slapd {
    /// Starts `slapd` with additional lines in its configuration.
    fn start(lines: &str) -> Slapd {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Authority::new();
        authority.write("directory", folder.path());
        fs::write(folder.path().join("ca.pem"), authority.pem()).expect("written");
        configure(folder.path(), lines);
        let [plain, secure] = [0, 1].map(|_| free_address());
        let mut slapd = Slapd {
            child: None,
            plain,
            secure,
            folder,
        };
        slapd.up();
        slapd
    }

    /// Starts `slapd` again on the same ports.
    fn up(&mut self) {
        let urls = format!("ldap://{} ldaps://{}", self.plain, self.secure);
        let tool = Tool::new(SLAPD)
            .args(["-d", "0", "-h", &urls, "-f"])
            .arg(self.folder.path().join("slapd.conf"));
        let child = tool.command().stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        self.child = Some(child.expect("slapd is installed: ./dev deps"));
        let begun = Instant::now();
        while TcpStream::connect(self.secure).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "slapd does not come up"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            _ = child.kill();
            _ = child.wait();
        }
    }

    fn ldap(&self) -> Ldap {
        Ldap {
            url: format!("ldap://localhost:{}", self.plain.port()),
            base: "ou=people,dc=test".into(),
            user_attribute: "uid".into(),
            scope: LdapScope::Subtree,
            filter: Some("(objectClass=inetOrgPerson)".into()),
            bind_dn: Some("cn=server,dc=test".into()),
            bind_password: Some(Secret::new("known")),
            starttls: false,
            ca: Some(self.folder.path().join("ca.pem")),
            groups: Some(LdapGroups {
                base: "ou=groups,dc=test".into(),
                filter: None,
                member_attributes: vec!["member".into(), "uniqueMember".into()],
                members_are_dns: true,
                name_attribute: "cn".into(),
            }),
            timeout: Duration::from_secs(10),
        }
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.down();
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}

/// Access rules: only the server may search, and passwords are used for binding only.
fn configure(folder: &Path, lines: &str) {
    let at = |name: &str| folder.join(name).display().to_string();
    let mut conf = String::new();
    for schema in ["core", "cosine", "inetorgperson", "nis"] {
        _ = writeln!(conf, "include /etc/ldap/schema/{schema}.schema");
    }
    _ = writeln!(
        conf,
        "modulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {}\nTLSCertificateFile {}\nTLSCertificateKeyFile {}\n\
         {lines}\ndatabase mdb\nsuffix dc=test\ndirectory {}\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.exact=cn=server,dc=test read by anonymous auth by * none",
        at("pid"),
        at("cert.pem"),
        at("key.pem"),
        at("db"),
    );
    let mut data = TOP.to_owned();
    for unit in ["ou=people", "ou=old,ou=people", "ou=groups"] {
        let name = unit.split(['=', ',']).nth(1).unwrap_or_default();
        _ = write!(
            data,
            "dn: {unit},dc=test\nobjectClass: organizationalUnit\nou: {name}\n\n"
        );
    }
    for (dn, uid, password) in [
        ("uid=alice", "alice", "secret"),
        ("uid=bob", "bob", "other"),
        ("uid=carol", "carol", "pässwörd"),
        ("uid=o\\2Cbrien (x)", "o,brien (x)", "odd"),
        // The name is ambiguous: two entries match.
        ("uid=dan", "dan", "first"),
        ("uid=dan,ou=old", "dan", "second"),
    ] {
        _ = write!(
            data,
            "dn: {dn},ou=people,dc=test\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: x\nsn: x\nuserPassword: {password}\n\n"
        );
    }
    data += GROUPS;
    fs::create_dir(folder.join("db")).expect("a new folder");
    fs::write(folder.join("slapd.conf"), conf).expect("written");
    fs::write(folder.join("data.ldif"), data).expect("written");
    Tool::new("/usr/sbin/slapadd")
        .args(["-q", "-f", &at("slapd.conf"), "-l", &at("data.ldif")])
        .ok();
}

fn site(ldap: Ldap) -> TestSite {
    TestSite::new(|plan, folder| {
        let rules = "[/]\n$authenticated = r\n[/trunk/private]\n* =\n@dev = r\n@posix = r\n[/trunk/a.txt]\n* =\n@ops = r\n";
        fs::write(folder.join("authz"), rules).expect("written");
        plan.access = Some(AccessRules {
            providers: [Provider::Ldap(Box::new(ldap))].into(),
            anonymous: false,
            authz: Some(AuthzFiles {
                authz: Source::File(folder.join("authz")),
                groups: None,
            }),
            ..AccessRules::default()
        });
    })
}

fn ask(site: &TestSite, user: &str, password: &str, path: &str) -> u16 {
    site.ask("OPTIONS", path, &basic(user, password)).0
}

const ANY: &str = "/repo/trunk";
const PRIVATE: &str = "/repo/trunk/private";

#[test]
fn passwords_and_groups_are_those_of_the_directory() {
    let slapd = Slapd::start("");
    let site_of_dns = site(slapd.ldap());
    for (user, password, private, file) in [
        ("alice", "secret", 200, 403),
        ("bob", "other", 403, 200),
        ("carol", "pässwörd", 403, 403),
        ("o,brien (x)", "odd", 200, 403),
    ] {
        assert_eq!(ask(&site_of_dns, user, password, ANY), 200, "{user}");
        assert_eq!(ask(&site_of_dns, user, password, PRIVATE), private, "{user}");
        assert_eq!(
            ask(&site_of_dns, user, password, "/repo/trunk/a.txt"),
            file,
            "{user}"
        );
    }
    for (user, password) in [
        ("alice", "other"),
        ("alice", ""),
        ("nobody", "secret"),
        ("", ""),
        ("", "secret"),
        ("dan", "first"),
        ("dan", "second"),
        // Special characters of filters are escaped.
        ("*", "secret"),
        ("a*", "secret"),
        ("alice)(uid=*", "secret"),
        ("alice)(|(uid=*)", "secret"),
        ("\\61lice", "secret"),
        ("alice\0", "secret"),
        ("alice,ou=people,dc=test", "secret"),
        ("alice\u{00ad}x", "secret"),
    ] {
        assert_eq!(ask(&site_of_dns, user, password, ANY), 401, "{user:?}");
    }
    // Groups whose members are user names.
    let mut ldap = slapd.ldap();
    if let Some(groups) = &mut ldap.groups {
        groups.member_attributes = vec!["memberUid".into()];
        groups.members_are_dns = false;
    }
    let site_of_names = site(ldap);
    assert_eq!(ask(&site_of_names, "carol", "pässwörd", PRIVATE), 200);
    assert_eq!(ask(&site_of_names, "alice", "secret", PRIVATE), 403);
    // A search of one level finds only one of the two.
    let mut ldap = slapd.ldap();
    ldap.scope = LdapScope::One;
    let site_of_one = site(ldap);
    assert_eq!(ask(&site_of_one, "dan", "first", ANY), 200);
    assert_eq!(ask(&site_of_one, "dan", "second", ANY), 401);
}

#[test]
fn a_directory_without_search_permission_is_reported() {
    let slapd = Slapd::start("");
    let mut ldap = slapd.ldap();
    ldap.bind_password = Some(Secret::new("wrong"));
    assert_eq!(ask(&site(ldap), "alice", "secret", ANY), 500);
    // With these access rules an anonymous search finds no user.
    let mut ldap = slapd.ldap();
    (ldap.bind_dn, ldap.bind_password) = (None, None);
    assert_ne!(ask(&site(ldap), "alice", "secret", ANY), 200);
    let mut ldap = slapd.ldap();
    ldap.filter = Some("(objectClass=".into());
    assert_eq!(ask(&site(ldap), "alice", "secret", ANY), 500);
}

#[test]
fn passwords_are_encrypted_with_starttls_and_ldaps() {
    // The directory refuses binds without encryption.
    let slapd = Slapd::start("security simple_bind=128");
    let over = |url: String, starttls: bool, ca: bool| {
        let site = site(Ldap {
            url,
            starttls,
            ca: ca.then(|| slapd.folder.path().join("ca.pem")),
            ..slapd.ldap()
        });
        ask(&site, "alice", "secret", PRIVATE)
    };
    let plain = || format!("ldap://localhost:{}", slapd.plain.port());
    let secure = || format!("ldaps://localhost:{}", slapd.secure.port());
    assert_eq!(over(plain(), false, true), 500);
    assert_eq!(over(plain(), true, true), 200);
    assert_eq!(over(secure(), false, true), 200);
    // The certificate of the directory is not signed by a known authority.
    assert_eq!(over(plain(), true, false), 500);
    assert_eq!(over(secure(), false, false), 500);
    // The certificate is for another address.
    assert_eq!(over(format!("ldaps://{}", slapd.secure), false, true), 500);
}

#[test]
fn closed_directory_connections_are_reopened() {
    let mut slapd = Slapd::start("idletimeout 1");
    let site = site(slapd.ldap());
    assert_eq!(ask(&site, "alice", "secret", ANY), 200);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(
        ask(&site, "bob", "other", ANY),
        200,
        "the directory has hung up meanwhile"
    );
    slapd.down();
    assert_eq!(ask(&site, "carol", "pässwörd", ANY), 500);
    assert_eq!(
        ask(&site, "alice", "secret", ANY),
        200,
        "what is known is known for a while"
    );
    slapd.up();
    assert_eq!(ask(&site, "carol", "pässwörd", ANY), 200);
}
