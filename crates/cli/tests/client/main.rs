//! Sven's client programs beside Subversion's: the same commands, the same output, the same changes of repositories.

#![expect(clippy::print_stdout, reason = "a generator prints its seeds")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod agent;
mod any_server;
mod arguments;
mod authorities;
mod blame;
mod cat;
mod certificates;
mod client_certificates;
mod context;
mod diff;
mod export;
mod gateways;
mod https;
mod import;
mod info;
mod interrupts;
mod keyring;
mod known;
mod list;
mod local_paths;
mod locales;
mod locking;
mod log;
mod log_messages;
mod lost_output;
mod malformed;
mod memory;
mod mergeinfo;
mod mirrors;
mod missing_revisions;
mod operands;
mod option_checks;
mod props;
mod random_runs;
mod random_writes;
mod read_repo;
mod reading;
mod requests;
mod revprops;
mod rights;
mod robustness;
mod settings;
mod slow;
mod svnbench;
mod svnmucc;
mod svnrdump;
mod svnsync;
mod targets;
mod terminal;
mod tunnels;
mod twins;
mod user_names;
mod writing;
