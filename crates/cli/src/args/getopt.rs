//! The incumbent's way through an argument list, with clap's definitions as its table.
//!
//! Subversion's tools accept options before and after the subcommand, mixed with operands, short ones bundled; they know every
//! option of the tool before they look at the subcommand, and they complain about the first bad word they meet.
//! clap parses each subcommand's own list. So the words are sorted here first, by the union of all the subcommands' options
//! (taken from clap, no second table), and handed on as `subcommand --option=value … -- operand …`, which clap
//! reads without a question left.
//!
//! What is absent: no abbreviations of long options, no meaning of any option.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::Arg;

use super::refusal::Refusal;

/// An option as it was given: which one, and its argument.
#[derive(Debug)]
pub struct Given {
    /// Position in the table.
    pub option: usize,
    /// The argument, for options that take one.
    pub value: Option<OsString>,
}

/// An argument list, sorted.
#[derive(Debug, Default)]
pub struct Words {
    /// Options in the order given.
    pub options: Vec<Given>,
    /// Everything else, in the order given.
    pub operands: VecDeque<OsString>,
    /// What stopped the sorting, if anything did: the options before it are still judged first.
    pub stopped: Option<Refusal>,
}

/// Sorts `argv` (without the program's name) by the options in `table`. Options named in `once` stop the sorting when they come again.
pub fn split(table: &[Arg], once: &[&str], argv: impl IntoIterator<Item = OsString>) -> Words {
    let mut words = Words::default();
    if let Err(refusal) = sort(table, once, argv.into_iter(), &mut words) {
        words.stopped = Some(refusal);
    }
    words
}

fn sort(
    table: &[Arg],
    once: &[&str],
    mut argv: impl Iterator<Item = OsString>,
    words: &mut Words,
) -> Result<(), Refusal> {
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
                .ok_or_else(|| Refusal::InvalidOption(lossy(&word)))?;
            let value = match (takes_value(&table[option]), equals) {
                (true, Some(at)) => Some(OsString::from_vec(long[at + 1..].to_vec())),
                (true, None) => Some(
                    argv.next()
                        .ok_or_else(|| Refusal::MissingArgument(lossy(&word)))?,
                ),
                (false, Some(_)) => return Err(Refusal::ErroneousArgument(lossy(&word))),
                (false, None) => None,
            };
            push(table, once, words, option, value)?;
        } else if bytes.first() == Some(&b'-') {
            bundle(table, once, &bytes[1..], &mut argv, words)?;
        } else {
            words.operands.push_back(word);
        }
    }
    Ok(())
}

/// Takes `-qvr5` apart.
fn bundle(
    table: &[Arg],
    once: &[&str],
    letters: &[u8],
    argv: &mut impl Iterator<Item = OsString>,
    words: &mut Words,
) -> Result<(), Refusal> {
    if letters.is_empty() {
        return Err(Refusal::InvalidOption(String::new()));
    }
    for (at, letter) in letters.iter().enumerate() {
        let letter = char::from(*letter);
        let option = table
            .iter()
            .position(|arg| is_short(arg, letter))
            .ok_or(Refusal::InvalidCharacter(letter))?;
        if !takes_value(&table[option]) {
            push(table, once, words, option, None)?;
            continue;
        }
        let attached = &letters[at + 1..];
        let value = if attached.is_empty() {
            argv.next()
                .ok_or_else(|| Refusal::MissingArgument(letter.to_string()))?
        } else {
            OsStr::from_bytes(attached).to_owned()
        };
        return push(table, once, words, option, Some(value));
    }
    Ok(())
}

fn push(
    table: &[Arg],
    once: &[&str],
    words: &mut Words,
    option: usize,
    value: Option<OsString>,
) -> Result<(), Refusal> {
    let id = table[option].get_id().as_str();
    if once.contains(&id) && words.options.iter().any(|given| given.option == option) {
        return Err(Refusal::RevisionTwice);
    }
    words.options.push(Given { option, value });
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

fn lossy(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
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

    fn sorted(argv: &[&str]) -> Words {
        split(&table(), &["revision"], argv.iter().map(OsString::from))
    }

    fn shape(argv: &[&str]) -> String {
        let words = sorted(argv);
        let mut text: Vec<String> = words
            .options
            .iter()
            .map(|given| format!("{}={:?}", given.option, given.value))
            .collect();
        text.push(format!("{:?}", words.operands));
        if let Some(refusal) = words.stopped {
            text.push(refusal.to_string());
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
    fn the_first_bad_word_stops() {
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
            Some(Refusal::RevisionTwice)
        ));
    }
}
