//! Differences between two files or directories of the local disk that are in no working copy.
//!
//! They have no properties but one: the MIME type of what looks binary. Symbolic links are followed, except to directories below the
//! top, which are files that cannot be read. Directories are walked with a stack of tasks, each in the order of the names' bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base::{Cancel, Code, Depth, Error, NodeKind, Props, RelPath, Result, disk_path, props};

use super::labels::Labels;
use super::printer::Printer;
use super::summary::{Summary, SummaryEntry, SummaryTarget};
use super::text::Text;
use super::tree::{Action, DirectoryChange, FileChange, FileSide, Needs, TreeSink};
use super::{PrintOptions, Write};
use crate::import::{ADMIN_DIR, BINARY_HEAD, BINARY_TYPE, entry_name, is_binary};

/// Two paths of the local disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPaths {
    /// The current directory.
    pub directory: PathBuf,
    /// The old and the new path: canonical, absolute or below `directory`, empty for `directory` itself.
    pub paths: [String; 2],
}

impl LocalPaths {
    /// Returns the absolute path of a side.
    ///
    /// # Errors
    /// `errno` 22 for a path that the character set of the locale lacks.
    fn absolute(&self, side: usize) -> Result<PathBuf> {
        match self.paths[side].as_str() {
            "" => Ok(self.directory.clone()),
            path => Ok(self.directory.join(disk_path::of_text(path)?)),
        }
    }
}

/// Compares two files or directories and prints the difference in the unified form.
///
/// # Errors
/// `NODE_UNEXPECTED_KIND` if there is neither a file nor a directory; `UNSUPPORTED_FEATURE` for a working copy; `WC_NOT_WORKING_COPY`
/// for Git's form, which has the paths of a repository; those of `write` and of the file system; `CANCELLED`.
pub fn print_paths(
    paths: &LocalPaths,
    depth: Depth,
    cancel: &Cancel,
    options: &PrintOptions<'_>,
    write: Write<'_>,
) -> Result<()> {
    let ends = LocalEnds::find(paths)?;
    let mut printer = Printer::new(Labels::of_paths(paths), options, cancel, write);
    compare(&ends, depth, cancel, &mut printer)
}

/// Compares two files or directories and passes each changed node to `entry`.
///
/// # Errors
/// As of [`print_paths`].
pub fn summarize_paths(
    paths: &LocalPaths,
    depth: Depth,
    cancel: &Cancel,
    ignore_properties: bool,
    entry: &mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>,
) -> Result<()> {
    let ends = LocalEnds::find(paths)?;
    let target = SummaryTarget::Path(&paths.paths[0]);
    let mut sink = Summary::new(target, !ends.prefix.is_empty(), ignore_properties, entry);
    compare(&ends, depth, cancel, &mut sink)
}

/// The two paths, and what is there.
#[derive(Debug)]
struct LocalEnds {
    roots: [PathBuf; 2],
    kinds: [NodeKind; 2],
    /// What precedes the paths of changes: the name of the old node, unless both are directories.
    prefix: RelPath,
}

impl LocalEnds {
    /// Looks at the paths.
    ///
    /// # Errors
    /// `NODE_UNEXPECTED_KIND` if there is neither a file nor a directory; `UNSUPPORTED_FEATURE` for a working copy; `errno`.
    fn find(paths: &LocalPaths) -> Result<LocalEnds> {
        let roots = [paths.absolute(0)?, paths.absolute(1)?];
        for root in &roots {
            refuse_working_copy(root)?;
        }
        let kinds = [root_kind(&roots[0])?, root_kind(&roots[1])?];
        let is_node = |kind: &NodeKind| matches!(kind, NodeKind::File | NodeKind::Dir);
        if !kinds.iter().any(is_node) {
            let named = usize::from(kinds[0] != NodeKind::None);
            let message = format!("'{}' is not a file or directory", disk_path::shown(&roots[named]));
            return Err(Error::new(Code::NODE_UNEXPECTED_KIND, message));
        }
        let kinds = kinds.map(|kind| if is_node(&kind) { kind } else { NodeKind::None });
        let prefix = match (kinds, roots[0].file_name()) {
            ([NodeKind::Dir, NodeKind::Dir], _) | (_, None) => RelPath::empty(),
            (_, Some(name)) => RelPath::canonicalize(&disk_path::shown(name))?,
        };
        Ok(LocalEnds { roots, kinds, prefix })
    }

    fn at(&self, side: usize, below: &RelPath) -> Result<PathBuf> {
        match below.is_empty() {
            true => Ok(self.roots[side].clone()),
            false => Ok(self.roots[side].join(disk_path::of_text(below.as_str())?)),
        }
    }
}

/// Passes what differs to `sink`.
///
/// # Errors
/// `errno` of what cannot be read; `CANCELLED`; those of the sink.
fn compare(ends: &LocalEnds, depth: Depth, cancel: &Cancel, sink: &mut dyn TreeSink) -> Result<()> {
    let mut tasks = vec![Task::Node(Pair {
        below: RelPath::empty(),
        kinds: ends.kinds,
        depth,
    })];
    let mut walk = Walk { ends, sink };
    while let Some(task) = tasks.pop() {
        cancel.check()?;
        match task {
            Task::Node(pair) => walk.node(&pair, &mut tasks)?,
            Task::Close(below, action) => walk.directory(&below, action)?,
        }
    }
    Ok(())
}

/// What is to be done. The next task is the last one.
enum Task {
    Node(Pair),
    /// Passes a directory that is at one side, after its entries.
    Close(RelPath, Action),
}

/// A path below both roots.
struct Pair {
    below: RelPath,
    /// What is there at each side.
    kinds: [NodeKind; 2],
    depth: Depth,
}

struct Walk<'a> {
    ends: &'a LocalEnds,
    sink: &'a mut dyn TreeSink,
}

impl Walk<'_> {
    fn node(&mut self, pair: &Pair, tasks: &mut Vec<Task>) -> Result<()> {
        let only = |side: usize| match side {
            0 => [pair.kinds[0], NodeKind::None],
            _ => [NodeKind::None, pair.kinds[1]],
        };
        match pair.kinds {
            [NodeKind::None, NodeKind::None] | [NodeKind::Unknown, NodeKind::Unknown] => Ok(()),
            [NodeKind::File, NodeKind::File] => self.modified_file(&pair.below),
            [NodeKind::Dir, NodeKind::Dir] => self.entries(pair, tasks),
            [NodeKind::None, kind] => self.one_side(pair, kind, Action::Added, tasks),
            [kind, NodeKind::None] => self.one_side(pair, kind, Action::Deleted, tasks),
            _ => {
                tasks.extend([1, 0].map(|side| {
                    Task::Node(Pair {
                        below: pair.below.clone(),
                        kinds: only(side),
                        depth: pair.depth,
                    })
                }));
                Ok(())
            }
        }
    }

    fn one_side(&mut self, pair: &Pair, kind: NodeKind, action: Action, tasks: &mut Vec<Task>) -> Result<()> {
        match kind {
            NodeKind::File => self.one_file(&pair.below, action),
            NodeKind::Dir => {
                tasks.push(Task::Close(pair.below.clone(), action));
                self.entries(pair, tasks)
            }
            // Pipes and devices have nothing to show.
            _ => self.directory(&pair.below, action),
        }
    }

    /// Adds a task for each entry of the directories at a path.
    fn entries(&self, pair: &Pair, tasks: &mut Vec<Task>) -> Result<()> {
        let depth = match pair.depth {
            Depth::Empty => return Ok(()),
            Depth::Infinity => Depth::Infinity,
            _ => Depth::Empty,
        };
        let mut names: BTreeMap<String, [NodeKind; 2]> = BTreeMap::new();
        for side in [0, 1] {
            if pair.kinds[side] != NodeKind::Dir {
                continue;
            }
            for (name, kind) in read_directory(&self.ends.at(side, &pair.below)?)? {
                if kind == NodeKind::Dir && pair.depth == Depth::Files {
                    continue;
                }
                names.entry(name).or_insert([NodeKind::None; 2])[side] = kind;
            }
        }
        let entries = names.into_iter().rev().map(|(name, kinds)| {
            let below = pair.below.join_str(&name);
            Task::Node(Pair { below, kinds, depth })
        });
        tasks.extend(entries);
        Ok(())
    }

    fn modified_file(&mut self, below: &RelPath) -> Result<()> {
        let paths = [self.ends.at(0, below)?, self.ends.at(1, below)?];
        let props = [file_props(&paths[0])?, file_props(&paths[1])?];
        if have_same_bytes(&paths)? {
            return Ok(());
        }
        let is_other_type = props[0] != props[1];
        let needs = self.sink.needs(Action::Modified);
        let [old, new] = props;
        let (old, new) = (
            file_side(&paths[0], old, needs)?,
            file_side(&paths[1], new, needs)?,
        );
        self.sink.file(&FileChange {
            path: &self.ends.prefix.join(below),
            action: Action::Modified,
            old: &old,
            new: &new,
            text: true,
            props: is_other_type,
        })
    }

    fn one_file(&mut self, below: &RelPath, action: Action) -> Result<()> {
        let side = usize::from(action == Action::Added);
        let path = self.ends.at(side, below)?;
        let mut sides = [FileSide::default(), FileSide::default()];
        sides[side] = file_side(&path, file_props(&path)?, self.sink.needs(action))?;
        self.sink.file(&FileChange {
            path: &self.ends.prefix.join(below),
            action,
            old: &sides[0],
            new: &sides[1],
            text: true,
            props: true,
        })
    }

    fn directory(&mut self, below: &RelPath, action: Action) -> Result<()> {
        let none = Props::new();
        self.sink.directory(&DirectoryChange {
            path: &self.ends.prefix.join(below),
            action,
            old: &none,
            new: &none,
            props: false,
        })
    }
}

fn refuse_working_copy(path: &Path) -> Result<()> {
    let is_working_copy = |directory: &Path| directory.join(ADMIN_DIR).join("wc.db").exists();
    match path.ancestors().any(is_working_copy) {
        true => {
            let path = disk_path::shown(path);
            let message = format!("'{path}' is in a working copy; working copies are not supported yet");
            Err(Error::new(Code::UNSUPPORTED_FEATURE, message))
        }
        false => Ok(()),
    }
}

/// Returns what is at a path, of links what they point to.
fn root_kind(path: &Path) -> Result<NodeKind> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(NodeKind::Dir),
        Ok(found) if found.is_file() => Ok(NodeKind::File),
        Ok(_) => Ok(NodeKind::Unknown),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(NodeKind::None)
        }
        Err(error) => Err(Error::io("Can't check path", path, &error)),
    }
}

/// Returns the entries of a directory.
fn read_directory(path: &Path) -> Result<Vec<(String, NodeKind)>> {
    let admin = path.join(ADMIN_DIR);
    if let Err(error) = fs::symlink_metadata(&admin)
        && error.kind() == io::ErrorKind::PermissionDenied
    {
        return Err(Error::io("Can't check path", &admin, &error));
    }
    let failed = |error: &io::Error| Error::io("Can't open directory", path, error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| failed(&e))? {
        let entry = entry.map_err(|e| failed(&e))?;
        let name = entry.file_name();
        let name = entry_name(&name, path)?;
        if name == ADMIN_DIR {
            continue;
        }
        let kind = entry.file_type().map_err(|e| failed(&e))?;
        let kind = match (kind.is_dir(), kind.is_file() || kind.is_symlink()) {
            (true, _) => NodeKind::Dir,
            (false, true) => NodeKind::File,
            (false, false) => NodeKind::Unknown,
        };
        entries.push((name.into_owned(), kind));
    }
    Ok(entries)
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io("Can't open file", path, &e))
}

/// Reads until `bytes` is full or the file ends. Returns the number of bytes.
fn fill(file: &File, bytes: &mut Vec<u8>, len: usize, path: &Path) -> Result<usize> {
    bytes.clear();
    let read = file.take(len as u64).read_to_end(bytes);
    read.map_err(|e| Error::io("Can't read file", path, &e))
}

/// Returns the properties of a file: its MIME type if it looks binary.
fn file_props(path: &Path) -> Result<Props> {
    let mut head = Vec::new();
    fill(&open(path)?, &mut head, BINARY_HEAD, path)?;
    let mut found = Props::new();
    if is_binary(&head) {
        found.insert(props::MIME_TYPE.to_owned(), BINARY_TYPE.into());
    }
    Ok(found)
}

fn have_same_bytes(paths: &[PathBuf; 2]) -> Result<bool> {
    let files = [open(&paths[0])?, open(&paths[1])?];
    let mut pieces = [Vec::new(), Vec::new()];
    loop {
        for side in [0, 1] {
            fill(&files[side], &mut pieces[side], PIECE, &paths[side])?;
        }
        if pieces[0] != pieces[1] {
            return Ok(false);
        }
        if pieces[0].is_empty() {
            return Ok(true);
        }
    }
}

/// Returns the side of a file, with its text if that is needed.
fn file_side(path: &Path, props: Props, needs: Needs) -> Result<FileSide> {
    let mut text = Text::of_file(path);
    if needs.text {
        let file = open(path)?;
        let mut piece = Vec::new();
        while fill(&file, &mut piece, PIECE, path)? > 0 {
            text.push(&piece)?;
        }
    }
    Ok(FileSide { props, text })
}

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
