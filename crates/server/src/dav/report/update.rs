//! The update report: checkout, export, update, switch, status and diff are all this.

use base::{Code, Depth, Error, FsPath, RelPath, Revnum};
use bytes::Bytes;
use delta::editor::Editor;
use delta::svndiff::Codec;
use http::StatusCode;
use repos::ResponsePart;
use repos::report::{Report, ReportOptions, ReportOutcome as Reported};
use wire::dav::report::{
    Entry, Hrefs, Out, ResourceWalk, UpdateEditor, UpdateForm, UpdateItem, UpdateRequest,
};
use wire::dav::uri::Resource;

use super::{Body, Outcome, svndiff};
use crate::dav::fault::Fault;
use crate::dav::recursion::ReportGuard;
use crate::dav::visit::Visit;
use crate::http::{Bulk, Reply};
use crate::oplog;

pub(super) fn update(visit: &mut Visit<'_>, reply: &mut Reply, body: Body) -> Outcome {
    let kind = match &visit.resource {
        Resource::Me => "rvr",
        Resource::Vcc => "ver",
        _ => {
            let message = "This report can only be run against a VCC or root-stub URI";
            return Err(Fault::new(
                StatusCode::CONFLICT,
                Error::new(Code::RA_DAV_REQUEST_FAILED, message),
            ));
        }
    };
    let (request, mut report, is_checkout) = read(visit, body)?;
    let asked = Asked::new(visit, &request)?;
    report.set_options(asked.options.clone())?;
    report.validate()?;
    let name = name(visit, kind, &request, &asked, &report);
    if let Some(name) = &name
        && let Some(parts) = visit.repository().cached_report(name)?
    {
        visit.log_operation(|| asked.wording(&request, is_checkout, &Reported::default()));
        reply.whole(parts.into_iter().map(Bytes::from_owner));
        return Ok(());
    }
    if name.is_some() {
        report.collect_sent_revisions();
        reply.keep();
    }
    let (version, level) = svndiff(visit);
    let form = UpdateForm {
        send_all: asked.send_all,
        inline_props: asked.send_all || request.include_props,
        version,
        level,
    };
    let hrefs = Hrefs::new(&visit.base().special(), kind);
    let mut codec = Codec::default();
    let (told, client) = (&visit.service.told, visit.request.peer.address.ip());
    let mut note = |location: &[u8]| told.note(client, visit.base().root(), location);
    let mut editor = UpdateEditor::new(reply, hrefs.clone(), form, &mut codec).telling(&mut note);
    let done = report.finish(&mut editor)?;
    visit.log_operation(|| asked.wording(&request, is_checkout, &done));
    if let (true, Some(to)) = (request.resource_walk, &asked.options.switch_to) {
        walk(
            visit,
            &asked.options,
            to,
            &mut ResourceWalk::new(reply, hrefs, request.target),
        )?;
    }
    Out(reply.buffer()).raw("</S:update-report>\n");
    if let (Some(name), Some(parts)) = (name, reply.take_kept()) {
        let parts = parts.into_iter().map(ResponsePart::new).collect();
        visit.repository().cache_report(&name, done, parts);
    }
    Ok(())
}

/// Says all that the answer depends on, if it is one that others will get as well: what a checkout or an export is told before
/// it fetches the texts.
fn name(
    visit: &Visit<'_>,
    kind: &str,
    request: &UpdateRequest,
    asked: &Asked,
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
    } = &asked.options
    else {
        return None;
    };
    if asked.send_all || request.resource_walk {
        return None;
    }
    let (rev, held) = report.same_for_all()?;
    let properties = request.include_props;
    let special = visit.base().special();
    Some(format!(
        "update {kind} {target_rev} {rev} {held:?} {depth:?} {ignore_ancestry} {send_copyfrom} {properties} \
         {special:?} {anchor:?} {operand:?}"
    ))
}

/// Tells very old clients where everything is that they have been switched to.
fn walk(visit: &Visit<'_>, asked: &ReportOptions, to: &FsPath, editor: &mut dyn Editor) -> Outcome {
    let options = ReportOptions {
        anchor: to.clone(),
        operand: String::new(),
        switch_to: None,
        text_deltas: false,
        send_copyfrom: false,
        depth: match asked.depth {
            Depth::Infinity | Depth::Immediates => asked.depth,
            _ => Depth::Files,
        },
        ..asked.clone()
    };
    let rev = options.target_rev;
    let mut report = Report::begin(visit.repository(), options, visit.readable())?;
    report.set_path(&RelPath::empty(), rev, Depth::Infinity, true, None)?;
    report.finish(editor)?;
    Ok(())
}

/// Reads the whole body: what is asked, what the client has, and whether that is nothing: one entry that starts empty.
fn read(visit: &Visit<'_>, mut body: Body) -> Result<(UpdateRequest, Report, bool), Fault> {
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
            // Options come before paths; those that do not are taken in later.
            None => report.insert(begin(visit, &request)?),
        };
        match item {
            UpdateItem::Entry(entry) if entry.rev > visit.youngest()? => {
                let rev = entry.rev;
                let message = format!("No such reported revision '{rev}' found in the repository.");
                return Err(Error::new(Code::FS_NO_SUCH_REVISION, message).into());
            }
            UpdateItem::Entry(entry) => {
                guard.entry(visit, &request, &entry)?;
                entries += 1;
                start_empty = entry.start_empty;
                take(report, entry)?;
            }
            UpdateItem::Missing(path) => report.delete_path(&path)?,
            UpdateItem::Option => {}
        }
    }
    guard.whole(visit, &request)?;
    let report = match report {
        Some(report) => report,
        None => begin(visit, &request)?,
    };
    Ok((request, report, entries == 1 && start_empty))
}

/// Begins with what is known of the request so far.
fn begin(visit: &Visit<'_>, request: &UpdateRequest) -> Result<Report, Fault> {
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
    Ok(Report::begin(visit.repository(), options, visit.readable())?)
}

fn take(report: &mut Report, entry: Entry) -> Result<(), Fault> {
    let Entry {
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

/// What a request asks for, in the repository's terms.
struct Asked {
    options: ReportOptions,
    send_all: bool,
    /// What the report is about: the anchor, or the entry of it.
    path: FsPath,
}

impl Asked {
    fn new(visit: &Visit<'_>, request: &UpdateRequest) -> Result<Asked, Fault> {
        let source = request.source.as_deref().ok_or_else(|| {
            let message = "The request did not contain the '<src-path>' element.\n\
                           This may indicate that your client is too old";
            bad(Code::RA_DAV_REQUEST_FAILED, message)
        })?;
        let youngest = visit.youngest()?;
        let target_rev = request.target_rev.unwrap_or(youngest);
        if target_rev > youngest {
            let message = format!("No such target revision '{target_rev}' found in the repository.");
            return Err(Error::new(Code::FS_NO_SUCH_REVISION, message).into());
        }
        let anchor = path_of_url(visit, source)?;
        let switch_to = match request.destination.as_deref() {
            Some(url) => Some(path_of_url(visit, url)?),
            None => None,
        };
        let send_all = request.send_all && visit.place.location.bulk != Bulk::Off;
        let path = anchor.join(&RelPath::canonicalize(&request.target)?);
        Ok(Asked {
            send_all,
            path,
            options: ReportOptions {
                target_rev,
                anchor,
                operand: request.target.clone(),
                switch_to,
                // Who fetches texts elsewhere hears here only which ones changed.
                text_deltas: send_all && !request.no_text,
                depth: request.depth(),
                ignore_ancestry: request.ignore_ancestry,
                send_copyfrom: request.send_copyfrom,
            },
        })
    }

    /// The line in the log. Which operation it was can only be guessed, and is guessed as the incumbent does.
    fn wording(&self, request: &UpdateRequest, is_checkout: bool, done: &Reported) -> String {
        let ReportOptions {
            target_rev, depth, ..
        } = self.options;
        let Some(to) = &self.options.switch_to else {
            return match is_checkout || self.options.text_deltas {
                true => oplog::update(&self.path, target_rev, depth, request.send_copyfrom, is_checkout),
                false => oplog::status(&self.path, target_rev, depth),
            };
        };
        match self.send_all {
            true => oplog::switch(&self.path, to, target_rev, depth),
            false => {
                let from: (&FsPath, Option<Revnum>) = (&self.path, done.from_rev);
                oplog::diff(from, (to, target_rev), depth, request.ignore_ancestry)
            }
        }
    }
}

/// The path in the repository that a URL in a report names.
fn path_of_url(visit: &Visit<'_>, url: &str) -> Result<FsPath, Fault> {
    match visit.place.resource_of_url(url) {
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
