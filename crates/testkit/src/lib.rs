//! Support for tests: repositories made by Subversion's tools, running programs and servers, comparing their outputs.
//!
//! The incumbent's programs (Debian's `subversion` and `subversion-tools`) are the oracle. [`repo::build`] makes a
//! repository of any format, layout, compression and packing state with them, usually from a history with every
//! special case of the format ([`history::rich`]). It is made once and kept below `target/`. [`tool::Tool`] runs a
//! program of Subversion or of Sven in a clean environment, [`server::TestServer`] runs a server on a free port,
//! [`disk`] has disks that fail or lose power, [`small_disk`] becomes full, [`normalize`] removes the parts of outputs that may differ.
//! [`random_history`] and [`branch_history`] generate histories from seeds, [`probe`] is a raw svn:// client,
//! [`cut_proxy`] breaks connections, [`shared_memory`] is storage that several machines share, [`engines`] runs a database and an
//! object store, [`flaky_proxy`] breaks connections again and again, [`fault_proxy`] has faults on command, [`spreading_proxy`] sends each
//! request to another server, [`fake_clock`] is a clock that jumps, [`server::cluster`] lets a cluster take the place of a server.
//!
//! All functions panic on failure, with the command line and its output, so that a test without its preconditions
//! fails. Product crates may use this crate only as a development dependency, for `tests/it` and `tests/cmd`.

mod accept_loop;
pub mod branch_history;
pub mod cut_proxy;
pub mod disk;
pub mod engines;
pub mod fake_clock;
pub mod fault_proxy;
pub mod flaky_proxy;
pub mod greek;
pub mod history;
mod hotcopy;
pub mod image;
pub mod normalize;
pub mod pair;
pub mod probe;
pub mod random_history;
pub mod repo;
mod seeds;
pub mod server;
pub mod shared_memory;
pub mod small_disk;
pub mod spreading_proxy;
pub mod stream;
pub mod tool;

pub use repo::{Repo, Spec, build, create_by, create_compatible, create_repository};
pub use seeds::{each_seed, runs_all_cases, sample, sample_from, seeds};
pub use tool::{Output, Side, Tool, scratch};
