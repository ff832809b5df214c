//! Integration tests of the server through its connections, in one binary.

#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod access;
mod announced_digests;
mod auth;
mod deadlines;
mod directory;
mod hostile;
mod inline_responses;
mod logs_and_metrics;
mod many_logins;
mod naming;
mod report_cache;
mod require;
mod response_cache;
mod settings;
mod site;
mod slapd;
mod slow;
mod tls;
