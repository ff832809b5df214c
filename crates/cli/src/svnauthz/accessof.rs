//! `svnauthz accessof`: prints the rights that an authz file grants to a user.

use std::ffi::OsString;
use std::process::ExitCode;

use base::{Code, Error, FsPath, Result};
use repos::authz::{Required, Rights, UserRights};

use super::target;
use crate::args::operand;
use crate::out::Out;

/// Prints or tests what an authz file grants.
///
/// The file is named as for 'validate'. Without '--username' the answer is about anonymous users. Without
/// '--path' it is the most that is granted anywhere in the repository.
///
/// The answer is 'rw' (read and write), 'r' (read) or 'no'.
///
/// Exit code: 0, or 1 if the syntax of the file is bad, 2 if there was no answer, 3 if the answer is not what
/// '--is' expects.
#[derive(clap::Args)]
#[command(override_usage = "1. accessof TARGET\n2. accessof -t TXN REPOS_PATH FILE_PATH")]
pub struct AccessofArgs {
    /// take the file from transaction ARG
    #[arg(short = 't', long)]
    transaction: Option<OsString>,
    /// ask about the user named ARG
    #[arg(long)]
    username: Option<OsString>,
    /// ask about the path ARG in the repository
    #[arg(long)]
    path: Option<OsString>,
    /// the repository's name in the file's sections
    #[arg(long)]
    repository: Option<OsString>,
    /// print nothing, but test whether the answer is ARG ('rw', 'r' or 'no')
    #[arg(long)]
    is: Option<OsString>,
    /// take the groups from the file ARG
    #[arg(long)]
    groups_file: Option<OsString>,
    /// ask about everything below the path, too
    #[arg(short = 'R', long)]
    recursive: bool,
    operands: Vec<OsString>,
}

impl AccessofArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<ExitCode> {
        let misuse = |message: String| {
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, message);
            Err(operand::misuse(out.program(), error))
        };
        let transaction = self.transaction.as_deref().map(operand::text).transpose()?;
        let transaction = transaction.as_deref();
        let is = self.is.as_deref().map(operand::text).transpose()?;
        let is = is.as_deref();
        let username = self.username.as_deref().map(operand::text).transpose()?;
        let username = username.as_deref();
        let path = self.path.as_deref().map(operand::text).transpose()?;
        let path = path.as_deref();
        let repository = self.repository.as_deref().map(operand::text).transpose()?;
        let repository = repository.as_deref();
        target::check_operands(transaction, &self.operands)?;
        if self.recursive && path.is_none() {
            return misuse("--recursive not valid without --path".into());
        }
        let expected = match is {
            None => None,
            Some("rw") => Some(Rights::Write),
            Some("r") => Some(Rights::Read),
            Some("no") => Some(Rights::None),
            Some(other) => return misuse(format!("'{other}' is not a valid argument for --is")),
        };
        let authz = target::read(out, transaction, &self.operands, self.groups_file.as_deref())?;
        let rights = authz.rights(repository, username);
        let typed = path;
        let path = typed.map(rule_path);
        let granted = match &path {
            None => rights.max_rights(),
            Some(path) => granted(&rights, path, self.recursive),
        };
        let Some(expected) = expected.filter(|_| is.is_some()) else {
            out.line(word(granted))?;
            return Ok(ExitCode::SUCCESS);
        };
        if granted == expected {
            return Ok(ExitCode::SUCCESS);
        }
        let (code, what) = match expected {
            Rights::Write => (Code::AUTHZ_UNWRITABLE, "not writable"),
            Rights::Read => (Code::AUTHZ_UNREADABLE, "not read only"),
            Rights::None => (Code::AUTHZ_PARTIALLY_READABLE, "not no access"),
        };
        let place = typed.map_or_else(|| "Repository".to_owned(), shown_path);
        let message = format!("{place} is '{}', {what}", word(granted));
        out.print_error(&Error::new(code, message));
        Ok(ExitCode::from(DIFFERENT))
    }
}

fn granted(rights: &UserRights, path: &FsPath, recursive: bool) -> Rights {
    if rights.allows(path, Required::Write, recursive) {
        Rights::Write
    } else if rights.allows(path, Required::Read, recursive) {
        Rights::Read
    } else {
        Rights::None
    }
}

fn word(rights: Rights) -> &'static str {
    match rights {
        Rights::Write => "rw",
        Rights::Read => "r",
        Rights::None => "no",
    }
}

/// Returns the path to look up. A path with `..` has the rights of the part before the `..`, because no rule can name
/// such a path.
fn rule_path(typed: &str) -> FsPath {
    let before: Vec<&str> = typed.split('/').take_while(|name| *name != "..").collect();
    FsPath::canonicalize(&before.join("/")).unwrap_or_else(|_| FsPath::root())
}

/// Returns the path for a message: `..` stays.
fn shown_path(typed: &str) -> String {
    let names = typed.split('/').filter(|name| !matches!(*name, "" | "."));
    let path = names.fold(String::new(), |path, name| path + "/" + name);
    if path.is_empty() { "/".to_owned() } else { path }
}

/// The exit code if the rights are not those that `--is` expects.
const DIFFERENT: u8 = 3;
