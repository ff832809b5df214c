//! Printing the indexes of a file as a list, and making them from a list: `svnfsfs dump-index` and `load-index`.
//!
//! For repairing a repository by hand. The list has the entries of the P2L index; both indexes can be made from it.

use base::checksum::{FnvStream, Md5};
use base::{Code, Error, Result, Revnum};

use crate::format::footer::{Footer, MAX_FOOTER};
use crate::format::l2p;
use crate::format::p2l::{ItemKind, P2lEntry, P2lWriter};
use crate::store::disk::create_unique;
use crate::store::open_file::OpenFile;
use crate::tree::Fs;

/// An entry of the P2L index: a range of bytes in a revision or pack file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length, bytes.
    pub size: u64,
    /// Index into [`IndexEntry::KINDS`].
    pub kind: u8,
    /// The revision of the item.
    pub rev: Revnum,
    /// The number of the item in its revision.
    pub item: u64,
    /// Checksum of the bytes.
    pub checksum: u32,
}

impl IndexEntry {
    /// Names of the kinds, by number.
    pub const KINDS: [&'static str; 7] = ["none", "frep", "drep", "fprop", "dprop", "node", "chgs"];
}

/// Calls `each` for the entries of the file that contains `rev`, in the order of their offsets.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_UNSUPPORTED_FORMAT` without logical addressing; those of reading indexes; those of `each`.
pub fn dump(fs: &Fs, rev: Revnum, each: &mut dyn FnMut(IndexEntry) -> Result<()>) -> Result<()> {
    check_logical(fs)?;
    fs.check_rev(rev)?;
    // From disk and not from the cache: the indexes may just have been written again.
    let fs = &fs.reopen(SMALL_CACHE)?;
    let file = fs.rev_file(rev)?;
    let header = file.p2l_header()?;
    for page in 0..header.page_count() {
        for entry in file.p2l_page(fs.cache(), page)?.iter() {
            // After the last item, one more entry fills the page.
            if entry.offset < header.file_size {
                each(IndexEntry {
                    offset: entry.offset,
                    size: entry.size,
                    kind: entry.kind as u8,
                    rev: entry.rev,
                    item: entry.item,
                    checksum: entry.checksum,
                })?;
            }
        }
    }
    Ok(())
}

/// Computes the checksums of entries from the file that contains `rev`, for a list without checksums. Entries beyond the end of
/// the file stay as they are: [`load`] refuses them.
///
/// # Errors
/// As [`dump`].
pub fn fill_checksums(fs: &Fs, rev: Revnum, entries: &mut [IndexEntry]) -> Result<()> {
    check_logical(fs)?;
    fs.check_not_shared("'load-index'")?;
    fs.check_rev(rev)?;
    let path = match fs.is_packed(rev) {
        true => fs.layout().pack(rev.0 / fs.format().shard_size),
        false => fs.layout().rev(rev),
    };
    let file = OpenFile::open(fs.disk(), path, MAX_FOOTER as u64)?;
    let mut buffer = vec![0; BUFFER];
    for entry in entries.iter_mut().filter(|entry| entry.kind != 0) {
        let Some(end) = entry.offset.checked_add(entry.size) else {
            continue;
        };
        if end > file.len() {
            continue;
        }
        let (mut fnv, mut at) = (FnvStream::new(), entry.offset);
        while at < end {
            let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            file.read_exact_at(at, &mut buffer[..wanted])?;
            fnv.update(&buffer[..wanted]);
            at += wanted as u64;
        }
        entry.checksum = fnv.finish();
    }
    Ok(())
}

/// Writes the indexes of the file that contains `rev` again from `entries` (in any order). The items stay as they are; existing
/// indexes are cut off, damaged or not.
///
/// # Errors
/// As [`dump`]; `FS_CORRUPT` or `FS_INDEX_CORRUPTION` if the entries cannot be an index of the file; the system's.
pub fn load(fs: &Fs, rev: Revnum, entries: &[IndexEntry]) -> Result<()> {
    fs.check_not_shared("'load-index'")?;
    check_logical(fs)?;
    fs.check_rev(rev)?;
    let lock = fs.pack_lock()?;
    let _lock = lock.write_lock()?;
    let size = fs.format().shard_size;
    let (path, first, count) = match fs.is_packed(rev) {
        true => (fs.layout().pack(rev.0 / size), rev.0 / size * size, size),
        false => (fs.layout().rev(rev), rev.0, 1),
    };
    let mut items = entries
        .iter()
        .map(|entry| item(entry, first..first + count))
        .collect::<Result<Vec<P2lEntry>>>()?;
    items.sort_by_key(|item| item.offset);
    let disk = fs.disk();
    let source = OpenFile::open(disk, path.clone(), MAX_FOOTER as u64)?;
    let end = check_contiguous(&items, &source)?;
    let tail = tail(fs, Revnum(first), count, end, &items);
    // Into a copy: readers keep the file that they have open.
    let directory = path.parent().unwrap_or(std::path::Path::new("."));
    let (temporary, mut file) = create_unique(disk, directory)?;
    let mut write = || -> Result<()> {
        let failed = |e| Error::io("Can't write to file", &temporary, &e);
        let (mut buffer, mut at) = (vec![0; BUFFER], 0);
        while at < end {
            let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            source.read_exact_at(at, &mut buffer[..wanted])?;
            file.append(&buffer[..wanted]).map_err(failed)?;
            at += wanted as u64;
        }
        file.append(&tail).map_err(failed)?;
        file.sync()
            .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        disk.copy_permissions(&path, &temporary)
            .map_err(|e| Error::io("Can't set permissions on file", &temporary, &e))?;
        disk.rename(&temporary, &path)
            .map_err(|e| Error::io("Can't move a file to", &path, &e))
    };
    if let Err(e) = write() {
        _ = disk.remove_file(&temporary);
        return Err(e);
    }
    let opened = (fs.instance(), first, fs.is_packed(rev));
    fs.cache().drop_file(&opened);
    disk.sync_dir(directory)
        .map_err(|e| Error::io("Can't flush directory", directory, &e))
}

/// Cache budget of a handle that reads one file, bytes.
const SMALL_CACHE: u64 = 4 << 20;

const BUFFER: usize = 64 << 10;

fn check_logical(fs: &Fs) -> Result<()> {
    fs.refuse_fsx("tables of indexes")?;
    match fs.format().logical {
        true => Ok(()),
        false => Err(Error::bare(Code::FS_UNSUPPORTED_FORMAT)),
    }
}

fn item(entry: &IndexEntry, revs: std::ops::Range<u64>) -> Result<P2lEntry> {
    let bad = |what: &str| {
        let message = format!("Index entry at offset {:x} {what}", entry.offset);
        Error::new(Code::FS_INDEX_CORRUPTION, message)
    };
    let kind = ItemKind::from_number(u64::from(entry.kind)).ok_or_else(|| bad("is of no known type"))?;
    let unused = (kind == ItemKind::Unused).then_some((0, 0));
    if unused.is_some_and(|zero| zero != (entry.item, entry.checksum)) {
        return Err(bad("has an impossible item number or checksum"));
    }
    if (kind == ItemKind::Changes) != (entry.item == 1) {
        return Err(bad("must be of type chgs if, and only if, it is item 1"));
    }
    if !revs.contains(&entry.rev.0) {
        return Err(bad("is of a revision that is not in the file"));
    }
    entry
        .offset
        .checked_add(entry.size)
        .ok_or_else(|| bad("ends beyond all files"))?;
    Ok(P2lEntry {
        offset: entry.offset,
        size: entry.size,
        kind,
        rev: entry.rev,
        item: entry.item,
        checksum: entry.checksum,
    })
}

/// Checks that the entries cover the items of the file without a gap; returns the end of the items.
fn check_contiguous(items: &[P2lEntry], file: &OpenFile) -> Result<u64> {
    let refuse = |message: String| Err(Error::new(Code::INVALID_INPUT, message));
    let mut end = 0;
    for item in items {
        if item.offset > end {
            return refuse(format!("Missing index data for offset {end:x}"));
        }
        if item.offset < end {
            return refuse(format!("Overlapping index data for offset {end:x}"));
        }
        end = item.end();
    }
    // Without a readable footer there is nothing to compare with.
    match Footer::parse(file.tail(), file.len()).map(|footer| footer.l2p_offset) {
        Ok(old) if old != end => refuse(format!(
            "New index data ends at {end:x}, old index ended at {old:x}"
        )),
        _ if end == 0 || end > file.len() => {
            let message = format!("New index data ends at {end:x}, the file at {:x}", file.len());
            refuse(message)
        }
        // An index has at least one byte for each number.
        _ => match items.iter().find(|item| item.item > file.len()) {
            Some(item) => refuse(format!("Item number {} is impossible", item.item)),
            None => Ok(end),
        },
    }
}

/// Encodes both indexes and the footer.
fn tail(fs: &Fs, first: Revnum, count: u64, end: u64, items: &[P2lEntry]) -> Vec<u8> {
    let mut revs: Vec<Vec<(u64, u64)>> = vec![Vec::new(); count as usize];
    let mut p2l = P2lWriter::new(first, fs.conf().p2l_page_size);
    for item in items {
        p2l.push(item);
        if item.kind != ItemKind::Unused {
            revs[(item.rev.0 - first.0) as usize].push((item.item, item.offset));
        }
    }
    let tables: Vec<Vec<Option<u64>>> = revs.iter().map(|items| table(items)).collect();
    let mut tail = Vec::new();
    let page_size = usize::try_from(fs.conf().l2p_page_size).unwrap_or(usize::MAX);
    l2p::encode(&mut tail, first, page_size, &tables);
    let l2p_md5 = Md5::of(&tail);
    let p2l_offset = end + tail.len() as u64;
    let mut index = Vec::new();
    p2l.finish(end, &mut index);
    let p2l_md5 = Md5::of(&index);
    tail.append(&mut index);
    let footer = Footer {
        l2p_offset: end,
        l2p_md5,
        p2l_offset,
        p2l_md5,
        footer_offset: end + tail.len() as u64,
    };
    footer.encode(&mut tail);
    tail
}

/// Returns offsets by item number.
fn table(items: &[(u64, u64)]) -> Vec<Option<u64>> {
    let length = items.iter().map(|(item, _)| item + 1).max().unwrap_or(1);
    let mut offsets = vec![None; length as usize];
    for &(item, offset) in items {
        offsets[item as usize] = Some(offset);
    }
    offsets
}
