//! What an administrator asks of a filesystem: is it whole, how large is a revision, pack it, copy it, upgrade it.

mod commit;
pub(crate) mod create;
mod freeze;
pub mod hotcopy;
pub mod indexes;
pub mod pack;
pub mod recover;
pub mod rep_cache;
mod rev_size;
pub mod stats;
pub mod upgrade;
pub mod verify;

pub use create::{CreateOptions, create};
