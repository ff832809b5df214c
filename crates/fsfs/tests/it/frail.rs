//! A disk that fails at the n-th call, and one that remembers what a power cut would leave.
//!
//! Both work on real folders: everybody else (the real tools above all) can look at what came out. Only what changes the disk is
//! counted and remembered.
//!
//! The power cut knows no mercy. A file has the contents of its last sync, or none; a name is there or gone as of the last sync
//! of its directory. Since a real machine may have written any of it earlier, there are two images at each moment: one with the old
//! names, and one with all new names whose files lack what was not synced.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskWriter, FileMeta, RealDisk};

/// What is on disk: directories without, files with contents.
pub type Image = BTreeMap<PathBuf, Option<Arc<Vec<u8>>>>;

/// The disk; clones are the same disk.
#[derive(Clone)]
pub struct Frail(Arc<Mutex<State>>);

struct State {
    calls: u64,
    /// The call that fails.
    fail_at: u64,
    /// Everything behind it fails too.
    dies: bool,
    power: Option<Power>,
}

/// What is durable, and what is not yet.
struct Power {
    root: PathBuf,
    /// Durable names.
    names: BTreeMap<PathBuf, Entry>,
    /// All names.
    live: BTreeMap<PathBuf, Entry>,
    /// What happened in directories since they were synced, in order.
    pending: Vec<(PathBuf, Change)>,
    /// Durable contents.
    contents: HashMap<u64, Arc<Vec<u8>>>,
    next_file: u64,
    images: Vec<Image>,
    known: HashSet<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Dir,
    File(u64),
}

#[derive(Clone, Debug)]
enum Change {
    Add(PathBuf, Entry),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl Frail {
    /// A disk whose `fail_at`-th change (from 1) fails, and if it `dies`, all further ones.
    pub fn failing(fail_at: u64, dies: bool) -> Self {
        Self::new(fail_at, dies, None)
    }

    /// A disk that takes images of what a power cut would leave of the folder `root`.
    pub fn cut(root: &Path) -> Self {
        let mut power = Power {
            root: root.to_owned(),
            names: BTreeMap::new(),
            live: BTreeMap::new(),
            pending: Vec::new(),
            contents: HashMap::new(),
            next_file: 0,
            images: Vec::new(),
            known: HashSet::new(),
        };
        power.adopt(root);
        Self::new(u64::MAX, false, Some(power))
    }

    fn new(fail_at: u64, dies: bool, power: Option<Power>) -> Self {
        Frail(Arc::new(Mutex::new(State {
            calls: 0,
            fail_at,
            dies,
            power,
        })))
    }

    /// The folder was removed, durably.
    pub fn forget(&self, folder: &Path) {
        if let Some(power) = &mut self.state().power {
            power.names.retain(|path, _| !path.starts_with(folder));
            power.live.retain(|path, _| !path.starts_with(folder));
        }
    }

    /// Changes so far.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// The different images so far. The last two are what a cut at this moment leaves.
    pub fn images(&self) -> Vec<Image> {
        let state = self.state();
        state.power.as_ref().unwrap().images.clone()
    }

    /// What a cut now would leave: with old names, and with new ones.
    pub fn images_now(&self) -> [Image; 2] {
        let state = self.state();
        let power = state.power.as_ref().unwrap();
        [power.image(&power.names), power.image(&power.live)]
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Counts a change and makes it, unless it is the one that fails.
    fn change<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        note: impl FnOnce(&mut Power, &T),
    ) -> io::Result<T> {
        let mut state = self.state();
        state.calls += 1;
        if state.calls == state.fail_at || (state.dies && state.calls > state.fail_at) {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        if let Some(power) = &mut state.power {
            power.snapshot();
        }
        let made = make()?;
        if let Some(power) = &mut state.power {
            note(power, &made);
            power.snapshot();
        }
        Ok(made)
    }
}

const NO_SPACE: i32 = 28;

impl Power {
    fn adopt(&mut self, folder: &Path) {
        self.names.insert(folder.to_owned(), Entry::Dir);
        self.live.insert(folder.to_owned(), Entry::Dir);
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                self.adopt(&entry.path());
            } else {
                let file = Entry::File(self.next_file);
                let bytes = std::fs::read(entry.path()).unwrap();
                self.contents.insert(self.next_file, Arc::new(bytes));
                self.next_file += 1;
                self.names.insert(entry.path(), file);
                self.live.insert(entry.path(), file);
            }
        }
    }

    fn image(&self, names: &BTreeMap<PathBuf, Entry>) -> Image {
        let mut image = Image::new();
        for (path, entry) in names {
            let Ok(path) = path.strip_prefix(&self.root) else {
                continue;
            };
            // Without its directory a file is nowhere.
            let parent = path.parent().is_none_or(|parent| image.contains_key(parent));
            if path.as_os_str().is_empty() || parent {
                let content = match entry {
                    Entry::Dir => None,
                    Entry::File(file) => Some(self.contents.get(file).cloned().unwrap_or_default()),
                };
                image.insert(path.to_owned(), content);
            }
        }
        image
    }

    fn snapshot(&mut self) {
        for image in [self.image(&self.names), self.image(&self.live)] {
            let mut hasher = DefaultHasher::new();
            for (path, content) in &image {
                path.hash(&mut hasher);
                content.as_ref().map(|bytes| &**bytes).hash(&mut hasher);
            }
            if self.known.insert(hasher.finish()) {
                self.images.push(image);
            }
        }
    }

    fn apply(names: &mut BTreeMap<PathBuf, Entry>, change: &Change) {
        match change {
            Change::Add(path, entry) => drop(names.insert(path.clone(), *entry)),
            Change::Remove(path) => drop(names.remove(path)),
            Change::Rename(from, to) => {
                if let Some(entry) = names.remove(from) {
                    names.insert(to.clone(), entry);
                }
            }
        }
    }

    fn pend(&mut self, directory: &Path, change: Change) {
        Self::apply(&mut self.live, &change);
        // A rename of something that has no durable name yet brings it along.
        let change = match change {
            Change::Rename(from, to) => {
                if let Some(entry) = self.live.get(&to) {
                    self.pending.push((directory.to_owned(), Change::Remove(from)));
                    Change::Add(to, *entry)
                } else {
                    return;
                }
            }
            other => other,
        };
        self.pending.push((directory.to_owned(), change));
    }

    fn sync_dir(&mut self, directory: &Path) {
        let (now, later) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition::<Vec<_>, _>(|(at, _)| at == directory);
        now.iter()
            .for_each(|(_, change)| Self::apply(&mut self.names, change));
        self.pending = later;
    }

    fn sync_all(&mut self) {
        for (_, change) in std::mem::take(&mut self.pending) {
            Self::apply(&mut self.names, &change);
        }
        let files: Vec<_> = self
            .live
            .iter()
            .map(|(path, entry)| (path.clone(), *entry))
            .collect();
        for (path, entry) in files {
            if let Entry::File(file) = entry {
                self.contents
                    .insert(file, Arc::new(std::fs::read(path).unwrap_or_default()));
            }
        }
    }
}

/// Makes the folder that an image shows, with files that can be written.
pub fn lay_out(image: &Image, at: &Path) {
    for (path, content) in image {
        let path = at.join(path);
        match content {
            None => std::fs::create_dir_all(&path).unwrap(),
            Some(bytes) => std::fs::write(&path, &**bytes).unwrap(),
        }
    }
}

impl Disk for Frail {
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
        let mut number = 0;
        let file = self.change(
            || RealDisk.write(path, how),
            |power, _| match power.live.get(path) {
                Some(Entry::File(file)) => number = *file,
                _ => {
                    number = power.next_file;
                    power.next_file += 1;
                    let parent = path.parent().unwrap().to_owned();
                    power.pend(&parent, Change::Add(path.to_owned(), Entry::File(number)));
                }
            },
        )?;
        Ok(Box::new(Writer {
            disk: self.clone(),
            file,
            number,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(
            || RealDisk.rename(from, to),
            |power, ()| {
                let parent = to.parent().unwrap().to_owned();
                power.pend(&parent, Change::Rename(from.to_owned(), to.to_owned()));
            },
        )
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change(
            || RealDisk.remove_file(path),
            |power, ()| power.pend(path.parent().unwrap(), Change::Remove(path.to_owned())),
        )
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.change(
            || RealDisk.create_dir(path),
            |power, ()| power.pend(path.parent().unwrap(), Change::Add(path.to_owned(), Entry::Dir)),
        )
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(
            || RealDisk.remove_dir(path),
            |power, ()| power.pend(path.parent().unwrap(), Change::Remove(path.to_owned())),
        )
    }

    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        self.change(|| RealDisk.copy_permissions(like, path), |_, ()| {})
    }

    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealDisk.set_read_only(path), |_, ()| {})
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|| RealDisk.sync_dir(path), |power, ()| power.sync_dir(path))
    }

    fn sync_all(&self, _: &Path) -> io::Result<()> {
        // For the machine that runs the tests it would take too long.
        self.change(|| Ok(()), |power, ()| power.sync_all())
    }

    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        RealDisk.lock(path, wait)
    }
}

struct Writer {
    disk: Frail,
    file: Box<dyn DiskWriter>,
    number: u64,
}

impl DiskFile for Writer {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl DiskWriter for Writer {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = &mut self.file;
        self.disk.change(|| file.append(bytes), |_, ()| {})
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let file = &mut self.file;
        self.disk.change(|| file.truncate(length), |_, ()| {})
    }

    fn sync(&mut self) -> io::Result<()> {
        let (file, number) = (&mut self.file, self.number);
        self.disk.change(
            || {
                file.sync()?;
                let mut bytes = vec![0; file.len()? as usize];
                let mut done = 0;
                while done < bytes.len() {
                    done += file.read_at(&mut bytes[done..], done as u64)?;
                }
                Ok(bytes)
            },
            |power, bytes: &Vec<u8>| drop(power.contents.insert(number, Arc::new(bytes.clone()))),
        )?;
        Ok(())
    }
}
