//! Drives an edit that changes some paths: opens what is above them, in the order of paths.

use base::{RelPath, Result, Revnum};
use delta::editor::{DirToken, Editor};

/// Makes the change of a path in its open parent; without a parent the path is the root of the edit. Returns the directory if the path is one that
/// is open now.
pub type ChangePath<'a> =
    dyn FnMut(&mut dyn Editor, Option<DirToken>, &RelPath) -> Result<Option<DirToken>> + 'a;

/// Drives `editor` for each of `paths`. What is below a path follows it, and the paths below a directory are together, as in tree order
/// ([`RelPath::cmp_tree`]). A directory whose path is repeated is the parent of itself, as it is for the incumbent: two nodes with one
/// name. Directories above them are opened with the revision `base`. `act` makes the change of a path in its open parent, and returns the
/// directory if the path is one that is open now; without a parent the path is the root of the edit. The edit is not ended.
///
/// # Errors
/// Those of `act` and the editor.
pub fn drive_paths(
    editor: &mut dyn Editor,
    base: Option<Revnum>,
    paths: &[RelPath],
    act: &mut ChangePath<'_>,
) -> Result<()> {
    let mut open: Vec<(RelPath, DirToken)> = Vec::new();
    let mut paths = paths.iter().peekable();
    let root = match paths.next_if(|path| path.is_empty()) {
        Some(path) => act(editor, None, path)?,
        None => Some(editor.open_root(base)?),
    };
    let Some(root) = root else { return Ok(()) };
    open.push((RelPath::empty(), root));
    for path in paths {
        while open
            .last()
            .is_some_and(|(dir, _)| path.relative_to(dir).is_none())
        {
            let (_, dir) = open.pop().expect("because it has a last entry");
            editor.close_directory(dir)?;
        }
        let (mut above, mut parent) = open
            .last()
            .cloned()
            .expect("because all paths are below the root");
        let below = path.relative_to(&above).expect("because the others were closed");
        let mut steps: Vec<&str> = below.components().collect();
        steps.pop();
        for step in steps {
            above = above.join_str(step);
            parent = editor.open_directory(&above, parent, base)?;
            open.push((above.clone(), parent));
        }
        if let Some(dir) = act(editor, Some(parent), path)? {
            open.push((path.clone(), dir));
        }
    }
    while let Some((_, dir)) = open.pop() {
        editor.close_directory(dir)?;
    }
    Ok(())
}
