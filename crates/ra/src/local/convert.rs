//! Values of `repos` as values of sessions.

use base::{Code, Date, Error, FsPath, Result};
use delta::editor::{EncodedVersions, TextChunk};
use repos::{ChangeKind, DirentFields, file_revs, log};

use crate::answers::{ChangeAction, Dirent, FileRev, FileRevSink, LogChange, LogEntry};
use crate::requests;

pub(super) fn dirent(found: &repos::Dirent) -> Dirent {
    let date = found.date().and_then(|text| Date::parse(text).ok());
    Dirent {
        kind: found.kind,
        size: found.size,
        has_props: found.has_props,
        created_rev: found.created_rev,
        date: date.filter(|date| *date != Date(0)),
        author: found
            .author()
            .map(|author| String::from_utf8_lossy(author).into_owned()),
    }
}

pub(super) fn fields(wanted: requests::DirentFields) -> DirentFields {
    DirentFields {
        kind: wanted.kind,
        size: wanted.size,
        has_props: wanted.has_props,
        created_rev: wanted.created_rev,
        time: wanted.date,
        last_author: wanted.author,
    }
}

pub(super) fn log_entry(found: &log::LogEntry<'_>) -> Result<LogEntry> {
    let mut changes = Vec::new();
    for change in found.changes.iter() {
        changes.push(LogChange {
            path: FsPath::parse(change.path)?,
            action: match change.change {
                ChangeKind::Add => ChangeAction::Add,
                ChangeKind::Delete => ChangeAction::Delete,
                ChangeKind::Replace => ChangeAction::Replace,
                ChangeKind::Modify => ChangeAction::Modify,
            },
            copyfrom: match change.copyfrom {
                Some((rev, path)) => Some((FsPath::parse(path)?, rev)),
                None => None,
            },
            kind: change.node_kind,
            text_mods: change.text_mod,
            prop_mods: change.prop_mod,
        });
    }
    let revprops = found
        .props()
        .map(|(name, value)| (name.to_owned(), value.to_vec()));
    Ok(LogEntry {
        rev: found.rev,
        revprops: revprops.collect(),
        changes,
        has_children: found.has_children,
        subtractive_merge: found.subtractive_merge,
    })
}

/// Words the errors of a request for a file as the incumbent does.
pub(super) fn file_error(error: Error, path: &FsPath) -> Error {
    match error.code() {
        Code::FS_NOT_FILE => Error::new(Code::FS_NOT_FILE, format!("'{path}' is not a file")),
        // The path may be below a file.
        Code::FS_NOT_FOUND | Code::FS_NOT_DIRECTORY => {
            Error::new(Code::FS_NOT_FOUND, format!("'{path}' path not found"))
        }
        _ => error,
    }
}

/// Passes the revisions of a file on.
pub(super) struct FileRevs<'a>(pub(super) &'a mut dyn FileRevSink);

impl file_revs::FileRevSink for FileRevs<'_> {
    fn revision(&mut self, rev: &file_revs::FileRev<'_>) -> Result<()> {
        self.0.revision(&FileRev {
            path: rev.path.clone(),
            rev: rev.rev,
            revprops: rev.revprops.to_props(),
            prop_changes: rev.prop_changes.to_vec(),
            merged: rev.merged,
        })
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        self.0.text_chunk(chunk)
    }

    fn text_end(&mut self) -> Result<()> {
        self.0.text_end()
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        self.0.accepts_encoded()
    }
}
