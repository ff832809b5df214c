//! One conversation, from the greeting to the end.
//!
//! A command fails in one of two ways. Either the client is told and the conversation goes on, or the connection itself
//! is lost ([`Conn::lost`]): then nothing more is sent. A panic in a command ends its conversation and no other.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{Code, Error, FsPath, Result, Revnum};
use delta::svndiff::Codec;
use repos::access::{Everything, Readable};
use repos::authz::UserRights;
use wire::svn::command::{Command, Named};
use wire::svn::handshake::{AuthRequest, Capabilities, Greeting, Hello};
use wire::svn::{Writer, response};

use crate::log::Origin;
use crate::metrics::{Connected, Done, Protocol, operation_word};
use crate::service::Service;
use crate::stream::Stream;
use crate::svn::conn::{Conn, stalled};
use crate::svn::open::{Login, Place};
use crate::svn::report::Reporting;
use crate::svn::url::encoded;

/// Most bytes in what a client says first, before it is known what it wants.
const LONGEST_HELLO: u64 = 64 << 10;

/// How long a client may take to say what it wants: clients say it at once.
const HELLO_TIME: Duration = Duration::from_secs(30);

/// How long a client may take to prove who it is: people look for their passwords.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);

/// A conversation. Between two commands it is data only and may move to another thread.
pub(crate) struct Session {
    service: Arc<Service>,
    phase: Phase,
    /// For the log, even when the connection is gone.
    peer: Option<IpAddr>,
    begun: Instant,
    ended_by: Option<Error>,
    _counted: Connected,
}

/// Why a session has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The peer has not yet said what comes next.
    Quiet,
    /// Others need the thread. The peer has said what comes next.
    Interrupted,
    /// It is over.
    Ended,
}

/// The time that a session has had its thread.
pub(crate) struct TimeSlice(Instant);

impl TimeSlice {
    /// How long a session keeps a thread that others need, at least.
    const LENGTH: Duration = Duration::from_millis(20);

    fn begin() -> TimeSlice {
        TimeSlice(Instant::now())
    }

    /// Returns whether the session has had its thread for a while and others need it.
    pub(crate) fn is_over(&mut self, conn: &Conn) -> bool {
        if self.0.elapsed() < TimeSlice::LENGTH {
            return false;
        }
        if conn.stream().is_thread_needed() {
            return true;
        }
        *self = TimeSlice::begin();
        false
    }
}

enum Phase {
    /// Nothing was said.
    New(Conn),
    /// The server has introduced itself.
    Greeted(Conn),
    /// The client is asked who it is.
    Login(Box<Login>),
    /// The client has a repository.
    Open(Box<Talk>),
    /// It is over.
    Ended,
}

/// A conversation about a repository.
pub(crate) struct Talk {
    pub(crate) service: Arc<Service>,
    pub(crate) conn: Conn,
    pub(crate) place: Place,
    /// Who the client is, once that was proved; never changed after.
    pub(crate) user: Option<String>,
    /// What the authz file grants that user; `None` if there is no such file.
    pub(crate) rights: Option<Arc<UserRights>>,
    pub(crate) capabilities: Capabilities,
    /// Where in the repository the session's URL is.
    pub(crate) parent: FsPath,
    /// Buffers of compression, made when first needed.
    pub(crate) codec: Codec,
    /// What a working copy has reported so far, while the rest of it is awaited.
    pub(crate) reporting: Option<Box<Reporting>>,
    /// Attempts to authenticate that have failed.
    pub(crate) refusals: u32,
}

impl Session {
    pub(crate) fn new(service: Arc<Service>, stream: Stream) -> Session {
        let options = service.options();
        let peer = stream.peer();
        let mut conn = Conn::new(stream, &options, service.request_memory.of(peer));
        conn.limit_next_message(LONGEST_HELLO);
        let counted = service.metrics.connected(Protocol::Svn);
        Session {
            _counted: counted,
            service,
            phase: Phase::New(conn),
            peer,
            begun: Instant::now(),
            ended_by: None,
        }
    }

    /// The peer, as long as there is one.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match &self.phase {
            Phase::New(conn) | Phase::Greeted(conn) => Some(conn.stream()),
            Phase::Login(login) => Some(login.talk.conn.stream()),
            Phase::Open(talk) => Some(talk.conn.stream()),
            Phase::Ended => None,
        }
    }

    /// The peer's address, if it has one.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Goes on until the peer says nothing for `patience` between two commands, others need the thread, or the conversation
    /// is over.
    pub(crate) fn serve(&mut self, patience: Duration) -> Served {
        match catch_unwind(AssertUnwindSafe(|| self.go_on(patience))) {
            Ok(Ok(Served::Ended)) => {
                self.phase = Phase::Ended;
                Served::Ended
            }
            Ok(Ok(served)) => served,
            Ok(Err(error)) => {
                self.log_end(&error);
                self.ended_by = Some(error);
                self.phase = Phase::Ended;
                Served::Ended
            }
            Err(_) => {
                // The panic's message is on standard error already.
                self.log_end(&Error::new(
                    Code::ASSERTION_FAIL,
                    "A conversation was ended by a panic",
                ));
                self.phase = Phase::Ended;
                Served::Ended
            }
        }
    }

    /// What ended it, if that was not the peer's leaving between two commands.
    pub(crate) fn ended_by(self) -> Option<Error> {
        self.ended_by
    }

    /// By when the peer must have said what it owes: its greeting, or the rest of a command. `None` if it owes nothing.
    pub(crate) fn due(&self) -> Option<Instant> {
        let patience = self.service.options().stall_timeout?;
        match &self.phase {
            Phase::New(_) | Phase::Greeted(_) => self.begun.checked_add(patience.min(HELLO_TIME)),
            Phase::Login(_) => self.begun.checked_add(patience.min(LOGIN_TIME)),
            Phase::Open(talk) if talk.conn.has_input() || talk.reporting.is_some() => {
                Instant::now().checked_add(patience)
            }
            Phase::Open(_) | Phase::Ended => None,
        }
    }

    /// Ends it because the peer has not said in time what it owes.
    pub(crate) fn give_up(self) {
        self.log_end(&stalled("Can't read from connection"));
    }

    fn go_on(&mut self, patience: Duration) -> Result<Served> {
        let mut slice = TimeSlice::begin();
        loop {
            match &mut self.phase {
                Phase::New(conn) => {
                    let compression = self.service.options().compression > 0;
                    Greeting::new(Capabilities::server(compression)).write(conn.out());
                    conn.flush()?;
                }
                Phase::Greeted(conn) => {
                    if !conn.await_message(patience)? {
                        return Ok(Served::Quiet);
                    }
                    let hello = conn.receive_patiently()?.list().and_then(Hello::parse)?;
                    if hello.version != 2 || !hello.capabilities().has(Capabilities::EDIT_PIPELINE) {
                        return Ok(Served::Ended);
                    }
                    let Phase::Greeted(conn) = std::mem::replace(&mut self.phase, Phase::Ended) else {
                        return Ok(Served::Ended);
                    };
                    match Talk::open(&self.service, conn, hello)? {
                        Some(login) => self.phase = Phase::Login(Box::new(login)),
                        None => return Ok(Served::Ended),
                    }
                    continue;
                }
                Phase::Login(login) => {
                    if !login.talk.conn.await_message(patience)? {
                        return Ok(Served::Quiet);
                    }
                    if slice.is_over(&login.talk.conn) {
                        return Ok(Served::Interrupted);
                    }
                    if !login.take_answer()? {
                        continue;
                    }
                    let Phase::Login(login) = std::mem::replace(&mut self.phase, Phase::Ended) else {
                        return Ok(Served::Ended);
                    };
                    match login.finish()? {
                        Some(talk) => self.phase = Phase::Open(Box::new(talk)),
                        None => return Ok(Served::Ended),
                    }
                    continue;
                }
                Phase::Open(talk) => {
                    if !talk.conn.await_message(patience)? {
                        return Ok(Served::Quiet);
                    }
                    if slice.is_over(&talk.conn) {
                        return Ok(Served::Interrupted);
                    }
                    if !talk.command(&mut slice)? || self.service.stopping.load(Ordering::Relaxed) {
                        return Ok(Served::Ended);
                    }
                    continue;
                }
                Phase::Ended => return Ok(Served::Ended),
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::New(conn) => Phase::Greeted(conn),
                other => other,
            };
        }
    }

    fn log_end(&self, error: &Error) {
        if let Some(log) = &self.service.log {
            log.error(Origin::at(self.peer), error);
        }
    }
}

impl Talk {
    /// Reads one command and answers it, or goes on with a report; false if the peer has gone.
    fn command(&mut self, slice: &mut TimeSlice) -> Result<bool> {
        if let Some(reporting) = self.reporting.take() {
            let (begun, operation) = (reporting.begun, reporting.operation);
            return match self.read_report(reporting, true, slice)? {
                Some(result) => self.end(operation, begun, result),
                None => Ok(true),
            };
        }
        let Some(item) = self.conn.receive_or_end()? else {
            return Ok(false);
        };
        let begun = Instant::now();
        let parsed = Named::parse(item).and_then(|named| match Command::parse(named)? {
            Some(command) => Ok(Ok((operation_word(named.name), command))),
            None => Ok(Err(named.name.to_owned())),
        });
        let (operation, mut result) = match parsed {
            Err(what) => return Err(self.conn.lose(what.into())),
            Ok(Ok((operation, command))) => (operation, self.run(command)),
            Ok(Err(name)) => ("other", Err(unknown_command(&name))),
        };
        if let Some(mut reporting) = self.reporting.take() {
            reporting.operation = operation;
            match self.read_report(reporting, false, slice)? {
                Some(done) => result = done,
                None => return Ok(true),
            }
        }
        self.end(operation, begun, result)
    }

    /// A command has ended.
    fn end(&mut self, operation: &'static str, begun: Instant, result: Result<()>) -> Result<bool> {
        let (received, sent) = self.conn.moved();
        self.service.metrics.count(&Done {
            protocol: Protocol::Svn,
            operation,
            took: begun.elapsed(),
            received,
            sent,
            failed: result.is_err(),
        });
        if let Err(error) = result {
            if self.conn.lost().is_some() {
                return Err(error);
            }
            response::write_failure(self.conn.out(), &error);
        }
        self.conn.end_command()?;
        Ok(true)
    }

    fn run(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Reparent { url } => self.reparent(&url),
            Command::GetLatestRev => self.get_latest_rev(),
            Command::GetDatedRev { date } => self.get_dated_rev(&date),
            Command::RevPropList { rev } => self.rev_proplist(rev),
            Command::RevProp { rev, name } => self.rev_prop(rev, &name),
            Command::GetFile(get) => self.get_file(&get),
            Command::GetDir(get) => self.get_dir(&get),
            Command::CheckPath(at) => self.check_path(&at),
            Command::Stat(at) => self.stat(&at),
            Command::GetIprops(at) => self.get_iprops(&at),
            Command::List(list) => self.list(&list),
            Command::GetMergeinfo(get) => self.get_mergeinfo(&get),
            Command::Log(log) => self.log(log),
            Command::GetLocations { path, peg, revs } => self.get_locations(&path, peg, &revs),
            Command::GetLocationSegments {
                path,
                peg,
                start,
                end,
            } => self.get_location_segments(&path, peg, start, end),
            Command::GetFileRevs {
                path,
                start,
                end,
                include_merged,
            } => self.get_file_revs(&path, start, end, include_merged),
            Command::GetDeletedRev { path, peg, end } => self.get_deleted_rev(&path, peg, end),
            Command::GetLock { path } => self.get_lock(&path),
            Command::GetLocks { path, depth } => self.get_locks(&path, depth),
            Command::Update(update) => self.update(&update),
            Command::Switch(switch) => self.switch(&switch),
            Command::Status(status) => self.status(&status),
            Command::Diff(diff) => self.diff(&diff),
            Command::Replay {
                rev,
                low_water_mark,
                send_deltas,
            } => self.replay(rev, low_water_mark, send_deltas),
            Command::ReplayRange {
                start,
                end,
                low_water_mark,
                send_deltas,
            } => self.replay_range(start, end, low_water_mark, send_deltas),
            Command::ChangeRevProp(change) => self.change_rev_prop(&change),
            Command::Commit(commit) => self.commit(&commit),
            Command::Lock {
                target,
                comment,
                steal,
            } => self.lock(&target, comment.as_deref(), steal),
            Command::LockMany {
                comment,
                steal,
                targets,
            } => self.lock_many(&targets, comment.as_deref(), steal),
            Command::Unlock { target, force } => self.unlock(&target, force),
            Command::UnlockMany { force, targets } => self.unlock_many(&targets, force),
        }
    }

    // What the commands share.

    /// Writes the authentication request for nothing.
    pub(crate) fn trivial(&mut self) {
        AuthRequest::write_trivial(self.conn.out());
    }

    /// Writes a successful response with parameters.
    pub(crate) fn success(&mut self, params: impl FnOnce(&mut Writer<'_>)) {
        let w = &mut Writer(self.conn.out());
        w.open().word("success").open();
        params(w);
        w.close().close();
    }

    /// A path that the client sent, in the repository.
    pub(crate) fn path(&self, text: &str) -> Result<FsPath> {
        let whole = format!("{}/{text}", self.parent.as_str().trim_end_matches('/'));
        FsPath::canonicalize(&whole).map_err(|_| {
            // No node has such a name; that is all there is to say about it.
            Error::new(Code::FS_NOT_FOUND, format!("Path '{whole}' not found"))
        })
    }

    /// A revision that the client sent, or the youngest.
    pub(crate) fn rev(&self, rev: Option<Revnum>) -> Result<Revnum> {
        match rev {
            Some(rev) => Ok(rev),
            None => self.place.repository.youngest(),
        }
    }

    /// What the user may read.
    pub(crate) fn readable(&self) -> Arc<dyn Readable> {
        match &self.rights {
            Some(rights) => rights.clone(),
            None => Arc::new(Everything),
        }
    }

    /// Logs what the client asked for.
    pub(crate) fn log_operation(&self, text: impl FnOnce() -> String) {
        if let Some(log) = &self.service.log {
            log.operation(self.origin(), &text());
        }
    }

    /// Logs an error that the administrator should see.
    pub(crate) fn log_error(&self, error: &Error) {
        if let Some(log) = &self.service.log {
            log.error(self.origin(), error);
        }
    }

    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            peer: self.conn.stream().peer(),
            user: self.user.as_deref(),
            repository: Some(&self.place.log_name),
        }
    }

    fn reparent(&mut self, url: &str) -> Result<()> {
        self.trivial();
        self.parent = self.place.path_of(url)?;
        self.log_operation(|| format!("reparent {}", encoded(&self.parent)));
        self.success(|_| ());
        Ok(())
    }

    fn get_latest_rev(&mut self) -> Result<()> {
        self.trivial();
        let rev = self.place.repository.youngest()?;
        self.log_operation(|| "get-latest-rev".to_owned());
        self.success(|w| _ = w.number(rev.0));
        Ok(())
    }
}

pub(crate) fn unknown_command(name: &str) -> Error {
    Error::new(
        Code::RA_SVN_UNKNOWN_CMD,
        format!("Unknown editor command '{name}'"),
    )
}
