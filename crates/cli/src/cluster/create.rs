//! `sven cluster create`: an empty repository in a cluster.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Date, Result};
use cluster::transfer::{self, OwnChanges};
use fsfs::Fs;
use repos::{Cache, CreateOptions};

use super::{ConfigOption, operands};
use crate::out::Out;

/// Creates an empty repository in the cluster.
#[derive(clap::Args)]
#[command(override_usage = "create [--config FILE] NAME")]
pub(super) struct CreateArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// its UUID; a random one by default
    #[arg(long, value_name = "UUID")]
    uuid: Option<String>,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl CreateArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name] = operands::<1>(&self.operands, out)?;
        let cluster = self.config.connect()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Date(i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        // The configuration and the example hooks are those of a repository of files.
        let folder =
            tempfile::tempdir().map_err(|e| base::Error::os(&e, "Can't create a temporary directory"))?;
        let path = folder.path().join("repository");
        repos::create(&path, &CreateOptions::default(), now)?;
        if let Some(uuid) = &self.uuid {
            Fs::open(&path.join("db"), &Cache::new(1 << 20))?.set_uuid(Some(uuid))?;
        }
        transfer::import(
            &cluster,
            &path,
            &name,
            OwnChanges::Refuse,
            &mut |_| {},
            &base::Cancel::new(),
        )?;
        out.line(&format!("Created '{name}'."))
    }
}
