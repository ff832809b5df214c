//! Entries of a log as text.

use std::fmt::Write as _;

use base::{Date, Result, Revnum, props};
use ra::LogEntry;

use super::search::SearchOptions;
use super::value;
use crate::date_text;
use crate::out::Out;
use base::charset::Charset;

/// Prints entries as text.
pub struct PlainLog<'a> {
    /// Omits the messages.
    pub quiet: bool,
    /// Which entries are printed.
    pub search: &'a SearchOptions,
    /// The revisions whose merged entries are being printed, outermost first.
    merged_via: Vec<Revnum>,
}

impl<'a> PlainLog<'a> {
    /// Returns the printer for one log.
    pub fn new(quiet: bool, search: &'a SearchOptions) -> PlainLog<'a> {
        PlainLog {
            quiet,
            search,
            merged_via: Vec::new(),
        }
    }

    /// Prints an entry; true if it is one that is shown.
    pub fn entry(&mut self, entry: &LogEntry, out: &mut Out) -> Result<bool> {
        let Some(rev) = entry.rev else {
            self.merged_via.pop();
            return Ok(false);
        };
        let message = value(&entry.revprops, props::LOG);
        if rev == Revnum::ZERO && message.is_none() {
            return Ok(false);
        }
        let author = value(&entry.revprops, props::AUTHOR).unwrap_or(b"(no author)");
        let date = shown_date(value(&entry.revprops, props::DATE));
        let message = message.unwrap_or_default();
        let is_shown = self.search.shows(&super::searched(
            entry,
            [Some(author), Some(date.as_bytes()), Some(message)],
        ));
        if is_shown {
            let mut text = format!("{SEPARATOR}\nr{rev} | {} | {date}", Charset::show_bytes(author));
            if !self.quiet {
                let lines = lines(message);
                let _ = write!(text, " | {lines} line{}", if lines == 1 { "" } else { "s" });
            }
            text.push('\n');
            push_changes(entry, &mut text);
            self.push_merged_via(entry, &mut text);
            out.print_lines(&text)?;
            if !self.quiet {
                out.print("\n")?;
                out.print(&Charset::show_bytes(message))?;
                out.print("\n")?;
            }
            out.flush_soon()?;
        }
        if entry.has_children {
            self.merged_via.push(rev);
        }
        Ok(is_shown)
    }

    fn push_merged_via(&self, entry: &LogEntry, text: &mut String) {
        let Some((first, rest)) = self.merged_via.split_first() else {
            return;
        };
        let what = match entry.subtractive_merge {
            true => "Reverse merged via:",
            false => "Merged via:",
        };
        let _ = write!(text, "{what} r{first}");
        for rev in rest {
            let _ = write!(text, ", r{rev}");
        }
        text.push('\n');
    }
}

fn push_changes(entry: &LogEntry, text: &mut String) {
    if entry.changes.is_empty() {
        return;
    }
    text.push_str("Changed paths:\n");
    for change in super::sorted_changes(entry) {
        let _ = write!(text, "   {} {}", change.action.letter(), change.path.as_str());
        if let Some((path, rev)) = &change.copyfrom {
            let _ = write!(text, " (from {}:{rev})", path.as_str());
        }
        text.push('\n');
    }
}

fn shown_date(value: Option<&[u8]>) -> String {
    match value {
        None | Some(b"") => "(no date)".to_owned(),
        Some(value) => Date::parse(value).map_or_else(|_| "(invalid date)".to_owned(), date_text::human),
    }
}

/// Returns the number of lines of a message: one more than it has line ends of any kind.
fn lines(message: &[u8]) -> usize {
    let is_end = |at: &usize| message[*at] == b'\n' || message.get(at + 1) != Some(&b'\n');
    memchr::memchr2_iter(b'\r', b'\n', message).filter(is_end).count() + 1
}

/// The line around entries.
pub const SEPARATOR: &str = "------------------------------------------------------------------------";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_all_ways() {
        for (text, expected) in [
            (&b""[..], 1),
            (b"a", 1),
            (b"a\n", 2),
            (b"a\r\nb\rc\n\n", 5),
            (b"\r", 2),
        ] {
            assert_eq!(lines(text), expected, "{text:?}");
        }
    }
}
