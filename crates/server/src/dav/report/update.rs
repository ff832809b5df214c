//! The update report, for checkout, export, update, switch, status and diff.

use base::{Code, Depth, Error, FsPath, RelPath, Revnum};
use delta::editor::Editor;
use delta::svndiff::Codec;
use http::StatusCode;
use repos::report::{Report, ReportOptions, ReportOutcome as Reported};
use wire::dav::report::{
    Hrefs, ReportedEntry, ResourceWalk, UpdateEditor, UpdateForm, UpdateItem, UpdateRequest, XmlWriter,
};
use wire::dav::uri::Resource;

use super::{Body, Outcome, svndiff};
use crate::config::Bulk;
use crate::dav::recursion::ReportGuard;
use crate::http::{Fault, ResponseWriter};
use crate::log::operation_text;
use crate::response_cache::{CachedResponse, RequestKind, RequiredAccess, Validators};
use crate::site::RequestContext;

pub(super) fn update(context: &mut RequestContext<'_>, reply: &mut ResponseWriter, body: Body) -> Outcome {
    let kind = revision_url_kind(&context.resource)?;
    let (request, mut report, is_checkout) = read(context, body)?;
    let query = UpdateQuery::new(context, &request)?;
    report.set_options(query.options.clone())?;
    report.validate()?;
    let key = cache_key(context, kind, &request, &query, &report);
    let responses = &context.site.service.context.responses;
    if let Some(key) = &key
        && let Some(response) = responses.get(RequestKind::UpdateReport, key.as_bytes(), context)?
    {
        context.log_operation(|| query.log_text(&request, is_checkout, &Reported::default()));
        reply.whole(response.body.iter().cloned());
        return Ok(());
    }
    if key.is_some() {
        report.collect_sent_revisions();
        reply.record(responses.record());
    }
    let (version, level) = svndiff(context);
    let form = UpdateForm {
        send_all: query.send_all,
        inline_props: query.send_all || request.include_props,
        version,
        level,
    };
    let hrefs = Hrefs::new(&context.base().special(), kind);
    let mut codec = Codec::default();
    context.connection().note_report();
    let (digests, client) = (&context.site.announced_digests, context.request.peer.address.ip());
    let mut note = |location: &[u8]| digests.note(client, context.base().root(), location);
    let mut editor = UpdateEditor::new(reply, hrefs.clone(), form, &mut codec).telling(&mut note);
    let done = report.finish(&mut editor)?;
    context.log_operation(|| query.log_text(&request, is_checkout, &done));
    if let (true, Some(to)) = (request.resource_walk, &query.options.switch_to) {
        write_resource_walk(
            context,
            &query.options,
            to,
            &mut ResourceWalk::new(reply, hrefs, request.target),
        )?;
    }
    XmlWriter(reply.buffer()).raw("</S:update-report>\n");
    if let (Some(key), Some(body), Some(sent)) = (key, reply.take_recording(), done.sent_revisions) {
        let response = CachedResponse {
            validators: Validators {
                sent_revisions: Some(sent),
                ..context.validators(RequiredAccess::Everything)
            },
            head: Box::default(),
            body: body.into(),
            logged: None,
        };
        responses.insert(
            context.instance,
            RequestKind::UpdateReport,
            key.as_bytes(),
            response,
        );
    }
    Ok(())
}

/// Returns which special URL the response names nodes of revisions by: that of the protocol of the requested resource.
///
/// # Errors
/// 409 for a resource that has no such report.
fn revision_url_kind(resource: &Resource) -> Result<&'static str, Fault> {
    match resource {
        Resource::Me => Ok("rvr"),
        Resource::Vcc => Ok("ver"),
        _ => {
            let message = "This report can only be run against a VCC or root-stub URI";
            Err(Fault::new(
                StatusCode::CONFLICT,
                Error::new(Code::RA_DAV_REQUEST_FAILED, message),
            ))
        }
    }
}

/// Returns all that the response depends on, if other clients get the same one: the report of a checkout or an export that fetches
/// the texts by requests of their own.
fn cache_key(
    context: &RequestContext<'_>,
    kind: &str,
    request: &UpdateRequest,
    query: &UpdateQuery,
    report: &Report,
) -> Option<String> {
    let ReportOptions {
        target_rev,
        anchor,
        operand,
        switch_to: None,
        text_deltas: false,
        depth,
        ignore_ancestry,
        send_copyfrom,
    } = &query.options
    else {
        return None;
    };
    if query.send_all || request.resource_walk {
        return None;
    }
    let (rev, held) = report.same_for_all()?;
    let properties = request.include_props;
    let special = context.base().special();
    Some(format!(
        "update {kind} {target_rev} {rev} {held:?} {depth:?} {ignore_ancestry} {send_copyfrom} {properties} \
         {special:?} {anchor:?} {operand:?}"
    ))
}

/// Writes where each node is that a very old client has been switched to.
fn write_resource_walk(
    context: &RequestContext<'_>,
    query: &ReportOptions,
    to: &FsPath,
    editor: &mut dyn Editor,
) -> Outcome {
    let options = ReportOptions {
        anchor: to.clone(),
        operand: String::new(),
        switch_to: None,
        text_deltas: false,
        send_copyfrom: false,
        depth: match query.depth {
            Depth::Infinity | Depth::Immediates => query.depth,
            _ => Depth::Files,
        },
        ..query.clone()
    };
    let rev = options.target_rev;
    let mut report = Report::begin(context.repository(), options, context.readable())?;
    report.set_path(&RelPath::empty(), rev, Depth::Infinity, true, None)?;
    report.finish(editor)?;
    Ok(())
}

/// Reads the whole body. Returns the request, the report of what the client has, and whether that is nothing: one entry that starts
/// empty, as in a checkout.
fn read(context: &RequestContext<'_>, mut body: Body) -> Result<(UpdateRequest, Report, bool), Fault> {
    let root = body.root().ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let mut request = UpdateRequest::new(root);
    let mut report = None;
    let (mut entries, mut start_empty) = (0u64, false);
    let mut guard = ReportGuard::default();
    while let Some(child) = body.next_child()? {
        let item = request.take(child)?;
        if item == UpdateItem::Option {
            continue;
        }
        let report = match &mut report {
            Some(report) => report,
            // ReportOptions come before paths. Later ones are set when the body has been read.
            None => report.insert(begin(context, &request)?),
        };
        match item {
            UpdateItem::Entry(entry) if entry.rev > context.youngest()? => {
                let rev = entry.rev;
                let message = format!("No such reported revision '{rev}' found in the repository.");
                return Err(Error::new(Code::FS_NO_SUCH_REVISION, message).into());
            }
            UpdateItem::Entry(entry) => {
                guard.entry(context, &request, &entry)?;
                entries += 1;
                start_empty = entry.start_empty;
                take(report, entry)?;
            }
            UpdateItem::Missing(path) => report.delete_path(&path)?,
            UpdateItem::Option => {}
        }
    }
    guard.finish(context, &request)?;
    let report = match report {
        Some(report) => report,
        None => begin(context, &request)?,
    };
    Ok((request, report, entries == 1 && start_empty))
}

/// Begins a report with the options that have been read so far.
fn begin(context: &RequestContext<'_>, request: &UpdateRequest) -> Result<Report, Fault> {
    let options = ReportOptions {
        target_rev: Revnum::ZERO,
        anchor: FsPath::root(),
        operand: request.target.clone(),
        switch_to: None,
        text_deltas: false,
        depth: Depth::Unknown,
        ignore_ancestry: false,
        send_copyfrom: false,
    };
    Ok(Report::begin(context.repository(), options, context.readable())?)
}

fn take(report: &mut Report, entry: ReportedEntry) -> Result<(), Fault> {
    let ReportedEntry {
        path,
        rev,
        depth,
        start_empty,
        link,
        lock_token,
    } = entry;
    let token = lock_token.as_deref();
    match link {
        None => report.set_path(&path, rev, depth, start_empty, token)?,
        Some(link) => {
            let link = FsPath::canonicalize(&link)?;
            report.link_path(&path, &link, rev, depth, start_empty, token)?;
        }
    }
    Ok(())
}

/// A request in the repository's terms.
struct UpdateQuery {
    options: ReportOptions,
    send_all: bool,
    /// The subject of the report: the anchor, or its entry.
    path: FsPath,
}

impl UpdateQuery {
    fn new(context: &RequestContext<'_>, request: &UpdateRequest) -> Result<UpdateQuery, Fault> {
        let source = request.source.as_deref().ok_or_else(|| {
            let message = "The request did not contain the '<src-path>' element.\n\
                           This may indicate that your client is too old";
            bad(Code::RA_DAV_REQUEST_FAILED, message)
        })?;
        let youngest = context.youngest()?;
        let target_rev = request.target_rev.unwrap_or(youngest);
        if target_rev > youngest {
            let message = format!("No such target revision '{target_rev}' found in the repository.");
            return Err(Error::new(Code::FS_NO_SUCH_REVISION, message).into());
        }
        let anchor = path_of_url(context, source)?;
        let switch_to = match request.destination.as_deref() {
            Some(url) => Some(path_of_url(context, url)?),
            None => None,
        };
        let send_all = request.send_all && context.mount.location.bulk != Bulk::Off;
        let path = anchor.join(&RelPath::canonicalize(&request.target)?);
        Ok(UpdateQuery {
            send_all,
            path,
            options: ReportOptions {
                target_rev,
                anchor,
                operand: request.target.clone(),
                switch_to,
                // Clients that fetch texts by other requests get only the information which ones have changed.
                text_deltas: send_all && !request.no_text,
                depth: request.depth(),
                ignore_ancestry: request.ignore_ancestry,
                send_copyfrom: request.send_copyfrom,
            },
        })
    }

    /// Returns the line for the operational log. The operation can only be guessed, and is guessed as by the incumbent.
    fn log_text(&self, request: &UpdateRequest, is_checkout: bool, done: &Reported) -> String {
        let ReportOptions {
            target_rev, depth, ..
        } = self.options;
        let Some(to) = &self.options.switch_to else {
            return match is_checkout || self.options.text_deltas {
                true => {
                    operation_text::update(&self.path, target_rev, depth, request.send_copyfrom, is_checkout)
                }
                false => operation_text::status(&self.path, target_rev, depth),
            };
        };
        match self.send_all {
            true => operation_text::switch(&self.path, to, target_rev, depth),
            false => {
                let from: (&FsPath, Option<Revnum>) = (&self.path, done.from_rev);
                operation_text::diff(from, (to, target_rev), depth, request.ignore_ancestry)
            }
        }
    }
}

/// Returns the path in the repository that a URL in a report names.
fn path_of_url(context: &RequestContext<'_>, url: &str) -> Result<FsPath, Fault> {
    match context.mount.resource_of_url(url) {
        Some(Resource::Public(path)) => Ok(path),
        Some(_) => Err(Error::new(Code::UNSUPPORTED_FEATURE, "Unsupported URI form").into()),
        None => {
            let message = "Unusable URI: it does not refer to this repository";
            Err(Error::new(Code::APMOD_MALFORMED_URI, message).into())
        }
    }
}

fn bad(code: Code, message: &str) -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, Error::new(code, message))
}
