//! The files that say who may do what, as all protocols read them.

use std::path::Path;
use std::sync::Arc;

use base::{FsPath, NodeKind, Result};
use repos::Repository;
use repos::authz::Authz;
use repos::config::{AuthzFiles, ServerConf};

use crate::log::Origin;
use crate::service::Service;

/// The `svnserve.conf` that holds for a repository.
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

/// The path-based rules in `files`, which may be in a repository themselves; `None` without files. If `others` know of groups
/// the files need not define them.
///
/// # Errors
/// Those of reading them.
pub(crate) fn authz_of(
    service: &Service,
    files: Option<AuthzFiles>,
    others: bool,
) -> Result<Option<Arc<Authz>>> {
    let Some(files) = files else {
        return Ok(None);
    };
    let fetch = |path: &[u8]| fetch_youngest(service, Path::new(os_name(path)));
    match others {
        true => service.config.open_authz(&files, &fetch),
        false => service.config.authz(&files, &fetch),
    }
    .map(Some)
}

/// The text of a file in the youngest revision of the repository at or above `path`.
fn fetch_youngest(service: &Service, path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(root) = Repository::find_upward(path) else {
        return Ok(None);
    };
    let repository = service.repositories.open(&root)?;
    let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
    let inside = FsPath::canonicalize(&below.to_string_lossy())?;
    let rev = repository.youngest()?;
    match repository.check_path(rev, &inside)? {
        NodeKind::File => repository.file(rev, &inside)?.reader()?.read_all().map(Some),
        _ => Ok(None),
    }
}

/// A path as the system names it.
pub(crate) fn os_name(bytes: &[u8]) -> &std::ffi::OsStr {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes)
}
