//! Integration tests of the crate's public interface, in one binary.

#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests start programs, make files and print their seeds"
)]

mod authz;
mod commit;
mod create;
mod directories;
mod dump;
mod golden;
mod load;
mod peer;
mod prefetch;
mod queries;
mod recording;
mod replay;
mod report;
mod transaction;
