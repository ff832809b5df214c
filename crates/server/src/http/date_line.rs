//! The `Date` of responses.

use std::cell::RefCell;

use base::Date;
use http::HeaderValue;
use wire::dav::http_date;

use crate::clock::now;

/// Returns the current date for header lines. Each thread formats it once in a second.
pub(super) fn current_date() -> HeaderValue {
    thread_local! {
        static NOW: RefCell<(i64, HeaderValue)> = const { RefCell::new((i64::MIN, HeaderValue::from_static(""))) };
    }
    let now = now() / 1_000_000;
    NOW.with_borrow_mut(|(second, date)| {
        if *second != now {
            let text = http_date::format(Date(now * 1_000_000));
            *date = HeaderValue::from_maybe_shared(bytes::Bytes::from(text))
                .unwrap_or(HeaderValue::from_static(""));
            *second = now;
        }
        date.clone()
    })
}
