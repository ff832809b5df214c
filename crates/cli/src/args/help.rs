//! The layout of help texts: for a tool, a subcommand, an option.
//!
//! The texts are ours and live beside the options; the layout (and which options are listed) is the incumbent's.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::getopt::takes_value;

/// Finds a subcommand by its name or one of its aliases.
pub fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Command> {
    command
        .get_subcommands()
        .find(|sub| sub.get_name() == name || sub.get_all_aliases().any(|alias| alias == name))
}

/// Returns the general help of a tool: its description and the list of subcommands.
pub fn general(program: &str, command: &Command) -> String {
    let operand = command.get_subcommand_value_name().unwrap_or("REPOS_PATH");
    let mut text = format!("general usage: {program} SUBCOMMAND {operand} [ARGS & OPTIONS ...]\n");
    text.push_str(&essay(command));
    let _ = writeln!(
        text,
        "'{program} help SUBCOMMAND' explains one subcommand, '{program} --version' tells the version.\n\nAvailable subcommands:"
    );
    for sub in command.get_subcommands() {
        let _ = writeln!(text, "   {}", with_aliases(sub));
    }
    text.push('\n');
    text
}

/// Returns the help of a subcommand.
pub fn subcommand(program: &str, sub: &Command) -> String {
    let head = format!("{}: usage: ", with_aliases(sub));
    let usage = sub.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut text = String::new();
    for (at, line) in usage.lines().map(str::trim).enumerate() {
        if at == 0 {
            text.push_str(&head);
        } else {
            let _ = write!(text, "{:width$}", "", width = head.len());
        }
        let (number, line) = match line.split_once(". ") {
            Some((number, line)) => (format!("{number}. "), line),
            None => (String::new(), line),
        };
        let _ = writeln!(text, "{number}{program} {line}");
    }
    text.push('\n');
    text.push_str(&essay(sub));
    if sub.get_arguments().any(|arg| !arg.is_positional()) {
        text.push('\n');
        text.push_str(&options(sub));
    }
    text
}

/// Returns an option as error messages show it: `-r [--revision] ARG`.
pub fn option_name(arg: &Arg) -> String {
    option_with_aliases(arg, &[])
}

/// Returns an option with other names that it has.
fn option_with_aliases(arg: &Arg, aliases: &[&str]) -> String {
    let mut name = match (arg.get_short(), arg.get_long()) {
        (Some(letter), Some(long)) => format!("-{letter} [--{long}]"),
        (Some(letter), None) => format!("-{letter}"),
        (None, long) => format!("--{}", long.unwrap_or_default()),
    };
    for alias in aliases {
        name.push_str(&format!(" [--{alias}]"));
    }
    if takes_value(arg) {
        name.push_str(" ARG");
    }
    name
}

/// Returns the list of a command's options, with its heading and an empty line after it.
pub fn options(command: &Command) -> String {
    let mut text = String::from("Valid options:\n");
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        text.push_str(&option_line(arg));
    }
    text.push('\n');
    text
}

/// Returns the wrapped help of an option. Lines that begin with a space are not wrapped.
pub fn option_line(arg: &Arg) -> String {
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let mut text = format!("  {:24} : ", option_with_aliases(arg, &aliases));
    let help = arg
        .get_long_help()
        .or(arg.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut column = text.len();
    for line in help.lines() {
        if line.starts_with(' ') {
            let _ = write!(text, "\n{:INDENT$}{line}", "");
            column = WIDTH;
            continue;
        }
        for word in line.split_whitespace() {
            let fresh = text.ends_with(": ");
            if !fresh && column + 1 + word.len() > WIDTH {
                let _ = write!(text, "\n{:INDENT$}{word}", "");
                column = INDENT + word.len();
            } else {
                let gap = usize::from(!fresh);
                let _ = write!(text, "{:gap$}{word}", "");
                column += gap + word.len();
            }
        }
    }
    text.push('\n');
    text
}

/// Returns the description of a command, each paragraph wrapped.
pub fn essay(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let mut text = String::new();
    for (at, paragraph) in about.trim().split("\n\n").enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let mut column = 0;
        for word in paragraph.split_whitespace() {
            if column > 0 && column + 1 + word.len() > WIDTH {
                text.push('\n');
                column = 0;
            } else if column > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += word.len();
        }
        if !paragraph.ends_with(['.', ':']) {
            // clap removes the full stop of a single sentence.
            text.push('.');
        }
        text.push('\n');
    }
    text
}

/// Returns the name of a subcommand with its aliases.
pub fn with_aliases(sub: &Command) -> String {
    let aliases: Vec<&str> = sub.get_visible_aliases().collect();
    if aliases.is_empty() {
        sub.get_name().to_owned()
    } else {
        format!("{} ({})", sub.get_name(), aliases.join(", "))
    }
}

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
pub struct HelpArgs {
    topics: Vec<String>,
}

/// The column of the wrapped lines of an option.
const INDENT: usize = 29;
/// The width of help texts.
const WIDTH: usize = 79;
