//! Node-revision IDs and transaction names.
//!
//! An ID is `<node-id>.<copy-id>.<tail>`. The node-id identifies the node, the copy-id a branch of its history, and
//! the tail says where the node-revision is stored. Finding a committed node-revision takes only the tail; in a
//! transaction, all three parts.
//!
//! | part | grammar | meaning | since format |
//! |---|---|---|---|
//! | node-id, copy-id | `<number>` | counted over all revisions; `0` for the root | 1 |
//! | | `<number>-<rev>` | counted within the revision `<rev>` that assigned it | 3 |
//! | | `_<number>` | assigned in a transaction | 1 |
//! | tail | `r<rev>/<offset>` | committed, physical addressing; offset in bytes from the start of the revision | 1 |
//! | | `r<rev>/<item>` | committed, logical addressing; item number | 7 |
//! | | `t<txn>` | in a transaction | 1 |
//! | `<txn>` | `<base rev>-<number>` | name of a transaction | 1 |
//!
//! `<rev>`, `<offset>` and `<item>` are decimal; `<number>` is base 36 with the digits `0-9a-z`.

use std::fmt;

use base::Revnum;

use super::decode_error;
use super::fsx::id::FsxId;
use super::fsx::p2l::ROOT_ITEM;
use base::number::{parse_base36, push_base36, push_decimal, take_base36, take_decimal};

decode_error! {
    /// Why a text is not an ID.
    IdError {
        Id => FS_MALFORMED_NODEREV_ID, "Malformed node revision ID string";
        Txn => FS_MALFORMED_TXN_ID, "Malformed TXN name";
    }
}

/// A node-id or a copy-id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct IdPart {
    /// The revision that assigned it, 0 for the form without a revision, [`IN_TXN`] for `_<number>`.
    rev: u64,
    number: u64,
}

const IN_TXN: u64 = u64::MAX;

/// The revision of [`IdPart::ABSENT`].
const IN_NODEREV: u64 = u64::MAX - 1;

impl IdPart {
    /// The node-id and copy-id of the root directory.
    pub(crate) const ROOT: IdPart = IdPart { rev: 0, number: 0 };

    /// Stands for a part that the ID does not have: IDs of FSX name an item alone, and the node-revision has the parts.
    pub(crate) const ABSENT: IdPart = IdPart {
        rev: IN_NODEREV,
        number: 0,
    };

    /// A part assigned in revision `rev`; revision 0 is the form without a revision.
    pub(crate) fn permanent(number: u64, rev: Revnum) -> Self {
        IdPart { rev: rev.0, number }
    }

    /// A part assigned in a transaction (`_n`).
    pub(crate) fn temporary(number: u64) -> Self {
        IdPart { rev: IN_TXN, number }
    }

    /// True for a part assigned in a transaction.
    pub(crate) fn is_temporary(self) -> bool {
        self.rev == IN_TXN
    }

    /// The number without the revision.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// The revision that assigned it: `None` in a transaction, 0 where it is not recorded.
    pub(crate) fn revision(self) -> Option<Revnum> {
        (!self.is_temporary()).then_some(Revnum(self.rev))
    }

    /// Appends the part as it is stored. Each commit writes directories with thousands of entries: `write!` for each
    /// number would take longer than all other steps.
    fn push_to(self, out: &mut String) {
        if self.is_temporary() {
            out.push('_');
        }
        push_base36(out, self.number);
        if !self.is_temporary() && self.rev != 0 {
            out.push('-');
            push_decimal(out, self.rev);
        }
    }

    /// Reads a part of an ID.
    pub(crate) fn parse(mut text: &[u8]) -> Option<Self> {
        let part = Self::take(&mut text)?;
        text.is_empty().then_some(part)
    }

    /// Reads a part of an ID at the front of `text` and moves past it.
    fn take(text: &mut &[u8]) -> Option<Self> {
        if take_byte(text, b'_') {
            return Some(Self::temporary(take_base36(text)?));
        }
        let number = take_base36(text)?;
        let rev = match take_byte(text, b'-') {
            true => take_rev(text)?.0,
            false => 0,
        };
        Some(IdPart { rev, number })
    }
}

impl fmt::Display for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the text after an ID at the front of `text`. Accepts a subset of what [`NodeRevId::parse`] accepts: IDs of
/// ordinary length. `None` does not mean that the text is no ID.
pub(crate) fn skip_id(text: &[u8]) -> Option<&[u8]> {
    let text = skip_part(skip_part(text)?.strip_prefix(b".")?)?.strip_prefix(b".")?;
    match text.split_first()? {
        (b'r', rest) => skip_decimal(skip_decimal(rest)?.strip_prefix(b"/")?),
        (b't', rest) => skip_base36(skip_decimal(rest)?.strip_prefix(b"-")?),
        _ => None,
    }
}

fn skip_part(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"_") {
        return skip_base36(rest);
    }
    let rest = skip_base36(text)?;
    match rest.strip_prefix(b"-") {
        Some(rest) => skip_decimal(rest),
        None => Some(rest),
    }
}

fn skip_decimal(text: &[u8]) -> Option<&[u8]> {
    skip_digits(text, 18, u8::is_ascii_digit)
}

fn skip_base36(text: &[u8]) -> Option<&[u8]> {
    skip_digits(text, 12, |byte| {
        byte.is_ascii_digit() || byte.is_ascii_lowercase()
    })
}

/// Skips at least one and at most `most` digits, so few that the number fits 64 bits.
fn skip_digits(text: &[u8], most: usize, is_digit: impl Fn(&u8) -> bool) -> Option<&[u8]> {
    let digits = text
        .iter()
        .take(most + 1)
        .take_while(|byte| is_digit(byte))
        .count();
    (1..=most).contains(&digits).then(|| &text[digits..])
}

/// The name of a transaction: `<base revision>-<number in base 36>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TxnId {
    /// The revision that it was begun on; [`NO_BASE`] in FSX.
    base: Revnum,
    /// The sequence number.
    pub(crate) number: u64,
}

impl TxnId {
    /// Appends the name.
    fn push_to(self, out: &mut String) {
        if let Some(base) = self.base() {
            push_decimal(out, base.0);
            out.push('-');
        }
        push_base36(out, self.number);
    }

    /// The transaction of FSFS that was begun on revision `base`.
    pub(crate) fn of_fsfs(base: Revnum, number: u64) -> Self {
        TxnId { base, number }
    }

    /// The transaction of FSX with this number. Its name has no base revision.
    pub(crate) fn of_fsx(number: u64) -> Self {
        TxnId {
            base: NO_BASE,
            number,
        }
    }

    /// The base revision, if the name has it.
    pub(crate) fn base(self) -> Option<Revnum> {
        (self.base != NO_BASE).then_some(self.base)
    }

    /// The node-id and the copy-id in the ID of the root.
    pub(crate) fn root(self) -> (IdPart, IdPart) {
        match self.base() {
            Some(_) => (IdPart::ROOT, IdPart::ROOT),
            None => (IdPart::temporary(ROOT_ITEM), IdPart::ABSENT),
        }
    }

    /// Reads a name.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, IdError> {
        let dash = text.iter().position(|&b| b == b'-').ok_or(IdError::Txn)?;
        Ok(TxnId {
            base: Revnum::parse(&text[..dash]).ok_or(IdError::Txn)?,
            number: parse_base36(&text[dash + 1..]).ok_or(IdError::Txn)?,
        })
    }
}

/// The base revision of a transaction whose name does not have it.
const NO_BASE: Revnum = Revnum(u64::MAX);

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The tail of an ID: where the node-revision is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum IdTail {
    /// In a revision, at an item (byte offset or item number).
    Rev(Revnum, u64),
    /// In a transaction.
    Txn(TxnId),
}

/// Node-revision ID; `Display` prints `0-1.0.r3/6`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeRevId {
    pub(crate) node: IdPart,
    pub(crate) copy: IdPart,
    pub(crate) tail: IdTail,
}

impl NodeRevId {
    /// Reads an ID.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, IdError> {
        Self::parse_parts(text).ok_or(IdError::Id)
    }

    fn parse_parts(mut text: &[u8]) -> Option<Self> {
        let rest = &mut text;
        let node = IdPart::take(rest)?;
        let copy = IdPart::take(take_byte(rest, b'.').then_some(&mut *rest)?)?;
        let tail = match rest.strip_prefix(b".")?.split_first()? {
            (b'r', location) => {
                *rest = location;
                let rev = take_rev(rest)?;
                let item = take_decimal(take_byte(rest, b'/').then_some(&mut *rest)?)?;
                IdTail::Rev(rev, rest.is_empty().then_some(item)?)
            }
            (b't', txn) => IdTail::Txn(TxnId::parse(txn).ok()?),
            _ => return None,
        };
        Some(NodeRevId { node, copy, tail })
    }

    /// True for an ID of FSX: the number of an item in a revision or transaction.
    pub(crate) fn is_item(&self) -> bool {
        self.copy == IdPart::ABSENT
    }

    /// The ID of FSX of this item.
    pub(crate) fn of_item(rev: Revnum, item: u64) -> Self {
        NodeRevId {
            node: IdPart::ABSENT,
            copy: IdPart::ABSENT,
            tail: IdTail::Rev(rev, item),
        }
    }

    /// The ID of FSX of this item of a transaction.
    pub(crate) fn of_txn_item(txn: TxnId, item: u64) -> Self {
        NodeRevId {
            node: IdPart::temporary(item),
            copy: IdPart::ABSENT,
            tail: IdTail::Txn(txn),
        }
    }

    /// The transaction of an uncommitted node-revision.
    pub(crate) fn txn(&self) -> Option<TxnId> {
        match self.tail {
            IdTail::Txn(txn) => Some(txn),
            IdTail::Rev(..) => None,
        }
    }

    /// The revision of a committed node-revision.
    pub fn rev(&self) -> Option<Revnum> {
        match self.tail {
            IdTail::Rev(rev, _) => Some(rev),
            IdTail::Txn(_) => None,
        }
    }
}

fn take_byte(text: &mut &[u8], byte: u8) -> bool {
    let is_there = text.first() == Some(&byte);
    if is_there {
        *text = &text[1..];
    }
    is_there
}

fn take_rev(text: &mut &[u8]) -> Option<Revnum> {
    take_decimal(text).map(Revnum).filter(|rev| *rev <= Revnum::MAX)
}

impl fmt::Display for NodeRevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_item() {
            return fmt::Display::fmt(&FsxId::of(self), f);
        }
        let mut text = String::new();
        self.node.push_to(&mut text);
        text.push('.');
        self.copy.push_to(&mut text);
        text.push('.');
        match self.tail {
            IdTail::Rev(rev, item) => {
                text.push('r');
                push_decimal(&mut text, rev.0);
                text.push('/');
                push_decimal(&mut text, item);
            }
            IdTail::Txn(txn) => {
                text.push('t');
                txn.push_to(&mut text);
            }
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for NodeRevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_prints_as_it_was_read() {
        for text in [
            "0.0.r0/2",
            "0-1.0-3.r3/3",
            "_5.0.t0-0",
            "2-2._0.t6-6",
            "5.3.r7/1234",
            "z.0.t12-1b",
        ] {
            let id = NodeRevId::parse(text.as_bytes()).expect("a real ID");
            assert_eq!(id.to_string(), text);
        }
        let id = NodeRevId::parse(b"5-0.0.r1/2").expect("revision 0 may be written");
        assert_eq!(id.to_string(), "5.0.r1/2");
    }

    #[test]
    fn parts_print_the_revision_that_assigned_them() {
        let parts = [
            IdPart::permanent(36, Revnum(3)),
            IdPart::permanent(36, Revnum(0)),
            IdPart::temporary(36),
        ];
        assert_eq!(parts.map(|part| part.to_string()), ["10-3", "10", "_10"]);
    }

    #[test]
    fn malformed_ids_are_refused() {
        for bad in [
            "",
            "0.0",
            "0.0.",
            "0.0.x1/2",
            "0.0.r1",
            "0.0.r/2",
            "0.0.r-1/2",
            "A.0.r1/2",
            "0.0.t1",
            "0.0.r1/2 ",
        ] {
            assert_eq!(NodeRevId::parse(bad.as_bytes()), Err(IdError::Id), "{bad}");
        }
    }

    #[test]
    fn ids_of_fsx_print_as_it_stores_them() {
        let id = NodeRevId::of_item(Revnum(200), 3);
        assert_eq!((id.to_string().as_str(), id.rev()), ("3+5k", Some(Revnum(200))));
        let txn = TxnId::of_fsx(96);
        assert_eq!((txn.to_string().as_str(), txn.base()), ("2o", None));
        let (node, _) = txn.root();
        let root = NodeRevId::of_txn_item(txn, 2);
        assert_eq!(
            (root.to_string().as_str(), root.node, root.txn()),
            ("2-2q", node, Some(txn))
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes: Vec<u8>) {
            let _ = NodeRevId::parse(&bytes);
            let _ = TxnId::parse(&bytes);
        }
    }
}
