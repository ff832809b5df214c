//! Sharing: a content that is stored already is not stored again.
//!
//! Contents are found by their SHA-1, among those of this commit, in `rep-cache.db`, and among those of this transaction.
//! What is found is then compared byte by byte: two contents that have the same SHA-1 and differ stop the commit. So does
//! a row that names a revision which does not exist yet, for then the database belongs to another history.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{Code, Error, Result, ResultExt as _, Revnum};

use crate::format::id::TxnId;
use crate::format::rep_line::{Rep, RepPlace, RepSize, Uniquifier};
use crate::store::UnsharedRows;
use crate::store::disk::Create;
use crate::store::rep_cache::{RepCache, RepCacheRow};
use crate::tree::Fs;
use crate::tree::rep::{RawContent, RepAddress, TextReader};
use crate::txn::proto_rev::ProtoWriter;

/// What a transaction knows about contents that its new ones may share, and which new ones others may share later.
/// Where sharing is off (by configuration or format) it finds nothing and collects nothing.
pub(crate) struct RepSharing {
    fs: Fs,
    txn: TxnId,
    /// File texts of the transaction.
    texts: HashMap<Sha1, TxnText>,
    /// Those of them that have no file in the transaction's directory yet.
    unwritten: Vec<Sha1>,
    /// Other processes wrote to the transaction: what they wrote is found in its directory.
    reads_disk: bool,
    /// Property lists of the commit that is going on, and at which offset they start.
    props: HashMap<Sha1, (Rep, u64)>,
    rows: Vec<RepCacheRow>,
    unshared: Option<(UnsharedRows, Revnum)>,
}

/// A file text of the transaction: its rep line but for what all of them have. A large import has as many as files.
#[derive(Clone, Copy)]
struct TxnText {
    item: u64,
    length: u64,
    expanded: u64,
    md5: Md5,
    /// Of its uniquifier; none in formats that have none.
    number: Option<NonZeroU64>,
}

impl TxnText {
    /// `None` for a content that is stored elsewhere.
    fn of(rep: &Rep) -> Option<TxnText> {
        let RepPlace::Txn(item) = rep.place else {
            return None;
        };
        Some(TxnText {
            item,
            length: rep.length,
            expanded: rep.expanded,
            md5: rep.md5,
            number: rep
                .uniquifier
                .and_then(|own| NonZeroU64::new(own.number.saturating_add(1))),
        })
    }

    fn rep(&self, sha1: Sha1, txn: TxnId) -> Rep {
        let uniquifier = |number: NonZeroU64| Uniquifier {
            txn,
            number: number.get() - 1,
        };
        Rep {
            place: RepPlace::Txn(self.item),
            length: self.length,
            expanded: self.expanded,
            md5: self.md5,
            sha1: Some(sha1),
            uniquifier: self.number.map(uniquifier),
        }
    }
}

/// A content that was written just now.
pub(super) struct NewContent<'a> {
    /// Its rep line, as it would be.
    pub(super) rep: Rep,
    /// Where its item starts, if it has been written at all.
    pub(super) offset: u64,
    /// The bytes, if they are at hand.
    pub(super) bytes: Option<&'a [u8]>,
}

impl RepSharing {
    /// For a new transaction, or one found on disk (`reads_disk`: then `<sha1>` files in its directory count too).
    pub(crate) fn new(fs: &Fs, txn: TxnId, reads_disk: bool) -> RepSharing {
        RepSharing {
            fs: fs.clone(),
            txn,
            texts: HashMap::new(),
            unwritten: Vec::new(),
            reads_disk,
            props: HashMap::new(),
            rows: Vec::new(),
            unshared: None,
        }
    }

    /// Looks in `rows` too, which belong to revisions up to `youngest`; for grouped commits.
    pub(crate) fn with_unshared(mut self, rows: UnsharedRows, youngest: Revnum) -> RepSharing {
        self.unshared = Some((rows, youngest));
        self
    }

    /// Finds a stored content that is equal to a new one; returns the new one's rep line with the place of the old one.
    ///
    /// # Errors
    /// `FS_CORRUPT` for rows that name what is not there, `FS_AMBIGUOUS_CHECKSUM_REP`; the system's.
    pub(super) fn find(&self, new: &NewContent<'_>, proto: &mut ProtoWriter) -> Result<Option<Rep>> {
        let Some(sha1) = new.rep.sha1.filter(|_| self.fs.conf().rep_sharing) else {
            return Ok(None);
        };
        let found = match self.props.get(&sha1) {
            Some((rep, offset)) => Some((*rep, RepAddress::Unfinished(self.txn, *offset))),
            None => match self.stored(&sha1)? {
                Some(rep) => Some((rep, RepAddress::of(&rep, None)?)),
                None => match self.in_transaction(&sha1)? {
                    Some(rep) => Some((rep, RepAddress::of(&rep, Some(self.txn))?)),
                    None => None,
                },
            },
        };
        let Some((old, address)) = found else {
            return Ok(None);
        };
        if old.size() != RepSize::Known(new.rep.expanded) {
            return Ok(None);
        }
        let shared = Rep {
            place: old.place,
            length: old.length,
            ..new.rep
        };
        proto.flush()?;
        let differ = || {
            let (mut one, mut other) = (String::new(), String::new());
            shared.encode(&mut one, true);
            new.rep.encode(&mut other, true);
            format!("SHA1 of reps '{one}' and '{other}' matches ({sha1}) but contents differ")
        };
        match self.is_equal(address, old.length, new) {
            Ok(true) => Ok(Some(shared)),
            Ok(false) => Err(Error::new(Code::FS_AMBIGUOUS_CHECKSUM_REP, differ())),
            Err(e) => Err(e).wrap(Code::FS_AMBIGUOUS_CHECKSUM_REP, differ),
        }
    }

    /// Notes a new file text of the transaction.
    pub(super) fn add_text(&mut self, rep: Rep) {
        if let Some(sha1) = rep.sha1.filter(|_| self.fs.conf().rep_sharing)
            && let Some(text) = TxnText::of(&rep)
        {
            self.texts.insert(sha1, text);
            self.unwritten.push(sha1);
        }
    }

    /// Writes a file for each new text, by which others who go on with the transaction find it.
    ///
    /// # Errors
    /// The system's; the files that are missing then are written the next time.
    pub(crate) fn write_to_disk(&mut self) -> Result<()> {
        let dir = self.fs.layout().txn(&self.txn.to_string());
        while let Some(sha1) = self.unwritten.last() {
            if let Some(text) = self.texts.get(sha1) {
                let mut line = String::new();
                text.rep(*sha1, self.txn)
                    .encode(&mut line, self.fs.format().has_placeholders());
                let path = dir.join(sha1.to_string());
                let file = self.fs.disk().write(&path, Create::Replace);
                let mut file = file.map_err(|e| Error::io("Can't open file", &path, &e))?;
                let wrote = file.append(line.as_bytes());
                wrote.map_err(|e| Error::io("Can't write to file", &path, &e))?;
            }
            self.unwritten.pop();
        }
        Ok(())
    }

    /// True if others may have written to the transaction.
    pub(crate) fn reads_disk(&self) -> bool {
        self.reads_disk
    }

    /// Notes a new property list of the commit, whose item starts at `offset`.
    pub(super) fn add_props(&mut self, rep: Rep, offset: u64) {
        if let Some(sha1) = rep.sha1.filter(|_| self.fs.conf().rep_sharing) {
            self.props.insert(sha1, (rep, offset));
            self.rows.extend(row_of(&rep));
        }
    }

    /// At the commit of `rev`, for each file text that a new node-revision refers to: what its rep line says from then on.
    /// A text of this transaction is noted for [`RepSharing::into_rows`].
    pub(crate) fn commit_text(&mut self, rep: Rep, rev: Revnum) -> Rep {
        let RepPlace::Txn(item) = rep.place else {
            return rep;
        };
        let rep = Rep {
            place: RepPlace::Rev(rev, item),
            ..rep
        };
        if self.fs.conf().rep_sharing {
            self.rows.extend(row_of(&rep));
        }
        rep
    }

    /// Forgets what a commit that failed had noted.
    pub(crate) fn restart_commit(&mut self) {
        self.props.clear();
        self.rows.clear();
    }

    /// After the commit: the rows for [`Fs::add_to_rep_cache`].
    pub(crate) fn into_rows(self) -> Vec<RepCacheRow> {
        self.rows
    }

    /// Looks in `rep-cache.db`, and among rows on their way there.
    fn stored(&self, sha1: &Sha1) -> Result<Option<Rep>> {
        let pending_row = |(rows, _): &(UnsharedRows, Revnum)| rows.lock().get(sha1).copied();
        let row = match self.unshared.as_ref().and_then(pending_row) {
            Some(row) => Some(row),
            None => {
                let look = |cache: Option<&mut RepCache>| match cache {
                    Some(cache) => cache.lookup(sha1),
                    None => Ok(None),
                };
                // A database that cannot be read is none: it saves space, no more.
                self.fs.with_rep_cache(false, look).unwrap_or(None)
            }
        };
        let Some(row) = row else { return Ok(None) };
        let own = self.unshared.as_ref().map(|(_, youngest)| *youngest);
        if own.is_none_or(|youngest| row.rev > youngest) {
            self.fs.check_rev(row.rev).wrap(Code::FS_CORRUPT, || {
                format!("Checksum '{sha1}' in rep-cache is beyond HEAD")
            })?;
        }
        self.fs.check_rep(row.rev, row.item)?;
        Ok(Some(Rep {
            place: RepPlace::Rev(row.rev, row.item),
            length: row.length,
            expanded: row.expanded,
            md5: Md5([0; 16]),
            sha1: Some(*sha1),
            uniquifier: None,
        }))
    }

    fn in_transaction(&self, sha1: &Sha1) -> Result<Option<Rep>> {
        if let Some(text) = self.texts.get(sha1) {
            return Ok(Some(text.rep(*sha1, self.txn)));
        }
        if !self.reads_disk {
            return Ok(None);
        }
        let path = self.fs.layout().txn(&self.txn.to_string()).join(sha1.to_string());
        match self.fs.disk().read_small(&path) {
            Ok(line) => Ok(Some(Rep::parse(&line)?)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("Can't open file", &path, &e)),
        }
    }

    fn is_equal(&self, old: RepAddress, length: u64, new: &NewContent<'_>) -> Result<bool> {
        let mut old = match old {
            RepAddress::Rev(rev, item) => {
                let rep = Rep {
                    place: RepPlace::Rev(rev, item),
                    length,
                    ..new.rep
                };
                ContentSource::Text(TextReader::new(&self.fs, Some(&rep), None)?.unchecked())
            }
            address => ContentSource::Raw(RawContent::new(&self.fs, address, length, false)),
        };
        let mut new = match new.bytes {
            Some(bytes) => ContentSource::Memory(bytes),
            None => {
                let address = RepAddress::Unfinished(self.txn, new.offset);
                ContentSource::Raw(RawContent::new(&self.fs, address, new.rep.length, false))
            }
        };
        let (mut from_old, mut from_new) = (ContentPart::default(), ContentPart::default());
        loop {
            if from_old.is_empty() {
                from_old = old.next()?;
            }
            if from_new.is_empty() {
                from_new = new.next()?;
            }
            let length = from_old.len().min(from_new.len());
            if length == 0 {
                return Ok(from_old.is_empty() && from_new.is_empty());
            }
            if from_old.take(length) != from_new.take(length) {
                return Ok(false);
            }
        }
    }
}

/// A content, one piece after the other.
enum ContentSource<'a> {
    Text(TextReader),
    Raw(RawContent),
    Memory(&'a [u8]),
}

/// What is left of a piece.
enum ContentPart<'a> {
    Owned(Arc<Vec<u8>>, usize),
    Borrowed(&'a [u8]),
}

impl<'a> ContentSource<'a> {
    /// The next piece; an empty one at the end.
    fn next(&mut self) -> Result<ContentPart<'a>> {
        Ok(match self {
            ContentSource::Text(reader) => {
                let piece = reader.next_piece()?;
                ContentPart::Owned(Arc::new(piece.bytes().to_vec()), 0)
            }
            ContentSource::Raw(content) => ContentPart::Owned(content.next_chunk()?.unwrap_or_default(), 0),
            ContentSource::Memory(bytes) => ContentPart::Borrowed(std::mem::take(bytes)),
        })
    }
}

impl ContentPart<'_> {
    fn rest(&self) -> &[u8] {
        match self {
            ContentPart::Owned(bytes, start) => &bytes[*start..],
            ContentPart::Borrowed(bytes) => bytes,
        }
    }

    fn len(&self) -> usize {
        self.rest().len()
    }

    fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next `length` bytes, which must be there.
    fn take(&mut self, length: usize) -> &[u8] {
        match self {
            ContentPart::Owned(bytes, start) => {
                *start += length;
                &bytes[*start - length..*start]
            }
            ContentPart::Borrowed(bytes) => {
                let (taken, rest) = bytes.split_at(length);
                *bytes = rest;
                taken
            }
        }
    }
}

impl Default for ContentPart<'_> {
    fn default() -> Self {
        ContentPart::Borrowed(&[])
    }
}

/// The row by which others find a content.
fn row_of(rep: &Rep) -> Option<RepCacheRow> {
    match (rep.place, rep.sha1) {
        (RepPlace::Rev(rev, item), Some(sha1)) => Some(RepCacheRow {
            sha1,
            rev,
            item,
            length: rep.length,
            expanded: rep.expanded,
        }),
        _ => None,
    }
}

impl Fs {
    /// Adds rows to `rep-cache.db`, in one SQLite transaction; those whose content is there already change nothing. To be
    /// called without the write lock, after the revisions have become current.
    ///
    /// # Errors
    /// `SQLITE_…`; the commit stands all the same.
    pub(crate) fn add_to_rep_cache(&self, rows: &[RepCacheRow]) -> Result<()> {
        if rows.is_empty() || !self.conf().rep_sharing {
            return Ok(());
        }
        self.with_rep_cache(true, |cache| match cache {
            Some(cache) => cache.insert(rows),
            None => Ok(()),
        })
    }
}
