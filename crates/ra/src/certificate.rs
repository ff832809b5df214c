//! The description of a certificate, for people.

use base::Date;
use sha1::{Digest as _, Sha1};
use x509_parser::prelude::{GeneralName, X509Certificate};
use x509_parser::x509::X509Name;

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// The subject, as `C=DE, O=Example, CN=host`.
    pub subject: String,
    /// The issuer, in the same form.
    pub issuer: String,
    /// The parts of the issuer's name, from the common name to the country, with the address in parentheses.
    pub issuer_summary: String,
    /// The first common name of the subject.
    pub common_name: Option<String>,
    /// The names of hosts: those that it lists, or else the common name.
    pub hostnames: Vec<String>,
    /// The common name is the only name of a host: there are no alternative ones.
    pub has_only_common_name: bool,
    /// The beginning of its validity.
    pub valid_from: Date,
    /// The end of its validity.
    pub valid_until: Date,
    /// The SHA-1 of the certificate.
    pub sha1: [u8; 20],
}

impl CertificateInfo {
    /// Parses a certificate (DER); `None` if it is malformed.
    pub fn parse(der: &[u8]) -> Option<CertificateInfo> {
        let (_, parsed) = x509_parser::parse_x509_certificate(der).ok()?;
        let date = |seconds: i64| Date(seconds.saturating_mul(1_000_000));
        let common_name = attribute(parsed.subject(), COMMON_NAME);
        let mut hostnames = alternative_names(&parsed);
        let has_only_common_name = !lists_hosts(&parsed);
        if hostnames.is_empty() {
            hostnames.extend(common_name.clone());
        }
        Some(CertificateInfo {
            subject: full_name(parsed.subject()),
            issuer: full_name(parsed.issuer()),
            issuer_summary: summary(parsed.issuer()),
            common_name,
            hostnames,
            has_only_common_name,
            valid_from: date(parsed.validity().not_before.timestamp()),
            valid_until: date(parsed.validity().not_after.timestamp()),
            sha1: Sha1::digest(der).into(),
        })
    }
}

fn alternative_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect()
}

/// True if a certificate lists hosts by their names or addresses, or cannot be parsed so far.
fn lists_hosts(certificate: &X509Certificate<'_>) -> bool {
    match certificate.subject_alternative_name() {
        Ok(None) => false,
        Ok(Some(extension)) => {
            let mut names = extension.value.general_names.iter();
            names.any(|name| matches!(name, GeneralName::DNSName(_) | GeneralName::IPAddress(_)))
        }
        Err(_) => true,
    }
}

/// Returns the attributes of a name: their identifiers and values.
fn attributes(name: &X509Name<'_>) -> Vec<(String, String)> {
    let all = name.iter_attributes();
    all.map(|attribute| {
        let text = match attribute.as_str() {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(attribute.as_slice()).into_owned(),
        };
        (attribute.attr_type().to_id_string(), text)
    })
    .collect()
}

fn attribute(name: &X509Name<'_>, id: &str) -> Option<String> {
    let all = attributes(name);
    all.into_iter()
        .find(|(known, _)| known == id)
        .map(|(_, text)| text)
}

fn full_name(name: &X509Name<'_>) -> String {
    let parts: Vec<String> = attributes(name)
        .into_iter()
        .map(|(id, text)| {
            let label = LABELS.iter().find(|(known, _)| *known == id);
            format!("{}={text}", label.map_or(id.as_str(), |(_, label)| label))
        })
        .collect();
    parts.join(", ")
}

fn summary(name: &X509Name<'_>) -> String {
    let parts: Vec<String> = [COMMON_NAME, UNIT, ORGANIZATION, LOCALITY, STATE, COUNTRY]
        .iter()
        .filter_map(|id| attribute(name, id))
        .collect();
    let address = attribute(name, ADDRESS).map(|address| format!("({address})"));
    parts.join(", ") + &address.unwrap_or_default()
}

const COMMON_NAME: &str = "2.5.4.3";
const COUNTRY: &str = "2.5.4.6";
const LOCALITY: &str = "2.5.4.7";
const STATE: &str = "2.5.4.8";
const ORGANIZATION: &str = "2.5.4.10";
const UNIT: &str = "2.5.4.11";
const ADDRESS: &str = "1.2.840.113549.1.9.1";
/// The labels of attributes; others are shown as numbers.
const LABELS: [(&str, &str); 7] = [
    (COMMON_NAME, "CN"),
    (COUNTRY, "C"),
    (LOCALITY, "L"),
    (STATE, "ST"),
    (ORGANIZATION, "O"),
    (UNIT, "OU"),
    (ADDRESS, "emailAddress"),
];
