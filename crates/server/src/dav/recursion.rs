//! Refuses recursive operations on configured paths, as mod_dontdothat does for Apache.
//!
//! A path is checked where an operation begins (the root of a checkout, the source of a copy), and wherever a working copy reports
//! an entry of infinite depth. Paths below are not checked, so a configuration that refuses `/*/tags` also refuses `/*` and `/`.

use base::{Depth, FsPath, RelPath};
use http::StatusCode;
use wire::dav::report::{ReportedEntry, UpdateRequest};

use super::Outcome;
use crate::config::Recursion;
use crate::http::Fault;
use crate::site::RequestContext;

/// Refuses copies and moves of configured paths.
///
/// # Errors
/// 403.
pub(super) fn check_method(context: &RequestContext<'_>) -> Outcome {
    let Some(rules) = rules(context) else {
        return Ok(());
    };
    match (context.request.method.as_str(), context.resource.path()) {
        ("COPY" | "MOVE", Some(path)) => check_path(rules, path),
        _ => Ok(()),
    }
}

/// Refuses a recursive listing of `path`.
///
/// # Errors
/// 403.
pub(super) fn check_list(context: &RequestContext<'_>, path: &FsPath, depth: Depth) -> Outcome {
    match rules(context) {
        Some(rules) if depth == Depth::Infinity => check_path(rules, path),
        _ => Ok(()),
    }
}

/// Refuses replays.
///
/// # Errors
/// 403.
pub(super) fn check_replay(context: &RequestContext<'_>) -> Outcome {
    match rules(context) {
        Some(rules) if rules.replay => Err(Fault::html(StatusCode::FORBIDDEN)),
        _ => Ok(()),
    }
}

/// Checks an update report while it is read.
#[derive(Default)]
pub(super) struct ReportGuard {
    /// The path where the report begins, as the options before the first entry say.
    base: Option<FsPath>,
}

impl ReportGuard {
    /// Refuses an entry below which the report would be recursive.
    ///
    /// # Errors
    /// 403.
    pub(super) fn entry(
        &mut self,
        context: &RequestContext<'_>,
        request: &UpdateRequest,
        entry: &ReportedEntry,
    ) -> Outcome {
        let Some(rules) = rules(context) else {
            return Ok(());
        };
        let base = match &self.base {
            Some(base) => base,
            None => self.base.insert(base(context, request)?),
        };
        let is_deep = matches!(request.depth(), Depth::Infinity | Depth::Unknown);
        if !is_deep || entry.depth != Depth::Infinity {
            return Ok(());
        }
        match &entry.link {
            Some(link) => check_path(rules, &FsPath::canonicalize(link)?),
            None => check_path(rules, &base.join(&entry.path)),
        }
    }

    /// Refuses a report that is recursive from its beginning.
    ///
    /// # Errors
    /// 403; 400 if options behind entries have changed where it begins.
    pub(super) fn finish(&self, context: &RequestContext<'_>, request: &UpdateRequest) -> Outcome {
        let Some(rules) = rules(context) else {
            return Ok(());
        };
        let now = base(context, request)?;
        if self.base.as_ref().is_some_and(|base| *base != now) {
            return Err(Fault::html(StatusCode::BAD_REQUEST));
        }
        match request.depth() {
            Depth::Infinity => check_path(rules, &now),
            _ => Ok(()),
        }
    }
}

fn rules<'v>(context: &'v RequestContext<'_>) -> Option<&'v Recursion> {
    context.mount.location.recursion.as_ref()
}

fn check_path(rules: &Recursion, path: &FsPath) -> Outcome {
    match rules.refuses(path) {
        true => Err(Fault::html(StatusCode::FORBIDDEN)),
        false => Ok(()),
    }
}

/// Returns the path that a report describes: its target, or the path that it is switched to.
fn base(context: &RequestContext<'_>, request: &UpdateRequest) -> Result<FsPath, Fault> {
    let path_of = |url: &String| {
        let resource = context.mount.resource_of_url(url);
        resource.and_then(|resource| resource.path().cloned())
    };
    if let Some(path) = request.destination.as_ref().and_then(path_of) {
        return Ok(path);
    }
    // A URL outside of this repository is refused later, with its own message.
    let anchor = request.source.as_ref().and_then(path_of);
    Ok(anchor
        .unwrap_or_else(FsPath::root)
        .join(&RelPath::canonicalize(&request.target)?))
}
