//! `svn diff`: compares trees of a repository.
//!
//! [`targets`] finds what is compared, [`output`] prints. `svn log --diff` shares the options of [`output`].

pub mod output;
mod targets;

use std::ffi::OsString;

use base::{Code, Depth, Error, NodeKind, Result};
use client::diff::{Sessions, SummaryAction, SummaryEntry, TreeOptions};

use self::output::{DiffOutput, TextOptions};
use self::targets::Input;
use super::options::{ChangelistOption, NonRecursiveOption, RevisionsOption};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::xml;

/// Prints the differences between two trees or files, in the unified form.
///
/// 1. What TARGETs, URLs, were in revision N and in revision M (default: HEAD). '-c M' is '-r M-1:M'. REV says in which revision
///    TARGET is to be found; before and after, it may have been somewhere else.
/// 2. OLD in revision OLDREV and NEW in revision NEWREV; N and M are their defaults, else HEAD. NEW is OLD if it is not given.
///    With PATHs, only what is at these paths below OLD and NEW.
/// 3. A shorter form of 2.
#[derive(clap::Args)]
#[command(
    override_usage = "1. diff [-c M | -r N[:M]] TARGET[@REV]...\n       2. diff [-r N[:M]] --old=OLD[@OLDREV] [--new=NEW[@NEWREV]] [PATH...]\n       3. diff OLD-URL[@OLDREV] NEW-URL[@NEWREV]",
    verbatim_doc_comment
)]
pub struct DiffArgs {
    #[command(flatten)]
    revisions: RevisionsOption,
    /// compare ARG, the older one
    #[arg(long)]
    old: Option<OsString>,
    /// compare '--old' with ARG, the newer one
    #[arg(long)]
    new: Option<OsString>,
    #[command(flatten)]
    depth: NonRecursiveOption,
    #[command(flatten)]
    texts: TextOptions,
    /// only name added files
    #[arg(long)]
    no_diff_added: bool,
    /// only name deleted files
    #[arg(long)]
    no_diff_deleted: bool,
    /// leave changes of properties out
    #[arg(long)]
    ignore_properties: bool,
    /// print changes of properties alone
    #[arg(long)]
    properties_only: bool,
    /// compare copied files with nothing
    #[arg(long)]
    show_copies_as_adds: bool,
    /// show unrelated nodes at one path as a deletion and an addition
    #[arg(long)]
    notice_ancestry: bool,
    /// list what differs
    #[arg(long)]
    summarize: bool,
    #[command(flatten)]
    changelists: ChangelistOption,
    /// compare the texts of binary files too
    #[arg(long)]
    force: bool,
    /// with '--summarize', print XML
    #[arg(long)]
    xml: bool,
    /// use Git's extensions of the unified form
    #[arg(long)]
    git: bool,
    /// print what other patch programs understand: '--show-copies-as-adds --ignore-properties'
    #[arg(long)]
    patch_compatible: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl DiffArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.compare(context, out))
    }

    fn compare(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        if self.xml && !self.summarize {
            let message = "'--xml' option only valid with '--summarize' option";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        if self.xml {
            out.print(xml::DECLARATION)?;
            out.print("<diff>\n<paths>\n")?;
        }
        if self.summarize {
            self.check_summary()?;
        }
        let range = self.revisions.ranges().first().copied();
        let comparisons = match (&self.old, &self.new) {
            (None, None) => targets::of_operands(context, out, &self.operands, range)?,
            (Some(old), new) => {
                targets::of_options(context, out, old, new.as_deref(), &self.operands, range)?
            }
            (None, Some(_)) => {
                let message = "'--new' option only valid with '--old' option";
                return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
            }
        };
        let open = |url: &_| context.open_without_redirects(url);
        let tree = TreeOptions {
            depth: self.depth.depth().unwrap_or(Depth::Infinity),
            // These forms do not show that one node became another one.
            notice_ancestry: self.notice_ancestry
                || self.git
                || self.show_copies_as_adds
                || self.patch_compatible,
            sessions: &Sessions::new(&open),
            cancel: context.cancel(),
        };
        let config = context.config();
        let texts = self.texts.with_config(config)?;
        let ignores_types = config
            .config
            .flag("miscellany", "diff-ignore-content-type", false)?;
        for comparison in comparisons {
            let comparison = comparison?;
            match self.summarize {
                true => self.summarize(&comparison, &tree, out)?,
                false => self.print(&comparison, &tree, (&texts, ignores_types), out)?,
            }
        }
        if self.xml {
            out.print("</paths>\n</diff>\n")?;
        }
        Ok(())
    }

    fn print(
        &self,
        comparison: &Input,
        tree: &TreeOptions<'_>,
        (texts, ignores_types): (&TextOptions, bool),
        out: &mut Out,
    ) -> Result<()> {
        let ignore_properties = self.ignore_properties || self.patch_compatible;
        if ignore_properties && self.properties_only {
            let message = "Cannot ignore properties and show only properties at the same time";
            return Err(Error::new(Code::INCORRECT_PARAMS, message));
        }
        let output = DiffOutput {
            git: self.git,
            no_added: self.no_diff_added,
            no_deleted: self.no_diff_deleted,
            ignore_properties,
            properties_only: self.properties_only,
            force: self.force || ignores_types,
            ..DiffOutput::new(texts)?
        };
        match comparison {
            Input::Repository(target) => {
                let comparison = target.resolve()?;
                output.print(out, |options, write| {
                    client::diff::print(&comparison, tree, options, write)
                })
            }
            Input::Local(paths) => output.print(out, |options, write| {
                client::diff::print_paths(paths, tree.depth, tree.cancel, options, write)
            }),
            Input::Refused(error) => Err(error.clone()),
        }
    }

    fn summarize(&self, comparison: &Input, tree: &TreeOptions<'_>, out: &mut Out) -> Result<()> {
        let ignore_properties = self.ignore_properties;
        let mut print = |entry: &SummaryEntry<'_>| match self.xml {
            true => print_xml_entry(entry, out),
            false => print_entry(entry, out),
        };
        match comparison {
            Input::Repository(target) => {
                client::diff::summarize(&target.resolve()?, tree, ignore_properties, &mut print)
            }
            Input::Local(paths) => {
                let (depth, cancel) = (tree.depth, tree.cancel);
                client::diff::summarize_paths(paths, depth, cancel, ignore_properties, &mut print)
            }
            Input::Refused(error) => Err(error.clone()),
        }
    }

    /// Refuses options that have no meaning in a summary.
    fn check_summary(&self) -> Result<()> {
        let given = [
            (self.git, "git"),
            (self.patch_compatible, "patch-compatible"),
            (self.show_copies_as_adds, "show-copies-as-adds"),
            (self.texts.internal_diff, "internal-diff"),
            (self.texts.diff_cmd.is_some(), "diff-cmd"),
            (self.no_diff_added, "no-diff-added"),
            (self.no_diff_deleted, "no-diff-deleted"),
            (self.force, "force"),
        ];
        match given.iter().find(|(is_given, _)| *is_given) {
            Some((_, name)) => {
                let message = format!("'--{name}' not valid with '--summarize' option");
                Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
            }
            None => Ok(()),
        }
    }
}

fn print_entry(entry: &SummaryEntry<'_>, out: &mut Out) -> Result<()> {
    let text = match entry.action {
        SummaryAction::Added => 'A',
        SummaryAction::Deleted => 'D',
        SummaryAction::Modified => 'M',
        SummaryAction::Normal => ' ',
    };
    let props = if entry.props { 'M' } else { ' ' };
    out.line(&format!("{text}{props}      {}", entry.target))
}

fn print_xml_entry(entry: &SummaryEntry<'_>, out: &mut Out) -> Result<()> {
    let item = match entry.action {
        SummaryAction::Added => "added",
        SummaryAction::Deleted => "deleted",
        SummaryAction::Modified => "modified",
        SummaryAction::Normal => "none",
    };
    let kind = match entry.kind {
        NodeKind::Dir => "dir",
        _ => "file",
    };
    let props = if entry.props { "modified" } else { "none" };
    let attributes = [("item", item), ("props", props), ("kind", kind)];
    out.xml(&xml::tag("path", &attributes, ">"))?;
    out.xml(&format!("{}</path>\n", xml::text(entry.target)))
}
