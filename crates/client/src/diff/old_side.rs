//! What the old end has: read over a session of its own, while the first session drives the edit.

use base::{Cancel, NodeKind, Props, RelPath, Result, Revnum, Url, props};
use ra::{Directory, DirectoryRequest, DirentFields, FileRequest, Session};

use super::text::Text;
use super::tree::{FileSide, Needs};
use super::{Sessions, TreeOptions};

/// Reads nodes of the old end. Paths are below the root of the edit.
pub(super) struct OldSide<'a> {
    sessions: &'a Sessions<'a>,
    cancel: &'a Cancel,
    url: Url,
    rev: Revnum,
    session: Option<Box<dyn Session>>,
}

impl<'a> OldSide<'a> {
    /// `url` is the root of the edit. The session is taken when it is needed, and kept for the next comparison.
    pub(super) fn new(tree: &TreeOptions<'a>, url: Url, rev: Revnum) -> OldSide<'a> {
        OldSide {
            sessions: tree.sessions,
            cancel: tree.cancel,
            url,
            rev,
            session: None,
        }
    }

    fn session(&mut self) -> Result<&mut dyn Session> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.sessions.take(&self.url)?,
        };
        Ok(&mut **self.session.insert(session))
    }

    pub(super) fn kind(&mut self, path: &RelPath) -> Result<NodeKind> {
        let rev = self.rev;
        self.session()?.check_path(path, Some(rev))
    }

    pub(super) fn file(&mut self, path: &RelPath, needs: Needs) -> Result<FileSide> {
        let (rev, cancel) = (self.rev, self.cancel);
        read_file(self.session()?, path, rev, needs, cancel)
    }

    pub(super) fn props(&mut self, path: &RelPath) -> Result<Props> {
        Ok(self.directory(path, true, None)?.props)
    }

    /// Reads a directory with its regular properties.
    pub(super) fn directory(
        &mut self,
        path: &RelPath,
        props: bool,
        entries: Option<DirentFields>,
    ) -> Result<Directory> {
        let request = DirectoryRequest {
            path,
            rev: Some(self.rev),
            props,
            entries,
        };
        let mut directory = self.session()?.directory(&request)?;
        directory.props.retain(|name, _| props::is_regular(name));
        Ok(directory)
    }
}

impl Drop for OldSide<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.sessions.put(session);
        }
    }
}

/// Reads what is needed of a file.
pub(super) fn read_file(
    session: &mut dyn Session,
    path: &RelPath,
    rev: Revnum,
    needs: Needs,
    cancel: &Cancel,
) -> Result<FileSide> {
    let mut side = FileSide::default();
    if !needs.props && !needs.text {
        return Ok(side);
    }
    let request = FileRequest {
        path,
        rev: Some(rev),
        props: needs.props,
        text: needs.text,
    };
    let mut text = Text::default();
    let info = session.file(&request, &mut |_, piece| {
        cancel.check()?;
        text.push(piece)
    })?;
    side.text = text;
    side.props = info.props;
    side.props.retain(|name, _| props::is_regular(name));
    Ok(side)
}
