//! `svnsync`: makes and continues a mirror of a repository.
//!
//! A mirror knows its source by properties of its revision 0 ([`bookkeeping`]), which are Subversion's: either program
//! continues what the other began, wherever it was stopped. [`initialize()`] sets them, [`synchronize()`] commits the revisions that the
//! mirror lacks, [`copy_revprops()`] copies properties of revisions that changed since.
//!
//! Three things happen at once while revisions are copied: the source's revisions are read ahead
//! ([`crate::replay_ahead`]); one session with the mirror receives the changes of a revision; another one sets the properties
//! of the revision before ([`writer`]). The commit of a revision waits until the one before it is complete, so at most
//! one revision of the mirror is incomplete at any time, and `svn:sync-currently-copying` names it.
//!
//! What is absent: where sessions come from ([`Connect`]), who this process is ([`LockOptions`]), and printing.

mod bookkeeping;
mod copy_revprops;
mod editor;
mod initialize;
mod mergeinfo;
mod normalize;
mod revprops;
mod synchronize;
mod writer;

use base::{Cancel, Code, Error, Result, Revnum, Url};
use ra::Session;

use crate::revprop_lock::{self, LockEvent, LockRequest};

pub use bookkeeping::{MirrorInfo, info};
pub use copy_revprops::{CopyRange, CopyRevision, copy_revprops};
pub use initialize::initialize;
pub(crate) use normalize::with_line_feeds;
pub use normalize::{Decode, PropEncoding};
pub use synchronize::synchronize;

/// Opens sessions.
pub trait Connect {
    /// Opens a session with the source.
    ///
    /// # Errors
    /// Those of [`ra::open`], as below.
    fn source(&self, url: &Url) -> Result<Box<dyn Session>>;

    /// Opens a session with the mirror.
    ///
    /// # Errors
    /// As above.
    fn mirror(&self, url: &Url) -> Result<Box<dyn Session>>;

    /// Opens a session with the mirror that a cancellation does not end: it completes a revision and releases the lock.
    ///
    /// # Errors
    /// As above.
    fn bookkeeping(&self, url: &Url) -> Result<Box<dyn Session>>;
}

/// How the lock of a mirror is taken.
pub struct LockOptions<'a> {
    /// The value of the lock: it names this process.
    pub owner: String,
    /// Returns true for the value of a process that is certainly dead.
    pub is_dead: &'a dyn Fn(&str) -> bool,
    /// Take the lock from its owner.
    pub steal: bool,
}

/// What all operations that change a mirror need.
pub struct SyncContext<'a> {
    /// Opens sessions.
    pub connect: &'a dyn Connect,
    /// The lock; `None` to do without.
    pub lock: Option<LockOptions<'a>>,
    /// The encoding of the source's `svn:` properties.
    pub encoding: PropEncoding<'a>,
    /// Ends the operation.
    pub cancel: Cancel,
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvent<'a> {
    /// The lock is held by this owner; another attempt follows.
    LockHeld(&'a str),
    /// The lock was taken from this owner.
    LockStolen(&'a str),
    /// The text of a file begins; `is_first` in its revision.
    Text {
        /// No text of this revision came before.
        is_first: bool,
    },
    /// All texts of a revision were sent.
    TextsEnd,
    /// The revision that is committed next has other merge info than that of the source, which no server accepts today.
    MergeinfoRepaired,
    /// A revision was committed.
    Committed(Revnum),
    /// The properties of a revision were copied.
    PropsCopied {
        /// The revision.
        rev: Revnum,
        /// The source has properties with which it is a mirror itself: they are not copied.
        has_sync_props: bool,
    },
    /// At the end: how many values got other line ends.
    Normalized {
        /// Properties of revisions.
        rev_props: u64,
        /// Properties of files and directories.
        node_props: u64,
    },
}

/// Receives the progress.
pub type Observer<'a> = &'a mut dyn FnMut(SyncEvent<'_>) -> Result<()>;

/// The numbers of values that got other line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NormalizedCounts {
    rev_props: u64,
    node_props: u64,
}

impl NormalizedCounts {
    fn report(self, observer: Observer<'_>) -> Result<()> {
        let NormalizedCounts {
            rev_props,
            node_props,
        } = self;
        match rev_props + node_props {
            0 => Ok(()),
            _ => observer(SyncEvent::Normalized {
                rev_props,
                node_props,
            }),
        }
    }
}

/// Opens a session that must be at the root of the mirror.
fn open_mirror(open: impl FnOnce(&Url) -> Result<Box<dyn Session>>, url: &Url) -> Result<Box<dyn Session>> {
    let session = open(url)?;
    match session.url() == session.root_url() {
        true => Ok(session),
        false => Err(invalid(format!(
            "Session is rooted at '{}' but the repos root is '{}'",
            session.url(),
            session.root_url()
        ))),
    }
}

/// Runs `work` with the bookkeeping session while the mirror is locked.
fn with_lock(
    mirror: &Url,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
    work: impl FnOnce(Box<dyn Session>, Observer<'_>) -> (Option<Box<dyn Session>>, Result<()>),
) -> Result<()> {
    let mut session = open_mirror(|url| context.connect.bookkeeping(url), mirror)?;
    let Some(options) = &context.lock else {
        return work(session, observer).1;
    };
    let request = LockRequest {
        name: bookkeeping::LOCK,
        owner: &options.owner,
        is_dead: options.is_dead,
        steal: options.steal,
        cancel: &context.cancel,
    };
    let lock = revprop_lock::take(&mut *session, &request, &mut |event| {
        observer(match event {
            LockEvent::Held(owner) => SyncEvent::LockHeld(owner),
            LockEvent::Stolen(owner) => SyncEvent::LockStolen(owner),
        })
    })?;
    let (session, outcome) = work(session, observer);
    let session = match session.filter(|session| session.is_usable()) {
        Some(session) => Ok(session),
        None => context.connect.bookkeeping(mirror),
    };
    let released = session.and_then(|mut session| lock.release(&mut *session));
    match (outcome, released) {
        (Err(error), Err(second)) => Err(error.compose(second)),
        (outcome, released) => outcome.and(released),
    }
}

/// The error for what Subversion reports as `EINVAL`.
fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code(22), message)
}
