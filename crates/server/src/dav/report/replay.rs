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
use crate::dav::visit::Visit;
use crate::http::Reply;
use crate::svn::encoded;

pub(super) fn replay(visit: &mut Visit<'_>, reply: &mut Reply, root: &Element) -> Outcome {
    recursion::admit_replay(visit)?;
    let of = match &visit.resource {
        Resource::Revision(rev) | Resource::Baseline(rev) => Some(*rev),
        _ => None,
    };
    let request = ReplayReport::parse(root, of)?;
    let base = visit.resource.path().cloned().unwrap_or_else(FsPath::root);
    let base_path = match &request.include {
        Some(path) => base.join(path),
        None => base,
    };
    let rev = request.rev;
    visit.log_operation(|| match &request.include {
        // The incumbent's words, without a slash before them.
        Some(path) if !path.is_empty() => format!("replay {} r{rev}", encoded(path.as_str())),
        _ => format!("replay {} r{rev}", encoded(base_path.as_str())),
    });
    let options = ReplayOptions {
        base_path: base_path.clone(),
        low_water_mark: Some(request.low_water_mark),
        send_deltas: request.send_deltas,
    };
    let (version, level) = svndiff(visit);
    let mut codec = Codec::default();
    let mut editor = ReplayEditor::new(reply, version, level, &mut codec);
    let readable = visit.readable();
    replay::replay(visit.repository(), rev, &options, &*readable, &mut editor)?;
    editor.close_edit()?;
    Ok(())
}
