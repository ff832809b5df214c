//! `sven import-config`: writes a configuration file that serves what Apache or svnserve serves now.
//!
//! Settings that cannot be translated become remarks in the file, with their file and line. An administrator reads
//! the result, and then checks it with `sven check-config`.
//!
//! [`syntax`] parses Apache's files, [`hosts`] finds the directives of each location, [`location`], [`ldap`],
//! [`access`], [`address`], [`redirects`], [`closed`] and [`server_tables`] translate them, [`directives`] lists the
//! directives that need no translation. [`svnserve`] translates the options and files of svnserve. [`draft`] is the
//! result.

mod access;
mod address;
mod apache;
mod closed;
mod directives;
mod draft;
mod glob;
mod hosts;
mod ldap;
mod location;
mod redirects;
mod server_tables;
mod svnserve;
mod syntax;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::out::Out;
use crate::own_command;
use draft::TableDraft;

/// Writes a configuration file for what Apache or svnserve serves.
#[derive(Debug, Parser)]
#[command(name = "import-config")]
pub struct ImportConfigArgs {
    /// read Apache's configuration from file ARG: apache2.conf or httpd.conf with all that they include, or a site's alone. May be
    /// given several times
    #[arg(long, value_name = "FILE")]
    apache: Vec<PathBuf>,
    /// what relative names in Apache's files are relative to, unless ServerRoot says it; by default the folder of the first
    #[arg(long, value_name = "DIR")]
    server_root: Option<PathBuf>,
    /// define NAME or NAME=VALUE, as Apache's option -D does
    #[arg(short = 'D', long, value_name = "NAME")]
    define: Vec<String>,
    /// read an svnserve.conf from file ARG. May be given several times
    #[arg(long, value_name = "FILE")]
    svnserve: Vec<PathBuf>,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    options: Vec<OsString>,
}

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: ImportConfigArgs, out| {
        given.run(out).map(|()| ExitCode::SUCCESS)
    })
}

impl ImportConfigArgs {
    fn run(&self, out: &mut Out) -> Result<(), ArgumentError> {
        if self.help {
            return Ok(out.print(&help())?);
        }
        let from_svnserve = !self.svnserve.is_empty() || !self.options.is_empty();
        if self.apache.is_empty() && !from_svnserve {
            return Err(ArgumentError::Plain(
                "Give --apache FILE, --svnserve FILE, or both.".to_owned(),
            ));
        }
        if let Some(word) = self.options.first()
            && !word.as_encoded_bytes().starts_with(b"-")
        {
            let word = word.to_string_lossy();
            return Err(ArgumentError::Plain(format!(
                "'{word}' is no option of svnserve."
            )));
        }
        let mut tables = apache::translated(&self.apache, &self.define, self.server_root.as_deref())?;
        if from_svnserve {
            tables.extend(svnserve::translated(&self.svnserve, &self.options)?);
        }
        let text = composed(tables);
        Ok(out.print(&text)?)
    }
}

/// Returns the file: first the tables that occur once, then locations and redirects with their subtables.
fn composed(tables: Vec<(TableDraft, bool)>) -> String {
    let mut once: Vec<(TableDraft, bool)> = Vec::new();
    let mut locations: Vec<(TableDraft, bool)> = Vec::new();
    for (table, in_force) in tables {
        if table.head.starts_with("[[") || table.head.contains("location") {
            locations.push((table, in_force));
            continue;
        }
        match once.iter_mut().find(|(known, _)| known.head == table.head) {
            Some((known, _)) => known.join(table),
            None => once.push((table, in_force)),
        }
    }
    let mut text =
        String::from("# Written by sven import-config. See what 'sven check-config' says of it.\n");
    for (table, in_force) in once.into_iter().chain(locations) {
        let shown = table.shown(in_force);
        if !shown.is_empty() {
            text.push('\n');
            text.push_str(&shown);
        }
    }
    text
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven import-config --apache FILE... [--svnserve FILE...] [-- SVNSERVE-OPTIONS]\n\
         Writes to standard output a configuration file for 'sven serve' that serves what\n\
         Apache or svnserve serve now. What could not be carried over is said in it, with\n\
         the place where it stands. The options with which svnserve is started come\n\
         after '--': sven import-config -- -d -r /srv/svn\n\n",
    );
    text.push_str(&options(&ImportConfigArgs::command()));
    text
}
