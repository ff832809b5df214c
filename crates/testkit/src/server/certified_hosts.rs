//! An Apache with several certificates: each has an address 127.0.0.N of its own, so the addresses are the names in the certificates.

use std::path::Path;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use super::TestServer;
use crate::tool::{Tool, scratch};

/// One address of the server.
#[derive(Clone, Debug)]
pub struct CertifiedHost {
    /// The file with its certificate, those of issuers that it sends, and the key (PEM).
    pub file: String,
    /// Apache's lines for it.
    pub lines: String,
}

/// The server, and a folder with the certificates and the empty repository `r`, which everyone may read.
#[derive(Debug)]
pub struct CertifiedHosts {
    folder: TempDir,
    server: TestServer,
}

impl CertifiedHosts {
    /// Starts the server after `write_certificates` has written the files to a folder. `files` are those of [`TestServer::apache_with`].
    pub fn new(
        hosts: &[CertifiedHost],
        files: &[(&str, &str)],
        write_certificates: impl FnOnce(&Path),
    ) -> CertifiedHosts {
        let folder = scratch();
        let at = |name: &str| folder.path().join(name).display().to_string();
        Tool::new("svnadmin").args(["create", &at("r")]).ok();
        write_certificates(folder.path());
        let hosts = hosts.iter().enumerate().map(|(number, host)| {
            let (address, pem) = (CertifiedHosts::address(number), at(&host.file));
            format!(
                "Listen {address}:@PORT\n<VirtualHost {address}:@PORT>\nSSLEngine on\nSSLCertificateFile \"{pem}\"\n{}</VirtualHost>\n",
                host.lines.replace("@CERTIFICATES", &folder.path().display().to_string())
            )
        });
        let lines = format!(
            "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n<Location />\nDAV svn\nSVNParentPath \"{}\"\n\
             Require all granted\n</Location>\n{}",
            folder.path().display(),
            hosts.collect::<String>()
        );
        let server = TestServer::apache_with(&lines, files);
        CertifiedHosts { folder, server }
    }

    /// Returns the address of a host.
    pub fn address(number: usize) -> String {
        format!("127.0.0.{}", number + 2)
    }

    /// Returns a URL of a host.
    pub fn url(&self, number: usize, path: &str) -> String {
        format!(
            "https://{}:{}/{path}",
            CertifiedHosts::address(number),
            self.server.port()
        )
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A certificate with its key, which can sign others.
#[derive(Debug)]
pub struct SignedCertificate {
    /// The certificate.
    pub certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl SignedCertificate {
    /// Makes a key and its certificate, signed by `issuer` or by itself.
    pub fn new(params: CertificateParams, issuer: Option<&SignedCertificate>) -> SignedCertificate {
        let key = KeyPair::generate().expect("because a key can be made");
        let certificate = match issuer {
            Some(issuer) => params.signed_by(&key, &issuer.issuer),
            None => params.self_signed(&key),
        };
        SignedCertificate {
            certificate: certificate.expect("because the name is good"),
            issuer: Issuer::new(params, key),
        }
    }

    /// Makes the certificate of an authority.
    pub fn authority(mut params: CertificateParams, issuer: Option<&SignedCertificate>) -> SignedCertificate {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        SignedCertificate::new(params, issuer)
    }

    /// Returns the certificate (PEM).
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Returns the key (PEM).
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }
}

/// Returns the parameters of a certificate for a name.
pub fn certificate_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("because there are no names");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
