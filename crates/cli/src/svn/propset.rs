//! `svn propset`: sets a property of a revision.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Result};
use client::prop_rules::{self, PropOwner};
use client::propset::{self, RevpropEdit};

use super::options::{ChangelistOption, RecursiveOption, RevisionOption, TargetsOption};
use super::revprops;
use crate::client_context::log_message::charset::TextEncoding;
use crate::client_context::log_message::{existing_file, read_file};
use crate::client_context::target::{self, TypedTarget, not_a_working_copy};
use crate::client_context::url_targets::{are_urls, without_pegs};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Sets a property of a revision.
///
/// The old value is lost. The repository must have a hook that allows the change.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["pset", "ps"],
    override_usage = "propset PROPNAME --revprop -r REV [PROPVAL | -F VALFILE] URL"
)]
pub struct PropsetArgs {
    /// read the value from file ARG; '-' is standard input
    #[arg(short = 'F', long, value_parser = existing_file())]
    file: Option<OsString>,
    /// the value is in the character set ARG
    #[arg(long)]
    encoding: Option<String>,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    revision: RevisionOption,
    #[command(flatten)]
    targets: TargetsOption,
    #[command(flatten)]
    depth: RecursiveOption,
    /// work on a property of a revision
    #[arg(long)]
    revprop: bool,
    /// do not check the name and the value
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    changelist: ChangelistOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl PropsetArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        ClientContext::run(self.access.clone(), out, |context, out| self.work(context, out))
    }

    fn work(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let mut operands = self.operands.iter();
        let few = || Error::bare(Code::CL_INSUFFICIENT_ARGS);
        let first = operands.next().ok_or_else(few)?;
        if self.file.is_none() && operands.len() == 0 {
            return Err(few());
        }
        let name = &*out.charset().read_word(first)?;
        prop_rules::check_name(name)?;
        if !self.force {
            let owner = match self.revprop {
                true => PropOwner::Revision,
                false => PropOwner::Node,
            };
            prop_rules::check_reserved_name(name, owner, "set")?;
        }
        let value_word = match self.file {
            Some(_) => None,
            None => operands.next(),
        };
        let value = match (&self.file, value_word) {
            (Some(file), _) => read_file(file)?,
            (None, Some(word)) => word.as_bytes().to_vec(),
            (None, None) => return Err(few()),
        };
        let value = stored_form(name, value, self.encoding.as_deref(), out)?;
        let operands: Vec<OsString> = operands.cloned().collect();
        let targets = without_pegs(&target::read_targets(context, out, &operands, &self.targets)?)?;
        if !self.revprop {
            return Err(self.refuse_versioned(name, &targets, value_word));
        }
        let (mut session, rev) = revprops::open(context, &targets, &self.revision)?;
        let edit = RevpropEdit {
            name,
            value: Some(&value),
            expected: None,
            force: self.force,
        };
        out.set_output_optional();
        propset::set_revprop(&mut *session, rev, &edit)?;
        match self.quiet {
            true => Ok(()),
            false => out.line(&format!("property '{name}' set on repository revision {rev}")),
        }
    }

    /// The error for a property of a node, because there are no working copies.
    fn refuse_versioned(&self, name: &str, targets: &[TypedTarget], value: Option<&OsString>) -> Error {
        if self.revision.range().is_some() {
            let message = format!("Cannot specify revision for setting versioned property '{name}'");
            return Error::new(Code::CL_ARG_PARSING_ERROR, message);
        }
        if targets.is_empty() {
            let message = match value {
                Some(value) => format!(
                    "Explicit target required ('{}' interpreted as prop value)",
                    value.to_string_lossy()
                ),
                None => "Explicit target argument required".to_owned(),
            };
            return Error::new(Code::CL_INSUFFICIENT_ARGS, message);
        }
        refuse_urls(targets)
    }
}

/// The error for targets of a command that only works on working copies.
pub fn refuse_urls(targets: &[TypedTarget]) -> Error {
    match (are_urls(targets), targets.first()) {
        (Err(error), _) => error,
        (Ok(false), Some(first)) => not_a_working_copy(first.as_str()),
        (Ok(_), _) => Error::new(Code::ILLEGAL_TARGET, "Targets must be working copy paths"),
    }
}

/// Returns a value in the form that is stored: the text of Subversion's own properties in UTF-8 with line feeds.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` for a character set of another property; those of the character set.
pub fn stored_form(name: &str, value: Vec<u8>, encoding: Option<&str>, out: &Out) -> Result<Vec<u8>> {
    check_encoding(name, encoding)?;
    match prop_rules::is_text(name) {
        true => TextEncoding::new(encoding, out.charset()).read_text(&value),
        false => Ok(value),
    }
}

/// # Errors
/// `UNSUPPORTED_FEATURE` for a character set of a property whose value is not text.
pub fn check_encoding(name: &str, encoding: Option<&str>) -> Result<()> {
    if encoding.is_some() && !prop_rules::is_text(name) {
        let message = "--encoding option applies only to textual Subversion-controlled properties";
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
    }
    Ok(())
}
