//! What the tool tells on standard error.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use base::shown_bytes;
use repos::dump::FilterRule;
use repos::filter_stream::{DropRevisions, FilterObserver, FilterOptions, FilterSummary, RevisionMapping};

use crate::out::Out;

/// Prints the progress and the summary of a filter, unless it is quiet.
pub struct Report<'o> {
    out: &'o mut Out,
    quiet: bool,
    /// The paths of the nodes that were left out.
    dropped: HashSet<Vec<u8>>,
}

impl<'o> Report<'o> {
    pub fn new(out: &'o mut Out, quiet: bool) -> Self {
        Report {
            out,
            quiet,
            dropped: HashSet::new(),
        }
    }

    /// Prints the prefixes.
    pub fn start(&mut self, options: &FilterOptions) {
        let verb = match options.nodes.rule {
            FilterRule::Include => "Including",
            FilterRule::Exclude => "Excluding",
        };
        let revisions = match options.drop_revisions {
            DropRevisions::None => "",
            DropRevisions::Emptied | DropRevisions::Empty => " (and dropping empty revisions for)",
        };
        let noun = match options.nodes.glob {
            true => "prefix patterns",
            false => "prefixes",
        };
        let mut text = format!("{verb}{revisions} {noun}:\n");
        for prefix in &options.nodes.patterns {
            text.push_str(&format!("   '{prefix}'\n"));
        }
        text.push('\n');
        self.print(&text);
    }

    /// Prints the summary.
    pub fn finish(mut self, summary: &FilterSummary) {
        if self.quiet {
            return;
        }
        let mut text = String::from("\n");
        let dropped = summary.dropped_revisions;
        if dropped > 0 {
            let plural = if dropped == 1 { "" } else { "s" };
            text.push_str(&format!("Dropped {dropped} revision{plural}.\n\n"));
        }
        if let Some(mappings) = &summary.renumbered {
            text.push_str("Revisions renumbered as follows:\n");
            for (original, mapping) in mappings {
                text.push_str(&match mapping {
                    RevisionMapping::Written(actual) => format!("   {original} => {actual}\n"),
                    RevisionMapping::Dropped(_) => format!("   {original} => (dropped)\n"),
                });
            }
            text.push('\n');
        }
        let mut paths: Vec<Vec<u8>> = self.dropped.drain().collect();
        paths.sort_unstable_by(|a, b| tree_order(a, b));
        if !paths.is_empty() {
            let plural = if paths.len() == 1 { "" } else { "s" };
            text.push_str(&format!("Dropped {} node{plural}:\n", paths.len()));
            for path in paths {
                text.push_str(&format!("   '{}'\n", shown_bytes(&path)));
            }
            text.push('\n');
        }
        self.print(&text);
    }

    /// Prints each line on its own: a character that the character set lacks has an effect on one.
    fn print(&mut self, text: &str) {
        if !self.quiet {
            let charset = self.out.charset();
            let lines = text.split_inclusive('\n').map(|line| charset.show(line));
            let shown: Vec<u8> = lines.flat_map(Cow::into_owned).collect();
            self.out.raw_stderr(&shown);
        }
    }
}

impl FilterObserver for Report<'_> {
    fn committed(&mut self, original: i64, actual: i64) {
        self.print(&format!("Revision {original} committed as {actual}.\n"));
    }

    fn skipped(&mut self, original: i64) {
        self.print(&format!("Revision {original} skipped.\n"));
    }

    fn dropped_node(&mut self, path: &[u8]) {
        if !self.quiet && !self.dropped.contains(path) {
            self.dropped.insert(path.to_vec());
        }
    }
}

/// Children come directly after their parent.
fn tree_order(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |byte: &u8| match byte {
        b'/' => 0,
        byte => u16::from(*byte) + 1,
    };
    a.iter().map(rank).cmp(b.iter().map(rank))
}
