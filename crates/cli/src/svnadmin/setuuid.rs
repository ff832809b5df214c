//! `svnadmin setuuid`: changes the UUID of a repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use repos::load::is_uuid;

use super::repository;
use crate::args::operand::{at_most, text};
use crate::out::Out;

/// Sets the UUID of a repository: to the one that is given, or to a new one.
#[derive(clap::Args)]
#[command(override_usage = "setuuid REPOS_PATH [NEW_UUID]")]
pub struct SetUuidArgs {
    operands: Vec<OsString>,
}

impl SetUuidArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 2, out.program(), "Too many arguments")?;
        let uuid = self.operands.get(1).map(|typed| text(typed)).transpose()?;
        if let Some(uuid) = &uuid
            && !is_uuid(uuid)
        {
            return Err(Error::new(Code::BAD_UUID, format!("Malformed UUID '{uuid}'")));
        }
        let repository = repository::open(out, &self.operands[..1])?;
        repository.fs().set_uuid(uuid.as_deref())
    }
}
