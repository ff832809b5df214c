//! Repository access for clients: one interface to repositories, wherever they are.
//!
//! [`open()`] makes a [`Session`] of a URL: over `svn://`, through a tunnel (`svn+ssh://`), over `http://` and `https://`, or directly in
//! a repository on disk (`file://`). The caller cannot tell them apart, except by speed. A session is at one URL of a repository, and the paths of
//! its requests are relative to that URL; [`Session::reparent`] moves it.
//!
//! All requests block. Long answers are not held: they are passed to callbacks as they arrive. Where trees change, in
//! either direction, the caller deals with a [`delta::editor::Editor`]: [`Session::report`] and [`Session::replay`] drive the
//! caller's, [`Session::commit`] gives the caller one to drive. Texts pass as windows, which a repository, the network and
//! a receiver can use in the same form.
//!
//! Errors carry Subversion's numbers; a failure to open a session is wrapped in `RA_CANNOT_CREATE_SESSION`. Everything that
//! comes from a server is bounded and checked: paths have no `..`, names of entries no slash, texts their digest.
//!
//! What is absent: the configuration area, prompts, environment variables (they are values in [`OpenOptions`]); working
//! copies; terminals. Servers' storage is used by [`local`] alone.
//!
//! ```
//! use base::{RelPath, Url};
//! use ra::{CommitRequest, FileRequest, OpenOptions};
//!
//! # fn main() -> base::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("project");
//! # repos::create(&path, &repos::CreateOptions::default(), base::Date(0))?;
//! # let text = format!("file://{}", path.display());
//! let url = Url::canonicalize(&text)?;
//! let mut session = ra::open(&url, &OpenOptions::default())?;
//!
//! let name = RelPath::canonicalize("empty.txt")?;
//! let info = session.commit(&CommitRequest::default(), &mut |editor| {
//!     let root = editor.open_root(None)?;
//!     let file = editor.add_file(&name, root, None)?;
//!     editor.close_file(file, None)?;
//!     editor.close_directory(root)
//! })?;
//! assert_eq!(session.latest_revision()?, info.rev);
//!
//! let request = FileRequest { path: &name, rev: None, props: false, text: true };
//! let mut length = 0;
//! session.file(&request, &mut |_, piece| {
//!     length += piece.len();
//!     Ok(())
//! })?;
//! assert_eq!(length, 0);
//! # Ok(())
//! # }
//! ```

mod answers;
mod certificate;
mod dav;
mod local;
mod log_limit;
mod options;
mod requests;
mod session;
mod svn;
mod traffic;
pub mod user_program;

use base::{Code, Depth, Error, Result, Url};

pub use answers::{
    ChangeAction, CommitInfo, Directory, Dirent, FileInfo, FileRev, FileRevSink, LocationSegment, LogChange,
    LogEntry, ReplaySink,
};
pub use certificate::CertificateInfo;
pub use options::{
    AuthMechanism, BulkUpdates, CertificateFailures, CertificateProblem, CertificateTrust, ClientCertificate,
    Clock, Credentials, FixedPassword, HttpOptions, HttpOptionsOf, Limits, NoCredentials, OpenOptions,
    Password, PasswordRequest, Proxy, RedirectNotice, Tunnels,
};
pub use requests::{
    Capability, CommitRequest, DirectoryRequest, DirentFields, FileRequest, FileRevsRequest, ListRequest,
    LockTarget, LogRequest, LogRevprops, MergeinfoOf, MergeinfoRequest, PathState, ReplayOptions, ReportKind,
    ReportRequest, Reporter, RevpropChange, UnlockTarget,
};
pub use session::Session;
pub use traffic::Traffic;

/// Opens a session at a URL, which need not exist in the repository.
///
/// # Errors
/// `RA_ILLEGAL_URL` for a scheme that no implementation knows, and for a host or port that no server can have; `RA_SESSION_URL_MISMATCH` for a temporary redirect;
/// `RA_CANNOT_CREATE_SESSION` around every other error.
pub fn open(url: &Url, options: &OpenOptions) -> Result<Box<dyn Session>> {
    url.check_authority()?;
    let scheme = url.scheme();
    let opened: Result<Box<dyn Session>> = if scheme == "file" {
        local::LocalSession::open(url, options).map(|session| Box::new(session) as _)
    } else if scheme == "svn" || scheme.starts_with("svn+") {
        svn::SvnSession::open(url, options).map(|session| Box::new(session) as _)
    } else if scheme == "http" || scheme == "https" {
        dav::DavSession::open(url, options).map(|session| Box::new(session) as _)
    } else {
        let message = format!("Unrecognized URL scheme for '{url}'");
        return Err(Error::new(Code::RA_ILLEGAL_URL, message));
    };
    opened.map_err(|error| cannot_open(url, error))
}

/// Names the URL that could not be opened, unless the error does. Not so for a server that names another URL.
fn cannot_open(url: &Url, error: Error) -> Error {
    match error.code() {
        Code::RA_SESSION_URL_MISMATCH | Code::RA_CANNOT_CREATE_SESSION => error,
        _ => {
            let message = format!("Unable to connect to a repository at URL '{url}'");
            error.wrap(Code::RA_CANNOT_CREATE_SESSION, message)
        }
    }
}

/// The version of Subversion whose behaviour clients of this crate have: hooks may ask for it.
const COMPATIBLE_VERSION: &str = "1.14.2";

/// The name of this library for servers.
fn user_agent() -> String {
    format!("SVN/{COMPATIBLE_VERSION} (sven {})", env!("CARGO_PKG_VERSION"))
}

/// The properties of a transaction that describe the client to hooks.
fn txn_props() -> [(String, Vec<u8>); 2] {
    [
        (
            "svn:txn-client-compat-version".to_owned(),
            COMPATIBLE_VERSION.as_bytes().to_vec(),
        ),
        ("svn:txn-user-agent".to_owned(), user_agent().into_bytes()),
    ]
}

/// # Errors
/// `REPOS_BAD_ARGS` for a depth that no report can have.
fn check_depth(depth: Depth) -> Result<()> {
    match depth {
        Depth::Exclude => Err(Error::new(
            Code::REPOS_BAD_ARGS,
            "Request depth 'exclude' not supported",
        )),
        _ => Ok(()),
    }
}

/// # Errors
/// `RA_ILLEGAL_URL` for a URL that is not of the repository with this root.
fn check_repository(url: &Url, root: &Url) -> Result<()> {
    match url.relative_to(root) {
        Some(_) => Ok(()),
        None => Err(foreign_url(url, root)),
    }
}

fn foreign_url(url: &Url, root: &Url) -> Error {
    let message = format!("'{url}' is not the same repository as '{root}'");
    Error::new(Code::RA_ILLEGAL_URL, message)
}
