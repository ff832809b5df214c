//! Where a node was in each revision.

use base::{FsPath, RelPath, Result, Revnum};
use ra::{LocationSegment, Session};

/// The paths of a node in the revisions of its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Youngest first, without gaps between copies and their sources.
    segments: Vec<(Revnum, Revnum, FsPath)>,
}

impl History {
    /// Reads the history of the node at the session's URL in `rev`.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` if there is no such node; those of the session.
    pub fn read(session: &mut dyn Session, rev: Revnum) -> Result<History> {
        History::read_range(session, rev, (Revnum::ZERO, rev))
    }

    /// Reads the history from one revision to another of the node at the session's URL in `rev`.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` if there is no such node, `FS_NO_SUCH_REVISION` for a revision after `rev`; those of the session.
    pub fn read_range(
        session: &mut dyn Session,
        rev: Revnum,
        (oldest, youngest): (Revnum, Revnum),
    ) -> Result<History> {
        let mut segments = Vec::new();
        let mut add = |segment: &LocationSegment| {
            if let Some(path) = &segment.path {
                segments.push((segment.start, segment.end, path.clone()));
            }
            Ok(())
        };
        session.location_segments(
            &RelPath::empty(),
            Some(rev),
            Some(youngest),
            Some(oldest),
            &mut add,
        )?;
        Ok(History { segments })
    }

    /// The path in a revision.
    pub fn path_at(&self, rev: Revnum) -> Option<&FsPath> {
        let (_, _, path) = self
            .segments
            .iter()
            .find(|(start, end, _)| (*start..=*end).contains(&rev))?;
        Some(path)
    }

    /// All paths, the youngest first.
    pub fn paths(&self) -> impl Iterator<Item = &FsPath> {
        self.segments.iter().map(|(_, _, path)| path)
    }

    /// The youngest revision up to `rev` in which the node existed, with its path.
    pub fn at_or_before(&self, rev: Revnum) -> Option<(Revnum, &FsPath)> {
        let (_, end, path) = self.segments.iter().find(|(start, _, _)| *start <= rev)?;
        Some((rev.min(*end), path))
    }

    /// The first revision.
    pub fn oldest(&self) -> Revnum {
        self.segments.last().map_or(Revnum::ZERO, |(start, _, _)| *start)
    }

    /// The youngest revision in which both nodes were the same one, with its path.
    pub fn common(&self, other: &History) -> Option<(Revnum, &FsPath)> {
        let pairs = self.segments.iter().flat_map(|mine| {
            let same = other.segments.iter().filter(move |theirs| theirs.2 == mine.2);
            same.map(move |theirs| (mine.0.max(theirs.0), mine.1.min(theirs.1), &mine.2))
        });
        pairs
            .filter(|(start, end, _)| start <= end)
            .map(|(_, end, path)| (end, path))
            .max_by_key(|(end, _)| *end)
    }
}
