//! Tests of the crate against repositories of Subversion's tools. They need `svnadmin`, `svnlook` and `svn`.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests prepare and damage files, and print their seeds"
)]

mod compare;
mod damage;
mod expected;
mod known_faults;
mod locks;
mod packing;
mod random;
mod repository;
mod torture;
mod transactions;
