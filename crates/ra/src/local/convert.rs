//! Values of `repos` as values of sessions.

use base::{Date, FsPath, Result};
use repos::{ChangeKind, DirentFields, log};

use crate::answers::{ChangeAction, Dirent, LogChange, LogEntry};
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
