//! `svn lock`: locks files in a repository for their user.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};
use client::lock;

use super::options::TargetsOption;
use crate::client_context::log_message::charset::TextEncoding;
use crate::client_context::log_message::{MessageOptions, TextKind};
use crate::client_context::{AccessOptions, ClientContext, target, url_targets};
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
        out.set_output_optional();
        ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, comment.as_deref(), out)
        })
    }

    fn work(&self, context: &ClientContext, comment: Option<&[u8]>, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &self.targets)?;
        if !targets.is_empty() && comment.is_some_and(|text| text.contains(&0)) {
            return Err(Error::new(
                Code::CL_BAD_LOG_MESSAGE,
                "Lock comment contains a zero byte",
            ));
        }
        let urls = url_targets::urls(&targets, false)?;
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
        let encoding = TextEncoding::new(self.comment.encoding.as_deref(), out.charset());
        let text = encoding.read_text(text)?;
        String::from_utf8(text).map_err(|error| {
            let message = format!("Lock comment is not in UTF-8: {error}");
            Error::new(Code::XML_UNESCAPABLE_DATA, message)
        })
    }
}

/// # Errors
/// `ILLEGAL_TARGET` with `message` if a file failed.
pub fn finish(is_complete: bool, message: &str) -> Result<()> {
    match is_complete {
        true => Ok(()),
        false => Err(Error::new(Code::ILLEGAL_TARGET, message)),
    }
}
