//! The externals of an exported tree, and their externals.
//!
//! An external may define externals. They follow it at once, so there is a stack of trees: its depth is that of the nesting, and
//! the length of paths ends a cycle. The directories of a tree are taken one after the other, and so are the externals of each: an error in
//! a property or a URL ends the tree, after the externals before it.

use std::collections::VecDeque;
use std::path::PathBuf;

use base::{Code, Error, RelPath, Result, Url, disk_path};

use super::node::make_parents;
use super::{ExportEvent, ExportOptions, ExportedTree, Notify, Source, export_tree};
use crate::externals::{External, absolute_url, parse};

/// Externals within externals.
const MAX_DEPTH: usize = 1000;

/// A tree whose externals are being exported.
struct Frame {
    tree: ExportedTree,
    /// The directories that are left, with the property.
    directories: VecDeque<(RelPath, Vec<u8>)>,
    /// The URL of the present directory.
    directory_url: Url,
    /// The externals that are left of the present directory, the last one first, with their paths on disk.
    externals: Vec<(External, PathBuf)>,
}

impl Frame {
    fn new(mut tree: ExportedTree) -> Frame {
        Frame {
            directories: std::mem::take(&mut tree.externals).into(),
            directory_url: tree.url.clone(),
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
    mut tree: ExportedTree,
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
    failed: &mut bool,
) -> Result<()> {
    tree.target = options.absolute_target.to_owned();
    let top = tree.target.clone();
    let forced = ExportOptions {
        force: true,
        ..*options
    };
    let mut stack = vec![Frame::new(tree)];
    while let Some(frame) = stack.last_mut() {
        let outcome = if let Some((external, target)) = frame.externals.pop() {
            match absolute_url(&external.url, &frame.directory_url, &frame.tree.root_url) {
                Err(error) => {
                    stack.pop();
                    Err(error)
                }
                Ok(url) => {
                    notify(ExportEvent::External(&target))?;
                    source(url, &external)
                        .and_then(|source| {
                            make_parents(&top, &target)?;
                            export_tree(&source, &target, &forced, notify)
                        })
                        .and_then(|tree| push(&mut stack, tree))
                }
            }
        } else if let Some((path, value)) = frame.directories.pop_front() {
            frame.directory_url = frame.tree.url.join(&path);
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

fn source(url: Url, external: &External) -> Result<Source> {
    let (peg, rev) = (external.peg.of_url()?, external.rev.of_url()?);
    Ok(Source { url, peg, rev })
}

fn push(stack: &mut Vec<Frame>, tree: ExportedTree) -> Result<()> {
    if stack.len() >= MAX_DEPTH {
        let message = "Externals are nested too deeply";
        return Err(Error::new(Code::WC_OBSTRUCTED_UPDATE, message));
    }
    stack.push(Frame::new(tree));
    Ok(())
}

/// Returns the externals of a directory of a tree, with their paths on disk, the last one first.
fn externals(
    tree: &ExportedTree,
    path: &RelPath,
    value: &[u8],
    options: &ExportOptions<'_>,
) -> Result<Vec<(External, PathBuf)>> {
    let mut directory = tree.target.clone();
    for name in path.components() {
        let name = (options.file_name)(name, &directory)?;
        directory.push(name);
    }
    let shown = disk_path::shown(&directory);
    let mut externals = Vec::new();
    for external in parse(&shown, value, options.parse_date)? {
        let mut target = directory.clone();
        for name in external.target.components() {
            let name = (options.file_name)(name, &target)?;
            target.push(name);
        }
        externals.push((external, target));
    }
    externals.reverse();
    Ok(externals)
}
