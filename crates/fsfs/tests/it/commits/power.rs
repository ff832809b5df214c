//! Power cuts at every step of a commit: everything durable is kept, and the rest may be lost.
//!
//! Every call goes to the real disk and is recorded. From the records come images of three machines: one that lost
//! everything that was not durable, one that kept all names but only durable contents, and one on which only the
//! process was killed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base::Revnum;
use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta, RealDisk};
use fsfs::{Cache, Fs, TxnOptions};

use super::script::CommitStep::{Cp, Mkdir, Propset, Put};
use super::script::{CommitStep, apply, begin, copy_of, now, ours, verify};
use crate::compare;
use crate::incumbent::{Repository, arg, run};

/// The files of a machine, written and durable.
#[derive(Default)]
struct RecordedMachine {
    /// Contents by file number: written, and durable.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    /// File numbers by name: current, and durable.
    names: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    dirs: Vec<PathBuf>,
    images: Vec<PowerCutImage>,
    root: PathBuf,
}

/// The files of one machine after the power cut.
struct PowerCutImage {
    what: String,
    dirs: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl RecordedMachine {
    /// Renames a directory with its contents; nothing in the directory of a transaction is durable.
    fn rename_dir(&mut self, from: &Path, to: &Path) {
        for dir in &mut self.dirs {
            if dir == from {
                *dir = to.to_owned();
            }
        }
        let inside: Vec<PathBuf> = self
            .names
            .keys()
            .filter(|path| path.starts_with(from))
            .cloned()
            .collect();
        for path in inside {
            if let (Ok(rest), Some(number)) = (path.strip_prefix(from), self.names.remove(&path)) {
                self.names.insert(to.join(rest), number);
            }
        }
    }

    /// A machine on which everything is durable.
    fn with_durable_files(root: &Path) -> RecordedMachine {
        let mut machine = RecordedMachine {
            root: root.to_owned(),
            ..RecordedMachine::default()
        };
        let mut todo = vec![root.to_owned()];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    todo.push(path);
                } else {
                    let text = std::fs::read(&path).unwrap();
                    machine.names.insert(path, machine.files.len());
                    machine.files.push((text.clone(), text));
                }
            }
            machine.dirs.push(dir);
        }
        machine.durable = machine.names.clone();
        machine
    }

    /// Adds the images of a power cut at this moment.
    fn cut_power(&mut self, what: &str) {
        let number = self.images.len();
        for (machine, names, written) in [
            ("lost all", &self.durable, false),
            ("kept names", &self.names, false),
            ("killed", &self.names, true),
        ] {
            let file = |at: &usize| {
                let (seen, durable) = &self.files[*at];
                if written { seen.clone() } else { durable.clone() }
            };
            self.images.push(PowerCutImage {
                what: format!("{number}: {machine} at {what}"),
                dirs: self.dirs.clone(),
                files: names.iter().map(|(path, at)| (path.clone(), file(at))).collect(),
            });
        }
    }

    fn sync_dir(&mut self, dir: &Path) {
        let inside = |path: &PathBuf| path.parent() == Some(dir);
        self.durable.retain(|path, _| !inside(path));
        let names = self.names.iter().filter(|(path, _)| inside(path));
        self.durable.extend(names.map(|(path, at)| (path.clone(), *at)));
    }
}

#[derive(Clone)]
struct RecordingDisk(Arc<Mutex<RecordedMachine>>);

impl RecordingDisk {
    fn record(&self, f: impl FnOnce(&mut RecordedMachine)) {
        f(&mut self.0.lock().unwrap());
    }
}

struct RecordedFile(RecordingDisk, usize, Box<dyn DiskWriter>);

impl DiskFile for RecordedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.2.read_at(buf, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.2.len()
    }
}

impl DiskWriter for RecordedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0
            .record(|machine| machine.files[self.1].0.extend_from_slice(bytes));
        self.2.append(bytes)
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0
            .record(|machine| machine.files[self.1].0.truncate(length as usize));
        self.2.truncate(length)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.record(|machine| {
            machine.cut_power("sync");
            let file = &mut machine.files[self.1];
            file.1 = file.0.clone();
        });
        self.2.sync()
    }
}

impl Disk for RecordingDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.open(path)
    }
    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read_small(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        RealDisk.list(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        RealDisk.metadata(path)
    }
    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        let file = RealDisk.write(path, how)?;
        let mut number = 0;
        self.record(|machine| {
            number = match machine.names.get(path) {
                Some(number) => *number,
                None => {
                    machine.files.push(Default::default());
                    machine.names.insert(path.to_owned(), machine.files.len() - 1);
                    machine.files.len() - 1
                }
            };
            if how == Create::Replace {
                machine.files[number].0.clear();
            }
        });
        Ok(Box::new(RecordedFile(self.clone(), number, file)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.record(|machine| {
            let what = format!("rename to {}", to.strip_prefix(&machine.root).unwrap().display());
            machine.cut_power(&what);
            if let Some(number) = machine.names.remove(from) {
                machine.names.insert(to.to_owned(), number);
            }
            machine.rename_dir(from, to);
            machine.cut_power(&format!("after {what}"));
        });
        RealDisk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.record(|machine| {
            machine.names.remove(path);
        });
        RealDisk.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.record(|machine| machine.dirs.push(path.to_owned()));
        RealDisk.create_dir(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.record(|machine| machine.dirs.retain(|dir| dir != path));
        RealDisk.remove_dir(path)
    }
    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        RealDisk.copy_permissions(like, path)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        RealDisk.set_read_only(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.record(|machine| {
            machine.cut_power("sync_dir");
            machine.sync_dir(path);
        });
        RealDisk.sync_dir(path)
    }
    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        let (disk, volume) = (self.clone(), RealDisk.open_volume(path)?);
        Ok(Box::new(move || {
            disk.record(|machine| {
                machine.cut_power("sync of all");
                for file in &mut machine.files {
                    file.1 = file.0.clone();
                }
                machine.durable = machine.names.clone();
            });
            volume.sync()
        }))
    }
    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        RealDisk.lock(path, wait)
    }
}

fn edits() -> Vec<CommitStep> {
    vec![
        Put("a/f", b"changed\n".to_vec()),
        Put("a/new", crate::sample::noise(3, 150_000)),
        Cp(0, "a", "c"),
        Propset("c/f", "p", "v"),
        Mkdir("c/d"),
    ]
}

/// Two revisions; the next is the first of a shard.
fn start(version: &str) -> Repository {
    let repository = Repository::create(version, 3, "");
    let fs = compare::open(&repository);
    ours(&fs, &[Mkdir("a"), Put("a/f", b"one\n".to_vec())]).unwrap();
    ours(&fs, &[Put("a/g", b"two\n".to_vec())]).unwrap();
    repository
}

/// Runs `work` on a recorded disk and checks every image: its youngest revision is one of `youngest`, complete, and
/// accepts another commit; after the end of the work it is the last of them.
fn cut_everywhere(version: &str, youngest: &[u64], work: impl FnOnce(&Fs)) {
    let template = start(version);
    let repository = copy_of(&template);
    let disk = RecordingDisk(Arc::new(Mutex::new(RecordedMachine::with_durable_files(
        &repository.db(),
    ))));
    let fs = Fs::open_on(&repository.db(), &Cache::new(16 << 20), Arc::new(disk.clone())).unwrap();
    work(&fs);
    drop(fs);
    disk.record(|machine| machine.cut_power("the end"));
    let machine = Arc::try_unwrap(disk.0).ok().unwrap().into_inner().unwrap();
    let (count, mut found) = (machine.images.len(), Vec::new());
    let mut checked = HashSet::new();
    // Three images of each moment.
    let some: HashSet<usize> = testkit::sample(2, 0..count).collect();
    for (at, image) in machine.images.iter().enumerate() {
        let is_wanted = some.contains(&at) && checked.insert((&image.dirs, &image.files));
        if !is_wanted && at + 3 < count {
            continue;
        }
        // The copy provides the files outside of `db`, and the permissions.
        let after = copy_of(&template);
        let there = |path: &Path| after.db().join(path.strip_prefix(&machine.root).unwrap());
        for dir in &image.dirs {
            std::fs::create_dir_all(there(dir)).unwrap();
        }
        for (path, text) in &image.files {
            let path = there(path);
            _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).unwrap();
        }
        let what = format!("{version} {}", image.what);
        let fs = compare::open(&after);
        let current = fs.youngest().unwrap().0;
        assert!(youngest.contains(&current), "{what}: r{current}");
        if at + 3 >= count {
            assert_eq!(
                Some(&current),
                youngest.last(),
                "{what}: an acknowledged revision is gone"
            );
        }
        found.push(current);
        let verify = |after: &Repository| {
            let checked = std::panic::catch_unwind(|| verify(after));
            assert!(checked.is_ok(), "{what}");
        };
        verify(&after);
        for stale in fs.list_txns().unwrap() {
            fs.purge_txn(&stale).unwrap_or_else(|e| panic!("{what}: {e:?}"));
        }
        let committed = ours(&fs, &[Put("a/after", b"after\n".to_vec())]);
        assert_eq!(
            committed.unwrap_or_else(|e| panic!("{what}: {e:?}")).rev,
            Revnum(current + 1)
        );
        // There is no file that `recover` would mistake for a revision.
        run("svnadmin", &["recover", arg(&after.path())]);
        verify(&after);
        assert!(compare::open(&after).youngest().unwrap().0 > current, "{what}");
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, youngest, "{version}");
}

#[test]
fn power_cuts_during_a_commit() {
    for version in ["1.4", "1.14", "fsx"] {
        cut_everywhere(version, &[2, 3], |fs| {
            let mut txn = begin(fs);
            apply(fs, &mut txn, &edits()).unwrap();
            assert_eq!(txn.commit(&now).unwrap().rev, Revnum(3));
        });
    }
}

#[test]
fn power_cuts_during_two_groups() {
    for version in ["1.14", "fsx"] {
        cut_everywhere(version, &[2, 5, 7], |fs| {
            let mut batch = fs.commit_group().unwrap();
            for (at, op) in edits().into_iter().enumerate() {
                let mut txn = batch.begin_txn(TxnOptions::default(), now()).unwrap();
                apply(batch.fs(), &mut txn, &[op]).unwrap();
                batch.commit(txn, &now).unwrap();
                if at % 3 == 2 {
                    batch.flush().unwrap();
                }
            }
            batch.flush().unwrap();
        });
    }
}
