//! The server's logs: files of lines, and what a line is made of.
//!
//! - [`OperationLog`]: one line for each operation of a client, in Subversion's form. [`operation_text`] words the operations.
//! - [`AccessLog`]: one line for each HTTP request, in the combined format.
//! - [`LogFile`]: the file behind each of them.
//!
//! This module knows no protocol, no configuration and no connection: callers give it finished values. Errors that have no
//! line of their own go to `tracing`.

mod access;
mod fault;
mod file;
mod operation;
pub(crate) mod operation_text;

pub(crate) use access::AccessLine;
pub use access::AccessLog;
pub(crate) use fault::is_fault;
pub use file::LogFile;
pub use operation::OperationLog;
pub(crate) use operation::{OneLine, Origin};
