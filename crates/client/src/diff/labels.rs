//! The paths and labels in the headers of a difference.

use base::{RelPath, Revnum, Url};

use super::ends::Ends;
use super::tree::Action;

/// What the labels of all nodes have in common.
#[derive(Debug)]
pub(super) struct Labels {
    revs: [Revnum; 2],
    /// The paths of the ends below their common directory; empty for the end that is that directory.
    ends: [String; 2],
    /// The path in the repository below which Git's paths are.
    anchor: RelPath,
}

impl Labels {
    pub(super) fn new(ends: &Ends) -> Labels {
        let urls = [&ends.old.url, &ends.new.url];
        Labels {
            revs: [ends.old.rev, ends.new.rev],
            ends: below_common_directory(urls),
            anchor: ends.anchor(),
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
    pub(super) fn git_path(&self, path: &RelPath) -> RelPath {
        self.anchor.join(path)
    }

    /// Returns the labels of the old and the new side.
    pub(super) fn pair(&self, path: &RelPath, action: Action, git: bool) -> [String; 2] {
        [0, 1].map(|side| {
            let state = match (action, side) {
                (Action::Added, 0) | (Action::Deleted, 1) => "(nonexistent)".to_owned(),
                _ => format!("(revision {})", self.revs[side]),
            };
            if git {
                let letter = ["a", "b"][side];
                return format!("{letter}/{}\t{state}", self.git_path(path));
            }
            let index = self.index(path);
            match self.ends[side].as_str() {
                "" => format!("{index}\t{state}"),
                end => format!("{index}\t(.../{end})\t{state}"),
            }
        })
    }
}

/// Returns the paths of two URLs below the deepest directory that contains both, with the escapes of URLs.
fn below_common_directory(urls: [&Url; 2]) -> [String; 2] {
    let [old, new] = urls.map(|url| url.path().split('/'));
    let common = old.zip(new).take_while(|(old, new)| old == new).count();
    urls.map(|url| {
        let rest: Vec<&str> = url.path().split('/').skip(common).collect();
        rest.join("/")
    })
}
