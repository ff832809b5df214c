//! Path-based authorisation: who may read or write which path of which repository.
//!
//! An authz file is parsed once ([`Authz::parse`]) into rules whose paths share one prefix tree. Whoever comes gets
//! a compiled answer, [`UserRights`]: the tree of those rules that say something about this user in this
//! repository ([`Authz::rights`]), made once and shared. Three properties follow:
//!
//! * a question about a path costs one step per component, however large the file is;
//! * a question about a subtree ([`crate::access::Readable::subtree`]) costs the same: each node of the tree knows the
//!   latest rule below it that grants or denies;
//! * rules that repeat what holds anyway are dropped (where there are no wildcards), so that the tree of a user
//!   who appears in few rules is small even if the file is not.
//!
//! How rules combine, as the incumbent does it:
//!
//! 1. Of two sections for the same path, the one with the repository's name is taken if it says anything about the
//!    user, else the general one. The rights it grants are the union of all its entries that match the user.
//! 2. From the root to the path, each level's rule replaces what was inherited. Before the root there are no rights.
//! 3. Where several rules match the same path (wildcards), the one later in the file wins.
//!
//! Three times the incumbent does not follow these rules, and we do:
//!
//! * Asked recursively about `/` it looks at the root alone, and so lets the whole repository be copied with what may
//!   not be read.
//! * To match `*suffix` it turns the name round, and has it the wrong way round for the wildcard rules that it tries
//!   next.
//! * With wildcards it may refuse a recursive question though a later rule for everything below grants it.
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

/// Parses `text` and asks one question about each section's own path: the entry of the fuzz target.
#[doc(hidden)]
pub fn fuzz_authz(text: &[u8], groups: Option<&[u8]>, path: &base::FsPath) {
    use crate::access::{Readable, Subtree};
    let Ok(authz) = Authz::parse(text, groups) else {
        return;
    };
    for user in [None, Some("x"), Some("y")] {
        for repository in [None, Some("r")] {
            let rights = authz.rights(repository, user);
            let recursive = rights.allows(path, Required::Read, true);
            assert!(
                !recursive || rights.read(path),
                "recursive includes the path itself"
            );
            assert!(!recursive || rights.subtree(path) == Subtree::All);
            assert!(rights.rights(path) <= rights.max_rights() || rights.rights(path) == Rights::None);
        }
    }
}
