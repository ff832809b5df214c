//! The certificates of servers: whose are trusted, and everything that is wrong with one that is not.
//!
//! The verifier of rustls decides whether authorities vouch for a certificate, and stops at the first fault: a certificate that has expired
//! is not compared with the authorities at all. A decision to trust needs all faults. So after a fault of time the verifier is asked once more,
//! for moments at which the certificates were valid. The validity of each certificate on the path to the authority is compared with
//! the clock here, including that of the authority, which the verifier ignores.

use std::sync::Arc;

use base::{Code, Error, Result, disk_path};
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use sha1::{Digest as _, Sha1};
use x509_parser::prelude::X509Certificate;

use crate::certificate::CertificateInfo;
use crate::options::{CertificateFailures, CertificateProblem, HttpOptions};

/// The most certificates on a path.
const MOST_ON_PATH: usize = 10;

/// What a session knows about the certificates of servers.
pub(super) struct TrustState {
    /// `None` if there is no authority.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    authorities: Vec<Authority>,
    /// Certificates that others vouch for, from the files of authorities: they complete what a server sends.
    middle: Vec<CertificateDer<'static>>,
    /// The certificates that the caller trusts, with the failures that it was shown.
    trusted: Mutex<Vec<(Vec<u8>, CertificateFailures)>>,
    /// The certificate that the last handshake refused.
    refused: Mutex<Option<(Vec<u8>, CertificateFailures)>>,
}

/// The certificate of an authority.
struct Authority {
    /// Its name, without the tag and length of DER.
    subject: Vec<u8>,
    der: CertificateDer<'static>,
}

impl std::fmt::Debug for TrustState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrustState").finish_non_exhaustive()
    }
}

impl TrustState {
    /// Reads the certificates of authorities. Of a file, the first certificate counts. Only one that vouches for itself is an authority.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for a file that cannot be read.
    pub(super) fn new(options: &HttpOptions, provider: Arc<CryptoProvider>) -> Result<TrustState> {
        let (mut roots, mut authorities, mut middle) = (RootCertStore::empty(), Vec::new(), Vec::new());
        let mut add = |der: CertificateDer<'static>| {
            roots.add(der.clone()).ok()?;
            let subject = roots.roots.last()?.subject.to_vec();
            authorities.push(Authority { subject, der });
            Some(())
        };
        if options.trust_default_authorities {
            for der in rustls_native_certs::load_native_certs().certs {
                // Certificates that cannot be parsed are left out, as others do.
                _ = add(der);
            }
        }
        for file in &options.authority_files {
            let failed = || {
                let name = disk_path::shown(file);
                let message = format!("Invalid config: unable to load certificate file '{name}'");
                Error::new(Code::BAD_CONFIG_VALUE, message)
            };
            let mut certificates = CertificateDer::pem_file_iter(file).map_err(|_| failed())?;
            let first = certificates.next().and_then(std::result::Result::ok);
            let der = first.ok_or_else(failed)?;
            let is_root = parse(&der).is_some_and(|parsed| is_self_issued(&parsed));
            match is_root {
                true => add(der).ok_or_else(failed)?,
                false => middle.push(der),
            }
        }
        let verifier = match roots.is_empty() {
            true => None,
            false => {
                let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone());
                let built = builder.build();
                Some(built.map_err(|error| Error::new(Code::BAD_CONFIG_VALUE, error.to_string()))?)
            }
        };
        Ok(TrustState {
            verifier,
            provider,
            authorities,
            middle,
            trusted: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// True if the last handshake refused a certificate.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.lock().is_some()
    }

    /// Returns the certificate that the last handshake refused, and forgets it.
    pub(super) fn take_refused(&self) -> Option<(Vec<u8>, CertificateFailures)> {
        self.refused.lock().take()
    }

    /// Trusts a certificate in spite of these failures.
    pub(super) fn trust(&self, der: Vec<u8>, failures: CertificateFailures) {
        self.trusted.lock().push((der, failures));
    }

    /// Returns everything that is wrong with a certificate.
    fn failures(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> CertificateFailures {
        let intermediates = [intermediates, &self.middle].concat();
        let verify = |time| match &self.verifier {
            Some(verifier) => verifier
                .verify_server_cert(certificate, &intermediates, name, &[], time)
                .err(),
            None => Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        };
        let path = self.path(certificate, &intermediates, now);
        let mut error = verify(now);
        let is_of_time = error.as_ref().is_some_and(is_time);
        if is_of_time {
            let mut later = path.moments().map(&verify);
            let other = later.find(|error| !error.as_ref().is_some_and(is_time));
            // Without such a moment the authorities are not known to vouch for it.
            error = other.unwrap_or(Some(rustls::Error::InvalidCertificate(
                CertificateError::UnknownIssuer,
            )));
        }
        let mut found = CertificateFailures {
            not_yet_valid: path.validities.iter().any(|(from, _)| seconds(now) < *from),
            expired: path.validities.iter().any(|(_, until)| seconds(now) > *until),
            other_host: is_other_host(certificate, name),
            ..CertificateFailures::default()
        };
        // A server may have the certificate of an authority itself.
        let is_authority = self.authorities.iter().any(|known| known.der == *certificate);
        if !is_authority {
            let fault = fault(error.as_ref());
            let is_unknown = fault != Fault::None && (!path.ends_in_authority || path.has_false_authority);
            found.unknown_issuer = is_unknown || fault == Fault::Issuer;
            found.other = fault == Fault::Purpose
                || (fault != Fault::None && path.has_false_authority)
                || (fault == Fault::Other && path.ends_in_authority);
        }
        // The caller must not trust a certificate without being shown a reason.
        found.other |= is_of_time && !found.expired && !found.not_yet_valid;
        found
    }

    /// Follows the names of issuers from a certificate to an authority.
    fn path(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> CertificatePath {
        let mut path = CertificatePath::default();
        let mut der: &[u8] = certificate;
        while let Some(parsed) = parse(der) {
            path.has_false_authority |= !path.validities.is_empty() && !parsed.is_ca();
            path.validities.push(validity(&parsed));
            path.ends_in_authority = self.authorities.iter().any(|known| *known.der == *der);
            let is_end = path.ends_in_authority || is_self_issued(&parsed);
            if is_end || path.validities.len() >= MOST_ON_PATH {
                break;
            }
            let issuer = parsed.issuer().as_raw();
            let authorities = self
                .authorities
                .iter()
                .filter(|known| issuer.ends_with(&known.subject));
            let authorities = authorities.map(|known| &*known.der);
            let sent = intermediates.iter().map(|sent| &**sent);
            let named: Vec<&[u8]> = authorities
                .chain(sent)
                .filter(|der| parse(der).is_some_and(|parsed| parsed.subject().as_raw() == issuer))
                .collect();
            let valid = named.iter().find(|der| is_valid_at(der, now));
            match valid.or(named.first()) {
                Some(next) => der = next,
                None => break,
            }
        }
        path
    }
}

/// The certificates from that of a server to that of an authority.
#[derive(Default)]
struct CertificatePath {
    /// The first and the last second at which each one is valid.
    validities: Vec<(i64, i64)>,
    ends_in_authority: bool,
    /// One that is named as an issuer is not the certificate of an authority.
    has_false_authority: bool,
}

impl CertificatePath {
    /// Returns moments at which the certificates were valid, or some of them.
    fn moments(&self) -> impl Iterator<Item = UnixTime> {
        let ends = self.validities.iter().flat_map(|(from, until)| [*from, *until]);
        ends.filter_map(|end| u64::try_from(end).ok())
            .map(|end| UnixTime::since_unix_epoch(std::time::Duration::from_secs(end)))
    }
}

fn parse(der: &[u8]) -> Option<X509Certificate<'_>> {
    x509_parser::parse_x509_certificate(der)
        .ok()
        .map(|(_, parsed)| parsed)
}

fn is_self_issued(certificate: &X509Certificate<'_>) -> bool {
    certificate.subject().as_raw() == certificate.issuer().as_raw()
}

fn validity(certificate: &X509Certificate<'_>) -> (i64, i64) {
    let validity = certificate.validity();
    (validity.not_before.timestamp(), validity.not_after.timestamp())
}

fn is_valid_at(der: &[u8], now: UnixTime) -> bool {
    parse(der).is_some_and(|parsed| {
        let (from, until) = validity(&parsed);
        (from..=until).contains(&seconds(now))
    })
}

fn seconds(time: UnixTime) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

/// What the verifier found, apart from times and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// No authority vouches for the certificate.
    Issuer,
    /// It is not for servers.
    Purpose,
    Other,
}

fn fault(error: Option<&rustls::Error>) -> Fault {
    use CertificateError as E;
    match error {
        None => Fault::None,
        Some(rustls::Error::InvalidCertificate(reason)) => match reason {
            E::NotValidForName | E::NotValidForNameContext { .. } => Fault::None,
            E::UnknownIssuer => Fault::Issuer,
            E::InvalidPurpose | E::InvalidPurposeContext { .. } => Fault::Purpose,
            _ => Fault::Other,
        },
        Some(_) => Fault::Other,
    }
}

fn is_time(error: &rustls::Error) -> bool {
    use CertificateError as E;
    let rustls::Error::InvalidCertificate(reason) = error else {
        return false;
    };
    matches!(
        reason,
        E::Expired | E::ExpiredContext { .. } | E::NotValidYet | E::NotValidYetContext { .. }
    )
}

fn is_other_host(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    let is_listed = match ParsedCertificate::try_from(certificate) {
        Ok(parsed) => verify_server_name(&parsed, name).is_ok(),
        Err(_) => false,
    };
    !is_listed && !is_named_in_subject(certificate, name)
}

/// Checks certificates by the authorities, and remembers which it refused and why.
#[derive(Debug)]
pub(super) struct Verifier(pub(super) Arc<TrustState>);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let state = &self.0;
        let failures = state.failures(certificate, intermediates, name, now);
        let is_trusted = || {
            let trusted = state.trusted.lock();
            trusted.contains(&(certificate.to_vec(), failures))
        };
        if failures == CertificateFailures::default() || is_trusted() {
            return Ok(ServerCertVerified::assertion());
        }
        *state.refused.lock() = Some((certificate.to_vec(), failures));
        Err(rustls::Error::InvalidCertificate(
            CertificateError::ApplicationVerificationFailure,
        ))
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

pub(super) fn describe(
    host: &str,
    realm: &str,
    der: &[u8],
    failures: CertificateFailures,
) -> CertificateProblem {
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

pub(super) fn untrusted(failures: CertificateFailures) -> Error {
    let texts = [
        (failures.not_yet_valid, "certificate is not yet valid"),
        (failures.expired, "certificate has expired"),
        (failures.other_host, "certificate issued for a different hostname"),
        (failures.unknown_issuer, "issuer is not trusted"),
        (failures.other, "and other reason(s)"),
    ];
    let texts: Vec<_> = texts
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, text)| *text)
        .collect();
    let message = format!("Server SSL certificate verification failed: {}", texts.join(", "));
    Error::new(Code::RA_SERF_SSL_CERT_UNTRUSTED, message)
}
