//! The common name in a certificate: parses as much of DER as that takes.
//!
//! The certificate has been verified by then; every length is checked all the same.

/// OID 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// `[0]`, constructed: the version.
const VERSION: u8 = 0xa0;

/// Returns the last common name of a certificate's subject, if it is text without control characters.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, body, _) = element(certificate).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (_, mut rest, _) = element(body).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (tag, _, after) = element(rest)?;
    if tag == VERSION {
        rest = after;
    }
    // Serial number, signature algorithm, issuer, validity.
    for _ in 0..4 {
        rest = element(rest)?.2;
    }
    let (_, mut subject, _) = element(rest).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let mut found = None;
    while !subject.is_empty() {
        let (tag, mut set, after) = element(subject)?;
        subject = after;
        if tag != SET {
            return None;
        }
        while !set.is_empty() {
            let (_, attribute, after) = element(set).filter(|(tag, ..)| *tag == SEQUENCE)?;
            set = after;
            let (_, name, after) = element(attribute).filter(|(tag, ..)| *tag == OBJECT_ID)?;
            if name == COMMON_NAME {
                let (tag, value, _) = element(after)?;
                found = text(tag, value);
            }
        }
    }
    found.filter(|name| !name.is_empty() && !name.contains(char::is_control))
}

/// Returns the first element's tag, its contents, and the bytes behind it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = match first {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let len = bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
            (len, rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(len)?;
    Some((tag, contents, rest))
}

/// Reads UTF-8, printable and ASCII strings. Today's certificates use no others.
fn text(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        0x0c | 0x13 | 0x16 => String::from_utf8(value.to_vec()).ok(),
        _ => None,
    }
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
