//! The dump stream format, versions 1 to 3: records as values, and how they are written and read.
//!
//! A stream is a magic header, perhaps a UUID, then revisions, each followed by its nodes. A record is header lines,
//! an empty line and perhaps content: a property section, then a text. [`NodeHeaders`] and [`DumpRecord`] are those
//! headers as values; [`write_revision`] and [`NodeHeaders::write`] write them in `svnadmin dump`'s order; [`DumpReader`]
//! reads any stream and holds only one header or one property of it. [`Renumbering`] maps its revisions to those of a repository.
//!
//! What is absent: repositories, and the decision what is written.

mod block;
mod errors;
mod headers;
mod parse;
mod read;
mod renumber;
mod write;

pub use block::HeaderBlock;
pub use headers::{DumpRecord, NodeAction, NodeHeaders, RecordKind, RevisionHeaders, name};
pub use parse::leading_number;
pub use read::{DumpReader, RawPropChange};
pub use renumber::Renumbering;
pub use write::{write_revision, write_start};

#[cfg(test)]
mod tests;
