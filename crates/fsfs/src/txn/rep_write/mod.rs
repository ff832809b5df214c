//! Writing contents: the choice of the delta base, texts of files, short contents, and rep sharing.
//!
//! The text of a file streams through [`RepWriter`] into the proto-revision file while the transaction is edited. Directories and
//! property lists are in memory, and are written at the commit by [`write_small_rep`]. Both call [`delta_base`] for the base of
//! the delta, and [`RepSharing`] to find equal contents that are stored already.

mod choose;
mod encode;
mod share;
mod small;
mod text;

pub(crate) use choose::{ContentKind, delta_base};
pub(crate) use share::RepSharing;
pub(crate) use small::{SmallRep, write_small_rep};
pub(crate) use text::RepWriter;
