//! Differences against the real tool's.

mod oracle;
mod text;
