//! Authz files, compared with a naive evaluation of the rules and with the real `svnauthz`.

mod against_naive;
mod against_svnauthz;
mod faults;
mod files;
mod naive;
