//! The signal mask with which child processes begin.
//!
//! A child process begins with the mask of the thread that starts it, and passes it on to its own. The client programs block the
//! signals that end a process in all threads but one, so without this, a hook or a tunnel could not be stopped by them.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Starts a child process: while `start` runs, the signals that end a process are not blocked in this thread.
pub fn with_open_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut open = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM] {
        open.add(signal);
    }
    // A failure leaves the mask as it is.
    let before = open.thread_swap_mask(SigmaskHow::SIG_UNBLOCK);
    let started = start();
    if let Ok(before) = before {
        _ = before.thread_set_mask();
    }
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_open_while_a_child_is_started_and_blocked_again_afterwards() {
        let mut blocked = SigSet::empty();
        blocked.add(Signal::SIGTERM);
        blocked.thread_block().expect("a mask of this thread");
        let is_blocked = || {
            SigSet::thread_get_mask()
                .expect("the mask")
                .contains(Signal::SIGTERM)
        };
        assert!(is_blocked());
        assert!(!with_open_signals(is_blocked));
        assert!(is_blocked());
    }
}
