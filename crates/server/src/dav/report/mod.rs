//! `REPORT`: queries about history, and the edits that change working copies.
//!
//! The root element of the body names one of a dozen reports. Most of them are about the node that the URL names. All use the same
//! engine as svn:// commands. The response is sent while it is made: an early error becomes a status, a later one ends the
//! connection, so that no client takes a part of a response for the whole.

mod file_revs;
mod history;
mod log;
mod node;
mod replay;
mod update;

use std::io::BufReader;

use base::{Code, Error, FsPath, NodeKind, RelPath};
use http::StatusCode;
use wire::dav::accept::svndiff_version;
use wire::dav::report::{Refusal, ReportKind, ResponseSink};
use wire::dav::stream::{ElementStream, StreamFault};
use wire::dav::uri::Resource;
use wire::dav::xml;

use super::Outcome;
use super::resource_kind::ResourceKind;
use crate::http::{Fault, RequestBody, ResponseWriter};
use crate::site::RequestContext;

/// The body of a report request, while it is read.
type Body = ElementStream<BufReader<RequestBody>>;

pub(super) fn report(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let body = open(context)?;
    check_exists(context)?;
    let root = body.root().ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let Some(kind) = ReportKind::of(&root.name) else {
        let message = "The requested report is unknown";
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message).into());
    };
    reply.head.content_type(wire::dav::fault::XML_TYPE);
    if kind == ReportKind::Update {
        return update::update(context, reply, body);
    }
    let root = &body.rest()?;
    match kind {
        ReportKind::Update => Ok(()),
        ReportKind::DatedRev => history::dated_rev(context, reply, root),
        ReportKind::Log => log::log(context, reply, root),
        ReportKind::GetLocations => history::locations(context, reply, root),
        ReportKind::GetLocationSegments => history::segments(context, reply, root),
        ReportKind::FileRevs => file_revs::file_revs(context, reply, root),
        ReportKind::GetDeletedRev => history::deleted_rev(context, reply, root),
        ReportKind::GetLocks => node::locks(context, reply, root),
        ReportKind::Mergeinfo => node::mergeinfo(context, reply, root),
        ReportKind::InheritedProps => node::inherited_props(context, reply, root),
        ReportKind::List => node::list(context, reply, root),
        ReportKind::Replay => replay::replay(context, reply, root),
    }
}

/// Begins to read the body.
fn open(context: &mut RequestContext<'_>) -> Result<Body, Fault> {
    let limits = context.options.limits;
    // Which report it is, is in the body. The reports other than update have the limit of XML bodies, below.
    context.request.body.limit(limits.longest_report());
    let body = std::mem::replace(&mut context.request.body, RequestBody::empty());
    // These limits hold for each entry of an update report, and for the whole of every other report.
    let limits = xml::XmlLimits {
        bytes: limits.xml_body,
        ..limits.xml(body.length().unwrap_or(limits.xml_body))
    };
    ElementStream::open(BufReader::with_capacity(READ, body), limits)?
        .ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))
}

/// The size of one read, bytes.
const READ: usize = 32 << 10;

/// Checks that the request's resource exists.
fn check_exists(context: &mut RequestContext<'_>) -> Outcome {
    if context.resource.is_in_transaction() {
        return match context.resource_kind()? {
            ResourceKind::Working { exists: false } | ResourceKind::Activity { exists: false } => {
                Err(Fault::html(StatusCode::NOT_FOUND))
            }
            _ => Ok(()),
        };
    }

    let (rev, path) = match &context.resource {
        Resource::Public(path) => (context.youngest()?, path),
        Resource::BaselineCollection(rev, path)
        | Resource::RevisionRoot(rev, path)
        | Resource::Version(rev, path) => (*rev, path),
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            context.repository().check_path(*rev, &FsPath::root())?;
            return Ok(());
        }
        _ => return Ok(()),
    };
    match context.repository().check_path(rev, path)? {
        NodeKind::None => Err(Fault::html(StatusCode::NOT_FOUND)),
        _ => Ok(()),
    }
}

/// Returns the path that the URL names.
fn base_path<'v>(context: &'v RequestContext<'_>) -> Result<&'v FsPath, Fault> {
    context
        .resource
        .path()
        .ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))
}

/// Returns the path in the repository of a path in a report.
fn below(context: &RequestContext<'_>, path: &RelPath) -> Result<FsPath, Fault> {
    Ok(base_path(context)?.join(path))
}

/// Returns the svndiff version for the client, and the compression level.
fn svndiff(context: &RequestContext<'_>) -> (u8, u8) {
    let level = context.options.compression;
    let version = svndiff_version(&context.request.header_list("accept-encoding"), level);
    (version, level)
}

/// Returns a 400, unless the error's number implies another status.
fn bad_request(error: Error) -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, error)
}

/// Returns the error of a report without its required revision.
fn no_revision() -> Error {
    Error::new(Code::FS_NO_SUCH_REVISION, "Invalid revision number '-1'")
}

impl ResponseSink for ResponseWriter {
    fn buffer(&mut self) -> &mut Vec<u8> {
        ResponseWriter::buffer(self)
    }

    fn checkpoint(&mut self) -> base::Result<()> {
        self.spill()
            .map_err(|e| Error::os(&e, "Can't write to connection"))
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        match refusal {
            Refusal::Bad => Fault::html(StatusCode::BAD_REQUEST),
            Refusal::BadRequest(error) => bad_request(error),
            Refusal::Failed(error) => Fault::new(StatusCode::INTERNAL_SERVER_ERROR, error),
        }
    }
}

impl From<StreamFault> for Fault {
    fn from(fault: StreamFault) -> Fault {
        match fault {
            StreamFault::Malformed(what) => what.into(),
            StreamFault::Io(error) => error.into(),
        }
    }
}
