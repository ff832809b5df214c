//! `svn propdel`: deletes a property of a revision.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::propset::{self, RevpropEdit};

use super::options::{ChangelistOption, RecursiveOption, RevisionOption, TargetsOption};
use super::propset::refuse_urls;
use super::revprops;
use crate::client_context::target::{self, not_a_working_copy};
use crate::client_context::url_targets::without_pegs;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Deletes a property of a revision.
///
/// The value is lost. The repository must have a hook that allows the change.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["pdel", "pd"],
    override_usage = "propdel PROPNAME --revprop -r REV URL"
)]
pub struct PropdelArgs {
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    depth: RecursiveOption,
    #[command(flatten)]
    revision: RevisionOption,
    /// work on a property of a revision
    #[arg(long)]
    revprop: bool,
    #[command(flatten)]
    changelist: ChangelistOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl PropdelArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        ClientContext::run(self.access.clone(), out, |context, out| self.work(context, out))
    }

    fn work(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let Some((first, operands)) = self.operands.split_first() else {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        };
        let name = &*out.charset().read_word(first)?;
        let targets = target::read_targets(context, out, operands, &TargetsOption::default())?;
        let targets = without_pegs(&targets)?;
        if !self.revprop {
            if self.revision.range().is_some() {
                let message = format!("Cannot specify revision for deleting versioned property '{name}'");
                return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
            }
            return Err(match targets.is_empty() {
                true => not_a_working_copy(""),
                false => refuse_urls(&targets),
            });
        }
        let (mut session, rev) = revprops::open(context, &targets, &self.revision)?;
        let edit = RevpropEdit {
            name,
            value: None,
            expected: None,
            force: false,
        };
        out.set_output_optional();
        propset::set_revprop(&mut *session, rev, &edit)?;
        match self.quiet {
            true => Ok(()),
            false => out.line(&format!(
                "property '{name}' deleted from repository revision {rev}"
            )),
        }
    }
}
