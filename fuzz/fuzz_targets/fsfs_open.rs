//! A small repository whose files are patched with any bytes: opened, read completely, verified. Errors are fine;
//! panics, endless loops and large allocations are not.
//!
//! The first byte chooses the repository, and whether it is read or verified. Then come patches: file, offset (two bytes),
//! length, bytes.

#![no_main]

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use base::hashdump::{Reader, Terminator};
use base::{Depth, Error, FsPath, NodeKind, Revnum};
use fsfs::admin::verify::{self, VerifyObserver, VerifyOptions, VerifyProgress, VerifyWarning};
use fsfs::disk::{Disk, DiskFile, FileMeta};
use fsfs::{Cache, Fs, Node, NodeRevId};
use libfuzzer_sys::fuzz_target;

const IMAGES: [&[u8]; 5] = [
    include_bytes!("../../crates/testkit/data/golden/f1.image"),
    include_bytes!("../../crates/testkit/data/golden/f4-packed.image"),
    include_bytes!("../../crates/testkit/data/golden/f6-packed.image"),
    include_bytes!("../../crates/testkit/data/golden/f8.image"),
    include_bytes!("../../crates/testkit/data/golden/f8-packed.image"),
];

/// The files of a repository.
type Files = Vec<(PathBuf, Arc<MemoryFile>)>;

/// The files of each repository, parsed once.
static FILES: LazyLock<Vec<Files>> = LazyLock::new(|| IMAGES.iter().map(|image| files(image)).collect());

fn files(image: &[u8]) -> Files {
    let mut files = Vec::new();
    let mut reader = Reader::new(image, Terminator::End, false);
    while let Ok(Some(entry)) = reader.next_entry() {
        let name = String::from_utf8_lossy(entry.key).into_owned();
        // Lock files are not read: patches of them would be wasted.
        if name.starts_with("db/") && !name.ends_with('/') && !name.ends_with("lock") {
            let bytes = MemoryFile(entry.value.unwrap_or_default().to_vec());
            files.push((Path::new("/r").join(name), Arc::new(bytes)));
        }
    }
    files
}

/// Files in memory.
struct MemoryDisk(HashMap<PathBuf, Arc<MemoryFile>>);

#[derive(Clone)]
struct MemoryFile(Vec<u8>);

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|at| self.0.get(at..))
            .unwrap_or_default();
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

impl MemoryDisk {
    fn file(&self, path: &Path) -> io::Result<&Arc<MemoryFile>> {
        self.0.get(path).ok_or_else(|| io::Error::from_raw_os_error(2))
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(path)?.clone())
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.file(path)?.0.clone())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let below = self
            .0
            .keys()
            .filter_map(|file| file.strip_prefix(path).ok()?.iter().next());
        Ok(below.map(OsString::from).collect())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        let file = self.file(path)?;
        Ok(FileMeta {
            len: file.0.len() as u64,
            is_dir: false,
            identity: (0, 0),
            modified: SystemTime::UNIX_EPOCH,
        })
    }
}

struct IgnoringObserver;

impl VerifyObserver for IgnoringObserver {
    fn progress(&mut self, _: VerifyProgress) {}

    fn failed(&mut self, _: Option<Revnum>, _: &Error) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn warn(&mut self, _: Revnum, _: &VerifyWarning) {}
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, mut patches)) = data.split_first() else {
        return;
    };
    let mut files = FILES[usize::from(*choice) % IMAGES.len()].clone();
    while let [file, low, high, length, rest @ ..] = patches {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        patches = rest;
        let count = files.len();
        let file = &mut Arc::make_mut(&mut files[usize::from(*file) % count].1).0;
        let at = usize::from(u16::from_le_bytes([*low, *high])) % (file.len() + 1);
        let end = (at + bytes.len()).min(file.len());
        file.splice(at..end, bytes.iter().copied());
    }
    let memory = Arc::new(MemoryDisk(files.into_iter().collect()));
    let _ = match choice / IMAGES.len() as u8 % 2 {
        0 => read_all(memory),
        _ => verify_all(memory),
    };
});

fn read_all(disk: Arc<dyn Disk>) -> base::Result<()> {
    let fs = Fs::open_on(Path::new("/r/db"), &Cache::new(1 << 20), disk)?;
    // A patched `current` may contain a huge number.
    let last = fs.youngest()?.0.min(40);
    let mut seen = HashSet::new();
    for rev in (0..=last).map(Revnum) {
        let _ = fs.revprops(rev);
        let _ = fs.rev_size(rev);
        if let Ok(root) = fs.root(rev) {
            let _ = root.changed_paths();
            let _ = root.root_node().and_then(|node| walk(&node, &mut seen));
        }
    }
    let _ = fs.locks(&FsPath::root(), Depth::Infinity);
    for txn in fs.list_txns()? {
        let _ = fs.txn_props(&txn);
    }
    Ok(())
}

fn verify_all(disk: Arc<dyn Disk>) -> base::Result<()> {
    let fs = Fs::open_on(Path::new("/r/db"), &Cache::new(1 << 20), disk)?;
    let mut options = VerifyOptions::range(Revnum(0), Revnum(fs.youngest()?.0.min(40)));
    options.jobs = 1;
    options.cache_budget = 1 << 20;
    verify::run(&fs, &options, &mut IgnoringObserver)
}

/// Reads each node-revision once: most of a tree is shared with the previous revision, and a damaged directory may
/// contain itself.
fn walk(node: &Node, seen: &mut HashSet<NodeRevId>) -> base::Result<()> {
    let _ = node.props();
    if node.kind() == NodeKind::File {
        let mut reader = node.reader()?;
        let mut buffer = [0; 4096];
        while reader.read_some(&mut buffer)? > 0 {}
        return Ok(());
    }
    for entry in node.entries()?.iter() {
        if seen.insert(entry.id()?)
            && let Ok(child) = node.child_of(entry)
        {
            let _ = walk(&child, seen);
        }
    }
    Ok(())
}
