//! `sven install-links DIR`: links in DIR that start this program under the names of its tools.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::args::help::option_line;
use crate::args::{self, ArgumentError};
use crate::out::Out;

/// Makes links under the names of the tools.
#[derive(Debug, Parser)]
#[command(name = "install-links")]
pub struct InstallLinksArgs {
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    dir: Vec<PathBuf>,
}

const HINT: &str = "Type 'sven install-links --help' for usage.\n";

/// Runs the command with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let given = args::parse_flat(InstallLinksArgs::command(), argv).and_then(|matches| {
        Ok(InstallLinksArgs::from_arg_matches(&matches).map_err(args::definition_error)?)
    });
    let error = match given {
        Ok(InstallLinksArgs { help: true, .. }) => {
            let printed = out.print(&help());
            return out.finish(printed.map(|()| ExitCode::SUCCESS));
        }
        Ok(InstallLinksArgs { dir, .. }) => match &dir[..] {
            [dir] => {
                let linked = install(&mut out, dir);
                return out.finish(linked.map(|()| ExitCode::SUCCESS));
            }
            _ => ArgumentError::Plain("Give the one directory for the links.".to_owned()),
        },
        Err(error) => error,
    };
    let program = out.program().to_owned();
    out.print_stderr(&format!("{program}: {error}\n{HINT}"));
    ExitCode::FAILURE
}

/// Makes the links. A link that points to this program already is skipped; any other file of that name is an error.
///
/// # Errors
/// `errno` where a link cannot be made.
fn install(out: &mut Out, dir: &Path) -> Result<()> {
    let program = env::current_exe().map_err(|e| Error::os(&e, "Can't find this program's own file"))?;
    for name in crate::tool_names() {
        let link = dir.join(name);
        match symlink(&program, &link) {
            Ok(()) => out.line(&format!("{} -> {}", link.display(), program.display()))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let same = fs::canonicalize(&link).ok() == fs::canonicalize(&program).ok();
                if !same {
                    return Err(Error::io("Can't create symbolic link", &link, &e));
                }
            }
            Err(e) => return Err(Error::io("Can't create symbolic link", &link, &e)),
        }
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
        "usage: sven install-links DIR\n\
         Makes links in DIR that start sven under the names of Subversion's programs.\n\
         A file of that name that is there already is an error, and stays as it is.\n\nValid options:\n",
    );
    let command = InstallLinksArgs::command();
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        text.push_str(&option_line(arg));
    }
    text.push('\n');
    text
}
