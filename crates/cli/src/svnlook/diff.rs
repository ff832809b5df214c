//! `svnlook diff`: prints the changes of a revision as a patch.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use base::charset::Charset;
use base::{FsPath, NodeKind, Props, Result, props};
use diff::{DiffOptions, Labels};
use fsfs::{Node, Root};

use super::changed_tree::{ChangedEntry, ChangedTree, EntryChange, PreviousNode, VisitedEntry};
use super::lookup::{self, RootOption};
use crate::diff_program::{self, DiffProgram};
use crate::out::Out;

/// Prints what was changed, in files and in properties, as a patch in the
/// unified form.
#[derive(clap::Args)]
#[command(override_usage = "diff REPOS_PATH")]
pub struct DiffArgs {
    #[command(flatten)]
    target: RootOption,
    /// leave deleted files out
    #[arg(long)]
    no_diff_deleted: bool,
    /// leave added files out
    #[arg(long)]
    no_diff_added: bool,
    /// compare copies with what they were copied from
    #[arg(long)]
    diff_copy_from: bool,
    /// let the program ARG compare files
    #[arg(long)]
    diff_cmd: Option<OsString>,
    /// options for comparing files, separated by blanks. Without '--diff-cmd':
    ///   -u, --unified: 3 lines of context (default)
    ///   -U ARG, --context ARG: ARG lines of context
    ///   -b, --ignore-space-change: how much white
    ///     space there is does not count
    ///   -w, --ignore-all-space: white space does
    ///     not count
    ///   --ignore-eol-style: how lines end does not
    ///     count
    ///   -p, --show-c-function: name the C function
    ///     around each change
    #[arg(short = 'x', long, verbatim_doc_comment)]
    extensions: Option<OsString>,
    /// leave changes of properties out
    #[arg(long)]
    ignore_properties: bool,
    /// print changes of properties alone
    #[arg(long)]
    properties_only: bool,
    operands: Vec<OsString>,
}

impl DiffArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let root = self.target.root(&repository)?;
        let Some(tree) = ChangedTree::of(&root)? else {
            return Ok(());
        };
        let mut printer = DiffPrinter {
            new_label: TreeLabel::of(&root)?,
            root,
            options: self,
            out,
        };
        tree.visit(&mut |visited| printer.entry(&visited))
    }
}

/// The part of a file label that describes a tree.
struct TreeLabel {
    date: String,
    place: String,
}

impl TreeLabel {
    fn of(root: &Root) -> Result<Self> {
        let all = lookup::revision_props(root)?;
        let stored = lookup::shown(&all, props::DATE);
        let piece = |range: std::ops::Range<usize>| {
            let bytes = stored.as_bytes();
            let end = range.end.min(bytes.len());
            String::from_utf8_lossy(&bytes[range.start.min(end)..end]).into_owned()
        };
        Ok(TreeLabel {
            date: match stored.is_empty() {
                true => NO_DATE.to_owned(),
                // The stored form is sliced without parsing: `2026-11-21T19:21:59.…`.
                false => format!("{} {} UTC", piece(0..10), piece(11..19)),
            },
            place: match (root.revision(), root.txn_name()) {
                (Some(rev), _) => format!("(rev {rev})"),
                (None, txn) => format!("(txn {})", txn.unwrap_or_default()),
            },
        })
    }

    fn label(&self, path: &FsPath) -> String {
        format!("{}\t{} {}", path.rel_str(), self.date, self.place)
    }
}

struct DiffPrinter<'o> {
    root: Root,
    new_label: TreeLabel,
    options: DiffArgs,
    out: &'o mut Out,
}

impl DiffPrinter<'_> {
    fn entry(&mut self, visited: &VisitedEntry<'_>) -> Result<()> {
        let entry = visited.entry;
        // The old side is the copy's source or empty.
        let from_copy = entry.copyfrom.is_some() && self.options.diff_copy_from;
        let fresh = entry.action == EntryChange::Added && !from_copy;
        let wanted = match entry.action {
            EntryChange::Opened => entry.text_mod,
            EntryChange::Added if from_copy => entry.text_mod,
            EntryChange::Added => !self.options.no_diff_added,
            EntryChange::Deleted => !self.options.no_diff_deleted,
        };
        let mut shown = false;
        if wanted && entry.kind == NodeKind::File && !self.options.properties_only {
            shown = self.text(entry, &visited.fs_path(), &visited.before(), fresh)?;
        }
        if entry.prop_mod && entry.action != EntryChange::Deleted && !self.options.ignore_properties {
            self.props(&visited.fs_path(), &visited.before(), fresh, shown)?;
        }
        Ok(())
    }

    /// Prints the difference of a file's texts. Returns true if it printed the labels.
    fn text(
        &mut self,
        entry: &ChangedEntry,
        path: &FsPath,
        before: &PreviousNode,
        fresh: bool,
    ) -> Result<bool> {
        let old = if fresh { None } else { before.node()? };
        let new = match entry.action {
            EntryChange::Deleted => None,
            _ => Some(self.root.node(path)?),
        };
        let header = format!("{}{}\n{RULE}\n", action_label(entry), heading(entry, path));
        if is_binary(old.as_ref())? || is_binary(new.as_ref())? {
            self.header(&header)?;
            self.out.print("(Binary files differ)\n\n")?;
            return Ok(false);
        }
        let old_label = match fresh {
            true => format!("{}\t{NO_DATE} (rev 0)", path.rel_str()),
            false => TreeLabel::of(&before.root)?.label(&before.path),
        };
        let new_label = self.new_label.label(path);
        let old = text_of(old.as_ref())?;
        let new = text_of(new.as_ref())?;
        if let Some(program) = self.options.diff_cmd.clone() {
            self.header(&header)?;
            self.external(&program, [&old_label, &new_label], [&old, &new])?;
            self.out.print("\n")?;
            return Ok(true);
        }
        let words = self.options.extensions.as_deref().unwrap_or_default();
        // The incumbent does not convert them: errors show their bytes.
        let words = Charset::show_bytes(words.as_bytes());
        let options = DiffOptions::parse(words.split_ascii_whitespace())?;
        let charset = self.out.charset();
        let (old_label, new_label) = (charset.show(&old_label), charset.show(&new_label));
        let labels = Labels {
            old: &old_label,
            new: &new_label,
        };
        let patch = diff::unified(&old, &new, labels, &options);
        if patch.is_empty() {
            if !entry.prop_mod && entry.action != EntryChange::Opened {
                self.header(&header)?;
            }
            return Ok(false);
        }
        self.header(&header)?;
        self.out.raw(&patch)?;
        self.out.print("\n")?;
        Ok(true)
    }

    /// Prints lines with a path. As in the incumbent, a path that the character set lacks is an error, but in the C locale.
    fn header(&mut self, text: &str) -> Result<()> {
        let charset = self.out.charset();
        match charset.is_converted() {
            true => self.out.raw(&charset.write(text)?),
            false => self.out.print(text),
        }
    }

    /// Runs a program that compares two texts and writes to standard output.
    fn external(&mut self, program: &OsString, labels: [&str; 2], texts: [&[u8]; 2]) -> Result<()> {
        let file = |text: &[u8]| {
            diff_program::temporary_file(|file| {
                let outcome = file.write_all(text);
                outcome.map_err(|e| diff_program::write_failed(&e))
            })
        };
        let files = [file(texts[0])?, file(texts[1])?];
        let program = DiffProgram {
            name: program,
            extensions: self.options.extensions.as_deref(),
        };
        program.run(labels, [files[0].path(), files[1].path()], self.out)
    }

    fn props(&mut self, path: &FsPath, before: &PreviousNode, fresh: bool, shown: bool) -> Result<()> {
        let old = match before.node()? {
            Some(node) if !fresh => Props::clone(&*node.props()?),
            _ => Props::new(),
        };
        let new = self.root.node(path)?.props()?;
        let changes = props::diff(&old, &new);
        if changes.is_empty() {
            return Ok(());
        }
        let path_text = path.rel_str();
        if !shown {
            self.header(&format!("Index: {path_text}\n"))?;
            let header = format!(
                "{RULE}\n--- {}\n+++ {}\n",
                TreeLabel::of(&before.root)?.label(&before.path),
                self.new_label.label(path)
            );
            self.header(&header)?;
        }
        self.header(&format!("\nProperty changes on: {path_text}\n{PROPERTY_RULE}\n"))?;
        self.out.raw(&diff::property::section(&old, &changes))
    }
}

fn action_label(entry: &ChangedEntry) -> &'static str {
    match entry.action {
        EntryChange::Opened => "Modified: ",
        EntryChange::Deleted => "Deleted: ",
        EntryChange::Added if entry.copyfrom.is_some() => "Copied: ",
        EntryChange::Added => "Added: ",
    }
}

fn heading(entry: &ChangedEntry, path: &FsPath) -> String {
    match &entry.copyfrom {
        Some((rev, from)) => format!("{} (from rev {rev}, {})", path.rel_str(), from.rel_str()),
        None => path.rel_str().to_owned(),
    }
}

fn is_binary(node: Option<&Node>) -> Result<bool> {
    let Some(node) = node else {
        return Ok(false);
    };
    let kind = node.prop(props::MIME_TYPE)?;
    Ok(kind.is_some_and(|kind| props::mime_type_is_binary(&kind)))
}

fn text_of(node: Option<&Node>) -> Result<Vec<u8>> {
    match node {
        Some(node) => node.reader()?.read_all(),
        None => Ok(Vec::new()),
    }
}

/// The text in a label without a date.
const NO_DATE: &str = "                       ";
const RULE: &str = "===================================================================";
const PROPERTY_RULE: &str = "___________________________________________________________________";
