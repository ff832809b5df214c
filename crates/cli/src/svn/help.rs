//! `svn help`: the layout is the incumbent's, the texts are ours.

use std::fmt::Write as _;

use base::Result;
use clap::{Arg, Command};

use crate::args::help::{self as common, find};
use crate::client_context::AccessOptions;
use crate::out::Out;

/// Explains this program or some of its subcommands.
#[derive(clap::Args)]
#[command(visible_aliases = ["?", "h"], override_usage = "help [SUBCOMMAND...]")]
pub struct HelpArgs {
    /// show the options that all subcommands have, too
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    access: AccessOptions,
    topics: Vec<String>,
}

/// Prints the help of topics, or the general help without any.
///
/// # Errors
/// Those of the output.
pub fn print(command: &Command, topics: &[String], verbose: bool, out: &mut Out) -> Result<()> {
    out.set_output_optional();
    if topics.is_empty() {
        return out.print(&general(command));
    }
    for topic in topics {
        match find(command, topic).filter(|found| !found.is_hide_set()) {
            Some(found) => out.print(&subcommand(found, verbose))?,
            None => out.print_stderr(&format!("\"{topic}\": unknown command.\n\n")),
        }
    }
    Ok(())
}

/// Returns the general help.
fn general(command: &Command) -> String {
    let mut text = String::from(
        "usage: svn <subcommand> [options] [args]\n\
         Sven's client for Subversion repositories.\n\
         'svn help <subcommand>' explains a subcommand, 'svn --version' prints the version\n\
         and the kinds of access to repositories, 'svn --version --quiet' the version alone.\n\n\
         Targets are URLs of repositories. A peg revision follows a target and '@'.\n\n\
         Available subcommands:\n",
    );
    for found in command.get_subcommands().filter(|found| !found.is_hide_set()) {
        let _ = writeln!(text, "   {}", common::with_aliases(found));
    }
    text.push_str("\nSven serves and reads Subversion repositories.\n");
    text
}

/// Returns the help of a subcommand.
fn subcommand(found: &Command, verbose: bool) -> String {
    let essay = common::essay(found);
    let (first, rest) = essay.split_once('\n').unwrap_or((&essay, ""));
    let mut text = format!("{}: {first}\n", common::with_aliases(found));
    let usage = found.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    for (at, line) in usage.lines().map(str::trim).enumerate() {
        let head = if at == 0 { "usage:" } else { "      " };
        let _ = writeln!(text, "{head} {line}");
    }
    for line in rest.lines() {
        let indent = if line.is_empty() { "" } else { "  " };
        let _ = writeln!(text, "{indent}{line}");
    }
    let options = |global: bool| {
        let options = found.get_arguments().filter(|arg| !arg.is_positional());
        options.filter(move |arg| is_global(arg) == global)
    };
    if options(false).next().is_some() {
        text.push_str("\nValid options:\n");
        options(false).for_each(|arg| text.push_str(&common::option_line(arg)));
    }
    if verbose {
        text.push_str("\nGlobal options:\n");
        options(true).for_each(|arg| text.push_str(&common::option_line(arg)));
    } else {
        text.push_str("\n(Use '-v' to show global options.)\n");
    }
    text.push('\n');
    text
}

fn is_global(arg: &Arg) -> bool {
    arg.get_help_heading() == Some("Global options")
}
