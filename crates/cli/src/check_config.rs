//! `sven check-config`: checks whether `sven serve --config FILE` would start, and prints what it would serve.
//!
//! Mistakes go to standard error, each with file and line, and make the exit code 1. Warnings do not change the exit
//! code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::Result;
use clap::{CommandFactory as _, Parser};

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::config::address::ListenAddress;
use crate::config::file::LocationTable;
use crate::config::value::OneOrMany;
use crate::config::{Config, files};
use crate::out::Out;
use crate::own_command;

/// Looks for mistakes in a configuration file.
#[derive(Debug, Parser)]
#[command(name = "check-config")]
pub struct CheckConfigArgs {
    /// say nothing unless something is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    file: Vec<PathBuf>,
}

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: CheckConfigArgs, out| {
        if given.help {
            return Ok(out.print(&help()).map(|()| ExitCode::SUCCESS)?);
        }
        let [path] = &given.file[..] else {
            return Err(ArgumentError::Plain("Give the file to check.".to_owned()));
        };
        Ok(check(path, given.quiet, out)?)
    })
}

fn check(path: &Path, quiet: bool, out: &mut Out) -> Result<ExitCode> {
    let config = match Config::read(path) {
        Ok(config) => config,
        Err(mistakes) => {
            out.print_stderr(&format!("{mistakes}\n"));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut found = files::check(&config);
    for warning in &mut found.warnings {
        warning.text.insert_str(0, "warning: ");
    }
    for list in [found.warnings, found.mistakes.clone()] {
        if !list.is_empty() {
            out.print_stderr(&format!("{}\n", config.wrong(list)));
        }
    }
    if !found.mistakes.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if !quiet {
        print_plan(&config, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what would be served.
fn print_plan(config: &Config, out: &mut Out) -> Result<()> {
    let file = &config.file;
    if let Some(root) = &file.serve.root {
        let default = (file.listen.http.is_none() && file.listen.https.is_none())
            .then(|| OneOrMany(vec![String::new()]));
        for address in urls("svn", 3690, file.listen.svn.as_ref().or(default.as_ref())) {
            out.line(&format!(
                "{address} serves {}",
                config.absolute_path(root).display()
            ))?;
        }
    }
    let mut listeners = urls("http", 80, file.listen.http.as_ref());
    listeners.extend(urls("https", 443, file.listen.https.as_ref()));
    for url in &listeners {
        for location in &file.location {
            let path = location.path.as_deref().unwrap_or("/").trim_end_matches('/');
            out.line(&format!(
                "{}{path}/ serves {}",
                url.trim_end_matches('/'),
                describe(config, location)
            ))?;
        }
        for redirect in &file.redirect {
            let (from, to) = (redirect.from.as_deref(), redirect.to.as_deref());
            let from = from.unwrap_or("/").trim_end_matches('/');
            out.line(&format!(
                "{}{from}/ has moved to {}",
                url.trim_end_matches('/'),
                to.unwrap_or_default()
            ))?;
        }
        if let (true, Some(root)) = (file.location.is_empty(), &file.serve.root) {
            out.line(&format!("{url} serves {}", config.absolute_path(root).display()))?;
        }
    }
    if listeners.is_empty() && !file.location.is_empty() {
        out.line("Locations are not served: [listen] names neither http nor https.")?;
    }
    out.line(&format!("{}: no mistakes.", config.path().display()))
}

fn describe(config: &Config, location: &LocationTable) -> String {
    match (&location.repository, &location.parent) {
        (Some(repository), _) => format!("the repository {}", config.absolute_path(repository).display()),
        (None, Some(parent)) => format!(
            "the repositories below {}",
            config.absolute_path(parent).display()
        ),
        (None, None) => "nothing".to_owned(),
    }
}

/// Returns the URLs of the addresses in `list`.
fn urls(scheme: &str, port: u16, list: Option<&OneOrMany>) -> Vec<String> {
    let texts = list.into_iter().flat_map(|list| &list.0);
    let addresses = texts.filter_map(|text| ListenAddress::parse(text, port).ok());
    addresses
        .map(|address| {
            let host = match &address.host {
                None => "*".to_owned(),
                Some(host) if host.contains(':') => format!("[{host}]"),
                Some(host) => host.clone(),
            };
            match address.port == port {
                true => format!("{scheme}://{host}/"),
                false => format!("{scheme}://{host}:{}/", address.port),
            }
        })
        .collect()
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven check-config FILE\n\
         Looks for mistakes in a configuration file of 'sven serve' and in the files that\n\
         it names, and says what would be served. Run it as the user who will serve.\n\
         The exit code is 1 if something must be mended.\n\n",
    );
    text.push_str(&options(&CheckConfigArgs::command()));
    text
}
