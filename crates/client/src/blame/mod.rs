//! The revision of each line of a file: the last one, or the next one, that changed it.
//!
//! The revisions of the file arrive as differences, each from the revision before. Two texts are in memory, the one before and the
//! one that arrives. The lines that differ are found by Subversion's rules ([`diff::NumberedText`]), so that the result is the
//! same; lines at both ends that a revision did not change are not looked at. [`attribution`] has a list of the lines' revisions.
//!
//! With merged revisions there are two such lists: one of the file's own revisions, and one of all that arrive, which names the
//! revision that a line was merged from. The text is that of the last revision that arrives, even if that is a merged one.

mod attribution;
mod sink;

use base::{Code, Date, Error, FsPath, RelPath, Result, Revnum, props};
use diff::DiffOptions;
use ra::{FileRequest, FileRevsRequest, Session};

use self::attribution::Span;
use self::sink::BlameSink;
use crate::locate::{self, Revision};

/// What to find.
#[derive(Clone, Copy, Debug)]
pub struct BlameOptions {
    /// The oldest revision that counts; if it is younger than `end`, the youngest: then lines have the revision that changed them
    /// next.
    pub start: Revision,
    /// The revision of the text.
    pub end: Revision,
    /// Whether to find the merged revisions.
    pub include_merged: bool,
    /// Whether to treat any file as text.
    pub force: bool,
    /// Which differences of lines count.
    pub diff: DiffOptions,
}

/// A file with the revisions of its lines.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The first revision of the request.
    pub start: Revnum,
    /// The last revision of the request.
    pub end: Revnum,
    text: Vec<u8>,
    revisions: Vec<BlameRevision>,
    own: Vec<Span>,
    merged: Option<Vec<Span>>,
}

/// A revision of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRevision {
    /// Its number.
    pub rev: Revnum,
    /// The path of the file.
    pub path: FsPath,
    /// The author.
    pub author: Option<Vec<u8>>,
    /// The date, as it is stored.
    pub date: Option<Vec<u8>>,
}

impl BlameRevision {
    /// Returns the date; `None` if there is none.
    ///
    /// # Errors
    /// `BAD_DATE`.
    pub fn parsed_date(&self) -> Result<Option<Date>> {
        self.date.as_deref().map(Date::parse).transpose()
    }
}

/// A line of the file.
#[derive(Clone, Copy, Debug)]
pub struct BlameLine<'a> {
    /// The line without its end.
    pub text: &'a [u8],
    /// Its revision; `None` if that is out of the range.
    pub own: Option<&'a BlameRevision>,
    /// The revision that it was merged from, or its own.
    pub merged: Option<&'a BlameRevision>,
}

impl BlameLine<'_> {
    /// True if the line was merged from a revision that is older than the one that brought it into the file. A merged revision that is
    /// younger only put the line back on its branch, while the file kept it.
    pub fn is_merged(&self) -> bool {
        self.merged
            .zip(self.own)
            .is_some_and(|(merged, own)| merged.rev < own.rev)
    }
}

impl Blame {
    /// Returns the lines.
    pub fn lines(&self) -> impl Iterator<Item = BlameLine<'_>> {
        let mut own = self.expand(&self.own);
        let mut merged = self.expand(self.merged.as_deref().unwrap_or_default());
        diff::split(&self.text).into_iter().map(move |line| BlameLine {
            text: without_end(line),
            own: own.next().flatten(),
            merged: merged.next().flatten(),
        })
    }

    /// Returns the revision of each line of the spans.
    fn expand<'a>(&'a self, spans: &'a [Span]) -> impl Iterator<Item = Option<&'a BlameRevision>> {
        spans.iter().flat_map(|span| {
            let rev = span.rev.and_then(|rev| self.revisions.get(rev as usize));
            std::iter::repeat_n(rev, span.lines)
        })
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Finds the revision of each line of the file at the session's URL in revision `peg`.
///
/// # Errors
/// `CLIENT_IS_BINARY_FILE`; as of [`locate::move_to_node`] and [`Session::file_revs`].
pub fn blame(session: &mut dyn Session, peg: Revision, options: &BlameOptions) -> Result<Blame> {
    let peg_rev = peg.number(session)?;
    let start = options.start.number(session)?;
    let end = options.end.number(session)?;
    locate::move_from_peg(session, peg, peg_rev, start.max(end))?;
    if start < end && !options.force {
        refuse_binary(session, end)?;
    }
    // Lines that are older than the range need a text from before it.
    let first = match start <= end {
        true => Revnum(start.0.saturating_sub(1)),
        false => start,
    };
    let request = FileRevsRequest {
        path: &RelPath::empty(),
        start: Some(first),
        end: Some(end),
        include_merged: options.include_merged,
    };
    let mut sink = BlameSink::new(start, end, options);
    session.file_revs(&request, &mut sink)?;
    Ok(sink.finish(start, end))
}

/// Fails if the file has a type that is no text.
fn refuse_binary(session: &mut dyn Session, rev: Revnum) -> Result<()> {
    let path = RelPath::empty();
    let request = FileRequest {
        path: &path,
        rev: Some(rev),
        props: true,
        text: false,
    };
    let info = session.file(&request, &mut |_, _| Ok(()))?;
    match info.props.get(props::MIME_TYPE) {
        Some(value) if props::mime_type_is_binary(value) => Err(is_binary()),
        _ => Ok(()),
    }
}

fn is_binary() -> Error {
    Error::bare(Code::CLIENT_IS_BINARY_FILE)
}
