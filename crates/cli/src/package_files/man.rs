//! Man pages: one for each program, with all of its subcommands, as Subversion's programs have them.

use std::io::{self, Write as _};

use clap::Command;
use clap_mangen::Man;

/// The parts of the program's own page that no definition has.
const TAIL: &str = include_str!("sven.8.tail");

/// The definition of the apostrophe that `clap_mangen` uses.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Returns the page of a program.
///
/// # Errors
/// None in practice: the page is written to memory.
pub fn page(name: &'static str, section: u8, command: &Command) -> io::Result<Vec<u8>> {
    let mut out = PREAMBLE.as_bytes().to_vec();
    // Without a date: the same sources make the same page on any day.
    let title = name.to_uppercase().replace('-', "\\-");
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, ".TH {title} {section} \"\" \"Sven {version}\" Sven")?;
    let man = Man::new(named(command.clone(), name));
    man.render_name_section(&mut out)?;
    let has_subcommands = command.has_subcommands();
    match has_subcommands {
        true => synopsis(&mut out, name, command)?,
        false => man.render_synopsis_section(&mut out)?,
    }
    man.render_description_section(&mut out)?;
    if has_subcommands {
        writeln!(out, ".SH SUBCOMMANDS")?;
        for sub in command.get_subcommands() {
            match name == "sven" && is_program(sub) {
                true => reference(&mut out, sub)?,
                false => subcommand(&mut out, sub)?,
            }
        }
    } else {
        options(&mut out, command, ".SH OPTIONS")?;
    }
    match name {
        "sven" => out.write_all(TAIL.as_bytes())?,
        _ => writeln!(out, ".SH SEE ALSO\n.BR sven (8),\n.BR svn (1)")?,
    }
    Ok(out)
}

/// True if this subcommand of `sven` is a program with a page of its own.
fn is_program(sub: &Command) -> bool {
    crate::PERSONALITIES
        .iter()
        .any(|tool| tool.word == sub.get_name())
}

fn synopsis(out: &mut Vec<u8>, name: &str, command: &Command) -> io::Result<()> {
    let operand = command.get_subcommand_value_name().unwrap_or("REPOS_PATH");
    writeln!(out, ".SH SYNOPSIS")?;
    match name {
        "sven" => writeln!(out, ".B sven\n\\fICOMMAND\\fR [\\fIARGS & OPTIONS\\fR ...]"),
        _ => writeln!(
            out,
            ".B {}\n\\fISUBCOMMAND\\fR \\fI{operand}\\fR [\\fIARGS & OPTIONS\\fR ...]",
            name.replace('-', "\\-")
        ),
    }
}

/// A program that is a subcommand of `sven`: its page has the rest.
fn reference(out: &mut Vec<u8>, sub: &Command) -> io::Result<()> {
    let program = sub.get_visible_aliases().next().unwrap_or(sub.get_name());
    heading(out, sub)?;
    let tools = crate::PERSONALITIES.iter();
    let section = tools
        .filter(|tool| tool.name == program)
        .map(|tool| tool.section)
        .next()
        .unwrap_or(1);
    writeln!(
        out,
        "The program \\fB{}\\fR({section}).",
        program.replace('-', "\\-")
    )
}

fn subcommand(out: &mut Vec<u8>, sub: &Command) -> io::Result<()> {
    heading(out, sub)?;
    let mut text = Vec::new();
    let man = Man::new(sub.clone());
    man.render_synopsis_section(&mut text)?;
    out.extend(without_heading(&text, ".SH SYNOPSIS"));
    writeln!(out, ".PP")?;
    text.clear();
    man.render_description_section(&mut text)?;
    out.extend(without_heading(&text, ".SH DESCRIPTION"));
    options(out, sub, "")
}

fn heading(out: &mut Vec<u8>, sub: &Command) -> io::Result<()> {
    let aliases: Vec<&str> = sub.get_visible_aliases().collect();
    let name = match aliases.is_empty() {
        true => sub.get_name().to_owned(),
        false => format!("{} ({})", sub.get_name(), aliases.join(", ")),
    };
    writeln!(out, ".SS \"{}\"", name.replace('-', "\\-"))
}

fn options(out: &mut Vec<u8>, command: &Command, heading: &str) -> io::Result<()> {
    let mut text = Vec::new();
    Man::new(command.clone()).render_options_section(&mut text)?;
    let text = without_heading(&text, ".SH OPTIONS");
    if !text.is_empty() && !heading.is_empty() {
        writeln!(out, "{heading}")?;
    }
    out.extend(text);
    Ok(())
}

/// What `clap_mangen` rendered of a section, without the section's heading and the preamble that each rendering repeats.
fn without_heading(text: &[u8], heading: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let body = text.split_once(heading).map_or("", |(_, body)| body);
    body.trim_start_matches('\n').as_bytes().to_vec()
}

/// The definition under the name that its links have.
fn named(command: Command, name: &'static str) -> Command {
    command.name(name).bin_name(name).display_name(name)
}
