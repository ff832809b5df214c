//! Subversion's clients with Sven's server: each scenario runs with Subversion's `svnserve` and with Sven, on equal
//! repositories, and must have the same transcript.
//!
//! `$SVEN_INTEROP_OVER` (`svn`, `http`, `http-v1`, `https`) selects the transport; over HTTP the oracle is Apache.
//! `cargo xtask interop` runs the scenarios over all of them. `$SVEN_INTEROP_FS_TYPE=fsx` makes the repositories with that
//! back end, and `$SVEN_INTEROP_MAKER=ours` lets Sven make those that are of no side.
//!
//! [`pair`] masks the parts that may differ: ports, directories, and the order of lines where the protocol does not
//! define it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests start programs, make files and print their seeds"
)]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod access;
mod apache;
mod checkout;
mod cluster;
mod cluster_jobs;
mod cluster_node;
mod config;
mod crash;
mod dates;
mod deep;
mod fsx;
mod guide;
mod history;
mod hooks;
mod hooks_call_back;
mod hooks_change;
mod hostile;
mod http;
mod index;
mod listing;
mod locking;
mod merges;
mod mirror;
mod misconfiguration;
mod model;
mod odd_paths;
mod odd_revprops;
mod odd_text;
mod pair;
mod program;
mod random;
mod raw;
mod raw_commits;
mod raw_writing;
mod replaced_repositories;
mod scenarios;
mod serve;
mod sparse;
mod stopping;
mod tables;
mod twins;
mod writing;
mod writing_programs;
