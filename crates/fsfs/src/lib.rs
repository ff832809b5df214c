//! The storage engine: FSFS repositories of formats 1 to 8, opened in place.
//!
//! Callers hold an [`Fs`], ask it for a [`Root`] (one revision's tree, or one transaction's), and walk
//! [`Node`]s. Below that: `format` turns bytes into values, `layout` knows which file holds what, `rep` rebuilds
//! texts from delta chains, one byte-budgeted cache holds parsed things.
//!
//! What is absent: users, hooks, authorisation, sockets, and any opinion about what a client should see.

mod api;
mod format;

pub use api::*;
