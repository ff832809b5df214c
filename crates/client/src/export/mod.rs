//! Export: writes a tree of a repository to disk, without a working copy.
//!
//! A directory is exported by one report, or by several sessions that share its subtrees ([`parallel`]); a file by one request. Every
//! file is written under a temporary name and then renamed, so that an interruption leaves no file with half of its text. Texts
//! are converted ([`crate::translate`]), links and programs made, and times set to the last change, as the incumbent's
//! client does. Externals follow after the tree that defines them ([`externals`]).
//!
//! A server chooses names, not places: every name is one component, and no symbolic link is followed below the target.

mod editor;
mod externals;
mod node;
mod parallel;
mod ready;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use base::{Cancel, Code, Date, Depth, Error, NodeKind, RelPath, Result, Revnum, Url, disk_path};
use ra::Session;

use crate::externals::ParseDate;
use crate::locate::{self, Revision};
use crate::translate::LineEnd;

/// What to export.
#[derive(Clone, Debug)]
pub struct Source {
    /// The URL.
    pub url: Url,
    /// The revision in which the URL names the node.
    pub peg: Revision,
    /// The revision of the node.
    pub rev: Revision,
}

/// How to export.
#[derive(Clone, Copy)]
pub struct ExportOptions<'a> {
    /// How deep.
    pub depth: Depth,
    /// Whether files and directories that exist are overwritten.
    pub force: bool,
    /// Whether externals are left out.
    pub ignore_externals: bool,
    /// Whether keywords stay as they are in the repository.
    pub ignore_keywords: bool,
    /// The line end of files with the style `native`.
    pub native_line_end: LineEnd,
    /// The most sessions that export one tree; at least 1.
    pub sessions: usize,
    /// The threads with which each session expands texts and writes files, its own included. With one, nothing is received meanwhile.
    pub writers: usize,
    /// For how long the first session works alone: a further connection costs more than it saves for a small tree. With zero, sessions cost
    /// nothing, and all are opened at once.
    pub alone_for: Duration,
    /// Asked after that, and again after the same time: whether the machine has time left for a further session.
    pub has_time: &'a (dyn Fn() -> bool + Sync),
    /// Opens a session at a URL.
    pub open: &'a (dyn Fn(&Url) -> Result<Box<dyn Session>> + Sync),
    /// Formats a date for the keyword `$Date$`, in the user's time zone.
    pub long_date: &'a (dyn Fn(Date) -> String + Sync),
    /// Parses a date in the property `svn:externals`.
    pub parse_date: ParseDate<'a>,
    /// Returns a name of the repository as a name of the file system. The path is that of its directory, for errors.
    pub file_name: &'a (dyn Fn(&str, &Path) -> Result<OsString> + Sync),
    /// The target as an absolute path: below it are the externals, in events and messages.
    pub absolute_target: &'a Path,
    /// Counts the bytes of texts that were received.
    pub received: &'a AtomicU64,
    /// Ends the export between two files.
    pub cancel: &'a Cancel,
}

/// What happens during an export, in the order of the incumbent's messages.
#[derive(Debug)]
pub enum ExportEvent<'a> {
    /// A node was written.
    Added(&'a Path),
    /// An external is going to be exported to this path.
    External(&'a Path),
    /// The external was not exported.
    ExternalFailed(&'a Error),
    /// The tree is complete, at this revision; `None` for a file.
    Completed {
        /// The revision.
        rev: Option<Revnum>,
        /// True for an external.
        is_external: bool,
    },
    /// No more events are about the external.
    ExternalEnd,
}

/// Receives events.
pub type Notify<'a> = &'a mut dyn FnMut(ExportEvent<'_>) -> Result<()>;

/// Exports a file or a directory to `target`, which is a path of the local file system; an empty one is the current
/// directory.
///
/// A file goes into `target` if that is a directory. The node's own name is the caller's matter otherwise.
///
/// # Errors
/// `RA_ILLEGAL_URL` if there is no such node; `WC_OBSTRUCTED_UPDATE`, `WC_NOT_WORKING_COPY` and `ILLEGAL_TARGET` if something is in
/// the way; `CL_ERROR_PROCESSING_EXTERNALS` at the end if an external failed; those of the session, of `notify` and of the file system.
pub fn export(source: &Source, target: &Path, options: &ExportOptions<'_>, notify: Notify<'_>) -> Result<()> {
    let tree = export_tree(source, target, options, notify)?;
    if options.ignore_externals || options.depth != Depth::Infinity {
        return notify(tree.completed(false));
    }
    externals::export(tree, options, notify)
}

/// An exported tree or file, whose externals are not exported yet.
struct ExportedTree {
    root_url: Url,
    /// The URL in the exported revision.
    url: Url,
    target: PathBuf,
    kind: NodeKind,
    rev: Revnum,
    /// The directories with `svn:externals`, and its values.
    externals: Vec<(RelPath, Vec<u8>)>,
}

impl ExportedTree {
    fn completed(&self, is_external: bool) -> ExportEvent<'static> {
        ExportEvent::Completed {
            rev: (self.kind == NodeKind::Dir).then_some(self.rev),
            is_external,
        }
    }
}

fn export_tree(
    source: &Source,
    target: &Path,
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
) -> Result<ExportedTree> {
    let mut session = (options.open)(&source.url)?;
    let rev = locate::move_to_node(&mut *session, source.peg, source.rev)?;
    let kind = session.check_path(&RelPath::empty(), Some(rev))?;
    let mut tree = ExportedTree {
        root_url: session.root_url().clone(),
        url: session.url().clone(),
        target: target.to_owned(),
        kind,
        rev,
        externals: Vec::new(),
    };
    if let Some(name) = target.file_name() {
        (options.file_name)(&disk_path::shown(name), target.parent().unwrap_or(target))?;
    }
    match kind {
        NodeKind::File => {
            // As the caller has named it, even if it had another name in that revision.
            let name = source.url.basename();
            editor::export_file(session, rev, (target, &name), options, notify)?;
        }
        NodeKind::Dir => {
            node::make_root(target, options.force)?;
            notify(ExportEvent::Added(target))?;
            tree.externals = parallel::export(session, rev, target, options, notify)?;
        }
        _ => {
            let message = format!("URL '{}' doesn't exist", session.url());
            return Err(Error::new(Code::RA_ILLEGAL_URL, message));
        }
    }
    Ok(tree)
}
