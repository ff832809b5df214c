//! Integration tests of the storage engine, against repositories made by the real Subversion.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod compare;
mod incumbent;
mod read;
