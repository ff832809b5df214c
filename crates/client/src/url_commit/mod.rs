//! Commits of changes to URLs: directories, deletions, copies, moves. All changes of one command in one repository make one revision.
//!
//! Each command finds out what it needs from the repository, describes the coming changes to its caller ([`DescribeCommit`]) and drives
//! the edit in the order of paths ([`path_driver`]).

mod copy;
mod delete;
mod mkdir;
pub mod path_driver;
mod pin_externals;

use base::{Code, Error, Props, Result, Url};
use delta::editor::Editor;
use ra::{CommitInfo, CommitRequest, Session};

use crate::commit_item::{CommitItem, DescribeCommit};

pub use copy::{CopyRequest, CopySource, copy};
pub use delete::delete;
pub use mkdir::mkdir;
pub use pin_externals::PinExternals;

/// What the commands need of their caller.
pub struct UrlCommit<'a> {
    /// Opens a session.
    pub open: &'a dyn Fn(&Url) -> Result<Box<dyn Session>>,
    /// Returns the revision properties of a commit.
    pub describe: &'a mut DescribeCommit<'a>,
    /// Receives the progress of the commit.
    pub notify: &'a mut dyn FnMut(CommitEvent<'_>) -> Result<()>,
}

/// The progress of a commit.
#[derive(Clone, Copy, Debug)]
pub enum CommitEvent<'a> {
    /// All changes were sent, and the commit is about to be made.
    Finalizing,
    /// The commit was made.
    Committed(&'a CommitInfo),
}

impl UrlCommit<'_> {
    /// Asks the caller for the revision properties; `None` if the user gives up.
    fn describe(&mut self, items: &[CommitItem]) -> Result<Option<Props>> {
        (self.describe)(items)
    }

    /// Commits what `drive` describes.
    fn commit(
        &mut self,
        session: &mut dyn Session,
        revprops: Props,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<()> {
        let request = CommitRequest {
            revprops,
            ..CommitRequest::default()
        };
        let notify = &mut self.notify;
        let info = session.commit(&request, &mut |editor| {
            drive(editor)?;
            notify(CommitEvent::Finalizing)?;
            editor.close_edit()
        })?;
        (self.notify)(CommitEvent::Committed(&info))
    }
}

/// Returns the deepest URL that all of `urls` are at or below.
///
/// # Errors
/// `RA_ILLEGAL_URL` if there is none.
pub fn common_ancestor(urls: &[Url]) -> Result<Url> {
    let nothing = || Error::new(Code::RA_ILLEGAL_URL, "Illegal repository URL ''");
    let is_common = |url: &Url| !url.path().is_empty() || !url.authority().is_empty();
    let mut common = urls.first().cloned().ok_or_else(nothing)?;
    for url in urls {
        if *url == common {
            continue;
        }
        while !is_common(&common) || url.relative_to(&common).is_none() {
            common = common.parent().filter(is_common).ok_or_else(nothing)?;
        }
    }
    Ok(common)
}

/// As [`common_ancestor`], but all URLs are below the result.
///
/// # Errors
/// `RA_ILLEGAL_URL` if there is none.
pub fn common_parent(urls: &[Url]) -> Result<Url> {
    let common = common_ancestor(urls)?;
    match urls.contains(&common) {
        true => Ok(common.parent().unwrap_or(common)),
        false => Ok(common),
    }
}
