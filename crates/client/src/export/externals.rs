//! The externals of an exported tree, and their externals.
//!
//! An external may define externals. They follow it at once, so there is a stack of trees: its depth is that of the nesting, and
//! the length of paths ends a cycle. The directories of a tree are taken one after the other: an error in the property of one ends
//! the tree, after the externals of those before.

use std::collections::VecDeque;
use std::path::PathBuf;

use base::{Code, Error, RelPath, Result};

use super::node::make_parents;
use super::{ExportEvent, ExportOptions, ExportedTree, Notify, Source, export_tree};
use crate::externals::{absolute_url, parse};

/// Externals within externals.
const MAX_DEPTH: usize = 1000;

/// A tree whose externals are being exported.
struct Frame {
    tree: ExportedTree,
    /// The directories that are left, with the property.
    directories: VecDeque<(RelPath, Vec<u8>)>,
    /// The externals that are left of the present directory, the last one first.
    externals: Vec<(Source, PathBuf)>,
}

impl Frame {
    fn new(mut tree: ExportedTree) -> Frame {
        Frame {
            directories: std::mem::take(&mut tree.externals).into(),
            tree,
            externals: Vec::new(),
        }
    }
}

/// Exports all externals of a tree, and reports its end.
///
/// # Errors
/// `CL_ERROR_PROCESSING_EXTERNALS` if one of them failed; the event says why. Those of the tree's properties.
pub(super) fn export(tree: ExportedTree, options: &ExportOptions<'_>, notify: Notify<'_>) -> Result<()> {
    let mut failed = false;
    let outcome = export_all(tree, options, notify, &mut failed);
    let message = "Failure occurred processing one or more externals definitions";
    match outcome {
        outcome if !failed => outcome,
        Ok(()) => Err(Error::new(Code::CL_ERROR_PROCESSING_EXTERNALS, message)),
        Err(error) => {
            let error = error.wrap(Code::COMPOSED_ERROR, "Additional errors:");
            Err(error.wrap(Code::CL_ERROR_PROCESSING_EXTERNALS, message))
        }
    }
}

fn export_all(
    tree: ExportedTree,
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
    failed: &mut bool,
) -> Result<()> {
    let top = tree.target.clone();
    let forced = ExportOptions {
        force: true,
        ..*options
    };
    let mut stack = vec![Frame::new(tree)];
    while let Some(frame) = stack.last_mut() {
        let outcome = if let Some((source, target)) = frame.externals.pop() {
            notify(ExportEvent::External(&target))?;
            make_parents(&top, &target)
                .and_then(|()| export_tree(&source, &target, &forced, notify))
                .and_then(|tree| {
                    if stack.len() >= MAX_DEPTH {
                        let message = "Externals are nested too deeply";
                        return Err(Error::new(Code::WC_OBSTRUCTED_UPDATE, message));
                    }
                    stack.push(Frame::new(tree));
                    Ok(())
                })
        } else if let Some((path, value)) = frame.directories.pop_front() {
            let externals = externals(&frame.tree, &path, &value, options);
            externals
                .map(|externals| frame.externals = externals)
                .inspect_err(|_| _ = stack.pop())
        } else {
            let frame = stack.pop();
            let is_external = !stack.is_empty();
            frame.map_or(Ok(()), |frame| notify(frame.tree.completed(is_external)))?;
            if is_external {
                notify(ExportEvent::ExternalEnd)?;
            }
            Ok(())
        };
        match outcome {
            Ok(()) => {}
            Err(error) if stack.is_empty() || error.has(Code::CANCELLED) => return Err(error),
            Err(error) => {
                *failed = true;
                notify(ExportEvent::ExternalFailed(&error))?;
                notify(ExportEvent::ExternalEnd)?;
            }
        }
    }
    Ok(())
}

/// Returns the externals of a directory of a tree, with their paths on disk, the last one first.
fn externals(
    tree: &ExportedTree,
    path: &RelPath,
    value: &[u8],
    options: &ExportOptions<'_>,
) -> Result<Vec<(Source, PathBuf)>> {
    let directory_url = tree.url.join(path);
    let mut directory = tree.target.clone();
    for name in path.components() {
        let name = (options.file_name)(name, &directory)?;
        directory.push(name);
    }
    let absolute = options.current_dir.join(&directory);
    let shown = absolute.to_string_lossy();
    let mut externals = Vec::new();
    for external in parse(&shown, value, options.parse_date)? {
        let mut target = directory.clone();
        for name in external.target.components() {
            let name = (options.file_name)(name, &target)?;
            target.push(name);
        }
        let source = Source {
            url: absolute_url(&external.url, &directory_url, &tree.root_url)?,
            peg: external.peg,
            rev: external.rev,
        };
        externals.push((source, target));
    }
    externals.reverse();
    Ok(externals)
}
