//! TLS: whose certificates are trusted, and the client's own.
//!
//! A certificate that no authority vouches for ends the handshake. The caller is asked outside of it, and the connection is made once more.
//! The same way, the caller is asked for a client certificate only if the server demanded one.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use base::{Code, Error, Result};
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use sha1::{Digest as _, Sha1};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{Connect, TlsConnector};

use super::client_key;
use super::http_client::bracketed;
use crate::certificate::CertificateInfo;
use crate::options::{CertificateFailures, CertificateProblem, CertificateTrust, Credentials, HttpOptions};

/// What a session knows about TLS with its server.
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    trust: Arc<TrustState>,
    client: Arc<ClientState>,
}

/// What a handshake led to.
pub(super) enum TlsOutcome<S> {
    Connected(Box<TlsStream<S>>),
    /// [`Tls::ask`] comes next.
    MustAsk,
}

struct TrustState {
    /// `None` if there is no authority.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    /// The certificates in the files of authorities. A server may have one of them itself.
    own_authorities: BTreeSet<Vec<u8>>,
    /// The certificates that the caller trusts, and those that it was asked about.
    trusted: Mutex<BTreeSet<Vec<u8>>>,
    refused: Mutex<Option<(Vec<u8>, CertificateFailures)>>,
}

#[derive(Default)]
struct ClientState {
    /// The server has demanded a certificate.
    demanded: Mutex<bool>,
    was_asked: Mutex<bool>,
    key: Mutex<Option<Arc<CertifiedKey>>>,
}

impl Tls {
    /// Reads the certificates of authorities.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for a file that cannot be read.
    pub(super) fn new(options: &HttpOptions) -> Result<Tls> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (mut roots, mut own_authorities) = (RootCertStore::empty(), BTreeSet::new());
        if options.trust_default_authorities {
            // Certificates that cannot be parsed are left out, as others do.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for file in &options.authority_files {
            let failed = || {
                let name = file.display();
                let message = format!("Invalid config: unable to load certificate file '{name}'");
                Error::new(Code::BAD_CONFIG_VALUE, message)
            };
            let before = roots.len();
            for certificate in CertificateDer::pem_file_iter(file).map_err(|_| failed())? {
                let certificate = certificate.map_err(|_| failed())?;
                own_authorities.insert(certificate.to_vec());
                roots.add(certificate).map_err(|_| failed())?;
            }
            if roots.len() == before {
                return Err(failed());
            }
        }
        let authorities = match roots.is_empty() {
            true => None,
            false => {
                let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone());
                let built = builder.build();
                Some(built.map_err(|error| Error::new(Code::BAD_CONFIG_VALUE, error.to_string()))?)
            }
        };
        Ok(Tls {
            trust: Arc::new(TrustState {
                authorities,
                own_authorities,
                provider: provider.clone(),
                trusted: Mutex::default(),
                refused: Mutex::default(),
            }),
            client: Arc::default(),
            provider,
        })
    }

    /// Begins a handshake.
    ///
    /// # Errors
    /// `BAD_URL` for a host that is no name and no address.
    pub(super) fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> Result<Connect<S>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::new(Code::BAD_URL, format!("'{host}' is not a valid host name")))?;
        let config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(Code::RA_DAV_REQUEST_FAILED, error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier(self.trust.clone())))
            .with_client_cert_resolver(Arc::new(KeyResolver(self.client.clone())));
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream))
    }

    /// Judges the end of a handshake.
    ///
    /// # Errors
    /// Those of the handshake that no question can change.
    pub(super) fn outcome<S>(&self, begun: io::Result<TlsStream<S>>) -> Result<TlsOutcome<S>> {
        if self.trust.refused.lock().is_some() {
            return Ok(TlsOutcome::MustAsk);
        }
        // A server of TLS 1.3 refuses a missing certificate only after the handshake.
        if *self.client.demanded.lock() && !*self.client.was_asked.lock() {
            return Ok(TlsOutcome::MustAsk);
        }
        match begun {
            Ok(stream) => Ok(TlsOutcome::Connected(Box::new(stream))),
            Err(_) => Err(broken()),
        }
    }

    /// Asks the caller what the last handshake has left open.
    ///
    /// # Errors
    /// `RA_SERF_SSL_CERT_UNTRUSTED` if the caller rejects the certificate; those of credentials.
    pub(super) fn ask(&self, credentials: &dyn Credentials, host: &str, port: u16) -> Result<()> {
        let realm = format!("https://{}:{port}", bracketed(host));
        let refused = self.trust.refused.lock().take();
        if let Some((der, failures)) = refused {
            let problem = describe(host, &realm, &der, failures);
            return match credentials.server_certificate(&problem)? {
                CertificateTrust::Reject => Err(untrusted(failures)),
                CertificateTrust::Once | CertificateTrust::Permanently => {
                    self.trust.trusted.lock().insert(der);
                    Ok(())
                }
            };
        }
        *self.client.was_asked.lock() = true;
        *self.client.key.lock() = client_key::find(credentials, &realm, &self.provider)?.map(Arc::new);
        Ok(())
    }
}

/// The number of the error of a connection that TLS does not allow.
const TLS_FAILED: Code = Code(120_171);

/// Returns the error of a connection that TLS does not allow.
pub(super) fn broken() -> Error {
    Error::new(
        TLS_FAILED,
        "Error running context: An error occurred during SSL communication",
    )
}

/// Checks certificates by the authorities, and remembers which it refused and why.
#[derive(Debug)]
struct Verifier(Arc<TrustState>);

impl std::fmt::Debug for TrustState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrustState").finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let state = &self.0;
        if state.trusted.lock().contains(certificate.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = match &state.authorities {
            Some(authorities) => authorities.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        };
        verified.or_else(|error| {
            let is_authority = state.own_authorities.contains(certificate.as_ref());
            let failures = failures(certificate, name, now, &error, is_authority);
            if failures == CertificateFailures::default() {
                return Ok(ServerCertVerified::assertion());
            }
            *state.refused.lock() = Some((certificate.to_vec(), failures));
            Err(error)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0
            .provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Returns everything that is wrong with a certificate: the verifier stops at the first. Nothing is wrong with one that it refuses for
/// other reasons than others do: one of an authority itself (`is_authority`), and one that names its host only in the subject.
fn failures(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
    error: &rustls::Error,
    is_authority: bool,
) -> CertificateFailures {
    use CertificateError as E;
    let mut found = CertificateFailures::default();
    let rustls::Error::InvalidCertificate(reason) = error else {
        found.other = true;
        return found;
    };
    let is_time = matches!(
        reason,
        E::Expired | E::ExpiredContext { .. } | E::NotValidYet | E::NotValidYetContext { .. }
    );
    let is_name = matches!(reason, E::NotValidForName | E::NotValidForNameContext { .. });
    found.unknown_issuer = !is_time && !is_name && !is_authority;
    found.other_host = match ParsedCertificate::try_from(certificate) {
        Ok(parsed) => verify_server_name(&parsed, name).is_err() && !is_named_in_subject(certificate, name),
        Err(_) => !is_named_in_subject(certificate, name),
    };
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) {
        let validity = parsed.validity();
        found.not_yet_valid = now < validity.not_before.timestamp();
        found.expired = now > validity.not_after.timestamp();
    }
    // The caller must not trust a certificate without being shown a reason.
    let has_reason = found != CertificateFailures::default();
    found.other = !has_reason && !is_name && !is_authority;
    found
}

/// True if a certificate without alternative names has the host as its common name. A `*` stands for the first label.
fn is_named_in_subject(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    let Some(info) = CertificateInfo::parse(certificate) else {
        return false;
    };
    let (Some(common), true) = (&info.common_name, info.has_only_common_name) else {
        return false;
    };
    let host = name.to_str();
    let same_rest = || {
        let rest = common.strip_prefix("*.")?;
        let (_, host_rest) = host.split_once('.')?;
        Some(rest.contains('.') && rest.eq_ignore_ascii_case(host_rest))
    };
    let is_name = matches!(name, ServerName::DnsName(_));
    common.eq_ignore_ascii_case(&host) || (is_name && same_rest().unwrap_or(false))
}

fn describe(host: &str, realm: &str, der: &[u8], failures: CertificateFailures) -> CertificateProblem {
    let digest = Sha1::digest(der);
    let fingerprint: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let info = CertificateInfo::parse(der);
    CertificateProblem {
        host: host.to_owned(),
        realm: realm.to_owned(),
        fingerprint: fingerprint.join(":"),
        valid_from: info.as_ref().map(|info| info.valid_from),
        valid_until: info.as_ref().map(|info| info.valid_until),
        hostname: info.as_ref().and_then(|info| info.common_name.clone()),
        issuer: info.map(|info| info.issuer_summary).unwrap_or_default(),
        der: der.to_vec(),
        failures,
    }
}

fn untrusted(failures: CertificateFailures) -> Error {
    let texts = [
        (failures.not_yet_valid, "certificate is not yet valid"),
        (failures.expired, "certificate has expired"),
        (failures.other_host, "certificate issued for a different hostname"),
        (failures.unknown_issuer, "issuer is not trusted"),
        (failures.other, "certificate has an unknown error"),
    ];
    let texts: Vec<_> = texts
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, text)| *text)
        .collect();
    let message = format!("Server SSL certificate verification failed: {}", texts.join(", "));
    Error::new(Code::RA_SERF_SSL_CERT_UNTRUSTED, message)
}

/// Returns the client's certificate, and notes that the server demands one.
struct KeyResolver(Arc<ClientState>);

impl std::fmt::Debug for KeyResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyResolver").finish_non_exhaustive()
    }
}

impl ResolvesClientCert for KeyResolver {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        *self.0.demanded.lock() = true;
        self.0.key.lock().clone()
    }

    fn has_certs(&self) -> bool {
        true
    }
}
