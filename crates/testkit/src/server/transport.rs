//! The transports between client and server, and the certificate of the test servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rcgen::{CertificateParams, KeyPair};

use crate::tool::folder;

/// A protocol between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `svn://`: Subversion's own protocol.
    Svn,
    /// `http://`.
    Http,
    /// `http://` with a server that does not advertise HTTPv2: DeltaV, the protocol of servers before 1.7.
    HttpV1,
    /// `https://`.
    Https,
}

impl Transport {
    /// All transports, with their names in `$SVEN_INTEROP_OVER`.
    pub const ALL: [(Transport, &'static str); 4] = [
        (Transport::Svn, "svn"),
        (Transport::Http, "http"),
        (Transport::HttpV1, "http-v1"),
        (Transport::Https, "https"),
    ];

    /// Returns the transport in `$SVEN_INTEROP_OVER`, or `default`.
    pub fn chosen(default: Transport) -> Transport {
        let Some(name) = std::env::var_os("SVEN_INTEROP_OVER") else {
            return default;
        };
        let known = Transport::ALL.iter().find(|(_, known)| name == *known);
        known
            .unwrap_or_else(|| panic!("SVEN_INTEROP_OVER: no transport is called {}", name.display()))
            .0
    }

    /// As [`Transport::chosen`], for tests that need HTTP.
    pub fn chosen_http() -> Transport {
        match Transport::chosen(Transport::Http) {
            Transport::Svn => Transport::Http,
            other => other,
        }
    }

    /// Returns the scheme of URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Transport::Svn => "svn",
            Transport::Http | Transport::HttpV1 => "http",
            Transport::Https => "https",
        }
    }

    /// Returns the host in URLs. Over https it is a name, because clients do not accept addresses in certificates.
    pub fn host(self) -> &'static str {
        match self {
            Transport::Https => "localhost",
            _ => "127.0.0.1",
        }
    }
}

/// A self-signed certificate for 127.0.0.1 and localhost, and its key.
#[derive(Debug)]
pub struct Certificate {
    /// The certificate (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
}

/// Returns the certificate of all test servers. Clients that `Tool` runs trust it.
pub fn certificate() -> &'static Certificate {
    static MADE: OnceLock<Certificate> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = folder("testkit-tls");
        let made = Certificate {
            certificate: place.join("pair.pem"),
            key: place.join("pair.pem"),
        };
        if !made.certificate.exists() {
            make(&made.certificate);
        }
        made
    })
}

/// Writes key and certificate into one file. A rename makes it visible at once, because several processes may make it
/// at the same time.
fn make(path: &Path) {
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let params = CertificateParams::new(names).expect("because the names are good");
    let key = KeyPair::generate().expect("because a key can be made");
    let certificate = params.self_signed(&key).expect("because the key is its own");
    let text = format!("{}{}", certificate.pem(), key.serialize_pem());
    let whole = path.with_extension(std::process::id().to_string());
    fs::write(&whole, text).expect("because target/ can be written");
    fs::rename(&whole, path).expect("because target/ can be written");
}
