//! `svnadmin upgrade` and `svnadmin recover`: the operations that need exclusive access to a repository.

use std::ffi::OsString;

use base::Result;
use fsfs::admin::upgrade::UpgradeEvent;
use repos::admin;

use super::repository;
use crate::args::operand::at_most;
use crate::interrupt::Interrupt;
use crate::out::Out;

/// Brings a repository to the newest format. Revisions stay as they are.
#[derive(clap::Args)]
#[command(override_usage = "upgrade REPOS_PATH")]
pub struct UpgradeArgs {
    operands: Vec<OsString>,
}

/// Makes a repository usable after a crash: finds the youngest revision again and
/// takes away what points beyond it.
#[derive(clap::Args)]
#[command(override_usage = "recover REPOS_PATH")]
pub struct RecoverArgs {
    /// wait until nobody else uses the repository (as it always does)
    #[arg(long)]
    wait: bool,
    operands: Vec<OsString>,
}

impl UpgradeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        let mut lines: Vec<String> = Vec::new();
        let mut observer = |event: UpgradeEvent| {
            lines.push(match event {
                UpgradeEvent::PackedRevprops(shard) => format!("Packed revision properties in shard {shard}"),
                UpgradeEvent::Format(number) => format!("Bumped repository format to {number}"),
                UpgradeEvent::RemovedRevprops(shard) => {
                    format!("Removed non-packed revision properties in shard {shard}")
                }
            });
        };
        let mut begun = Ok(());
        let mut started = || begun = announce(out, "upgrading");
        let outcome = admin::upgrade(&repository::path(&self.operands), &mut started, &mut observer);
        begun?;
        for line in &lines {
            out.line(line)?;
        }
        outcome?;
        out.print("\nUpgrade completed.\n")
    }
}

impl RecoverArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        let interrupt = Interrupt::install()?;
        let mut begun = Ok(());
        let mut started = || begun = announce(out, "recovering");
        let path = repository::path(&self.operands);
        let outcome = admin::recover(&path, &mut started, &interrupt.cancel);
        begun?;
        match outcome {
            Ok(youngest) => {
                out.print("\nRecovery completed.\n")?;
                out.line(&format!("The latest repos revision is {youngest}."))
            }
            Err(error) => interrupt.finish(out, Err(error)),
        }
    }
}

fn announce(out: &mut Out, what: &str) -> Result<()> {
    out.line("Repository lock acquired.")?;
    out.line(&format!(
        "Please wait; {what} the repository may take some time..."
    ))?;
    out.flush()
}
