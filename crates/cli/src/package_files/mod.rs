//! `sven package-files DIR`: man pages and shell completions, made from the definitions that parse the command lines.
//!
//! `DIR/man` has a page for each program name, `DIR/bash`, `DIR/zsh` and `DIR/fish` a completion for each. The command exists only in
//! a build with the feature `package-files`, which `cargo xtask package-files` makes; the program that is packaged has none of it.

mod man;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use base::{Code, Error, Result};
use clap::{Command, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::{PERSONALITIES, check_config, convert, fsx, import_config, index, install_links, serve};

/// Writes the files below the directory that `argv` names.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a wrong number of operands, `errno` where a file cannot be written.
#[cfg_attr(
    not(feature = "package-files"),
    expect(dead_code, reason = "tests call `files`")
)]
pub fn run(argv: &[OsString]) -> Result<()> {
    let [dir] = argv else {
        let text = "package-files takes exactly one directory";
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, text));
    };
    for (name, bytes) in files()? {
        let path = Path::new(dir).join(name);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|e| Error::io("Can't create directory", folder, &e))?;
        fs::write(&path, bytes).map_err(|e| Error::io("Can't write file", &path, &e))?;
    }
    Ok(())
}

/// A program name, the section of its man page, and its definition.
struct Program {
    name: &'static str,
    section: u8,
    command: Command,
}

/// Returns all files: name below the directory, and contents.
fn files() -> Result<Vec<(String, Vec<u8>)>> {
    let mut out = Vec::new();
    for Program {
        name,
        section,
        command,
    } in programs()
    {
        let page = man::page(name, section, &command)
            .map_err(|e| Error::os(&e, &format!("Can't lay out the page of {name}")))?;
        out.push((format!("man/man{section}/{name}.{section}"), page));
        let completions = [
            (Shell::Bash, format!("bash/{name}")),
            (Shell::Zsh, format!("zsh/_{name}")),
            (Shell::Fish, format!("fish/{name}.fish")),
        ];
        for (shell, file) in completions {
            let mut text = Vec::new();
            generate(shell, &mut command.clone(), name, &mut text);
            out.push((file, text));
        }
    }
    Ok(out)
}

fn programs() -> Vec<Program> {
    let program = |name, section, command: Command| Program {
        name,
        section,
        command: shown(command),
    };
    let own = program("sven", 8, sven());
    let tools = PERSONALITIES
        .iter()
        .map(|tool| program(tool.name, tool.section, (tool.command)()));
    [own].into_iter().chain(tools).collect()
}

/// The program under its own name, as `main` takes it apart.
fn sven() -> Command {
    let tools = PERSONALITIES.iter().map(|tool| {
        let definition = (tool.command)().name(tool.word);
        match tool.word == tool.name {
            true => definition,
            false => definition.visible_alias(tool.name),
        }
    });
    Command::new("sven")
        .about("Subversion's server, tools and client programs in one program")
        .long_about(
            "Opens Subversion repositories in place, serves them over svn://, http:// and https:// to unmodified clients, \
             administers them, and works with repositories anywhere as a client.\n\nStarted under the name of one of Subversion's programs, sven is that program: 'sven install-links' makes such links.",
        )
        .subcommand_value_name("COMMAND")
        .subcommand(
            serve::ServeArgs::command()
                .override_usage("serve [OPTIONS] ROOT\nserve [OPTIONS] --config FILE\nserve --demo"),
        )
        .subcommand(check_config::CheckConfigArgs::command().override_usage("check-config [-q] FILE"))
        .subcommand(import_config::ImportConfigArgs::command().override_usage(
            "import-config --apache FILE...\nimport-config --svnserve FILE... [svnserve's options]",
        ))
        .subcommand(convert::ConvertArgs::command().override_usage(convert::USAGE))
        .subcommand(fsx::FsxArgs::command().override_usage(fsx::USAGE))
        .subcommand(index::IndexArgs::command().override_usage(
            "index REPOS_PATH [--rebuild | --check | --status | --remove]",
        ))
        .subcommand(
            install_links::InstallLinksArgs::command()
                .override_usage("install-links DIR [--only NAME]... [--except NAME]..."),
        )
        .subcommands(tools)
}

/// The definition as help shows it: operands are in the usage, and values are called ARG.
fn shown(command: Command) -> Command {
    let command = command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .mut_args(
            |arg| match (arg.is_positional(), arg.get_action().takes_values()) {
                (true, _) => arg.hide(true),
                (false, true) => arg.value_name("ARG"),
                (false, false) => arg,
            },
        );
    command.mut_subcommands(shown)
}
