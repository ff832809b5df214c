//! Prints a difference in the unified form.

use base::{Cancel, Code, Error, PropChange, Props, RelPath, Result, props};

use super::git;
use super::labels::Labels;
use super::tree::{Action, DirectoryChange, FileChange, FileSide, Needs, TreeSink};
use super::{ExternalTexts, PrintOptions, Write};

/// Prints changed nodes.
pub(super) struct Printer<'a> {
    labels: Labels,
    options: &'a PrintOptions<'a>,
    cancel: &'a Cancel,
    write: Write<'a>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(
        labels: Labels,
        options: &'a PrintOptions<'a>,
        cancel: &'a Cancel,
        write: Write<'a>,
    ) -> Printer<'a> {
        Printer {
            labels,
            options,
            cancel,
            write,
        }
    }

    /// Writes text in the character set of the output.
    fn print(&mut self, text: &str) -> Result<()> {
        let bytes = (self.options.encode)(text)?;
        (self.write)(&bytes)
    }

    /// Writes the line `Index:` and the rule below it.
    fn index(&mut self, path: &RelPath, note: &str) -> Result<()> {
        let index = self.labels.index(path).to_owned();
        self.print(&format!("Index: {index}{note}\n{RULE}\n"))
    }

    /// Names a file whose difference is not wanted. Returns false if it is wanted.
    fn only_named(&mut self, path: &RelPath, action: Action) -> Result<bool> {
        let note = match action {
            Action::Added if self.options.no_added => " (added)",
            Action::Deleted if self.options.no_deleted => " (deleted)",
            _ => return Ok(false),
        };
        self.index(path, note)?;
        Ok(true)
    }

    fn git_header(
        &mut self,
        path: &RelPath,
        action: Action,
        props: [&Props; 2],
        with_mode: bool,
    ) -> Result<()> {
        let path = self.labels.git_path(path)?;
        self.print(&git::header(path.as_str(), action, props, with_mode))
    }

    /// Writes what precedes the difference of a file's texts; it ends with `link_index`, which a changed link has in Git's form.
    fn header(&mut self, change: &FileChange<'_>, link_index: Option<&str>) -> Result<()> {
        self.index(change.path, "")?;
        if self.options.git {
            self.git_header(change.path, change.action, props_of(change), true)?;
        }
        (self.write)(link_index.unwrap_or_default().as_bytes())
    }

    /// As [`Printer::texts`], with links as Git has them if its form is wanted.
    fn texts_or_links(&mut self, change: &FileChange<'_>) -> Result<bool> {
        if !self.options.git {
            return self.texts(change, None);
        }
        let (old, new) = (git::link(change.old)?, git::link(change.new)?);
        let link_index = match (&old, &new) {
            (Some(old), Some(new)) => Some(git::link_index(old, new)?),
            _ => None,
        };
        let change = FileChange {
            old: old.as_ref().unwrap_or(change.old),
            new: new.as_ref().unwrap_or(change.new),
            ..*change
        };
        self.texts(&change, link_index.as_deref())
    }

    /// Prints the difference of a file's texts. Returns true if there is a header. For `link_index` see [`Printer::header`].
    fn texts(&mut self, change: &FileChange<'_>, link_index: Option<&str>) -> Result<bool> {
        let (old, new) = (change.old, change.new);
        let mime_types = [old, new].map(binary_type);
        let is_binary = mime_types.iter().any(Option::is_some);
        if is_binary && !self.options.force {
            self.header(change, link_index)?;
            match self.options.git {
                true => git::binary(&old.text, &new.text, self.write)?,
                false => self.binary(mime_types)?,
            }
            return Ok(true);
        }
        if let Some(run) = self.options.external {
            // A program does not know Git's form.
            self.index(change.path, "")?;
            let labels = self.labels.pair(change.path, change.action, false)?;
            let texts = ExternalTexts {
                labels: [&labels[0], &labels[1]],
                texts: [&old.text, &new.text],
            };
            run(&texts)?;
            return Ok(true);
        }
        let hunks = self.hunks(change)?;
        let is_named = match change.action {
            Action::Added => true,
            Action::Deleted => self.options.git,
            Action::Modified => false,
        };
        if hunks.is_empty() && !is_named && link_index.is_none() {
            return Ok(false);
        }
        self.header(change, link_index)?;
        if !hunks.is_empty() {
            self.labels(change.path, change.action)?;
            (self.write)(&hunks)?;
        }
        Ok(true)
    }

    /// Compares the texts of a file.
    fn hunks(&self, change: &FileChange<'_>) -> Result<Vec<u8>> {
        let (old, new) = (change.old, change.new);
        if old.text.equals(&new.text)? && !self.options.git {
            return Ok(Vec::new());
        }
        let (old_text, new_text) = (old.text.bytes()?, new.text.bytes()?);
        let go_on = || !self.cancel.is_cancelled();
        diff::hunks_while(&old_text, &new_text, self.options.texts, &go_on)
            .ok_or_else(|| cancelled(self.cancel))
    }

    fn binary(&mut self, mime_types: [Option<&[u8]>; 2]) -> Result<()> {
        let shown = match mime_types {
            [None, None] => Vec::new(),
            [Some(one), None] | [None, Some(one)] => one.to_vec(),
            [Some(old), Some(new)] if old == new => new.to_vec(),
            [Some(old), Some(new)] => [b"(", old, b", ", new, b")"].concat(),
        };
        let shown = String::from_utf8_lossy(&shown).into_owned();
        self.print(&format!(
            "Cannot display: file marked as a binary type.\nsvn:mime-type = {shown}\n"
        ))
    }

    /// Prints the changes of properties below the header.
    fn properties(&mut self, path: &RelPath, old: &Props, changes: &[PropChange]) -> Result<()> {
        let path = match self.options.git {
            true => self.labels.git_path(path)?.as_str().to_owned(),
            false => self.labels.index(path).to_owned(),
        };
        self.print(&format!("\nProperty changes on: {path}\n{PROPERTY_RULE}\n"))?;
        let go_on = || !self.cancel.is_cancelled();
        let section = diff::property::section_with_merges(old, changes, &go_on);
        (self.write)(&section.ok_or_else(|| cancelled(self.cancel))?)
    }

    /// Writes what precedes the changes of properties of a node whose properties alone differ.
    fn properties_header(&mut self, path: &RelPath, action: Action, props: [&Props; 2]) -> Result<()> {
        self.index(path, "")?;
        if self.options.git {
            self.git_header(path, action, props, false)?;
        }
        self.labels(path, action)
    }

    fn labels(&mut self, path: &RelPath, action: Action) -> Result<()> {
        let [old, new] = self.labels.pair(path, action, self.options.git)?;
        self.print(&format!("--- {old}\n+++ {new}\n"))
    }
}

impl TreeSink for Printer<'_> {
    fn needs(&self, action: Action) -> Needs {
        let is_named = match action {
            Action::Added => self.options.no_added,
            Action::Deleted => self.options.no_deleted,
            Action::Modified => false,
        };
        Needs {
            // The MIME type is a property.
            props: !is_named,
            text: !is_named && !self.options.properties_only,
        }
    }

    fn file(&mut self, change: &FileChange<'_>) -> Result<()> {
        self.cancel.check()?;
        if self.only_named(change.path, change.action)? {
            return Ok(());
        }
        let has_header = change.text && !self.options.properties_only && self.texts_or_links(change)?;
        if self.options.ignore_properties {
            return Ok(());
        }
        let changes = props::diff(&change.old.props, &change.new.props);
        if changes.is_empty() {
            return Ok(());
        }
        if !has_header {
            self.properties_header(change.path, change.action, props_of(change))?;
        }
        self.properties(change.path, &change.old.props, &changes)
    }

    fn directory(&mut self, change: &DirectoryChange<'_>) -> Result<()> {
        let changes = props::diff(change.old, change.new);
        if changes.is_empty() || self.options.ignore_properties || !self.needs(change.action).props {
            return Ok(());
        }
        self.properties_header(change.path, change.action, [change.old, change.new])?;
        self.properties(change.path, change.old, &changes)
    }
}

fn props_of<'a>(change: &'a FileChange<'_>) -> [&'a Props; 2] {
    [&change.old.props, &change.new.props]
}

/// Returns the MIME type of a side, if it is binary.
fn binary_type(side: &FileSide) -> Option<&[u8]> {
    let of = side.props.get(props::MIME_TYPE).map(Vec::as_slice);
    of.filter(|of| props::mime_type_is_binary(of))
}

fn cancelled(cancel: &Cancel) -> Error {
    let error = cancel.check().err();
    error.unwrap_or_else(|| Error::bare(Code::CANCELLED))
}

const RULE: &str = "===================================================================";
const PROPERTY_RULE: &str = "___________________________________________________________________";
