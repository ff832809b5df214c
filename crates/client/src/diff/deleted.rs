//! What an edit deletes. The edit names only the top; the nodes below it are read from the old end.

use base::hash_order::hash_order;
use base::{NodeKind, Props, RelPath, Result};
use ra::DirentFields;

use super::old_side::OldSide;
use super::tree::{Action, DirectoryChange, FileChange, FileSide, Needs, TreeSink};

/// A directory whose entries are being passed.
struct OpenDirectory {
    path: RelPath,
    props: Props,
    /// The entries that are left, the next one last.
    entries: Vec<(String, NodeKind)>,
}

/// Passes a deleted node, and the nodes below it, each directory's entries in the order of the incumbent's hash tables.
pub(super) fn pass(path: &RelPath, old: &mut OldSide<'_>, sink: &mut dyn TreeSink) -> Result<()> {
    let needs = sink.needs(Action::Deleted);
    match old.kind(path)? {
        NodeKind::File => return pass_file(path, needs, old, sink),
        NodeKind::Dir => {}
        _ => return Ok(()),
    }
    let mut open = vec![open_directory(path.clone(), needs, old)?];
    while let Some(directory) = open.last_mut() {
        match directory.entries.pop() {
            Some((name, NodeKind::Dir)) => {
                let path = directory.path.join_str(&name);
                open.push(open_directory(path, needs, old)?);
            }
            Some((name, _)) => pass_file(&directory.path.join_str(&name), needs, old, sink)?,
            None => {
                sink.directory(&DirectoryChange {
                    path: &directory.path,
                    action: Action::Deleted,
                    old: &directory.props,
                    new: &Props::new(),
                    props: true,
                })?;
                open.pop();
            }
        }
    }
    Ok(())
}

fn pass_file(path: &RelPath, needs: Needs, old: &mut OldSide<'_>, sink: &mut dyn TreeSink) -> Result<()> {
    let side = old.file(path, needs)?;
    sink.file(&FileChange {
        path,
        action: Action::Deleted,
        old: &side,
        new: &FileSide::default(),
        text: true,
        props: true,
    })
}

fn open_directory(path: RelPath, needs: Needs, old: &mut OldSide<'_>) -> Result<OpenDirectory> {
    let directory = old.directory(&path, needs.props, Some(DirentFields::KIND))?;
    let entries = directory.entries.into_iter();
    let mut entries: Vec<(String, NodeKind)> = entries.map(|(name, entry)| (name, entry.kind)).collect();
    // A server walks a hash table to send the entries, and the incumbent's client another one to use them.
    for _ in 0..2 {
        let order = hash_order(entries.iter().map(|(name, _)| name.as_bytes()));
        let walked = order.into_iter().map(|at| entries[at as usize].clone());
        entries = walked.collect();
    }
    entries.reverse();
    Ok(OpenDirectory {
        path,
        props: directory.props,
        entries,
    })
}
