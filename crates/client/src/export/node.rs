//! Files, directories and symbolic links of an export on disk.

use std::collections::HashSet;
use std::fs::{self, File, FileTimes, Permissions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use base::{Code, Date, Error, Result};
use parking_lot::Mutex;
use tempfile::{Builder, NamedTempFile};

use crate::translate::Translation;

/// Bytes of a text that are held in memory; a longer one is in a temporary file.
const IN_MEMORY: usize = 1 << 20;

/// The symbolic links that an export made. Their targets are the server's choice, so nothing is written through them.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<HashSet<PathBuf>>);

impl Links {
    fn add(&self, path: &Path) {
        self.0.lock().insert(path.to_owned());
    }

    fn contains(&self, path: &Path) -> bool {
        self.0.lock().contains(path)
    }

    /// Checks that no directory between `root` and `path` is such a link.
    ///
    /// # Errors
    /// `WC_NOT_WORKING_COPY`.
    pub(super) fn check_parents(&self, root: &Path, path: &Path) -> Result<()> {
        let parents = path.ancestors().skip(1).take_while(|parent| *parent != root);
        for parent in parents {
            self.check(parent)?;
        }
        Ok(())
    }

    /// Checks that `path` is not such a link.
    fn check(&self, path: &Path) -> Result<()> {
        match self.contains(path) {
            true => Err(not_a_directory(path)),
            false => Ok(()),
        }
    }
}

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
    match fs::metadata(shown) {
        Ok(found) if !found.is_dir() => Err(not_a_directory(path)),
        Ok(_) if force => Ok(()),
        Ok(_) => {
            let message =
                "Destination directory exists; please remove the directory or use --force to overwrite";
            Err(already_exists(shown).wrap(Code::WC_OBSTRUCTED_UPDATE, message))
        }
        Err(_) => fs::create_dir_all(path).map_err(|e| Error::io("Can't create directory", path, &e)),
    }
}

/// Makes a directory of an export.
///
/// # Errors
/// As of [`make_root`].
pub(super) fn make_directory(path: &Path, force: bool, links: &Links) -> Result<()> {
    let error = match fs::create_dir(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => error,
        Err(error) => return Err(Error::io("Can't create directory", path, &error)),
    };
    links.check(path)?;
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => Err(not_a_directory(path)),
        Ok(_) if force => Ok(()),
        Ok(_) => Err(already_exists(path)),
        Err(_) => Err(Error::io("Can't create directory", path, &error)),
    }
}

fn not_a_directory(path: &Path) -> Error {
    let message = format!("'{}' exists and is not a directory", path.display());
    Error::new(Code::WC_NOT_WORKING_COPY, message)
}

fn already_exists(path: &Path) -> Error {
    let message = format!("'{}' already exists", path.display());
    Error::new(Code::WC_OBSTRUCTED_UPDATE, message)
}

/// The text of a file while it arrives, as it is in the repository.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    memory: Vec<u8>,
    file: Option<NamedTempFile>,
}

/// What a file becomes on disk.
#[derive(Debug, Default)]
pub(super) struct FileForm {
    /// Its text describes another kind of node.
    pub special: bool,
    /// It is a program.
    pub executable: bool,
    /// The conversion of its text.
    pub translation: Option<Translation>,
    /// The time of its last change.
    pub date: Option<Date>,
}

impl TextBuffer {
    /// Appends to the text of the file that will be at `path`.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn push(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let mut file = temporary(path, false)?;
                write(&mut file, &self.memory)?;
                self.memory = Vec::new();
                none.insert(file)
            }
        };
        write(file, bytes)
    }

    /// Puts the complete text into a file, or makes the node that it describes.
    ///
    /// # Errors
    /// `errno`.
    pub(super) fn finish(self, path: &Path, form: FileForm, links: &Links) -> Result<()> {
        if form.special
            && let Some(target) = self.memory.strip_prefix(b"link ")
        {
            return make_link(target, path, links);
        }
        let executable = form.executable && !form.special;
        let (file, is_new) = match (self.file, form.translation.filter(|_| !form.special)) {
            (Some(file), None) => (file, false),
            (None, translation) => (converted(&self.memory[..], translation, path, executable)?, true),
            (Some(mut file), translation) => {
                let text = file.as_file_mut();
                text.rewind()
                    .map_err(|e| Error::io("Can't read file", path, &e))?;
                (converted(&*text, translation, path, executable)?, true)
            }
        };
        if executable && !is_new {
            set_executable(file.as_file())
                .map_err(|e| Error::io("Can't change permissions of file", path, &e))?;
        }
        if let Some(date) = form.date.and_then(|date| u64::try_from(date.0).ok()) {
            let time = UNIX_EPOCH + Duration::from_micros(date);
            let times = FileTimes::new().set_accessed(time).set_modified(time);
            let outcome = file.as_file().set_times(times);
            outcome.map_err(|e| Error::io("Can't set access time of", path, &e))?;
        }
        rename(file, path)
    }
}

fn make_link(target: &[u8], path: &Path, links: &Links) -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let target = std::ffi::OsStr::from_bytes(target);
    let made = builder(false).make_in(parent(path), |name| symlink(target, name));
    let link = made.map_err(|e| Error::io("Can't create symbolic link", path, &e))?;
    links.add(path);
    rename(link, path)
}

fn rename<F>(file: NamedTempFile<F>, path: &Path) -> Result<()> {
    let from = file.path().to_owned();
    match file.persist(path) {
        Ok(_) => Ok(()),
        Err(error) => {
            let what = format!("Can't move '{}' to '{}'", from.display(), path.display());
            Err(Error::os(&error.error, &what))
        }
    }
}

/// Returns a temporary file with the rest of `text`, converted.
fn converted(
    mut text: impl io::Read,
    translation: Option<Translation>,
    path: &Path,
    executable: bool,
) -> Result<NamedTempFile> {
    let mut file = temporary(path, executable)?;
    let Some(mut translation) = translation else {
        let copied = io::copy(&mut text, &mut file);
        copied.map_err(|e| Error::io("Can't write to file", path, &e))?;
        return Ok(file);
    };
    let (mut piece, mut out) = (vec![0; 64 << 10], Vec::new());
    loop {
        let len = text
            .read(&mut piece)
            .map_err(|e| Error::io("Can't read file", path, &e))?;
        out.clear();
        if len == 0 {
            translation.finish(&mut out);
            write(&mut file, &out)?;
            return Ok(file);
        }
        translation.convert(&piece[..len], &mut out);
        write(&mut file, &out)?;
    }
}

fn write(file: &mut NamedTempFile, bytes: &[u8]) -> Result<()> {
    let outcome = file.write_all(bytes);
    outcome.map_err(|e| Error::io("Can't write to file", file.path(), &e))
}

/// Makes a temporary file beside `path`, with the mode of a new file.
fn temporary(path: &Path, executable: bool) -> Result<NamedTempFile> {
    let folder = parent(path);
    let made = builder(executable).tempfile_in(folder);
    made.map_err(|e| {
        let template = path.with_file_name("svn-XXXXXX");
        // The path in the error of the crate is not one that the user knows.
        let errno = e.raw_os_error().unwrap_or_default();
        let cause = io::Error::from_raw_os_error(errno);
        Error::io("Can't create temporary file from template", &template, &cause)
    })
}

fn builder(executable: bool) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    let mode = if executable { 0o777 } else { 0o666 };
    builder.prefix("svn-").permissions(Permissions::from_mode(mode));
    builder
}

/// Returns the directory of a path, `.` for a name alone.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Lets everyone execute a file who may read it.
fn set_executable(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode | (mode & 0o444) >> 2))
}
