//! `svn auth`: lists the stored credentials, and removes them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use base::{Code, Error, Result, disk_path, glob, shown_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::config::credential_cache::{CachedCredentials, CredentialCache, CredentialKind};
use ra::CertificateInfo;

use crate::client_context::certificates::{ACCEPTED, CERTIFICATE};
use crate::client_context::{AccessOptions, ClientContext};
use crate::date_text;
use crate::out::Out;

/// Lists stored names, passwords and certificates, or removes them. Each PATTERN must match part of the kind, the realm, the
/// user name or the certificate.
#[derive(clap::Args)]
#[command(override_usage = "1. auth [PATTERN ...]\n       2. auth --remove PATTERN [PATTERN ...]")]
pub struct AuthArgs {
    /// remove what the patterns match
    #[arg(long)]
    remove: bool,
    /// show passwords and passphrases
    #[arg(long)]
    show_passwords: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// The numbers of failures in the cache, and their descriptions.
const FAILURES: [(u32, &str); 5] = [
    (1, "The certificate is not yet valid."),
    (2, "The certificate has expired."),
    (
        4,
        "The certificate's Common Name (hostname) does not match the remote hostname.",
    ),
    (8, "The certificate issuer is unknown."),
    (0x4000_0000, "Unknown verification failure."),
];
/// The number of the error of an unreadable certificate.
const MALFORMED_CERTIFICATE: Code = Code(240_007);
/// The number of the error of a certificate with an empty name.
const INVALID_NAME: Code = Code(240_011);

impl AuthArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let patterns: Vec<String> = self
            .operands
            .iter()
            .map(|word| out.charset().read_word(word).map(Cow::into_owned))
            .collect::<Result<_>>()?;
        if self.remove && patterns.is_empty() {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        let (remove, show) = (self.remove, self.show_passwords);
        ClientContext::run(self.access, out, |context, out| {
            let area = context.config().dir().unwrap_or(Path::new(""));
            let mut count = 0;
            for kind in CredentialKind::ALL {
                for credentials in CredentialCache::of_area(area).list(kind)? {
                    if !matches(&credentials, &patterns) {
                        continue;
                    }
                    count += 1;
                    match remove {
                        true => delete(&credentials, out)?,
                        false => print(&credentials, show, out)?,
                    }
                }
            }
            summary(area, count, remove, !patterns.is_empty(), out)
        })
    }
}

fn summary(area: &Path, count: usize, is_removal: bool, has_patterns: bool, out: &mut Out) -> Result<()> {
    let area = match disk_path::shown(area).to_string() {
        empty if empty.is_empty() => ".".to_owned(),
        area => area,
    };
    let plural = if count == 1 { "" } else { "s" };
    match count {
        0 if has_patterns => {
            let message = format!("Credentials cache in '{area}' contains no matching credentials");
            Err(Error::new(Code::ILLEGAL_TARGET, message))
        }
        0 => out.line(&format!("Credentials cache in '{area}' is empty")),
        _ if is_removal => out.line(&format!(
            "Deleted {count} matching credential{plural} from '{area}'"
        )),
        _ => {
            let matching = if has_patterns { "matching " } else { "" };
            out.line(&format!(
                "Credentials cache in '{area}' contains {count} {matching}credential{plural}"
            ))
        }
    }
}

fn delete(credentials: &CachedCredentials, out: &mut Out) -> Result<()> {
    out.line(&format!(
        "Deleting {} credential for realm '{}'",
        credentials.kind.name(),
        credentials.realm
    ))?;
    credentials.remove()
}

/// Returns the certificate in an attribute, or what is wrong with it.
fn certificate(text: &[u8]) -> Result<CertificateInfo> {
    let der = STANDARD.decode(text).ok();
    match der.and_then(|der| CertificateInfo::parse(&der)) {
        None => Err(Error::new(MALFORMED_CERTIFICATE, "Invalid certificate format")),
        Some(info) if info.subject.is_empty() || info.issuer.is_empty() => {
            Err(Error::new(INVALID_NAME, "Found invalid name in certificate"))
        }
        Some(info) => Ok(info),
    }
}

/// True if each pattern matches part of a value that is no secret.
fn matches(credentials: &CachedCredentials, patterns: &[String]) -> bool {
    let mut values = vec![credentials.kind.name().to_owned(), credentials.realm.clone()];
    for (name, value) in &credentials.attributes {
        if !["password", "passphrase", CERTIFICATE, ACCEPTED].contains(&name.as_str()) {
            values.push(shown_bytes(value));
        }
    }
    let certificate = credentials.attributes.get(CERTIFICATE);
    if let Some(Ok(info)) = certificate.map(|text| self::certificate(text)) {
        let fingerprint = hex(&info.sha1);
        values.extend([
            info.subject.clone(),
            info.issuer.clone(),
            fingerprint.to_uppercase(),
            fingerprint,
            info.hostnames.join(", "),
        ]);
    }
    patterns.iter().all(|pattern| {
        let pattern = format!("*{pattern}*");
        values
            .iter()
            .any(|value| glob::matches(pattern.as_bytes(), value.as_bytes()))
    })
}

fn print(credentials: &CachedCredentials, show: bool, out: &mut Out) -> Result<()> {
    out.line("------------------------------------------------------------------------")?;
    out.line(&format!("Credential kind: {}", credentials.kind.name()))?;
    out.line(&format!("Authentication realm: {}", credentials.realm))?;
    for (name, bytes) in &credentials.attributes {
        let value = shown_bytes(bytes);
        let secret = if show { &*value } else { "[not shown]" };
        match name.as_str() {
            "password" => out.line(&format!("Password: {secret}"))?,
            "passphrase" => out.line(&format!("Passphrase: {secret}"))?,
            "passtype" => out.line(&format!("Password cache: {value}"))?,
            "username" => out.line(&format!("Username: {value}"))?,
            CERTIFICATE => match certificate(bytes) {
                Ok(info) => print_certificate(&info, out)?,
                Err(error) => out.print_warning(&error),
            },
            ACCEPTED => print_failures(&value, out)?,
            _ => out.line(&format!("{name}: {value}"))?,
        }
    }
    out.line("")
}

fn print_certificate(info: &CertificateInfo, out: &mut Out) -> Result<()> {
    out.line(&format!("Subject: {}", info.subject))?;
    out.line(&format!("Valid from: {}", date_text::human(info.valid_from)))?;
    out.line(&format!("Valid until: {}", date_text::human(info.valid_until)))?;
    out.line(&format!("Issuer: {}", info.issuer))?;
    out.line(&format!("Fingerprint: {}", hex(&info.sha1)))?;
    if info.hostnames.is_empty() {
        return Ok(());
    }
    out.line(&format!("Hostnames: {}", info.hostnames.join(", ")))
}

fn print_failures(text: &str, out: &mut Out) -> Result<()> {
    let number = client::config::parse_number(text, 0, i64::from(u32::MAX))?;
    let mut present = FAILURES
        .iter()
        .filter(|(bit, _)| number & i64::from(*bit) != 0)
        .peekable();
    if present.peek().is_some() {
        out.line("Automatic certificate validity check failed because:")?;
    }
    for (_, description) in present {
        out.line(&format!("  {description}"))?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
