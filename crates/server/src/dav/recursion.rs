//! Recursive actions that a location refuses on chosen paths: what mod_dontdothat does for Apache.
//!
//! A path is judged where an action begins (the root of a checkout, the source of a copy), and wherever a working copy says that it
//! goes all the way down there. What lies below is not looked at, so who refuses `/*/tags` also refuses `/*` and `/`.

use base::{Depth, FsPath, RelPath};
use http::StatusCode;
use wire::dav::report::{Entry, UpdateRequest};

use super::Outcome;
use super::fault::Fault;
use super::visit::Visit;
use crate::http::Recursion;

/// Refuses copies of what may not be acted on recursively.
///
/// # Errors
/// 403.
pub(super) fn admit(visit: &Visit<'_>) -> Outcome {
    let Some(rules) = rules(visit) else {
        return Ok(());
    };
    match (visit.request.method.as_str(), visit.resource.path()) {
        ("COPY" | "MOVE", Some(path)) => judge(rules, path),
        _ => Ok(()),
    }
}

/// Refuses a recursive look at `path`.
///
/// # Errors
/// 403.
pub(super) fn admit_list(visit: &Visit<'_>, path: &FsPath, depth: Depth) -> Outcome {
    match rules(visit) {
        Some(rules) if depth == Depth::Infinity => judge(rules, path),
        _ => Ok(()),
    }
}

/// Refuses replays.
///
/// # Errors
/// 403.
pub(super) fn admit_replay(visit: &Visit<'_>) -> Outcome {
    match rules(visit) {
        Some(rules) if rules.replay => Err(Fault::html(StatusCode::FORBIDDEN)),
        _ => Ok(()),
    }
}

/// What an update report is about, as it is read.
#[derive(Default)]
pub(super) struct ReportGuard {
    /// Where it begins, as the options said before the first entry.
    base: Option<FsPath>,
}

impl ReportGuard {
    /// Refuses an entry below which the report would be recursive.
    ///
    /// # Errors
    /// 403.
    pub(super) fn entry(&mut self, visit: &Visit<'_>, request: &UpdateRequest, entry: &Entry) -> Outcome {
        let Some(rules) = rules(visit) else {
            return Ok(());
        };
        let base = match &self.base {
            Some(base) => base,
            None => self.base.insert(base(visit, request)?),
        };
        let is_deep = matches!(request.depth(), Depth::Infinity | Depth::Unknown);
        if !is_deep || entry.depth != Depth::Infinity {
            return Ok(());
        }
        match &entry.link {
            Some(link) => judge(rules, &FsPath::canonicalize(link)?),
            None => judge(rules, &base.join(&entry.path)),
        }
    }

    /// Refuses a report that is recursive from where it begins.
    ///
    /// # Errors
    /// 403; 400 if options that came behind entries have made it another report.
    pub(super) fn whole(&self, visit: &Visit<'_>, request: &UpdateRequest) -> Outcome {
        let Some(rules) = rules(visit) else {
            return Ok(());
        };
        let now = base(visit, request)?;
        if self.base.as_ref().is_some_and(|base| *base != now) {
            return Err(Fault::html(StatusCode::BAD_REQUEST));
        }
        match request.depth() {
            Depth::Infinity => judge(rules, &now),
            _ => Ok(()),
        }
    }
}

fn rules<'v>(visit: &'v Visit<'_>) -> Option<&'v Recursion> {
    visit.place.location.recursion.as_ref()
}

fn judge(rules: &Recursion, path: &FsPath) -> Outcome {
    match rules.refuses(path) {
        true => Err(Fault::html(StatusCode::FORBIDDEN)),
        false => Ok(()),
    }
}

/// The path that a report describes: that of the target, or where it is switched to.
fn base(visit: &Visit<'_>, request: &UpdateRequest) -> Result<FsPath, Fault> {
    let path_of = |url: &String| {
        let resource = visit.place.resource_of_url(url);
        resource.and_then(|resource| resource.path().cloned())
    };
    if let Some(path) = request.destination.as_ref().and_then(path_of) {
        return Ok(path);
    }
    // What is no URL of this repository is refused with its own words, later.
    let anchor = request.source.as_ref().and_then(path_of);
    Ok(anchor
        .unwrap_or_else(FsPath::root)
        .join(&RelPath::canonicalize(&request.target)?))
}
