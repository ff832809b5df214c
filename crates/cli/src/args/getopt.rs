//! Splits an argument list into options and operands as the incumbent does, with clap's definitions as the table of
//! options.
//!
//! Subversion's tools accept options before and after the subcommand, mixed with operands, and bundled short options.
//! They recognize all options of the tool before they look at the subcommand, and they report the first wrong word.
//! clap parses the options of one subcommand only. Therefore this module splits the words first, by the union of the
//! options of all subcommands (taken from clap, without a second table). clap then parses the unambiguous form
//! `subcommand --option=value … -- operand …`.
//!
//! Long options cannot be abbreviated. The meaning of an option is not known here.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::Arg;

use super::argument_error::ArgumentError;

/// An option of an argument list, with its argument.
#[derive(Debug)]
pub struct GivenOption {
    /// The index in the table of options.
    pub option: usize,
    /// The argument, for options that take one.
    pub value: Option<OsString>,
}

/// An argument list, split into options and operands.
#[derive(Debug, Default)]
pub struct SplitWords {
    /// The options in the order of the argument list.
    pub options: Vec<GivenOption>,
    /// All other words, in the order of the argument list.
    pub operands: VecDeque<OsString>,
    /// The error at which splitting stopped. It is reported after errors in the options before it.
    pub stopped: Option<ArgumentError>,
}

/// The options before another one in an argument list. Their values have not been checked.
pub struct OptionsBefore<'a> {
    table: &'a [Arg],
    options: &'a [GivenOption],
}

impl OptionsBefore<'_> {
    /// Returns the values of the options with this clap id.
    pub fn values(&self, id: &str) -> impl Iterator<Item = &OsStr> {
        let options = self.options.iter();
        let options = options.filter(move |given| self.table[given.option].get_id() == id);
        options.filter_map(|given| given.value.as_deref())
    }
}

/// A function that refuses an option, named by its clap id, after certain other options.
pub type MayFollow = fn(before: &OptionsBefore<'_>, id: &str) -> Result<(), ArgumentError>;

/// Accepts options in any order.
#[expect(clippy::unnecessary_wraps, reason = "it is one of several functions")]
pub fn any_order(_before: &OptionsBefore<'_>, _id: &str) -> Result<(), ArgumentError> {
    Ok(())
}

/// Refuses a second `-r`.
pub fn one_revision(before: &OptionsBefore<'_>, id: &str) -> Result<(), ArgumentError> {
    match id == "revision" && before.values(id).next().is_some() {
        true => Err(ArgumentError::RevisionTwice),
        false => Ok(()),
    }
}

/// Splits `argv` (without the program's name) by the options in `table`, up to an option that `may_follow` refuses.
pub fn split(table: &[Arg], may_follow: MayFollow, argv: impl IntoIterator<Item = OsString>) -> SplitWords {
    let mut words = SplitWords::default();
    if let Err(error) = split_into(table, may_follow, argv.into_iter(), &mut words) {
        words.stopped = Some(error);
    }
    words
}

fn split_into(
    table: &[Arg],
    may_follow: MayFollow,
    mut argv: impl Iterator<Item = OsString>,
    words: &mut SplitWords,
) -> Result<(), ArgumentError> {
    while let Some(word) = argv.next() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            words.operands.extend(argv);
            return Ok(());
        }
        if let Some(long) = bytes.strip_prefix(b"--") {
            let equals = long.iter().position(|b| *b == b'=');
            let name = String::from_utf8_lossy(&long[..equals.unwrap_or(long.len())]).into_owned();
            let option = table
                .iter()
                .position(|arg| is_long(arg, &name))
                .ok_or_else(|| ArgumentError::InvalidOption(word.clone()))?;
            let value = match (takes_value(&table[option]), equals) {
                (true, Some(at)) => Some(OsString::from_vec(long[at + 1..].to_vec())),
                (true, None) => Some(
                    argv.next()
                        .ok_or_else(|| ArgumentError::MissingArgument(word.clone()))?,
                ),
                (false, Some(_)) => return Err(ArgumentError::ErroneousArgument(word)),
                (false, None) => None,
            };
            push(table, may_follow, words, option, value)?;
        } else if bytes.first() == Some(&b'-') {
            bundle(table, may_follow, &bytes[1..], &mut argv, words)?;
        } else {
            words.operands.push_back(word);
        }
    }
    Ok(())
}

/// Splits a bundle of short options such as `-qvr5`.
fn bundle(
    table: &[Arg],
    may_follow: MayFollow,
    letters: &[u8],
    argv: &mut impl Iterator<Item = OsString>,
    words: &mut SplitWords,
) -> Result<(), ArgumentError> {
    if letters.is_empty() {
        return Err(ArgumentError::InvalidOption(OsString::new()));
    }
    for (at, byte) in letters.iter().enumerate() {
        let letter = char::from(*byte);
        let option = table
            .iter()
            .position(|arg| is_short(arg, letter))
            .ok_or(ArgumentError::InvalidCharacter(*byte))?;
        if !takes_value(&table[option]) {
            push(table, may_follow, words, option, None)?;
            continue;
        }
        let attached = &letters[at + 1..];
        let value = if attached.is_empty() {
            argv.next()
                .ok_or_else(|| ArgumentError::MissingArgument(letter.to_string().into()))?
        } else {
            OsStr::from_bytes(attached).to_owned()
        };
        return push(table, may_follow, words, option, Some(value));
    }
    Ok(())
}

fn push(
    table: &[Arg],
    may_follow: MayFollow,
    words: &mut SplitWords,
    option: usize,
    value: Option<OsString>,
) -> Result<(), ArgumentError> {
    let before = OptionsBefore {
        table,
        options: &words.options,
    };
    may_follow(&before, table[option].get_id().as_str())?;
    words.options.push(GivenOption { option, value });
    Ok(())
}

/// True if the option takes an argument.
pub fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn is_long(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name)
        || arg
            .get_all_aliases()
            .is_some_and(|aliases| aliases.contains(&name))
}

fn is_short(arg: &Arg, letter: char) -> bool {
    arg.get_short() == Some(letter)
        || arg
            .get_all_short_aliases()
            .is_some_and(|aliases| aliases.contains(&letter))
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    fn table() -> Vec<Arg> {
        vec![
            Arg::new("revision")
                .short('r')
                .long("revision")
                .action(ArgAction::Set),
            Arg::new("quiet")
                .short('q')
                .long("quiet")
                .action(ArgAction::SetTrue),
        ]
    }

    fn sorted(argv: &[&str]) -> SplitWords {
        split(&table(), one_revision, argv.iter().map(OsString::from))
    }

    fn shape(argv: &[&str]) -> String {
        let words = sorted(argv);
        let mut text: Vec<String> = words
            .options
            .iter()
            .map(|given| format!("{}={:?}", given.option, given.value))
            .collect();
        text.push(format!("{:?}", words.operands));
        if let Some(error) = words.stopped {
            text.push(error.to_string());
        }
        text.join(" ")
    }

    #[test]
    fn options_and_operands_mix() {
        assert_eq!(
            shape(&["-qr5", "verify", "--", "-q"]),
            r#"1=None 0=Some("5") ["verify", "-q"]"#
        );
        assert_eq!(
            shape(&["a", "--revision=1", "b", "-q"]),
            r#"0=Some("1") 1=None ["a", "b"]"#
        );
        assert_eq!(shape(&["--revision", "-q"]), r#"0=Some("-q") []"#);
    }

    #[test]
    fn splitting_stops_at_the_first_wrong_word() {
        for (argv, complaint) in [
            (&["-Z"][..], "invalid option character: Z"),
            (&["-"], "invalid option: "),
            (&["--rev"], "invalid option: --rev"),
            (&["-r"], "missing argument: r"),
            (&["--revision"], "missing argument: --revision"),
            (&["--quiet=1"], "erroneous argument: --quiet=1"),
        ] {
            let stopped = sorted(argv).stopped.expect("a bad word");
            assert!(stopped.to_string().contains(complaint), "{argv:?}: {stopped}");
        }
        assert!(matches!(
            sorted(&["-r1", "-r2"]).stopped,
            Some(ArgumentError::RevisionTwice)
        ));
    }
}
