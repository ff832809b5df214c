//! The externals of an exported tree, and their externals.
//!
//! An external may define externals. They follow it at once, so there is a stack of what is left to do: its depth is that of the nesting, and
//! the length of paths ends a cycle.

use std::path::PathBuf;

use base::{Code, Error, Result};

use super::node::make_parents;
use super::{ExportEvent, ExportOptions, ExportedTree, Notify, Source, export_tree};
use crate::externals::{absolute_url, parse};

/// What is left to do.
enum Step {
    /// An external with the path that it gets.
    Fetch(Source, PathBuf),
    /// The end of an external, whose own externals are done.
    End(ExportedTree),
}

/// Externals within externals.
const MAX_DEPTH: usize = 1000;

/// Exports all externals of a tree. Returns true if one of them failed; the event says why.
pub(super) fn export(tree: &ExportedTree, options: &ExportOptions<'_>, notify: Notify<'_>) -> Result<bool> {
    let mut failed = false;
    let mut steps = steps(tree, options)?;
    let forced = ExportOptions {
        force: true,
        ..*options
    };
    while let Some(step) = steps.pop() {
        let (source, target) = match step {
            Step::Fetch(source, target) => (source, target),
            Step::End(tree) => {
                notify(tree.completed(true))?;
                notify(ExportEvent::ExternalEnd)?;
                continue;
            }
        };
        notify(ExportEvent::External(&target))?;
        let nesting = steps.iter().filter(|step| matches!(step, Step::End(_))).count();
        let outcome = make_parents(&tree.target, &target)
            .and_then(|()| export_tree(&source, &target, &forced, notify))
            .and_then(|tree| match nesting < MAX_DEPTH {
                true => Ok((self::steps(&tree, options)?, tree)),
                false => Err(Error::new(
                    Code::WC_OBSTRUCTED_UPDATE,
                    "Externals are nested too deeply",
                )),
            });
        match outcome {
            Ok((inner, tree)) => {
                steps.push(Step::End(tree));
                steps.extend(inner);
            }
            Err(error) if error.has(Code::CANCELLED) => return Err(error),
            Err(error) => {
                failed = true;
                notify(ExportEvent::ExternalFailed(&error))?;
                notify(ExportEvent::ExternalEnd)?;
            }
        }
    }
    Ok(failed)
}

/// Returns the steps of a tree's externals, the first one last.
fn steps(tree: &ExportedTree, options: &ExportOptions<'_>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (path, value) in &tree.externals {
        let directory_url = tree.url.join(path);
        let mut directory = tree.target.clone();
        for name in path.components() {
            let name = (options.file_name)(name, &directory)?;
            directory.push(name);
        }
        let shown = directory.to_string_lossy();
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
            steps.push(Step::Fetch(source, target));
        }
    }
    steps.reverse();
    Ok(steps)
}
