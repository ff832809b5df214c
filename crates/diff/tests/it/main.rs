//! Differences of texts, compared with those of the real tool.

mod oracle;
mod text;
