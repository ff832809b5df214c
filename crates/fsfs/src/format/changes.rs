//! Changed-path lists as they are stored, of revisions and of transactions.
//!
//! An entry is two lines: `<id> <action>[-<kind>] <text-mod> <prop-mod> [<mergeinfo-mod>] <path>`, and the copy
//! source.
//!
//! | field | encoding | since format |
//! |---|---|---|
//! | `<id>` | node-revision ID as it was in the transaction; never used to find the node, which is found by its path | 1 |
//! | `<action>` | `modify`, `add`, `delete`, `replace`; in old logs `reset` | 1 |
//! | `<kind>` | `file` or `dir` | 4 |
//! | `<text-mod>` | `true` or `false`: the text changed | 1 |
//! | `<prop-mod>` | `true` or `false`: the properties changed | 1 |
//! | `<mergeinfo-mod>` | `true` or `false`: `svn:mergeinfo` changed | 7 |
//! | `<path>` | from the root, with a leading `/`; to the end of the line | 1 |
//! | copy source | `<rev> <path>`, or an empty line | 1 |
//!
//! The list of a revision ends with an empty line. The log of a transaction has no end and may have several entries
//! for a path.

use std::cell::RefCell;

use base::{FsPath, NodeKind, Revnum};

use super::change_list::{Change, ChangeList, ChangeListBuilder};
use super::decode_error;
use super::fold::normalize;
use super::id::{NodeRevId, skip_id};
use base::number::{BadRev, parse_rev};

decode_error! {
    /// Why a changed-path list is not usable.
    ChangesError {
        Line => FS_CORRUPT, "Invalid changes line in rev-file";
        Id => FS_MALFORMED_NODEREV_ID, "Malformed node revision ID string in changes line";
        Action => FS_CORRUPT, "Invalid change kind in rev file";
        Kind => FS_CORRUPT, "Invalid node kind in rev-file";
        TextFlag => FS_CORRUPT, "Invalid text-mod flag in rev-file";
        PropFlag => FS_CORRUPT, "Invalid prop-mod flag in rev-file";
        MergeinfoFlag => FS_CORRUPT, "Invalid mergeinfo-mod flag in rev-file";
        Path => FS_CORRUPT, "Invalid path in changes line";
        PathBytes => FS_PATH_SYNTAX, "The path in a changes line is not UTF-8";
        UnknownPath => FS_NOT_FOUND, "A path that is not UTF-8 is neither a file nor a directory";
        CopyFrom => FS_CORRUPT, "Invalid copy source in changes line";
        CopyRevision => REVNUM_PARSE_FAILURE, "Invalid revision number of a copy in changes line";
        End => FS_CORRUPT, "Changed-path list ends early";
    }
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The text or the properties changed.
    Modify,
    /// The path was added, perhaps as a copy.
    Add,
    /// The path was deleted.
    Delete,
    /// The path was deleted and added again.
    Replace,
}

impl ChangeKind {
    pub(in crate::format) fn word(self) -> &'static str {
        match self {
            ChangeKind::Modify => "modify",
            ChangeKind::Add => "add",
            ChangeKind::Delete => "delete",
            ChangeKind::Replace => "replace",
        }
    }
}

/// One entry of a revision's changed-path list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path.
    pub path: FsPath,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The kind of the node; `Unknown` in revisions that were written in a format below 4.
    pub node_kind: NodeKind,
    /// True if the text changed.
    pub text_mod: bool,
    /// True if the properties changed.
    pub prop_mod: bool,
    /// True if `svn:mergeinfo` changed; `None` if it is not recorded (formats below 7).
    pub mergeinfo_mod: Option<bool>,
    /// The copy source.
    pub copyfrom: Option<(Revnum, FsPath)>,
}

/// One entry as it is stored, with its ID. For the historical action `reset`, `info.change` has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawChange {
    pub(crate) id: NodeRevId,
    pub(crate) is_reset: bool,
    pub(crate) info: ChangedPath,
}

impl RawChange {
    /// An entry of FSX, where lists have no IDs.
    pub(crate) fn without_id(info: ChangedPath) -> Self {
        RawChange {
            id: NodeRevId::of_item(Revnum::ZERO, 0),
            is_reset: false,
            info,
        }
    }

    /// False for an entry of FSX.
    pub(crate) fn has_id(&self) -> bool {
        !self.id.is_item()
    }
}

/// Parses a list up to its empty line or, for the log of a transaction, to the end of the text.
pub(crate) fn parse(text: &[u8], ends_with_input: bool) -> Result<Vec<RawChange>, ChangesError> {
    parse_first(text, ends_with_input).map(|(list, _)| list)
}

/// As [`parse`], and returns the length of the list with its empty line, bytes.
pub(crate) fn parse_first(
    text: &[u8],
    ends_with_input: bool,
) -> Result<(Vec<RawChange>, usize), ChangesError> {
    // An entry takes at least 30 bytes, and much more in deep directories: this bounds the first allocation.
    let mut list = Vec::with_capacity((text.len() / 64).min(1 << 16));
    let rest = parse_each(text, ends_with_input, parse_line, |(id, is_reset), change| {
        list.push(RawChange {
            id,
            is_reset,
            info: change.to_owned(),
        });
    })?;
    Ok((list, text.len() - rest.len()))
}

/// As [`parse`] and then [`normalize`], but without the intermediate list if the stored one is in normal form
/// already.
pub(crate) fn parse_normal(text: &[u8]) -> Result<ChangeList, ChangesError> {
    thread_local! {
        static BUFFER: RefCell<String> = const { RefCell::new(String::new()) };
    }
    let mut list = ChangeListBuilder::new(BUFFER.take());
    let mut last = None;
    let mut is_normal = true;
    let line = |line| match parse_common_line(line) {
        Some(change) => Ok((false, change)),
        None => parse_line(line).map(|((_, is_reset), change)| (is_reset, change)),
    };
    parse_each(text, false, line, |is_reset, change| {
        is_normal &= last < Some(change.path) && !is_reset;
        last = Some(change.path);
        list.push(&change);
    })?;
    let (list, buffer) = list.finish_with_buffer();
    if buffer.capacity() <= MAX_IDLE_BUFFER {
        BUFFER.set(buffer);
    }
    match is_normal {
        true => Ok(list),
        false => Ok(normalize(parse(text, false)?).iter().collect()),
    }
}

/// The longest list of changed paths, bytes. A longer one is never written, and treated as damage when it is read.
pub(crate) const MAX_LENGTH: usize = 1 << 30;

/// The largest buffer that a thread keeps between lists, bytes.
const MAX_IDLE_BUFFER: usize = 64 << 10;

/// Calls `each` for every entry, and returns what follows the list. `line` parses the first line of an entry.
fn parse_each<'a, T>(
    text: &'a [u8],
    ends_with_input: bool,
    line: impl Fn(&'a [u8]) -> Result<(T, Change<'a>), ChangesError>,
    mut each: impl FnMut(T, Change<'a>),
) -> Result<&'a [u8], ChangesError> {
    let mut lines = LineReader(text);
    loop {
        let first = match lines.next_line() {
            Some(first) => first,
            None if ends_with_input && lines.0.is_empty() => return Ok(lines.0),
            None => return Err(ChangesError::End),
        };
        if first.is_empty() {
            return Ok(lines.0);
        }
        let (extra, mut change) = line(first)?;
        let source = lines.next_line().ok_or(ChangesError::End)?;
        if !source.is_empty() {
            let space = memchr::memchr(b' ', source).unwrap_or(source.len());
            let rev = parse_rev(&source[..space]).map_err(|e| match e {
                BadRev::NoDigit => ChangesError::CopyRevision,
                BadRev::Trailing => ChangesError::CopyFrom,
            })?;
            let path = source.get(space + 1..).ok_or(ChangesError::CopyFrom)?;
            change.copyfrom = Some((
                rev,
                parse_path(path, ChangesError::CopyFrom, ChangesError::UnknownPath)?,
            ));
        }
        each(extra, change);
    }
}

/// As [`parse_line`] for the most common lines, in a third of the time, without making the ID. `None` means another
/// kind of line, or a malformed one.
fn parse_common_line(line: &[u8]) -> Option<Change<'_>> {
    let mut rest = skip_id(line)?.strip_prefix(b" ")?;
    let actions: [(&[u8], ChangeKind); 4] = [
        (b"modify-", ChangeKind::Modify),
        (b"add-", ChangeKind::Add),
        (b"delete-", ChangeKind::Delete),
        (b"replace-", ChangeKind::Replace),
    ];
    let mut word = |word: &[u8]| rest.strip_prefix(word).map(|left| rest = left).is_some();
    let (_, change) = actions.into_iter().find(|(action, _)| word(action))?;
    let node_kind = match word(b"file ") {
        true => NodeKind::File,
        false if word(b"dir ") => NodeKind::Dir,
        false => return None,
    };
    let mut flag = || match word(b"true ") {
        true => Some(true),
        false => word(b"false ").then_some(false),
    };
    let (text_mod, prop_mod, mergeinfo_mod) = (flag()?, flag()?, flag());
    let path = str::from_utf8(rest).ok()?;
    FsPath::is_canonical(path).then_some(Change {
        path,
        change,
        node_kind,
        text_mod,
        prop_mod,
        mergeinfo_mod,
        copyfrom: None,
    })
}

fn parse_line(line: &[u8]) -> Result<((NodeRevId, bool), Change<'_>), ChangesError> {
    let mut rest = line;
    let mut field = || {
        let space = memchr::memchr(b' ', rest).ok_or(ChangesError::Line)?;
        let field = &rest[..space];
        rest = &rest[space + 1..];
        Ok(field)
    };
    let id = NodeRevId::parse(field()?).map_err(|_| ChangesError::Id)?;
    let action = field()?;
    let (action, node_kind) = match action.iter().position(|&b| b == b'-') {
        None => (action, NodeKind::Unknown),
        Some(dash) => match &action[dash + 1..] {
            b"file" => (&action[..dash], NodeKind::File),
            b"dir" => (&action[..dash], NodeKind::Dir),
            _ => return Err(ChangesError::Kind),
        },
    };
    let (change, is_reset) = match action {
        b"modify" => (ChangeKind::Modify, false),
        b"add" => (ChangeKind::Add, false),
        b"delete" => (ChangeKind::Delete, false),
        b"replace" => (ChangeKind::Replace, false),
        b"reset" => (ChangeKind::Modify, true),
        _ => return Err(ChangesError::Action),
    };
    let text_mod = parse_flag(field()?).ok_or(ChangesError::TextFlag)?;
    let prop_mod = parse_flag(field()?).ok_or(ChangesError::PropFlag)?;
    let mergeinfo_mod = if rest.first() == Some(&b'/') {
        None
    } else {
        let space = memchr::memchr(b' ', rest).ok_or(ChangesError::Line)?;
        let flag = parse_flag(&rest[..space]).ok_or(ChangesError::MergeinfoFlag)?;
        rest = &rest[space + 1..];
        Some(flag)
    };
    // Without a recorded kind, the incumbent looks the path up before it checks it.
    let not_utf8 = match node_kind {
        NodeKind::Unknown => ChangesError::UnknownPath,
        _ => ChangesError::PathBytes,
    };
    let path = parse_path(rest, ChangesError::Path, not_utf8)?;
    let change = Change {
        path,
        change,
        node_kind,
        text_mod,
        prop_mod,
        mergeinfo_mod,
        copyfrom: None,
    };
    Ok(((id, is_reset), change))
}

fn parse_path(path: &[u8], malformed: ChangesError, not_utf8: ChangesError) -> Result<&str, ChangesError> {
    let path = str::from_utf8(path).map_err(|_| not_utf8)?;
    match FsPath::is_canonical(path) {
        true => Ok(path),
        false => Err(malformed),
    }
}

fn parse_flag(word: &[u8]) -> Option<bool> {
    match word {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// Appends one entry, without the fields that are unknown (kind, mergeinfo flag).
pub(crate) fn encode_entry(out: &mut Vec<u8>, entry: &RawChange) {
    let info = &entry.info;
    let action = if entry.is_reset {
        "reset"
    } else {
        info.change.word()
    };
    let mut text = format!("{} {action}", entry.id);
    if matches!(info.node_kind, NodeKind::File | NodeKind::Dir) {
        text.push('-');
        text.push_str(info.node_kind.word());
    }
    text.push_str(&format!(" {} {}", info.text_mod, info.prop_mod));
    if let Some(flag) = info.mergeinfo_mod {
        text.push_str(&format!(" {flag}"));
    }
    text.push_str(&format!(" {}\n", info.path));
    if let Some((rev, path)) = &info.copyfrom {
        text.push_str(&format!("{rev} {path}"));
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

/// The end of the list of a revision: an empty line.
pub(crate) const END: u8 = b'\n';

/// Appends the list of a revision with its end; entries in the given order.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn encode(out: &mut Vec<u8>, entries: &[RawChange]) {
    for entry in entries {
        encode_entry(out, entry);
    }
    out.push(END);
}

/// The lines of a text.
struct LineReader<'a>(&'a [u8]);

impl<'a> LineReader<'a> {
    fn next_line(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.0)?;
        let line = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "2-1.0.r2/6 delete-file false false false /branches/b1/hello.txt\n\n\
                        0-1._0.t2-2 add-dir false false false /branches/b2\n2 /trunk\n\
                        0-1.0.t4-4 modify-dir false true true /trunk\n\n\n";

    #[test]
    fn real_lists_round_trip() {
        for text in [
            REAL,
            "\n",
            "_2.0.t0-0 add true false /trunk/a b\n\n\n",
            "_0.0.t0-0 add-dir false false /t\n\n\n",
        ] {
            let list = parse(text.as_bytes(), false).expect(text);
            let mut out = Vec::new();
            encode(&mut out, &list);
            assert_eq!(String::from_utf8_lossy(&out), text);
            for cut in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..cut], false), Err(ChangesError::End));
            }
        }
    }

    #[test]
    fn malformed_lists_are_refused() {
        for (text, error) in [
            ("0.0.t0-0\n\n\n", ChangesError::Line),
            ("x add true true /a\n\n\n", ChangesError::Id),
            ("0.0.t0-0 link true true /a\n\n\n", ChangesError::Action),
            ("0.0.t0-0 add-link true true /a\n\n\n", ChangesError::Kind),
            ("0.0.t0-0 add 1 true /a\n\n\n", ChangesError::TextFlag),
            ("0.0.t0-0 add true 1 /a\n\n\n", ChangesError::PropFlag),
            ("0.0.t0-0 add true true 1 /a\n\n\n", ChangesError::MergeinfoFlag),
            ("0.0.t0-0 add true true true a\n\n\n", ChangesError::Path),
            ("0.0.t0-0 add true true /a//\n\n\n", ChangesError::Path),
            ("0.0.t0-0 add true true /a\n(3\n\n", ChangesError::CopyRevision),
            ("0.0.t0-0 add true true /a\n1x/b\n\n", ChangesError::CopyFrom),
            ("0.0.t0-0 add true true /a\n1234\n\n", ChangesError::CopyFrom),
            ("0.0.t0-0 add true true /a\n/b\n\n", ChangesError::CopyRevision),
        ] {
            assert_eq!(parse(text.as_bytes(), false), Err(error), "{text:?}");
        }
        for (text, error) in [
            (
                &b"0.0.t0-0 add true true /\xe9\n\n\n"[..],
                ChangesError::UnknownPath,
            ),
            (
                b"0.0.t0-0 add-file true true /\xe9\n\n\n",
                ChangesError::PathBytes,
            ),
            (
                b"0.0.t0-0 add true true /a\n1 /\xe9\n\n",
                ChangesError::UnknownPath,
            ),
        ] {
            assert_eq!(parse(text, false), Err(error));
        }
    }

    #[test]
    fn a_list_in_normal_form_is_parsed_directly() {
        let line = |action: &str, path: &str| format!("1.0.t1-1 {action}-file true false false {path}\n\n");
        for lines in [
            vec![],
            vec![("add", "/a"), ("modify", "/b")],
            vec![("add", "/b"), ("modify", "/a")],
            vec![("modify", "/a"), ("modify", "/a")],
            vec![("add", "/a"), ("reset", "/b")],
        ] {
            let text: String = lines.iter().map(|(action, path)| line(action, path)).collect();
            let text = text + "\n";
            let stored = parse(text.as_bytes(), false).expect("well-formed");
            let list = parse_normal(text.as_bytes()).map(|list| list.to_vec());
            assert_eq!(list, Ok(normalize(stored)), "{text}");
        }
        assert_eq!(parse_normal(b"x add true true /a\n\n\n"), Err(ChangesError::Id));
    }

    #[test]
    fn common_lines_parse_like_all_lines() {
        let ids = [
            "2-1.0.r2/6",
            "0-1._0.t2-2",
            "_2.0.t0-0",
            "_2-1.0.r1/1",
            "1.0.r1",
            "zz.z-9.r10/1234",
        ];
        let words = [
            "modify-file",
            "add-dir",
            "delete",
            "replace-file",
            "reset-dir",
            "add-link",
            "",
        ];
        let flags = ["true", "false", "maybe", ""];
        let paths = ["/", "/a b", "a", "/a/", "/ä", ""];
        let mut quick = 0;
        for id in ids {
            for word in words {
                for [a, b, c] in flags
                    .iter()
                    .flat_map(|a| flags.map(|b| flags.map(|c| [a, b, c])))
                    .flatten()
                {
                    for path in paths {
                        for line in [
                            format!("{id} {word} {a} {b} {c} {path}"),
                            format!("{id} {word} {a} {b} {path}"),
                        ] {
                            if let Some(change) = parse_common_line(line.as_bytes()) {
                                quick += 1;
                                let thorough = parse_line(line.as_bytes());
                                assert_eq!(thorough.map(|(_, change)| change), Ok(change), "{line}");
                            }
                        }
                    }
                }
            }
        }
        assert!(quick > 500, "{quick}");
    }
}
