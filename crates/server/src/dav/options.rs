//! `OPTIONS`: the server's capabilities and the URLs of its resources. Every session of a client begins with it, twice.

use base::NodeKind;
use http::StatusCode;
use wire::dav::names;
use wire::dav::uri::Resource;

use crate::config::Bulk;
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

/// The capabilities in every response, each on a line of its own: some clients fail at long lines.
const ALWAYS: [&str; 12] = [
    "1,2",
    "version-control,checkout,working-resource",
    "merge,baseline,activity,version-controlled-collection",
    "http://subversion.tigris.org/xmlns/dav/svn/depth",
    "http://subversion.tigris.org/xmlns/dav/svn/log-revprops",
    "http://subversion.tigris.org/xmlns/dav/svn/atomic-revprops",
    "http://subversion.tigris.org/xmlns/dav/svn/partial-replay",
    "http://subversion.tigris.org/xmlns/dav/svn/inherited-props",
    "http://subversion.tigris.org/xmlns/dav/svn/inline-props",
    "http://subversion.tigris.org/xmlns/dav/svn/reverse-file-revs",
    "http://subversion.tigris.org/xmlns/dav/svn/list",
    "http://subversion.tigris.org/xmlns/dav/svn/mergeinfo",
];

pub(super) fn options(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Result<(), Fault> {
    context.connection().begin_session();
    let body = context.xml()?;
    let asks = |(root, _): &(wire::dav::xml::Element, Vec<u8>)| {
        root.child(names::DAV, "activity-collection-set").is_some()
    };
    let full = body.as_ref().is_some_and(asks);
    // A revision that does not exist is an error here as well.
    let allow = allow(context)?;
    for value in ALWAYS {
        reply.head.header("dav", value);
    }
    reply.head.header("ms-author-via", "DAV").header("allow", allow);
    if full {
        describe_repository(context, reply)?;
    }
    let Some(_) = body else {
        reply.head.content_length(0);
        return Ok(());
    };
    reply.head.content_type(wire::dav::fault::XML_TYPE);
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:options-response xmlns:D=\"DAV:\">\n");
    if full {
        let activities = format!("{}/act/", context.base().special());
        text.push_str("<D:activity-collection-set><D:href>");
        wire::dav::xml::escape_text(&activities, &mut text);
        text.push_str("</D:href></D:activity-collection-set>");
    }
    text.push_str("</D:options-response>\n");
    *reply.buffer() = text.into_bytes();
    Ok(())
}

/// Writes the header lines about the repository and its resources.
fn describe_repository(context: &RequestContext<'_>, reply: &mut ResponseWriter) -> Result<(), Fault> {
    let repository = context.repository();
    let merges = if repository.tracks_merges() { "yes" } else { "no" };
    reply
        .head
        .header("svn-youngest-rev", &context.youngest()?.to_string())
        .header("svn-repository-uuid", &repository.uuid())
        .header("svn-repository-mergeinfo", merges);
    let location = &context.mount.location;
    let master = location.master.as_ref().and_then(|master| master.version);
    let since = |minor| master.is_none_or(|version| version >= (1, minor));
    let dav = |name: &str| format!("http://subversion.tigris.org/xmlns/dav/svn/{name}");
    if location.advertise_v2 && since(7) {
        reply.head.header("dav", &dav("replay-rev-resource"));
        let special = context.base().special();
        reply.head.header(
            "svn-repository-root",
            match context.base().root() {
                "" => "/",
                root => root,
            },
        );
        for (name, kind) in [
            ("svn-me-resource", "me"),
            ("svn-rev-root-stub", "rvr"),
            ("svn-rev-stub", "rev"),
            ("svn-txn-root-stub", "txr"),
            ("svn-txn-stub", "txn"),
            ("svn-vtxn-root-stub", "vtxr"),
            ("svn-vtxn-stub", "vtxn"),
        ] {
            reply.head.header(name, &format!("{special}/{kind}"));
        }
        let bulk = match location.bulk {
            Bulk::On => "On",
            Bulk::Off => "Off",
            Bulk::Prefer => "Prefer",
        };
        reply.head.header("svn-allow-bulk-updates", bulk);
        if location.bulk != Bulk::Off {
            // Sven's client need not request each text. Subversion's takes no notice.
            reply.head.header("x-sven-stored-texts", "yes");
        }
        reply.head.header("svn-supported-posts", "create-txn");
        if since(8) {
            reply.head.header("svn-supported-posts", "create-txn-with-props");
        }
    }
    if since(8) {
        reply.head.header("dav", &dav("ephemeral-txnprops"));
    }
    if since(10) {
        for name in ["svndiff1", "svndiff2", "put-result-checksum"] {
            reply.head.header("dav", &dav(name));
        }
    }
    Ok(())
}

/// Adds the methods that the resource allows to the refusal of another one, as HTTP wants it.
pub(super) fn with_allowed_methods(fault: Fault, context: &mut RequestContext<'_>) -> Fault {
    if fault.status != StatusCode::METHOD_NOT_ALLOWED {
        return fault;
    }
    match allow(context) {
        Ok(methods) => fault.with("allow", methods),
        Err(_) => fault,
    }
}

/// Returns the methods that the resource allows.
fn allow(context: &mut RequestContext<'_>) -> Result<&'static str, Fault> {
    const DIR: &str = "OPTIONS,GET,HEAD,POST,DELETE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,UNLOCK,CHECKOUT";
    const FILE: &str = "OPTIONS,GET,HEAD,POST,DELETE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,UNLOCK,PUT,CHECKOUT";
    const NOTHING: &str = "OPTIONS,MKCOL,PUT,LOCK";
    let repository = context.repository();
    let kind = match &context.resource {
        Resource::Public(path) => repository.check_path(context.youngest()?, path)?,
        Resource::BaselineCollection(rev, path)
        | Resource::RevisionRoot(rev, path)
        | Resource::Version(rev, path) => repository.check_path(*rev, path)?,
        // Revisions and transactions must be there.
        _ => {
            context.resource_kind()?;
            NodeKind::File
        }
    };
    Ok(match kind {
        NodeKind::None => NOTHING,
        NodeKind::Dir => DIR,
        _ => FILE,
    })
}
