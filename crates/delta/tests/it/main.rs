//! Integration tests of the crate's public interface, in one binary.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests start programs and make files"
)]
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod arbitrary;
mod compose;
mod golden;
mod incumbent;
mod malformed;
mod record;
mod svndiff;
