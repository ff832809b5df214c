//! Writing contents: what to store them as a delta against, the text of a file, short contents, and sharing.
//!
//! A file's text streams through [`RepWriter`] into the proto-revision file while the transaction is edited; directories and
//! property lists are short, in memory, and written at the commit by [`write_small_rep`]. Both ask [`delta_base`] what to
//! be a delta of, and [`RepSharing`] whether the content is stored already.

mod choose;
mod encode;
mod share;
mod small;
mod text;

pub(crate) use choose::{ContentKind, delta_base};
pub(crate) use share::RepSharing;
pub(crate) use small::{SmallRep, write_small_rep};
pub(crate) use text::RepWriter;
