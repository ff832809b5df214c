//! `svnsync info`: describes a mirror.

use std::ffi::OsString;

use base::Result;
use client::sync;

use super::context::with_sessions;
use super::options::{self, SyncAccessOptions};
use crate::out::Out;

/// Prints the source of the mirror at DEST_URL, and how far it is.
#[derive(clap::Args)]
#[command(override_usage = "info DEST_URL")]
pub struct InfoArgs {
    #[command(flatten)]
    access: SyncAccessOptions,
    operands: Vec<OsString>,
}

impl InfoArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let targets = options::targets(&self.operands)?;
        let urls = options::urls(&targets, 1, 1).map_err(|error| super::misuse(out, error))?;
        with_sessions(self.access, None, out, |connect, _, out| {
            let info = sync::info(&urls[0], connect)?;
            out.line(&format!("Source URL: {}", info.source_url))?;
            if let Some(uuid) = info.source_uuid {
                out.line(&format!("Source Repository UUID: {uuid}"))?;
            }
            match info.last_merged {
                Some(rev) => out.line(&format!("Last Merged Revision: {rev}")),
                None => Ok(()),
            }
        })
    }
}
