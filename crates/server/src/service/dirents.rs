//! Entries of directories: from the fields of a request to those of the engine, and from the engine's entries to the wire's.

use repos::DirentFields;
use wire::svn::command::Fields;
use wire::svn::response::Dirent;

/// Returns the fields that the engine must read for a client that asks for `fields`.
pub(crate) fn dirent_fields(fields: Fields) -> DirentFields {
    DirentFields {
        kind: fields.has(Fields::KIND),
        size: fields.has(Fields::SIZE),
        has_props: fields.has(Fields::HAS_PROPS),
        created_rev: fields.has(Fields::CREATED_REV),
        time: fields.has(Fields::TIME),
        last_author: fields.has(Fields::LAST_AUTHOR),
    }
}

/// Returns an entry of a directory as both protocols send it.
pub(crate) fn wire_dirent(dirent: &repos::Dirent) -> Dirent<'_> {
    Dirent {
        kind: dirent.kind,
        size: dirent.size,
        has_props: dirent.has_props,
        created_rev: dirent.created_rev,
        date: dirent.date(),
        author: dirent.author(),
    }
}
