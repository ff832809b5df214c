//! Files, directories and symbolic links of an export on disk.
//!
//! A file is written under a temporary name beside its own and then renamed. A directory is entered only if it is one, and
//! not a symbolic link to one: as nothing replaces a directory by a rename, what is below it stays inside of the export.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::{Code, Date, Error, Result, disk_path};
use delta::svndiff::{Codec, EncodedWindow, Parsed, SvndiffError};

use crate::translate::Translation;

/// Bytes of a text that are held in memory; a longer one is in a temporary file.
pub(super) const IN_MEMORY: usize = 4 << 20;

/// Makes the top directory of an export, with the directories above it.
///
/// # Errors
/// `WC_OBSTRUCTED_UPDATE` if it exists and `force` is false; `WC_NOT_WORKING_COPY` if it is a file; `errno`.
pub(super) fn make_root(path: &Path, force: bool) -> Result<()> {
    let shown = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match found_at(shown)? {
        Some(found) if !found.is_dir() => Err(not_a_directory(path)),
        Some(_) if force => Ok(()),
        Some(_) => {
            let message =
                "Destination directory exists; please remove the directory or use --force to overwrite";
            Err(already_exists(shown).wrap(Code::WC_OBSTRUCTED_UPDATE, message))
        }
        None => fs::create_dir_all(path).map_err(|e| Error::io("Can't make directory", path, &e)),
    }
}

/// Returns what is at a path, without following a link; `None` if nothing is there.
///
/// # Errors
/// `errno` if that cannot be known: the name is too long, or a directory above may not be searched.
pub(super) fn found_at(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("Can't check path", path, &e)),
    }
}

/// Makes a directory of an export.
///
/// # Errors
/// As of [`make_root`].
pub(super) fn make_directory(path: &Path, force: bool) -> Result<()> {
    let error = match fs::create_dir(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => error,
        Err(error) => return Err(Error::io("Can't create directory", path, &error)),
    };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => Err(not_a_directory(path)),
        Ok(_) if force => Ok(()),
        Ok(_) => Err(already_exists(path)),
        Err(_) => Err(Error::io("Can't create directory", path, &error)),
    }
}

/// Makes the directories between `root` and `path`. None of them may be a symbolic link, which may lead outside.
///
/// # Errors
/// `WC_NOT_WORKING_COPY`; `errno`.
pub(super) fn make_parents(root: &Path, path: &Path) -> Result<()> {
    let parents = path.ancestors().skip(1).take_while(|parent| *parent != root);
    for parent in parents {
        if parent.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(not_a_directory(parent));
        }
    }
    match path.parent() {
        // What is there and no directory is reported for what was to be made in it.
        Some(parent) if parent != root && !parent.exists() => {
            fs::create_dir_all(parent).map_err(|e| Error::io("Can't make directory", parent, &e))
        }
        _ => Ok(()),
    }
}

fn not_a_directory(path: &Path) -> Error {
    let message = format!("'{}' exists and is not a directory", disk_path::shown(path));
    Error::new(Code::WC_NOT_WORKING_COPY, message)
}

fn already_exists(path: &Path) -> Error {
    let message = format!("'{}' already exists", disk_path::shown(path));
    Error::new(Code::WC_OBSTRUCTED_UPDATE, message)
}

/// The text of a file while it arrives, as it is in the repository.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    memory: Vec<u8>,
    /// What follows `memory`, unless the text is in a file.
    windows: HeldWindows,
    file: Option<TempFile>,
}

/// Windows of one svndiff version as they were received, one behind the other.
#[derive(Debug, Default)]
struct HeldWindows {
    version: u8,
    bytes: Vec<u8>,
    /// The length of the text that they make.
    expanded: usize,
}

/// What a file becomes on disk.
#[derive(Debug, Default)]
pub(super) struct FileForm {
    /// Its text describes another kind of node. One that is not known becomes a file, without conversion and time.
    pub special: bool,
    /// It is a program.
    pub executable: bool,
    /// The conversion of its text.
    pub translation: Option<Translation>,
    /// The time of its last change.
    pub date: Option<Date>,
}

impl TextBuffer {
    /// Appends to the text of the file that will be at `path`. At most `in_memory` bytes are held.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn push(&mut self, path: &Path, bytes: &[u8], in_memory: usize) -> Result<()> {
        debug_assert!(self.windows.bytes.is_empty(), "the windows come first");
        if self.file.is_none() && self.memory.len() + bytes.len() <= in_memory {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let mut file = TempFile::beside(path)?;
                file.write(&std::mem::take(&mut self.memory))?;
                none.insert(file)
            }
        };
        file.write(bytes)
    }

    /// Appends a window that is expanded later. Returns false, and does nothing, if more than `in_memory` bytes would be held.
    pub(super) fn push_window(&mut self, window: &EncodedWindow<'_>, in_memory: usize) -> bool {
        let held = &mut self.windows;
        let is_same = held.bytes.is_empty() || held.version == window.version;
        let expanded = held.expanded.saturating_add(window.target_len as usize);
        let bytes = expanded.max(held.bytes.len() + window.raw.len());
        if self.file.is_some() || !is_same || self.memory.len() + bytes > in_memory {
            return false;
        }
        (held.version, held.expanded) = (window.version, expanded);
        held.bytes.extend_from_slice(window.raw);
        true
    }

    /// Expands the windows.
    ///
    /// # Errors
    /// Any [`SvndiffError`].
    pub(super) fn expand(&mut self, codec: &mut Codec) -> Result<()> {
        let held = std::mem::take(&mut self.windows);
        self.memory.reserve(held.expanded);
        let mut rest = &held.bytes[..];
        while !rest.is_empty() {
            let Parsed::Complete(window) = EncodedWindow::parse(held.version, rest)? else {
                return Err(SvndiffError::UnexpectedEnd.into());
            };
            window.apply(&[], &mut self.memory, codec)?;
            rest = &rest[window.raw.len()..];
        }
        Ok(())
    }

    /// The part of the text that is in memory and expanded: all of it, or nothing if it is in a file.
    pub(super) fn in_memory(&self) -> &[u8] {
        &self.memory
    }

    /// The bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.memory.len() + self.windows.expanded.max(self.windows.bytes.len())
    }

    /// Puts the complete text into a file, or makes the node that it describes.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn finish(self, path: &Path, form: FileForm) -> Result<()> {
        if form.special
            && let Some(target) = self.memory.strip_prefix(b"link ")
        {
            // What follows the first line, or a NUL, belongs to no link.
            let end = target.iter().position(|byte| matches!(byte, b'\n' | 0));
            return make_link(&target[..end.unwrap_or(target.len())], path);
        }
        let file = match (self.file, form.translation) {
            (Some(file), None) => file,
            (None, None) => {
                let mut file = TempFile::beside(path)?;
                file.write_all(&self.memory)?;
                file
            }
            (None, Some(mut translation)) => {
                let mut file = TempFile::beside(path)?;
                let mut out = Vec::with_capacity(self.memory.len());
                translation.convert(&self.memory, &mut out);
                translation.finish(&mut out);
                file.write_all(&out)?;
                file
            }
            (Some(mut file), Some(translation)) => {
                let rewound = file.file.rewind();
                rewound.map_err(|e| Error::io("Can't read file", &file.path, &e))?;
                converted(&file.file, translation, path)?
            }
        };
        if form.executable {
            let changed = set_executable(&file.file);
            changed.map_err(|e| Error::io("Can't change permissions of file", path, &e))?;
        }
        if let Some(date) = form.date.and_then(|date| u64::try_from(date.0).ok()) {
            let time = UNIX_EPOCH + Duration::from_micros(date);
            // Both times: some file systems take no request that leaves one out.
            let times = FileTimes::new()
                .set_modified(time)
                .set_accessed(SystemTime::now());
            let outcome = file.file.set_times(times);
            outcome.map_err(|e| Error::io("Can't set access time of", path, &e))?;
        }
        file.rename(path)
    }
}

fn make_link(target: &[u8], path: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let target = std::ffi::OsStr::from_bytes(target);
    let made = create_beside(path, |name| symlink(target, name));
    let ((), temporary) = made.map_err(|e| Error::io("Can't create symbolic link", path, &e))?;
    rename(&temporary, path).inspect_err(|_| _ = fs::remove_file(&temporary))
}

/// Returns a temporary file with the text that `source` has, converted.
fn converted(mut source: impl io::Read, mut translation: Translation, path: &Path) -> Result<TempFile> {
    let mut file = TempFile::beside(path)?;
    let (mut piece, mut out) = (vec![0; CONVERTED_AT_ONCE], Vec::new());
    loop {
        let read = source.read(&mut piece);
        let len = read.map_err(|e| Error::io("Can't read file", path, &e))?;
        out.clear();
        if len == 0 {
            translation.finish(&mut out);
            file.write(&out)?;
            return Ok(file);
        }
        translation.convert(&piece[..len], &mut out);
        file.write(&out)?;
    }
}

/// A file under a temporary name. It is removed unless it gets another one.
#[derive(Debug)]
struct TempFile {
    file: File,
    path: PathBuf,
    is_renamed: bool,
}

impl TempFile {
    /// Makes a file beside `path`, with the mode of a new file.
    fn beside(path: &Path) -> Result<TempFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o666);
        match create_beside(path, |name| options.open(name)) {
            Ok((file, path)) => Ok(TempFile {
                file,
                path,
                is_renamed: false,
            }),
            Err(error) => {
                let template = path.with_file_name(format!("svn-{}", "X".repeat(6)));
                let what = "Can't create temporary file from template";
                Err(Error::io(what, &template, &error))
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let outcome = self.file.write_all(bytes);
        outcome.map_err(|e| Error::io("Can't write to file", &self.path, &e))
    }

    /// Writes all of the text. The incumbent writes the last block when it closes the file, and its error says so.
    fn write_all(&mut self, text: &[u8]) -> Result<()> {
        self.file.write_all(text).map_err(|error| {
            let block = |bytes: u64| bytes / BLOCK;
            let written = self.file.stream_position().unwrap_or(0);
            let last = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_sub(1);
            let what = match block(written) == block(last) {
                true => "Can't close file",
                false => "Can't write to file",
            };
            Error::io(what, &self.path, &error)
        })
    }

    fn rename(mut self, path: &Path) -> Result<()> {
        rename(&self.path, path)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            // The error that ends the export is the one to report.
            _ = fs::remove_file(&self.path);
        }
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| {
        let what = format!(
            "Can't move '{}' to '{}'",
            disk_path::shown(from),
            disk_path::shown(to)
        );
        Error::os(&error, &what)
    })
}

/// Calls `create` with names beside `path` until one is free. Returns what it made, and the path.
fn create_beside<T>(path: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let random = RandomState::new();
    for attempt in 0..ATTEMPTS {
        let mut number = random.hash_one(attempt);
        let mut name = String::from("svn-");
        for _ in 0..6 {
            let letter = usize::try_from(number % 36).unwrap_or(0);
            name.push(char::from(LETTERS[letter]));
            number /= 36;
        }
        let temporary = path.with_file_name(name);
        match create(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (made, temporary)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Lets everyone execute a file who may read it.
fn set_executable(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

/// The bytes that the incumbent writes at once.
const BLOCK: u64 = 4096;

/// Names that are tried for a temporary file.
const ATTEMPTS: u32 = 1000;

/// The letters of temporary names.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Bytes of a text that are converted at once.
const CONVERTED_AT_ONCE: usize = 64 << 10;
