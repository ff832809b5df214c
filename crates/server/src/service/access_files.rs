//! The configuration and authz files of repositories, for all protocols.

use std::path::Path;
use std::sync::Arc;

use base::{FsPath, NodeKind, Result};
use repos::authz::Authz;
use repos::config::{AuthzFiles, ServerConf};
use repos::{ReadMode, Repository};

use crate::log::Origin;
use crate::service::Service;

/// Reads the `svnserve.conf` of a repository, or the server's one for all.
///
/// # Errors
/// Those of reading it.
pub(crate) fn conf_of(service: &Service, repository: &Repository) -> Result<Arc<ServerConf>> {
    let conf = match &service.context.options().config_file {
        Some(path) => service.config.server_required(path),
        None => service
            .config
            .server(&repository.conf_dir().join("svnserve.conf")),
    };
    service.log_config_warnings(Origin::default());
    conf
}

/// Reads the authz rules in `files`, which may be in a repository themselves; returns `None` without files. With
/// `has_other_groups` the rules may use groups that the files do not define.
///
/// # Errors
/// Those of reading them; that of [`ReadMode::check_may_wait`].
pub(crate) fn authz_of(
    service: &Service,
    files: Option<AuthzFiles>,
    has_other_groups: bool,
    mode: &ReadMode,
) -> Result<Option<Arc<Authz>>> {
    let Some(files) = files else {
        return Ok(None);
    };
    let fetch = |path: &[u8]| fetch_youngest(service, Path::new(os_name(path)), mode);
    match has_other_groups {
        true => service.config.open_authz(&files, &fetch),
        false => service.config.authz(&files, &fetch),
    }
    .map(Some)
}

/// Reads a file in the youngest revision of the repository at or above `path`.
fn fetch_youngest(service: &Service, path: &Path, mode: &ReadMode) -> Result<Option<Vec<u8>>> {
    let Some(root) = Repository::find_upward(path) else {
        return Ok(None);
    };
    let repository = service.repositories.open(&root, mode)?.with_read_mode(mode);
    let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
    let inside = FsPath::canonicalize(&below.to_string_lossy())?;
    let rev = repository.youngest()?;
    match repository.check_path(rev, &inside)? {
        NodeKind::File => repository.file(rev, &inside)?.reader()?.read_all().map(Some),
        _ => Ok(None),
    }
}

/// Returns a path of bytes in the system's type.
pub(crate) fn os_name(bytes: &[u8]) -> &std::ffi::OsStr {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes)
}
