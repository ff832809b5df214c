//! svn:// and svn+NAME://: sessions with a server that speaks Subversion's own protocol.
//!
//! [`connection`] is the byte stream (a socket, or the pipes of a [`tunnel`]), [`login`] opens the conversation and
//! authenticates. A request is one command; [`SvnSession::start`] sends it and authenticates if the server demands
//! that, [`SvnSession::response`] reads the response. [`nodes`], [`history`], [`locks`] are requests that only the server
//! answers; in [`report`], [`replay`] and [`commit`] one side drives an edit, without waiting for the other.
//!
//! The server's session has a URL of its own, at or above the session's: moving to a URL below costs nothing, because
//! the paths of commands begin with the difference then. Edits need the exact URL.

mod commit;
mod connection;
mod history;
mod locks;
mod login;
mod nodes;
mod replay;
mod report;
mod tunnel;

use base::{
    Code, Date, Depth, Error, FsPath, Lock, Mergeinfo, NodeKind, Props, RelPath, Result, Revnum, Url,
};
use delta::editor::Editor;
use delta::svndiff::Codec;
use wire::svn::command::{AtRev, ChangeRevProp, Command, ExpectedValue};
use wire::svn::handshake::Capabilities;
use wire::svn::response::{Response, parse_proplist};
use wire::svn::response_read::{parse_inherited, revision};
use wire::svn::{Item, Malformed, Tuple};

use crate::answers::{
    CommitInfo, Directory, Dirent, FileInfo, FileRevSink, LocationSegment, LogEntry, ReplaySink,
};
use crate::options::OpenOptions;
use crate::requests::{
    Capability, CommitRequest, DirectoryRequest, FileRequest, FileRevsRequest, ListRequest, LockTarget,
    LogRequest, MergeinfoRequest, ReplayOptions, ReportRequest, Reporter, RevpropChange, UnlockTarget,
};
use crate::session::Session;
use connection::Connection;
pub(crate) use locks::is_within;

/// A session over svn:// or a tunnel.
pub(crate) struct SvnSession {
    conn: Connection,
    options: OpenOptions,
    url: Url,
    /// The URL of the server's session: at or above `url`.
    server_url: Url,
    root: Url,
    uuid: String,
    /// Those of the server and of the repository.
    capabilities: Capabilities,
    codec: Codec,
}

impl SvnSession {
    /// Sends a command, and authenticates if the server demands it.
    ///
    /// # Errors
    /// The server's refusal; `RA_NOT_IMPLEMENTED` if it does not know the command.
    fn start(&mut self, command: &Command) -> Result<()> {
        command.write(self.conn.out());
        self.authenticate()
            .map(drop)
            .map_err(|error| match error.has(Code::RA_SVN_UNKNOWN_CMD) {
                true => error.wrap(
                    Code::RA_NOT_IMPLEMENTED,
                    format!("'{}' not implemented", command.name()),
                ),
                false => error,
            })
    }

    /// Reads a response; `read` gets its parameters.
    fn response<T>(&mut self, read: impl FnOnce(Tuple<'_>) -> Result<T, Malformed>) -> Result<T> {
        let read = match self.conn.receive_list().map(Response::parse)? {
            Ok(Response::Success(params)) => read(params),
            Ok(Response::Failure(error)) => return Err(error),
            Err(what) => Err(what),
        };
        read.map_err(|what| self.conn.lose(what.into()))
    }

    /// Runs a command with one response.
    fn call<T>(
        &mut self,
        command: &Command,
        read: impl FnOnce(Tuple<'_>) -> Result<T, Malformed>,
    ) -> Result<T> {
        self.start(command)?;
        self.response(read)
    }

    /// Reads a stream of lists up to the word `done`, and the response behind it. `read` makes a value of each list; it may be called
    /// twice for one. An error of `read` or `each` makes the connection unusable, because the rest of the stream is not read.
    fn stream<T>(
        &mut self,
        read: impl Fn(&mut Tuple<'_>) -> Result<T>,
        mut each: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        loop {
            let value = match self.conn.read_received(&read) {
                Some(value) => Ok(value),
                None => match self.conn.receive()? {
                    Item::Word("done") => break,
                    Item::List(mut tuple) => match failure(tuple) {
                        // An error that the server found before the stream began.
                        Some(Ok(error)) => return Err(error),
                        Some(Err(what)) => Err(what.into()),
                        None => read(&mut tuple),
                    },
                    _ => Err(Malformed::Kind.into()),
                },
            };
            if let Err(error) = value.and_then(&mut each) {
                return Err(self.conn.lose(error));
            }
        }
        self.response(|_| Ok(()))
    }

    /// Returns a path as commands name it: relative to the server's URL.
    fn path(&self, path: &RelPath) -> String {
        let prefix = self.url.relative_to(&self.server_url).unwrap_or_default();
        prefix.join(path).as_str().to_owned()
    }

    fn at(&self, path: &RelPath, rev: Option<Revnum>) -> AtRev {
        AtRev {
            path: self.path(path),
            rev,
        }
    }

    /// Returns the path in the repository of a path below the session's URL.
    fn fs_path(&self, path: &RelPath) -> FsPath {
        let session = self.url.relative_to(&self.root).unwrap_or_default();
        FsPath::root().join(&session).join(path)
    }

    /// Moves the server's session.
    fn move_server(&mut self, url: &Url) -> Result<()> {
        if self.server_url == *url {
            return Ok(());
        }
        let command = Command::Reparent {
            url: url.as_str().to_owned(),
        };
        match self.call(&command, |_| Ok(())) {
            Ok(()) => {
                self.server_url = url.clone();
                Ok(())
            }
            Err(error) if error.has(Code::RA_SVN_UNKNOWN_CMD) => {
                // A server before 1.4: only a new connection has another URL.
                let url = url.clone();
                let (own, root) = (self.url.clone(), self.root.clone());
                *self = SvnSession::open(&url, &self.options.clone())?;
                (self.url, self.root) = (own, root);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Moves the server's session to the session's URL, at which edits are rooted.
    fn move_server_here(&mut self) -> Result<()> {
        let url = self.url.clone();
        self.move_server(&url)
    }
}

/// Reads a failure in place of an element of a stream; `None` if the tuple is none.
fn failure(tuple: Tuple<'_>) -> Option<Result<Error, Malformed>> {
    let mut head = tuple;
    if !matches!(head.next_item(), Ok(Some(Item::Word("failure")))) {
        return None;
    }
    match Response::parse(tuple) {
        Ok(Response::Failure(error)) => Some(Ok(error)),
        Ok(Response::Success(_)) => Some(Err(Malformed::Word)),
        Err(what) => Some(Err(what)),
    }
}

impl Session for SvnSession {
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
        self.conn.lost().is_none()
    }

    fn reparent(&mut self, url: &Url) -> Result<()> {
        crate::check_repository(url, &self.root)?;
        if url.relative_to(&self.server_url).is_none() {
            let root = self.root.clone();
            self.move_server(&root)?;
        }
        self.url = url.clone();
        Ok(())
    }

    fn has(&mut self, capability: Capability) -> Result<bool> {
        Ok(self.capabilities.has(match capability {
            Capability::Depth => Capabilities::DEPTH,
            Capability::Mergeinfo => Capabilities::MERGEINFO,
            Capability::LogRevprops => Capabilities::LOG_REVPROPS,
            Capability::PartialReplay => Capabilities::PARTIAL_REPLAY,
            Capability::CommitRevprops => Capabilities::COMMIT_REVPROPS,
            Capability::AtomicRevprops => Capabilities::ATOMIC_REVPROPS,
            Capability::InheritedProps => Capabilities::INHERITED_PROPS,
            Capability::EphemeralTxnprops => Capabilities::EPHEMERAL_TXNPROPS,
            Capability::FileRevsReverse => Capabilities::FILE_REVS_REVERSE,
            Capability::List => Capabilities::LIST,
        }))
    }

    fn latest_revision(&mut self) -> Result<Revnum> {
        self.call(&Command::GetLatestRev, |mut params| revision(&mut params))
    }

    fn dated_revision(&mut self, date: Date) -> Result<Revnum> {
        let date = date.to_string();
        self.call(&Command::GetDatedRev { date }, |mut params| revision(&mut params))
    }

    fn revprops(&mut self, rev: Revnum) -> Result<Props> {
        self.call(&Command::RevPropList { rev }, |mut params| {
            parse_proplist(params.list()?)
        })
    }

    fn revprop(&mut self, rev: Revnum, name: &str) -> Result<Option<Vec<u8>>> {
        let name = name.to_owned();
        self.call(&Command::RevProp { rev, name }, |mut params| {
            Ok(params.maybe_string()?.map(<[u8]>::to_vec))
        })
    }

    fn change_revprop(&mut self, change: &RevpropChange<'_>) -> Result<()> {
        let is_atomic = self.capabilities.has(Capabilities::ATOMIC_REVPROPS);
        if change.expected.is_some() && !is_atomic {
            let message = "Server doesn't support atomic changes of revision properties";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        let expect = is_atomic.then(|| ExpectedValue {
            dont_care: change.expected.is_none(),
            previous: change.expected.flatten().map(<[u8]>::to_vec),
        });
        let command = Command::ChangeRevProp(ChangeRevProp {
            rev: change.rev,
            name: change.name.to_owned(),
            value: change.value.map(<[u8]>::to_vec),
            expect,
        });
        self.call(&command, |_| Ok(()))
    }

    fn check_path(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<NodeKind> {
        self.call(&Command::CheckPath(self.at(path, rev)), |mut params| {
            NodeKind::from_word(params.word()?.as_bytes()).ok_or(Malformed::Word)
        })
    }

    fn stat(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<Option<Dirent>> {
        self.call(&Command::Stat(self.at(path, rev)), |params| {
            Ok(wire::svn::response::Dirent::parse_stat(params)?.map(nodes::dirent))
        })
    }

    fn file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo> {
        self.read_file(request, text)
    }

    fn directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory> {
        self.read_directory(request)
    }

    fn list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()> {
        self.read_list(request, entry)
    }

    fn inherited_props(&mut self, path: &RelPath, rev: Revnum) -> Result<Vec<(RelPath, Props)>> {
        let command = Command::GetIprops(self.at(path, Some(rev)));
        self.call(&command, |mut params| parse_inherited(params.list()?))
    }

    fn mergeinfo(&mut self, request: &MergeinfoRequest<'_>) -> Result<Vec<(RelPath, Mergeinfo)>> {
        self.check_tracks_merges()?;
        self.read_mergeinfo(request)
    }

    fn log(&mut self, request: &LogRequest, entry: &mut dyn FnMut(&LogEntry) -> Result<()>) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        self.read_log(request, entry)
    }

    fn locations(&mut self, path: &RelPath, peg: Revnum, revs: &[Revnum]) -> Result<Vec<(Revnum, FsPath)>> {
        self.read_locations(path, peg, revs)
    }

    fn location_segments(
        &mut self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        segment: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(path);
        let command = Command::GetLocationSegments {
            path,
            peg,
            start,
            end,
        };
        self.read_location_segments(&command, segment)
    }

    fn deleted_revision(&mut self, path: &RelPath, peg: Revnum, end: Revnum) -> Result<Option<Revnum>> {
        let path = self.path(path);
        let command = Command::GetDeletedRev { path, peg, end };
        match self.call(&command, |mut params| revision(&mut params)) {
            Ok(rev) => Ok(Some(rev)),
            Err(error) if error.code() == Code::ENTRY_MISSING_REVISION => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn file_revs(&mut self, request: &FileRevsRequest<'_>, sink: &mut dyn FileRevSink) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        self.read_file_revs(request, sink)
    }

    fn lock(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()> {
        self.lock_all(targets, comment, steal, outcome)
    }

    fn unlock(
        &mut self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()> {
        self.unlock_all(targets, force, outcome)
    }

    fn get_lock(&mut self, path: &RelPath) -> Result<Option<Lock>> {
        let path = self.path(path);
        self.call(&Command::GetLock { path }, locks::maybe_lock)
    }

    fn get_locks(&mut self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>> {
        self.read_locks(path, depth)
    }

    fn report(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        self.report_and_receive(request, state, editor)
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
        self.replay_many(start, end, options, sink)
    }
}
