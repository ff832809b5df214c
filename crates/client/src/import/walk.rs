//! Walks the tree to import, ahead of the commit.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use base::charset::Charset;
use base::checksum::{Md5, Md5Stream};
use base::{Code, Depth, Error, NodeKind, Props, Result, disk_path};
use delta::window::WINDOW_SIZE;

use super::rules::{BINARY_HEAD, Rules, has_binary_type};
use super::text::Normalization;
use super::{ADMIN_DIR, ImportOptions};
use crate::translate::SPECIAL;

/// A part of the tree, in the order of the commit.
#[derive(Debug)]
pub(super) enum Found {
    Skipped(PathBuf),
    /// A directory with its name; its entries follow, and [`Found::End`].
    Dir(PathBuf, String),
    End,
    /// A file; its text follows, and [`Found::TextEnd`]. At the top it is the node itself.
    File {
        path: PathBuf,
        name: String,
        props: Props,
        is_binary: bool,
    },
    Text(Vec<u8>),
    TextEnd(Md5),
    Failed(Error),
}

/// The parameters of a walk.
pub(super) struct Walk<'a> {
    pub rules: Rules,
    pub options: &'a ImportOptions<'a>,
}

/// The receiver has gone, because the commit has failed.
struct Gone;

enum Stop {
    Gone,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Stop {
        Stop::Gone
    }
}

/// Sends what is found to the thread that commits, many parts at a time: a part of a small file is found more quickly than a thread is
/// woken.
pub(super) struct Sender {
    channel: SyncSender<Vec<Found>>,
    parts: Vec<Found>,
    /// The bytes of the texts in `parts`.
    bytes: usize,
}

impl Sender {
    pub(super) fn new(channel: SyncSender<Vec<Found>>) -> Self {
        Sender {
            channel,
            parts: Vec::new(),
            bytes: 0,
        }
    }

    fn send(&mut self, found: Found) -> Result<(), Gone> {
        if let Found::Text(text) = &found {
            self.bytes += text.len();
        }
        self.parts.push(found);
        match self.parts.len() >= SENT_PARTS || self.bytes >= WINDOW_SIZE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Gone> {
        self.bytes = 0;
        let parts = std::mem::take(&mut self.parts);
        self.channel.send(parts).map_err(|_| Gone)
    }
}

/// So many parts are sent together.
const SENT_PARTS: usize = 64;

/// An entry of a directory.
struct Entry {
    /// Its name in the file system.
    file_name: OsString,
    /// Its name in the repository.
    name: String,
    found: Metadata,
}

/// A directory whose entries are being walked.
struct Level {
    entries: std::vec::IntoIter<Entry>,
    path: PathBuf,
    depth: Depth,
}

/// Returns what `path` is.
///
/// # Errors
/// `NODE_UNKNOWN_KIND`; `errno`.
pub(super) fn top_kind(path: &Path, options: &ImportOptions<'_>) -> Result<NodeKind> {
    let absolute = absolute(path, options);
    let found =
        fs::symlink_metadata(&absolute).map_err(|error| Error::io("Can't stat", &absolute, &error))?;
    let kind = found.file_type();
    if kind.is_dir() {
        Ok(NodeKind::Dir)
    } else if kind.is_file() || kind.is_symlink() {
        Ok(NodeKind::File)
    } else {
        let message = format!("'{}' does not exist", disk_path::shown(&absolute));
        Err(Error::new(Code::NODE_UNKNOWN_KIND, message))
    }
}

fn absolute(path: &Path, options: &ImportOptions<'_>) -> PathBuf {
    if path.as_os_str().is_empty() {
        return options.current_dir.to_owned();
    }
    options.current_dir.join(path)
}

impl Walk<'_> {
    /// Walks `path`, and sends what is found. Ends early if the receiver has gone.
    pub(super) fn run(&self, path: &Path, kind: NodeKind, mut sender: Sender) {
        let outcome = match kind {
            NodeKind::Dir => self.tree(path, &mut sender),
            _ => self.top_file(path, &mut sender),
        };
        let outcome = match outcome {
            Err(Stop::Failed(error)) => sender.send(Found::Failed(error)),
            Err(Stop::Gone) => return,
            Ok(()) => Ok(()),
        };
        // A receiver that has gone needs no rest.
        _ = outcome.and_then(|()| sender.flush());
    }

    fn top_file(&self, path: &Path, sender: &mut Sender) -> Result<(), Stop> {
        let found = fs::symlink_metadata(path).map_err(|error| Error::io("Can't stat", path, &error))?;
        let name = disk_path::shown(path.file_name().unwrap_or_default());
        if self.rules.ignores_alone(&name, self.options) {
            return Ok(());
        }
        self.file(path, &name, &found, sender)
    }

    fn tree(&self, top: &Path, sender: &mut Sender) -> Result<(), Stop> {
        let mut levels = vec![Level {
            entries: self.entries(top, true, sender)?,
            path: top.to_owned(),
            depth: self.options.depth,
        }];
        while let Some(level) = levels.last_mut() {
            self.options.cancel.check()?;
            let Some(Entry {
                file_name,
                name,
                found,
            }) = level.entries.next()
            else {
                levels.pop();
                sender.send(Found::End)?;
                continue;
            };
            let path = level.path.join(&file_name);
            if !found.is_dir() {
                if level.depth > Depth::Empty {
                    self.file_or_other(&path, &name, &found, sender)?;
                } else {
                    self.check_kind(&path, &found, sender)?;
                }
                continue;
            }
            let depth = match level.depth {
                Depth::Infinity => Depth::Infinity,
                Depth::Immediates => Depth::Empty,
                _ => continue,
            };
            check_name(&name, &path, self.options)?;
            let entries = self.entries(&path, false, sender)?;
            sender.send(Found::Dir(path.clone(), name))?;
            levels.push(Level { entries, path, depth });
        }
        Ok(())
    }

    /// Returns the entries of a directory that are not ignored, sorted.
    fn entries(
        &self,
        path: &Path,
        is_top: bool,
        sender: &mut Sender,
    ) -> Result<std::vec::IntoIter<Entry>, Stop> {
        let absolute = absolute(path, self.options);
        let failed = |error: &io::Error| Error::io("Can't open directory", &absolute, error);
        let mut entries = Vec::new();
        let mut has_admin_dir = false;
        for entry in fs::read_dir(&absolute).map_err(|error| failed(&error))? {
            let entry = entry.map_err(|error| failed(&error))?;
            let file_name = entry.file_name();
            let name = entry_name(&file_name, &absolute)?;
            if name == ADMIN_DIR {
                has_admin_dir = true;
            } else if !self.rules.ignores(&name, is_top) {
                let found = entry.metadata();
                let found = found.map_err(|error| Error::io("Can't stat", &entry.path(), &error))?;
                let name = name.into_owned();
                entries.push(Entry {
                    file_name,
                    name,
                    found,
                });
            }
        }
        if has_admin_dir {
            // The incumbent names it twice.
            sender.send(Found::Skipped(path.join(ADMIN_DIR).join(ADMIN_DIR)))?;
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries.into_iter())
    }

    fn file_or_other(
        &self,
        path: &Path,
        name: &str,
        found: &Metadata,
        sender: &mut Sender,
    ) -> Result<(), Stop> {
        check_name(name, path, self.options)?;
        match self.check_kind(path, found, sender)? {
            true => self.file(path, name, found, sender),
            false => Ok(()),
        }
    }

    /// Returns false for a node that is left out because of its kind.
    fn check_kind(&self, path: &Path, found: &Metadata, sender: &mut Sender) -> Result<bool, Stop> {
        if found.is_file() || found.is_symlink() {
            return Ok(true);
        }
        if self.options.force {
            sender.send(Found::Skipped(path.to_owned()))?;
            return Ok(false);
        }
        let absolute = absolute(path, self.options);
        let message = format!(
            "Unknown or unversionable type for '{}'",
            disk_path::shown(&absolute)
        );
        Err(Error::new(Code::NODE_UNKNOWN_KIND, message).into())
    }

    fn file(&self, path: &Path, name: &str, found: &Metadata, sender: &mut Sender) -> Result<(), Stop> {
        let absolute = absolute(path, self.options);
        if found.is_symlink() {
            return link(path, name, &absolute, sender);
        }
        let mut file =
            File::open(&absolute).map_err(|error| Error::io("Can't open file", &absolute, &error))?;
        let mut read = || {
            // Room beside the length lets the read end without a further buffer.
            let room = found.len().min(WINDOW_SIZE as u64) as usize + 64;
            let mut piece = Vec::with_capacity(room);
            let read = (&mut file).take(WINDOW_SIZE as u64).read_to_end(&mut piece);
            read.map_err(|error| Error::io("Can't read file", &absolute, &error))?;
            Ok::<_, Error>(piece)
        };
        let mut piece = read()?;
        let is_executable = found.permissions().mode() & 0o100 != 0;
        let head = &piece[..piece.len().min(BINARY_HEAD)];
        let props = self.rules.props(name, head, is_executable);
        let normalization = Normalization::new(&props, &disk_path::shown(&absolute));
        sender.send(Found::File {
            path: path.to_owned(),
            name: name.to_owned(),
            is_binary: has_binary_type(&props),
            props,
        })?;
        let mut text = TextSender {
            sender,
            digest: Md5Stream::new(),
            normalization: normalization?,
        };
        while !piece.is_empty() {
            self.options.cancel.check()?;
            let is_last = piece.len() < WINDOW_SIZE;
            text.push(piece)?;
            piece = match is_last {
                true => Vec::new(),
                false => read()?,
            };
        }
        text.finish()
    }
}

/// Sends the text that describes a symbolic link.
fn link(path: &Path, name: &str, absolute: &Path, sender: &mut Sender) -> Result<(), Stop> {
    let target = fs::read_link(absolute)
        .map_err(|error| Error::io("Can't read contents of link", absolute, &error))?;
    let text = format!("link {}", entry_name(target.as_os_str(), absolute)?).into_bytes();
    let props = Props::from([(SPECIAL.to_owned(), b"*".to_vec())]);
    sender.send(Found::File {
        path: path.to_owned(),
        name: name.to_owned(),
        props,
        is_binary: false,
    })?;
    let digest = Md5::of(&text);
    sender.send(Found::Text(text))?;
    sender.send(Found::TextEnd(digest))?;
    Ok(())
}

/// Sends the text of a file, converted.
struct TextSender<'a> {
    sender: &'a mut Sender,
    digest: Md5Stream,
    normalization: Option<Normalization>,
}

impl TextSender<'_> {
    fn push(&mut self, piece: Vec<u8>) -> Result<(), Stop> {
        let Some(normalization) = &mut self.normalization else {
            self.digest.update(&piece);
            return Ok(self.sender.send(Found::Text(piece))?);
        };
        let mut out = Vec::with_capacity(piece.len());
        normalization.convert(&piece, &mut out);
        self.send(out)
    }

    fn send(&mut self, text: Vec<u8>) -> Result<(), Stop> {
        self.digest.update(&text);
        match text.is_empty() {
            true => Ok(()),
            false => Ok(self.sender.send(Found::Text(text))?),
        }
    }

    fn finish(mut self) -> Result<(), Stop> {
        if let Some(normalization) = self.normalization.take() {
            let mut out = Vec::new();
            normalization.finish(&mut out);
            self.send(out)?;
        }
        Ok(self.sender.send(Found::TextEnd(self.digest.finish()))?)
    }
}

/// Checks that a name has no control characters.
fn check_name(name: &str, path: &Path, options: &ImportOptions<'_>) -> Result<()> {
    let Some(control) = name.bytes().find(u8::is_ascii_control) else {
        return Ok(());
    };
    let absolute = absolute(path, options);
    let mut shown = String::new();
    for letter in disk_path::shown(&absolute).chars() {
        match letter.is_ascii_control() {
            true => shown.push_str(&format!("\\{:03o}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    let message = format!("Invalid control character '0x{control:02x}' in path '{shown}'");
    Err(Error::new(Code::FS_PATH_SYNTAX, message))
}

/// Returns the text of a name in a directory.
///
/// # Errors
/// `errno` 22 if it is not in the character set of the locale.
pub(crate) fn entry_name<'n>(name: &'n OsStr, directory: &Path) -> Result<Cow<'n, str>> {
    Charset::of_process().read_word(name).map_err(|error| {
        let directory = disk_path::shown(directory);
        error.context(format!(
            "Error converting entry in directory '{directory}' to UTF-8"
        ))
    })
}
