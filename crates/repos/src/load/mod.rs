//! Loading: a dump stream becomes revisions.
//!
//! The stream is read once, forward, and never held: a revision record begins a transaction, the node records behind it
//! are applied as they come, and the next revision record (or the end) commits. What the revisions are called here and
//! what they were called where they were dumped may differ; [`renumber`](mod@renumber) keeps the two together, so that
//! copies and mergeinfo point to the right ones.
//!
//! Revisions are committed in groups (`commits`): a group becomes durable and visible at once, and only then its revisions are
//! told. Hooks want to see single revisions, so with hooks each one is a group. While a group is open nobody else can commit, so it
//! is closed whenever the stream makes us wait (`input`), and when it is a second old, also in the midst of a revision.
//!
//! What goes wrong leaves all revisions before it, and the transaction in which it went wrong, for the administrator
//! to look at.

mod apply;
mod commits;
mod input;
mod prop;
mod renumber;
mod revprops;

use std::cell::RefCell;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::rc::Rc;

use base::{Cancel, Code, Error, FsPath, Props, RelPath, Result, Revnum, props};
use fsfs::Txn;

use crate::commit::life;
use crate::dumpfile::{Reader, Record, RevisionHeaders};
use crate::hooks::Hooks;
use crate::props_rules;
use crate::repo::Repository;
use commits::{CommitGroup, Commits, EventQueue};
use renumber::Renumbering;

pub use crate::commit::Clock;
pub use revprops::revprops;

/// How to load.
#[derive(Clone)]
pub struct LoadOptions {
    /// Revisions of the stream to load; the others are skipped.
    pub range: Option<(Revnum, Revnum)>,
    /// What happens to the UUID.
    pub uuid: UuidAction,
    /// Where in the repository the stream's root goes; must exist there.
    pub parent_dir: RelPath,
    /// The hooks that are run for each revision.
    pub pre_commit: Option<Hooks>,
    /// The hooks that are run for each revision.
    pub post_commit: Option<Hooks>,
    /// Properties must be such as clients may set.
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

/// What happens to the stream's UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UuidAction {
    /// The repository takes it if it has no revision but 0.
    #[default]
    IfEmpty,
    /// The repository keeps its own.
    Ignore,
    /// The repository takes it.
    Force,
}

/// How loading goes on. Numbers called `original` are the stream's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadEvent {
    /// A revision is begun.
    Started {
        /// Its number in the stream.
        original: Revnum,
    },
    /// A node is begun: its path, or what the stream has in place of one.
    Editing(String),
    /// It was made as a copy.
    Copied,
    /// Carriage returns were taken out of its mergeinfo.
    NormalizedMergeinfo,
    /// It is complete.
    Done,
    /// A revision is there. Told when it is on disk.
    Committed {
        /// Its number here.
        rev: Revnum,
        /// Its number in the stream.
        original: Revnum,
    },
    /// A revision is not wanted.
    Skipped {
        /// Its number in the stream.
        original: Revnum,
    },
    /// A revision's properties are set ([`revprops`] alone).
    PropsSet(Revnum),
    /// Something is strange but no reason to stop: its number and a text.
    Warning(u16, &'static str),
    /// A file that was in the way of a revision has this name now.
    SetAside(PathBuf),
}

/// Hears how loading goes on.
pub trait LoadObserver {
    /// # Errors
    /// Stops the load.
    fn event(&mut self, event: LoadEvent) -> Result<()>;
}

/// Loads a stream. It is read on a thread of its own, which is left behind if loading fails before the stream ends.
///
/// # Errors
/// `STREAM_MALFORMED_DATA`, `STREAM_UNRECOGNIZED_DATA`, `INCOMPLETE_DATA` for the stream; `BAD_PROPERTY_VALUE`,
/// `REPOS_BAD_ARGS` for properties; `CHECKSUM_MISMATCH`; those of changing a transaction and committing it;
/// `CANCELLED`. Revisions that were complete before are there, and were told.
pub fn run(
    repository: &Repository,
    input: impl Read + Send + 'static,
    options: &LoadOptions,
    observer: &mut dyn LoadObserver,
    cancel: &Cancel,
    clock: &Clock,
) -> Result<()> {
    let group = Rc::new(RefCell::new(CommitGroup {
        commits: Commits::new(repository, options)?,
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
    // The transaction in which it went wrong is left for the administrator, what was complete is kept.
    loader.open = None;
    let flushed = loader.flush();
    if outcome.is_err() {
        // Perhaps it only says that waiting for the stream came to nothing: then this is why.
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
    group: Rc<RefCell<CommitGroup<'a>>>,
    open: Option<OpenRevision>,
    /// For texts on their way; kept for the next one.
    buffer: Vec<u8>,
}

/// The revision whose records are being read.
enum OpenRevision {
    /// Revision 0, whose properties replace those of an empty repository's.
    Zero(Props),
    /// It is not wanted. Its number in the stream.
    Skipped(Revnum),
    /// It is being made.
    Loading(Box<LoadingRevision>),
}

struct LoadingRevision {
    original: Revnum,
    props: Props,
    txn: Txn,
}

impl Loader<'_> {
    fn load(&mut self, input: impl BufRead, cancel: &Cancel) -> Result<()> {
        let mut reader = Reader::open(input)?;
        while let Some(record) = reader.next_record()? {
            cancel.check()?;
            match record {
                Record::Uuid(uuid) => self.uuid(&uuid)?,
                Record::Revision(headers) => {
                    self.end_revision()?;
                    self.begin_revision(&headers, &mut reader)?;
                }
                Record::Node(node) => match &self.open {
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

    /// Makes durable what is complete, and tells so.
    fn flush(&mut self) -> Result<()> {
        self.group.borrow_mut().flush()
    }

    /// Does so if it has waited for long.
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
        reader: &mut Reader<R>,
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

    /// Reads the properties of a revision, to the end of its record.
    fn revision_props<R: BufRead>(&self, reader: &mut Reader<R>) -> Result<Props> {
        let mut props = Props::new();
        while let Some((name, value)) = reader.next_prop()? {
            let value = value.unwrap_or_default();
            let value = match self.options.normalize_props {
                true => props_rules::normalize(&name, &value).into_owned(),
                false => value,
            };
            props.insert(name, value);
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
                self.validate(&props)?;
                self.repository.fs().set_revprops(Revnum::ZERO, &props)
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
        self.validate(&props)?;
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
            life::around_hook(&mut txn, |name| hooks.pre_commit(name, None, &[]))?;
        }
        let name = txn.name().to_owned();
        let (rev, set_aside) = self.group.borrow_mut().commits.commit(txn, self.clock)?;
        for path in set_aside {
            self.tell(LoadEvent::SetAside(path))?;
        }
        if let Some(hooks) = &self.options.post_commit {
            hooks.post_commit(rev, &name)?;
        }
        Ok((rev, original))
    }

    fn validate(&self, all: &Props) -> Result<()> {
        match self.options.validate_props {
            true => all
                .iter()
                .try_for_each(|(name, value)| prop::validate(name, value)),
            false => Ok(()),
        }
    }

    /// A path of the stream as it is here.
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

/// True for 36 hexadecimal digits, of which those between the five groups may be dashes: what the incumbent's library takes.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-' || byte.is_ascii_hexdigit(),
            _ => byte.is_ascii_hexdigit(),
        })
}
