//! Authz files: against a naive reading of the rules, and against the real `svnauthz`.

mod against_naive;
mod against_svnauthz;
mod faults;
mod files;
mod naive;
