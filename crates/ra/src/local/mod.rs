//! file://: a repository on disk, used directly, with its hooks and locks. Access rules do not apply: who may read the
//! files may read the repository.
//!
//! [`edits`] has the requests that drive an edit, [`convert`] turns the values of `repos` into those of sessions.

mod convert;
mod edits;

use base::{
    Code, Date, Depth, Error, FsPath, Lock, Mergeinfo, NodeKind, Props, RelPath, Result, Revnum, Url,
    disk_path, percent,
};
use delta::editor::Editor;
use repos::access::Everything;
use repos::change_revprop;
use repos::hooks::Hooks;
use repos::user_locks::{LockOutcome, LockRequest, LockTarget as RepositoryTarget};
use repos::{Cache, Repository, file_revs, history, list, log, mergeinfo};

pub(crate) use repos::list::fold;

use crate::answers::{
    CommitInfo, Directory, Dirent, FileInfo, FileRevSink, LocationSegment, LogEntry, ReplaySink,
};
use crate::options::OpenOptions;
use crate::requests::{
    Capability, CommitRequest, DirectoryRequest, FileRequest, FileRevsRequest, ListRequest, LockTarget,
    LogRequest, LogRevprops, MergeinfoOf, MergeinfoRequest, ReplayOptions, ReportRequest, Reporter,
    RevpropChange, UnlockTarget,
};
use crate::session::{Session, replay_each};

/// A session with a repository on disk.
pub(crate) struct LocalSession {
    repository: Repository,
    /// The hooks, once a request runs them: reading needs no `hooks-env`.
    hooks: Option<Hooks>,
    options: OpenOptions,
    /// The user, once a request needs it.
    user: Option<Option<String>>,
    url: Url,
    root: Url,
    uuid: String,
    /// The path of `url` in the repository.
    path: FsPath,
}

impl LocalSession {
    /// Opens a session with the repository that the path of a URL is in.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for another host; `RA_LOCAL_REPOS_OPEN_FAILED`.
    pub(crate) fn open(url: &Url, options: &OpenOptions) -> Result<LocalSession> {
        let host = url.as_str()["file://".len()..].split('/').next().unwrap_or("");
        if !matches!(&*percent::decode(host.as_bytes()), b"" | b"localhost") {
            let message = format!("Local URL '{url}' contains unsupported hostname");
            return Err(Error::new(Code::RA_ILLEGAL_URL, message));
        }
        let failed = || format!("Unable to open repository '{url}'");
        let disk_path = disk_path::of_text(&format!("/{}", url.decoded_path()))?;
        let wrap = |error: Error| error.wrap(Code::RA_LOCAL_REPOS_OPEN_FAILED, failed());
        let Some(folder) = Repository::search_upward(&disk_path).map_err(wrap)? else {
            return Err(Error::new(Code::RA_LOCAL_REPOS_OPEN_FAILED, failed()));
        };
        let opened = Repository::open(&folder, &Cache::new(options.cache_bytes as _));
        let repository = opened.map_err(wrap)?;
        let mut root = url.clone();
        for _ in folder.components().count()..disk_path.components().count() {
            root = root.parent().unwrap_or(root);
        }
        Ok(LocalSession {
            hooks: None,
            user: None,
            options: options.clone(),
            uuid: repository.uuid(),
            path: FsPath::root().join(&url.relative_to(&root).unwrap_or_default()),
            url: url.clone(),
            root,
            repository,
        })
    }

    /// Returns the user, whom the caller's credentials name when the first request needs one.
    fn user(&mut self) -> Result<Option<String>> {
        if let Some(user) = &self.user {
            return Ok(user.clone());
        }
        let user = self.options.credentials.local_user(&self.uuid)?;
        self.user = Some(user.clone());
        Ok(user)
    }

    fn at(&self, path: &RelPath) -> FsPath {
        self.path.join(path)
    }

    fn rev(&self, rev: Option<Revnum>) -> Result<Revnum> {
        match rev {
            Some(rev) => Ok(rev),
            None => self.repository.youngest(),
        }
    }

    fn now(&self) -> Date {
        (self.options.clock)()
    }

    /// Returns the path in the repository of a URL.
    fn path_of(&self, url: &Url) -> Result<FsPath> {
        match url.relative_to(&self.root) {
            Some(path) => Ok(FsPath::root().join(&path)),
            None => Err(crate::foreign_url(url, &self.root)),
        }
    }
}

impl Session for LocalSession {
    fn url(&self) -> &Url {
        &self.url
    }

    fn root_url(&self) -> &Url {
        &self.root
    }

    fn uuid(&self) -> &str {
        &self.uuid
    }

    fn is_usable(&self) -> bool {
        true
    }

    fn reparent(&mut self, url: &Url) -> Result<()> {
        self.path = self.path_of(url)?;
        self.url = url.clone();
        Ok(())
    }

    fn has(&mut self, capability: Capability) -> Result<bool> {
        match capability {
            Capability::Mergeinfo => Ok(self.repository.tracks_merges()),
            _ => Ok(true),
        }
    }

    fn latest_revision(&mut self) -> Result<Revnum> {
        self.repository.youngest()
    }

    fn dated_revision(&mut self, date: Date) -> Result<Revnum> {
        self.repository.dated_revision(date)
    }

    fn revprops(&mut self, rev: Revnum) -> Result<Props> {
        self.repository.revprops(rev, &Everything)
    }

    fn revprop(&mut self, rev: Revnum, name: &str) -> Result<Option<Vec<u8>>> {
        self.repository.revprop(rev, name, &Everything)
    }

    fn change_revprop(&mut self, change: &RevpropChange<'_>) -> Result<()> {
        let user = self.user()?;
        let change = change_revprop::RevpropChange {
            rev: change.rev,
            name: change.name,
            expected: change.expected,
            value: change.value,
            user: user.as_deref(),
        };
        let hooks = self.hooks()?;
        self.repository
            .change_revprop(&change, Some(&hooks), Some(&hooks), &Everything)
    }

    fn check_path(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<NodeKind> {
        self.repository.check_path(self.rev(rev)?, &self.at(path))
    }

    fn stat(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<Option<Dirent>> {
        let found = self.repository.stat(self.rev(rev)?, &self.at(path))?;
        Ok(found.as_ref().map(convert::dirent))
    }

    fn file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo> {
        let path = self.at(request.path);
        let file = self.repository.file(self.rev(request.rev)?, &path);
        let file = file.map_err(|error| convert::file_error(error, &path))?;
        let info = FileInfo {
            rev: file.rev,
            md5: Some(file.md5),
            props: match request.props {
                true => file.props()?,
                false => Props::new(),
            },
        };
        if request.text {
            // The reader compares the digest at the end.
            let mut reader = file.reader()?;
            loop {
                self.options.cancel.check()?;
                let piece = reader.fill()?;
                if piece.is_empty() {
                    break;
                }
                text(&info, piece)?;
                let length = piece.len();
                reader.consume(length);
            }
        }
        Ok(info)
    }

    fn directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory> {
        let (rev, path) = (self.rev(request.rev)?, self.at(request.path));
        let props = match request.props {
            true => self.repository.node_props(rev, &path)?,
            false => Props::new(),
        };
        let entries = match request.entries {
            Some(fields) => self
                .repository
                .directory(rev, &path, convert::fields(fields), &Everything)?,
            None => Vec::new(),
        };
        let entries = entries
            .iter()
            .map(|(name, found)| (name.to_string(), convert::dirent(found)));
        Ok(Directory {
            rev,
            props,
            entries: entries.collect(),
        })
    }

    fn list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()> {
        let (rev, top) = (self.rev(request.rev)?, self.at(request.path));
        let options = list::ListOptions {
            depth: request.depth,
            fields: convert::fields(request.fields),
            patterns: request
                .patterns
                .map(|all| all.iter().map(|pattern| fold(pattern)).collect()),
        };
        let mut sink = |path: &FsPath, found: &repos::Dirent| {
            let below = path.relative_to(&top).unwrap_or_default();
            entry(&below, &convert::dirent(found))
        };
        let cancel = &self.options.cancel;
        list::run(
            &self.repository,
            &top,
            rev,
            &options,
            &Everything,
            &mut sink,
            cancel,
        )
    }

    fn inherited_props(&mut self, path: &RelPath, rev: Revnum) -> Result<Vec<(RelPath, Props)>> {
        self.repository
            .inherited_props(rev, &self.at(path), None, &Everything)
    }

    fn mergeinfo(&mut self, request: &MergeinfoRequest<'_>) -> Result<Vec<(RelPath, Mergeinfo)>> {
        self.check_tracks_merges()?;
        let paths: Vec<FsPath> = request.paths.iter().map(|path| self.at(path)).collect();
        let inherit = match request.of {
            MergeinfoOf::Explicit => mergeinfo::Inheritance::Explicit,
            MergeinfoOf::Inherited => mergeinfo::Inheritance::Inherited,
            MergeinfoOf::NearestAncestor => mergeinfo::Inheritance::NearestAncestor,
        };
        let rev = self.rev(request.rev)?;
        let found = mergeinfo::get(
            &self.repository,
            &paths,
            rev,
            inherit,
            request.descendants,
            &Everything,
        )?;
        let found = found.into_iter();
        let mut found: Vec<_> = found
            .map(|(path, info)| (path.relative_to(&self.path).unwrap_or_default(), info))
            .collect();
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn log(&mut self, request: &LogRequest, entry: &mut dyn FnMut(&LogEntry) -> Result<()>) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        let options = log::LogOptions {
            paths: match request.paths.is_empty() {
                true => vec![self.path.clone()],
                false => request.paths.iter().map(|path| self.at(path)).collect(),
            },
            start: request.start,
            end: request.end,
            limit: request.limit,
            changed_paths: request.changed_paths,
            strict: request.strict,
            include_merged: request.include_merged,
            revprops: match &request.revprops {
                LogRevprops::All => log::Revprops::All,
                LogRevprops::Names(names) => log::Revprops::Names(names.clone()),
            },
        };
        let mut sink = |found: &log::LogEntry<'_>| entry(&convert::log_entry(found)?);
        log::run(
            &self.repository,
            &options,
            &Everything,
            &mut sink,
            &self.options.cancel,
        )
    }

    fn locations(&mut self, path: &RelPath, peg: Revnum, revs: &[Revnum]) -> Result<Vec<(Revnum, FsPath)>> {
        history::locations(&self.repository, &self.at(path), peg, revs, &Everything)
    }

    fn location_segments(
        &mut self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        segment: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()> {
        if let (Some(peg), Some(start)) = (peg, start)
            && start > peg
        {
            // The text of the incumbent's local access, which differs from that of its servers.
            let missing = if peg > self.repository.youngest()? {
                peg
            } else {
                start
            };
            let message = format!("No such revision {missing}");
            return Err(Error::new(Code::FS_NO_SUCH_REVISION, message));
        }
        let mut sink = |found: history::LocationSegment| {
            segment(&LocationSegment {
                start: found.start,
                end: found.end,
                path: found.path,
            })
        };
        history::location_segments(
            &self.repository,
            &self.at(path),
            peg,
            start,
            end,
            &Everything,
            &mut sink,
        )
    }

    fn deleted_revision(&mut self, path: &RelPath, peg: Revnum, end: Revnum) -> Result<Option<Revnum>> {
        history::deleted_rev(&self.repository, &self.at(path), peg, end)
    }

    fn file_revs(&mut self, request: &FileRevsRequest<'_>, sink: &mut dyn FileRevSink) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        file_revs::run(
            &self.repository,
            &self.at(request.path),
            request.start,
            request.end,
            request.include_merged,
            &Everything,
            &mut convert::FileRevs(sink),
            &self.options.cancel,
        )
    }

    fn lock(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()> {
        let each: Vec<RepositoryTarget> = targets
            .iter()
            .map(|target| RepositoryTarget {
                path: self.at(&target.path),
                token: None,
                rev: target.rev,
            })
            .collect();
        // A user without a name has no locks.
        let user = self.user()?.filter(|user| !user.is_empty());
        let hooks = self.hooks()?;
        let request = LockRequest {
            user: user.as_deref(),
            comment,
            is_dav_comment: false,
            expires: None,
            steal,
        };
        let done = self
            .repository
            .lock_many(&each, &request, Some(&hooks), self.now())?;
        pass_each(targets.iter().map(|target| &target.path), done, outcome)
    }

    fn unlock(
        &mut self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()> {
        let each: Vec<_> = targets
            .iter()
            .map(|target| (self.at(&target.path), target.token.clone()))
            .collect();
        let user = self.user()?.filter(|user| !user.is_empty());
        let hooks = self.hooks()?;
        let done = self
            .repository
            .unlock_many(&each, user.as_deref(), force, Some(&hooks))?;
        pass_each(targets.iter().map(|target| &target.path), done, outcome)
    }

    fn get_lock(&mut self, path: &RelPath) -> Result<Option<Lock>> {
        self.repository.get_lock(&self.at(path))
    }

    fn get_locks(&mut self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>> {
        if depth < Depth::Empty {
            let message = "Invalid 'depth' specified in get-locks request";
            return Err(Error::new(Code::INCORRECT_PARAMS, message));
        }
        let mut locks = self.repository.locks(&self.at(path), depth, &Everything)?;
        locks.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(locks)
    }

    fn report(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        self.report_and_drive(request, state, editor)
    }

    fn commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo> {
        self.drive_commit(request, drive)
    }

    fn replay(&mut self, rev: Revnum, options: &ReplayOptions, editor: &mut dyn Editor) -> Result<()> {
        self.replay_one(rev, options, editor)
    }

    fn replay_range(
        &mut self,
        start: Revnum,
        end: Revnum,
        options: &ReplayOptions,
        sink: &mut dyn ReplaySink,
    ) -> Result<()> {
        replay_each(self, start, end, options, sink)
    }
}

/// Passes the outcomes of a request in its order, then the error of the hook behind it.
fn pass_each<'a, T>(
    paths: impl Iterator<Item = &'a RelPath>,
    done: LockOutcome<T>,
    outcome: &mut dyn FnMut(&RelPath, Result<T>) -> Result<()>,
) -> Result<()> {
    for (path, (_, result)) in paths.zip(done.each) {
        outcome(path, result)?;
    }
    match done.post_hook_error {
        None => Ok(()),
        Some(error) => Err(error),
    }
}
