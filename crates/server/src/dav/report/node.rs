//! Reports on nodes: locks, mergeinfo, inherited properties, listings.

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
use crate::dav::recursion;
use crate::http::{Fault, ResponseWriter};
use crate::log::operation_text;
use crate::service::{dirent_fields, wire_dirent};
use crate::site::RequestContext;

pub(super) fn locks(context: &mut RequestContext<'_>, reply: &mut ResponseWriter, root: &Element) -> Outcome {
    let path = base_path(context)?.clone();
    let depth = locks_depth(root)?;
    let found = context.repository().locks(&path, depth, &*context.readable())?;
    begin(reply.buffer(), "S:get-locks-report");
    for lock in &found {
        write_lock(reply.buffer(), lock);
        reply.checkpoint()?;
    }
    end(reply.buffer(), "S:get-locks-report");
    Ok(())
}

pub(super) fn mergeinfo(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let parent = base_path(context)?.clone();
    let request = MergeinfoReport::parse(root)?;
    let paths: Vec<FsPath> = request.paths.iter().map(|path| parent.join(path)).collect();
    let inherit = match request.inherit {
        "inherited" => Inheritance::Inherited,
        "nearest-ancestor" => Inheritance::NearestAncestor,
        _ => Inheritance::Explicit,
    };
    context.log_operation(|| operation_text::mergeinfo(&paths, request.inherit, request.descendants));
    let rev = match request.rev {
        Some(rev) => rev,
        None => context.youngest()?,
    };
    let readable = context.readable();
    let found = mergeinfo::get(
        context.repository(),
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

pub(super) fn inherited_props(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    base_path(context)?;
    let request = InheritedProps::parse(root)?;
    let path = match &request.path {
        Some(path) => below(context, path)?,
        None => FsPath::root(),
    };
    context.log_operation(|| operation_text::iprops(&path, request.rev));
    let rev = request.rev.ok_or_else(|| Fault::from(no_revision()))?;
    let readable = context.readable();
    let found = context
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

pub(super) fn list(context: &mut RequestContext<'_>, reply: &mut ResponseWriter, root: &Element) -> Outcome {
    let request = ListReport::parse(root)?;
    let path = below(context, &request.path)?;
    recursion::check_list(context, &path, request.depth)?;
    context.log_operation(|| {
        operation_text::list(&path, request.rev, request.depth, request.patterns.as_deref())
    });
    let rev = request.rev.ok_or_else(|| Fault::from(no_revision()))?;
    let fields = request.fields;
    let options = listing::ListOptions {
        depth: request.depth,
        fields: dirent_fields(fields),
        patterns: request.patterns,
    };
    begin(reply.buffer(), "S:list-report");
    let readable = context.readable();
    let mut sink = |path: &FsPath, dirent: &repos::Dirent| {
        write_item(reply.buffer(), path.as_str(), &wire_dirent(dirent), fields);
        reply.checkpoint()
    };
    listing::run(
        context.repository(),
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
