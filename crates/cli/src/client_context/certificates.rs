//! Certificates: which ones of servers are trusted, and the file of the client's own.

use std::path::{Path, PathBuf};

use base::{Date, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::config::credential_cache::CredentialKind;
use jiff::tz::TimeZone;
use ra::{CertificateFailures, CertificateProblem, CertificateTrust, ClientCertificate};

use super::credentials::{UserCredentials, attributes, host_of};
use super::prompt::Echo;

/// The most questions for the file of a certificate.
const MOST_QUESTIONS: u32 = 3;
/// The attributes of a server's certificate in the cache.
pub const CERTIFICATE: &str = "ascii_cert";
/// The failures that were accepted, as a sum of [`FAILURES`].
pub const ACCEPTED: &str = "failures";

/// A kind of failure: its number in the cache, and its text in questions.
struct FailureKind {
    number: u32,
    text: &'static str,
    of: fn(&CertificateFailures) -> bool,
}

/// The kinds of failures, in the order of questions.
const FAILURES: [FailureKind; 5] = [
    FailureKind {
        number: 8,
        text: " - The certificate is not issued by a trusted authority. Use the\n   fingerprint to validate the certificate manually!\n",
        of: |failures| failures.unknown_issuer,
    },
    FailureKind {
        number: 4,
        text: " - The certificate hostname does not match.\n",
        of: |failures| failures.other_host,
    },
    FailureKind {
        number: 1,
        text: " - The certificate is not yet valid.\n",
        of: |failures| failures.not_yet_valid,
    },
    FailureKind {
        number: 2,
        text: " - The certificate has expired.\n",
        of: |failures| failures.expired,
    },
    FailureKind {
        number: 0x4000_0000,
        text: " - The certificate has an unknown error.\n",
        of: |failures| failures.other,
    },
];

fn bits(failures: &CertificateFailures) -> u32 {
    let present = FAILURES.iter().filter(|kind| (kind.of)(failures));
    present.map(|kind| kind.number).sum()
}

impl UserCredentials {
    /// Decides about a server's certificate: by an earlier decision, by the cache, by the options, or by a question.
    pub(super) fn judge_certificate(&self, problem: &CertificateProblem) -> Result<CertificateTrust> {
        let mut state = self.state.lock();
        if state.trusted.contains(problem) || self.is_cached(problem) || self.is_trusted_by_options(problem) {
            return Ok(CertificateTrust::Once);
        }
        if !self.prompter.is_interactive() {
            return Ok(CertificateTrust::Reject);
        }
        let server = self.settings.config.server(&problem.host);
        // A decision about an unknown error is for this run only.
        let may_store = self.may_store(&server)? && !problem.failures.other;
        let answer = self.prompter.ask(&question(problem, may_store), Echo::Shown)?;
        let trust = match answer.bytes().next() {
            Some(b't' | b'T') => CertificateTrust::Once,
            Some(b'p' | b'P') if may_store => CertificateTrust::Permanently,
            _ => return Ok(CertificateTrust::Reject),
        };
        state.trusted.push(problem.clone());
        if trust == CertificateTrust::Permanently {
            let attributes = attributes([
                (CERTIFICATE, &STANDARD.encode(&problem.der)),
                (ACCEPTED, &bits(&problem.failures).to_string()),
            ]);
            self.store(CredentialKind::ServerCertificate, &problem.realm, &attributes);
        }
        Ok(trust)
    }

    fn is_cached(&self, problem: &CertificateProblem) -> bool {
        let cache = self.cache.as_ref();
        let cached = cache.and_then(|cache| cache.read(CredentialKind::ServerCertificate, &problem.realm));
        let Some(cached) = cached else {
            return false;
        };
        let accepted = cached.text(ACCEPTED).and_then(|text| text.parse::<u32>().ok());
        let is_same = cached.text(CERTIFICATE) == Some(&STANDARD.encode(&problem.der));
        is_same && bits(&problem.failures) & !accepted.unwrap_or(0) == 0
    }

    fn is_trusted_by_options(&self, problem: &CertificateProblem) -> bool {
        !self.settings.is_interactive && bits(&problem.failures) & !bits(&self.settings.trusted_failures) == 0
    }

    /// Returns the file of the client's certificate: that of the configuration, or those that the user names.
    pub(super) fn client_file(&self, realm: &str, attempt: u32) -> Result<Option<ClientCertificate>> {
        let mut state = self.state.lock();
        if attempt == 0 {
            if let Some(known) = state.client_files.get(realm) {
                return Ok(Some(known.clone()));
            }
            state.file_questions = 0;
            let server = self.settings.config.server(host_of(realm));
            if let Some(file) = server.text("ssl-client-cert-file")? {
                let file = PathBuf::from(file);
                return Ok(Some(ClientCertificate { file }));
            }
        }
        let config = &self.settings.config.config;
        let is_asked =
            self.prompter.is_interactive() && config.flag("auth", "ssl-client-cert-file-prompt", false)?;
        if !is_asked || state.file_questions >= MOST_QUESTIONS {
            state.client_files.remove(realm);
            return Ok(None);
        }
        state.file_questions += 1;
        let text = format!("Authentication realm: {realm}\nClient certificate filename: ");
        let answer = self.prompter.ask(&text, Echo::Shown)?;
        let file = std::path::absolute(Path::new(&answer)).unwrap_or_else(|_| PathBuf::from(&answer));
        let certificate = ClientCertificate { file };
        state.client_files.insert(realm.to_owned(), certificate.clone());
        Ok(Some(certificate))
    }
}

fn question(problem: &CertificateProblem, may_store: bool) -> String {
    let mut text = format!("Error validating server certificate for '{}':\n", problem.realm);
    for kind in FAILURES.iter().filter(|kind| (kind.of)(&problem.failures)) {
        text += kind.text;
    }
    let choices = match may_store {
        true => "(R)eject, accept (t)emporarily or accept (p)ermanently? ",
        false => "(R)eject or accept (t)emporarily? ",
    };
    text + &format!(
        "Certificate information:\n - Hostname: {}\n - Valid: from {} until {}\n - Issuer: {}\n - Fingerprint: {}\n{choices}",
        problem.hostname.as_deref().unwrap_or("(null)"),
        date(problem.valid_from),
        date(problem.valid_until),
        problem.issuer,
        problem.fingerprint,
    )
}

/// Formats a date as `Nov  5 01:32:39 2026 GMT`.
fn date(date: Option<Date>) -> String {
    let text = date.map(|date| {
        let (year, time) = date.in_zone(TimeZone::UTC);
        format!("{} {year:04} GMT", time.strftime("%b %e %H:%M:%S"))
    });
    text.unwrap_or_default()
}
