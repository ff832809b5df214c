//! The server side of the svn:// protocol.
//!
//! A [`Session`] greets its client, finds the repository (`login`), authenticates the user (`auth`, or `sasl`), and then carries out
//! commands one by one (`commands`). The commands are grouped by subject: nodes, history, revision properties, locks, reports of
//! working copies, replay, commits. A session runs on a thread of the pool ([`SessionScheduler`]); between two commands it is
//! parked without a thread ([`ParkedSessions`]).
//!
//! This module knows no HTTP. The syntax of messages is in `wire::svn`.

mod auth;
mod commands;
mod commit;
mod connection;
mod history;
mod locks;
mod login;
mod node;
mod parking;
mod replay;
mod repo_access;
mod repo_session;
mod report;
mod revprops;
mod sasl;
mod saslauthd;
mod scheduler;
mod session;
mod url;

pub(crate) use parking::ParkedSessions;
pub(crate) use scheduler::SessionScheduler;
pub(crate) use session::{Session, SessionStatus};
