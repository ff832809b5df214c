//! Everything that is tested through the crate's front door.

mod ahead;
mod authz;
mod commit;
mod create;
mod directories;
mod dump;
mod golden;
mod load;
mod peer;
mod queries;
mod recording;
mod replay;
mod report;
mod transaction;
