//! Integration tests of the storage engine, against repositories made by the real Subversion.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod admin;
mod compare;
mod incumbent;
mod locks;
mod read;
mod revprops;
mod txns;
