//! Subversion's configuration file syntax, of `svnserve.conf`, `passwd`, `authz`, `hooks-env` and `fsfs.conf`.
//!
//! * `[section]` and `#` comments start in the first column; what follows the `]` is ignored.
//! * `name = value` or `name: value`; a line that starts with white space continues the value, joined with one
//!   blank. White space around names and values is dropped. Blank lines end a value.
//! * `%(other)s` stands for another value of the same section, or of `[DEFAULT]`. A reference to a value that does not exist stays
//!   unchanged; a reference that leads back to itself makes the value empty.
//! * `[DEFAULT]` has the values of options that other sections lack, if these have options at all.
//! * The same section may be opened again, the last value of a name wins.
//! * A byte order mark is skipped, CR before LF dropped, a NUL byte ends a value. Values are bytes in any encoding.
//!
//! [`parse()`] reads text as a stream of events, for readers with rules of their own (authz); [`Ini`] keeps the values.
//! A file is read in full by the caller, who names it in the error.

mod parse;
mod values;

pub use parse::{IniVisitor, is_space, parse, trim};
pub use values::{Case, Ini};
