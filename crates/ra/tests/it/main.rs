//! Integration tests of sessions, in one binary.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod access;
mod fake_http;
mod fetches;
mod hostile;
mod hostile_http;
mod http_login;
mod same_answers;
mod same_edits;
