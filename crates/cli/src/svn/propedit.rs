//! `svn propedit`: edits a property of a node or a revision in a repository, with the user's editor.

use std::ffi::OsString;
use std::path::Path;

use base::{Code, Error, Result, Url};
use client::prop_rules::{self, PropOwner};
use client::propset::{self, PropChange, PropTarget, RevpropEdit};

use super::commit_output::print_committed;
use super::options::{RevisionOption, TargetsOption};
use super::propset::check_encoding;
use super::revprops;
use crate::args::date;
use crate::client_context::log_message::charset::TextEncoding;
use crate::client_context::log_message::editor::{self, EditRequest};
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target::{self, TypedTarget};
use crate::client_context::url_targets::without_pegs;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Edits a property of files and directories, or of a revision, with an editor.
///
/// Each target is a commit of its own.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["pedit", "pe"],
    override_usage = "1. propedit PROPNAME URL...\n2. propedit PROPNAME --revprop -r REV URL"
)]
pub struct PropeditArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// work on a property of a revision
    #[arg(long)]
    revprop: bool,
    #[command(flatten)]
    log: LogMessageOptions,
    /// do not check the name and the value
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// Returns the shell command of the editor.
type EditorCommand<'a> = &'a dyn Fn() -> Result<OsString>;

impl PropeditArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        })
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        let Some((first, operands)) = self.operands.split_first() else {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        };
        let name = &*out.charset().read_word(first)?;
        prop_rules::check_name(name)?;
        if !self.force {
            let owner = match self.revprop {
                true => PropOwner::Revision,
                false => PropOwner::Node,
            };
            prop_rules::check_reserved_name(name, owner, "edit")?;
        }
        message.use_context(context)?;
        let configured = context.config().config.text("helpers", "editor-cmd")?;
        let editor = || editor::command(self.log.editor_cmd.as_deref(), configured.as_deref());
        check_encoding(name, self.log.text.encoding.as_deref())?;
        let targets = target::read_targets(context, out, operands, &TargetsOption::default())?;
        if self.revprop {
            return self.edit_revprop(context, name, &targets, &editor, out);
        }
        if self.revision.start().is_some() {
            let message = format!("Cannot specify revision for editing versioned property '{name}'");
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        if targets.is_empty() {
            let message = "Explicit target argument required";
            return Err(Error::new(Code::CL_INSUFFICIENT_ARGS, message));
        }
        for target in without_pegs(&targets)? {
            let url = target.url()?;
            self.edit_node(context, (name, &url), message, &editor, out)?;
        }
        Ok(())
    }

    fn edit_node(
        &self,
        context: &ClientContext,
        (name, url): (&str, &Url),
        message: &mut LogMessage,
        editor: EditorCommand<'_>,
        out: &mut Out,
    ) -> Result<()> {
        let target = PropTarget::open(context.open_without_redirects(url)?, name)?;
        let old = target.value(name).unwrap_or_default().to_vec();
        let edited = self.edit((name, &old), Path::new(""), editor, out)?;
        // A file that was only written again is no reason for a revision, not even if the property is missing and the file empty.
        let Some(value) = edited.filter(|value| *value != old) else {
            return out.line(&format!("No changes to property '{name}' on '{url}'"));
        };
        if prop_rules::seems_to_turn_off(name, &value) {
            out.warning(&not_turned_off(name, &value))?;
        }
        let change = PropChange {
            name,
            value: &value,
            skip_checks: self.force,
            parse_date: &|text| date::parse(text),
        };
        let set = target.set(change, &mut |items| message.describe(items));
        let Some(info) = message.finish(set)? else {
            return Ok(());
        };
        out.line(&format!("Set new value for property '{name}' on '{url}'"))?;
        print_committed(out, &info)
    }

    fn edit_revprop(
        &self,
        context: &ClientContext,
        name: &str,
        targets: &[TypedTarget],
        editor: EditorCommand<'_>,
        out: &mut Out,
    ) -> Result<()> {
        let (mut session, rev) = revprops::open(context, targets, &self.revision)?;
        let old = session.revprop(rev, name)?;
        let folder = tempfile::env::temp_dir();
        let edited = self.edit((name, old.as_deref().unwrap_or_default()), &folder, editor, out)?;
        let Some(value) = edited else {
            return out.line(&format!("No changes to property '{name}' on revision {rev}"));
        };
        let edit = RevpropEdit {
            name,
            value: Some(&value),
            expected: Some(old.as_deref()),
            force: self.force,
        };
        propset::set_revprop(&mut *session, rev, &edit)?;
        out.line(&format!("Set new value for property '{name}' on revision {rev}"))
    }

    /// Runs the editor with a value, and returns the new one if it was changed.
    fn edit(
        &self,
        (name, old): (&str, &[u8]),
        folder: &Path,
        editor: EditorCommand<'_>,
        out: &mut Out,
    ) -> Result<Option<Vec<u8>>> {
        let encoding = TextEncoding::new(self.log.text.encoding.as_deref(), out.charset());
        let is_text = prop_rules::is_text(name);
        let text = match std::str::from_utf8(old) {
            // What the character set lacks would be lost when the value is read back.
            Ok(text) if is_text => encoding.write_exactly(text)?,
            _ => old.to_vec(),
        };
        out.flush()?;
        let request = EditRequest {
            command: &editor()?,
            folder,
            name: "svn-prop",
            text: &text,
        };
        match request.run_once()? {
            Some(bytes) if is_text => encoding
                .read_text(&bytes)
                .map(Some)
                .map_err(|error| error.context("Error normalizing edited contents to internal format")),
            edited => Ok(edited),
        }
    }
}

/// The warning about a value that turns nothing off.
fn not_turned_off(name: &str, value: &[u8]) -> Error {
    let value = String::from_utf8_lossy(value);
    let message = format!(
        "To turn off the {name} property, use 'svn propdel';\nsetting the property to '{value}' will not turn it off."
    );
    Error::new(Code::BAD_PROPERTY_VALUE, message)
}
