//! Creating an empty filesystem of any format: revision 0 and the small files around it, byte for byte as `svnadmin create`
//! writes them (except the comments of `fsfs.conf` and `fsx.conf`).
//!
//! `format` is written last, when everything else is durable: a directory without it is no filesystem, and creating one there can
//! be tried again after the rest was removed.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base::checksum::{Md5, fnv1a_32x4};
use base::{Code, Date, Error, FsPath, NodeKind, Props, Result, Revnum, props};

use crate::format::fs_format::{BackEnd, FsFormat};
use crate::format::id::{IdPart, IdTail, NodeRevId};
use crate::format::noderev::{NodeLine, NodeRev};
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::format::rep_line::{Rep, RepLocation};
use crate::format::rev_trailer::RevTrailer;
use crate::store::conf::FsConf;
use crate::store::disk::{Create, Disk, write_atomic};
use crate::store::layout::Layout;
use crate::store::uuid::new_uuid;

/// Options of a new filesystem.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// FSFS or FSX.
    pub back_end: BackEnd,
    /// Format number of FSFS: 1 to 8, but not 5. FSX has one format, whatever this says.
    pub format: u32,
    /// Revisions per shard, 0 for the linear layout; `None` is the format's default.
    pub shard_size: Option<u64>,
    /// UUID; `None` generates one.
    pub uuid: Option<String>,
    /// True for logical addressing; `None` is the format's default.
    pub log_addressing: Option<bool>,
    /// Contents of `fsfs.conf` or `fsx.conf`; `None` is a file that explains the options and sets none.
    pub conf: Option<Vec<u8>>,
}

impl CreateOptions {
    /// Checks that a filesystem can have these options.
    ///
    /// # Errors
    /// As [`create`], except the system's.
    pub fn check(&self) -> Result<()> {
        let format = resolve(self)?;
        match &self.conf {
            Some(text) => FsConf::parse(text, &format).map(drop),
            None => Ok(()),
        }
    }
}

impl Default for CreateOptions {
    /// The newest format, with its defaults.
    fn default() -> Self {
        CreateOptions {
            back_end: BackEnd::Fsfs,
            format: FsFormat::NEWEST,
            shard_size: None,
            uuid: None,
            log_addressing: None,
            conf: None,
        }
    }
}

/// Creates a filesystem in `db`, which must not contain one; `now` becomes the date of revision 0.
///
/// # Errors
/// `FS_UNSUPPORTED_FORMAT`, `UNSUPPORTED_FEATURE` if the format lacks an option, those of a bad `fsfs.conf`; the system's
/// (`EEXIST` if there is a filesystem, or part of one).
pub fn create(db: &Path, options: &CreateOptions, now: Date, disk: Arc<dyn Disk>) -> Result<()> {
    let format = resolve(options)?;
    let conf = match &options.conf {
        Some(text) => FsConf::parse(text, &format)?,
        None => FsConf::for_format(&format),
    };
    // In the order in which the files are created.
    let layout = Layout::new(db, format);
    let new = FilesystemWriter { disk: &*disk };
    new.directory(db)?;
    // New files in it belong to its group, so that several users can work on one repository.
    new.disk
        .share_group(db)
        .map_err(|e| Error::io("Can't set permissions on", db, &e))?;
    let back_end = format.back_end;
    new.file(
        &layout.file("fs-type"),
        format!("{}\n", back_end.name()).as_bytes(),
    )?;
    let revision = layout.rev(Revnum::ZERO);
    let revprops = layout.revprops(Revnum::ZERO);
    new.directories_above(db, &revision)?;
    new.directories_above(db, &revprops)?;
    new.directory(&layout.transactions())?;
    if format.has_protorevs_dir() {
        new.directory(&layout.file("txn-protorevs"))?;
    }
    let current: &[u8] = match format.has_ids_in_current() {
        true => b"0 1 1\n",
        false => b"0\n",
    };
    new.file(&layout.file("current"), current)?;
    new.file(&layout.file("write-lock"), b"")?;
    new.file(&layout.file("uuid"), first_ids(format, options).as_bytes())?;
    if format.has_conf() {
        new.conf(&layout, back_end, options)?;
    }
    new.first_revision(
        &revision,
        &revprops,
        &first_revision(format, &conf),
        now,
        back_end,
    )?;
    if format.has_packing() {
        new.file(&layout.file("min-unpacked-rev"), b"0\n")?;
    }
    if format.has_protorevs_dir() {
        new.file(&layout.file("txn-current"), b"0\n")?;
        new.file(&layout.file("txn-current-lock"), b"")?;
    }
    if back_end == BackEnd::Fsx {
        new.file(&layout.file("revprop-generation"), b"0\n")?;
    }
    new.sync_above(db, &[&revision, &revprops])?;
    let path = layout.file("format");
    let mut text = Vec::new();
    format.encode(&mut text);
    new.file(&path, &text)?;
    new.read_only(&path)?;
    new.sync(db)
}

/// Returns the contents of `uuid`.
fn first_ids(format: FsFormat, options: &CreateOptions) -> String {
    let uuid = options.uuid.clone().unwrap_or_else(new_uuid);
    match format.has_instance_id() {
        true => format!("{uuid}\n{}\n", new_uuid()),
        false => format!("{uuid}\n"),
    }
}

/// Returns the contents of `format` for the options.
fn resolve(options: &CreateOptions) -> Result<FsFormat> {
    if options.back_end == BackEnd::Fsx {
        return match (options.shard_size, options.log_addressing) {
            (Some(0 | MAX_SHARD_SIZE..), _) | (_, Some(false)) => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                "Filesystems of FSX have shards and logical addressing",
            )),
            (size, _) => Ok(FsFormat::fsx(size.unwrap_or(DEFAULT_SHARD_SIZE))),
        };
    }
    let number = options.format;
    if !matches!(number, 1..=4 | 6..=FsFormat::NEWEST) {
        return Err(Error::new(
            Code::FS_UNSUPPORTED_FORMAT,
            format!("Filesystems of format {number} can't be created"),
        ));
    }
    let lacks = |what: &str| {
        let message = format!("Filesystems of format {number} have no {what}");
        Err(Error::new(Code::UNSUPPORTED_FEATURE, message))
    };
    let mut format = FsFormat {
        number,
        ..FsFormat::MISSING_FILE
    };
    format.shard_size = match options.shard_size {
        Some(1..) if !format.supports_shards() => return lacks("sharded layout"),
        Some(size) if size >= MAX_SHARD_SIZE => return lacks("shards of that size"),
        Some(size) => size,
        None if !format.supports_shards() => 0,
        None => DEFAULT_SHARD_SIZE,
    };
    format.logical = match options.log_addressing {
        Some(true) if !format.supports_logical_addressing() => return lacks("logical addressing"),
        Some(true) if format.shard_size == 0 => return lacks("logical addressing in a linear layout"),
        Some(logical) => logical,
        None => format.supports_logical_addressing() && format.shard_size > 0,
    };
    Ok(format)
}

/// The items of revision 0 that have been encoded.
#[derive(Default)]
struct FirstItems {
    bytes: Vec<u8>,
    items: Vec<P2lEntry>,
}

impl FirstItems {
    /// Ends an item, which starts where the one before it ends.
    fn end(&mut self, kind: ItemKind, item: u64) {
        let offset = self.items.last().map_or(0, P2lEntry::end);
        self.items.push(P2lEntry {
            offset,
            size: self.bytes.len() as u64 - offset,
            kind,
            rev: Revnum::ZERO,
            item,
            checksum: fnv1a_32x4(&self.bytes[offset as usize..]),
        });
    }
}

/// Encodes the file of revision 0: an empty root, which in FSX has no representation.
fn first_revision(format: FsFormat, conf: &FsConf) -> Vec<u8> {
    let mut first = FirstItems::default();
    if !format.is_fsx() {
        let rep = [&b"PLAIN\n"[..], EMPTY_DIR, b"ENDREP\n"].concat();
        first.bytes.extend_from_slice(&rep);
        first.end(ItemKind::DirText, REP_ITEM);
    }
    let root_offset = first.bytes.len() as u64;
    // Format 8 has no placeholders in this revision.
    let first_format = FsFormat {
        number: format.number.min(7),
        ..format
    };
    first_format.encode_noderev(&first_root(format, root_offset), &mut first.bytes);
    first.end(ItemKind::NodeRev, ROOT_ITEM);
    let changes_offset = first.bytes.len() as u64;
    first.bytes.push(b'\n');
    first.end(ItemKind::Changes, CHANGES_ITEM);
    let (mut out, items) = (first.bytes, first.items);
    if format.logical {
        let length = out.len() as u64;
        format.encode_indexes(&mut out, Revnum::ZERO, length, conf.page_sizes(), &items);
    } else {
        let trailer = RevTrailer {
            root: root_offset,
            changes: changes_offset,
        };
        trailer.encode(&mut out);
    }
    out
}

/// Returns the root of revision 0, which is at this offset.
fn first_root(format: FsFormat, offset: u64) -> NodeRev {
    let (rep_item, root_item) = match format.logical {
        true => (REP_ITEM, ROOT_ITEM),
        false => (0, offset),
    };
    let (node, copy) = (IdPart::ROOT, IdPart::ROOT);
    let tail = IdTail::Rev(Revnum::ZERO, root_item);
    let (id, line) = match format.back_end {
        BackEnd::Fsfs => (NodeRevId { node, copy, tail }, None),
        BackEnd::Fsx => (
            NodeRevId::of_item(Revnum::ZERO, root_item),
            Some(Box::new(NodeLine { node, copy })),
        ),
    };
    let text = Rep {
        location: RepLocation::Rev(Revnum::ZERO, rep_item),
        length: EMPTY_DIR.len() as u64,
        expanded: EMPTY_DIR.len() as u64,
        md5: Md5::of(EMPTY_DIR),
        sha1: None,
        uniquifier: None,
    };
    NodeRev {
        line,
        id,
        kind: NodeKind::Dir,
        predecessor: None,
        count: 0,
        text: (!format.is_fsx()).then_some(text),
        props: None,
        created_path: FsPath::root(),
        copyfrom: None,
        copyroot: None,
        is_fresh_txn_root: false,
        mergeinfo_count: 0,
        has_mergeinfo: false,
    }
}

/// An empty directory of FSFS.
const EMPTY_DIR: &[u8] = b"END\n";

/// The item numbers in revision 0 (logical addressing).
const CHANGES_ITEM: u64 = 1;
const ROOT_ITEM: u64 = 2;
const REP_ITEM: u64 = 3;

/// Creates files that do not exist yet.
struct FilesystemWriter<'a> {
    disk: &'a dyn Disk,
}

impl FilesystemWriter<'_> {
    /// Creates a directory if it does not exist.
    fn directory(&self, path: &Path) -> Result<()> {
        match self.disk.create_dir(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("Can't create directory", path, &e))
            }
            _ => Ok(()),
        }
    }

    /// Creates the directories from `db` down to a file, which may be those of another file too.
    fn directories_above(&self, db: &Path, file: &Path) -> Result<()> {
        let dir = file.parent().unwrap_or(db);
        let above = dir.parent().filter(|above| *above != db);
        let mut directories = above.into_iter().chain([dir]);
        directories.try_for_each(|dir| self.directory(dir))
    }

    fn file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let created = self.disk.write(path, Create::New);
        let mut file = created.map_err(|e| Error::io("Can't create file", path, &e))?;
        file.append(bytes)
            .and_then(|()| file.sync())
            .map_err(|e| Error::io("Can't write to file", path, &e))
    }

    /// Creates the configuration file.
    fn conf(&self, layout: &Layout, back_end: BackEnd, options: &CreateOptions) -> Result<()> {
        let (name, explained) = match back_end {
            BackEnd::Fsfs => ("fsfs.conf", EXPLAINED_CONF),
            BackEnd::Fsx => ("fsx.conf", EXPLAINED_FSX_CONF),
        };
        let text = options.conf.as_deref().unwrap_or(explained.as_bytes());
        self.file(&layout.file(name), text)
    }

    /// Creates the files of revision 0 and of its properties.
    fn first_revision(
        &self,
        revision: &Path,
        revprops: &Path,
        bytes: &[u8],
        now: Date,
        back_end: BackEnd,
    ) -> Result<()> {
        self.file(revision, bytes)?;
        self.read_only(revision)?;
        let list = Props::from([(props::DATE.to_owned(), now.to_string().into_bytes())]);
        let mut text = Vec::new();
        back_end.encode_revprops(&list, &mut text);
        match back_end {
            BackEnd::Fsfs => write_atomic(self.disk, revprops, &text, revision),
            BackEnd::Fsx => self.file(revprops, &text),
        }
    }

    fn read_only(&self, path: &Path) -> Result<()> {
        self.disk
            .set_read_only(path)
            .map_err(|e| Error::io("Can't set permissions on file", path, &e))
    }

    /// Makes the names of all directories from `db` down to these files durable.
    fn sync_above(&self, db: &Path, files: &[&Path]) -> Result<()> {
        for file in files {
            for directory in file.ancestors().skip(1).take_while(|dir| *dir != db) {
                self.sync(directory)?;
            }
        }
        self.sync(db)
    }

    fn sync(&self, directory: &Path) -> Result<()> {
        self.disk
            .sync_dir(directory)
            .map_err(|e| Error::io("Can't flush directory", directory, &e))
    }
}

/// Revisions per shard by default.
const DEFAULT_SHARD_SIZE: u64 = 1000;

/// Shards of this size and larger ones are refused.
const MAX_SHARD_SIZE: u64 = 1 << 31;

/// The default contents of `fsfs.conf`.
pub(crate) const EXPLAINED_CONF: &str = include_str!("create/fsfs.conf");

/// The default contents of `fsx.conf`.
const EXPLAINED_FSX_CONF: &str = include_str!("create/fsx.conf");
