//! The proto-revision file, which becomes the revision file, and the index of its items.
//!
//! [`ProtoRev`] belongs to the transaction and has the index of the items that are in the file. A [`ProtoWriter`] writes: it
//! holds the lock of the file (`<txn>.rev-lock`), and dropping it without [`ProtoWriter::keep`] takes back everything that it has
//! written. The bytes of a text go to the file at once. The index stays in memory until [`ProtoRev::write_to_disk`], for other
//! processes, or until the end of the revision is written.
//!
//! While this process holds changes of the transaction that its client knows to be made and the files lack, the name of the lock
//! file is a symbolic link to itself ([`ProtoRev::refuse_others`]). No program can open it, so none can write a text or commit:
//! neither Subversion nor another process of ours, also after this process has died. Such a transaction can still be listed,
//! looked at and removed.
//!
//! An item is addressed by number (logical addressing) or by offset (physical addressing). [`ProtoWriter::next_item`] returns the
//! address before the item is written, [`ProtoWriter::append_item`] after it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use base::{Code, Error, Result};
use parking_lot::Mutex;
use rustix::io::Errno;

use super::item_numbers::ItemNumbers;
pub(crate) use super::proto_writer::ProtoWriter;
use super::write_files::write_file;
use crate::format::id::TxnId;
use crate::format::p2l::P2lEntry;
use crate::format::proto_index;
use crate::store::disk::{Create, DiskWriter};
use crate::store::guard::FileLock;
use crate::tree::Fs;
use crate::tree::open_txns::{OpenProtoRev, PROTO_L2P, read_proto_index};

/// The proto-revision file of a transaction and its index. Clones share one state.
#[derive(Clone)]
pub(crate) struct ProtoRev(pub(super) Arc<ProtoRevInner>);

/// The state that all clones share.
pub(crate) struct ProtoRevInner {
    pub(super) fs: Fs,
    pub(super) txn: TxnId,
    pub(super) path: PathBuf,
    pub(super) state: Mutex<ProtoRevState>,
}

/// The items that were written and kept.
pub(super) struct ProtoRevState {
    /// Valid length of the file, bytes.
    pub(super) end: u64,
    /// The items, in order of offset (logical addressing).
    pub(super) items: Vec<P2lEntry>,
    /// The numbers of items (logical addressing).
    pub(super) numbers: ItemNumbers,
    /// The number of items in each of the index files on disk, the one by number first, and the next item number there.
    on_disk: ([usize; 2], u64),
    /// The open file between two writers; `None` before the first one, while one writes, and after [`ProtoRev::release`].
    pub(super) file: Option<Box<dyn DiskWriter>>,
    pub(super) is_writing: bool,
    /// True if the lock of the file stays taken between writers.
    pub(super) is_held: bool,
    /// The file is closed between writers.
    pub(super) is_released: bool,
    /// The lock of the file, if it is held and no writer has it.
    pub(super) lock: Option<FileLock>,
    /// The lock file cannot be opened: see [`ProtoRev::refuse_others`].
    pub(super) refuses_others: bool,
}

impl ProtoRev {
    /// Creates the files of a new transaction, whose directory exists. A transaction of a group gets no lock file, because no
    /// other process can write to it: that is one file less per revision.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn create(fs: &Fs, txn: TxnId, numbers: ItemNumbers) -> Result<ProtoRev> {
        let layout = fs.layout();
        let make = |path: PathBuf| {
            let created = fs.disk().write(&path, Create::New);
            created.map_err(|e| Error::io("Can't create file", &path, &e))
        };
        if !fs.is_group_view() {
            make(layout.proto_rev_lock(txn))?;
        }
        let file = Some(make(layout.proto_rev(txn))?);
        let state = ProtoRevState {
            end: 0,
            items: Vec::new(),
            numbers,
            on_disk: ([0; 2], proto_index::FIRST_ITEM),
            file,
            is_writing: false,
            is_held: false,
            is_released: false,
            lock: None,
            refuses_others: false,
        };
        Ok(Self::of(fs, txn, state))
    }

    /// Opens the file of a transaction that is on disk and has `nodes` node-revisions, and reads its index.
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION` and its kin; the system's.
    pub(crate) fn open(fs: &Fs, txn: TxnId, nodes: usize) -> Result<ProtoRev> {
        let path = fs.layout().proto_rev(txn);
        let stat = fs.disk().metadata(&path);
        let stat = stat.map_err(|e| Error::io("Can't open file", &path, &e))?;
        let mut state = ProtoRevState {
            end: stat.len,
            items: Vec::new(),
            numbers: ItemNumbers::starting_at(proto_index::FIRST_ITEM),
            on_disk: ([0; 2], 0),
            file: None,
            is_writing: false,
            is_held: false,
            is_released: false,
            lock: None,
            refuses_others: false,
        };
        if fs.format().logical {
            let items = read_proto_index(fs, txn, P2L_FILE)?;
            state.items = fs.format().back_end.parse_proto_items(&items)?;
            let next = proto_index::parse_next_item(&read_proto_index(fs, txn, NEXT_ITEM_FILE)?)?;
            let used = state.items.len().saturating_add(nodes) as u64;
            let max_number = used.saturating_mul(MAX_GAP).saturating_add(MAX_UNUSED);
            let items = state.items.iter().map(|entry| entry.item);
            if items.chain([next]).any(|item| item > max_number) {
                return Err(proto_index::ProtoIndexError::Number.into());
            }
            state.numbers = ItemNumbers::starting_at(next);
            state.end = state.items.last().map_or(0, P2lEntry::end);
            state.on_disk = ([state.items.len(); 2], next);
        }
        Ok(Self::of(fs, txn, state))
    }

    fn of(fs: &Fs, txn: TxnId, state: ProtoRevState) -> ProtoRev {
        let inner = Arc::new(ProtoRevInner {
            fs: fs.clone(),
            txn,
            path: fs.layout().proto_rev(txn),
            state: Mutex::new(state),
        });
        let weak: Weak<ProtoRevInner> = Arc::downgrade(&inner);
        fs.open_txns().add_proto_rev(txn, weak);
        ProtoRev(inner)
    }

    /// True if both are clones of one value, and not only the same file.
    pub(super) fn is(&self, other: &ProtoRev) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Removes the proto-revision file and its lock file, if they exist.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn remove(fs: &Fs, txn: TxnId) -> Result<()> {
        for path in [fs.layout().proto_rev(txn), fs.layout().proto_rev_lock(txn)] {
            match fs.disk().remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("Can't remove file", &path, &e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The numbers of items.
    pub(super) fn numbers(&self) -> ItemNumbers {
        self.0.state.lock().numbers.clone()
    }

    /// The length of what is written so far, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.0.state.lock().end
    }

    /// Takes the lock of the file, to append items.
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN` if there is a writer already, in this process or another; `FS_INDEX_INCONSISTENT` if the file is
    /// shorter than its index says; the system's.
    pub(crate) fn writer(&self) -> Result<ProtoWriter> {
        let (file, lock) = {
            let mut state = self.0.state.lock();
            if state.is_writing {
                return Err(self.busy());
            }
            state.is_writing = true;
            (state.file.take(), state.lock.take())
        };
        let writer = self.lock_and_open(file, lock);
        if writer.is_err() {
            self.0.state.lock().is_writing = false;
        }
        writer
    }

    fn lock_and_open(
        &self,
        file: Option<Box<dyn DiskWriter>>,
        held: Option<FileLock>,
    ) -> Result<ProtoWriter> {
        let ProtoRevInner { fs, path, .. } = &*self.0;
        let lock = match held {
            Some(lock) => Some(lock),
            None if fs.is_group_view() => None,
            None => Some(self.take_lock()?),
        };
        let mut file = match file {
            Some(file) => file,
            None => {
                let opened = fs.disk().write(path, Create::Append);
                opened.map_err(|e| Error::io("Can't open file", path, &e))?
            }
        };
        let length = file
            .len()
            .map_err(|e| Error::io("Can't get attribute information from open file", path, &e))?;
        let mut state = self.0.state.lock();
        if length < state.end {
            return Err(Error::new(
                Code::FS_INDEX_INCONSISTENT,
                format!(
                    "File '{}' is shorter than what its index describes",
                    path.display()
                ),
            ));
        }
        if fs.format().logical {
            if length > state.end {
                // A writer crashed within an item.
                file.truncate(state.end)
                    .map_err(|e| Error::io("Can't truncate file", path, &e))?;
            }
        } else {
            // Without an index the valid length is unknown: all bytes stay.
            state.end = length;
        }
        Ok(ProtoWriter::new(self.clone(), lock, file, &state))
    }

    /// Keeps the lock of the file between writers, or gives it back. While it is kept, no other process can write to the
    /// transaction or commit it: needed while this process holds changes that are not on disk.
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN` if another process writes; `FS_TRANSACTION_DEAD` if another process holds changes that are not on
    /// disk, or held them when it ended; the system's.
    pub(crate) fn hold_lock(&self, hold: bool) -> Result<()> {
        let mut state = self.0.state.lock();
        if !hold {
            self.admit_others(&mut state)?;
            state.lock = None;
        } else if !state.is_held && !state.is_writing && !self.0.fs.is_group_view() {
            state.lock = Some(self.take_lock()?);
        }
        state.is_held = hold;
        state.is_released = false;
        Ok(())
    }

    /// Gives the lock of the file back and closes the file, until [`ProtoRev::hold_lock`] is called: a transaction whose client may never come back
    /// needs no descriptor. The next writer opens both.
    ///
    /// # Errors
    /// The system's, if other processes would still be refused. The lock is kept then.
    pub(crate) fn release(&self) -> Result<()> {
        let mut state = self.0.state.lock();
        self.admit_others(&mut state)?;
        (state.is_held, state.is_released) = (false, true);
        (state.lock, state.file) = (None, None);
        Ok(())
    }

    /// Makes all other processes refuse the transaction until the lock, which is held, is given back, and for good if this process
    /// ends before that. Returns false if that cannot be done, as where the file system has no symbolic links.
    pub(crate) fn refuse_others(&self) -> bool {
        let ProtoRevInner { fs, txn, state, .. } = &*self.0;
        let mut state = state.lock();
        if state.refuses_others || !state.is_held || fs.is_group_view() {
            return state.refuses_others;
        }
        let path = fs.layout().proto_rev_lock(*txn);
        let Some(name) = path.file_name() else {
            return false;
        };
        let new = path.with_extension("rev-new");
        let linked = match fs.disk().symlink(name.as_ref(), &new) {
            // Left by a crash.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        };
        // At no time is the name free: a program that finds no lock file creates one.
        state.refuses_others = linked.and_then(|()| fs.disk().rename(&new, &path)).is_ok();
        state.refuses_others
    }

    /// Ends [`ProtoRev::refuse_others`]. The next process that needs the lock file creates it. While a text is being written, the
    /// file of the lock that is held has no name, so others are refused until the writer ends.
    pub(super) fn admit_others(&self, state: &mut ProtoRevState) -> Result<()> {
        if state.refuses_others && !state.is_writing {
            let path = self.0.fs.layout().proto_rev_lock(self.0.txn);
            match self.0.fs.disk().remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("Can't remove file", &path, &e));
                }
                _ => state.refuses_others = false,
            }
        }
        Ok(())
    }

    fn take_lock(&self) -> Result<FileLock> {
        let ProtoRevInner { fs, txn, .. } = &*self.0;
        match FileLock::take(fs, &fs.layout().proto_rev_lock(*txn), false) {
            Ok(lock) => lock.ok_or_else(|| self.busy()),
            Err(e) if e.code().0 == Errno::LOOP.raw_os_error() => Err(incomplete(&txn.to_string())),
            Err(e) => Err(e),
        }
    }

    fn busy(&self) -> Error {
        let message = format!(
            "Cannot write to the prototype revision file of transaction '{}' because a previous representation is \
             currently being written by this process or another",
            self.0.txn
        );
        Error::new(Code::FS_REP_BEING_WRITTEN, message)
    }

    /// Writes the index files, if anything is new since the last call.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn write_to_disk(&self) -> Result<()> {
        let ProtoRevInner { fs, txn, state, .. } = &*self.0;
        let mut state = state.lock();
        let now = (state.items.len(), state.numbers.next());
        if !fs.format().logical || state.on_disk == ([now.0; 2], now.1) {
            return Ok(());
        }
        let directory = fs.layout().txn(&txn.to_string());
        // If one file cannot be written, a repetition does not append to the other one twice.
        for (nth, name) in [PROTO_L2P, P2L_FILE].into_iter().enumerate() {
            let [mut l2p, mut p2l] = [Vec::new(), Vec::new()];
            for entry in &state.items[state.on_disk.0[nth]..] {
                fs.format().back_end.push_proto_item(entry, &mut l2p, &mut p2l);
            }
            write_file(fs, &directory.join(name), Create::Append, [&l2p, &p2l][nth])?;
            state.on_disk.0[nth] = now.0;
        }
        let next = now.1.to_string();
        write_file(
            fs,
            &directory.join(NEXT_ITEM_FILE),
            Create::Replace,
            next.as_bytes(),
        )?;
        state.on_disk.1 = now.1;
        Ok(())
    }
}

impl Fs {
    /// Checks that no other process holds changes of a transaction that its files lack ([`ProtoRev::refuse_others`]).
    ///
    /// # Errors
    /// `FS_TRANSACTION_DEAD` if one does, or did when it ended; `FS_MALFORMED_TXN_ID`.
    pub fn check_txn_complete(&self, name: &str) -> Result<()> {
        let path = self.layout().proto_rev_lock(self.parse_txn_name(name)?);
        match self.disk().metadata(&path) {
            Err(e) if Errno::from_io_error(&e) == Some(Errno::LOOP) => Err(incomplete(name)),
            // It may be missing: the next writer creates it.
            _ => Ok(()),
        }
    }
}

impl OpenProtoRev for ProtoRevInner {
    fn item_offset(&self, item: u64) -> Option<u64> {
        find(&self.state.lock().items, item)
    }
}

impl Drop for ProtoRevInner {
    fn drop(&mut self) {
        self.fs.open_txns().remove_unused_proto_rev(self.txn);
    }
}

/// Returns the offset of an item. Numbers ascend with the offsets, but for the two fixed numbers.
fn find(items: &[P2lEntry], item: u64) -> Option<u64> {
    let at = items.partition_point(|entry| entry.item < item);
    let found = items.get(at).filter(|entry| entry.item == item);
    let found = found.or_else(|| items.iter().find(|entry| entry.item == item));
    found.map(|entry| entry.offset)
}

/// Returns the error of a transaction whose files lack changes that its client knows to be made.
fn incomplete(txn: &str) -> Error {
    Error::new(
        Code::FS_TRANSACTION_DEAD,
        format!(
            "The files of transaction '{txn}' lack changes: a server that took them has not written them yet, or has ended without \
             writing them; commit again"
        ),
    )
}

/// Limit for item numbers: `MAX_GAP` numbers for each item and `MAX_UNUSED` besides. More are damage, and the index of the
/// revision has an entry for every number.
const MAX_GAP: u64 = 16;
const MAX_UNUSED: u64 = 1 << 20;

const P2L_FILE: &str = "index.p2l";
const NEXT_ITEM_FILE: &str = "itemidx";
