//! What the library needs of this process: sessions, an owner of locks, and a printer of events.

use base::{Result, Url};
use client::sync::{Connect, Decode, LockOptions, PropEncoding, SyncContext, SyncEvent};
use ra::Session;

use super::options::{ChangeOptions, SyncAccessOptions};
use crate::client_context::ClientContext;
use crate::client_context::log_message::charset::TextEncoding;
use crate::out::Out;
use crate::process_owner;

/// The contexts of the source and of the mirror.
pub struct PairConnect<'a> {
    source: &'a ClientContext,
    mirror: &'a ClientContext,
}

impl Connect for PairConnect<'_> {
    fn source(&self, url: &Url) -> Result<Box<dyn Session>> {
        self.source.open_without_redirects(url)
    }

    fn mirror(&self, url: &Url) -> Result<Box<dyn Session>> {
        self.mirror.open_without_redirects(url)
    }

    fn bookkeeping(&self, url: &Url) -> Result<Box<dyn Session>> {
        self.mirror.open_uninterrupted(url)
    }
}

/// Runs `work` with sessions for both repositories.
///
/// # Errors
/// Those of the options and of `work`.
pub fn with_sessions(
    access: SyncAccessOptions,
    cache_bytes: Option<u64>,
    out: &mut Out,
    work: impl FnOnce(&PairConnect<'_>, &ClientContext, &mut Out) -> Result<()>,
) -> Result<()> {
    ClientContext::run_pair(access.split(), cache_bytes, out, |[source, mirror], out| {
        work(&PairConnect { source, mirror }, mirror, out)
    })
}

/// Runs an operation that changes a mirror; `work` gets its context and the printer.
///
/// # Errors
/// Those of the options and of `work`.
pub fn change(
    access: SyncAccessOptions,
    options: &ChangeOptions,
    out: &mut Out,
    work: impl FnOnce(&SyncContext<'_>, &mut dyn FnMut(SyncEvent<'_>) -> Result<()>) -> Result<()>,
) -> Result<()> {
    with_sessions(access, options.cache_bytes(), out, |connect, context, out| {
        let lock = LockOptions {
            owner: process_owner::owner(),
            is_dead: &process_owner::is_dead,
            steal: options.steal_lock,
        };
        let named = options.source_prop_encoding.as_deref();
        // As with Subversion's program, an empty name is none.
        let named = named.filter(|name| !name.is_empty());
        let encoding = named.map(|name| TextEncoding::new(Some(name), out.charset()));
        let decode = encoding
            .as_ref()
            .map(|encoding| move |value: &[u8]| encoding.decode(value));
        let sync = SyncContext {
            connect,
            lock: Some(lock).filter(|_| !options.disable_locking),
            encoding: PropEncoding(decode.as_ref().map(|decode| decode as Decode<'_>)),
            cancel: context.cancel().clone(),
        };
        work(&sync, &mut |event| print(event, options.quiet, out))
    })
}

/// Prints an event. With `quiet`, only what concerns locks and changed values.
fn print(event: SyncEvent<'_>, quiet: bool, out: &mut Out) -> Result<()> {
    match event {
        SyncEvent::LockHeld(owner) => out.line(&format!(
            "Failed to get lock on destination repos, currently held by '{owner}'"
        )),
        SyncEvent::LockStolen(owner) => out.line(&format!("Stole lock previously held by '{owner}'")),
        SyncEvent::Normalized { rev_props, node_props } => out.line(&format!(
            "NOTE: Normalized svn:* properties to LF line endings ({rev_props} rev-props, {node_props} node-props)."
        )),
        _ if quiet => Ok(()),
        SyncEvent::Text { is_first: true } => out.print("Transmitting file data ."),
        SyncEvent::Text { is_first: false } => out.print("."),
        SyncEvent::TextsEnd => out.print("\n"),
        SyncEvent::MergeinfoRepaired => out.line("NOTE: Adjusted Subversion mergeinfo in this revision."),
        SyncEvent::Committed(rev) => out.line(&format!("Committed revision {rev}.")),
        SyncEvent::PropsCopied { rev, has_sync_props } => out.line(&match has_sync_props {
            true => format!("Copied properties for revision {rev} (svn:sync-* properties skipped)."),
            false => format!("Copied properties for revision {rev}."),
        }),
    }?;
    out.flush()
}
