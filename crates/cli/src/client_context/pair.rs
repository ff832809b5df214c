//! Contexts of programs that work with two repositories, and sessions that a signal does not end at once.

use base::{Result, Url};
use ra::{OpenOptions, Session};

use super::{AccessOptions, AccessSettings, ClientContext};
use crate::interrupt::Interrupt;
use crate::out::Out;

impl ClientContext {
    /// As [`ClientContext::run`], with a context for each of two accounts: the second set of options differs from the first only in the
    /// account and in what it trusts. A signal cancels both. `cache_bytes` is the budget of the cache of repositories on disk.
    ///
    /// # Errors
    /// As of [`ClientContext::run`].
    pub fn run_pair(
        options: [AccessOptions; 2],
        cache_bytes: Option<u64>,
        out: &mut Out,
        work: impl FnOnce([&ClientContext; 2], &mut Out) -> Result<()>,
    ) -> Result<()> {
        let interrupt = Interrupt::install()?;
        let [first, second] = options;
        let settings = AccessSettings::of_options(&first, out).and_then(|settings| {
            second.check()?;
            Ok(settings)
        });
        let first = settings.and_then(|settings| ClientContext::new(settings, out, &interrupt.cancel));
        let outcome = first.and_then(|mut first| {
            if let Some(bytes) = cache_bytes {
                first.open.cache_bytes = bytes;
            }
            let trusted = second.trusted_failures()?;
            let second = first.with_account(second.username, second.password, trusted)?;
            work([&first, &second], out)
        });
        interrupt.finish(out, outcome)
    }

    /// Opens a session for what must be completed: once it is open, a signal ends its waits only some seconds later.
    ///
    /// # Errors
    /// Those of [`ra::open`]; `BAD_CONFIG_VALUE`.
    pub fn open_uninterrupted(&self, url: &Url) -> Result<Box<dyn Session>> {
        let cancel = self.open.cancel.patient();
        if cancel.is_cancelled() {
            // What must be completed has begun in another session, which was lost.
            cancel.begin_patience();
        }
        let options = OpenOptions {
            cancel: cancel.clone(),
            ..self.open.clone()
        };
        let session = self.open_with(url, &options)?;
        cancel.begin_patience();
        Ok(session)
    }
}
