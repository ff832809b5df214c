//! The client's certificate and key, from a file: PKCS#12 or PEM.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::tls::broken;
use crate::options::Credentials;

/// The largest file that is read, in bytes.
const MOST: u64 = 1 << 20;
/// The most files that the caller is asked for.
const MOST_FILES: u32 = 16;

/// A certificate with its key.
pub(super) struct ClientKey {
    pub(super) key: Arc<CertifiedKey>,
    /// The passphrase that opened the file.
    pub(super) passphrase: Option<Passphrase>,
}

/// A passphrase that has opened a file. The caller may store it once the server has accepted the certificate.
pub(super) struct Passphrase {
    file: PathBuf,
    text: String,
}

impl Passphrase {
    /// Tells the caller that the server has accepted the certificate.
    ///
    /// # Errors
    /// Those of the caller.
    pub(super) fn accepted(&self, credentials: &dyn Credentials, realm: &str) -> Result<()> {
        credentials.passphrase_accepted(realm, &self.file, &self.text)
    }
}

/// Asks the caller for the certificate of a realm until a file can be used. Without one the session goes on without a certificate.
///
/// # Errors
/// Those of the caller; that of TLS for a wrong passphrase.
pub(super) fn find(
    credentials: &dyn Credentials,
    realm: &str,
    provider: &CryptoProvider,
) -> Result<Option<ClientKey>> {
    let found = |parts, passphrase| {
        certified(parts, provider).map(|key| ClientKey {
            key: Arc::new(key),
            passphrase,
        })
    };
    for attempt in 0..MOST_FILES {
        let Some(certificate) = credentials.client_certificate(realm, attempt)? else {
            return Ok(None);
        };
        let Ok(bytes) = read(&certificate.file) else {
            continue;
        };
        if let Some(key) = from_pem(&bytes).and_then(|parts| found(parts, None)) {
            return Ok(Some(key));
        }
        if !is_pkcs12(&bytes) {
            continue;
        }
        if let Some(parts) = from_pkcs12(&bytes, "") {
            return Ok(found(parts, None));
        }
        let Some(text) = credentials.client_passphrase(realm, &certificate.file)? else {
            return Ok(None);
        };
        let parts = from_pkcs12(&bytes, &text).ok_or_else(broken)?;
        let file = certificate.file;
        return Ok(found(parts, Some(Passphrase { file, text })));
    }
    Ok(None)
}

/// Certificates, the client's first, and the key.
type KeyParts = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn certified((chain, key): KeyParts, provider: &CryptoProvider) -> Option<CertifiedKey> {
    CertifiedKey::from_der(chain, key, provider).ok()
}

fn from_pem(bytes: &[u8]) -> Option<KeyParts> {
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let key = PrivateKeyDer::from_pem_slice(bytes).ok()?;
    Some((chain.ok()?, key))
}

/// True if the bytes begin as PKCS#12 does: a sequence with the version 3.
fn is_pkcs12(bytes: &[u8]) -> bool {
    let version = [0x02, 0x01, 0x03];
    bytes.first() == Some(&0x30) && bytes.windows(3).take(8).any(|part| part == version)
}

fn from_pkcs12(bytes: &[u8], passphrase: &str) -> Option<KeyParts> {
    let store = KeyStore::from_pkcs12(bytes, passphrase, Pkcs12ImportPolicy::Relaxed).ok()?;
    let (_, chain) = store.private_key_chain()?;
    let certificates = chain
        .certs()
        .iter()
        .map(|certificate| CertificateDer::from(certificate.as_der().to_vec()));
    let key = PrivatePkcs8KeyDer::from(chain.key().as_der().to_vec());
    Some((certificates.collect(), key.into()))
}
