//! Commits in the protocol's own words: what is wrong in the middle of a pipelined edit, and many at once.
