//! What an administrator asks of a filesystem: is it whole, how large is a revision.

mod pipeline;
mod rev_size;
pub mod verify;
