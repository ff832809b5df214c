//! Property lists, their differences, and the names with a meaning.

use std::collections::BTreeMap;

/// A property list: name to value, sorted by name. Values are bytes; names are UTF-8.
pub type Props = BTreeMap<String, Vec<u8>>;

/// One difference between two property lists; `None` deletes.
pub type PropChange = (String, Option<Vec<u8>>);

/// Returns what turns `from` into `to`, sorted by name.
pub fn diff(from: &Props, to: &Props) -> Vec<PropChange> {
    let mut changes: Vec<PropChange> = to
        .iter()
        .filter(|(name, value)| from.get(*name) != Some(value))
        .map(|(name, value)| (name.clone(), Some(value.clone())))
        .collect();
    changes.extend(
        from.keys()
            .filter(|name| !to.contains_key(*name))
            .map(|name| (name.clone(), None)),
    );
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    changes
}

/// Revision property: author.
pub const AUTHOR: &str = "svn:author";
/// Revision property: date.
pub const DATE: &str = "svn:date";
/// Revision property: log message.
pub const LOG: &str = "svn:log";
/// Node property: which changes were merged.
pub const MERGEINFO: &str = "svn:mergeinfo";
/// Node property: MIME type.
pub const MIME_TYPE: &str = "svn:mime-type";
/// Entry property: revision of the last change.
pub const ENTRY_COMMITTED_REV: &str = "svn:entry:committed-rev";
/// Entry property: date of the last change.
pub const ENTRY_COMMITTED_DATE: &str = "svn:entry:committed-date";
/// Entry property: author of the last change.
pub const ENTRY_LAST_AUTHOR: &str = "svn:entry:last-author";
/// Entry property: repository UUID.
pub const ENTRY_UUID: &str = "svn:entry:uuid";
/// Entry property: token of the user lock; its deletion tells a client that its lock is gone.
pub const ENTRY_LOCK_TOKEN: &str = "svn:entry:lock-token";

/// True for properties that a repository stores: not `svn:entry:` and not `svn:wc:`.
pub fn is_regular(name: &str) -> bool {
    !name.starts_with("svn:entry:") && !name.starts_with("svn:wc:")
}

/// True for a MIME type that Subversion treats as binary: anything but `text/*` and the two X bitmap types.
pub fn mime_type_is_binary(mime_type: &[u8]) -> bool {
    let end = mime_type
        .iter()
        .position(|b| b" ;\t".contains(b))
        .unwrap_or(mime_type.len());
    let bare = &mime_type[..end];
    !(bare.starts_with(b"text/") || bare == b"image/x-xbitmap" || bare == b"image/x-xpixmap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_sorted_and_complete() {
        let from = Props::from([("a".into(), b"1".to_vec()), ("b".into(), b"2".to_vec())]);
        let to = Props::from([("b".into(), b"3".to_vec()), ("c".into(), b"4".to_vec())]);
        let expect = vec![
            ("a".to_owned(), None),
            ("b".to_owned(), Some(b"3".to_vec())),
            ("c".to_owned(), Some(b"4".to_vec())),
        ];
        assert_eq!(diff(&from, &to), expect);
        assert!(diff(&to, &to).is_empty());
    }

    #[test]
    fn binary_types() {
        assert!(mime_type_is_binary(b"application/octet-stream"));
        assert!(!mime_type_is_binary(b"text/plain; charset=x"));
        assert!(!mime_type_is_binary(b"image/x-xbitmap"));
    }
}
