//! Loads a stream through sessions.
//!
//! Each revision of the stream becomes a commit. What a commit cannot set, the author and the date, is set by another
//! session while the next revision is being sent; the commit of that one waits for it.

use std::collections::BTreeSet;
use std::io::BufRead;

use base::dumpfile::{DumpReader, DumpRecord, Renumbering, RevisionHeaders};
use base::{Code, Date, Error, Props, RelPath, Result, Revnum, Url, props};
use ra::{CommitRequest, RevpropChange, Session};

use super::Connect;
use super::load_node::NodeLoader;
use super::load_props;
use crate::revprop_lock::{self, LockRequest};
use crate::session_thread::SessionThread;

pub use crate::revprop_lock::LockEvent;

/// How a stream is loaded.
pub struct LoadOptions<'a> {
    /// Names of revision properties that are left out.
    pub skip_revprops: BTreeSet<String>,
    /// The value of the lock: it names this process.
    pub owner: String,
    /// Returns true for the value of a process that is certainly dead.
    pub is_dead: &'a dyn Fn(&str) -> bool,
}

/// Receives the progress.
pub trait LoadObserver {
    /// The lock is held by another process.
    ///
    /// # Errors
    /// Any error ends the load, as below.
    fn lock(&mut self, event: LockEvent<'_>) -> Result<()>;

    /// A revision was loaded: its number in the repository.
    ///
    /// # Errors
    /// As above.
    fn loaded(&mut self, rev: Revnum) -> Result<()>;
}

/// Loads a stream below `url`. `open` is called when the session is open, and returns the stream.
///
/// # Errors
/// `errno` 22 if another process has the lock; those of the stream and of the sessions. Revisions that were complete before remain.
pub fn load(
    url: &Url,
    open: &mut dyn FnMut() -> Result<Box<dyn BufRead>>,
    options: &LoadOptions<'_>,
    connect: &dyn Connect,
    observer: &mut dyn LoadObserver,
) -> Result<()> {
    let session = connect.open(url)?;
    let input = open()?;
    let mut writer = connect.open_uninterrupted(url)?;
    let request = LockRequest {
        name: LOCK,
        owner: &options.owner,
        is_dead: options.is_dead,
        steal: false,
        cancel: connect.cancel(),
    };
    let lock = revprop_lock::take(&mut *writer, &request, &mut |event| observer.lock(event))?;
    let (writer, outcome) = load_locked(url, (session, writer), input, options, connect, observer);
    let writer = match writer.filter(|session| session.is_usable()) {
        Some(writer) => Ok(writer),
        None => connect.open_uninterrupted(url),
    };
    let released = writer.and_then(|mut writer| lock.release(&mut *writer));
    match (outcome, released) {
        (Err(error), Err(second)) => Err(error.compose(second)),
        (outcome, released) => outcome.and(released),
    }
}

/// The lock.
const LOCK: &str = "svn:rdump-lock";

/// Loads the stream, and returns the session that is not needed any more.
fn load_locked(
    url: &Url,
    (mut session, mut writer): (Box<dyn Session>, Box<dyn Session>),
    input: impl BufRead,
    options: &LoadOptions<'_>,
    connect: &dyn Connect,
    observer: &mut dyn LoadObserver,
) -> (Option<Box<dyn Session>>, Result<()>) {
    let begun = session.latest_revision().and_then(|youngest| {
        let reader = DumpReader::open(input)?;
        Ok((youngest, reader))
    });
    let (youngest, reader) = match begun {
        Ok(begun) => begun,
        Err(error) => return (Some(writer), Err(error)),
    };
    let parent = url.relative_to(session.root_url()).unwrap_or_default();
    let mut loader = Loader {
        reader,
        options,
        connect,
        observer,
        url: url.clone(),
        parent,
        numbers: Renumbering::default(),
        youngest,
        is_empty: youngest == Revnum::ZERO,
        next: None,
        existing: None,
    };
    // Revision 0 comes first, if it is there at all.
    let first = match loader.begin(&mut *writer) {
        Ok(first) => first,
        Err(error) => return (Some(writer), Err(error)),
    };
    if !first {
        return (Some(writer), Ok(()));
    }
    let mut thread = match SessionThread::start(writer) {
        Ok(thread) => thread,
        Err(error) => return (None, Err(error)),
    };
    let outcome = loader.revisions(&mut *session, &mut thread);
    let waited = thread.wait();
    let outcome = match (outcome, waited) {
        (_, Err(error)) | (Err(error), _) => Err(error),
        (Ok(()), Ok(_)) => Ok(()),
    };
    (thread.finish(), outcome)
}

/// A load.
pub struct Loader<'a, R> {
    pub reader: DumpReader<R>,
    options: &'a LoadOptions<'a>,
    connect: &'a dyn Connect,
    observer: &'a mut dyn LoadObserver,
    url: Url,
    /// The path in the repository below which the stream is loaded.
    pub parent: RelPath,
    pub numbers: Renumbering,
    /// The youngest revision of the repository.
    pub youngest: Revnum,
    /// The repository had only revision 0.
    is_empty: bool,
    /// The headers of the revision that comes next.
    next: Option<RevisionHeaders>,
    /// Reads nodes of the repository; opened when one is needed.
    existing: Option<Box<dyn Session>>,
}

impl<R: BufRead> Loader<'_, R> {
    /// Reads up to the first revision that is to be committed. Returns false if there is none.
    fn begin(&mut self, writer: &mut dyn Session) -> Result<bool> {
        self.read_to_revision(false)?;
        while let Some(headers) = &self.next
            && headers.rev()? == Revnum::ZERO
        {
            self.next = None;
            self.revision_zero(writer)?;
            self.read_to_revision(true)?;
        }
        Ok(self.next.is_some())
    }

    /// Reads up to the next revision. Revision 0 has no nodes: those after its record are passed over.
    fn read_to_revision(&mut self, is_in_zero: bool) -> Result<()> {
        while let Some(record) = self.reader.next_record()? {
            match record {
                DumpRecord::Uuid(_) => {}
                DumpRecord::Node(_) if is_in_zero => self.reader.skip_content()?,
                DumpRecord::Node(_) => return Err(node_before_revision()),
                DumpRecord::Revision(headers) => {
                    self.next = Some(headers);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The properties of revision 0 replace those of an empty repository.
    fn revision_zero(&mut self, writer: &mut dyn Session) -> Result<()> {
        let mut props = self.revision_props()?;
        if self.is_empty {
            for name in [props::DATE, props::AUTHOR] {
                let value = props.remove(name);
                if !self.options.skip_revprops.contains(name) {
                    set(writer, Revnum::ZERO, name, value.as_deref())?;
                }
            }
            for (name, value) in &props {
                set(writer, Revnum::ZERO, name, Some(value))?;
            }
        }
        self.observer.loaded(Revnum::ZERO)
    }

    /// Passes over a record of revision 0 behind another revision, as Subversion does. It makes no revision, and the repository is no longer
    /// empty.
    fn later_revision_zero(&mut self) -> Result<()> {
        self.revision_props()?;
        self.observer.loaded(Revnum::ZERO)?;
        self.read_to_revision(true)
    }

    fn revisions(&mut self, session: &mut dyn Session, thread: &mut SessionThread<()>) -> Result<()> {
        while let Some(headers) = self.next.take() {
            self.connect.cancel().check()?;
            let original = headers.rev()?;
            if original == Revnum::ZERO {
                self.later_revision_zero()?;
                continue;
            }
            self.numbers.begin(original, self.youngest);
            let mut props = self.revision_props()?;
            let own = [props::DATE, props::AUTHOR].map(|name| (name, props.remove(name)));
            let request = CommitRequest {
                revprops: props,
                ..CommitRequest::default()
            };
            let root = session.root_url().clone();
            let base = self.youngest;
            let info = session.commit(&request, &mut |editor| {
                let mut loader = NodeLoader::begin(editor, &root, base)?;
                self.nodes(&mut loader)?;
                loader.finish()?;
                thread.wait().map(drop)
            })?;
            self.youngest = info.rev;
            self.numbers.committed(original, info.rev);
            self.observer.loaded(info.rev)?;
            let skipped = self.options.skip_revprops.clone();
            thread.begin(Box::new(move |writer| {
                for (name, value) in own.iter().filter(|(name, _)| !skipped.contains(*name)) {
                    set(writer, info.rev, name, value.as_deref())?;
                }
                Ok(())
            }))?;
        }
        thread.wait().map(drop)
    }

    /// Reads the properties of a revision that are not left out, up to the end of its record.
    fn revision_props(&mut self) -> Result<Props> {
        let mut props = Props::new();
        while let Some((name, value)) = self.reader.next_prop()? {
            let value = load_props::checked(&name, value.unwrap_or_default())?;
            if name == props::DATE {
                // It is set after the commit, which is too late for an error.
                Date::parse(&value).map_err(|e| e.wrap_bare(Code::BAD_PROPERTY_VALUE))?;
            }
            if !self.options.skip_revprops.contains(&name) {
                props.insert(name, value);
            }
        }
        self.reader.skip_content()?;
        Ok(props)
    }

    /// Passes the nodes of the revision to its commit.
    fn nodes(&mut self, loader: &mut NodeLoader<'_>) -> Result<()> {
        while let Some(record) = self.reader.next_record()? {
            match record {
                DumpRecord::Uuid(_) => {}
                DumpRecord::Revision(headers) => {
                    self.next = Some(headers);
                    return Ok(());
                }
                DumpRecord::Node(node) => {
                    self.connect.cancel().check()?;
                    loader.node(&node, self)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the properties of a node that the repository has.
    ///
    /// # Errors
    /// Those of the session.
    pub fn existing_props(&mut self, path: &RelPath, rev: Revnum, is_dir: bool) -> Result<Props> {
        if self.existing.is_none() {
            let mut session = self.connect.open(&self.url)?;
            let root = session.root_url().clone();
            session.reparent(&root)?;
            self.existing = Some(session);
        }
        match &mut self.existing {
            Some(session) => load_props::of_node(&mut **session, path, rev, is_dir),
            None => Ok(Props::new()),
        }
    }
}

fn set(session: &mut dyn Session, rev: Revnum, name: &str, value: Option<&[u8]>) -> Result<()> {
    session.change_revprop(&RevpropChange {
        rev,
        name,
        value,
        expected: None,
    })
}

fn node_before_revision() -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        "Malformed dumpstream: Node record before any revision record",
    )
}
