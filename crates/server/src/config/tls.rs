//! What encrypted connections need.

use std::path::PathBuf;

/// TLS of all `https` listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Certificate chain, in PEM, the server's own first.
    pub certificate: PathBuf,
    /// Its key, in PEM; may be the same file.
    pub key: PathBuf,
    /// Who vouches for clients' certificates, in PEM.
    pub client_ca: Option<PathBuf>,
    /// Lists of certificates of clients that were revoked, in PEM or DER. With any, each certificate that a client shows must be
    /// of an authority whose list is among them, is not too old, and does not name it.
    pub client_crls: Vec<PathBuf>,
    /// Whether the authorities between a client's certificate and `client_ca` are looked up in the lists as well.
    pub check_whole_chain: bool,
    /// Whether clients show certificates.
    pub client: ClientCertificates,
    /// The oldest version that is spoken.
    pub oldest: TlsVersion,
}

/// Whether clients show certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked.
    #[default]
    No,
    /// They may.
    Optional,
    /// They must.
    Required,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2
    #[default]
    V1_2,
    /// 1.3
    V1_3,
}
