//! Differences between two trees of a repository: `svn diff` without a working copy.
//!
//! A difference has two ends, each a URL in a revision ([`Comparison`]). `ends` finds the nodes there. The server then drives an
//! editor from the old end to the new one (`editor`); the old texts and properties come over a second session, because an edit has
//! only what is new. What the server deletes is read from the second session alone (`deleted`). Each changed node goes to a
//! `TreeSink`: [`print()`] prints it in the unified form, [`summarize`] passes a [`SummaryEntry`].
//!
//! Nodes are passed in the order of the edit, each directory after what is below it. That is the incumbent's order, which scripts and
//! readers know. Texts of more than a megabyte wait in temporary files.
//!
//! Two paths of the local disk that are in no working copy are compared without a server (`local`).
//!
//! What is absent: working copies, and programs that compare texts: the caller runs them ([`PrintOptions::external`]).

mod base85;
mod deleted;
mod editor;
mod ends;
mod git;
mod labels;
mod local;
mod old_side;
mod printer;
mod sessions;
mod summary;
mod text;
mod tree;

use base::{Cancel, Depth, Result, Revnum, Url};

use crate::locate::Revision;

use labels::Labels;
use printer::Printer;
use summary::{Summary, SummaryTarget};

pub use local::{LocalPaths, print_paths, summarize_paths};
pub use sessions::Sessions;
pub use summary::{SummaryAction, SummaryEntry};
pub use text::Text;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// One node in two revisions. Between them it may have moved.
    Node {
        /// The node's URL in the revision `peg`.
        url: Url,
        /// The revision in which the URL names the node.
        peg: Revision,
        /// The old revision.
        old: Revision,
        /// The new revision.
        new: Revision,
    },
    /// Two URLs, each in a revision.
    Urls {
        /// The old URL.
        old: Url,
        /// Its revision.
        old_rev: Revision,
        /// The new URL.
        new: Url,
        /// Its revision.
        new_rev: Revision,
    },
}

/// How trees are compared.
#[derive(Clone, Copy)]
pub struct TreeOptions<'a> {
    /// How deep. What is deleted is deleted with all below it.
    pub depth: Depth,
    /// Whether unrelated nodes at one path are a deletion and an addition.
    pub notice_ancestry: bool,
    /// The sessions.
    pub sessions: &'a Sessions<'a>,
    /// Ends the comparison.
    pub cancel: &'a Cancel,
}

/// How a difference is printed.
#[derive(Clone, Copy)]
pub struct PrintOptions<'a> {
    /// Which differences of texts count, and how they are shown.
    pub texts: &'a diff::DiffOptions,
    /// Compares texts instead, and prints the result.
    pub external: Option<&'a RunExternal<'a>>,
    /// Whether Git's extensions of the unified form are used.
    pub git: bool,
    /// Whether added files are only named.
    pub no_added: bool,
    /// Whether deleted files are only named.
    pub no_deleted: bool,
    /// Whether changes of properties are left out.
    pub ignore_properties: bool,
    /// Whether changes of texts are left out.
    pub properties_only: bool,
    /// Whether the texts of files with a binary MIME type are compared.
    pub force: bool,
    /// Converts headers to the character set of the output.
    pub encode: &'a dyn Fn(&str) -> Result<Vec<u8>>,
}

/// Runs a program that compares two texts.
pub type RunExternal<'a> = dyn Fn(&ExternalTexts<'_>) -> Result<()> + 'a;

/// Two texts for a program that compares them.
#[derive(Clone, Copy, Debug)]
pub struct ExternalTexts<'a> {
    /// The labels of the old and the new text.
    pub labels: [&'a str; 2],
    /// The old and the new text.
    pub texts: [&'a Text; 2],
}

/// Writes output.
pub type Write<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Compares two trees or files and prints the difference in the unified form.
///
/// # Errors
/// `FS_NOT_FOUND` if there is nothing at one of the ends, unless it is a deleted or an added node; those of the sessions, of `write` and
/// of the file system for long texts; `CANCELLED`.
pub fn print(
    comparison: &Comparison,
    tree: &TreeOptions<'_>,
    options: &PrintOptions<'_>,
    write: Write<'_>,
) -> Result<()> {
    let ends = ends::find(comparison, tree)?;
    let mut printer = Printer::new(Labels::new(&ends), options, tree.cancel, write);
    editor::compare(ends, tree, &mut printer)
}

/// Prints the changes that one revision made at and below a URL, which names the node in the revision `peg`: what `svn log --diff` shows.
///
/// # Errors
/// As of [`print()`].
pub fn print_revision(
    url: &Url,
    peg: Revision,
    rev: Revnum,
    tree: &TreeOptions<'_>,
    options: &PrintOptions<'_>,
    write: Write<'_>,
) -> Result<()> {
    let comparison = Comparison::Node {
        url: url.clone(),
        peg,
        old: Revision::Number(Revnum(rev.0.saturating_sub(1))),
        new: Revision::Number(rev),
    };
    print(&comparison, tree, options, write)
}

/// Compares two trees or files and passes each changed node to `entry`; with `ignore_properties` none of which only properties differ.
///
/// # Errors
/// As of [`print()`].
pub fn summarize(
    comparison: &Comparison,
    tree: &TreeOptions<'_>,
    ignore_properties: bool,
    entry: &mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>,
) -> Result<()> {
    let ends = ends::find(comparison, tree)?;
    let (Comparison::Node { url, .. } | Comparison::Urls { old: url, .. }) = comparison;
    let target = SummaryTarget::Url(url);
    let mut sink = Summary::new(target, ends.names_node(), ignore_properties, entry);
    editor::compare(ends, tree, &mut sink)
}
