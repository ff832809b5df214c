//! The common name in a client's certificate. `rustls` has verified the certificate by then.

use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

/// Returns the last common name of a certificate's subject, if it is text without control characters.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let name = certificate.subject().iter_common_name().last()?;
    let name = name.as_str().ok()?;
    let is_valid = !name.is_empty() && !name.contains(char::is_control);
    is_valid.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn made(names: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params
            .distinguished_name
            .push(DnType::OrganizationName, "An organisation of some length");
        for name in names {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.self_signed(&key).expect("it can be signed");
        certificate.der().to_vec()
    }

    #[test]
    fn the_last_common_name_is_returned() {
        assert_eq!(common_name(&made(&["alice"])).as_deref(), Some("alice"));
        assert_eq!(
            common_name(&made(&["Jürgen Müller"])).as_deref(),
            Some("Jürgen Müller")
        );
        assert_eq!(common_name(&made(&[])), None);
        assert_eq!(common_name(&made(&["a\nb"])), None);
    }

    #[test]
    fn truncated_and_changed_certificates_do_not_panic() {
        let whole = made(&["alice"]);
        for end in 0..whole.len() {
            _ = common_name(&whole[..end]);
        }
        for at in 0..whole.len().min(300) {
            for value in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                _ = common_name(&changed);
            }
        }
    }
}
