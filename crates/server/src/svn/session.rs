//! A session, from the greeting to its end: a state machine that can leave its thread between two messages.
//!
//! A panic in a command ends its session and no other.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{Code, Error, Result};
use wire::svn::handshake::{Capabilities, Greeting, Hello};

use crate::log::Origin;
use crate::metrics::{ConnectionCount, Protocol};
use crate::net::Stream;
use crate::service::Service;
use crate::svn::connection::{SvnConnection, stalled};
use crate::svn::login::PendingLogin;
use crate::svn::repo_session::RepoSession;

/// The longest first message of a client, bytes.
const LONGEST_HELLO: u64 = 64 << 10;

/// How long a client may take to send its first message. Clients send it at once.
const HELLO_TIME: Duration = Duration::from_secs(30);

/// How long authentication may take: users look for their passwords.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);

/// A session. Between two messages it is data only and may move to another thread.
pub(crate) struct Session {
    service: Arc<Service>,
    phase: Phase,
    /// The peer's address, for the log: it is known after the connection is lost as well.
    peer: Option<IpAddr>,
    /// When the connection was accepted, and from the greeting on when that was sent.
    begun: Instant,
    ended_by: Option<Error>,
    _counted: ConnectionCount,
}

/// Why a session has left its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionStatus {
    /// It waits for its peer.
    Waiting,
    /// Other jobs need the thread. The peer has sent the next message.
    Interrupted,
    /// It has ended.
    Ended,
}

/// The time since a session has got its thread.
pub(crate) struct TimeSlice(Instant);

impl TimeSlice {
    /// How long a session keeps a thread that others need.
    const LENGTH: Duration = Duration::from_millis(20);

    fn begin() -> TimeSlice {
        TimeSlice(Instant::now())
    }

    /// Returns whether the session has had its thread for a while and others need it.
    pub(crate) fn is_over(&mut self, conn: &SvnConnection) -> bool {
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
    /// Nothing was sent.
    New(SvnConnection),
    /// The greeting was sent.
    Greeted(SvnConnection),
    /// The client authenticates.
    Login(Box<PendingLogin>),
    /// Commands are carried out.
    Open(Box<RepoSession>),
    /// The session has ended.
    Ended,
}

impl Session {
    /// Returns a session that has sent nothing.
    pub(crate) fn new(service: Arc<Service>, stream: Stream) -> Session {
        let options = service.context.options();
        let peer = stream.peer();
        let mut conn = SvnConnection::new(stream, &options, service.context.limits.request_memory.of(peer));
        conn.limit_next_message(LONGEST_HELLO);
        let counted = service.context.metrics.connected(Protocol::Svn);
        Session {
            _counted: counted,
            service,
            phase: Phase::New(conn),
            peer,
            begun: Instant::now(),
            ended_by: None,
        }
    }

    /// Returns the stream; `None` after the end.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match &self.phase {
            Phase::New(conn) | Phase::Greeted(conn) => Some(conn.stream()),
            Phase::Login(login) => Some(login.session.conn.stream()),
            Phase::Open(session) => Some(session.conn.stream()),
            Phase::Ended => None,
        }
    }

    /// Returns the peer's address, if it has one.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Runs the session until the peer sends nothing for `linger` between two messages, other jobs need the thread, or it ends.
    pub(crate) fn serve(&mut self, linger: Duration) -> SessionStatus {
        match catch_unwind(AssertUnwindSafe(|| self.run(linger))) {
            Ok(Ok(SessionStatus::Ended)) => {
                self.phase = Phase::Ended;
                SessionStatus::Ended
            }
            Ok(Ok(served)) => served,
            Ok(Err(error)) => self.end(error),
            // The panic's message is on standard error.
            Err(_) => self.end(Error::new(
                Code::ASSERTION_FAIL,
                "A conversation was ended by a panic",
            )),
        }
    }

    fn end(&mut self, error: Error) -> SessionStatus {
        self.log_end(&error);
        // A client may close its connection at any time, once it is logged in.
        let is_open = matches!(self.phase, Phase::Open(_));
        self.ended_by = Some(error).filter(|e| !is_open || e.code() != Code::RA_SVN_CONNECTION_CLOSED);
        self.phase = Phase::Ended;
        SessionStatus::Ended
    }

    /// Returns the error that has ended the session; `None` if the peer has closed the connection after its login.
    pub(crate) fn ended_by(self) -> Option<Error> {
        self.ended_by
    }

    /// Returns the time by which the peer must have sent its greeting or the rest of a command. `None` between two commands.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let stall_timeout = self.service.context.options().stall_timeout?;
        match &self.phase {
            Phase::New(_) | Phase::Greeted(_) => self.begun.checked_add(stall_timeout.min(HELLO_TIME)),
            Phase::Login(_) => self.begun.checked_add(stall_timeout.min(LOGIN_TIME)),
            Phase::Open(session) if session.conn.has_input() || session.pending_report.is_some() => {
                Instant::now().checked_add(stall_timeout)
            }
            Phase::Open(_) | Phase::Ended => None,
        }
    }

    /// Ends the session past its deadline.
    pub(crate) fn end_stalled(self) {
        self.log_end(&stalled("Can't read from connection"));
    }

    fn run(&mut self, linger: Duration) -> Result<SessionStatus> {
        let mut slice = TimeSlice::begin();
        loop {
            if let Some(status) = self.await_message(linger, &mut slice)? {
                return Ok(status);
            }
            let goes_on = match &mut self.phase {
                Phase::New(conn) => {
                    let compression = self.service.context.options().compression > 0;
                    Greeting::new(Capabilities::server(compression)).write(conn.out());
                    conn.flush()?;
                    self.await_hello()
                }
                Phase::Greeted(conn) => {
                    let hello = receive_hello(conn)?;
                    self.open_repository(hello)?
                }
                Phase::Login(login) => match login.take_answer()? {
                    true => self.finish_login()?,
                    false => true,
                },
                Phase::Open(session) => {
                    session.command(&mut slice)? && !self.service.context.stopping.load(Ordering::Relaxed)
                }
                Phase::Ended => false,
            };
            if !goes_on {
                return Ok(SessionStatus::Ended);
            }
        }
    }

    /// Waits for the client's next message, if it has to send one. Returns why the session must leave its thread before it reads the
    /// message.
    fn await_message(&mut self, linger: Duration, slice: &mut TimeSlice) -> Result<Option<SessionStatus>> {
        let (conn, is_interruptible) = match &mut self.phase {
            Phase::New(_) | Phase::Ended => return Ok(None),
            Phase::Greeted(conn) => (conn, false),
            Phase::Login(login) => (&mut login.session.conn, true),
            Phase::Open(session) => (&mut session.conn, true),
        };
        if !conn.await_message(linger)? {
            return Ok(Some(SessionStatus::Waiting));
        }
        let is_over = is_interruptible && slice.is_over(conn);
        Ok(is_over.then_some(SessionStatus::Interrupted))
    }

    /// Goes from [`Phase::New`] to [`Phase::Greeted`]. False from any other phase.
    fn await_hello(&mut self) -> bool {
        let Phase::New(conn) = std::mem::replace(&mut self.phase, Phase::Ended) else {
            return false;
        };
        self.phase = Phase::Greeted(conn);
        // On a busy server the client has waited for the greeting; that was not its own time.
        self.begun = Instant::now();
        true
    }

    /// Goes from [`Phase::Greeted`] to [`Phase::Login`]. False if the client was refused.
    fn open_repository(&mut self, hello: Hello) -> Result<bool> {
        let Phase::Greeted(conn) = std::mem::replace(&mut self.phase, Phase::Ended) else {
            return Ok(false);
        };
        let login = RepoSession::open(&self.service, conn, hello)?;
        let awaits_answer = login.awaits_answer();
        self.phase = Phase::Login(Box::new(login));
        match awaits_answer {
            true => Ok(true),
            false => self.finish_login(),
        }
    }

    /// Goes from [`Phase::Login`] to [`Phase::Open`].
    fn finish_login(&mut self) -> Result<bool> {
        let Phase::Login(login) = std::mem::replace(&mut self.phase, Phase::Ended) else {
            return Ok(false);
        };
        let session = login.finish()?;
        self.phase = Phase::Open(Box::new(session));
        Ok(true)
    }

    /// Logs the error that ends the session. On standard input and output, which have no address, the program prints it instead.
    fn log_end(&self, error: &Error) {
        if let Some(log) = &self.service.context.log
            && self.peer.is_some()
        {
            log.error(Origin::at(self.peer), error);
        }
    }
}

/// Reads the client's first message.
///
/// # Errors
/// `RA_SVN_BAD_VERSION` if the client is too old; nothing is sent to it. Those of a lost connection.
fn receive_hello(conn: &mut SvnConnection) -> Result<Hello> {
    let hello = conn.receive_patiently()?.list().and_then(Hello::parse)?;
    let version = hello.version;
    if version != 2 {
        let message = format!("Unsupported ra_svn protocol version {version} (supported versions: [2])");
        return Err(Error::new(Code::RA_SVN_BAD_VERSION, message));
    }
    if !hello.capabilities().has(Capabilities::EDIT_PIPELINE) {
        return Err(Error::new(
            Code::RA_SVN_BAD_VERSION,
            "Missing edit-pipeline capability",
        ));
    }
    Ok(hello)
}
