//! The paths and labels in the headers of a difference.

use std::path::PathBuf;

use base::{Code, Error, RelPath, Result, disk_path};

use super::ends::Ends;
use super::local::LocalPaths;
use super::tree::Action;

/// What the labels of all nodes have in common.
#[derive(Debug)]
pub(super) struct Labels {
    /// What the labels say of a node that is there.
    states: [String; 2],
    /// The paths of the ends below their common directory; empty for the end that is that directory.
    ends: [String; 2],
    anchor: Anchor,
}

/// What Git's paths are below.
#[derive(Debug)]
enum Anchor {
    /// A path in the repository.
    Repository(RelPath),
    /// A directory of the local disk. Git's paths are those in a repository: there are none.
    Local(PathBuf),
}

impl Labels {
    pub(super) fn new(ends: &Ends) -> Labels {
        let revs = [ends.old.rev, ends.new.rev];
        Labels {
            states: revs.map(|rev| format!("(revision {rev})")),
            ends: below_common_directory([ends.old.url.path(), ends.new.url.path()]),
            anchor: Anchor::Repository(ends.anchor()),
        }
    }

    pub(super) fn of_paths(paths: &LocalPaths) -> Labels {
        let ends = below_common_directory([&paths.paths[0], &paths.paths[1]]);
        Labels {
            states: [(); 2].map(|()| "(working copy)".to_owned()),
            ends: ends.map(|end| end.trim_start_matches('/').to_owned()),
            anchor: Anchor::Local(paths.directory.clone()),
        }
    }

    /// Returns the path in the line `Index:`.
    pub(super) fn index<'a>(&self, path: &'a RelPath) -> &'a str {
        match path.is_empty() {
            true => ".",
            false => path.as_str(),
        }
    }

    /// Returns the path in Git's lines.
    ///
    /// # Errors
    /// `WC_NOT_WORKING_COPY` for local paths.
    pub(super) fn git_path(&self, path: &RelPath) -> Result<RelPath> {
        match &self.anchor {
            Anchor::Repository(anchor) => Ok(anchor.join(path)),
            Anchor::Local(directory) => {
                let path = directory.join(path.as_str());
                let message = format!("'{}' is not a working copy", disk_path::shown(&path));
                Err(Error::new(Code::WC_NOT_WORKING_COPY, message))
            }
        }
    }

    /// Returns the labels of the old and the new side.
    ///
    /// # Errors
    /// See [`Labels::git_path`].
    pub(super) fn pair(&self, path: &RelPath, action: Action, git: bool) -> Result<[String; 2]> {
        let git_path = match git {
            true => Some(self.git_path(path)?),
            false => None,
        };
        Ok([0, 1].map(|side| {
            let state = match (action, side) {
                (Action::Added, 0) | (Action::Deleted, 1) => "(nonexistent)",
                _ => &self.states[side],
            };
            if let Some(path) = &git_path {
                let letter = ["a", "b"][side];
                return format!("{letter}/{path}\t{state}");
            }
            let index = self.index(path);
            match self.ends[side].as_str() {
                "" => format!("{index}\t{state}"),
                end => format!("{index}\t(.../{end})\t{state}"),
            }
        }))
    }
}

/// Returns the paths of two ends below the deepest directory that contains both; URLs keep their escapes.
fn below_common_directory(paths: [&str; 2]) -> [String; 2] {
    let [old, new] = paths.map(|path| path.split('/'));
    let common = old.zip(new).take_while(|(old, new)| old == new).count();
    paths.map(|path| {
        let rest: Vec<&str> = path.split('/').skip(common).collect();
        rest.join("/")
    })
}
