//! Reports on what is at a path: locks, mergeinfo, inherited properties, listings.

use base::FsPath;
use http::StatusCode;
use repos::list as listing;
use repos::mergeinfo::{self, Inheritance};
use wire::dav::report::{
    InheritedProps, ListReport, MergeinfoReport, ResponseSink as _, begin, end, locks_depth, write_inherited,
    write_item, write_lock, write_mergeinfo,
};
use wire::dav::xml::Element;

use super::{Outcome, bad_request, base_path, below, no_revision};
use crate::dav::fault::Fault;
use crate::dav::recursion;
use crate::dav::visit::Visit;
use crate::http::Reply;
use crate::oplog;
use crate::svn::{dirent_fields, on_the_wire};

pub(super) fn locks(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let path = base_path(visit)?.clone();
    let depth = locks_depth(root)?;
    let found = visit.repository().locks(&path, depth, &*visit.readable())?;
    begin(reply.buffer(), "S:get-locks-report");
    for lock in &found {
        write_lock(reply.buffer(), lock);
        reply.checkpoint()?;
    }
    end(reply.buffer(), "S:get-locks-report");
    Ok(())
}

pub(super) fn mergeinfo(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let parent = base_path(visit)?.clone();
    let request = MergeinfoReport::parse(root)?;
    let paths: Vec<FsPath> = request.paths.iter().map(|path| parent.join(path)).collect();
    let inherit = match request.inherit {
        "inherited" => Inheritance::Inherited,
        "nearest-ancestor" => Inheritance::NearestAncestor,
        _ => Inheritance::Explicit,
    };
    visit.log_operation(|| oplog::mergeinfo(&paths, request.inherit, request.descendants));
    let rev = match request.rev {
        Some(rev) => rev,
        None => visit.youngest()?,
    };
    let readable = visit.readable();
    let found = mergeinfo::get(
        visit.repository(),
        &paths,
        rev,
        inherit,
        request.descendants,
        &*readable,
    )
    .map_err(bad_request)?;
    begin(reply.buffer(), "S:mergeinfo-report");
    for (path, mergeinfo) in &found {
        let below = path.rel_str_below(&parent).unwrap_or(path.rel_str());
        write_mergeinfo(reply.buffer(), below, &mergeinfo.to_string());
        reply.checkpoint()?;
    }
    end(reply.buffer(), "S:mergeinfo-report");
    Ok(())
}

pub(super) fn inherited_props(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    base_path(visit)?;
    let request = InheritedProps::parse(root)?;
    let path = match &request.path {
        Some(path) => below(visit, path)?,
        None => FsPath::root(),
    };
    visit.log_operation(|| oplog::iprops(&path, request.rev));
    let rev = request.rev.ok_or_else(|| Fault::from(no_revision()))?;
    let readable = visit.readable();
    let found = visit
        .repository()
        .inherited_props(rev, &path, None, &*readable)
        .map_err(bad_request)?;
    begin(reply.buffer(), "S:inherited-props-report");
    for (path, props) in &found {
        write_inherited(reply.buffer(), path.as_str(), props);
        reply.checkpoint()?;
    }
    end(reply.buffer(), "S:inherited-props-report");
    Ok(())
}

pub(super) fn list(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    let request = ListReport::parse(root)?;
    let path = below(visit, &request.path)?;
    recursion::admit_list(visit, &path, request.depth)?;
    visit.log_operation(|| oplog::list(&path, request.rev, request.depth, request.patterns.as_deref()));
    let rev = request.rev.ok_or_else(|| Fault::from(no_revision()))?;
    let fields = request.fields;
    let options = listing::ListOptions {
        depth: request.depth,
        fields: dirent_fields(fields),
        patterns: request.patterns,
    };
    begin(reply.buffer(), "S:list-report");
    let readable = visit.readable();
    let mut sink = |path: &FsPath, dirent: &repos::Dirent| {
        write_item(reply.buffer(), path.as_str(), &on_the_wire(dirent), fields);
        reply.checkpoint()
    };
    listing::run(
        visit.repository(),
        &path,
        rev,
        &options,
        &*readable,
        &mut sink,
        &Default::default(),
    )
    .map_err(|error| Fault::new(StatusCode::BAD_REQUEST, error))?;
    end(reply.buffer(), "S:list-report");
    Ok(())
}
