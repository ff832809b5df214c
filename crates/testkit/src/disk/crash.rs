//! A disk that records all changes, and which of them are durable.
//!
//! The model is the strict one of POSIX: bytes are durable once their file was synced, a name once its directory was.
//! After a power cut, changes that were not synced may be present or not, in any combination; [`Loss`] has some of
//! these. Real file systems keep more, so code that passes here is safe on them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use std::sync::{Mutex, MutexGuard, PoisonError};

use fsfs::disk::Create;

use super::{DiskCall, WatchedDisk, Watcher};

/// A disk that records the changes below a directory.
pub type CrashDisk = WatchedDisk<Recorder>;

/// The changes without sync that a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// None: only the process was killed.
    Nothing,
    /// All of them.
    Everything,
    /// Bytes; names are kept.
    Bytes,
    /// Bytes; names and lengths are kept. Appended bytes read as zeros, as on file systems that store lengths first.
    Zeros,
    /// Names; bytes are kept.
    Names,
    /// A random part of both, by this seed: the last changes of each directory, and the last new bytes of each file.
    Some(u64),
}

/// A watcher that records calls.
pub struct Recorder {
    root: PathBuf,
    /// The files at the start.
    start: DiskImage,
    events: Mutex<Vec<DiskChange>>,
}

#[derive(Clone, Debug)]
enum DiskChange {
    Write(PathBuf, Create, u64),
    Append(u64, Vec<u8>),
    Truncate(u64, u64),
    Sync(u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    CreateDir(PathBuf),
    Mode(PathBuf, u32),
    Modified(PathBuf, SystemTime),
    SyncDir(PathBuf),
    SyncAll,
}

impl CrashDisk {
    /// Returns a disk that records the changes below `root`, usually `db`. Its present files count as durable.
    pub fn recording(root: &Path) -> Self {
        WatchedDisk::new(Recorder {
            root: root.to_owned(),
            start: DiskImage::read(root),
            events: Mutex::default(),
        })
    }

    /// Returns the number of changes so far, which identifies a moment.
    pub fn moment(&self) -> usize {
        self.watcher().events().len()
    }

    /// Returns the moments directly before and after each sync, and the last one.
    pub fn boundaries(&self) -> Vec<usize> {
        let events = self.watcher().events();
        let mut out = vec![0];
        for (at, event) in events.iter().enumerate() {
            if matches!(
                event,
                DiskChange::Sync(_) | DiskChange::SyncDir(_) | DiskChange::SyncAll
            ) {
                out.extend([at, at + 1]);
            }
        }
        out.push(events.len());
        out.dedup();
        out
    }

    /// Writes the files that a power cut at `moment` leaves to the new directory `target`.
    pub fn image(&self, moment: usize, loss: Loss, target: &Path) {
        let mut tree = self.watcher().start.clone();
        let mut files = HashMap::new();
        for event in &self.watcher().events()[..moment] {
            tree.apply(event, &mut files);
        }
        tree.write(loss, target);
    }

    /// Returns the changes before `moment`, one a line, for messages.
    pub fn describe(&self, moment: usize) -> String {
        let events = self.watcher().events();
        let lines = events.iter().take(moment).map(|event| match event {
            DiskChange::Append(file, bytes) => format!("Append({file}, {} bytes)\n", bytes.len()),
            other => format!("{other:?}\n"),
        });
        lines.collect()
    }
}

impl Recorder {
    fn events(&self) -> MutexGuard<'_, Vec<DiskChange>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inside(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix(&self.root);
        inside
            .unwrap_or_else(|_| panic!("{} is not below {}", path.display(), self.root.display()))
            .to_owned()
    }
}

impl Watcher for Recorder {
    fn after(&self, call: DiskCall<'_>) {
        let event = match call {
            DiskCall::Write(path, how, file) => DiskChange::Write(self.inside(path), how, file),
            DiskCall::Append(_, file, bytes) => DiskChange::Append(file, bytes.to_vec()),
            DiskCall::Truncate(_, file, length) => DiskChange::Truncate(file, length),
            DiskCall::Sync(_, file) => DiskChange::Sync(file),
            DiskCall::Rename(from, to) => DiskChange::Rename(self.inside(from), self.inside(to)),
            DiskCall::RemoveFile(path) | DiskCall::RemoveDir(path) => DiskChange::Remove(self.inside(path)),
            DiskCall::CreateDir(path) => DiskChange::CreateDir(self.inside(path)),
            DiskCall::SetModified(path, time) => DiskChange::Modified(self.inside(path), time),
            DiskCall::Permissions(path) => DiskChange::Mode(self.inside(path), mode(path)),
            DiskCall::SyncDir(path) => DiskChange::SyncDir(self.inside(path)),
            DiskCall::SyncAll(_) => DiskChange::SyncAll,
            DiskCall::Open(_)
            | DiskCall::ReadSmall(_)
            | DiskCall::ReadAt(_)
            | DiskCall::List(_)
            | DiskCall::Metadata(_)
            | DiskCall::OpenVolume(_)
            | DiskCall::Lock(_) => {
                return;
            }
        };
        self.events().push(event);
    }
}

/// The target of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameTarget {
    Dir(u32),
    /// A file, as an index into [`DiskImage::files`].
    File(usize),
}

#[derive(Clone, Debug)]
struct FileState {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    mode: u32,
    /// The time that a program has set, or that of a file at the start. No loss affects it.
    modified: Option<SystemTime>,
}

/// A change of a directory that is not durable yet: a name and its new target.
type PendingChange = (PathBuf, Option<NameTarget>);

/// Files and directories, in their current and their durable state.
#[derive(Clone, Debug, Default)]
struct DiskImage {
    files: Vec<FileState>,
    names: BTreeMap<PathBuf, NameTarget>,
    durable: BTreeMap<PathBuf, NameTarget>,
    /// The changes of each directory that are not durable, in order.
    pending: BTreeMap<PathBuf, Vec<PendingChange>>,
}

impl DiskImage {
    fn read(root: &Path) -> DiskImage {
        let mut tree = DiskImage::default();
        let mut left = vec![PathBuf::new()];
        while let Some(dir) = left.pop() {
            let entries = fs::read_dir(root.join(&dir));
            let entries = entries.unwrap_or_else(|e| panic!("can't list {}: {e}", root.join(&dir).display()));
            for entry in entries.map_while(Result::ok) {
                let name = dir.join(entry.file_name());
                let path = root.join(&name);
                let entry = if path.is_dir() {
                    left.push(name.clone());
                    NameTarget::Dir(mode(&path))
                } else {
                    let bytes =
                        fs::read(&path).unwrap_or_else(|e| panic!("can't read {}: {e}", path.display()));
                    tree.files.push(FileState {
                        durable: bytes.clone(),
                        bytes,
                        mode: mode(&path),
                        modified: fs::metadata(&path).and_then(|meta| meta.modified()).ok(),
                    });
                    NameTarget::File(tree.files.len() - 1)
                };
                tree.names.insert(name, entry);
            }
        }
        tree.durable = tree.names.clone();
        tree
    }

    fn apply(&mut self, event: &DiskChange, open: &mut HashMap<u64, usize>) {
        match event {
            DiskChange::Write(path, how, number) => {
                open.insert(*number, self.open(path, *how));
            }
            DiskChange::Append(number, bytes) => {
                let file = &mut self.files[open[number]];
                file.bytes.extend_from_slice(bytes);
                file.modified = None;
            }
            DiskChange::Truncate(number, length) => self.files[open[number]].bytes.truncate(*length as usize),
            DiskChange::Sync(number) => {
                let file = &mut self.files[open[number]];
                file.durable = file.bytes.clone();
            }
            DiskChange::Rename(from, to) => self.rename(from, to),
            DiskChange::Remove(path) => self.set(path, None),
            DiskChange::CreateDir(path) => self.set(path, Some(NameTarget::Dir(0o755))),
            DiskChange::Mode(path, mode) => match self.names.get_mut(path) {
                Some(NameTarget::File(file)) => self.files[*file].mode = *mode,
                Some(NameTarget::Dir(old)) => *old = *mode,
                None => {}
            },
            DiskChange::Modified(path, time) => {
                if let Some(NameTarget::File(file)) = self.names.get(path) {
                    self.files[*file].modified = Some(*time);
                }
            }
            DiskChange::SyncDir(dir) => {
                let changes = self.pending.remove(dir).unwrap_or_default();
                apply_changes(&mut self.durable, &changes);
            }
            DiskChange::SyncAll => {
                for changes in std::mem::take(&mut self.pending).into_values() {
                    apply_changes(&mut self.durable, &changes);
                }
                for file in &mut self.files {
                    file.durable = file.bytes.clone();
                }
            }
        }
    }

    /// Returns the number of the file at `path`, which is created if it does not exist.
    fn open(&mut self, path: &Path, how: Create) -> usize {
        let file = match self.names.get(path) {
            Some(NameTarget::File(file)) => *file,
            _ => {
                self.files.push(FileState {
                    bytes: Vec::new(),
                    durable: Vec::new(),
                    mode: 0o644,
                    modified: None,
                });
                let file = self.files.len() - 1;
                self.set(path, Some(NameTarget::File(file)));
                file
            }
        };
        if how == Create::Replace {
            self.files[file].bytes.clear();
        }
        file
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let entry = self.names.get(from).copied();
        if let Some(NameTarget::Dir(_)) = entry {
            let below: Vec<_> = self
                .names
                .keys()
                .filter(|path| path.starts_with(from) && *path != from)
                .cloned()
                .collect();
            for path in below {
                let moved = to.join(path.strip_prefix(from).unwrap_or(&path));
                let entry = self.names.get(&path).copied();
                self.set(&path, None);
                self.set(&moved, entry);
            }
        }
        self.set(from, None);
        self.set(to, entry);
    }

    fn set(&mut self, path: &Path, entry: Option<NameTarget>) {
        match entry {
            Some(entry) => _ = self.names.insert(path.to_owned(), entry),
            None => _ = self.names.remove(path),
        }
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        self.pending
            .entry(dir)
            .or_default()
            .push((path.to_owned(), entry));
    }

    fn write(&self, loss: Loss, target: &Path) {
        let mut random = CrashRandom(match loss {
            Loss::Some(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            _ => 1,
        });
        let names = match loss {
            Loss::Nothing | Loss::Bytes | Loss::Zeros => self.names.clone(),
            Loss::Everything | Loss::Names => self.durable.clone(),
            Loss::Some(_) => {
                let mut names = self.durable.clone();
                for changes in self.pending.values() {
                    let kept = random.below(changes.len() + 1);
                    apply_changes(&mut names, &changes[..kept]);
                }
                names
            }
        };
        create_dir(target);
        // Parents come before their entries. The entries of a lost directory are lost.
        for (name, entry) in &names {
            let path = target.join(name);
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                NameTarget::Dir(mode) => {
                    create_dir(&path);
                    set_mode(&path, *mode);
                }
                NameTarget::File(file) => {
                    let file = &self.files[*file];
                    let mut zeros = file.durable.clone();
                    zeros.resize(file.bytes.len(), 0);
                    let bytes = match loss {
                        Loss::Nothing | Loss::Names => &file.bytes[..],
                        Loss::Everything | Loss::Bytes => &file.durable[..],
                        Loss::Zeros => &zeros[..],
                        // Only appended bytes can be present in part.
                        Loss::Some(_) if file.bytes.starts_with(&file.durable) => {
                            let new = file.bytes.len() - file.durable.len();
                            &file.bytes[..file.durable.len() + random.below(new + 1)]
                        }
                        Loss::Some(_) if random.below(2) == 0 => &file.bytes[..],
                        Loss::Some(_) => &file.durable[..],
                    };
                    fs::write(&path, bytes).unwrap_or_else(|e| panic!("can't write {}: {e}", path.display()));
                    if let Some(time) = file.modified {
                        set_modified(&path, time);
                    }
                    set_mode(&path, file.mode);
                }
            }
        }
    }
}

fn apply_changes(names: &mut BTreeMap<PathBuf, NameTarget>, changes: &[PendingChange]) {
    for (path, entry) in changes {
        match entry {
            Some(entry) => _ = names.insert(path.clone(), *entry),
            None => _ = names.remove(path),
        }
    }
}

fn create_dir(path: &Path) {
    fs::create_dir(path).unwrap_or_else(|e| panic!("can't create {}: {e}", path.display()));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).map_or(0o644, |meta| meta.permissions().mode() & 0o7777)
}

fn set_mode(path: &Path, mode: u32) {
    let set = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set.unwrap_or_else(|e| panic!("can't set the mode of {}: {e}", path.display()));
}

fn set_modified(path: &Path, time: SystemTime) {
    let set = fs::File::open(path).and_then(|file| file.set_modified(time));
    set.unwrap_or_else(|e| panic!("can't set the time of {}: {e}", path.display()));
}

/// A random number generator with a seed.
struct CrashRandom(u64);

impl CrashRandom {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }
}
