//! The beginning of a session: finds the repository that the client's URL names, and its rules; then the client authenticates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Code, Error, FsPath, Result};
use delta::svndiff::Codec;
use repos::authz::Authz;
use repos::config::{Access, AuthzFiles, Passwords, ServerConf};
use repos::{ReadMode, Repository};
use rustix::io::Errno;
use wire::svn::handshake::{Capabilities, Hello, ReposInfo};
use wire::svn::response;

use crate::log::Origin;
use crate::percent_encoding::encoded;
use crate::service::Service;
use crate::service::access_files::{authz_of, conf_of};
use crate::svn::auth::AuthExchange;
use crate::svn::connection::SvnConnection;
use crate::svn::repo_access::RepoAccess;
use crate::svn::repo_session::RepoSession;
use crate::svn::sasl::SaslAuth;
use crate::svn::url::SvnUrl;

/// The longest path of a directory, bytes.
const MAX_PATH: usize = 4096;

/// A session's repository and its rules. They stay the same during the session.
pub(crate) struct SessionRepository {
    pub(crate) repository: Repository,
    pub(crate) conf: Arc<ServerConf>,
    pub(crate) passwords: Option<Arc<Passwords>>,
    /// With `use-sasl`.
    pub(crate) sasl: Option<SaslAuth>,
    pub(crate) authz: Option<Arc<Authz>>,
    pub(crate) realm: String,
    /// The name in authz sections; `None` for a repository that is the server's root.
    pub(crate) authz_name: Option<String>,
    /// The name in log lines, URI-encoded.
    pub(crate) log_name: String,
    root: SvnUrl,
    pub(crate) root_url: String,
}

impl SessionRepository {
    /// Returns the path in the repository that a URL names.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for one outside of the repository.
    pub(crate) fn path_of(&self, url: &str) -> Result<FsPath> {
        let below = SvnUrl::parse(url).ok().and_then(|url| url.below(&self.root));
        match below.map(|path| FsPath::canonicalize(&path)) {
            Some(Ok(path)) => Ok(path),
            _ => Err(Error::new(
                Code::RA_ILLEGAL_URL,
                format!("'{url}' is not the same repository as '{}'", self.root_url),
            )),
        }
    }
}

impl RepoSession {
    /// Finds the repository and writes an authentication request.
    ///
    /// # Errors
    /// Those of refusing the client, which it was sent; if the connection is lost.
    pub(crate) fn open(
        service: &Arc<Service>,
        mut conn: SvnConnection,
        hello: Hello,
    ) -> Result<PendingLogin> {
        let origin = Origin::at(conn.stream().peer());
        let (repo, parent) = match find(service, &hello.url, origin) {
            Ok(found) => found,
            Err(error) => return Err(refuse(&mut conn, error)),
        };
        let access = RepoAccess::new(service.clone(), repo, parent, conn.stream().peer());
        let mut session = RepoSession {
            access,
            conn,
            capabilities: hello.capabilities(),
            codec: Codec::new(),
            pending_report: None,
            refusals: 0,
        };
        if !session.access.has_mechanisms(Access::Read, false) {
            let error = Error::new(Code::RA_NOT_AUTHORIZED, "No access allowed to this repository");
            // As the incumbent, this is logged twice: here with the repository's name, then without as the end of the session.
            session.access.log_error(&error);
            return Err(refuse(&mut session.conn, error));
        }
        let exchange = session.begin_exchange(Access::Read, false);
        Ok(PendingLogin {
            session,
            exchange,
            hello,
        })
    }
}

/// A session whose client is authenticating.
pub(crate) struct PendingLogin {
    pub(crate) session: RepoSession,
    /// `None` if no mechanism was offered.
    exchange: Option<AuthExchange>,
    hello: Hello,
}

impl PendingLogin {
    /// Reads one message of the client; returns whether the exchange has ended.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn take_answer(&mut self) -> Result<bool> {
        match &mut self.exchange {
            Some(exchange) => self.session.take_answer(exchange),
            None => Ok(true),
        }
    }

    /// Returns whether the client has to send something.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.exchange.is_some()
    }

    /// Ends the authentication and describes the repository.
    ///
    /// # Errors
    /// If the client is refused or the connection is lost.
    pub(crate) fn finish(self) -> Result<RepoSession> {
        let PendingLogin {
            mut session, hello, ..
        } = self;
        if session.access.blanket() == Access::None {
            let error = Error::new(Code::RA_NOT_AUTHORIZED, "Not authorized for access");
            return Err(refuse(&mut session.conn, error));
        }
        let capabilities = match session.access.repo.repository.tracks_merges() {
            true => Capabilities::MERGEINFO,
            false => Capabilities::NONE,
        };
        let info = ReposInfo {
            uuid: session.access.repo.repository.uuid(),
            root_url: session.access.repo.root_url.clone(),
            capabilities,
        };
        info.write(session.conn.out());
        session.conn.end_command()?;
        session.access.log_operation(|| {
            let client = |name: &Option<String>| name.as_deref().map_or("-".to_owned(), encoded);
            format!(
                "open {} cap=({}) {} {} {}",
                hello.version,
                hello.words.join(" "),
                encoded(&session.access.parent),
                client(&hello.ra_client),
                client(&hello.client),
            )
        });
        Ok(session)
    }
}

/// Sends an error to the client. Returns it: it ends the session.
fn refuse(conn: &mut SvnConnection, error: Error) -> Error {
    response::write_failure(conn.out(), &error);
    // A client that has gone does not get it; the log has the reason.
    _ = conn.flush();
    error
}

/// Returns the error for the client. Of a malformed file of passwords or rules the client gets the number alone, and the log the
/// message. A lack of descriptors or memory is named: the password of the client is not the reason.
fn client_error(service: &Service, origin: Origin<'_>, error: &Error) -> Error {
    match error.code() {
        code @ (Code::AUTHZ_INVALID_CONFIG | Code::AUTHN_FAILED) => {
            if let Some(log) = &service.context.log {
                log.error(origin, error);
            }
            shortage_of(error).unwrap_or_else(|| Error::bare(code))
        }
        _ => error.clone(),
    }
}

/// Returns the error for the client if the cause is that the system lacks descriptors or memory. It names no file of the server.
fn shortage_of(error: &Error) -> Option<Error> {
    let all = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    let cause = all
        .into_iter()
        .find(|errno| error.has(Code(errno.raw_os_error())))?;
    let message = "The server can't read the repository's passwords or access rules now; try again later";
    Some(Error::os(&cause.into(), message))
}

/// Where a URL's repository is.
struct RepositoryLocation {
    directory: PathBuf,
    /// The name in authz sections; `None` for a repository that is the server's root.
    authz_name: Option<String>,
    /// The number of the URL's components that name the repository.
    in_url: usize,
}

/// Finds the repository that a URL is in.
///
/// # Errors
/// `RA_SVN_REPOS_NOT_FOUND`; the system's.
fn locate(service: &Service, url: &SvnUrl) -> Result<RepositoryLocation> {
    // With virtual hosts the authority is the first directory.
    let host: Vec<Vec<u8>> = match service.context.options().virtual_host {
        true => vec![url.host_directory()?],
        false => Vec::new(),
    };
    let all: Vec<&[u8]> = host.iter().chain(&url.path).map(Vec::as_slice).collect();
    let (directory, names) = search(&service.root(), &all, host.len())?.ok_or_else(|| {
        Error::new(
            Code::RA_SVN_REPOS_NOT_FOUND,
            format!("No repository found in '{}'", url.prefix(url.path.len())),
        )
    })?;
    let count = names.len();
    Ok(RepositoryLocation {
        directory,
        authz_name: (count > 0).then(|| names.join("/")),
        in_url: count - host.len().min(count),
    })
}

/// Opens the repository that `url` names, with its configuration. Returns it and the path in it that the URL names.
fn find(service: &Service, url: &str, origin: Origin<'_>) -> Result<(SessionRepository, FsPath)> {
    let mut url = SvnUrl::parse(url)?;
    let RepositoryLocation {
        directory,
        authz_name,
        in_url,
    } = locate(service, &url)?;
    let repository = service.repositories.open(&directory, &ReadMode::MayWait)?;
    let parent = FsPath::canonicalize(&url.behind(in_url))?;
    let log_name = match &authz_name {
        Some(name) => encoded(name),
        None => {
            let base = directory.file_name().unwrap_or_default().to_string_lossy();
            encoded(&base)
        }
    };
    let conf = conf_of(service, &repository)?;
    let origin = Origin {
        repository: Some(&log_name),
        ..origin
    };
    let for_client = |error: Error| client_error(service, origin, &error);
    let sasl = match conf.sasl {
        Some(bounds) => Some(SaslAuth::open(service, bounds, origin)?),
        None => None,
    };
    let passwords = match &conf.password_db {
        Some(path) if sasl.is_none() => service.config.passwords(path).map_err(for_client)?,
        _ => None,
    };
    let authz = authz_of(
        service,
        AuthzFiles::of(&conf, repository.path()),
        false,
        &ReadMode::MayWait,
    )
    .map_err(for_client)?;
    service.log_config_warnings(origin);
    let realm = match &conf.realm {
        Some(realm) => String::from_utf8_lossy(realm).into_owned(),
        None => repository.uuid(),
    };
    let root_url = url.prefix(in_url);
    url.path.truncate(in_url);
    let repo = SessionRepository {
        repository,
        conf,
        passwords,
        sasl,
        authz,
        realm,
        authz_name,
        log_name,
        root: url,
        root_url,
    };
    Ok((repo, parent))
}

/// Walks up from the whole path to the first repository. Returns its directory and the components that name it, which are its name
/// in authz sections as well. As with the incumbent, a component that is not UTF-8 names no directory: a section could not tell
/// two such names apart.
///
/// # Errors
/// The system's, if a directory on the way cannot be searched.
fn search<'a>(root: &Path, components: &[&'a [u8]], min: usize) -> Result<Option<(PathBuf, Vec<&'a str>)>> {
    let mut names = Vec::new();
    let mut path = root.to_owned();
    for component in components {
        let Ok(name) = std::str::from_utf8(component) else {
            break;
        };
        if path.as_os_str().len() + name.len() >= MAX_PATH || name.contains('\0') {
            break;
        }
        path.push(name);
        names.push(name);
    }
    loop {
        if names.len() >= min && Repository::check_repository(&path)? {
            return Ok(Some((path, names)));
        }
        if names.pop().is_none() {
            return Ok(None);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_shortage_of_the_system_is_not_called_a_failed_authentication() {
        let cause = |errno: Errno| {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            Error::io("Can't open file", Path::new("/secret/passwd"), &error).wrap_bare(Code::AUTHN_FAILED)
        };
        let shown = shortage_of(&cause(Errno::MFILE)).expect("it is one");
        assert_eq!(shown.code(), Code(Errno::MFILE.raw_os_error()));
        let message = shown.message();
        assert!(
            message.contains("Too many open files") && !message.contains("secret"),
            "{message}"
        );
        assert!(shortage_of(&cause(Errno::NOENT)).is_none());
    }
}
