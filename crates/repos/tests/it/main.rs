//! Everything that is tested through the crate's front door.

mod authz;
mod dump;
mod golden;
mod histories;
mod peer;
mod probe;
mod queries;
mod recording;
mod replay;
mod report;
