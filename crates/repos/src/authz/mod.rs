//! Path-based authorization: which user may read or write which path of which repository.
//!
//! An authz file is parsed once ([`Authz::parse`]) into rules whose paths share one prefix tree. For each user and
//! repository it is compiled to [`UserRights`]: the tree of the rules that apply to this user in this repository
//! ([`Authz::rights`]), made once and shared. Three properties follow:
//!
//! * A check of a path costs one step per component, however large the file is.
//! * A check of a subtree ([`crate::access::Readable::subtree`]) costs the same: each node of the tree holds the
//!   latest rule below it that grants or denies.
//! * Rules that repeat what is inherited are dropped (where there are no wildcards), so the tree of a user with few
//!   rules is small even if the file is large.
//!
//! How rules combine, as the incumbent does it:
//!
//! 1. Of two sections for the same path, the one with the repository's name is used if it applies to the user, else
//!    the general one. Its rights are the union of all its entries that match the user.
//! 2. From the root to the path, each level's rule replaces what was inherited. Above the root there are no rights.
//! 3. Where several rules match the same path (wildcards), the one later in the file wins.
//!
//! The incumbent breaks these rules in three cases, this implementation does not:
//!
//! * For a recursive check of `/` it looks at the root alone, and so lets the whole repository be copied, with
//!   unreadable paths.
//! * To match `*suffix` it reverses the name, and leaves it reversed for the wildcard rules that it tries next.
//! * With wildcards it may refuse a recursive check though a later rule for everything below grants it.
//!
//! What is absent: sockets, log lines, and whether anonymous access is allowed at all (`config`).

mod compile;
mod groups;
mod parse;
mod pattern;
mod rights;
mod rules;
mod source;

pub use rights::{Required, Rights, UserRights};
pub use rules::Authz;
pub use source::{FetchRevisioned, Source};
