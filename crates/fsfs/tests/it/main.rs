//! Integration tests of the storage engine, against repositories made by the real Subversion.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod admin;
mod compare;
mod corruption;
mod errors;
mod history;
mod incumbent;
mod locks;
mod read;
mod revprops;
mod sample;
mod transactions;
mod txns;
mod verify;
mod write;
