//! The words that may be labels: a closed set, so that no client can create labels.

/// Returns the label for the first word of `text`: a line of the operational log, a command's name on the wire or a method.
/// Commands that differ in their arguments only have one label. The label of every other word is "other".
pub(crate) fn operation_word(text: &str) -> &'static str {
    let first = match text.split(' ').next().unwrap_or_default() {
        "lock-many" => "lock",
        "unlock-many" => "unlock",
        "change-rev-prop2" => "change-rev-prop",
        first => first,
    };
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

#[cfg(test)]
mod tests {
    use super::operation_word;

    #[test]
    fn commands_for_one_and_for_many_paths_have_one_label() {
        for (command, label) in [
            ("lock", "lock"),
            ("lock-many", "lock"),
            ("unlock-many", "unlock"),
            ("change-rev-prop2", "change-rev-prop"),
            ("lock-most", "other"),
        ] {
            assert_eq!(operation_word(command), label, "{command}");
        }
    }
}
