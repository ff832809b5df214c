//! Import: commits a tree of the local file system, without a working copy.
//!
//! The directories of the URL that do not exist are made. A thread walks the tree ([`walk`]): it decides what is ignored, which properties
//! files get ([`mod@rules`]), and reads, converts and digests their texts ahead of the commit. The calling thread drives the commit with what
//! the walk found ([`drive`]). What lies between the two is bounded.

mod drive;
mod rules;
mod text;
mod walk;

use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use base::{Cancel, Code, Depth, Error, NodeKind, Props, RelPath, Result, Url};
use ra::{Capability, CommitInfo, CommitRequest, DirectoryRequest, Session};

use crate::commit_item::{CommitItem, ItemChange, WriteMessage};

pub use rules::{AutoProps, MimeTypes};
pub(crate) use rules::{BINARY_HEAD, BINARY_TYPE, is_binary};
pub(crate) use walk::entry_name;

/// How to import.
#[derive(Clone, Copy)]
pub struct ImportOptions<'a> {
    /// How deep.
    pub depth: Depth,
    /// Whether nodes that are neither files, directories nor links are left out; otherwise they are errors.
    pub force: bool,
    /// The patterns of names that are left out; `None` leaves nothing out, whatever the properties of the repository say.
    pub ignores: Option<&'a [String]>,
    /// The properties that new files get by the caller's configuration.
    pub auto_props: &'a AutoProps,
    /// Whether `svn:auto-props` of the repository is followed.
    pub repository_auto_props: bool,
    /// The MIME types by extension.
    pub mime_types: &'a MimeTypes,
    /// The current directory, for messages.
    pub current_dir: &'a Path,
    /// Returns the revision properties of a commit with a log message.
    pub revprops: &'a (dyn Fn(Vec<u8>) -> Result<Props> + Sync),
    /// Ends the import.
    pub cancel: &'a Cancel,
}

/// What happens during an import.
#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// A node is being added.
    Adding {
        /// Its path.
        path: &'a Path,
        /// It is a file whose text is not for humans.
        is_binary: bool,
    },
    /// A node is left out.
    Skipped(&'a Path),
    /// All was sent, and the commit is about to be made.
    Finalizing,
    /// The commit was made.
    Committed(&'a CommitInfo),
}

/// Imports `path` to `url`. Without anything to import there is no commit. `describe` returns the log message, or `None` to give up; the
/// incumbent asks for it before it looks at the URL and the path.
///
/// # Errors
/// `ENTRY_EXISTS` if there is a file at the URL; `NODE_UNKNOWN_KIND` for nodes that cannot be imported; those of the commit, of the
/// caller's functions and of the file system.
pub fn import(
    path: &Path,
    url: &Url,
    options: &ImportOptions<'_>,
    open: &dyn Fn(&Url) -> Result<Box<dyn Session>>,
    describe: &mut WriteMessage<'_>,
    notify: &mut dyn FnMut(ImportEvent<'_>) -> Result<()>,
) -> Result<()> {
    let items = [CommitItem::new(url.as_str(), ItemChange::Add)];
    let Some(message) = describe(&items)? else {
        return Ok(());
    };
    let mut session = open(url)?;
    let (new_entries, ancestor) = missing_entries(&mut *session, url)?;
    if ancestor == NodeKind::File && new_entries.is_empty() {
        let message = format!("Path '{url}' already exists");
        return Err(Error::new(Code::ENTRY_EXISTS, message));
    }
    let revprops = (options.revprops)(message)?;
    let kind = walk::top_kind(path, options)?;
    let walk = walk::Walk {
        rules: rules(&mut *session, new_entries.is_empty(), options)?,
        options,
    };
    let request = CommitRequest {
        revprops,
        ..CommitRequest::default()
    };
    let (channel, found) = sync_channel(HELD);
    let sender = walk::Sender::new(channel);
    let mut is_empty = false;
    let outcome = thread::scope(|scope| {
        // The walk ends when the receiver has gone, or at the end of the tree.
        scope.spawn(|| walk.run(path, kind, sender));
        let found = found;
        session.commit(&request, &mut |editor| {
            let changed = drive::drive(editor, &new_entries, kind, &found, notify)?;
            is_empty = !changed;
            if is_empty {
                return Err(Error::bare(Code::CANCELLED));
            }
            notify(ImportEvent::Finalizing)?;
            editor.close_edit()
        })
    });
    match outcome {
        Ok(info) => notify(ImportEvent::Committed(&info)),
        Err(_) if is_empty => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks the names that the URL adds. The incumbent does so when the commit has begun.
fn check_entries(new_entries: &[String], kind: NodeKind) -> Result<()> {
    if let Some(name) = new_entries.last().filter(|name| *name == ADMIN_DIR) {
        let message = format!("'{name}' is a reserved name and cannot be imported");
        return Err(Error::new(Code::CL_ADM_DIR_RESERVED, message));
    }
    if kind != NodeKind::Dir && new_entries.is_empty() {
        let message = "New entry name required when importing a file";
        return Err(Error::new(Code::NODE_UNKNOWN_KIND, message));
    }
    Ok(())
}

/// Moves the session to the nearest ancestor of the URL that exists. Returns the names below it, the topmost first, and its kind.
fn missing_entries(session: &mut dyn Session, url: &Url) -> Result<(Vec<String>, NodeKind)> {
    let mut names = Vec::new();
    let mut at = url.clone();
    loop {
        let kind = session.check_path(&RelPath::empty(), None)?;
        if kind != NodeKind::None {
            names.reverse();
            return Ok((names, kind));
        }
        names.push(at.basename());
        at = at.parent().filter(|_| at != *session.root_url()).ok_or_else(|| {
            let message = format!("Root URL '{}' does not exist", session.root_url());
            Error::new(Code::FS_NOT_FOUND, message)
        })?;
        session.reparent(&at)?;
    }
}

/// Returns the rules for names and properties: those of the options, and of the properties at and above the session's URL.
fn rules(session: &mut dyn Session, is_at_target: bool, options: &ImportOptions<'_>) -> Result<rules::Rules> {
    let mut rules = rules::Rules::new(options);
    if options.ignores.is_none() && !options.repository_auto_props {
        return Ok(rules);
    }
    let path = RelPath::empty();
    let rev = session.latest_revision()?;
    if session.check_path(&path, Some(rev))? != NodeKind::Dir {
        // The commit fails later; only over HTTP, where the names to ignore are looked up, the incumbent notices before.
        if options.ignores.is_some() && session.url().scheme().starts_with("http") {
            let message = "Can't get properties of non-directory";
            return Err(Error::new(Code::FS_NOT_DIRECTORY, message));
        }
        return Ok(rules);
    }
    let mut levels: Vec<Props> = Vec::new();
    if session.has(Capability::InheritedProps)? {
        let inherited = session.inherited_props(&path, rev)?;
        levels.extend(inherited.into_iter().map(|(_, props)| props));
    }
    let request = DirectoryRequest {
        path: &path,
        rev: Some(rev),
        props: true,
        entries: None,
    };
    levels.push(session.directory(&request)?.props);
    for props in &levels {
        rules.add_inherited(props, options);
    }
    if let Some(own) = levels.last().filter(|_| is_at_target) {
        rules.add_own(own, options);
    }
    Ok(rules)
}

/// The name of administrative directories, which are never imported.
pub(crate) const ADMIN_DIR: &str = ".svn";

/// Messages that are held between the walk and the commit. The texts in one have less than 200 KiB.
const HELD: usize = 16;
