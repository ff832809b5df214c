//! `svn lock`: locks files in a repository for their user.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};
use client::lock;

use super::commit_output::{with_help_hint, with_targets_file};
use super::options::TargetsOption;
use crate::client_context::log_message::charset::TextEncoding;
use crate::client_context::log_message::{MessageOptions, TextKind};
use crate::client_context::target;
use crate::client_context::url_targets::{UniformTargets, not_a_working_copy, refuse_pegs, uniform};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Locks files in a repository, so that no other user can commit changes to them.
#[derive(clap::Args)]
#[command(override_usage = "lock TARGET...")]
pub struct LockArgs {
    #[command(flatten)]
    targets: TargetsOption,
    #[command(flatten)]
    comment: MessageOptions,
    /// steal the locks of other users
    #[arg(long)]
    force: bool,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl LockArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let comment = self.comment.read(TextKind::LockComment)?;
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, comment.as_deref(), out)
        });
        outcome.map_err(|error| with_help_hint(out, "lock", error))
    }

    fn work(&self, context: &ClientContext, comment: Option<&[u8]>, out: &mut Out) -> Result<()> {
        let urls = urls_to_lock(&self.operands, &self.targets)?;
        let comment = comment.map(|text| self.comment_text(text, out)).transpose()?;
        if let Some(comment) = &comment {
            lock::check_comment(comment)?;
        }
        let open = |url: &Url| context.open_without_redirects(url);
        let mut is_complete = true;
        lock::lock(
            &open,
            &urls,
            comment.as_deref(),
            self.force,
            &mut |url, result| {
                match result {
                    Ok(lock) if !self.quiet => {
                        out.line(&format!("'{url}' locked by user '{}'.", lock.owner))?;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        is_complete = false;
                        if !self.quiet {
                            out.print_warning(&error);
                        }
                    }
                }
                Ok(())
            },
        )?;
        finish(is_complete, "One or more locks could not be obtained")
    }

    fn comment_text(&self, text: &[u8], out: &Out) -> Result<String> {
        if text.contains(&0) {
            return Err(Error::new(
                Code::CL_BAD_LOG_MESSAGE,
                "Lock comment contains a zero byte",
            ));
        }
        let encoding = TextEncoding::new(self.comment.encoding.as_deref(), out.charset());
        let text = encoding.read_text(text)?;
        String::from_utf8(text).map_err(|error| {
            let message = format!("Lock comment is not in UTF-8: {error}");
            Error::new(Code::XML_UNESCAPABLE_DATA, message)
        })
    }
}

/// Returns the URLs of the operands and of the file with more targets.
///
/// # Errors
/// `CL_INSUFFICIENT_ARGS` without any; `ILLEGAL_TARGET`; `WC_NOT_WORKING_COPY` for a path.
pub fn urls_to_lock(operands: &[OsString], file: &TargetsOption) -> Result<Vec<Url>> {
    let operands = with_targets_file(operands, file.targets.as_ref())?;
    if operands.is_empty() {
        return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
    }
    let targets = target::parse_targets(&operands)?;
    let uniform = uniform(&targets).map_err(|error| error.wrap_bare(Code::CL_ARG_PARSING_ERROR))?;
    let urls = match uniform {
        UniformTargets::Paths(paths) => return Err(not_a_working_copy(&paths[0])),
        UniformTargets::Urls(urls) => urls,
    };
    refuse_pegs(&targets, &operands)?;
    Ok(urls)
}

/// # Errors
/// `ILLEGAL_TARGET` with `message` if a file failed.
pub fn finish(is_complete: bool, message: &str) -> Result<()> {
    match is_complete {
        true => Ok(()),
        false => Err(Error::new(Code::ILLEGAL_TARGET, message)),
    }
}
