//! The words that may be labels: a closed set, so that no client can create labels.

/// Returns the label for the first word of `text`, a line of the operational log or a method; "other" for every other word.
pub(crate) fn operation_word(text: &str) -> &'static str {
    let first = text.split(' ').next().unwrap_or_default();
    WORDS
        .iter()
        .chain(&METHODS)
        .find(|word| **word == first)
        .copied()
        .unwrap_or("other")
}

/// The first words of lines of the operational log.
const WORDS: [&str; 32] = [
    "checkout-or-export",
    "update",
    "switch",
    "status",
    "diff",
    "commit",
    "lock",
    "unlock",
    "log",
    "get-file",
    "get-dir",
    "get-locations",
    "get-location-segments",
    "get-file-revs",
    "get-mergeinfo",
    "get-inherited-props",
    "get-deleted-rev",
    "get-latest-rev",
    "get-dated-rev",
    "get-lock",
    "get-locks",
    "get-iprops",
    "change-rev-prop",
    "rev-prop",
    "rev-proplist",
    "replay",
    "replay-range",
    "list",
    "stat",
    "check-path",
    "reparent",
    "open",
];

/// The methods that HTTP, WebDAV and DeltaV define. Those that this server does not implement are answered with 405, all other
/// words with 501.
pub(crate) const METHODS: [&str; 36] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "MERGE",
    "CHECKOUT",
    "CHECKIN",
    "UNCHECKOUT",
    "MKACTIVITY",
    "MKWORKSPACE",
    "VERSION-CONTROL",
    "BASELINE-CONTROL",
    "UPDATE",
    "LABEL",
    "SEARCH",
    "BIND",
    "UNBIND",
    "REBIND",
    "ACL",
    "ORDERPATCH",
    "NOTIFY",
    "POLL",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "MKREDIRECTREF",
];
