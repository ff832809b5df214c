//! Configuration files: what an administrator writes in `conf/`.
//!
//! All of them share one dialect ([`base::ini`]). The authz file reads it as a stream of events, the others keep its
//! values and read them once into a typed thing: [`ServerConf`] (`svnserve.conf`), [`Passwords`] (`passwd`),
//! [`HooksEnv`] (`hooks-env`). [`ConfigCache`] shares these between connections and notices when a file has changed.
//!
//! What is absent: defaults that depend on a repository (the realm), sockets, and any notion of a user.

mod cache;
mod hooks_env;
mod passwd;
mod read;
mod svnserve_conf;

pub use cache::{AuthzFiles, ConfigCache};
pub use hooks_env::{HooksEnv, Variable};
pub use passwd::Passwords;
pub use read::FileStamp;
pub(crate) use svnserve_conf::located;
pub use svnserve_conf::{Access, ServerConf, UsernameCase};

pub(crate) use read::{MAX_FILE, read_limited, shown};
