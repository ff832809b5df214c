//! TLS: whose certificates are trusted, and the client's own.
//!
//! A certificate that no authority vouches for ends the handshake. The caller is asked outside of it, and the connection is made once more.
//! The same way, the caller is asked for a client certificate only if the server demanded one.

use std::io;
use std::sync::Arc;

use base::{Code, Error, Result};
use parking_lot::Mutex;
use rustls::client::ResolvesClientCert;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{Connect, TlsConnector};

use super::client_key::{self, Passphrase};
use super::server_certificate::{TrustState, Verifier, describe, untrusted};
use crate::options::{CertificateTrust, Credentials, HttpOptions};

/// What a session knows about TLS with its server.
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    /// The error is that of the files with certificates of authorities. It is reported when the server's address is known.
    trust: Result<Arc<TrustState>>,
    client: Arc<ClientState>,
}

/// What a handshake led to.
pub(super) enum TlsOutcome<S> {
    Connected(Box<TlsStream<S>>),
    /// [`Tls::ask`] comes next.
    MustAsk,
}

#[derive(Default)]
struct ClientState {
    /// The server has demanded a certificate.
    demanded: Mutex<bool>,
    was_asked: Mutex<bool>,
    key: Mutex<Option<Arc<CertifiedKey>>>,
    /// The passphrase of a certificate that the server has not accepted yet.
    passphrase: Mutex<Option<Passphrase>>,
}

impl Tls {
    /// Reads the certificates of authorities.
    pub(super) fn new(options: &HttpOptions) -> Tls {
        let provider = Arc::new(aws_lc_rs::default_provider());
        Tls {
            trust: TrustState::new(options, provider.clone()).map(Arc::new),
            client: Arc::default(),
            provider,
        }
    }

    /// Checks that the certificates of authorities could be read.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for a file that cannot be read.
    pub(super) fn check_authorities(&self) -> Result<()> {
        self.trust().map(drop)
    }

    fn trust(&self) -> Result<&Arc<TrustState>> {
        self.trust.as_ref().map_err(Error::clone)
    }

    /// Begins a handshake.
    ///
    /// # Errors
    /// `BAD_URL` for a host that is no name and no address; as of [`Tls::check_authorities`].
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
            .with_custom_certificate_verifier(Arc::new(Verifier(self.trust()?.clone())))
            .with_client_cert_resolver(Arc::new(KeyResolver(self.client.clone())));
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream))
    }

    /// Judges the end of a handshake.
    ///
    /// # Errors
    /// Those of the handshake that no question can change.
    pub(super) fn outcome<S>(&self, begun: io::Result<TlsStream<S>>) -> Result<TlsOutcome<S>> {
        if self.trust()?.has_refused() {
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
        let realm = realm(host, port);
        if let Some((der, failures)) = self.trust()?.take_refused() {
            let problem = describe(host, &realm, &der, failures);
            return match credentials.server_certificate(&problem)? {
                CertificateTrust::Reject => Err(untrusted(failures)),
                CertificateTrust::Once | CertificateTrust::Permanently => {
                    self.trust()?.trust(der, failures);
                    Ok(())
                }
            };
        }
        *self.client.was_asked.lock() = true;
        if let Some(found) = client_key::find(credentials, &realm, &self.provider)? {
            *self.client.key.lock() = Some(found.key);
            *self.client.passphrase.lock() = found.passphrase;
        }
        Ok(())
    }

    /// Notes that the server has accepted a request, and with it the certificate.
    ///
    /// # Errors
    /// Those of credentials.
    pub(super) fn accepted(&self, credentials: &dyn Credentials, host: &str, port: u16) -> Result<()> {
        let passphrase = self.client.passphrase.lock().take();
        match passphrase {
            Some(passphrase) => passphrase.accepted(credentials, &realm(host, port)),
            None => Ok(()),
        }
    }
}

/// Returns the realm of a server's certificate, and of the client's for that server. An IPv6 address has no brackets in it, as with the incumbent.
fn realm(host: &str, port: u16) -> String {
    format!("https://{host}:{port}")
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
