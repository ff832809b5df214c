//! `svnauthz validate`: checks the syntax of an authz file.

use std::ffi::OsString;
use std::process::ExitCode;

use base::Result;

use super::target;
use crate::args::operand;
use crate::out::Out;

/// Checks the syntax of an authz file.
///
/// TARGET is a file on disk, or a file:// URL of a file in the youngest revision of a repository. With
/// '--transaction' it is the file FILE_PATH as transaction ARG of the repository at REPOS_PATH leaves it.
///
/// Exit code: 0 if the syntax is good, 1 if it is not, 2 if the file could not be judged.
#[derive(clap::Args)]
#[command(override_usage = "1. validate TARGET\n2. validate --transaction TXN REPOS_PATH FILE_PATH")]
pub struct ValidateArgs {
    /// take the file from transaction ARG
    #[arg(short = 't', long)]
    transaction: Option<OsString>,
    operands: Vec<OsString>,
}

impl ValidateArgs {
    /// Returns the subcommand without options.
    pub fn of(operands: Vec<OsString>) -> Self {
        ValidateArgs {
            transaction: None,
            operands,
        }
    }

    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<ExitCode> {
        let transaction = self.transaction.as_deref().map(operand::text).transpose()?;
        let transaction = transaction.as_deref();
        target::read(out, transaction, &self.operands, None)?;
        Ok(ExitCode::SUCCESS)
    }
}
