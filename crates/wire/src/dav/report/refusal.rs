//! Errors of reports, and the functions that parse their parts.

use base::{Code, Error, RelPath, Revnum};

use crate::dav::names;
use crate::dav::uri;
use crate::dav::xml::Element;

/// Why a report is refused.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The request is bad; the response has no details.
    Bad,
    /// The request is bad: status 400 unless the error's number means another.
    BadRequest(Error),
    /// It failed: status 500 unless the error's number means another.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}

/// A part that must be there is not.
pub(super) fn missing_parameters() -> Refusal {
    Refusal::BadRequest(Error::new(
        Code::RA_DAV_REQUEST_FAILED,
        "Not all parameters passed",
    ))
}

/// Parses a revision as clients write it: a negative number is none, text that is not a number is 0.
pub(super) fn revision(text: &str) -> Option<Revnum> {
    let text = text.trim_ascii_start();
    if text.starts_with('-') {
        return None;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = Revnum::parse(&text.as_bytes()[..digits]).unwrap_or(Revnum::ZERO);
    Some(number).filter(|rev| *rev <= Revnum::MAX)
}

/// The children of a report that are its parts, by local name.
pub(super) fn parts(root: &Element) -> impl Iterator<Item = (&str, &Element)> {
    let ours = root
        .children
        .iter()
        .filter(|child| child.name.space == names::SVN);
    ours.map(|child| (child.name.local.as_str(), child))
}

/// A path below that of the request.
pub(super) fn path(element: &Element) -> Result<RelPath, Refusal> {
    path_of(&element.text)
}

/// As [`path`], of a text.
pub(super) fn path_of(text: &str) -> Result<RelPath, Refusal> {
    uri::report_path(text).ok_or_else(|| {
        Refusal::BadRequest(Error::new(
            Code::RA_DAV_REQUEST_FAILED,
            format!("Path '{text}' is not canonicalized; there is a problem with the client."),
        ))
    })
}
