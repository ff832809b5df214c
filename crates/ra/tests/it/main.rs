//! Integration tests of sessions, in one binary.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod access;
mod hostile;
mod same_answers;
