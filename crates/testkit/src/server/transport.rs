//! How clients reach a server, and the certificate with which our test servers prove who they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rcgen::{CertificateParams, KeyPair};

use crate::tool::folder;

/// What lies between a client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `svn://`: Subversion's own protocol.
    Svn,
    /// `http://`.
    Http,
    /// `http://` with a server that does not announce the newer protocol: DeltaV, as servers before 1.7 speak it.
    HttpV1,
    /// `https://`.
    Https,
}

impl Transport {
    /// All, with the names by which `$SVEN_INTEROP_OVER` knows them.
    pub const ALL: [(Transport, &'static str); 4] = [
        (Transport::Svn, "svn"),
        (Transport::Http, "http"),
        (Transport::HttpV1, "http-v1"),
        (Transport::Https, "https"),
    ];

    /// What `$SVEN_INTEROP_OVER` says; `usual` where it is not set.
    pub fn chosen(usual: Transport) -> Transport {
        let Some(name) = std::env::var_os("SVEN_INTEROP_OVER") else {
            return usual;
        };
        let known = Transport::ALL.iter().find(|(_, known)| name == *known);
        known
            .unwrap_or_else(|| panic!("SVEN_INTEROP_OVER: no transport is called {}", name.display()))
            .0
    }

    /// As [`Transport::chosen`], for what makes sense over HTTP alone.
    pub fn chosen_http() -> Transport {
        match Transport::chosen(Transport::Http) {
            Transport::Svn => Transport::Http,
            other => other,
        }
    }

    /// The beginning of URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Transport::Svn => "svn",
            Transport::Http | Transport::HttpV1 => "http",
            Transport::Https => "https",
        }
    }

    /// What clients call this machine: they do not find addresses in certificates.
    pub fn host(self) -> &'static str {
        match self {
            Transport::Https => "localhost",
            _ => "127.0.0.1",
        }
    }
}

/// A certificate for 127.0.0.1 and localhost that vouches for itself, and its key.
#[derive(Debug)]
pub struct Certificate {
    /// The certificate (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
}

/// The certificate of all test servers. The clients of `Tool` believe it.
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

/// Makes key and certificate in one file, which comes into being as a whole: several programs may want it at once.
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
