//! What tests stand on: real repositories made by the real tools, and ways to run tools and compare what they say.
//!
//! The incumbent's programs (Debian's `subversion` and `subversion-tools`) are the oracle. [`repo::build`] makes a
//! repository of any format, layout, compression and packing state with them, from a history that holds every oddity the
//! format knows ([`history::rich`]); it is kept below `target/` and made once. [`tool::Tool`] runs theirs or ours in a clean
//! environment, [`disk`] has disks that fail or lose power, [`server::Server`] starts and stops a server on a free port, [`normalize`] takes out what may differ.
//! [`random`] and [`branches`] make histories of any number, [`probe`] asks a server in the protocol's own words.
//!
//! Everything here panics on failure, with the command line and its output: a test that cannot be set up must fail
//! loudly. Nothing in a product crate may depend on this one except as a dev-dependency for `tests/it` and `tests/cmd`.

pub mod branches;
pub mod disk;
pub mod greek;
pub mod history;
mod hotcopy;
pub mod image;
pub mod normalize;
pub mod probe;
pub mod random;
pub mod repo;
mod seeds;
pub mod server;
pub mod stream;
pub mod tool;

pub use repo::{Repo, Spec, build};
pub use seeds::seeds;
pub use tool::{Output, Side, Tool, scratch};
