//! Reports on where a node was, and on dates. The incumbent does not log these.

use base::FsPath;
use http::StatusCode;
use repos::history;
use wire::dav::report::{
    GetDeletedRev, GetLocations, LocationSegments, ResponseSink as _, begin, dated_rev as parse_date, end,
    write_location, write_revision, write_segment,
};
use wire::dav::xml::Element;

use super::{Outcome, bad_request, below};
use crate::dav::fault::Fault;
use crate::dav::visit::Visit;
use crate::http::Reply;

pub(super) fn dated_rev(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let date = parse_date(root)?;
    // Theirs names no number here.
    let rev = visit.repository().dated_revision(date);
    let rev = rev.map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    write_revision(reply.buffer(), "S:dated-rev-report", Some(rev));
    Ok(())
}

pub(super) fn locations(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let request = GetLocations::parse(root)?;
    let path = below(visit, &request.path)?;
    let (peg, revs) = (request.peg, &request.revs);
    let found = history::locations(visit.repository(), &path, peg, revs, &*visit.readable())?;
    begin(reply.buffer(), "S:get-locations-report");
    for (rev, path) in found {
        write_location(reply.buffer(), rev, path.as_str());
    }
    end(reply.buffer(), "S:get-locations-report");
    Ok(())
}

pub(super) fn segments(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let LocationSegments {
        path,
        peg,
        start,
        end: last,
    } = LocationSegments::parse(root)?;
    let path = below(visit, &path)?;
    let youngest = visit.youngest()?;
    // Here, not over svn://, orders that make no sense are the client's fault.
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
    let readable = visit.readable();
    let mut sink = |segment: history::LocationSegment| {
        let path = segment.path.as_ref().map(FsPath::rel_str);
        write_segment(reply.buffer(), path, segment.start, segment.end);
        reply.checkpoint()
    };
    history::location_segments(visit.repository(), &path, peg, start, last, &*readable, &mut sink)
        .map_err(bad_request)?;
    end(reply.buffer(), ROOT);
    Ok(())
}

const ROOT: &str = "S:get-location-segments-report";

pub(super) fn deleted_rev(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let GetDeletedRev { path, peg, end: last } = GetDeletedRev::parse(root)?;
    let path = below(visit, &path)?;
    let found = history::deleted_rev(visit.repository(), &path, peg, last)
        .map_err(|error| Fault::hidden(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    write_revision(reply.buffer(), "S:get-deleted-rev-report", found);
    Ok(())
}
