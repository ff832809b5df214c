//! The summary of the merges between two branches.

use base::{Code, Error, FsPath, Result, Revnum};
use ra::LogRevprops;

use super::{Branch, History, MergedState, RevisionsRequest, Scope, Which, revisions};

/// The merges between two branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The revision in which the branches parted.
    pub common_rev: Revnum,
    /// The path that both had in it.
    pub common_path: FsPath,
    /// The last revision up to which everything was merged from the one to the other; `None` without such a merge.
    pub base: Option<Revnum>,
    /// The last full merge was one from the target to the source.
    pub is_reverse: bool,
}

/// Finds the summary of the merges from `source` to `target`.
///
/// # Errors
/// `CLIENT_NOT_READY_TO_MERGE` for branches without a common history; `FS_NOT_FOUND`; those of the sessions.
pub fn summary(source: &mut Branch<'_>, target: &mut Branch<'_>) -> Result<Summary> {
    let source_history = History::read(&mut *source.session, source.rev)?;
    let target_history = History::read(&mut *target.session, target.rev)?;
    let is_same_repository = source.session.uuid() == target.session.uuid();
    let common = source_history
        .common(&target_history)
        .filter(|_| is_same_repository);
    let Some((common_rev, common_path)) = common else {
        let message = format!(
            "'{}@{}' must be ancestrally related to '{}@{}'",
            source.session.url(),
            source.rev,
            target.session.url(),
            target.rev
        );
        return Err(Error::new(Code::CLIENT_NOT_READY_TO_MERGE, message));
    };
    target.session.check_tracks_merges()?;
    let from_source = last_merged((source, &source_history), (target, &target_history), common_rev)?;
    let from_target = last_merged((target, &target_history), (source, &source_history), common_rev)?;
    let is_reverse = from_target > from_source;
    let base = from_source.max(from_target);
    Ok(Summary {
        common_rev,
        common_path: common_path.clone(),
        base: (base > common_rev).then_some(base),
        is_reverse,
    })
}

/// Returns the last revision of `source` up to which everything was merged to `target`; the common one without merges.
fn last_merged(
    (source, source_history): (&mut Branch<'_>, &History),
    (target, target_history): (&mut Branch<'_>, &History),
    common: Revnum,
) -> Result<Revnum> {
    let source_rev = source.rev;
    if source_rev <= common {
        return Ok(common);
    }
    let mut state = MergedState::read(target, Scope::Tree, true)?;
    state.set_history(target_history.clone());
    let mut ends = |which, range| {
        let request = RevisionsRequest {
            which,
            range,
            revprops: LogRevprops::Names(Vec::new()),
        };
        let mut revs = Vec::new();
        revisions(source, &state, &request, &mut |entry, _| {
            revs.extend(entry.rev);
            Ok(())
        })?;
        Ok::<_, Error>((revs.first().copied(), revs.last().copied()))
    };
    let (_, Some(merged)) = ends(Which::Merged, (common, source_rev))? else {
        return Ok(common);
    };
    let (oldest_eligible, _) = ends(Which::Eligible, (common, merged))?;
    let Some(eligible) = oldest_eligible else {
        return Ok(merged);
    };
    // The branch may not have been there in the revision before: a copy of an older one.
    let before = source_history.at_or_before(Revnum(eligible.0.saturating_sub(1)));
    Ok(before.map_or(common, |(rev, _)| rev))
}
