//! A disk that remembers what was done, and what of it was made durable.
//!
//! The model is the strict one of POSIX: bytes are durable once their file was synced, a name once its directory was. What was
//! done and not synced may be there after a power cut or not, in any mixture; [`Loss`] names some. Real file systems keep more, so
//! code that passes here is safe there.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use std::sync::{Mutex, MutexGuard, PoisonError};

use fsfs::disk::Create;

use super::{Op, Watched, Watcher};

/// A disk that remembers what was done below a directory.
pub type CrashDisk = Watched<Recorder>;

/// What of that which was not made durable is lost in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: only the process was killed.
    Nothing,
    /// Everything.
    Everything,
    /// Bytes; names are there.
    Bytes,
    /// Names; bytes are there.
    Names,
    /// Some of both, by this seed: of each directory's changes those from some point on, of each file's new bytes those from some
    /// point on.
    Some(u64),
}

/// Remembers calls.
pub struct Recorder {
    root: PathBuf,
    /// What there was in the beginning.
    start: Tree,
    events: Mutex<Vec<Event>>,
}

#[derive(Clone, Debug)]
enum Event {
    Write(PathBuf, Create, u64),
    Append(u64, Vec<u8>),
    Truncate(u64, u64),
    Sync(u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    CreateDir(PathBuf),
    Mode(PathBuf, u32),
    SyncDir(PathBuf),
    SyncAll,
}

impl CrashDisk {
    /// A disk that remembers what is done below `root` (usually `db`), which is there already and durable.
    pub fn recording(root: &Path) -> Self {
        Watched::new(Recorder {
            root: root.to_owned(),
            start: Tree::read(root),
            events: Mutex::default(),
        })
    }

    /// A moment: the number of things done so far.
    pub fn moment(&self) -> usize {
        self.watcher().events().len()
    }

    /// The moments right before and right after something is made durable, and the last one.
    pub fn boundaries(&self) -> Vec<usize> {
        let events = self.watcher().events();
        let mut out = vec![0];
        for (at, event) in events.iter().enumerate() {
            if matches!(event, Event::Sync(_) | Event::SyncDir(_) | Event::SyncAll) {
                out.extend([at, at + 1]);
            }
        }
        out.push(events.len());
        out.dedup();
        out
    }

    /// Makes what a power cut at `moment` leaves, as the directory `target`, which must not exist.
    pub fn image(&self, moment: usize, loss: Loss, target: &Path) {
        let mut tree = self.watcher().start.clone();
        let mut files = HashMap::new();
        for event in &self.watcher().events()[..moment] {
            tree.apply(event, &mut files);
        }
        tree.write(loss, target);
    }

    /// What was done, one line each: for messages.
    pub fn describe(&self, moment: usize) -> String {
        let events = self.watcher().events();
        let lines = events.iter().take(moment).map(|event| match event {
            Event::Append(file, bytes) => format!("Append({file}, {} bytes)\n", bytes.len()),
            other => format!("{other:?}\n"),
        });
        lines.collect()
    }
}

impl Recorder {
    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
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
    fn after(&self, op: Op<'_>) {
        let event = match op {
            Op::Write(path, how, file) => Event::Write(self.inside(path), how, file),
            Op::Append(_, file, bytes) => Event::Append(file, bytes.to_vec()),
            Op::Truncate(_, file, length) => Event::Truncate(file, length),
            Op::Sync(_, file) => Event::Sync(file),
            Op::Rename(from, to) => Event::Rename(self.inside(from), self.inside(to)),
            Op::RemoveFile(path) | Op::RemoveDir(path) => Event::Remove(self.inside(path)),
            Op::CreateDir(path) => Event::CreateDir(self.inside(path)),
            Op::Permissions(path) => Event::Mode(self.inside(path), mode(path)),
            Op::SyncDir(path) => Event::SyncDir(self.inside(path)),
            Op::SyncAll(_) => Event::SyncAll,
            Op::Open(_) | Op::ReadSmall(_) | Op::ReadAt(_) | Op::List(_) | Op::Metadata(_) | Op::Lock(_) => {
                return;
            }
        };
        self.events().push(event);
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Dir(u32),
    /// A file, by its place in [`Tree::files`].
    File(usize),
}

#[derive(Clone, Debug)]
struct FileState {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    mode: u32,
}

/// A change to a directory that is not durable: a name and what it stands for from then on.
type Change = (PathBuf, Option<Entry>);

/// Files and directories, as they are and as they are durable.
#[derive(Clone, Debug, Default)]
struct Tree {
    files: Vec<FileState>,
    names: BTreeMap<PathBuf, Entry>,
    durable: BTreeMap<PathBuf, Entry>,
    /// By directory, in order.
    pending: BTreeMap<PathBuf, Vec<Change>>,
}

impl Tree {
    fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        let mut left = vec![PathBuf::new()];
        while let Some(dir) = left.pop() {
            let entries = fs::read_dir(root.join(&dir));
            let entries = entries.unwrap_or_else(|e| panic!("can't list {}: {e}", root.join(&dir).display()));
            for entry in entries.map_while(Result::ok) {
                let name = dir.join(entry.file_name());
                let path = root.join(&name);
                let entry = if path.is_dir() {
                    left.push(name.clone());
                    Entry::Dir(mode(&path))
                } else {
                    let bytes =
                        fs::read(&path).unwrap_or_else(|e| panic!("can't read {}: {e}", path.display()));
                    tree.files.push(FileState {
                        durable: bytes.clone(),
                        bytes,
                        mode: mode(&path),
                    });
                    Entry::File(tree.files.len() - 1)
                };
                tree.names.insert(name, entry);
            }
        }
        tree.durable = tree.names.clone();
        tree
    }

    fn apply(&mut self, event: &Event, open: &mut HashMap<u64, usize>) {
        match event {
            Event::Write(path, how, number) => {
                let file = match self.names.get(path) {
                    Some(Entry::File(file)) => *file,
                    _ => {
                        self.files.push(FileState {
                            bytes: Vec::new(),
                            durable: Vec::new(),
                            mode: 0o644,
                        });
                        let file = self.files.len() - 1;
                        self.set(path, Some(Entry::File(file)));
                        file
                    }
                };
                if *how == Create::Replace {
                    self.files[file].bytes.clear();
                }
                open.insert(*number, file);
            }
            Event::Append(number, bytes) => self.files[open[number]].bytes.extend_from_slice(bytes),
            Event::Truncate(number, length) => self.files[open[number]].bytes.truncate(*length as usize),
            Event::Sync(number) => {
                let file = &mut self.files[open[number]];
                file.durable = file.bytes.clone();
            }
            Event::Rename(from, to) => {
                let entry = self.names.get(from).copied();
                if let Some(Entry::Dir(_)) = entry {
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
            Event::Remove(path) => self.set(path, None),
            Event::CreateDir(path) => self.set(path, Some(Entry::Dir(0o755))),
            Event::Mode(path, mode) => match self.names.get_mut(path) {
                Some(Entry::File(file)) => self.files[*file].mode = *mode,
                Some(Entry::Dir(old)) => *old = *mode,
                None => {}
            },
            Event::SyncDir(dir) => {
                let changes = self.pending.remove(dir).unwrap_or_default();
                settle(&mut self.durable, &changes);
            }
            Event::SyncAll => {
                for changes in std::mem::take(&mut self.pending).into_values() {
                    settle(&mut self.durable, &changes);
                }
                for file in &mut self.files {
                    file.durable = file.bytes.clone();
                }
            }
        }
    }

    fn set(&mut self, path: &Path, entry: Option<Entry>) {
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
        let mut dice = Dice(match loss {
            Loss::Some(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            _ => 1,
        });
        let names = match loss {
            Loss::Nothing | Loss::Bytes => self.names.clone(),
            Loss::Everything | Loss::Names => self.durable.clone(),
            Loss::Some(_) => {
                let mut names = self.durable.clone();
                for changes in self.pending.values() {
                    let kept = dice.below(changes.len() + 1);
                    settle(&mut names, &changes[..kept]);
                }
                names
            }
        };
        create_dir(target);
        // Parents come before what is in them; what is in a lost directory is lost.
        for (name, entry) in &names {
            let path = target.join(name);
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Entry::Dir(mode) => {
                    create_dir(&path);
                    set_mode(&path, *mode);
                }
                Entry::File(file) => {
                    let file = &self.files[*file];
                    let bytes = match loss {
                        Loss::Nothing | Loss::Names => &file.bytes[..],
                        Loss::Everything | Loss::Bytes => &file.durable[..],
                        // Only what was appended can be there in part.
                        Loss::Some(_) if file.bytes.starts_with(&file.durable) => {
                            let new = file.bytes.len() - file.durable.len();
                            &file.bytes[..file.durable.len() + dice.below(new + 1)]
                        }
                        Loss::Some(_) if dice.below(2) == 0 => &file.bytes[..],
                        Loss::Some(_) => &file.durable[..],
                    };
                    fs::write(&path, bytes).unwrap_or_else(|e| panic!("can't write {}: {e}", path.display()));
                    set_mode(&path, file.mode);
                }
            }
        }
    }
}

fn settle(names: &mut BTreeMap<PathBuf, Entry>, changes: &[Change]) {
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

/// Numbers by chance, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }
}
