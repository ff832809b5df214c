//! The rep line: where a content is stored, and its digests. Source: section 7 of the description of FSX.
//!
//! `<change set> <item> <size> <expanded> <md5> [<sha1>]`, or `-1` alone.
//!
//! | field | encoding |
//! |---|---|
//! | `<change set>` | signed decimal, see [`id`](super::id) |
//! | `<item>` | decimal, the item number in the change set |
//! | `<size>` | decimal; bytes of the body in the file of the unpacked revision, also after packing |
//! | `<expanded>` | decimal; bytes of the content |
//! | `<md5>` | 32 hexadecimal digits, of the content |
//! | `<sha1>` | 40 hexadecimal digits, of the content; texts of files only |
//!
//! Item 0 of a transaction, and the line `-1`, stand for a content in a file of its own in the transaction.

use base::checksum::{Md5, Sha1};
use base::number::parse_decimal;

use super::id::{ChangeSet, FsxId};
use crate::format::rep_line::{Rep, RepLocation};

/// A rep line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FsxRep {
    /// The change set and item; `None` for the line `-1`.
    pub(crate) id: Option<FsxId>,
    /// Bytes of the body as it was in the unpacked revision.
    pub(crate) size: u64,
    /// Bytes of the content.
    pub(crate) expanded: u64,
    pub(crate) md5: Md5,
    pub(crate) sha1: Option<Sha1>,
}

impl FsxRep {
    /// The rep line in the form of the storage layer, for a node-revision of `owner`; `None` if it names another
    /// transaction. `is_file` is true for the text of a file, which a transaction has in its proto-revision file.
    pub(crate) fn location(self, owner: ChangeSet, is_file: bool) -> Option<Rep> {
        let location = match self.id {
            Some(FsxId {
                change_set: ChangeSet::Revision(rev),
                number,
            }) => RepLocation::Rev(rev, number),
            Some(FsxId { change_set, .. }) if change_set != owner => return None,
            Some(FsxId { number, .. }) if is_file => RepLocation::Txn(number),
            Some(_) | None => return Some(Rep::MUTABLE),
        };
        Some(Rep {
            location,
            length: self.size,
            expanded: self.expanded,
            md5: self.md5,
            sha1: self.sha1,
            uniquifier: None,
        })
    }

    /// The rep line of a content of a node-revision of `owner`. A content in a file of its own has item 0.
    pub(crate) fn of(rep: &Rep, owner: ChangeSet) -> Self {
        let (change_set, number) = match rep.location {
            RepLocation::Rev(rev, item) => (ChangeSet::Revision(rev), item),
            RepLocation::Txn(item) => (owner, item),
            RepLocation::Mutable => (owner, 0),
        };
        FsxRep {
            id: Some(FsxId { change_set, number }),
            size: rep.length,
            expanded: rep.expanded,
            md5: rep.md5,
            sha1: rep.sha1,
        }
    }

    /// Parses a line without its newline; `None` if it is malformed.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        if line == b"-1" {
            return Some(FsxRep {
                id: None,
                size: 0,
                expanded: 0,
                md5: Md5([0; 16]),
                sha1: None,
            });
        }
        let mut fields = line.split(|&byte| byte == b' ');
        let field = fields.next()?;
        let change_set = match field.strip_prefix(b"-") {
            Some(digits) => i64::try_from(parse_decimal(digits)?).ok()?.checked_neg()?,
            None => i64::try_from(parse_decimal(field)?).ok()?,
        };
        let mut number = || parse_decimal(fields.next()?).filter(|&number| number <= i64::MAX as u64);
        let (item, size, expanded) = (number()?, number()?, number()?);
        let rep = FsxRep {
            id: Some(FsxId {
                change_set: ChangeSet::from_number(change_set)?,
                number: item,
            }),
            size,
            expanded,
            md5: Md5::parse_hex(fields.next()?)?,
            sha1: match fields.next() {
                Some(digits) => Some(Sha1::parse_hex(digits)?),
                None => None,
            },
        };
        fields.next().is_none().then_some(rep)
    }

    /// The line, without newline.
    pub(crate) fn line(&self) -> String {
        let Some(id) = self.id else {
            return "-1".to_owned();
        };
        let (set, item) = (id.change_set.number(), id.number);
        let line = format!("{set} {item} {} {} {}", self.size, self.expanded, self.md5);
        match self.sha1 {
            Some(sha1) => format!("{line} {sha1}"),
            None => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: &str = "12 7 31 80 2d2977d1c96f487abe4a1e202dd03b4e";
    const FILE: &str = "1 3 26 14 746308829575e17c3331bbcb00c0898b 09fac8dbfd27bd9b4d23a00eb648aa751789536d";
    const TXN: &str = "-98 5 0 0 00000000000000000000000000000000";

    #[test]
    fn every_form_prints_as_it_was_read() {
        for line in [DIR, FILE, TXN, "-1"] {
            assert_eq!(FsxRep::parse(line.as_bytes()).expect(line).line(), line);
        }
        let id = FsxRep::parse(TXN.as_bytes()).and_then(|rep| rep.id);
        assert_eq!(id.map(|id| id.to_string()).as_deref(), Some("5-2q"));
    }

    #[test]
    fn malformed_lines_are_refused() {
        for bad in [
            "".to_owned(),
            "--2 1 1 1 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            "-1 1 1 1 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            "12 7 31 80".to_owned(),
            "12 7 31 80 2d29".to_owned(),
            "12 -7 31 80 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            "12 7 31 9223372036854775808 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            format!("{DIR} -"),
            format!("{FILE} x"),
            format!("{DIR} "),
        ] {
            assert_eq!(FsxRep::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
