//! Hooks, locks and what comes after a commit.
