//! Integration tests of the crate's public interface, in one binary.

#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests start programs, make files and print their seeds"
)]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod authz;
mod commit;
mod convert;
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
