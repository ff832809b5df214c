//! The HTTP room from outside: sockets, bytes, and what comes back.

mod access;
mod again;
mod auth;
mod busy;
mod deadlines;
mod directory;
mod hostile;
mod kept;
mod naming;
mod prompt;
mod require;
mod settings;
mod site;
mod slapd;
mod slow;
mod tls;
mod told;
mod watching;
