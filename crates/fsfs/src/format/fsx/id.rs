//! Identifiers. Source: section 4 of the description of FSX.
//!
//! A change set is a signed 64-bit number:
//!
//! | number | change set |
//! |---|---|
//! | 0 and above | the revision of this number |
//! | -1 | none |
//! | -2 and below | the transaction with number t is -(t + 2) |
//!
//! An ID is a number in a change set. As text it is the number in base 36, then `+` and the revision in base 36, or `-`
//! and the negated change set of the transaction in base 36: `3+5k`, `2-2q`. A node-revision has three IDs: its own, that
//! of its node, and that of its copy. Numbers of node-revisions and representations are item numbers.

use std::fmt;

use base::Revnum;
use base::number::{parse_base36, push_base36};

use super::cursor::{DecodeError, Subject};
use crate::format::id::{IdPart, IdTail, NodeRevId, TxnId};

/// A revision or a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ChangeSet {
    /// A revision.
    Revision(Revnum),
    /// The transaction of this number. Its name is the number in base 36.
    Txn(u64),
}

/// An ID of a node-revision, a node or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FsxId {
    /// The revision or transaction that made it.
    pub(crate) change_set: ChangeSet,
    /// The number within the change set.
    pub(crate) number: u64,
}

impl ChangeSet {
    /// The change set of a stored number; `None` for -1 and for what is beyond any transaction.
    pub(crate) fn from_number(number: i64) -> Option<Self> {
        match number {
            0.. => Some(ChangeSet::Revision(Revnum(number as u64))),
            -1 => None,
            ..=-2 => Some(ChangeSet::Txn((-2i64).checked_sub(number)? as u64)),
        }
    }

    /// The stored number.
    pub(crate) fn number(self) -> i64 {
        match self {
            ChangeSet::Revision(rev) => rev.0 as i64,
            ChangeSet::Txn(txn) => -2 - txn as i64,
        }
    }

    /// The revision; `None` for a transaction.
    pub(crate) fn revision(self) -> Option<Revnum> {
        match self {
            ChangeSet::Revision(rev) => Some(rev),
            ChangeSet::Txn(_) => None,
        }
    }
}

impl FsxId {
    /// The stored form of an ID of this back end ([`NodeRevId::is_item`]).
    pub(crate) fn of(id: &NodeRevId) -> Self {
        match id.tail {
            IdTail::Rev(rev, number) => FsxId {
                change_set: ChangeSet::Revision(rev),
                number,
            },
            IdTail::Txn(txn) => FsxId {
                change_set: ChangeSet::Txn(txn.number),
                number: id.node.number(),
            },
        }
    }

    /// The ID of a node-revision.
    pub(crate) fn noderev_id(self) -> NodeRevId {
        match self.change_set {
            ChangeSet::Revision(rev) => NodeRevId::of_item(rev, self.number),
            ChangeSet::Txn(txn) => NodeRevId::of_txn_item(TxnId::of_fsx(txn), self.number),
        }
    }

    /// The ID of a node or of a copy.
    pub(crate) fn part(self) -> IdPart {
        match self.change_set {
            ChangeSet::Revision(rev) => IdPart::permanent(self.number, rev),
            ChangeSet::Txn(_) => IdPart::temporary(self.number),
        }
    }

    /// The stored form of the ID of a node or of a copy, in a node-revision of `owner`, which has assigned temporary IDs.
    pub(crate) fn of_part(part: IdPart, owner: ChangeSet) -> Self {
        FsxId {
            change_set: part.revision().map_or(owner, ChangeSet::Revision),
            number: part.number(),
        }
    }

    /// Parses the text form.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, DecodeError> {
        let bad = |at: usize| DecodeError::new(SUBJECT, "malformed ID", at as u64);
        let sign = text
            .iter()
            .position(|byte| matches!(byte, b'+' | b'-'))
            .ok_or(bad(0))?;
        let number = parse_base36(&text[..sign]).ok_or(bad(0))?;
        let raw = parse_base36(&text[sign + 1..]).and_then(|raw| i64::try_from(raw).ok());
        let raw = raw.ok_or(bad(sign + 1))?;
        let change_set = match text[sign] {
            b'+' => ChangeSet::from_number(raw),
            _ => ChangeSet::from_number(-raw).filter(|set| set.revision().is_none()),
        };
        Ok(FsxId {
            change_set: change_set.ok_or(bad(sign + 1))?,
            number,
        })
    }
}

impl fmt::Display for FsxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        push_base36(&mut text, self.number);
        text.push(match self.change_set {
            ChangeSet::Revision(_) => '+',
            ChangeSet::Txn(_) => '-',
        });
        push_base36(&mut text, self.change_set.number().unsigned_abs());
        f.write_str(&text)
    }
}

const SUBJECT: Subject = Subject {
    name: "Malformed ID string",
    code: base::Code::FS_MALFORMED_NODEREV_ID,
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_samples_of_the_description() {
        let parse = |text: &str| FsxId::parse(text.as_bytes()).expect("an ID");
        let id = |change_set, number| FsxId { change_set, number };
        assert_eq!(parse("3+5k"), id(ChangeSet::Revision(Revnum(200)), 3));
        assert_eq!(parse("2-2q"), id(ChangeSet::Txn(96), 2));
        assert_eq!(parse("2-2q").change_set.number(), -98);
        assert_eq!(ChangeSet::from_number(-1), None);
        assert_eq!(
            ChangeSet::from_number(i64::MIN),
            Some(ChangeSet::Txn((i64::MAX - 1) as u64))
        );
    }

    #[test]
    fn malformed_ids_are_refused() {
        for bad in [
            "",
            "+",
            "3",
            "3+",
            "+3",
            "3+5K",
            "3-0",
            "3-1",
            "3+5k ",
            "3*5",
            "1+zzzzzzzzzzzzzzzz",
        ] {
            let e = FsxId::parse(bad.as_bytes()).expect_err(bad);
            assert_eq!(e.code(), base::Code::FS_MALFORMED_NODEREV_ID);
        }
    }

    proptest! {
        #[test]
        fn every_id_prints_as_it_is_read(number: u64, set in (i64::MIN + 1)..i64::MAX) {
            prop_assume!(set != -1);
            let id = FsxId { change_set: ChangeSet::from_number(set).expect("valid"), number };
            prop_assert_eq!(id.change_set.number(), set);
            prop_assert_eq!(FsxId::parse(id.to_string().as_bytes()), Ok(id));
        }
    }
}
