//! A small repository with any bytes laid over its files: opened, read everywhere, verified. Errors are fine; panics, endless
//! loops and large allocations are not.
//!
//! The first byte chooses the repository. Then come patches: file, offset (two bytes), length, bytes.

#![no_main]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use base::hashdump::{Reader, Terminator};
use base::{Depth, Error, FsPath, NodeKind, Revnum};
use fsfs::admin::verify::{self, Observer, Options, Progress, Warning};
use fsfs::disk::{Disk, DiskFile, FileMeta};
use fsfs::{Cache, Fs, Node};
use libfuzzer_sys::fuzz_target;

const IMAGES: [&[u8]; 5] = [
    include_bytes!("../../crates/testkit/data/golden/f1.image"),
    include_bytes!("../../crates/testkit/data/golden/f4-packed.image"),
    include_bytes!("../../crates/testkit/data/golden/f6-packed.image"),
    include_bytes!("../../crates/testkit/data/golden/f8.image"),
    include_bytes!("../../crates/testkit/data/golden/f8-packed.image"),
];

/// Files in memory.
struct Memory(HashMap<PathBuf, Arc<Bytes>>);

struct Bytes(Vec<u8>);

impl DiskFile for Bytes {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

impl Memory {
    fn file(&self, path: &Path) -> io::Result<&Arc<Bytes>> {
        self.0.get(path).ok_or_else(|| io::Error::from_raw_os_error(2))
    }
}

impl Disk for Memory {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(path)?.clone())
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.file(path)?.0.clone())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let below = self.0.keys().filter_map(|file| file.strip_prefix(path).ok()?.iter().next());
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

struct Quiet;

impl Observer for Quiet {
    fn progress(&mut self, _: Progress) {}

    fn failed(&mut self, _: Option<Revnum>, _: &Error) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn warn(&mut self, _: Revnum, _: &Warning) {}
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, mut patches)) = data.split_first() else { return };
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut reader = Reader::new(IMAGES[usize::from(*choice) % IMAGES.len()], Terminator::End, false);
    while let Ok(Some(entry)) = reader.next_entry() {
        let name = String::from_utf8_lossy(entry.key).into_owned();
        if name.starts_with("db/") && !name.ends_with('/') {
            files.push((Path::new("/r").join(name), entry.value.unwrap_or_default().to_vec()));
        }
    }
    while let [file, low, high, length, rest @ ..] = patches {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        patches = rest;
        let count = files.len();
        let file = &mut files[usize::from(*file) % count].1;
        let at = usize::from(u16::from_le_bytes([*low, *high])) % (file.len() + 1);
        let end = (at + bytes.len()).min(file.len());
        file.splice(at..end, bytes.iter().copied());
    }
    let memory = Memory(files.into_iter().map(|(path, bytes)| (path, Arc::new(Bytes(bytes)))).collect());
    let _ = read_all(Arc::new(memory));
});

fn read_all(disk: Arc<dyn Disk>) -> base::Result<()> {
    let fs = Fs::open_on(Path::new("/r/db"), &Cache::new(1 << 20), disk)?;
    // `current` may promise a great many.
    let last = fs.youngest()?.0.min(40);
    for rev in (0..=last).map(Revnum) {
        let _ = fs.revprops(rev);
        let _ = fs.rev_size(rev);
        if let Ok(root) = fs.root(rev) {
            let _ = root.changed_paths();
            let mut left = 300;
            let _ = root.root_node().and_then(|node| walk(&node, &mut left));
        }
    }
    let _ = fs.locks(&FsPath::root(), Depth::Infinity);
    for txn in fs.list_txns()? {
        let _ = fs.txn_props(&txn);
    }
    let mut options = Options::range(Revnum(0), Revnum(last));
    options.jobs = 1;
    options.cache_budget = 1 << 20;
    verify::run(&fs, &options, &mut Quiet)
}

/// Bounded: a damaged directory may contain itself.
fn walk(node: &Node, left: &mut u32) -> base::Result<()> {
    if *left == 0 {
        return Ok(());
    }
    *left -= 1;
    let _ = node.props();
    if node.kind() == NodeKind::File {
        let mut reader = node.reader()?;
        let mut buffer = [0; 4096];
        while reader.read_some(&mut buffer)? > 0 {}
        return Ok(());
    }
    for entry in node.entries()?.iter() {
        if let Ok(child) = node.child_of(entry) {
            let _ = walk(&child, left);
        }
    }
    Ok(())
}
