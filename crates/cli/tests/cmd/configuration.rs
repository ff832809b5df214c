//! `sven check-config` and `sven import-config`, with realistic configurations.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use testkit::{Output, Tool, scratch};

/// A directory that stands for the root directory of a machine.
struct MachineRoot(TempDir);

impl MachineRoot {
    fn new(files: &[(&str, &str)]) -> MachineRoot {
        let machine = MachineRoot(scratch());
        for (name, text) in files {
            let path = machine.path(name);
            fs::create_dir_all(Path::new(&path).parent().expect("because it has one"))
                .expect("because it is ours");
            fs::write(&path, text.replace("@/", &machine.path("/"))).expect("because it is ours");
        }
        machine
    }

    /// Returns the real path of a path on the machine.
    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.0.path().display())
    }

    fn repository(&self, name: &str) {
        Tool::new("svnadmin").args(["create", &self.path(name)]).ok();
    }

    /// Returns the output of `sven` with these arguments; `@` stands for the machine's root.
    fn sven(&self, words: &[&str]) -> (i32, String, String) {
        let words = words.iter().map(|word| word.replace("@/", &self.path("/")));
        let output: Output = Tool::new(testkit::tool::sven_binary()).args(words).run();
        let shown = |text: String| text.replace(&self.path("/"), "@/");
        (output.code, shown(output.out()), shown(output.err()))
    }

    /// Writes the output of `import-config` to `/sven.toml`. Returns it and the output of `check-config` for it.
    fn imported(&self, words: &[&str]) -> (String, (i32, String, String)) {
        let mut all = vec!["import-config"];
        all.extend(words);
        let (code, text, err) = self.sven(&all);
        assert_eq!((code, err.as_str()), (0, ""));
        fs::write(self.path("/sven.toml"), text.replace("@/", &self.path("/"))).expect("because it is ours");
        (text, self.sven(&["check-config", "@/sven.toml"]))
    }
}

/// Returns the text without comments and empty lines.
fn active_lines(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

const ACCESS: &str = "[groups]\ndev = alice\n[/]\n* = r\n@dev = rw\n";

#[test]
fn check_config_checks_the_named_files() {
    let machine = MachineRoot::new(&[
        ("/access", ACCESS),
        ("/broken", "[/]\nalice = rx\n"),
        ("/htpasswd", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"),
        (
            "/good.toml",
            "[listen]\nsvn = '127.0.0.1'\nhttp = [':8080', '[::1]:81']\n[serve]\nroot = 'svn'\n[auth]\nhtpasswd-file = 'htpasswd'\n\
             [[location]]\npath = '/svn'\nparent = 'svn'\nauthz = 'access'\n[[location]]\npath = '/one'\nrepository = 'svn/one'\n",
        ),
        (
            "/bad.toml",
            "[serve]\nroot = 'nowhere'\n\n[[location]]\npath = '/svn'\nrepository = 'svn'\nauthz = 'broken'\n\n[[location]]\n\
             path = '/two'\nparent = 'svn'\nrepository-authz = 'authz2'\n[auth]\npasswd-file = 'htpasswd2'\n",
        ),
    ]);
    fs::create_dir(machine.path("/svn")).expect("because it is ours");
    machine.repository("/svn/one");
    let good = machine.sven(&["check-config", "@/good.toml"]);
    let output_text = "svn://127.0.0.1/ serves @/svn\n\
                http://*:8080/svn/ serves the repositories below @/svn\n\
                http://*:8080/one/ serves the repository @/svn/one\n\
                http://[::1]:81/svn/ serves the repositories below @/svn\n\
                http://[::1]:81/one/ serves the repository @/svn/one\n\
                @/good.toml: no mistakes.\n";
    assert_eq!(good, (0, output_text.to_owned(), String::new()));
    assert_eq!(
        machine.sven(&["check-config", "-q", "@/good.toml"]),
        (0, String::new(), String::new())
    );
    let (code, out, err) = machine.sven(&["check-config", "@/bad.toml"]);
    assert_eq!((code, out.as_str()), (1, ""));
    let lines: Vec<&str> = err.lines().collect();
    let begins = [
        "@/bad.toml:12: warning: '@/svn/one/conf/authz2' is not there: nobody may enter that repository",
        "@/bad.toml:2: Can't open directory '@/nowhere': No such file or directory",
        "@/bad.toml:6: ",
        "@/bad.toml:7: '@/broken': ",
        "@/bad.toml:14: Can't open file '@/htpasswd2': No such file or directory",
    ];
    assert_eq!(lines.len(), begins.len(), "{err}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\n{begin}");
    }
}

#[test]
fn debians_apache_configuration_is_imported() {
    // Debian's file, uncommented as its comments explain.
    let conf = "<Location /svn>\n  DAV svn\n  SVNParentPath @/var/lib/svn\n  AuthType Basic\n  AuthName \"Subversion Repository\"\n  \
                AuthUserFile @/etc/apache2/dav_svn.passwd\n  <IfModule mod_authz_svn.c>\n    AuthzSVNAccessFile @/etc/apache2/dav_svn.authz\n  \
                </IfModule>\n  <LimitExcept GET PROPFIND OPTIONS REPORT>\n    Require valid-user\n  </LimitExcept> \n\n</Location>\n";
    let machine = MachineRoot::new(&[
        (
            "/etc/apache2/apache2.conf",
            "ServerRoot \"@/etc/apache2\"\nInclude ports.conf\nIncludeOptional mods-enabled/*.conf\nErrorLog ${APACHE_LOG_DIR}/error.log\nLogLevel warn\n",
        ),
        (
            "/etc/apache2/envvars",
            "export APACHE_LOG_DIR=@/var/log/apache2$SUFFIX\nexport LANG=C\n",
        ),
        (
            "/etc/apache2/ports.conf",
            "Listen 80\n<IfModule ssl_module>\n\tListen 443\n</IfModule>\n",
        ),
        ("/etc/apache2/mods-enabled/dav_svn.conf", conf),
        (
            "/etc/apache2/dav_svn.passwd",
            "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n",
        ),
        ("/etc/apache2/dav_svn.authz", ACCESS),
        ("/var/log/apache2/access.log", ""),
    ]);
    fs::create_dir_all(machine.path("/var/lib/svn")).expect("because it is ours");
    let (text, checked) = machine.imported(&["--apache", "@/etc/apache2/apache2.conf"]);
    let expected = "[listen]\nhttp = [\":80\", \":443\"]\n\
                    [log]\nerror = \"@/var/log/apache2/error.log\"\nlevel = \"warn\"\n\
                    [auth]\nrealm = \"Subversion Repository\"\nhtpasswd-file = \"@/etc/apache2/dav_svn.passwd\"\n\
                    [[location]]\npath = \"/svn\"\nparent = \"@/var/lib/svn\"\nlist = false\nauthz = \"@/etc/apache2/dav_svn.authz\"\n\
                    require = \"anyone\"\nrequire-write = \"valid-user\"\n";
    assert_eq!(active_lines(&text), expected, "{text}");
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}");
}

#[test]
fn a_configuration_with_many_repositories_and_ldap_is_imported() {
    let site = "<VirtualHost *:80>\n  ServerName svn.example.org\n  RewriteEngine On\n  RewriteRule ^ https://svn.example.org%{REQUEST_URI} [R]\n</VirtualHost>\n\
        <VirtualHost *:443>\n  ServerName svn.example.org\n  SSLEngine on\n  SSLCertificateFile @/etc/ssl/svn.pem\n  SSLCertificateKeyFile @/etc/ssl/svn.key\n  \
        SSLProtocol all -SSLv3 -TLSv1 -TLSv1.1\n  SSLCipherSuite HIGH:!aNULL\n  CustomLog @/log/access.log combined\n  \
        CustomLog @/log/svn.log \"%t %u %{SVN-ACTION}e\" env=SVN-ACTION\n  \
        SVNInMemoryCacheSize 524288\n  SVNCompressionLevel 1\n  SVNUseUTF8 On\n  LimitXMLRequestBody 8000000\n\
        <Location />\n  AuthType Basic\n  AuthName \"Example\\\"s code\"\n  AuthBasicProvider ldap file\n  AuthUserFile robots\n  \
        AuthLDAPURL \"ldap://ldap1.example.org:389 ldap2.example.org/ou=people,dc=example,dc=org?mail,uid?one?(active=1)\" STARTTLS\n  \
        AuthLDAPBindDN cn=svn,dc=example,dc=org\n  AuthLDAPBindPassword 's3\"cret'\n  AuthLDAPGroupAttribute member\n</Location>\n\
        <Location /repos/>\n  DAV svn\n  SVNParentPath @/srv/svn\n  SVNListParentPath On\n  SVNPathAuthz short_circuit\n  \
        SVNAllowBulkUpdates Prefer\n  SVNCacheFullTexts on\n  SVNBlockRead on\n  SVNAdvertiseV2Protocol off\n  AuthzForceUsernameCase Lower\n  \
        AuthzSVNReposRelativeAccessFile authz\n  Require ldap-group cn=dev,ou=groups,dc=example,dc=org\n  ExpiresActive on\n</Location>\n</VirtualHost>\n";
    let machine = MachineRoot::new(&[
        (
            "/etc/httpd/httpd.conf",
            "ServerRoot @/etc/httpd\nListen 80\nListen [::]:443 https\nInclude sites/*.conf\n",
        ),
        ("/etc/httpd/sites/svn.conf", site),
        ("/etc/httpd/robots", "ci:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"),
        ("/log/access.log", ""),
    ]);
    fs::create_dir_all(machine.path("/srv/svn")).expect("because it is ours");
    fs::create_dir_all(machine.path("/etc/ssl")).expect("because it is ours");
    let shown = rcgen::generate_simple_self_signed(vec!["svn.example.org".to_owned()])
        .expect("because the name is one");
    fs::write(machine.path("/etc/ssl/svn.pem"), shown.cert.pem()).expect("because it is ours");
    fs::write(
        machine.path("/etc/ssl/svn.key"),
        shown.signing_key.serialize_pem(),
    )
    .expect("because it is ours");
    let (text, checked) = machine.imported(&["--apache", "@/etc/httpd/httpd.conf"]);
    let expected = "[listen]\nhttps = \"[::]:443\"\n\
        [tls]\ncertificate = \"@/etc/ssl/svn.pem\"\nkey = \"@/etc/ssl/svn.key\"\n\
        [limits]\nxml-body = \"8000000\"\n[cache]\n[compression]\nlevel = 1\n\
        [log]\naccess = \"@/log/access.log\"\noperational = \"@/log/svn.log\"\n\
        [auth]\nrealm = \"Example\\\"s code\"\nhtpasswd-file = \"@/etc/httpd/robots\"\nproviders = [\"ldap\", \"htpasswd\"]\n\
        [auth.ldap]\nurl = \"ldap://ldap1.example.org:389\"\nbase = \"ou=people,dc=example,dc=org\"\nuser-attribute = \"mail\"\nscope = \"one\"\n\
        filter = \"(active=1)\"\nstarttls = true\nbind-dn = \"cn=svn,dc=example,dc=org\"\nbind-password = \"s3\\\"cret\"\ngroup-attribute = \"member\"\n\
        groups-base = \"ou=groups,dc=example,dc=org\"\n\
        [[location]]\npath = \"/repos\"\nparent = \"@/srv/svn\"\nlist = true\nadvertise-v2 = false\npath-authz = \"short-circuit\"\n\
        bulk-updates = \"prefer\"\nforce-username-case = \"lower\"\nrepository-authz = \"authz\"\nanonymous = false\n";
    assert_eq!(active_lines(&text), expected, "{text}");
    for remark in [
        "@/etc/httpd/sites/svn.conf:12: SSLCipherSuite HIGH:!aNULL: ciphers are chosen",
        "@/etc/httpd/sites/svn.conf:17: SVNUseUTF8 On: hooks always get UTF-8",
        "only the first of several directories is asked",
        "SVNCacheFullTexts on: there is one cache",
        "SVNBlockRead on: how far is read ahead",
        "ExpiresActive on: has no counterpart here",
        "beside an access file Apache asks only whether there is a user",
        "# memory = \"512 MiB\"",
    ] {
        assert!(
            text.replace("\n# ", " ")
                .contains(remark.trim_start_matches("# ")),
            "{remark}\n{text}"
        );
    }
    // The host on port 80 serves no repositories, so its rewrite rules do not matter.
    assert!(!text.contains("RewriteRule"), "{text}");
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}");
}

#[test]
fn two_locations_with_authz_files_are_imported() {
    let site = "Define ROOT @/srv\n<IfDefine !TEST>\nListen 8080\n</IfDefine>\n<IfDefine TEST>\nListen 127.0.0.1:8081\n</IfDefine>\n\
        <Location /open>\n DAV svn\n SVNPath ${ROOT}/open\n SVNReposName 'Open source'\n SVNIndexXSLT /svnindex.xsl\n SVNAutoversioning on\n \
        AuthzSVNAccessFile access\n Satisfy Any\n Require valid-user\n AuthType Basic\n AuthName Open\n AuthUserFile users\n</Location>\n\
        <Location /closed>\n DAV svn\n SVNPath ${ROOT}/closed\n SVNMasterURI http://master.example.org/closed\n SVNMasterVersion 1.9.7\n \
        AuthzSVNAccessFile ^/conf/access\n AuthzSVNGroupsFile groups\n AuthzSVNAnonymous off\n Require valid-user\n Require ip 10.0.0.0/8\n \
        AuthType Digest\n AuthName Closed\n AuthUserFile digests\n SVNHooksEnv hooks-env\n SVNActivitiesDB activities\n \
        <If \"%{HTTP_HOST} == 'x'\">\n  Require all denied\n </If>\n</Location>\n\
        <LocationMatch ^/x(.*)>\n DAV svn\n SVNPath /x\n</LocationMatch>\n\
        <VirtualHost *:8081>\n <Location /open>\n  DAV svn\n  SVNPath ${ROOT}/other\n </Location>\n</VirtualHost>\n";
    let machine = MachineRoot::new(&[
        ("/etc/site.conf", site),
        ("/etc/access", ACCESS),
        ("/etc/groups", "[groups]\ndev = alice\n"),
        ("/etc/users", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"),
        ("/etc/digests", "alice:Closed:939e7578ed9e3c518a452acee763bce9\n"),
        ("/etc/hooks-env", "[default]\nLANG = C\n"),
        ("/etc/activities/x", ""),
        ("/access", "[/]\nalice = rw\n"),
    ]);
    fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
    machine.repository("/srv/open");
    machine.repository("/srv/closed");
    let url = format!("file://{}/conf/access", machine.path("/srv/closed"));
    Tool::new("svn")
        .args(["import", "-q", "-m", "rules", &machine.path("/access"), &url])
        .ok();
    let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf", "-D", "TEST"]);
    let expected = "[listen]\nhttp = \"127.0.0.1:8081\"\n\
        [[location]]\npath = \"/open\"\nrepository = \"@/srv/open\"\nname = \"Open source\"\nindex-xslt = \"/svnindex.xsl\"\nautoversioning = true\n\
        authz = \"@/etc/access\"\nanonymous = true\n\
        [location.auth]\nrealm = \"Open\"\nhtpasswd-file = \"@/etc/users\"\n\
        [[location]]\npath = \"/closed\"\nrepository = \"@/srv/closed\"\nmaster-uri = \"http://master.example.org/closed\"\nmaster-version = \"1.9.7\"\n\
        activities-db = \"@/etc/activities\"\nhooks-env = \"@/etc/hooks-env\"\nauthz = \"^/conf/access\"\ngroups = \"@/etc/groups\"\n\
        require = \"nobody\"\n\
        [location.auth]\nbasic = false\ndigest = true\nrealm = \"Closed\"\nhtpasswd-file = \"@/etc/digests\"\n";
    assert_eq!(active_lines(&text), expected, "{text}");
    for remark in [
        "<If %{HTTP_HOST} == 'x'>: what is in it was passed over",
        "<LocationMatch ^/x(.*)>: patterns and folders are not translated",
        "There is another location for /open above",
    ] {
        assert!(text.replace("\n# ", " ").contains(remark), "{remark}\n{text}");
    }
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}");
}

/// Imports a location with these lines after `DAV svn`. Returns the active lines of its `[[location]]` about access.
fn access_of(lines: &str) -> (String, String) {
    let conf = format!(
        "Listen 80\n<Location /svn>\nDAV svn\nSVNParentPath @/srv\nAuthType Basic\nAuthName x\nAuthUserFile users\n\
         AuthGroupFile members\n{lines}\n</Location>\n"
    );
    let machine = MachineRoot::new(&[
        ("/etc/site.conf", &conf),
        ("/etc/users", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"),
        ("/etc/members", "dev: alice\n"),
        ("/etc/access", "[/]\n* = r\n"),
        (
            "/etc/recursion",
            "[recursive-actions]\n/*/trunk = allow\n/*/tags = deny\n",
        ),
    ]);
    fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
    let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
    let all = active_lines(&text);
    let (_, tail) = all.split_once("list = false\n").expect("because it is there");
    (tail.to_owned(), text.replace("\n# ", " "))
}

#[test]
fn requirements_are_imported() {
    const FILE: &str = "AuthzSVNAccessFile access\n";
    for (lines, access) in [
        ("Require valid-user", "anonymous = false\n"),
        (
            "Require user alice \"b c\"",
            "require = \"user alice \\\"b c\\\"\"\n",
        ),
        (
            "Require user alice\nRequire group dev",
            "require = \"user alice or group dev\"\n",
        ),
        ("Require all granted", "require = \"anyone\"\n"),
        ("Require all denied", "require = \"nobody\"\n"),
        (
            "Require ip 10.1 192.168.0.0/16",
            "require = \"ip 10.1 192.168.0.0/16\"\n",
        ),
        (
            "<RequireAll>\nRequire valid-user\nRequire not user bob\n<RequireAny>\nRequire ip 10\nRequire local\n</RequireAny>\n</RequireAll>",
            "require = \"valid-user and not user bob and (ip 10 or ip 127.0.0.0/8 ::1)\"\n",
        ),
        (
            "<RequireAll>\n<RequireNone>\nRequire user bob\nRequire group dev\n</RequireNone>\nRequire valid-user\n</RequireAll>",
            "require = \"not (user bob or group dev) and valid-user\"\n",
        ),
        (
            "<Limit GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</Limit>\n<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire group dev\n</LimitExcept>",
            "require = \"valid-user\"\nrequire-write = \"group dev\"\n",
        ),
        ("Require valid-user\nSatisfy Any", "require = \"anyone\"\n"),
        ("Require ldap-group cn=dev,dc=x", "require = \"group dev\"\n"),
        ("Require host example.org", "require = \"nobody\"\n"),
    ] {
        let (found, text) = access_of(lines);
        assert_eq!(found, access, "{lines}");
        assert_eq!(text.contains("lets nobody in"), lines.contains("host"), "{lines}");
        // With an authz file, conditions about users reduce to whether a login is needed.
        let (found, _) = access_of(&format!("{FILE}{lines}"));
        let (_, found) = found.split_once("\n").expect("because the file comes first");
        let users = found.contains("user alice") || found.contains("group");
        assert!(!users, "{lines}: {found}");
    }
    for (lines, access) in [
        ("Require user alice", "anonymous = false\n"),
        (
            "<RequireAll>\nRequire valid-user\nRequire not user bob\n</RequireAll>",
            "anonymous = false\n",
        ),
        (
            "<RequireAll>\nRequire user alice\nRequire ip 10\n</RequireAll>",
            "require = \"valid-user and ip 10\"\n",
        ),
        ("Require valid-user\nSatisfy Any", "anonymous = true\n"),
        ("Require all granted", "require = \"anyone\"\n"),
    ] {
        let (found, _) = access_of(&format!("{FILE}{lines}"));
        assert_eq!(
            found.split_once('\n').map(|(_, rest)| rest),
            Some(access),
            "{lines}"
        );
    }
    let (found, text) =
        access_of("Require valid-user\nDontDoThatConfigFile recursion\nDontDoThatDisallowReplay On");
    assert_eq!(found, "refuse-replay = true\nanonymous = false\n");
    assert!(
        text.contains("refuse-recursive = [\"!/*/trunk\", \"/*/tags\"]"),
        "{text}"
    );
}

#[test]
fn redirects_are_imported() {
    let machine = MachineRoot::new(&[(
        "/etc/site.conf",
        "Listen 80\nRedirect permanent /old https://new.example.org/svn\n<VirtualHost *:80>\nRedirect /x /svn/x\n\
         RedirectMatch 301 ^/y\\.z/(.*)$ https://new.example.org/$1\nRedirectMatch 301 ^/([a-z]+)/q$ /$1\nRedirect gone /gone\n\
         <Location /svn>\nDAV svn\nSVNParentPath @/srv\n</Location>\n</VirtualHost>\n",
    )]);
    fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
    let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
    let expected = "[[redirect]]\nfrom = \"/old\"\nto = \"https://new.example.org/svn\"\npermanent = true\n\
                    [[redirect]]\nfrom = \"/x\"\nto = \"/svn/x\"\npermanent = false\n\
                    [[redirect]]\nfrom = \"/y.z\"\nto = \"https://new.example.org\"\npermanent = true\n";
    assert!(active_lines(&text).contains(expected), "{text}");
    // The text is wrapped, and begins with the path of the file.
    assert_eq!(
        text.replace("\n# ", " ")
            .matches("write a [[redirect]] for each path")
            .count(),
        1,
        "{text}"
    );
    assert!(
        checked
            .1
            .contains("http://*/old/ has moved to https://new.example.org/svn\n"),
        "{}",
        checked.1
    );
}

#[test]
fn addresses_are_imported() {
    for (lines, access) in [
        ("Order deny,allow\nDeny from all", "require = \"nobody\"\n"),
        (
            "Order deny,allow\nDeny from all\nAllow from 10.1 192.168.0.0/16",
            "require = \"ip 10.1 192.168.0.0/16\"\n",
        ),
        ("Order allow,deny\nAllow from all", "require = \"anyone\"\n"),
        ("Order allow,deny", "require = \"nobody\"\n"),
        (
            "Order allow,deny\nAllow from 10\nDeny from 10.1\nRequire valid-user",
            "require = \"ip 10 and anyone and not ip 10.1 and valid-user\"\n",
        ),
        (
            "Order deny,allow\nDeny from all\nAllow from 10\nRequire valid-user\nSatisfy Any",
            "require = \"ip 10 or valid-user\"\n",
        ),
        (
            "Order deny,allow\nDeny from example.org",
            "require = \"nobody\"\n",
        ),
        (
            "<LimitExcept GET PROPFIND OPTIONS REPORT>\nDeny from all\n</LimitExcept>\nRequire valid-user",
            "require = \"valid-user\"\nrequire-write = \"nobody\"\n",
        ),
    ] {
        let (found, text) = access_of(lines);
        assert_eq!(found, access, "{lines}");
        assert_eq!(
            text.contains("is not looked up here"),
            lines.contains("example"),
            "{lines}"
        );
    }
}

/// Where Apache knows no passwords, every login fails; where it knows no groups, nobody is in one. The other locations are served.
#[test]
fn locations_without_accounts_are_closed() {
    let required = |more: &str| {
        let conf = format!(
            "Listen 80\n<Location /svn>\nDAV svn\nSVNParentPath @/srv\nAuthType Basic\nAuthName x\n{more}\n</Location>\n"
        );
        let machine = MachineRoot::new(&[("/etc/site.conf", &conf), ("/etc/users", "")]);
        fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
        let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
        assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
        let all = active_lines(&text);
        let lines = all
            .lines()
            .filter(|line| line.starts_with("require") || line.starts_with("anonymous"));
        lines.collect::<Vec<_>>().join(" ")
    };
    for (more, expected) in [
        ("Require valid-user", "require = \"nobody\""),
        ("Require user bob", "require = \"nobody\""),
        (
            "<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>",
            "require = \"nobody\"",
        ),
        ("Require all granted", "require = \"anyone\""),
        ("AuthUserFile users\nRequire valid-user", "anonymous = false"),
        ("AuthUserFile users\nRequire group dev", "require = \"nobody\""),
        (
            "AuthUserFile users\nRequire group dev\nRequire user bob",
            "require = \"nobody or user bob\"",
        ),
        (
            "AuthUserFile users\nAuthGroupFile users\nRequire group dev",
            "require = \"group dev\"",
        ),
    ] {
        assert_eq!(required(more), expected, "{more}");
    }
}

#[test]
fn restrictions_that_cannot_be_translated_close_the_location() {
    let closed = |more: &str| {
        let conf = format!(
            "Listen 80\n<Location /svn>\nDAV svn\nSVNParentPath @/srv\nAuthType Basic\nAuthName x\nAuthUserFile users\n\
             Require valid-user\n</Location>\n{more}\n"
        );
        let machine = MachineRoot::new(&[
            ("/etc/site.conf", &conf),
            ("/etc/users", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"),
        ]);
        fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
        let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
        assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
        let all = active_lines(&text);
        let (_, tail) = all.split_once("list = false\n").expect("because it is there");
        tail.lines()
            .filter(|line| line.starts_with("path") || line.starts_with("require"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let whole = "require = \"nobody\"";
    for (more, expected) in [
        (
            "<Location /svn/secret>\nRequire all denied\n</Location>",
            "path = \"/svn/secret\" require = \"nobody\"",
        ),
        (
            "<Location /svn/r/a>\n<Limit PUT>\nDeny from all\n</Limit>\n</Location>",
            "path = \"/svn/r/a\" require = \"nobody\"",
        ),
        (
            "Redirect gone /svn/old",
            "path = \"/svn/old\" require = \"nobody\"",
        ),
        (
            "<LocationMatch /secret>\nRequire user bob\n</LocationMatch>",
            whole,
        ),
        ("<Location ~ \"^/s.n\">\nRequire user bob\n</Location>", whole),
        ("<Location /svn/*>\nRequire user bob\n</Location>", whole),
        ("<Location /s?n/r>\nRequire user bob\n</Location>", whole),
        ("<Location /other/*>\nRequire user bob\n</Location>", ""),
        ("<Location /svn>\nAllowMethods GET REPORT\n</Location>", whole),
        ("<Location /svn>\nAllowMethods reset\n</Location>", ""),
        (
            "<Location /svn/r>\nAllowMethods GET\n</Location>",
            "path = \"/svn/r\" require = \"nobody\"",
        ),
        ("<Location /svn>\nAuthMerging And\n</Location>", whole),
        ("<Location /svn>\nAuthMerging Off\n</Location>", ""),
        ("<Location /svn>\nSSLRequire true\n</Location>", whole),
        ("<Location /svn>\nSSLVerifyClient require\n</Location>", whole),
        ("<Location /svn>\nSSLVerifyClient none\n</Location>", ""),
        (
            "SSLVerifyClient require\n<Location /svn>\nSSLVerifyClient require\n</Location>",
            "",
        ),
        (
            "<LocationMatch \"^/other/(a|svn)\">\nRequire user bob\n</LocationMatch>",
            "",
        ),
        (
            "<LocationMatch \"^/(other|svn)\">\nRequire user bob\n</LocationMatch>",
            whole,
        ),
        (
            "<LocationMatch \"^/other|^/svn\">\nRequire user bob\n</LocationMatch>",
            whole,
        ),
        ("RedirectMatch 403 ^/svn/secret", whole),
        ("Redirect gone /svn", whole),
        ("Redirect 404 /", whole),
        ("<Location /svn>\nRedirect 403\n</Location>", whole),
        ("RedirectMatch gone \\.key$", whole),
        ("RewriteEngine on\nRewriteRule ^/svn/secret - [F,L]", whole),
        ("RewriteEngine on\nRewriteRule !^/svn/open - [R=404]", whole),
        ("<If \"%{REMOTE_PORT} == 1\">\nRequire all denied\n</If>", whole),
        ("RewriteRule ^/svn/secret - [F]\nRedirectMatch 403 ^/other", ""),
        (
            "RewriteEngine on\nRewriteRule ^/svn/a /svn/b [R=301]\nRewriteRule ^/x - [F]",
            "",
        ),
        (
            "<LocationMatch ^/other>\nRequire user bob\n</LocationMatch>\n<Location /svn/a>\nSVNPathAuthz off\n</Location>\n\
             <Location /other>\nRequire user bob\n</Location>\nRedirect gone /svnold",
            "",
        ),
    ] {
        assert_eq!(closed(more), expected, "{more}");
    }
}

/// Imports hosts. Returns the active lines.
fn hosts(text: &str) -> String {
    let machine = MachineRoot::new(&[("/etc/site.conf", text), ("/etc/users", "")]);
    fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
    let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
    active_lines(&text)
}

/// What Apache serves at one address only is not served at the others.
#[test]
fn locations_of_hosts_are_not_served_at_other_addresses() {
    let host = |address: &str, location: &str| {
        format!(
            "<VirtualHost {address}>\n<Location {location}>\nDAV svn\nSVNParentPath @/srv\nRequire all granted\n</Location>\n</VirtualHost>\n"
        )
    };
    let closed = "require = \"nobody\"";
    // Each host has a port, or an address, of its own.
    for (listen, one, other) in [
        ("Listen 127.0.0.1:81\nListen 82\n", "127.0.0.1:81", "*:82"),
        ("Listen 80\n", "127.0.0.1:80", "*:80"),
    ] {
        let text = hosts(&format!("{listen}{}{}", host(one, "/int"), host(other, "/pub")));
        let (_, int) = text.split_once("path = \"/int\"").expect("because it is there");
        assert!(
            int.split("[[location]]")
                .next()
                .is_some_and(|int| int.contains(closed)),
            "{text}"
        );
    }
    // Names of hosts are the client's words: both are served at the same address.
    let text = hosts(&format!(
        "Listen 80\n{}{}",
        host("*:80", "/a"),
        host("*:80", "/b")
    ));
    assert!(!text.contains(closed), "{text}");
    // One host alone listens at its own address.
    let text = hosts(&format!("Listen 80\n{}", host("127.0.0.1:80", "/a")));
    assert!(
        text.contains("http = \"127.0.0.1:80\"") && !text.contains(closed),
        "{text}"
    );
    // A host for all, encrypted or not.
    let both = host("*:80", "/a") + &host("*:81", "/a");
    let text = hosts(&format!("Listen 80\nListen 81\n{both}"));
    assert!(text.contains("[\":80\", \":81\"]"), "{text}");
}

/// `<IfModule>` is evaluated if the files load the modules.
#[test]
fn conditions_about_modules_are_evaluated() {
    let location = "<Location /svn>\nDAV svn\nSVNParentPath @/srv\nAuthType Basic\nAuthName x\nAuthUserFile users\nRequire user alice\n\
        <IfModule mod_none.c>\nRequire user bob\n</IfModule>\n<IfModule !none_module>\nRequire user carol\n</IfModule>\n\
        <IfModule mod_dav_svn.c>\nRequire user dave\n</IfModule>\n<IfModule mod_so.c>\nRequire user eve\n</IfModule>\n</Location>\n";
    let loads = "LoadModule dav_svn_module /usr/lib/apache2/modules/mod_dav_svn.so\n";
    let with = |text: &str| hosts(&format!("Listen 80\n{text}"));
    let known = with(&format!("{location}{loads}"));
    assert!(
        known.contains("\"user alice or user carol or user dave or user eve\""),
        "{known}"
    );
    let unknown = with(location);
    assert!(
        unknown.contains("\"user alice or user bob or user dave or user eve\""),
        "{unknown}"
    );
}

/// A repository of its own within a directory of repositories.
#[test]
fn a_repository_below_others_is_imported() {
    let machine = MachineRoot::new(&[(
        "/etc/site.conf",
        "Listen 80\n<Location /b>\nDAV svn\nSVNParentPath @/srv\nRequire all granted\n</Location>\n\
         <Location /b/one>\nDAV svn\nSVNPath @/srv/one\nRequire all granted\n</Location>\n",
    )]);
    fs::create_dir_all(machine.path("/srv")).expect("because it is ours");
    machine.repository("/srv/one");
    let (text, checked) = machine.imported(&["--apache", "@/etc/site.conf"]);
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}\n{text}");
    let served = checked.1.lines().count();
    assert_eq!(served, 3, "{}", checked.1);
}

#[test]
fn a_word_that_is_no_svnserve_option_is_an_error() {
    let machine = MachineRoot::new(&[]);
    let (code, out, err) = machine.sven(&["import-config", "/nowhere"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("'/nowhere' is no option of svnserve."), "{err}");
}

#[test]
fn an_svnserve_configuration_is_imported() {
    let machine = MachineRoot::new(&[
        (
            "/etc/svnserve.conf",
            "[general]\nanon-access = none\npassword-db = passwd\nauthz-db = access\nrealm = Ours\nforce-username-case = lower\n",
        ),
        ("/etc/passwd", "[users]\nalice = secret\n"),
        ("/etc/access", ACCESS),
        ("/log/svn.log", ""),
    ]);
    fs::create_dir_all(machine.path("/srv/svn")).expect("because it is ours");
    let (text, checked) = machine.imported(&[
        "--svnserve",
        "@/etc/svnserve.conf",
        "--",
        "-d",
        "-r",
        "@/srv/svn",
        "--listen-port=3691",
        "-M",
        "512",
        "-c",
        "0",
        "--max-request-size",
        "0",
        "--log-file",
        "@/log/svn.log",
    ]);
    let expected = "[listen]\nsvn = \":3691\"\n[serve]\nroot = \"@/srv/svn\"\nsvnserve-config = \"@/etc/svnserve.conf\"\n\
        [cache]\nmemory = \"512 MiB\"\n[compression]\nlevel = 0\n[limits]\nrequest = 0\n[log]\noperational = \"@/log/svn.log\"\n";
    assert_eq!(active_lines(&text), expected, "{text}");
    assert_eq!((checked.0, checked.2.as_str()), (0, ""), "{checked:?}");
    // The commented lines for http:// are valid as well.
    let all = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest)
            if rest.contains(" = ") && !rest.contains(": ")
                || rest.starts_with('[') && rest.ends_with(']') =>
        {
            format!("{rest}\n")
        }
        _ => format!("{line}\n"),
    });
    let all: String = all.collect();
    fs::write(machine.path("/all.toml"), all.replace("@/", &machine.path("/"))).expect("because it is ours");
    let checked = machine.sven(&["check-config", "-q", "@/all.toml"]);
    assert_eq!(checked, (0, String::new(), String::new()), "{all}");
    assert!(
        all.contains("passwd-file = \"@/etc/passwd\"") && all.contains("authz = \"@/etc/access\""),
        "{all}"
    );
}

#[test]
fn missing_files_are_reported() {
    let machine = MachineRoot::new(&[
        ("/x.conf", "<Location /svn>\nDAV svn\n"),
        ("/y.conf", "Listen 80\n"),
    ]);
    let (code, _, err) = machine.sven(&["import-config", "--apache", "@/x.conf"]);
    assert_eq!(code, 1);
    assert!(err.contains("@/x.conf:1: <Location> is not closed"), "{err}");
    let (code, out, _) = machine.sven(&["import-config", "--apache", "@/y.conf"]);
    assert_eq!(code, 0);
    assert!(out.contains("there is nothing to serve"), "{out}");
    let (code, _, err) = machine.sven(&["import-config"]);
    assert_eq!((code, err.contains("Give --apache FILE")), (1, true), "{err}");
    let (code, _, err) = machine.sven(&["check-config"]);
    assert_eq!(
        (code, err.contains("Give the file to check.")),
        (1, true),
        "{err}"
    );
}
