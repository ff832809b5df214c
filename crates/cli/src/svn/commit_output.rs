//! The frame of commands that commit: the log message and the output of the commit.

use base::{Result, Url};
use client::url_commit::{CommitEvent, UrlCommit};
use ra::{CommitInfo, Session};

use crate::client_context::ClientContext;
use crate::client_context::log_message::LogMessage;
use crate::out::Out;

/// Runs `work` with what commits to URLs need. Without `quiet`, the steps of the commit are printed.
pub fn commit_urls(
    context: &ClientContext,
    out: &mut Out,
    message: &mut LogMessage,
    quiet: bool,
    work: impl FnOnce(&mut UrlCommit<'_>) -> Result<()>,
) -> Result<()> {
    message.use_context(context)?;
    message.check()?;
    let open = |url: &Url| -> Result<Box<dyn Session>> { context.open_without_redirects(url) };
    let outcome = work(&mut UrlCommit {
        open: &open,
        describe: &mut |items| message.describe(items),
        notify: &mut |event| match event {
            _ if quiet => Ok(()),
            CommitEvent::Finalizing => {
                print_finalizing(out);
                Ok(())
            }
            CommitEvent::Committed(info) => print_committed(out, info),
        },
    });
    message.finish(outcome)
}

/// Prints that the commit is about to be made.
pub fn print_finalizing(out: &mut Out) {
    out.progress_line("Committing transaction...");
    // The commit does not depend on its output.
    _ = out.flush();
}

/// Prints the new revision.
///
/// # Errors
/// Those of [`Out::print`].
pub fn print_committed(out: &mut Out, info: &CommitInfo) -> Result<()> {
    out.line(&format!("Committed revision {}.", info.rev))?;
    match &info.post_commit_error {
        Some(error) => out.line(&format!("\nWarning: {error}")),
        None => Ok(()),
    }
}
