//! Changed-path lists as text, of revisions and of transactions. Source: sections 9 and 19 of the description of FSX.
//!
//! An entry is two lines: `<action>-<kind> <text-mod> <prop-mod> <mergeinfo-mod> <path>`, and the copy source `<rev> <path>`
//! or an empty line. The action is `modify`, `add`, `delete` or `replace`, the kind `file` or `dir`, the others are `true`
//! or `false`. Paths are escaped ([`path_text`]).
//!
//! The list of a revision has one entry for each path, sorted by the bytes of the path, and ends with an empty line. The
//! log of a transaction has no end and may have several entries for a path. A packed list is in a
//! [container](super::changes_container) instead.

use crate::format::changes::{ChangeKind, ChangedPath};
use base::{NodeKind, Revnum};

use super::cursor::{Cursor, DecodeError, Subject};
use super::noderev::rev_and_path;
use super::path_text;

const SUBJECT: Subject = Subject::file("Changed-path list");

/// Parses the list of a revision, which takes all of `text`.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<ChangedPath>, DecodeError> {
    let mut cursor = Cursor::new(text, SUBJECT);
    let mut list = Vec::new();
    loop {
        let start = cursor;
        let line = cursor.until(b'\n')?;
        if line.is_empty() {
            cursor.finish()?;
            return Ok(list);
        }
        list.push(entry(line, &start, &mut cursor)?);
    }
}

/// Parses the log of a transaction.
pub(crate) fn parse_log(text: &[u8]) -> Result<Vec<ChangedPath>, DecodeError> {
    let mut cursor = Cursor::new(text, SUBJECT);
    let mut list = Vec::new();
    while !cursor.is_empty() {
        let start = cursor;
        let line = cursor.until(b'\n')?;
        list.push(entry(line, &start, &mut cursor)?);
    }
    Ok(list)
}

/// Appends an entry.
pub(crate) fn encode_entry(change: &ChangedPath, out: &mut Vec<u8>) {
    let action = change.change.word();
    let kind = if change.node_kind == NodeKind::Dir {
        "dir"
    } else {
        "file"
    };
    let mergeinfo_mod = change.mergeinfo_mod.unwrap_or_default();
    let flags = format!("{} {} {mergeinfo_mod}", change.text_mod, change.prop_mod);
    out.extend_from_slice(format!("{action}-{kind} {flags} ").as_bytes());
    path_text::encode(&change.path, out);
    out.push(b'\n');
    if let Some((rev, path)) = &change.copyfrom {
        out.extend_from_slice(format!("{rev} ").as_bytes());
        path_text::encode(path, out);
    }
    out.push(b'\n');
}

/// The end of the list of a revision: an empty line.
pub(crate) const END: u8 = b'\n';

/// Appends the list of a revision.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn encode(list: &[ChangedPath], out: &mut Vec<u8>) {
    list.iter().for_each(|change| encode_entry(change, out));
    out.push(END);
}

/// The entry of `line`, which begins at `start`; reads its second line.
fn entry(line: &[u8], start: &Cursor<'_>, cursor: &mut Cursor<'_>) -> Result<ChangedPath, DecodeError> {
    let mut fields = line.splitn(5, |&byte| byte == b' ');
    let mut field = || fields.next().ok_or(start.fault("a field is missing"));
    let word = field()?;
    let dash = memchr::memchr(b'-', word).ok_or(start.fault("no node kind"))?;
    let change = match &word[..dash] {
        b"modify" => ChangeKind::Modify,
        b"add" => ChangeKind::Add,
        b"delete" => ChangeKind::Delete,
        b"replace" => ChangeKind::Replace,
        _ => return Err(start.fault("invalid kind of change")),
    };
    let node_kind = match &word[dash + 1..] {
        b"file" => NodeKind::File,
        b"dir" => NodeKind::Dir,
        _ => return Err(start.fault("invalid node kind")),
    };
    let mut flag = || match field()? {
        b"true" => Ok(true),
        b"false" => Ok(false),
        _ => Err(start.fault("invalid flag")),
    };
    let (text_mod, prop_mod, mergeinfo_mod) = (flag()?, flag()?, flag()?);
    let path = path_text::decode(field()?).ok_or(start.fault("invalid path"))?;
    let source = *cursor;
    let copyfrom = match cursor.until(b'\n')? {
        b"" => None,
        line => {
            let bad = source.fault("invalid copy source");
            let (rev, path) = rev_and_path(line).ok_or(bad)?;
            Some((Revnum::parse(rev).ok_or(bad)?, path))
        }
    };
    Ok(ChangedPath {
        path,
        change,
        node_kind,
        text_mod,
        prop_mod,
        mergeinfo_mod: Some(mergeinfo_mod),
        copyfrom,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "add-dir false false false /a b\n\nreplace-file true false false /c\n4 /d \x1bA\n\
        delete-dir false false false /e\n\nmodify-dir false true true /f\n\n\n";

    #[test]
    fn a_list_prints_as_it_was_read() {
        for text in [LIST, "\n"] {
            let list = parse(text.as_bytes()).expect("a list");
            let mut out = Vec::new();
            encode(&list, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
        let log = parse_log(&LIST.as_bytes()[..LIST.len() - 1]).expect("a log");
        assert_eq!(Ok(log), parse(LIST.as_bytes()));
        assert_eq!(parse_log(b""), Ok(Vec::new()));
    }

    #[test]
    fn malformed_lists_are_refused() {
        for at in 0..LIST.len() - 1 {
            assert!(
                parse(&LIST.as_bytes()[..at]).is_err() || LIST[..at].ends_with("\n\n\n"),
                "{at}"
            );
        }
        for (from, to) in [
            ("add-dir", "add"),
            ("add", "reset"),
            ("-file", "-link"),
            ("true", "1"),
            ("/a b", "a"),
            ("4 /d", "x /d"),
            ("4 /d", "/d"),
            ("\n\n\n", "\n\n\nx"),
        ] {
            assert!(
                parse(LIST.replacen(from, to, 1).as_bytes()).is_err(),
                "{from} {to}"
            );
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = LIST.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = (parse(&bytes), parse_log(&bytes));
        }
    }
}
