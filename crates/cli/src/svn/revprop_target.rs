//! The revision and the repository of a command about a revision property.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};
use client::locate;

use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::target::{Target, TargetPath};
use crate::client_context::url_targets::{not_a_working_copy, refuse_pegs};

/// Where a revision property is.
#[derive(Debug)]
pub struct RevpropTarget {
    pub url: Url,
    pub rev: locate::Revision,
}

/// Returns the repository and the revision that targets and options name.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` without a revision of a repository, and for several targets; `WC_NOT_WORKING_COPY` for a path.
pub fn revprop_target(
    revision: Option<RevisionRangeArg>,
    targets: &[Target],
    typed: &[OsString],
) -> Result<RevpropTarget> {
    let wrong = |message: &str| Error::new(Code::CL_ARG_PARSING_ERROR, message);
    let rev = match revision.map(|range| range.start) {
        Some(rev @ (Revision::Number(_) | Revision::Date(_) | Revision::Head)) => rev.of_url()?,
        _ => {
            return Err(wrong(
                "Must specify the revision as a number, a date or 'HEAD' when operating on a revision property",
            ));
        }
    };
    match targets {
        [] => Err(not_a_working_copy("")),
        [target] => {
            refuse_pegs(targets, typed)?;
            match &target.path {
                TargetPath::Url(url) => Ok(RevpropTarget {
                    url: url.clone(),
                    rev,
                }),
                TargetPath::Local(path) => Err(not_a_working_copy(path)),
            }
        }
        _ => Err(wrong("Wrong number of targets specified")),
    }
}
