//! Filters a dump stream: nodes are left out by their paths, and revisions that have no nodes left may be left out too.
//!
//! The stream is read once, forward, and written at the same time. Texts pass unread, as full texts and as svndiff;
//! properties pass in the order of the stream. Three things change: the number of a revision and the numbers that refer to
//! it ([`renumber`]), the value of `svn:mergeinfo` ([`mergeinfo`](mod@mergeinfo)), and the properties of a revision that
//! lost all of its nodes, which becomes padding ([`revision`]).
//!
//! A revision is written when its first node is, or when the next revision begins. A node is written when its properties
//! are read. So a stream that ends in an error has the same partial output as the incumbent's filter.
//!
//! Memory holds the headers and properties of one record, and one number for each revision if revisions are renumbered.
//!
//! Headers that are passed on keep the order of the stream. (The incumbent's order changes from run to run.) Two streams
//! that the incumbent writes cannot be loaded, and are written correctly here: the empty property list of a revision, and
//! the text of a node in the oldest streams, which have no header for its length.

mod mergeinfo;
mod node;
mod path_matcher;
mod renumber;
mod revision;
mod section;

use std::io::{BufRead, Write};

use base::{Cancel, Code, Error, Result};

use crate::dump::Filter;
use crate::dumpfile::{DumpReader, HeaderBlock, RecordKind, name};
use path_matcher::PathMatcher;
use renumber::Renumbering;
use revision::Revision;

pub use renumber::RevisionMapping;

/// The options of a filter.
#[derive(Clone, Debug)]
pub struct FilterOptions {
    /// The nodes to keep.
    pub nodes: Filter,
    /// The revisions to leave out.
    pub drop_revisions: DropRevisions,
    /// Number the revisions that are left without gaps, if revisions are left out at all.
    pub renumber: bool,
    /// Leave out merge sources that are filtered or older than the stream, instead of failing.
    pub skip_missing_merge_sources: bool,
    /// Keep the properties of revisions that lost all of their nodes.
    pub preserve_revprops: bool,
}

/// The revisions that are left out. Revision 0 never is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropRevisions {
    /// None.
    #[default]
    None,
    /// Those that lost all of their nodes.
    Emptied,
    /// Those without nodes, also if they never had any.
    Empty,
}

/// The progress of a filter. Numbers of revisions are those of the stream; in a malformed one they may be anything.
pub trait FilterObserver {
    /// A revision was written with the number `actual`.
    fn committed(&mut self, original: i64, actual: i64);
    /// A revision was left out.
    fn skipped(&mut self, original: i64);
    /// A node was left out. The path begins with a slash, and need not be UTF-8.
    fn dropped_node(&mut self, path: &[u8]);
}

/// The result of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterSummary {
    /// The number of revisions that were left out.
    pub dropped_revisions: u64,
    /// The new number of each revision, by descending old numbers; `None` if revisions are not renumbered.
    pub renumbered: Option<Vec<(i64, RevisionMapping)>>,
}

/// Filters a stream.
///
/// # Errors
/// Those of the reader; `STREAM_MALFORMED_DATA`, `INCOMPLETE_DATA` and `NODE_UNEXPECTED_KIND` for nodes that need what was
/// left out, `MERGEINFO_PARSE_ERROR`, `CANCELLED`; `errno` if the output fails. What was written before stays.
pub fn run(
    reader: DumpReader<impl BufRead>,
    output: &mut impl Write,
    options: &FilterOptions,
    observer: &mut impl FilterObserver,
    cancel: &Cancel,
) -> Result<FilterSummary> {
    let mut filter = StreamFilter {
        reader,
        output,
        options,
        observer,
        cancel,
        paths: PathMatcher::new(&options.nodes),
        renumbering: Renumbering::default(),
        block: HeaderBlock::default(),
        revision: None,
        dropped_revisions: 0,
        oldest: 0,
        head: Vec::new(),
        section: Vec::new(),
    };
    filter.stream()?;
    Ok(FilterSummary {
        dropped_revisions: filter.dropped_revisions,
        renumbered: options.renumbers().then(|| filter.renumbering.into_descending()),
    })
}

impl FilterOptions {
    /// True if revisions get new numbers.
    fn renumbers(&self) -> bool {
        self.renumber && self.drop_revisions != DropRevisions::None
    }
}

/// A filter at work.
struct StreamFilter<'f, R, W, O> {
    reader: DumpReader<R>,
    output: &'f mut W,
    options: &'f FilterOptions,
    observer: &'f mut O,
    cancel: &'f Cancel,
    paths: PathMatcher<'f>,
    renumbering: Renumbering,
    /// The headers of the current record.
    block: HeaderBlock,
    /// The current revision.
    revision: Option<Revision>,
    dropped_revisions: u64,
    /// The first revision that was written, apart from 0; 0 before it.
    oldest: i64,
    /// The headers of a record before they are written. The buffer is reused.
    head: Vec<u8>,
    /// A property section before it is written. The buffer is reused.
    section: Vec<u8>,
}

impl<R: BufRead, W: Write, O: FilterObserver> StreamFilter<'_, R, W, O> {
    /// Passes all records.
    fn stream(&mut self) -> Result<()> {
        let version = self.reader.version();
        let start = format!("{}: {version}\n\n", name::VERSION);
        self.write(start.as_bytes())?;
        while let Some(kind) = self.reader.next_block(&mut self.block)? {
            self.cancel.check()?;
            match kind {
                RecordKind::Uuid => self.uuid()?,
                RecordKind::Revision => {
                    self.end_revision()?;
                    self.begin_revision()?;
                }
                RecordKind::Node => self.node()?,
            }
        }
        self.end_revision()
    }

    fn uuid(&mut self) -> Result<()> {
        let uuid = self.block.get(name::UUID).unwrap_or_default();
        self.head.clear();
        section::header(&mut self.head, name::UUID.as_bytes(), uuid);
        self.head.push(b'\n');
        write(self.output, &self.head)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        write(self.output, bytes)
    }
}

fn write(output: &mut impl Write, bytes: &[u8]) -> Result<()> {
    output
        .write_all(bytes)
        .map_err(|e| Error::os(&e, "Can't write to stream"))
}

fn incomplete(message: String) -> Error {
    Error::new(Code::INCOMPLETE_DATA, message)
}

#[cfg(test)]
mod tests;
