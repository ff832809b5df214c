//! Makes directories.

use std::collections::BTreeSet;

use base::{Code, Error, NodeKind, RelPath, Result, Url};
use ra::Session;

use super::path_driver::drive_paths;
use super::{UrlCommit, common_parent};
use crate::commit_item::{CommitItem, ItemChange};

/// Makes directories, with those above them if `with_parents`.
///
/// # Errors
/// `ILLEGAL_TARGET` for a URL without a path; `FS_ALREADY_EXISTS` and `FS_NOT_FOUND` of the commit; those of `ui`.
pub fn mkdir(ui: &mut UrlCommit<'_>, urls: &[Url], with_parents: bool) -> Result<()> {
    let mut session = None;
    let mut wanted: Vec<Url> = Vec::new();
    if with_parents {
        let mut first = (ui.open)(&urls[0])?;
        for url in urls {
            add_with_parents(&mut *first, url, &mut wanted)?;
        }
        session = Some(first);
    } else {
        wanted.extend_from_slice(urls);
    }
    let mut seen = BTreeSet::new();
    wanted.retain(|url| seen.insert(url.clone()));
    if let Some(top) = wanted.iter().find(|url| url.path().is_empty()) {
        let message = format!("There is no valid URI above '{top}'");
        return Err(Error::new(Code::ILLEGAL_TARGET, message));
    }
    let items: Vec<CommitItem> = wanted
        .iter()
        .map(|url| CommitItem::new(url.as_str(), ItemChange::Add))
        .collect();
    let Some(revprops) = ui.describe(&items)? else {
        return Ok(());
    };
    let base = common_parent(&wanted)?;
    let mut paths: Vec<RelPath> = wanted.iter().filter_map(|url| url.relative_to(&base)).collect();
    paths.sort_by(RelPath::cmp_tree);
    let mut session = match session {
        Some(mut session) => {
            session.reparent(&base)?;
            session
        }
        None => (ui.open)(&base)?,
    };
    ui.commit(&mut *session, revprops, &mut |editor| {
        drive_paths(editor, None, &paths, &mut |editor, parent, path| {
            let parent = parent.expect("because all URLs are below the session's");
            editor.add_directory(path, parent, None).map(Some)
        })
    })
}

/// Adds a URL to `wanted`, behind those of the directories above it that do not exist.
///
/// # Errors
/// `RA_ILLEGAL_URL` for the root of the repository.
fn add_with_parents(session: &mut dyn Session, url: &Url, wanted: &mut Vec<Url>) -> Result<()> {
    let mut missing = vec![url.clone()];
    let mut above = url.parent();
    while let Some(dir) = above {
        if dir.relative_to(session.root_url()).is_none() {
            let root = session.root_url();
            let message = format!("'{dir}' isn't in the same repository as '{root}'");
            return Err(Error::new(Code::RA_ILLEGAL_URL, message));
        }
        session.reparent(&dir)?;
        if session.check_path(&RelPath::empty(), None)? != NodeKind::None {
            break;
        }
        above = dir.parent();
        missing.push(dir);
    }
    wanted.extend(missing.into_iter().rev());
    Ok(())
}
