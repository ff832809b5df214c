//! Sven's client programs beside Subversion's: the same commands, the same output, the same changes of repositories.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod blame;
mod cat;
mod diff;
mod export;
mod import;
mod info;
mod list;
mod log;
mod props;
mod read_repo;
mod svnbench;
mod twins;
