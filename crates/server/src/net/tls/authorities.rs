//! TLS settings for connections in which this server is the client: to an LDAP directory or to a master server.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Returns the settings of a client that trusts the authorities in a PEM file. Certificates in it that cannot be parsed are skipped.
///
/// # Errors
/// A sentence, if the file cannot be read or holds no certificate.
pub(crate) fn client_config(path: &Path) -> Result<Arc<ClientConfig>, String> {
    let broken = |what: String| format!("Can't use the certificates in '{}': {what}", path.display());
    let all = CertificateDer::pem_file_iter(path).map_err(|e| broken(e.to_string()))?;
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(all.flatten());
    if trusted == 0 {
        return Err(broken("there is none".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| broken(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
