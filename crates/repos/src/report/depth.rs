//! Which entries of a directory a depth includes.
//!
//! Two depths apply to every directory: the one at which the client holds it, and the requested one. The tables
//! decide about each entry of the target that the client did not report.

use base::{Depth, NodeKind};

/// What the walk does with an entry that was not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryAction {
    /// Leave it out.
    Ignore,
    /// Compare it with the source's entry.
    Compare,
    /// The client does not have it: send all of it.
    New,
}

/// Returns what to do with an unreported entry of `kind` in a directory that the client holds at `held`, where
/// `requested` was requested.
pub(super) fn entry_action(kind: NodeKind, held: Depth, requested: Depth) -> EntryAction {
    use EntryAction::{Compare, Ignore, New};
    let deep = requested >= Depth::Immediates;
    match (kind == NodeKind::File, held) {
        (true, Depth::Exclude | Depth::Empty) if requested >= Depth::Files => New,
        (true, Depth::Exclude | Depth::Empty) => Ignore,
        (true, _) if requested == Depth::Empty => Ignore,
        (true, _) => Compare,
        // Clients do not request this depth. It means that every directory is new, even where only files are
        // requested.
        (false, Depth::Exclude) if requested >= Depth::Files => New,
        (false, Depth::Exclude | Depth::Empty | Depth::Files) if deep => New,
        (false, Depth::Exclude | Depth::Empty | Depth::Files) => Ignore,
        (false, _) if deep || requested == Depth::Unknown => Compare,
        (false, _) => Ignore,
    }
}

/// Returns the depth that applies one level further down.
pub(super) fn below(depth: Depth) -> Depth {
    match depth {
        Depth::Immediates => Depth::Empty,
        Depth::Unknown | Depth::Exclude | Depth::Empty | Depth::Files | Depth::Infinity => depth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: held; columns: requested. `o` compare, `-` ignore, `U` new.
    fn row(kind: NodeKind, held: Depth) -> String {
        let columns = [
            Depth::Unknown,
            Depth::Empty,
            Depth::Files,
            Depth::Immediates,
            Depth::Infinity,
        ];
        let letter = |requested| match entry_action(kind, held, requested) {
            EntryAction::Ignore => '-',
            EntryAction::Compare => 'o',
            EntryAction::New => 'U',
        };
        columns.map(letter).iter().collect()
    }

    #[test]
    fn the_matrix_of_depths() {
        let held = [Depth::Empty, Depth::Files, Depth::Immediates, Depth::Infinity];
        assert_eq!(
            held.map(|h| row(NodeKind::File, h)),
            ["--UUU", "o-ooo", "o-ooo", "o-ooo"]
        );
        assert_eq!(
            held.map(|h| row(NodeKind::Dir, h)),
            ["---UU", "---UU", "o--oo", "o--oo"]
        );
        let excluded = [NodeKind::File, NodeKind::Dir].map(|kind| row(kind, Depth::Exclude));
        assert_eq!(excluded, ["--UUU", "--UUU"]);
    }
}
