//! The `Session` trait: everything that a client can request of a repository.

use base::{
    Code, Date, Depth, Error, FsPath, Lock, Mergeinfo, NodeKind, Props, RelPath, Result, Revnum, Url,
};
use delta::editor::Editor;

use crate::answers::{
    CommitInfo, Directory, Dirent, FileInfo, FileRevSink, LocationSegment, LogEntry, ReplaySink,
};
use crate::requests::{
    Capability, CommitRequest, DirectoryRequest, FileRequest, FileRevsRequest, ListRequest, LockTarget,
    LogRequest, MergeinfoRequest, ReplayOptions, ReportRequest, Reporter, RevpropChange, UnlockTarget,
};

/// An open connection to a repository, at one of its URLs. Relative paths are below that URL. A revision of `None` is
/// the youngest one.
///
/// All methods block. Long answers are passed to a callback as they arrive; a callback that fails ends the request with
/// its error. After such an error the session remains usable, or [`Session::is_usable`] returns false: then every
/// further request fails with the error that made it unusable.
pub trait Session: Send {
    /// The URL of the session.
    fn url(&self) -> &Url;

    /// The URL of the repository's root: `url` is at or below it.
    fn root_url(&self) -> &Url;

    /// The repository's UUID.
    fn uuid(&self) -> &str;

    /// False after an error that leaves the connection in an unknown state, or closed.
    fn is_usable(&self) -> bool;

    /// Moves the session to another URL of the repository. Need not exist.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for a URL of another repository.
    fn reparent(&mut self, url: &Url) -> Result<()>;

    /// Returns whether the server and the repository have a capability.
    ///
    /// # Errors
    /// Those of the connection.
    fn has(&mut self, capability: Capability) -> Result<bool>;

    /// Refuses a question about merges to a repository that does not track them, as the incumbent's clients do before they ask.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE`; those of [`Session::has`].
    fn check_tracks_merges(&mut self) -> Result<()> {
        match self.has(Capability::Mergeinfo)? {
            true => Ok(()),
            false => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                format!("Retrieval of mergeinfo unsupported by '{}'", self.url()),
            )),
        }
    }

    /// Returns the youngest revision.
    ///
    /// # Errors
    /// Those of the connection, as for all methods below.
    fn latest_revision(&mut self) -> Result<Revnum>;

    /// Returns the youngest revision that is not younger than `date`.
    fn dated_revision(&mut self, date: Date) -> Result<Revnum>;

    /// Returns the revision properties that the user may see.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn revprops(&mut self, rev: Revnum) -> Result<Props>;

    /// Returns one revision property.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn revprop(&mut self, rev: Revnum, name: &str) -> Result<Option<Vec<u8>>>;

    /// Sets or deletes a revision property.
    ///
    /// # Errors
    /// `REPOS_DISABLED_FEATURE` and `REPOS_HOOK_FAILURE`; `FS_PROP_BASEVALUE_MISMATCH` if the property does not have the
    /// expected value; `RA_NOT_IMPLEMENTED` for an expected value without [`Capability::AtomicRevprops`].
    fn change_revprop(&mut self, change: &RevpropChange<'_>) -> Result<()>;

    /// Returns the kind of a node; [`NodeKind::None`] if there is none.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn check_path(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<NodeKind>;

    /// Describes a node; `None` if there is none.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn stat(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<Option<Dirent>>;

    /// Reads a file. Its text, if `request` asks for it, is passed in pieces to `text`, together with everything else
    /// about the file, and is compared with its MD5 at the end. `text` is not called for an empty file.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_FILE`, `CHECKSUM_MISMATCH`; whatever `text` returns.
    fn file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo>;

    /// Reads a directory: its entries, sorted by name, and its properties.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`.
    fn directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory>;

    /// Lists a tree: first the node itself, then what is below it, each directory's entries in byte order of names.
    /// `entry` gets paths relative to the path of the request.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `RA_NOT_IMPLEMENTED` without [`Capability::List`]; whatever `entry` returns.
    fn list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()>;

    /// Returns the properties of the ancestors of `path` that have any, root first, with their paths in the repository.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `RA_NOT_IMPLEMENTED` without [`Capability::InheritedProps`].
    fn inherited_props(&mut self, path: &RelPath, rev: Revnum) -> Result<Vec<(RelPath, Props)>>;

    /// Returns the mergeinfo of paths, sorted by path; paths without any are left out.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `UNSUPPORTED_FEATURE` for a repository that does not track merges.
    fn mergeinfo(&mut self, request: &MergeinfoRequest<'_>) -> Result<Vec<(RelPath, Mergeinfo)>>;

    /// Passes the log to `entry`, as it arrives.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NO_SUCH_REVISION`; whatever `entry` returns.
    fn log(&mut self, request: &LogRequest, entry: &mut dyn FnMut(&LogEntry) -> Result<()>) -> Result<()>;

    /// Returns the paths in the repository of the node `path`@`peg` in each of `revs`, youngest first; revisions in which
    /// it did not exist are left out.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` if `path` is not in `peg`, or not in one of `revs` younger than it.
    fn locations(&mut self, path: &RelPath, peg: Revnum, revs: &[Revnum]) -> Result<Vec<(Revnum, FsPath)>>;

    /// Passes the paths of the node `path`@`peg` from `start` back to `end` (`None` is 0), youngest first.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NO_SUCH_REVISION`; whatever `segment` returns.
    fn location_segments(
        &mut self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        segment: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()>;

    /// Returns the revision in which `path`@`peg` was deleted, up to `end`; `None` if it was not.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn deleted_revision(&mut self, path: &RelPath, peg: Revnum, end: Revnum) -> Result<Option<Revnum>>;

    /// Passes the revisions of a file, each as a difference from the one before; the first from the empty file.
    ///
    /// # Errors
    /// `FS_NOT_FILE`, `FS_NO_SUCH_REVISION`; `RA_NOT_IMPLEMENTED` for youngest first without
    /// [`Capability::FileRevsReverse`]; whatever `sink` returns.
    fn file_revs(&mut self, request: &FileRevsRequest<'_>, sink: &mut dyn FileRevSink) -> Result<()>;

    /// Locks files. `outcome` gets the result for each, in the order of `targets`.
    ///
    /// # Errors
    /// Errors that concern all files, as `RA_NOT_AUTHORIZED`; `REPOS_POST_LOCK_HOOK_FAILED` after all were locked.
    fn lock(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()>;

    /// Unlocks files. With `force`, locks of any owner are broken, without a token. `outcome` gets the result for
    /// each, in the order of `targets`.
    ///
    /// # Errors
    /// As of [`Session::lock`].
    fn unlock(
        &mut self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()>;

    /// Returns the lock of a file.
    fn get_lock(&mut self, path: &RelPath) -> Result<Option<Lock>>;

    /// Returns the locks at and below a path, sorted by path.
    fn get_locks(&mut self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>>;

    /// Describes a working copy to the server, and drives `editor` with the differences to another tree: update, switch,
    /// status and diff. `state` reports what the caller has. The edit is closed or aborted by the session; paths in it are
    /// relative to the session's URL.
    ///
    /// # Errors
    /// Those of `state` and `editor`; `FS_PATH_SYNTAX` if the target does not exist; `REPOS_BAD_REVISION_REPORT` for an
    /// impossible state.
    fn report(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()>;

    /// Commits what `drive` describes. Its editor is rooted at the session's URL; sources of copies are URLs. If `drive`
    /// succeeds without an end of the edit, the session closes it; if `drive` fails, the session aborts it.
    ///
    /// # Errors
    /// Those of `drive`, and those of the server: they come out of a call of the editor, or at the end.
    fn commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo>;

    /// Drives `editor` with the changes of one revision, without an end of the edit (but a failed one is aborted). Paths are relative to the
    /// repository's root. Only changes at, below and above the session's URL are sent.
    ///
    /// # Errors
    /// Those of `editor`; `FS_NO_SUCH_REVISION`.
    fn replay(&mut self, rev: Revnum, options: &ReplayOptions, editor: &mut dyn Editor) -> Result<()>;

    /// Passes each revision from `start` to `end` to `sink`, as [`Session::replay`] would.
    ///
    /// # Errors
    /// Those of `sink`; `FS_NO_SUCH_REVISION`.
    fn replay_range(
        &mut self,
        start: Revnum,
        end: Revnum,
        options: &ReplayOptions,
        sink: &mut dyn ReplaySink,
    ) -> Result<()>;
}

/// Passes a range of revisions to `sink`, each by a request of its own.
pub(crate) fn replay_each(
    session: &mut dyn Session,
    start: Revnum,
    end: Revnum,
    options: &ReplayOptions,
    sink: &mut dyn ReplaySink,
) -> Result<()> {
    for rev in (start.0..=end.0).map(Revnum) {
        let revprops = session.revprops(rev)?;
        sink.revision(rev, &revprops, &mut |editor| session.replay(rev, options, editor))?;
    }
    Ok(())
}
