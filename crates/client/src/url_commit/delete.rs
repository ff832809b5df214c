//! Deletes nodes. Those of one repository are deleted by one commit.

use std::collections::BTreeSet;

use base::{Code, Error, NodeKind, RelPath, Result, Url};
use ra::Session;

use super::path_driver::drive_paths;
use super::{UrlCommit, common_parent};
use crate::commit_item::{CommitItem, ItemChange};

/// The URLs of one repository.
struct Group {
    session: Box<dyn Session>,
    urls: Vec<Url>,
}

/// Deletes nodes.
///
/// # Errors
/// `FS_NOT_FOUND` for a URL that does not exist; `RA_ILLEGAL_URL` for the root of a repository; those of `ui`.
pub fn delete(ui: &mut UrlCommit<'_>, urls: &[Url]) -> Result<()> {
    let mut groups: Vec<Group> = Vec::new();
    let mut seen = BTreeSet::new();
    for url in urls.iter().filter(|url| seen.insert((*url).clone())) {
        let known = groups
            .iter()
            .position(|group| url.relative_to(group.session.root_url()).is_some());
        let at = match known {
            Some(at) => at,
            None => {
                let session = (ui.open)(url)?;
                groups.push(Group {
                    session,
                    urls: Vec::new(),
                });
                groups.len() - 1
            }
        };
        let group = &mut groups[at];
        if url == group.session.root_url() {
            let message = format!("URL '{url}' not within a repository");
            return Err(Error::new(Code::RA_ILLEGAL_URL, message));
        }
        group.session.reparent(url)?;
        if group.session.check_path(&RelPath::empty(), None)? == NodeKind::None {
            let message = format!("URL '{url}' does not exist");
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        }
        group.urls.push(url.clone());
    }
    for mut group in groups {
        // What is below another target goes with it.
        let all = group.urls.clone();
        let is_below = |url: &Url| {
            all.iter()
                .any(|other| other != url && url.relative_to(other).is_some())
        };
        group.urls.retain(|url| !is_below(url));
        delete_in_one(ui, group)?;
    }
    Ok(())
}

fn delete_in_one(ui: &mut UrlCommit<'_>, mut group: Group) -> Result<()> {
    let items: Vec<CommitItem> = group
        .urls
        .iter()
        .map(|url| CommitItem::new(url.as_str(), ItemChange::Delete))
        .collect();
    let base = common_parent(&group.urls)?;
    let mut paths: Vec<RelPath> = group
        .urls
        .iter()
        .filter_map(|url| url.relative_to(&base))
        .collect();
    paths.sort_by(RelPath::cmp_tree);
    let Some(revprops) = ui.describe(&items)? else {
        return Ok(());
    };
    group.session.reparent(&base)?;
    ui.commit(&mut *group.session, revprops, &mut |editor| {
        drive_paths(editor, None, &paths, &mut |editor, parent, path| {
            let parent = parent.expect("because all URLs are below the session's");
            editor.delete_entry(path, None, parent).map(|()| None)
        })
    })
}
