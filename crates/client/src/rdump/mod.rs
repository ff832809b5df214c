//! `svnrdump`: dumps and loads repositories over the network.
//!
//! [`dump()`] writes a dump stream of version 3, with deltas, of what a session replays; the revisions are read ahead
//! ([`crate::replay_ahead`]). [`load()`] commits the revisions of any stream through a session; the author and the date of a revision are
//! set by another session while the next one is being sent.
//!
//! What is absent: where sessions and streams come from, and printing.

mod dump;
mod dump_editor;
mod load;
mod load_node;
mod load_props;
mod normalize;
mod record;

use base::{Cancel, Result, Url};
use ra::Session;

pub use dump::{DumpRange, DumpRevision, dump};
pub use load::{LoadObserver, LoadOptions, LockEvent, load};

/// Opens sessions with the repository.
pub trait Connect {
    /// Opens a session.
    ///
    /// # Errors
    /// Those of [`ra::open`], as below.
    fn open(&self, url: &Url) -> Result<Box<dyn Session>>;

    /// Opens a session that a cancellation does not end: it completes a revision and releases the lock.
    ///
    /// # Errors
    /// As above.
    fn open_uninterrupted(&self, url: &Url) -> Result<Box<dyn Session>>;

    /// The flag that ends the operation.
    fn cancel(&self) -> &Cancel;
}
