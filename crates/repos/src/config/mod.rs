//! Configuration files in `conf/`.
//!
//! All of them share one syntax ([`base::ini`]). The authz file is read as a stream of events, the others are read
//! once into a typed value: [`ServerConf`] (`svnserve.conf`), [`Passwords`] (`passwd`), [`HooksEnv`] (`hooks-env`).
//! [`SaslSettings`] and [`SaslDb`] are files of Cyrus SASL, elsewhere.
//! [`ConfigCache`] shares these between connections and reads a file again when it has changed.
//!
//! What is absent: defaults that depend on a repository (the realm), sockets, and users.

mod cache;
mod hooks_env;
mod passwd;
mod sasl;
mod sasldb;
mod svnserve_conf;

pub use cache::{AuthzFiles, ConfigCache};
pub use hooks_env::{HooksEnv, Variable};
pub use passwd::Passwords;
pub use sasl::{PasswordCheck, SaslSettings, UserStore};
pub use sasldb::SaslDb;
pub use svnserve_conf::{Access, SaslBounds, ServerConf, UsernameCase};

pub use crate::config_file::FileStamp;
