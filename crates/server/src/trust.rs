//! Whom we believe when we are the client of a server that speaks TLS: a directory of names, a master.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// A client that believes the authorities in a PEM file. One that cannot be read is one that is not believed.
///
/// # Errors
/// A sentence, if the file cannot be read or none of it is a certificate.
pub(crate) fn in_authorities_of(path: &Path) -> Result<Arc<ClientConfig>, String> {
    let broken = |what: String| format!("Can't use the certificates in '{}': {what}", path.display());
    let all = CertificateDer::pem_file_iter(path).map_err(|e| broken(e.to_string()))?;
    let mut roots = RootCertStore::empty();
    let (believed, _) = roots.add_parsable_certificates(all.flatten());
    if believed == 0 {
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
