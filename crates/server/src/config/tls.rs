//! The TLS options of listeners.

use std::path::PathBuf;

/// The TLS options of all `https` listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The file with the certificate chain, in PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// The file with the key, in PEM; may be the same file.
    pub key: PathBuf,
    /// The file with the authorities of clients' certificates, in PEM.
    pub client_ca: Option<PathBuf>,
    /// The files with lists of revoked client certificates, in PEM or DER. With any, each client certificate must be of an authority
    /// whose list is among them, has not expired, and does not contain it.
    pub client_crls: Vec<PathBuf>,
    /// Whether the intermediate authorities of a client certificate are checked for revocation as well.
    pub check_whole_chain: bool,
    /// Whether clients must have certificates.
    pub client: ClientCertificates,
    /// The oldest supported version.
    pub oldest: TlsVersion,
}

/// Whether clients must have certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// No certificate is requested.
    #[default]
    No,
    /// A certificate is requested.
    Optional,
    /// A certificate is required.
    Required,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsVersion {
    /// 1.2
    #[default]
    V1_2,
    /// 1.3
    V1_3,
}
