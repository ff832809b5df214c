//! Operations for administrators: create, verify, pack, copy, recover, upgrade, measure. Also commits with the options of
//! `fsfs.conf` that use these operations.

mod commit;
pub(crate) mod create;
mod freeze;
pub mod history_index;
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
