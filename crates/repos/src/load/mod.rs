//! Loads a dump stream: its records become revisions.
//!
//! The stream is read once, forward, and never held. A revision record begins a transaction, the node records behind
//! it are applied as they come, and the next revision record (or the end) commits. Revision numbers in the stream and
//! in the repository may differ; [`Renumbering`] maps them, so that copies and mergeinfo name the right
//! revisions.
//!
//! Revisions are committed in groups (`commits`): a group becomes durable and visible at once, and its events are
//! delivered only then. Hooks must see single revisions, so with hooks each revision is a group. While a group is
//! open no other process can commit, so it is closed whenever the stream stalls (`input`), and when it is a second
//! old, even in the middle of a revision.
//!
//! A failure leaves all revisions before it, and the transaction in which it happened, for the administrator to
//! inspect.

mod apply;
mod commits;
mod input;
mod prop;
mod revprops;

use std::cell::RefCell;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::rc::Rc;

use base::{Cancel, Code, Error, FsPath, Props, RelPath, Result, Revnum, props};
use fsfs::Txn;

use crate::commit::txn_steps;
use crate::dumpfile::{DumpReader, DumpRecord, Renumbering, RevisionHeaders};
use crate::hooks::Hooks;
use crate::repo::Repository;
use commits::{EventQueue, PendingCommits};

pub use crate::commit::Clock;
pub(crate) use commits::Commits;
pub use revprops::revprops;

/// The options of a load.
#[derive(Clone)]
pub struct LoadOptions {
    /// Revisions of the stream to load; the others are skipped.
    pub range: Option<(Revnum, Revnum)>,
    /// How the stream's UUID is treated.
    pub uuid: UuidAction,
    /// The directory in the repository that becomes the stream's root; it must exist.
    pub parent_dir: RelPath,
    /// Hooks to run before each revision.
    pub pre_commit: Option<Hooks>,
    /// Hooks to run after each revision.
    pub post_commit: Option<Hooks>,
    /// Refuse properties that clients may not set.
    pub validate_props: bool,
    /// Revisions get the time of loading.
    pub ignore_dates: bool,
    /// Line ends in `svn:` properties become line feeds.
    pub normalize_props: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            range: None,
            uuid: UuidAction::IfEmpty,
            parent_dir: RelPath::empty(),
            pre_commit: None,
            post_commit: None,
            validate_props: true,
            ignore_dates: false,
            normalize_props: false,
        }
    }
}

/// How the stream's UUID is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UuidAction {
    /// The repository takes it if revision 0 is its only one.
    #[default]
    IfEmpty,
    /// The repository keeps its own.
    Ignore,
    /// The repository takes it.
    Force,
}

/// An event of a load. Numbers called `original` are the stream's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadEvent {
    /// A revision begins.
    Started {
        /// Its number in the stream.
        original: Revnum,
    },
    /// A node begins: its path, or the stream's text in place of one.
    Editing(String),
    /// The node was made as a copy.
    Copied,
    /// Carriage returns were removed from the node's mergeinfo.
    NormalizedMergeinfo,
    /// The node is complete.
    Done,
    /// A revision was committed. Delivered when it is on disk.
    Committed {
        /// Its number in the repository.
        rev: Revnum,
        /// Its number in the stream.
        original: Revnum,
    },
    /// A revision was skipped.
    Skipped {
        /// Its number in the stream.
        original: Revnum,
    },
    /// The properties of a revision were set ([`revprops()`] only).
    PropsSet(Revnum),
    /// An oddity that does not stop the load: its number and a text.
    Warning(u16, &'static str),
    /// A file in the way of a revision was renamed to this path.
    SetAside(PathBuf),
}

/// Receives the progress of a load.
pub trait LoadObserver {
    /// # Errors
    /// An error stops the load.
    fn event(&mut self, event: LoadEvent) -> Result<()>;
}

/// Loads a stream. A thread of its own reads it; that thread stays behind if loading fails before the stream ends.
///
/// # Errors
/// `STREAM_MALFORMED_DATA`, `STREAM_UNRECOGNIZED_DATA`, `INCOMPLETE_DATA` for the stream; `BAD_PROPERTY_VALUE`,
/// `REPOS_BAD_ARGS` for properties; `CHECKSUM_MISMATCH`; those of changing a transaction and committing it;
/// `CANCELLED`. Revisions that were complete before exist, and their events were delivered.
pub fn run(
    repository: &Repository,
    input: impl Read + Send + 'static,
    options: &LoadOptions,
    observer: &mut dyn LoadObserver,
    cancel: &Cancel,
    clock: &Clock,
) -> Result<()> {
    let has_hooks = options.pre_commit.is_some() || options.post_commit.is_some();
    let group = Rc::new(RefCell::new(PendingCommits {
        commits: Commits::new(repository.fs(), has_hooks)?,
        events: EventQueue::new(observer),
    }));
    let waiting = group.clone();
    let input = input::read_ahead(input, cancel, move || waiting.borrow_mut().flush())?;
    let mut loader = Loader {
        repository,
        options,
        clock,
        numbers: Renumbering::default(),
        group,
        open: None,
        buffer: Vec::new(),
    };
    let outcome = loader.load(input, cancel);
    // The failed transaction is left for the administrator, complete revisions are kept.
    loader.open = None;
    let flushed = loader.flush();
    if outcome.is_err() {
        // The error may only say that reading the stream failed: the cancellation is the cause then.
        cancel.check()?;
    }
    flushed.and(outcome)
}

struct Loader<'a> {
    repository: &'a Repository,
    options: &'a LoadOptions,
    clock: &'a Clock,
    numbers: Renumbering,
    /// Never borrowed while the stream is read.
    group: Rc<RefCell<PendingCommits<'a>>>,
    open: Option<OpenRevision>,
    /// A buffer for texts, reused.
    buffer: Vec<u8>,
}

/// The revision whose records are being read.
enum OpenRevision {
    /// Revision 0, whose properties replace those of an empty repository.
    Zero(Props),
    /// A revision that is skipped, by its number in the stream.
    Skipped(Revnum),
    /// A revision that is being made.
    Loading(Box<LoadingRevision>),
}

struct LoadingRevision {
    original: Revnum,
    props: Props,
    txn: Txn,
}

impl Loader<'_> {
    fn load(&mut self, input: impl BufRead, cancel: &Cancel) -> Result<()> {
        let mut reader = DumpReader::open(input)?;
        while let Some(record) = reader.next_record()? {
            cancel.check()?;
            match record {
                DumpRecord::Uuid(uuid) => self.uuid(&uuid)?,
                DumpRecord::Revision(headers) => {
                    self.end_revision()?;
                    self.begin_revision(&headers, &mut reader)?;
                }
                DumpRecord::Node(node) => match &self.open {
                    None => return Err(malformed("Node record before any revision record")),
                    Some(OpenRevision::Zero(_) | OpenRevision::Skipped(Revnum::ZERO)) => {
                        return Err(malformed("Revision 0 must not contain node records"));
                    }
                    Some(OpenRevision::Skipped(_)) => apply::check_digests(&node)?,
                    Some(OpenRevision::Loading(_)) => self.node(&node, &mut reader, cancel)?,
                },
            }
        }
        self.end_revision()
    }

    fn tell(&mut self, event: LoadEvent) -> Result<()> {
        self.group.borrow_mut().events.tell(event)
    }

    /// Makes the complete revisions durable, then delivers their events.
    fn flush(&mut self) -> Result<()> {
        self.group.borrow_mut().flush()
    }

    /// Flushes if the group is large or old enough.
    fn flush_if_due(&mut self) -> Result<()> {
        let mut group = self.group.borrow_mut();
        match group.commits.is_due() {
            true => group.flush(),
            false => Ok(()),
        }
    }

    fn uuid(&mut self, uuid: &str) -> Result<()> {
        self.flush()?;
        let wanted = match self.options.uuid {
            UuidAction::Ignore => false,
            UuidAction::Force => true,
            UuidAction::IfEmpty => self.repository.youngest()? == Revnum::ZERO,
        };
        if !wanted {
            return Ok(());
        }
        if !is_uuid(uuid) {
            return Err(Error::new(Code::BAD_UUID, format!("Malformed UUID '{uuid}'")));
        }
        self.repository.fs().set_uuid(Some(uuid))
    }

    fn begin_revision<R: BufRead>(
        &mut self,
        headers: &RevisionHeaders,
        reader: &mut DumpReader<R>,
    ) -> Result<()> {
        let original = headers.rev()?;
        if !is_wanted(self.options.range, original) {
            self.tell(LoadEvent::Skipped { original })?;
            self.open = Some(OpenRevision::Skipped(original));
            return Ok(());
        }
        if original == Revnum::ZERO {
            let props = self.revision_props(reader)?;
            self.open = Some(OpenRevision::Zero(props));
            return Ok(());
        }
        let txn = self.group.borrow_mut().commits.begin((self.clock)())?;
        self.numbers.begin(original, txn.base_revision());
        self.tell(LoadEvent::Started { original })?;
        let props = self.revision_props(reader)?;
        self.open = Some(OpenRevision::Loading(Box::new(LoadingRevision {
            original,
            props,
            txn,
        })));
        Ok(())
    }

    /// Reads the properties of a revision, up to the end of its record.
    fn revision_props<R: BufRead>(&self, reader: &mut DumpReader<R>) -> Result<Props> {
        let mut props = Props::new();
        while let Some((name, value)) = reader.next_prop()? {
            props.insert(name, value.unwrap_or_default());
        }
        reader.skip_content()?;
        if self.options.ignore_dates {
            props.remove(props::DATE);
        }
        // The incumbent's dates are C strings.
        if let Some(date) = props.get_mut(props::DATE) {
            date.truncate(memchr::memchr(0, date).unwrap_or(date.len()));
        }
        Ok(props)
    }

    fn end_revision(&mut self) -> Result<()> {
        match self.open.take() {
            None | Some(OpenRevision::Skipped(_)) => Ok(()),
            Some(OpenRevision::Zero(props)) => {
                self.flush()?;
                if self.repository.youngest()? != Revnum::ZERO {
                    return Ok(());
                }
                revprops::replace(self.repository, Revnum::ZERO, props, self.options)
            }
            Some(OpenRevision::Loading(revision)) => {
                let (rev, original) = self.commit(*revision)?;
                self.numbers.committed(original, rev);
                self.group.borrow_mut().events.hold();
                self.tell(LoadEvent::Committed { rev, original })?;
                self.flush_if_due()
            }
        }
    }

    fn commit(&mut self, revision: LoadingRevision) -> Result<(Revnum, Revnum)> {
        let LoadingRevision {
            original,
            mut props,
            mut txn,
        } = revision;
        for (name, value) in &mut props {
            *value = prop::as_stored(name, std::mem::take(value), self.options)?;
        }
        if self.options.ignore_dates {
            let now = (self.clock)().to_string();
            props.insert(props::DATE.to_owned(), now.into_bytes());
        }
        for (name, value) in &props {
            txn.set_prop(name, Some(value))?;
        }
        if !props.contains_key(props::DATE) {
            txn.set_prop(props::DATE, None)?;
        }
        if let Some(hooks) = &self.options.pre_commit {
            let passed = txn_steps::around_hook(&mut txn, |name| hooks.pre_commit(name, None, &[]));
            if let Err(refused) = passed {
                // What refused it is the error, whatever the removal of the transaction says.
                _ = txn.abort();
                return Err(refused);
            }
        }
        let name = txn.name().to_owned();
        let (rev, set_aside) = self.group.borrow_mut().commits.commit(txn, self.clock)?;
        for path in set_aside {
            self.tell(LoadEvent::SetAside(path))?;
        }
        if let Some(hooks) = &self.options.post_commit {
            hooks.post_commit(rev, &name).map_err(|error| {
                error.wrap(
                    Code::REPOS_POST_COMMIT_HOOK_FAILED,
                    "Commit succeeded, but post-commit hook failed",
                )
            })?;
        }
        Ok((rev, original))
    }

    /// Returns the path in the repository for a path of the stream.
    fn path(&self, text: &str) -> Result<RelPath> {
        let path = RelPath::canonicalize(text.trim_start_matches('/')).map_err(|_| {
            let shown = self.shown_path(text);
            Error::new(
                Code::FS_PATH_SYNTAX,
                format!("Path '{shown}' contains '.' or '..' element"),
            )
        })?;
        Ok(self.options.parent_dir.join(&path))
    }
}

fn absolute(path: &RelPath) -> FsPath {
    FsPath::root().join(path)
}

fn is_wanted(range: Option<(Revnum, Revnum)>, rev: Revnum) -> bool {
    range.is_none_or(|(first, last)| (first..=last).contains(&rev))
}

fn malformed(what: &str) -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        format!("Malformed dumpstream: {what}"),
    )
}

/// True for 36 hexadecimal digits, of which those between the five groups may be dashes: the incumbent's library
/// accepts that.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-' || byte.is_ascii_hexdigit(),
            _ => byte.is_ascii_hexdigit(),
        })
}
