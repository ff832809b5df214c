//! The time of day: the only place outside of authentication that reads the system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
