//! The options of `svnmucc`, and its help.

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum, Url};
use clap::{Command, CommandFactory as _};

use crate::args::help;
use crate::client_context::AccessOptions;
use crate::client_context::log_message::existing_file;
use crate::client_context::revprop_arg::{self, RevpropArg};

/// Commits several actions on URLs at once.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "svnmucc")]
pub struct SvnmuccArgs {
    /// explain this program
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    pub help: bool,
    /// use ARG as the log message
    #[arg(short, long)]
    pub message: Option<String>,
    /// read the log message from file ARG; '-' is standard input
    #[arg(short = 'F', long, value_parser = existing_file())]
    pub file: Option<OsString>,
    /// the URLs of actions are relative to ARG
    #[arg(short = 'U', long, value_parser = root_url)]
    pub root_url: Option<Url>,
    /// start from revision ARG: what has changed since is out of date
    #[arg(short, long, value_parser = revision)]
    pub revision: Option<Revnum>,
    /// set a property of the new revision: NAME[=VALUE]
    #[arg(long, action = clap::ArgAction::Append, value_parser = revprop_arg::parser())]
    pub with_revprop: Vec<RevpropArg>,
    /// read more arguments from file ARG, one a line; '-' is standard input
    #[arg(short = 'X', long, value_parser = existing_file())]
    pub extra_args: Option<OsString>,
    #[command(flatten)]
    pub access: AccessOptions,
    /// tell the version
    #[arg(id = "version", long = "version")]
    pub version: bool,
    #[arg(hide = true)]
    pub operands: Vec<OsString>,
}

/// Parses the argument of `--root-url`.
fn root_url(text: &str) -> Result<Url> {
    match Url::is_url(text) {
        true => Url::canonicalize(text),
        false => Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!("'{text}' is not a URL\n"),
        )),
    }
}

/// Returns the definition of the options. Name and password have short forms in this program.
pub fn command() -> Command {
    SvnmuccArgs::command()
        .mut_arg("username", |arg| arg.short('u'))
        .mut_arg("password", |arg| arg.short('p'))
}

/// Returns the help.
pub fn usage(program: &str, _command: &Command) -> String {
    let mut text = format!(
        "usage: {program} ACTION...\n\
         Changes URLs of one repository by several actions, which make one new revision.\n\n\
         Actions:\n"
    );
    for (action, about) in [
        (
            "cp REV SRC-URL DST-URL",
            "copy SRC-URL, as it is in revision REV, to DST-URL",
        ),
        ("mkdir URL", "make the directory URL"),
        ("mv SRC-URL DST-URL", "move SRC-URL to DST-URL"),
        ("rm URL", "delete URL"),
        (
            "put SRC-FILE URL",
            "add the file URL, or replace its text; '-' is standard input",
        ),
        ("propset NAME VALUE URL", "set the property NAME of URL to VALUE"),
        (
            "propsetf NAME FILE URL",
            "set the property NAME of URL to the text of FILE",
        ),
        ("propdel NAME URL", "delete the property NAME of URL"),
    ] {
        text.push_str(&format!("  {action:23} : {about}\n"));
    }
    text.push_str("\nValid options:\n");
    let command = command();
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        text.push_str(&help::option_line(arg));
    }
    text
}

/// Parses the argument of `-r`: a number.
fn revision(text: &str) -> Result<Revnum> {
    let digits = text.trim_start_matches('r');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Revnum::parse(digits.as_bytes())
        .filter(|_| is_number)
        .ok_or_else(|| {
            let message = format!("Invalid revision number '{text}'");
            Error::new(Code::CL_ARG_PARSING_ERROR, message)
        })
}
