//! `sven install-links DIR`: links in DIR that start this program under the names of its tools.
//!
//! The names are those of all tools, or those that options select. `svn` and `svnversion` have no working copies yet, so a link under
//! their names can take the place of a program that does more. A message says so.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, Parser};

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::out::Out;
use crate::own_command;

/// Makes links in DIR that start sven under the names of Subversion's programs.
#[derive(Debug, Parser)]
#[command(name = "install-links")]
pub struct InstallLinksArgs {
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    /// make only the link with the name ARG; may be given again
    #[arg(long, value_parser = tool_name)]
    only: Vec<&'static str>,
    /// do not make the link with the name ARG; may be given again
    #[arg(long, value_parser = tool_name)]
    except: Vec<&'static str>,
    #[arg(hide = true)]
    dir: Vec<PathBuf>,
}

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: InstallLinksArgs, out| {
        if given.help {
            return Ok(out.print(&help()).map(|()| ExitCode::SUCCESS)?);
        }
        let [dir] = &given.dir[..] else {
            let text = "Give the one directory for the links.";
            return Err(ArgumentError::Plain(text.to_owned()));
        };
        Ok(install(out, dir, &given.names()).map(|()| ExitCode::SUCCESS)?)
    })
}

impl InstallLinksArgs {
    /// Returns the names of the links.
    fn names(&self) -> Vec<&'static str> {
        crate::tool_names()
            .filter(|name| self.only.is_empty() || self.only.contains(name))
            .filter(|name| !self.except.contains(name))
            .collect()
    }
}

/// Finds the name of a tool.
fn tool_name(word: &str) -> Result<&'static str> {
    crate::tool_names().find(|name| *name == word).ok_or_else(|| {
        let names: Vec<&str> = crate::tool_names().collect();
        let message = format!(
            "'{word}' is not the name of a tool; the names are {}",
            names.join(", ")
        );
        Error::new(Code::CL_ARG_PARSING_ERROR, message)
    })
}

/// Makes the links. A link that points to this program already is skipped; any other file of that name is an error.
///
/// # Errors
/// `errno` where a link cannot be made.
fn install(out: &mut Out, dir: &Path, names: &[&str]) -> Result<()> {
    let program = env::current_exe().map_err(|e| Error::os(&e, "Can't find this program's own file"))?;
    let mut incomplete: Vec<&str> = Vec::new();
    for name in names {
        let link = dir.join(name);
        match symlink(&program, &link) {
            Ok(()) => {
                out.line(&format!("{} -> {}", link.display(), program.display()))?;
                incomplete.extend(INCOMPLETE.iter().filter(|tool| *tool == name));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let same = fs::canonicalize(&link).ok() == fs::canonicalize(&program).ok();
                if !same {
                    return Err(Error::io("Can't create symbolic link", &link, &e));
                }
            }
            Err(e) => return Err(Error::io("Can't create symbolic link", &link, &e)),
        }
    }
    for name in incomplete {
        out.print_stderr(&format!(
            "Note: this '{name}' has no commands yet that need a working copy. If another '{name}' should be found first, \
             remove the link, or use '--except {name}'.\n"
        ));
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    fs::hard_link(target, link)
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven install-links DIR [--only NAME]... [--except NAME]...\n\
         Makes links in DIR that start sven under the names of Subversion's programs.\n\
         A file of that name that is there already is an error, and stays as it is.\n\n\
         'svn' and 'svnversion' have no commands yet that need a working copy.\n\
         With '--except svn --except svnversion' another program keeps these names.\n\nThe names:\n",
    );
    for name in crate::tool_names() {
        text.push_str(&format!("   {name}\n"));
    }
    text.push('\n');
    text.push_str(&options(&InstallLinksArgs::command()));
    text
}

/// The tools that lack what needs a working copy.
pub const INCOMPLETE: [&str; 2] = ["svn", "svnversion"];
