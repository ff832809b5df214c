//! The real clients against our server: each scenario runs twice, against Subversion's `svnserve` and against ours, on the same
//! repository, and must leave the same transcript.
//!
//! `$SVEN_INTEROP_OVER` (`svn`, `http`, `http-v1`, `https`) chooses the transport; over HTTP theirs is Apache. `cargo xtask interop`
//! runs the scenarios over all of them.
//!
//! What differs rightly is taken out ([`pair`]): ports, folders, and the order of lines where the protocol leaves it open.

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
mod config;
mod crash;
mod dated;
mod deep;
mod drained;
mod history;
mod hooks;
mod hooks_call_back;
mod hooks_change;
mod hostile;
mod http;
mod listing;
mod locking;
mod merges;
mod mirror;
mod misconfiguration;
mod model;
mod odd_paths;
mod odd_revprops;
mod pair;
mod program;
mod random;
mod raw;
mod raw_writing;
mod restored;
mod scenarios;
mod serve;
mod sparse;
mod stopping;
mod tables;
mod twins;
mod writing;
mod writing_programs;
