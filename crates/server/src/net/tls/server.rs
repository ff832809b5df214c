//! The TLS settings of listeners: certificates are read when the server starts and whenever their files change.

use std::path::Path;
use std::sync::Arc;

use base::{Code, Error, Result};
use parking_lot::Mutex;
use repos::config::FileStamp;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::config::{ClientCertificates, TlsOptions, TlsVersion};

/// The current TLS settings, and the files that they were read from.
pub(crate) struct Tls {
    options: TlsOptions,
    current: Mutex<(Stamps, Arc<ServerConfig>)>,
}

/// The stamps of all files; `None` for a missing one.
type Stamps = Vec<Option<FileStamp>>;

impl Tls {
    /// Reads the files that `options` name.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` if a file cannot be read, is malformed, or holds a key that does not fit the certificate.
    pub(crate) fn load(options: TlsOptions) -> Result<Tls> {
        let stamps = stamps(&options);
        let config = Arc::new(read(&options)?);
        Ok(Tls {
            options,
            current: Mutex::new((stamps, config)),
        })
    }

    /// Returns the settings for a connection that begins now.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.current.lock().1.clone()
    }

    /// Reads the files again if they have changed, or if `always`. Returns whether they were read.
    ///
    /// # Errors
    /// As of [`Tls::load`]. Then the old settings stay, and the next error comes when the files change again.
    pub(crate) fn refresh(&self, always: bool) -> Result<bool> {
        let now = stamps(&self.options);
        if !always && self.current.lock().0 == now {
            return Ok(false);
        }
        let read = read(&self.options);
        let mut current = self.current.lock();
        current.0 = now;
        current.1 = Arc::new(read?);
        Ok(true)
    }
}

impl TlsOptions {
    /// SampleCollector whether connections could be encrypted with these: files that can be read, and a key that fits.
    ///
    /// # Errors
    /// As for a server that starts with these options.
    pub fn check(&self) -> Result<()> {
        read(self).map(drop)
    }
}

fn stamps(options: &TlsOptions) -> Stamps {
    let files = [&options.certificate, &options.key].into_iter();
    let stamp = |path: &Path| FileStamp::of(path).ok().flatten();
    let files = files.chain(&options.client_ca).chain(&options.client_crls);
    files.map(|path| stamp(path)).collect()
}

fn read(options: &TlsOptions) -> Result<ServerConfig> {
    let chain = certificates(&options.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&options.key)
        .map_err(|e| broken("Can't read the key in", &options.key, e))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions: &[&rustls::SupportedProtocolVersion] = match options.oldest {
        TlsVersion::V1_2 => &[&rustls::version::TLS13, &rustls::version::TLS12],
        TlsVersion::V1_3 => &[&rustls::version::TLS13],
    };
    let unusable = |e: rustls::Error| broken("Can't use the certificate in", &options.certificate, e);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(unusable)?;
    let builder = match (options.client, &options.client_ca) {
        (ClientCertificates::No, _) => builder.with_no_client_auth(),
        (_, None) => {
            let what = "Certificates of clients are asked for, but no file says whom to believe";
            return Err(Error::new(Code::BAD_CONFIG_VALUE, what));
        }
        (asked, Some(path)) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots
                    .add(certificate)
                    .map_err(|e| broken("Can't use a certificate in", path, e))?;
            }
            let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            if !options.client_crls.is_empty() {
                let mut lists = Vec::new();
                for path in &options.client_crls {
                    lists.extend(revocations(path)?);
                }
                // An expired list may lack a revoked certificate.
                verifier = verifier.with_crls(lists).enforce_revocation_expiration();
                if !options.check_whole_chain {
                    verifier = verifier.only_check_end_entity_revocation();
                }
            }
            let verifier = match asked {
                ClientCertificates::Required => verifier,
                _ => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build();
            builder.with_client_cert_verifier(
                verifier.map_err(|e| broken("Can't use the certificates in", path, e))?,
            )
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Clients open several connections at once and come back: with tickets they need one full handshake.
    if let Ok(ticketer) = aws_lc_rs::Ticketer::new() {
        config.ticketer = ticketer;
    }
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let can_not = |e| broken("Can't read the certificates in", path, e);
    let all: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(can_not)?
        .collect::<std::result::Result<_, _>>()
        .map_err(can_not)?;
    match all.is_empty() {
        true => Err(broken("Can't read the certificates in", path, "there is none")),
        false => Ok(all),
    }
}

/// Reads the revocation lists in a file: any number in PEM, or one in DER.
fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    let what = "Can't read the list of revoked certificates in";
    let bytes = std::fs::read(path).map_err(|e| broken(what, path, e))?;
    let listed = CertificateRevocationListDer::pem_slice_iter(&bytes);
    let mut lists: Vec<_> = listed
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| broken(what, path, e))?;
    // DER begins with the tag of a sequence, which PEM does not.
    if lists.is_empty() && bytes.first() == Some(&0x30) {
        lists.push(CertificateRevocationListDer::from(bytes));
    }
    match lists.is_empty() {
        true => Err(broken(what, path, "there is none")),
        false => Ok(lists),
    }
}

fn broken(what: &str, path: &Path, why: impl std::fmt::Display) -> Error {
    let message = format!("{what} '{}': {why}", path.display());
    Error::new(Code::BAD_CONFIG_VALUE, message)
}
