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
    trusting(all.flatten()).map_err(broken)
}

/// Returns the settings of a client that trusts the system's authorities, wherever the distribution keeps them.
///
/// # Errors
/// A sentence, if there are none.
pub(crate) fn system_client_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let broken = |what: String| match found.errors.first() {
        Some(error) => format!("Can't use the system's certificates: {error}"),
        None => format!("Can't use the system's certificates: {what}"),
    };
    trusting(found.certs.iter().cloned()).map_err(broken)
}

fn trusting(authorities: impl Iterator<Item = CertificateDer<'static>>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(authorities);
    if trusted == 0 {
        return Err("there is none".to_owned());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_come_from_a_file_that_has_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        let why = client_config(&file).expect_err("it does not exist");
        assert!(why.contains("ca.pem"), "{why}");
        std::fs::write(&file, "nothing\n").expect("written");
        let why = client_config(&file).expect_err("it has no certificate");
        assert!(why.ends_with("there is none"), "{why}");
        let made = rcgen::generate_simple_self_signed(["test".to_owned()]).expect("a certificate");
        std::fs::write(&file, made.cert.pem()).expect("written");
        assert!(client_config(&file).is_ok());
    }

    #[test]
    fn the_authorities_of_the_system_are_found() {
        let found = system_client_config();
        if Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
            assert!(found.is_ok(), "{found:?}");
        } else if let Err(why) = found {
            assert!(why.starts_with("Can't use the system's certificates: "), "{why}");
        }
    }
}
