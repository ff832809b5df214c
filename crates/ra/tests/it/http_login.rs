//! Passwords, certificates and proxies, with Apache as the server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use base::checksum::Md5;
use base::{Code, Result, Url};
use ra::{
    AuthMechanism, CertificateProblem, CertificateTrust, ClientCertificate, CommitRequest, Credentials,
    FixedPassword, HttpOptions, OpenOptions, Password, PasswordRequest, Proxy, Session,
};
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::{Transport, certificate};
use testkit::{Side, Tool, scratch};

use crate::access::{USER, password};

/// Directives for: only users, by Basic.
const LOGIN: &str = "AuthType Basic\nAuthName repository\nAuthUserFile USERS\nRequire valid-user\n";

fn open(text: &str, options: &OpenOptions) -> Result<Box<dyn Session>> {
    ra::open(&Url::canonicalize(text).expect("a URL"), options)
}

fn with_password(text: &str) -> OpenOptions {
    OpenOptions {
        credentials: Arc::new(FixedPassword(password(text))),
        ..OpenOptions::default()
    }
}

fn repository() -> tempfile::TempDir {
    let folder = scratch();
    Tool::new("svnadmin")
        .arg("create")
        .arg(folder.path().join("r"))
        .ok();
    folder
}

/// Commits an empty directory, and returns the author.
fn commit(session: &mut dyn Session, name: &str) -> Option<String> {
    let path = base::RelPath::canonicalize(name).expect("a path");
    let info = session.commit(&CommitRequest::default(), &mut |editor| {
        let root = editor.open_root(None)?;
        let dir = editor.add_directory(&path, root, None)?;
        editor.close_directory(dir)
    });
    info.expect("a commit").author
}

/// Counts questions, and the passwords that were accepted.
#[derive(Default)]
struct Counting {
    asked: AtomicU32,
    accepted: Mutex<Vec<String>>,
}

impl Credentials for Counting {
    fn password(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        // The first one is wrong.
        Ok(Some(password(if request.attempt == 0 {
            "wrong"
        } else {
            USER.1
        })))
    }

    fn accepted(&self, realm: &str, password: &Password) -> Result<()> {
        let mut all = self.accepted.lock().expect("no thread panics");
        all.push(format!("{realm} {}", password.password));
        Ok(())
    }
}

/// Returns options that count questions.
fn counting() -> (Arc<Counting>, OpenOptions) {
    let credentials = Arc::new(Counting::default());
    let options = OpenOptions {
        credentials: credentials.clone(),
        ..OpenOptions::default()
    };
    (credentials, options)
}

/// Serves a folder of repositories by Apache, and returns the URL of the repository in it.
fn apache(root: &std::path::Path, directives: &str) -> (TestServer, String) {
    let site = HttpSite {
        apache: directives,
        ..HttpSite::plain(root)
    };
    let server = TestServer::http_site(Side::Theirs, &site);
    let url = format!("http://127.0.0.1:{}/r", server.port());
    (server, url)
}

#[test]
fn basic_passwords_are_asked_for_once() {
    let folder = repository();
    let (server, url) = apache(folder.path(), LOGIN);
    let (credentials, options) = counting();
    let mut session = open(&url, &options).expect("the second password is right");
    assert_eq!(commit(&mut *session, "a").as_deref(), Some(USER.0));
    assert_eq!(credentials.asked.load(Ordering::Relaxed), 2);
    let accepted = credentials.accepted.lock().expect("no thread panics");
    let realm = format!("<http://127.0.0.1:{}> repository {}", server.port(), USER.1);
    assert_eq!(accepted[..], [realm]);
    for options in [with_password("wrong"), OpenOptions::default()] {
        let error = open(&url, &options).err().expect("a wrong password");
        assert_eq!(error.code(), Code::RA_CANNOT_CREATE_SESSION);
        assert_eq!(error.root_cause().code(), Code::AUTHN_FAILED);
    }
    // A mechanism that is not allowed is not used.
    let mut digest_only = with_password(USER.1);
    digest_only.http.mechanisms = vec![AuthMechanism::Digest];
    let error = open(&url, &digest_only).err().expect("no mechanism");
    assert_eq!(error.root_cause().code(), Code(120_191));
}

#[test]
fn a_password_is_asked_for_when_writing_begins() {
    let folder = repository();
    let (_server, url) = apache(folder.path(), READ_FREELY);
    let (credentials, options) = counting();
    let mut session = open(&url, &options).expect("everyone may read");
    session.latest_revision().expect("everyone may read");
    assert_eq!(credentials.asked.load(Ordering::Relaxed), 0);
    assert_eq!(commit(&mut *session, "a").as_deref(), Some(USER.0));
}

#[test]
fn digests_are_accepted_by_apache() {
    let folder = repository();
    let hash = Md5::of(format!("{}:repository:{}", USER.0, USER.1).as_bytes());
    let users = format!("{}:repository:{hash}\n", USER.0);
    // Nonces end after a second: the server then calls them stale.
    let lines = format!(
        "LoadModule auth_digest_module /usr/lib/apache2/modules/mod_auth_digest.so\n<Location />\nDAV svn\n\
         SVNParentPath \"{}\"\nAuthType Digest\nAuthName repository\nAuthDigestNonceLifetime 1\n\
         AuthUserFile \"@FOLDER/digests\"\nRequire valid-user\n</Location>\n",
        folder.path().display()
    );
    let server = TestServer::apache_with(&lines, &[("digests", &users)]);
    let url = format!("http://127.0.0.1:{}/r", server.port());
    let (credentials, options) = counting();
    let mut session = open(&url, &options).expect("a digest");
    assert_eq!(commit(&mut *session, "a").as_deref(), Some(USER.0));
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(commit(&mut *session, "b").as_deref(), Some(USER.0));
    // The wrong one and the right one; none for the nonce that had ended.
    assert_eq!(credentials.asked.load(Ordering::Relaxed), 2);
    let error = open(&url, &with_password("wrong"))
        .err()
        .expect("a wrong password");
    assert_eq!(error.root_cause().code(), Code::AUTHN_FAILED);
}

/// Decides about certificates.
struct Trusting {
    trust: CertificateTrust,
    seen: Mutex<Vec<CertificateProblem>>,
    own: Option<ClientCertificate>,
}

impl Trusting {
    fn new(trust: CertificateTrust, own: Option<ClientCertificate>) -> Arc<Trusting> {
        Arc::new(Trusting {
            trust,
            seen: Mutex::default(),
            own,
        })
    }
}

impl Credentials for Trusting {
    fn password(&self, _request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        Ok(None)
    }

    fn server_certificate(&self, problem: &CertificateProblem) -> Result<CertificateTrust> {
        self.seen.lock().expect("no thread panics").push(problem.clone());
        Ok(self.trust)
    }

    fn client_certificate(&self, _realm: &str, attempt: u32) -> Result<Option<ClientCertificate>> {
        Ok(self.own.clone().filter(|_| attempt == 0))
    }
}

fn trusting(credentials: Arc<Trusting>) -> OpenOptions {
    OpenOptions {
        credentials,
        http: HttpOptions {
            trust_default_authorities: false,
            ..HttpOptions::default()
        },
        ..OpenOptions::default()
    }
}

#[test]
fn certificates_are_trusted_by_authorities_or_by_the_caller() {
    let folder = repository();
    let site = HttpSite {
        transport: Transport::Https,
        ..HttpSite::plain(folder.path())
    };
    let server = TestServer::http_site(Side::Theirs, &site);
    let url = |host: &str| format!("https://{host}:{}/r", server.port());
    let reject = Trusting::new(CertificateTrust::Reject, None);
    let error = open(&url("localhost"), &trusting(reject.clone()))
        .err()
        .expect("not trusted");
    assert_eq!(error.root_cause().code(), Code::RA_SERF_SSL_CERT_UNTRUSTED);
    assert!(
        error
            .root_cause()
            .text()
            .ends_with("failed: issuer is not trusted"),
        "{error}"
    );
    let seen = reject.seen.lock().expect("no thread panics").clone();
    let [problem] = &seen[..] else {
        panic!("asked once")
    };
    assert!(problem.failures.unknown_issuer && !problem.failures.other_host && !problem.failures.expired);
    assert_eq!(
        (problem.host.as_str(), problem.fingerprint.len()),
        ("localhost", 59)
    );
    assert!(problem.valid_from < problem.valid_until);

    let once = Trusting::new(CertificateTrust::Once, None);
    let mut session = open(&url("localhost"), &trusting(once.clone())).expect("trusted");
    session.latest_revision().expect("it works");
    assert_eq!(once.seen.lock().expect("no thread panics").len(), 1);

    let mut authority = trusting(reject.clone());
    authority.http.authority_files = vec![certificate().certificate.clone()];
    open(&url("localhost"), &authority).expect("an authority vouches for it");
    // The certificate is for localhost and 127.0.0.1; this is another name of that address.
    let error = open(&url("0x7f000001"), &authority).err().expect("another host");
    assert!(
        error.root_cause().text().ends_with("different hostname"),
        "{error}"
    );
    assert_eq!(reject.seen.lock().expect("no thread panics").len(), 2);
}

#[test]
fn a_client_certificate_is_asked_for_if_the_server_demands_one() {
    let folder = repository();
    let pair = certificate().certificate.clone();
    let wide = format!(
        "SSLVerifyClient require\nSSLCACertificateFile \"{}\"\n",
        pair.display()
    );
    let site = HttpSite {
        transport: Transport::Https,
        apache_wide: &wide,
        ..HttpSite::plain(folder.path())
    };
    let server = TestServer::http_site(Side::Theirs, &site);
    let url = format!("https://localhost:{}/r", server.port());
    let own = Trusting::new(CertificateTrust::Once, Some(ClientCertificate { file: pair }));
    open(&url, &trusting(own)).expect("the server knows the certificate");
    let none = Trusting::new(CertificateTrust::Once, None);
    assert!(open(&url, &trusting(none)).is_err());
}

#[test]
fn requests_pass_a_proxy_that_demands_a_password() {
    let folder = repository();
    let plain = TestServer::http_site(Side::Theirs, &HttpSite::plain(folder.path()));
    let site = HttpSite {
        transport: Transport::Https,
        ..HttpSite::plain(folder.path())
    };
    let encrypted = TestServer::http_site(Side::Theirs, &site);
    let lines = format!(
        "LoadModule proxy_connect_module /usr/lib/apache2/modules/mod_proxy_connect.so\nProxyRequests On\nAllowCONNECT {}\n\
         CustomLog \"@FOLDER/access.log\" \"%h %l %u %t \\\"%r\\\" %>s %b\"\n<Proxy \"*\">\nAuthType Basic\nAuthName proxy\n\
         AuthUserFile \"@FOLDER/users\"\nRequire valid-user\n</Proxy>\n",
        encrypted.port()
    );
    let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
    let proxy = TestServer::apache_with(&lines, &[("users", users)]);
    let through = |secret: &str| {
        let mut options = trusting(Trusting::new(CertificateTrust::Once, None));
        options.http.proxy = Some(Proxy {
            host: "127.0.0.1".to_owned(),
            port: proxy.port(),
            password: Some(password(secret)),
        });
        options
    };
    for url in [
        format!("http://127.0.0.1:{}/r", plain.port()),
        format!("https://localhost:{}/r", encrypted.port()),
    ] {
        let before = proxy.requests().len();
        let mut session = open(&url, &through(USER.1)).unwrap_or_else(|error| panic!("{url}: {error}"));
        session.latest_revision().expect("it works");
        drop(session);
        assert!(open(&url, &through("wrong")).is_err(), "{url}");
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(proxy.requests().len() > before, "{url} did not pass the proxy");
    }
}
