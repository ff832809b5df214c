//! Rep sharing: a content that is stored already is not stored again.
//!
//! Contents are found by SHA-1: among those of this commit, in `rep-cache.db`, and among those of this transaction. A hit is
//! compared byte by byte. Two different contents with one SHA-1 stop the commit, and so does a row of a revision that does not
//! exist, because then the database belongs to another history.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{Code, Error, Result, ResultExt as _, Revnum};

use crate::format::id::TxnId;
use crate::format::rep_line::{Rep, RepLocation, RepSize, Uniquifier};
use crate::store::UnsharedRows;
use crate::store::disk::Create;
use crate::store::rep_cache::{RepCache, RepCacheRow};
use crate::tree::Fs;
use crate::tree::rep::{RawContent, RepAddress, TextReader};
use crate::txn::proto_rev::ProtoWriter;

/// The contents that new contents of a transaction may share, and the rows of its new contents for the rep-cache. If rep sharing
/// is off (by configuration or format), both stay empty.
pub(crate) struct RepSharing {
    fs: Fs,
    txn: TxnId,
    /// Texts of files of the transaction.
    texts: HashMap<Sha1, TxnText>,
    /// SHA-1s of texts that have no file in the transaction's directory yet.
    unwritten: Vec<Sha1>,
    /// True if other processes may have written to the transaction: their texts are found in its directory.
    reads_disk: bool,
    /// Property lists of the current commit, with the offsets of their items.
    props: HashMap<Sha1, (Rep, u64)>,
    rows: Vec<RepCacheRow>,
    unshared: Option<(UnsharedRows, Revnum)>,
}

/// A text of a file of the transaction, without the fields that all of them have in common: a large import has one for each file.
#[derive(Clone, Copy)]
struct TxnText {
    item: u64,
    length: u64,
    expanded: u64,
    md5: Md5,
    /// The number in its uniquifier plus one; `None` in formats without uniquifiers.
    number: Option<NonZeroU64>,
}

impl TxnText {
    /// `None` for a content that is stored elsewhere.
    fn of(rep: &Rep) -> Option<TxnText> {
        let RepLocation::Txn(item) = rep.location else {
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
            location: RepLocation::Txn(self.item),
            length: self.length,
            expanded: self.expanded,
            md5: self.md5,
            sha1: Some(sha1),
            uniquifier: self.number.map(uniquifier),
        }
    }
}

/// A new content.
pub(super) struct NewContent<'a> {
    /// Its rep line if it is not shared.
    pub(super) rep: Rep,
    /// Offset of its item in the proto-revision file, if it is written already.
    pub(super) offset: u64,
    /// The bytes, if they are in memory.
    pub(super) bytes: Option<&'a [u8]>,
}

impl RepSharing {
    /// For a new transaction, or for one that was opened from disk (`reads_disk`: then the `<sha1>` files in its directory count
    /// too).
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

    /// Searches `rows` too, which belong to revisions up to `youngest`; for grouped commits.
    pub(crate) fn with_unshared(mut self, rows: UnsharedRows, youngest: Revnum) -> RepSharing {
        self.unshared = Some((rows, youngest));
        self
    }

    /// Finds a stored content that equals a new one; returns the rep line of the new one with the address of the stored one.
    ///
    /// # Errors
    /// `FS_CORRUPT` for rows that name missing contents, `FS_AMBIGUOUS_CHECKSUM_REP`; the system's.
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
            location: old.location,
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

    /// Adds a new text of a file.
    pub(super) fn add_text(&mut self, rep: Rep) {
        if let Some(sha1) = rep.sha1.filter(|_| self.fs.conf().rep_sharing)
            && let Some(text) = TxnText::of(&rep)
        {
            self.texts.insert(sha1, text);
            self.unwritten.push(sha1);
        }
    }

    /// Writes a file for each new text, by which other processes that continue the transaction find it.
    ///
    /// # Errors
    /// The system's; the next call writes the files that are missing.
    pub(crate) fn write_to_disk(&mut self) -> Result<()> {
        let dir = self.fs.layout().txn(&self.txn.to_string());
        while let Some(sha1) = self.unwritten.last() {
            if let Some(text) = self.texts.get(sha1) {
                let line = self
                    .fs
                    .format()
                    .text_rep_line(&text.rep(*sha1, self.txn), self.txn);
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

    /// True if other processes may have written to the transaction.
    pub(crate) fn reads_disk(&self) -> bool {
        self.reads_disk
    }

    /// Adds a new property list of the commit, whose item starts at `offset`.
    pub(super) fn add_props(&mut self, rep: Rep, offset: u64) {
        if let Some(sha1) = rep.sha1.filter(|_| self.fs.conf().rep_sharing) {
            self.props.insert(sha1, (rep, offset));
            self.rows.extend(row_of(&rep));
        }
    }

    /// Returns the rep line that the text of a file has from the commit of `rev` on. A text of this transaction is added to the
    /// rows of [`RepSharing::into_rows`].
    pub(crate) fn commit_text(&mut self, rep: Rep, rev: Revnum) -> Rep {
        let RepLocation::Txn(item) = rep.location else {
            return rep;
        };
        let rep = Rep {
            location: RepLocation::Rev(rev, item),
            ..rep
        };
        if self.fs.conf().rep_sharing {
            self.rows.extend(row_of(&rep));
        }
        rep
    }

    /// Discards what a failed commit has added.
    pub(crate) fn restart_commit(&mut self) {
        self.props.clear();
        self.rows.clear();
    }

    /// The contents that the commit has stored, so far.
    pub(crate) fn rows(&self) -> &[RepCacheRow] {
        &self.rows
    }

    /// Returns the rows for [`Fs::add_to_rep_cache`], after the commit.
    pub(crate) fn into_rows(self) -> Vec<RepCacheRow> {
        self.rows
    }

    /// Searches `rep-cache.db`, and the rows that the group will add to it.
    fn stored(&self, sha1: &Sha1) -> Result<Option<Rep>> {
        let pending_row = |(rows, _): &(UnsharedRows, Revnum)| rows.lock().get(sha1).copied();
        let row = match self.unshared.as_ref().and_then(pending_row) {
            Some(row) => Some(row),
            None => {
                if let Some(shared) = self.fs.shared_fs() {
                    // An unreachable table counts as empty: it only saves space.
                    shared.heads.find_rep(sha1).unwrap_or(None)
                } else {
                    // No other process commits while a group is open.
                    let may_hold = self.fs.has_open_group();
                    let look = |cache: Option<&mut RepCache>| match cache {
                        Some(cache) if may_hold => cache.lookup_and_hold(sha1),
                        Some(cache) => cache.lookup(sha1),
                        None => Ok(None),
                    };
                    // An unreadable database counts as empty: it only saves space.
                    self.fs.with_rep_cache(false, look).unwrap_or(None)
                }
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
            location: RepLocation::Rev(row.rev, row.item),
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
            Ok(line) => self
                .fs
                .format()
                .back_end
                .parse_text_rep(&line, self.txn)
                .map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("Can't open file", &path, &e)),
        }
    }

    fn is_equal(&self, old: RepAddress, length: u64, new: &NewContent<'_>) -> Result<bool> {
        let mut old = match old {
            RepAddress::Rev(rev, item) => {
                let rep = Rep {
                    location: RepLocation::Rev(rev, item),
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

/// A content that is read piece by piece.
enum ContentSource<'a> {
    Text(TextReader),
    Raw(RawContent),
    Memory(&'a [u8]),
}

/// The unread rest of a piece.
enum ContentPart<'a> {
    Owned(Arc<Vec<u8>>, usize),
    Borrowed(&'a [u8]),
}

impl<'a> ContentSource<'a> {
    /// Returns the next piece; an empty one at the end.
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

    /// Takes `length` bytes, which must be there.
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

/// Returns the rep-cache row of a content.
fn row_of(rep: &Rep) -> Option<RepCacheRow> {
    match (rep.location, rep.sha1) {
        (RepLocation::Rev(rev, item), Some(sha1)) => Some(RepCacheRow {
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
    /// Adds rows to `rep-cache.db`, in one SQLite transaction; contents that have a row already keep it. To be called without the
    /// write lock, once `current` names the revisions.
    ///
    /// # Errors
    /// `SQLITE_…`; the commit stands all the same.
    pub(crate) fn add_to_rep_cache(&self, rows: &[RepCacheRow]) -> Result<()> {
        // Where several machines share the filesystem, rows are published with their revision.
        if rows.is_empty() || !self.conf().rep_sharing || self.shared_fs().is_some() {
            return Ok(());
        }
        self.with_rep_cache(true, |cache| match cache {
            Some(cache) => cache.insert(rows),
            None => Ok(()),
        })
    }
}
