//! `svnadmin rmtxns`: removes transactions.

use std::ffi::OsString;

use base::Result;

use super::repository;
use crate::args::operand::text;
use crate::out::Out;

/// Removes the transactions of these names.
#[derive(clap::Args)]
#[command(override_usage = "rmtxns REPOS_PATH TXN_NAME...")]
pub struct RmTxnsArgs {
    /// say nothing but what goes wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    operands: Vec<OsString>,
}

impl RmTxnsArgs {
    /// Runs the subcommand. A transaction that cannot be removed is reported and does not make the program fail.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = repository::open(out, &self.operands[..1])?;
        for name in &self.operands[1..] {
            let removed = text(name).and_then(|name| repository.fs().purge_txn(&name).map(|()| name));
            match removed {
                Err(error) => out.print_error(&error),
                Ok(_) if self.quiet => {}
                Ok(name) => out.line(&format!("Transaction '{name}' removed."))?,
            }
        }
        Ok(())
    }
}
