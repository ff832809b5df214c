//! Dumps revisions of a repository.

use base::dumpfile::{write_revision, write_start};
use base::{Code, Depth, Error, PropList, Props, RelPath, Result, Revnum, Url};
use ra::{PathState, ReplayOptions, ReportKind, ReportRequest, Session};

use super::Connect;
use super::dump_editor::DumpEditor;
use super::normalize::normalize;
use super::record::Output;
use crate::replay_ahead::ReplayAhead;

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpRevision {
    /// A number.
    Number(Revnum),
    /// The youngest revision.
    Head,
}

/// The revisions to dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpRange {
    /// The first.
    pub start: DumpRevision,
    /// The last.
    pub end: DumpRevision,
    /// The first revision is written as a difference from the one before, not as a whole tree.
    pub incremental: bool,
}

/// Writes a stream of the revisions of the tree at `url`. `open` is called when the session is open, and returns the range;
/// `dumped` is called after each revision.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for revisions that do not exist; those of the sessions and of the callbacks.
pub fn dump(
    url: &Url,
    open: &mut dyn FnMut() -> Result<DumpRange>,
    connect: &dyn Connect,
    output: Output<'_>,
    dumped: &mut dyn FnMut(Revnum) -> Result<()>,
) -> Result<()> {
    let mut session = connect.open(url)?;
    let range = open()?;
    let (mut start, end) = resolve(range, session.latest_revision()?)?;
    let mut head = Vec::new();
    write_start(&mut head, 3, session.uuid());
    output(&head)?;
    if start == Revnum::ZERO {
        write_props(start, &session.revprops(start)?, output)?;
        dumped(start)?;
        start = start.next();
    } else if !range.incremental {
        write_props(start, &session.revprops(start)?, output)?;
        write_tree(&mut *session, start, output)?;
        dumped(start)?;
        start = start.next();
    }
    if start > end {
        return Ok(());
    }
    let options = ReplayOptions {
        low_water_mark: Revnum::ZERO,
        send_deltas: true,
    };
    let mut revisions = ReplayAhead::start(session, (start, end), options, connect.cancel())?;
    while let Some((rev, props)) = revisions.next_revision()? {
        write_props(rev, &props, output)?;
        revisions.drive(&mut DumpEditor::new(output))?;
        dumped(rev)?;
    }
    Ok(())
}

/// Returns the numbers of a range.
fn resolve(range: DumpRange, latest: Revnum) -> Result<(Revnum, Revnum)> {
    let refused = |message: String| Error::new(Code::CL_ARG_PARSING_ERROR, message);
    let number = |rev: DumpRevision| match rev {
        DumpRevision::Head => Ok(latest),
        DumpRevision::Number(rev) if rev <= latest => Ok(rev),
        DumpRevision::Number(rev) => Err(refused(format!("Revision '{rev}' does not exist"))),
    };
    let (start, end) = (number(range.start)?, number(range.end)?);
    if start > end {
        return Err(refused(
            "LOWER revision cannot be greater than UPPER revision; consider reversing your revision range"
                .to_owned(),
        ));
    }
    Ok((start, end))
}

fn write_props(rev: Revnum, props: &Props, output: Output<'_>) -> Result<()> {
    let normalized: Props = props
        .iter()
        .map(|(name, value)| (name.clone(), normalize(name, value).into_owned()))
        .collect();
    let mut record = Vec::new();
    write_revision(&mut record, rev, &PropList::from(&normalized));
    output(&record)
}

/// Writes the whole tree of a revision.
fn write_tree(session: &mut dyn Session, rev: Revnum, output: Output<'_>) -> Result<()> {
    let root = session
        .url()
        .relative_to(session.root_url())
        .unwrap_or_else(RelPath::empty);
    let request = ReportRequest {
        kind: ReportKind::Update {
            send_copyfrom: false,
            ignore_ancestry: false,
        },
        rev: Some(rev),
        target: "",
        depth: Depth::Infinity,
    };
    session.report(
        &request,
        &mut |state| state.set_path(&RelPath::empty(), &PathState::empty(rev)),
        &mut DumpEditor::of_tree(&root, output),
    )
}
