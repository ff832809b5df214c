//! The rights that a request needs: for each method, Apache's table.

use base::FsPath;
use repos::authz::{Required, Rights, UserRights};
use repos::config::Access;
use wire::dav::uri::Resource;

use super::context::RequestContext;
use super::mount;
use crate::http::{Fault, Request};

/// A right that a request needs.
pub(super) struct RequiredRight {
    write: bool,
    /// The right is needed on everything below the path as well.
    recursive: bool,
    /// `None` is the right on any path.
    path: Option<FsPath>,
}

/// Returns the rights that the request needs.
pub(super) fn needed_rights(context: &RequestContext<'_>) -> Result<Vec<RequiredRight>, Fault> {
    let resource_of_url = |url: &str| context.mount.resource_of_url(url);
    needed_rights_on(context.request, context.resource.path().cloned(), resource_of_url)
}

/// Returns the rights that a request needs whose URL names the node at `path`, or no node.
pub(super) fn needed_rights_on(
    request: &Request,
    path: Option<FsPath>,
    resource_of_url: impl Fn(&str) -> Option<Resource>,
) -> Result<Vec<RequiredRight>, Fault> {
    let need = |write, recursive| RequiredRight {
        write,
        recursive,
        path: path.clone(),
    };
    let destination = || -> Result<Option<RequiredRight>, Fault> {
        let Some(url) = request.header_utf8("destination") else {
            return Ok(None);
        };
        let resource = resource_of_url(url).ok_or_else(|| mount::no_resource(url))?;
        Ok(Some(RequiredRight {
            write: true,
            recursive: true,
            path: resource.path().cloned(),
        }))
    };
    Ok(match request.method.as_str() {
        "OPTIONS" | "GET" | "HEAD" | "PROPFIND" | "REPORT" => vec![need(false, false)],
        // A resource without a path cannot be copied. As with Apache, the method itself refuses it.
        "COPY" | "MOVE" if path.is_none() => vec![need(request.method == "MOVE", true)],
        "COPY" => [need(false, true)].into_iter().chain(destination()?).collect(),
        "MOVE" => [need(true, true)].into_iter().chain(destination()?).collect(),
        "MERGE" => vec![RequiredRight {
            path: None,
            ..need(true, false)
        }],
        "MKCOL" | "PUT" | "PROPPATCH" | "CHECKOUT" | "MKACTIVITY" | "LOCK" | "UNLOCK" => {
            vec![need(true, false)]
        }
        _ => vec![need(true, true)],
    })
}

/// Returns whether `access` and `rights` include a right.
pub(super) fn has_right(rights: Option<&UserRights>, access: Access, right: &RequiredRight) -> bool {
    let least = if right.write { Access::Write } else { Access::Read };
    if access < least {
        return false;
    }
    let Some(rights) = rights else {
        return true;
    };
    match (&right.path, right.write) {
        (Some(path), write) => {
            let required = if write { Required::Write } else { Required::Read };
            rights.allows(path, required, right.recursive)
        }
        (None, true) => rights.max_rights() >= Rights::Write,
        // The methods filter what such resources show.
        (None, false) => true,
    }
}
