//! Sven's client programs beside Subversion's: the same commands, the same output, the same changes of repositories.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod blame;
mod cat;
mod diff;
mod export;
mod info;
mod list;
mod locking;
mod log;
mod log_messages;
mod props;
mod random_writes;
mod read_repo;
mod revprops;
mod svnmucc;
mod twins;
mod writing;
