//! TLS connections, with real clients and with our own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use server::config::{AccessRules, ClientCertificates, Provider, TlsOptions, TlsVersion};
use testkit::Tool;

use super::site::{TestSite, request, status_of};

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
}

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            certificate: certificate.der().clone(),
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A list of revoked certificates, valid for an hour from `begun` on.
    fn revoke(&self, serials: &[u64], begun: SystemTime) -> String {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: begun.into(),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: begun.into(),
            next_update: (begun + Duration::from_secs(3600)).into(),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.issuer).expect("a list");
        list.pem().expect("it can be written")
    }

    /// A certificate for `name`, and its key.
    fn certificate(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(serial(name)));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate, key)
    }

    /// Returns the trusted certificates of a client that accepts this authority.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Writes a certificate for localhost with the subject `name`, and its key, to `folder`.
    pub fn write(&self, name: &str, folder: &Path) {
        let (certificate, key) = self.certificate(name);
        // The key first: if the server reads the files in between, they do not match, and it keeps the old pair.
        std::fs::write(folder.join("key.pem"), key.serialize_pem()).expect("written");
        std::fs::write(folder.join("cert.pem"), certificate.pem()).expect("written");
    }
}

/// The serial number of the certificates for `name`.
fn serial(name: &str) -> u64 {
    name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte))
}

fn options(folder: &Path) -> TlsOptions {
    TlsOptions {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
        client_ca: None,
        client_crls: Vec::new(),
        check_whole_chain: true,
        client: ClientCertificates::No,
        oldest: TlsVersion::V1_2,
    }
}

fn site(authority: &Authority, client: ClientCertificates) -> TestSite {
    TestSite::new(|plan, folder| {
        authority.write("server one", folder);
        std::fs::write(folder.join("ca.pem"), &authority.pem).expect("written");
        plan.tls = Some(TlsOptions {
            client_ca: Some(folder.join("ca.pem")),
            client,
            ..options(folder)
        });
        plan.access = Some(AccessRules {
            providers: [Provider::Certificate].into(),
            anonymous: true,
            ..AccessRules::default()
        });
    })
}

/// Makes a TLS handshake and one request; returns the response and the server's certificate.
fn ask(site: &TestSite, authority: &Authority, as_client: Option<&str>) -> Result<(String, Vec<u8>), String> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let mut config = match as_client {
        None => config.with_no_client_auth(),
        Some(name) => {
            let (certificate, key) = authority.certificate(name);
            let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
            let chain = vec![certificate.der().clone()];
            config.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).map_err(|e| e.to_string())?;
    let socket = TcpStream::connect(site.secure).map_err(|e| e.to_string())?;
    let mut stream = StreamOwned::new(connection, socket);
    let asked = request("GET", "/repo/trunk/a.txt", "Connection: close\r\n");
    stream.write_all(asked.as_bytes()).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => all.extend_from_slice(&piece[..len]),
            Err(e) if all.is_empty() => return Err(e.to_string()),
            Err(_) => break,
        }
    }
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    let shown = stream
        .conn
        .peer_certificates()
        .and_then(<[_]>::first)
        .expect("a certificate");
    Ok((String::from_utf8_lossy(&all).into_owned(), shown.to_vec()))
}

#[test]
fn certificates_change_without_a_restart() {
    let authority = Authority::new();
    let site = site(&authority, ClientCertificates::No);
    let (response, first) = ask(&site, &authority, None).expect("they understand each other");
    assert!(matches!(status_of(&response), 200..=499), "{response}");
    authority.write("server two", site.folder.path());
    site.service.hang_up();
    let (_, second) = ask(&site, &authority, None).expect("they understand each other");
    assert_ne!(first, second);
    // With a malformed file the server keeps the old certificate.
    std::fs::write(site.path("cert.pem"), "nonsense").expect("written");
    site.service.hang_up();
    let (_, third) = ask(&site, &authority, None).expect("they understand each other");
    assert_eq!(second, third);
    // Changed files are found without a signal.
    authority.write("server three", site.folder.path());
    let begun = std::time::Instant::now();
    while ask(&site, &authority, None)
        .expect("they understand each other")
        .1
        == second
    {
        assert!(begun.elapsed().as_secs() < 60, "it is never looked at");
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn client_certificates_are_checked() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let required = site(&authority, ClientCertificates::Required);
    assert!(ask(&required, &authority, None).is_err());
    let log = required.path("access.log");
    let writes = server::AccessLog::open(&log).expect("a log");
    required.service.set_access_log(Some(writes));
    ask(&required, &authority, Some("alice")).expect("she is let in");
    let lines = || std::fs::read_to_string(&log).expect("a log");
    for _ in 0..100 {
        if lines().contains("- alice [") {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(lines().contains("- alice ["), "{}", lines());
    let optional = site(&authority, ClientCertificates::Optional);
    ask(&optional, &authority, None).expect("no certificate is required");
    ask(&optional, &authority, Some("bob")).expect("but may");
    // A client certificate of an unknown authority is refused.
    let mut mixed = Authority::new();
    mixed.certificate = authority.certificate.clone();
    assert!(ask(&optional, &mixed, Some("mallory")).is_err());
    drop(stranger);
}

#[test]
fn the_stock_client_connects_over_tls() {
    let authority = Authority::new();
    let site = site(&authority, ClientCertificates::No);
    let url = format!("https://localhost:{}/repo/trunk", site.secure.port());
    let out = Tool::new("svn")
        .args([
            "info",
            "--non-interactive",
            "--show-item",
            "last-changed-revision",
        ])
        .arg("--trust-server-cert-failures=unknown-ca,cn-mismatch,expired,not-yet-valid,other")
        .arg(&url)
        .run();
    let seen = format!("{}{}", out.out(), out.err());
    assert!(!seen.contains("SSL") && !seen.contains("certificate"), "{seen}");
}

#[test]
fn connections_without_tls_are_closed() {
    let authority = Authority::new();
    let site = site(&authority, ClientCertificates::No);
    let mut client = super::site::RawClient::to(site.secure);
    client.send(request("OPTIONS", "/repo", ""));
    let response = client.rest();
    assert!(!response.contains("HTTP/1.1 200"), "{response}");
    let mut options = options(site.folder.path());
    options.key = site.path("ca.pem");
    let error = site.service.set_tls(options).expect_err("no key");
    assert!(error.message().contains("ca.pem"), "{}", error.message());
}

#[test]
fn revoked_certificates_are_refused() {
    let authority = Authority::new();
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let site = TestSite::new(|plan, folder| {
        authority.write("server", folder);
        std::fs::write(folder.join("ca.pem"), authority.pem()).expect("written");
        std::fs::write(
            folder.join("crl.pem"),
            authority.revoke(&[serial("eve")], now - hour / 2),
        )
        .expect("written");
        plan.tls = Some(TlsOptions {
            client_ca: Some(folder.join("ca.pem")),
            client_crls: vec![folder.join("crl.pem")],
            client: ClientCertificates::Required,
            ..options(folder)
        });
    });
    let comes_in =
        |name: &str| ask(&site, &authority, Some(name)).is_ok_and(|(text, _)| status_of(&text) == 200);
    assert!(comes_in("alice"));
    assert!(!comes_in("eve"));
    let write = |list: String| {
        std::fs::write(site.path("crl.pem"), list).expect("written");
        site.service.hang_up();
    };
    write(authority.revoke(&[serial("eve"), serial("alice")], now - hour / 2));
    assert!(!comes_in("alice"));
    assert!(comes_in("bob"));
    // With a malformed list the server keeps the old one; with an expired list it accepts no certificate.
    write("nonsense".to_owned());
    assert!(comes_in("bob") && !comes_in("alice"));
    write(authority.revoke(&[], now - 2 * hour));
    assert!(!comes_in("bob"));
    write(Authority::new().revoke(&[], now - hour / 2));
    assert!(!comes_in("bob"), "the list of another authority does not count");
}
