//! Revision properties.

use base::{Code, Error, Props, Result, Revnum};
use wire::dav::client::{PropResponse, PropertyChange, is_property_name, property_name, proppatch};

use super::DavSession;
use super::nodes::prop_value;
use super::request::Request;
use crate::requests::RevpropChange;

impl DavSession {
    pub(super) fn read_revprops(&mut self, rev: Revnum) -> Result<Props> {
        let found = self.find_baseline(rev)?;
        props_of(&found)
    }

    /// Returns all properties of a revision's resource.
    fn find_baseline(&self, rev: Revnum) -> Result<PropResponse> {
        let (target, label) = self.baseline(rev);
        self.propfind(&target, label, &[])
    }

    pub(super) fn write_revprop(&mut self, change: &RevpropChange<'_>) -> Result<()> {
        if change.expected.is_some() && !self.features.names("atomic-revprops") {
            let message = "Server doesn't support atomic changes of revision properties";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        // Servers report the success of a plain deletion even if they have refused it.
        let mut deleted = None;
        if change.value.is_none() && change.expected.is_none() && self.features.names("atomic-revprops") {
            deleted = self.read_revprops(change.rev)?.remove(change.name);
            if deleted.is_none() {
                return Ok(());
            }
        }
        check_name(change.name)?;
        let target = match self.baseline(change.rev) {
            (target, None) => target,
            // The resource of one revision is only known by its properties.
            (_, Some(_)) => {
                let href = self.find_baseline(change.rev)?.href;
                let path = wire::dav::uri::path_of(&href).map(str::to_owned);
                path.ok_or_else(|| super::fault::malformed("The server did not name a revision"))?
            }
        };
        let body = proppatch(&[PropertyChange {
            name: change.name,
            value: change.value,
            expected: change.expected.or(deleted.as_deref().map(Some)),
        }]);
        self.proppatch(Request::new("PROPPATCH", target).xml(body))
            .map_err(|error| match error.code() {
                Code::RA_DAV_PRECONDITION_FAILED => {
                    let message = format!("revprop '{}' has unexpected value in filesystem", change.name);
                    Error::new(Code::FS_PROP_BASEVALUE_MISMATCH, message)
                }
                // The number of a status says less than what failed.
                Code::RA_DAV_REQUEST_FAILED | Code::FS_CONFLICT => proppatch_failed(&error),
                _ => error,
            })
    }
}

/// Returns the chain of an error with the number of a failed change of properties.
fn proppatch_failed(error: &Error) -> Error {
    let links = error.links().map(|link| {
        let text = link.message().map(str::to_owned);
        (Code::RA_DAV_PROPPATCH_FAILED, text)
    });
    Error::from_links(links).expect("because a chain has at least one link")
}

/// Returns the properties that users see.
pub(super) fn props_of(found: &PropResponse) -> Result<Props> {
    let mut props = Props::new();
    for prop in &found.found {
        if let Some(name) = property_name(&prop.name) {
            props.insert(name, prop_value(prop)?);
        }
    }
    Ok(props)
}

/// # Errors
/// `CLIENT_PROPERTY_NAME` for a name that the protocol cannot transport.
pub(super) fn check_name(name: &str) -> Result<()> {
    match is_property_name(name) {
        true => Ok(()),
        false => Err(Error::new(
            Code::CLIENT_PROPERTY_NAME,
            format!("'{name}' is not a valid property name over HTTP"),
        )),
    }
}
