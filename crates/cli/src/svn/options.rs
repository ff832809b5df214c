//! Options that several subcommands share.
//!
//! Subversion's client has one meaning for each option name, whatever the subcommand: wrong values are refused before the subcommand
//! is looked at. Therefore an option that two subcommands have is defined here once. The names of the fields are the ids by which
//! [`check_exclusive`] finds options that exclude each other.

use std::ffi::OsStr;

use base::{Code, Depth, Error, Result, Revnum};
use clap::ArgMatches;

use crate::args::revision::{Revision, RevisionRangeArg};
use crate::args::{ArgumentError, OptionsBefore};
pub use crate::client_context::targets_file::TargetsOption;

/// `-r`, which may be given once.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RevisionOption {
    /// revision ARG, or the range ARG1:ARG2 where a subcommand takes one. A revision is one of:
    ///    NUMBER       the number of a revision
    ///    '{' DATE '}' the youngest revision at that time
    ///    'HEAD'       the youngest revision
    #[arg(short, long, value_parser = RevisionRangeArg::parse, action = clap::ArgAction::Append, verbatim_doc_comment)]
    revision: Vec<RevisionRangeArg>,
}

impl RevisionOption {
    /// The range as typed; `None` if it was not given.
    pub fn range(&self) -> Option<RevisionRangeArg> {
        self.revision.first().copied()
    }

    /// The revision, or the first one of the range.
    pub fn start(&self) -> Option<Revision> {
        self.range().map(|range| range.start)
    }
}

/// `-r` and `-c`, for subcommands that take both. Subcommands other than `log` and `merge` take one of them, once.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RevisionsOption {
    /// revision ARG, or the range ARG1:ARG2 where a subcommand takes one. A revision is one of:
    ///    NUMBER       the number of a revision
    ///    '{' DATE '}' the youngest revision at that time
    ///    'HEAD'       the youngest revision
    #[arg(short, long, value_parser = RevisionRangeArg::parse, action = clap::ArgAction::Append, verbatim_doc_comment)]
    revision: Vec<RevisionRangeArg>,
    /// the change made in revision ARG, as '-r ARG-1:ARG'. '-ARG' is the reverse change, 'ARG1-ARG2' are the changes from
    /// ARG1 to ARG2. Several are separated by commas
    #[arg(short, long, value_parser = parse_changes, action = clap::ArgAction::Append)]
    change: Vec<Changes>,
}

impl RevisionsOption {
    /// All ranges, those of `-r` first. A change has both ends, the older one being the revision before it.
    pub fn ranges(&self) -> Vec<RevisionRangeArg> {
        let changes = self.change.iter().flat_map(|changes| changes.0.iter().copied());
        self.revision.iter().copied().chain(changes).collect()
    }

    /// True if `-r` was given.
    pub fn has_revision(&self) -> bool {
        !self.revision.is_empty()
    }

    /// True if `-c` was given.
    pub fn has_change(&self) -> bool {
        !self.change.is_empty()
    }
}

/// The changes of one `-c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes(pub Vec<RevisionRangeArg>);

/// Parses the argument of `-c`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn parse_changes(text: &str) -> Result<Changes> {
    let items = text.split([',', ' ', '\n', '\r', '\t', '\x0b']);
    items
        .filter(|item| !item.is_empty())
        .map(parse_change)
        .collect::<Result<_>>()
        .map(Changes)
}

fn parse_change(item: &str) -> Result<RevisionRangeArg> {
    let error = |message: String| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    let has_minus = item.starts_with('-');
    let from = item[usize::from(has_minus)..].trim_start_matches('r');
    let (mut change, mut rest) = c_number(from);
    let mut last = change;
    if rest.len() < from.len() && rest.starts_with('-') {
        if has_minus || change < 0 {
            return error(format!("Negative number in range ({item}) not supported with -c"));
        }
        (last, rest) = c_number(rest[1..].trim_start_matches('r'));
    }
    if rest.len() == item.len() || !rest.is_empty() {
        return error(format!("Non-numeric change argument ({item}) given to -c"));
    }
    if has_minus {
        change = change.saturating_neg();
    }
    let (start, end) = match change {
        0 => return error("There is no change 0".to_owned()),
        ..0 => (change.saturating_neg(), change.saturating_neg() - 1),
        _ if change <= last => (change - 1, last),
        _ => (change, last.saturating_sub(1)),
    };
    // The incumbent takes a number below zero for the youngest revision.
    let revision =
        |number: i64| u64::try_from(number).map_or(Revision::Head, |rev| Revision::Number(Revnum(rev)));
    Ok(RevisionRangeArg {
        start: revision(start),
        end: Some(revision(end)),
    })
}

/// Reads a number as C's `strtol` does and returns it with the rest of the text. Text without a number is 0, and all of it is the rest.
fn c_number(text: &str) -> (i64, &str) {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(unsigned.len());
    if end == 0 {
        return (0, text);
    }
    let (digits, rest) = unsigned.split_at(end);
    let number = digits.parse().unwrap_or(i64::MAX);
    (if text.starts_with('-') { -number } else { number }, rest)
}

/// `--depth`.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct DepthOption {
    /// go no deeper than ARG: 'empty', 'files', 'immediates' or 'infinity'
    #[arg(long, value_parser = parse_depth)]
    pub depth: Option<Depth>,
}

/// `--depth` and `-R`. The last of them counts.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct RecursiveOption {
    /// go as deep as there is something: '--depth=infinity'
    #[arg(short = 'R', long, overrides_with = "depth")]
    recursive: bool,
    /// go no deeper than ARG: 'empty', 'files', 'immediates' or 'infinity'
    #[arg(long, value_parser = parse_depth, overrides_with = "recursive")]
    depth: Option<Depth>,
}

impl RecursiveOption {
    /// The depth, if one of the options was given.
    pub fn depth(self) -> Option<Depth> {
        if self.recursive {
            return Some(Depth::Infinity);
        }
        self.depth
    }
}

/// `--depth` and `-N`. `-N` counts if both were given.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct NonRecursiveOption {
    /// the older form of '--depth=files'
    #[arg(short = 'N', long)]
    non_recursive: bool,
    /// go no deeper than ARG: 'empty', 'files', 'immediates' or 'infinity'
    #[arg(long, value_parser = parse_depth)]
    depth: Option<Depth>,
}

impl NonRecursiveOption {
    /// The depth, if one of the options was given.
    pub fn depth(self) -> Option<Depth> {
        if self.non_recursive {
            return Some(Depth::Files);
        }
        self.depth
    }
}

/// Parses the argument of `--depth`.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn parse_depth(text: &str) -> Result<Depth> {
    match Depth::from_word(text.as_bytes()) {
        depth @ (Depth::Empty | Depth::Files | Depth::Immediates | Depth::Infinity) => Ok(depth),
        _ => {
            let message =
                format!("'{text}' is not a valid depth; try 'empty', 'files', 'immediates', or 'infinity'");
            Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
        }
    }
}

/// Parses a number that an option has as its argument.
///
/// # Errors
/// `INCORRECT_PARAMS`.
pub fn parse_int(text: &str) -> Result<i32> {
    let wrong = |message: String| Err(Error::new(Code::INCORRECT_PARAMS, message));
    let number = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return wrong(format!("Could not convert '{text}' into a number"));
    }
    number.parse().or_else(|_| {
        let (least, most) = (i32::MIN, i32::MAX);
        wrong(format!("Number '{text}' is out of range '[{least}, {most}]'"))
    })
}

/// `--xml` and `--incremental`.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct XmlOptions {
    /// print XML
    #[arg(long)]
    pub xml: bool,
    /// print what can be put together with the output of other runs
    #[arg(long)]
    pub incremental: bool,
}

/// `--changelist`, which selects paths of a working copy.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ChangelistOption {
    /// only members of changelist ARG, which is a list of files of a working copy
    #[arg(long, visible_alias = "cl", value_parser = parse_changelist, action = clap::ArgAction::Append)]
    pub changelist: Vec<String>,
}

fn parse_changelist(text: &str) -> Result<String> {
    match text {
        "" => Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            "Changelist names must not be empty",
        )),
        name => Ok(name.to_owned()),
    }
}

/// Refuses `-c` together with `--old`, whichever comes later.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn may_follow(before: &OptionsBefore<'_>, id: &str) -> Result<(), ArgumentError> {
    // Without any change, as in `-c ''`, it is as if the option had not been given.
    let has_changes = |value: &OsStr| {
        let changes = value.to_str().map(parse_changes);
        matches!(changes, Some(Ok(changes)) if !changes.0.is_empty())
    };
    let is_refused = match id {
        "change" => before.values("old").next().is_some(),
        "old" => before.values("change").any(has_changes),
        _ => false,
    };
    if is_refused {
        refuse("Can't specify -c with --old")?;
    }
    Ok(())
}

/// Refuses options that exclude each other in all subcommands, in the incumbent's order. `given` are the options of the subcommand.
///
/// # Errors
/// `CL_MUTUALLY_EXCLUSIVE_ARGS` and `CL_ARG_PARSING_ERROR`.
pub fn check_exclusive(subcommand: &str, given: &ArgMatches) -> Result<()> {
    let count = |id: &str| match given.try_contains_id(id) {
        Ok(true) => given.indices_of(id).map_or(0, Iterator::count),
        _ => 0,
    };
    let changes = given.try_get_many::<Changes>("change").ok().flatten();
    let changes: usize = changes.map_or(0, |all| all.map(|changes| changes.0.len()).sum());
    let takes_many = matches!(subcommand, "log" | "merge");
    if !takes_many && count("revision") + changes > 1 {
        return refuse("Multiple revision arguments encountered; can't specify -c twice, or both -c and -r");
    }
    if count("depth") > 0 && count("set_depth") > 0 {
        return refuse("--depth and --set-depth are mutually exclusive");
    }
    if count("message") > 0 && count("file") > 0 {
        return refuse("--message (-m) and --file (-F) are mutually exclusive");
    }
    let has_none = given.try_get_one("with_no_revprops").ok().flatten() == Some(&true);
    let has_all = given.try_get_one("with_all_revprops").ok().flatten() == Some(&true);
    for (is_given, option) in [(has_all, "all-revprops"), (count("with_revprop") > 0, "revprop")] {
        if is_given && has_none {
            return refuse(&format!(
                "--with-{option} and --with-no-revprops are mutually exclusive"
            ));
        }
    }
    let is_internal = given.try_get_one("internal_diff").ok().flatten() == Some(&true);
    if count("diff_cmd") > 0 && is_internal {
        return refuse("--diff-cmd and --internal-diff are mutually exclusive");
    }
    let takes_range = matches!(subcommand, "blame" | "diff" | "log" | "merge" | "mergeinfo");
    let ranges = given.try_get_many::<RevisionRangeArg>("revision").ok().flatten();
    if !takes_range && ranges.is_some_and(|mut all| all.any(|range| range.end.is_some())) {
        return Err(Error::new(
            Code::CLIENT_REVISION_RANGE,
            "Revision range is not allowed",
        ));
    }
    Ok(())
}

fn refuse(message: &str) -> Result<()> {
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_parse_as_the_incumbent_parses_them() {
        let number = |n: i64| u64::try_from(n).map_or(Revision::Head, |rev| Revision::Number(Revnum(rev)));
        let range = |start, end| RevisionRangeArg {
            start: number(start),
            end: Some(number(end)),
        };
        for (text, ranges) in [
            ("", vec![]),
            ("1,", vec![range(0, 1)]),
            ("-3, r5", vec![range(3, 2), range(4, 5)]),
            ("2-4", vec![range(1, 4)]),
            ("4-r2", vec![range(4, 1)]),
            ("1,,2", vec![range(0, 1), range(1, 2)]),
            ("1- 2", vec![range(1, -1), range(1, 2)]),
            ("1 -2", vec![range(0, 1), range(2, 1)]),
            ("r-1", vec![range(1, 0)]),
            ("--1", vec![range(1, -2)]),
            ("1--2", vec![range(1, -3)]),
        ] {
            assert_eq!(parse_changes(text), Ok(Changes(ranges)), "{text}");
        }
        for (text, message) in [
            ("0", "There is no change 0"),
            ("-0", "There is no change 0"),
            ("-1-2", "Negative number in range (-1-2) not supported with -c"),
            ("1,HEAD", "Non-numeric change argument (HEAD) given to -c"),
            ("x", "Non-numeric change argument (x) given to -c"),
            ("-", "There is no change 0"),
            ("--r1", "Non-numeric change argument (--r1) given to -c"),
        ] {
            assert_eq!(parse_changes(text).expect_err(text).message(), message);
        }
    }
}
