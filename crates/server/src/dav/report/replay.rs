//! The replay report: a revision as an edit, for `svnsync` and `svnrdump`.

use base::FsPath;
use delta::editor::Editor as _;
use delta::svndiff::Codec;
use repos::replay::{self, ReplayOptions};
use wire::dav::report::{ReplayEditor, ReplayReport};
use wire::dav::uri::Resource;
use wire::dav::xml::Element;

use super::{Outcome, svndiff};
use crate::dav::recursion;
use crate::http::ResponseWriter;
use crate::percent_encoding::encoded;
use crate::site::RequestContext;

pub(super) fn replay(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    recursion::check_replay(context)?;
    let of = match &context.resource {
        Resource::Revision(rev) | Resource::Baseline(rev) => Some(*rev),
        _ => None,
    };
    let request = ReplayReport::parse(root, of)?;
    // As with the incumbent, the request's path is one of the repository, whatever the URL is.
    let base_path = match &request.include {
        Some(path) => FsPath::root().join(path),
        None => context.resource.path().cloned().unwrap_or_else(FsPath::root),
    };
    let rev = request.rev;
    context.log_operation(|| match &request.include {
        // As the incumbent, without a leading slash.
        Some(path) if !path.is_empty() => format!("replay {} r{rev}", encoded(path.as_str())),
        _ => format!("replay {} r{rev}", encoded(base_path.as_str())),
    });
    let options = ReplayOptions {
        base_path: base_path.clone(),
        low_water_mark: Some(request.low_water_mark),
        send_deltas: request.send_deltas,
    };
    let (version, level) = svndiff(context);
    let mut codec = Codec::default();
    let mut editor = ReplayEditor::new(reply, version, level, &mut codec);
    let readable = context.readable();
    replay::replay(context.repository(), rev, &options, &*readable, &mut editor)?;
    editor.close_edit()?;
    Ok(())
}
