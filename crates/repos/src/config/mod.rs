//! Configuration files: what an administrator writes in `conf/`.
//!
//! All of them share one dialect ([`ini`]); the authz file reads it as a stream of events, the others keep its
//! values ([`Values`]) and read them once into a typed thing: [`ServerConf`] (`svnserve.conf`), [`Passwords`]
//! (`passwd`), [`HooksEnv`] (`hooks-env`). [`ConfigCache`] shares these between connections and notices when a
//! file has changed.
//!
//! The dialect, as the incumbent reads it:
//!
//! * `[section]` and `#` comments start in the first column; what follows the `]` is ignored.
//! * `name = value` or `name: value`; a line that starts with white space continues the value, joined with one
//!   blank. White space around names and values is dropped. Blank lines end a value.
//! * `%(other)s` stands for another value of the same section, or of `[DEFAULT]`. A reference to nothing stays as
//!   it is; a reference that leads back to itself makes the value empty.
//! * The same section may be opened again, the last value of a name wins.
//! * A byte order mark is skipped, CR before LF dropped, a NUL byte ends a value. Nothing else is said about
//!   the encoding: values are bytes.
//!
//! What is absent: defaults that depend on a repository (the realm), sockets, and any notion of a user.

mod cache;
mod hooks_env;
mod ini;
mod passwd;
mod read;
mod svnserve_conf;
mod values;

pub use cache::{AuthzFiles, ConfigCache};
pub use hooks_env::{HooksEnv, Variable};
pub use passwd::Passwords;
pub(crate) use svnserve_conf::located;
pub use svnserve_conf::{Access, ServerConf, UsernameCase};
pub use values::{Case, Values};

pub(crate) use ini::{Listener, is_space, parse, trim};
pub(crate) use read::{MAX_FILE, read_limited, shown};

/// Parses `text` as the dialect and throws the events away: the entry of the fuzz target.
#[doc(hidden)]
pub fn fuzz_ini(text: &[u8]) {
    for case in [Case::Sensitive, Case::Ignored] {
        if let Ok(values) = Values::parse(text, case) {
            for section in values.sections() {
                for (_, value) in values.options(section) {
                    drop(value);
                }
            }
        }
    }
}
