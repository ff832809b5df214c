//! Reports on the locations of a node, and on dates. The incumbent does not log these.

use base::FsPath;
use http::StatusCode;
use repos::history;
use wire::dav::report::{
    GetDeletedRev, GetLocations, LocationSegments, ResponseSink as _, begin, dated_rev as parse_date, end,
    write_location, write_revision, write_segment,
};
use wire::dav::xml::Element;

use super::{Outcome, bad_request, below};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

pub(super) fn dated_rev(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let date = parse_date(root)?;
    // The incumbent's response has no number here.
    let rev = context.repository().dated_revision(date);
    let rev = rev.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    write_revision(reply.buffer(), "S:dated-rev-report", Some(rev));
    Ok(())
}

pub(super) fn locations(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let request = GetLocations::parse(root)?;
    let path = below(context, &request.path)?;
    let (peg, revs) = (request.peg, &request.revs);
    let found = history::locations(context.repository(), &path, peg, revs, &*context.readable())?;
    begin(reply.buffer(), "S:get-locations-report");
    for (rev, path) in found {
        write_location(reply.buffer(), rev, path.as_str());
    }
    end(reply.buffer(), "S:get-locations-report");
    Ok(())
}

pub(super) fn segments(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let LocationSegments {
        path,
        peg,
        start,
        end: last,
    } = LocationSegments::parse(root)?;
    let path = below(context, &path)?;
    let youngest = context.youngest()?;
    // Other than over svn://, a wrong order of revisions is a 400.
    let (from, until) = (start.unwrap_or(youngest), last.unwrap_or_default());
    for (bad, message) in [
        (
            until > from,
            "End revision must not be younger than start revision",
        ),
        (
            from > peg.unwrap_or(youngest),
            "Start revision must not be younger than peg revision",
        ),
    ] {
        if bad {
            let error = base::Error::new(base::Code::FS_NO_SUCH_REVISION, message);
            return Err(Fault::bad_request(error));
        }
    }
    begin(reply.buffer(), ROOT);
    let readable = context.readable();
    let mut sink = |segment: history::LocationSegment| {
        let path = segment.path.as_ref().map(FsPath::rel_str);
        write_segment(reply.buffer(), path, segment.start, segment.end);
        reply.checkpoint()
    };
    history::location_segments(
        context.repository(),
        &path,
        peg,
        start,
        last,
        &*readable,
        &mut sink,
    )
    .map_err(bad_request)?;
    end(reply.buffer(), ROOT);
    Ok(())
}

const ROOT: &str = "S:get-location-segments-report";

pub(super) fn deleted_rev(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let GetDeletedRev { path, peg, end: last } = GetDeletedRev::parse(root)?;
    let path = below(context, &path)?;
    let found = history::deleted_rev(context.repository(), &path, peg, last)
        .map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    write_revision(reply.buffer(), "S:get-deleted-rev-report", found);
    Ok(())
}
