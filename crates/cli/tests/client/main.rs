//! Sven's client programs beside Subversion's: the same commands, the same output, the same changes of repositories.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod cat;
mod mirrors;
mod svnrdump;
mod svnsync;
mod twins;
