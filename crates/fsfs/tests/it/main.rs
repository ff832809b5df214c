//! Integration tests of the storage engine, against repositories made by the real Subversion.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests start programs, make files and print their seeds"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod admin;
mod commits;
mod compare;
mod corruption;
mod crash;
mod create;
mod errors;
mod files;
mod fsx;
mod guards;
mod history;
mod history_index;
mod hotcopy;
mod incumbent;
mod locks;
mod locks_write;
mod metered;
mod pack;
mod power_cut;
mod read;
mod resumed;
mod revprops;
mod revprops_write;
mod sample;
mod shared;
mod sharing;
mod strays;
mod svnfsfs;
mod texts;
mod transactions;
mod txns;
mod upgrade;
mod verify;
mod write;
mod write_back;
